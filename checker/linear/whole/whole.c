/* whole.c: hands a lock's operations to the algorithm that can decide them. */
#include "checker/linear/whole/whole.h"

#include "checker/linear/whole/witness.h"

static enum whole_verdict judge_fast(struct whole *whole)
{
    if (whole->options->model == LINEAR_LEASE_EXACT) {
        return exact_judge(whole);
    }
    if (whole->options->model == LINEAR_TOKENS) {
        return tokens_judge(whole);
    }
    if (whole->options->model == LINEAR_REENTRANT_FENCED) {
        return fences_judge(whole);
    }
    if (whole->options->model == LINEAR_MUTEX) {
        return toggle_judge(whole);
    }
    if (whole->options->model == LINEAR_SEMAPHORE) {
        return permits_judge(whole);
    }
    enum whole_verdict verdict = WHOLE_NOT_FOR_ME;
    if (whole->options->model == LINEAR_OWNER || whole->options->model == LINEAR_FENCED) {
        verdict = reads_judge(whole);
    }
    if (whole->options->model == LINEAR_OWNER && verdict == WHOLE_NOT_FOR_ME) {
        verdict = ghosts_judge(whole);
    }
    return verdict;
}

enum whole_verdict whole_judge(struct whole *whole, bool *searched)
{
    enum linear_engine engine = whole->options->engine;
    enum whole_verdict verdict = WHOLE_NOT_FOR_ME;
    if (engine != LINEAR_ENGINE_FRONTIER && engine != LINEAR_ENGINE_NARROW) {
        verdict = judge_fast(whole);
    }
    *searched = verdict == WHOLE_NOT_FOR_ME && engine != LINEAR_ENGINE_FAST;
    if (*searched) {
        return frontier_judge(whole);
    }
    if (verdict == WHOLE_NOT_FOR_ME) {
        whole->limit = LINEAR_LIMIT_MODEL;
        return WHOLE_UNKNOWN;
    }
    return verdict;
}

static enum whole_verdict judge_few(struct whole *whole)
{
    enum whole_verdict verdict = judge_fast(whole);
    return verdict == WHOLE_NOT_FOR_ME ? frontier_judge(whole) : verdict;
}

void whole_refine(struct whole *whole)
{
    witness_refine(whole, judge_few);
}

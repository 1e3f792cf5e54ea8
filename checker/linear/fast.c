/* fast.c: picks the fast path for operations that had to be kept. */
#include "checker/linear/frontier.h"

enum whole_verdict whole_fast_judge(struct whole *whole)
{
    if (whole->options->model == LINEAR_LEASE_EXACT) {
        return exact_judge(whole);
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

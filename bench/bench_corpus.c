/* bench_corpus.c: how long the whole corpus takes in both worlds. */
#include "bench/corpus.h"

#include <inttypes.h>
#include <stdio.h>

int main(void)
{
    struct corpus_tally tally = corpus_run("--world sim,real");
    printf("corpus_seconds %.1f s\n", tally.seconds);
    printf("corpus_runs %" PRIu64 " runs\n", tally.runs);
    printf("corpus_not_met %" PRIu64 " runs\n", tally.not_met);
    return 0;
}

/* bench_flakes.c: how many verdicts change when the real corpus is run again and again. */
#include "bench/corpus.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    /* About 40 scenarios: 25 times make a thousand runs. REPEAT=n for another number. */
    const char *wanted = getenv("REPEAT");
    char arguments[64];
    (void)snprintf(arguments, sizeof arguments, "--world real --repeat %.8s",
                   wanted != NULL ? wanted : "25");
    struct corpus_tally tally = corpus_run(arguments);
    double thousands = (double)tally.runs / 1000;
    printf("flakes_runs %" PRIu64 " runs\n", tally.runs);
    printf("flakes_per_1000 %.2f verdicts\n",
           thousands > 0 ? (double)tally.changed / thousands : 0);
    printf("flakes_not_met %" PRIu64 " runs\n", tally.not_met);
    return 0;
}

/* corpus.h: runs ./picklock over the corpus and counts what its JSON lines say. */
#ifndef BENCH_CORPUS_H
#define BENCH_CORPUS_H

#include <stdint.h>

struct corpus_tally {
    uint64_t runs;
    uint64_t not_met; /* not as expected */
    uint64_t changed; /* verdicts differ from the first run of the same scenario and world */
    double seconds;
};

/* Run "picklock run scenarios ARGUMENTS --json --keep never" from the source folder. */
struct corpus_tally corpus_run(const char *arguments);

#endif

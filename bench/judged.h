/* judged.h: random histories that are judged and timed, and written for others to judge. */
#ifndef BENCH_JUDGED_H
#define BENCH_JUDGED_H

#include "bench/generate_history.h"
#include "checker/linear/linear.h"

struct measured {
    double seconds; /* CPU time of the check alone */
    uint64_t events;
    struct linear_result result;
};

/* Judge a generated history; prints "# WRONG" if the verdict is not the one it was made for. */
struct measured measure_check(const struct generator_options *generated,
                              const struct linear_options *options);

/* A history of one lock. */
struct generator_options one_lock(uint64_t operations, uint32_t clients, uint32_t unknown_ppm,
                                  bool illegal);

/* Write it as JSON lines; exits with 3 where that fails. */
void write_history(const struct generator_options *generated, const char *path);

enum { SCRATCH_PATH_BYTES = 64 };

/* Open a file without a name, which is gone with whoever has it open, however that ends; `path`
 * reaches it. */
int scratch_open(char path[SCRATCH_PATH_BYTES]);

#endif

/*
 * beside.h: one uncontended cycle of our driver beside the same one of another client, in turns.
 *
 *     beside_open(&sql_connection, &servers);
 *     int64_t number = beside_do(&command);              of the lock "ours", on the first server
 *     beside_measure("sql", our_cycle, their_slice);     prints sql_uncontended_us and _ratio
 *     beside_close();
 */
#ifndef BENCH_BESIDE_H
#define BENCH_BESIDE_H

#include "bench/servers.h"
#include "lockcore/drivers/links.h"

/* How many cycles a side has its turn for. */
enum { BESIDE_CYCLES = 200 };

void beside_open(const struct connection_kind *kind, const struct servers *servers);
/* Whether it was done; exits with 3 where the server hangs up. */
bool beside_try(const struct lock_command *command, int64_t *number);
/* The answer's number; exits with 3 where it was not done, as on a machine that has much to do. */
int64_t beside_do(const struct lock_command *command);
void beside_close(void);

/* The ratio is the median of those of one round each. `theirs` gives the microseconds a cycle of
 * BESIDE_CYCLES. */
void beside_measure(const char *name, void (*our_cycle)(void), double (*their_slice)(void));
/* The same of a client that is asked by a function of one cycle. */
double beside_slice(void (*cycle)(void));

#endif

/* fisher.c: Fisher's exact test of two rates. */
#include "cli/fisher.h"

#include "base/assert.h"

#include <math.h>

/* Probabilities that are equal but for rounding count as equal, as every implementation does. */
#define SLACK 1e-7

static double log_choose(uint64_t n, uint64_t k)
{
    return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

/* The logarithm of the chance that `now` of all hits fall to the runs of now. */
static double log_chance(const struct rates *rates, uint64_t now)
{
    uint64_t hits = rates->hits_then + rates->hits_now;
    return log_choose(rates->runs_now, now) + log_choose(rates->runs_then, hits - now) -
           log_choose(rates->runs_now + rates->runs_then, hits);
}

static void assert_possible(const struct rates *rates)
{
    ASSERT(rates->hits_then <= rates->runs_then);
    ASSERT(rates->hits_now <= rates->runs_now);
}

/* How many hits may fall to now: the least and the most. */
static uint64_t least_now(const struct rates *rates)
{
    uint64_t hits = rates->hits_then + rates->hits_now;
    return hits > rates->runs_then ? hits - rates->runs_then : 0;
}

static uint64_t most_now(const struct rates *rates)
{
    uint64_t hits = rates->hits_then + rates->hits_now;
    return hits < rates->runs_now ? hits : rates->runs_now;
}

double fisher_more(const struct rates *rates)
{
    assert_possible(rates);
    double sum = 0;
    for (uint64_t now = rates->hits_now; now <= most_now(rates); now++) {
        double chance = exp(log_chance(rates, now));
        sum += chance;
        if (chance < sum * 1e-17) {
            break; /* what follows is smaller still: above its mode it only falls */
        }
    }
    return fmin(sum, 1);
}

double fisher_differs(const struct rates *rates)
{
    assert_possible(rates);
    double seen = log_chance(rates, rates->hits_now) + SLACK;
    double sum = 0;
    for (uint64_t now = least_now(rates); now <= most_now(rates); now++) {
        double chance = log_chance(rates, now);
        sum += chance <= seen ? exp(chance) : 0;
    }
    return fmin(sum, 1);
}

double fisher_power(const struct rates *rates)
{
    struct rates all = *rates;
    all.hits_now = all.runs_now;
    return fisher_more(&all);
}

/* test_fisher.c: the exact test gives the exact figures, computed with fractions. */
#include "cli/fisher.h"

#include <criterion/criterion.h>
#include <math.h>

static const struct {
    struct rates rates; /* hits then, runs then, hits now, runs now */
    double more;
    double differs;
} table[] = {
    {{3, 4, 1, 4}, 9.857142857143e-01, 4.857142857143e-01},
    {{1, 4, 3, 4}, 2.428571428571e-01, 4.857142857143e-01},
    {{3, 200, 11, 200}, 2.655961666768e-02, 5.311923333536e-02},
    {{0, 1, 1, 1}, 5.000000000000e-01, 1.000000000000e+00},
    {{0, 20, 1, 20}, 5.000000000000e-01, 1.000000000000e+00},
    {{0, 200, 6, 200}, 1.504202907549e-02, 3.008405815099e-02},
    {{0, 2000, 6, 200}, 5.269054075194e-07, 5.269054075194e-07},
    {{10, 10, 10, 10}, 1.000000000000e+00, 1.000000000000e+00},
    {{0, 5, 0, 5}, 1.000000000000e+00, 1.000000000000e+00},
    {{7, 50, 1, 60}, 9.986895990098e-01, 2.218315554795e-02},
    {{120, 1000, 180, 1000}, 1.059921974131e-04, 2.119843948263e-04},
    {{0, 1, 20, 20}, 4.761904761905e-02, 4.761904761905e-02},
};

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

Test(fisher, gives_the_figures_of_exact_arithmetic)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        double more = fisher_more(&table[i].rates);
        double differs = fisher_differs(&table[i].rates);
        cr_assert(close_to(more, table[i].more), "row %zu: %.12e", i, more);
        cr_assert(close_to(differs, table[i].differs), "row %zu: %.12e", i, differs);
    }
}

Test(fisher, one_run_on_each_side_can_tell_nothing)
{
    cr_assert_gt(fisher_power(&(struct rates){0, 1, 1, 1}), 0.4);
    cr_assert_lt(fisher_power(&(struct rates){0, 20, 1, 20}), 1e-9);
}

Test(fisher, holds_for_a_billion_runs)
{
    struct rates rates = {1000, 1000000000, 1300, 1000000000};
    double p = fisher_more(&rates);
    cr_assert(p > 1e-12 && p < 1e-9, "%g", p); /* 300 more, beside a deviation of 48: 6.2 of them */
}

/* rows.h: one row a check; checks.c puts them in order. */
#ifndef CHECKER_ROWS_H
#define CHECKER_ROWS_H

#include "checker/check.h"

extern const struct check check_exclusion;
extern const struct check check_section_exclusion;
extern const struct check check_store_integrity;
extern const struct check check_fence_order;
extern const struct check check_ownership;
extern const struct check check_validity;
extern const struct check check_linearizable;
extern const struct check check_deadlock_freedom;
extern const struct check check_fault_tolerance;
extern const struct check check_loss_notice;
extern const struct check check_no_leak;
extern const struct check check_result_truth;
extern const struct check check_exercised;

#endif

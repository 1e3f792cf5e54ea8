/* rows.h: one row a check; checks.c puts them in order. */
#ifndef CHECKER_ROWS_H
#define CHECKER_ROWS_H

#include "checker/check.h"

extern const struct check check_exclusion;
extern const struct check check_section_exclusion;
extern const struct check check_exercised;

#endif

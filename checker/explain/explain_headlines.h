/* explain_headlines.h: one sentence for what a check found. */
#ifndef CHECKER_EXPLAIN_HEADLINES_H
#define CHECKER_EXPLAIN_HEADLINES_H

#include "checker/explain/explain_words.h"

void put_headline(const struct telling *telling);

#endif

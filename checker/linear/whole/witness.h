/*
 * witness.h: of an illegal history, the few operations that contradict each other by themselves.
 *
 * A search knows only which operation fitted nowhere. The latest takes, releases and observations
 * before it are tried with it, two to four at a time, smallest first: the best are those that no
 * single other operation near them could reconcile.
 */
#ifndef CHECKER_LINEAR_WITNESS_H
#define CHECKER_LINEAR_WITNESS_H

#include "checker/linear/whole/whole.h"

/* Decides a resource's operations by whatever path applies. */
typedef enum whole_verdict whole_judge_function(struct whole *whole);

/* Replace the operations of whole->finding, of an illegal history, by better ones if there are. */
void witness_refine(struct whole *whole, whole_judge_function *judge);

#endif

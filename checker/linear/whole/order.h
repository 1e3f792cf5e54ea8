/* order.h: confirms a legal order of operations, by going through it once. */
#ifndef CHECKER_LINEAR_ORDER_H
#define CHECKER_LINEAR_ORDER_H

#include "checker/linear/whole/whole.h"

/*
 * Whether whole->order names every operation of known outcome once, keeps the order of operations
 * that did not overlap, and is legal one by one.
 */
bool order_holds(const struct whole *whole);

#endif

/*
 * certificate.h: confirms that a few operations contradict each other, whatever else happened.
 *
 * Shares nothing with the algorithms that found them: it tries every order of at most four
 * operations against the rules of the model, written once more.
 */
#ifndef CHECKER_LINEAR_CERTIFICATE_H
#define CHECKER_LINEAR_CERTIFICATE_H

#include "checker/linear/linear.h"

/* One operation of a certificate, as recorded. */
struct linear_witness {
    struct history_event invoke;
    struct history_event end; /* meaningful if `ended` */
    uint64_t line;            /* of the invoke, from 1; 0 where there is no file */
    bool ended;
};

/* True if no order of these alone is legal. */
bool linear_certificate_holds(const struct linear_options *options,
                              const struct linear_witness *witnesses, int count);

#endif

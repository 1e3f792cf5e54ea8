/* chubby.h: what a Chubby cell can be asked, and its lock as a table of rules. */
#ifndef LOCKCORE_CHUBBY_CHUBBY_H
#define LOCKCORE_CHUBBY_CHUBBY_H

#include "lockcore/session.h"

enum chubby_command {
    CHUBBY_OPEN,
    CHUBBY_ACQUIRE,
    CHUBBY_KEEP_ALIVE,
    CHUBBY_RELEASE,
    CHUBBY_COMMANDS,
};

extern const struct lock_dialect chubby_dialect;

/* The paper's numbers as shares of its session lease of 12 s: a grace period of 45 s, a lock-delay
 * of up to a minute, of which this lock asks for as much as a lease. */
#define CHUBBY_RULES                                                                               \
    .open_kind = CHUBBY_OPEN, .take_kind = CHUBBY_ACQUIRE, .keep_kind = CHUBBY_KEEP_ALIVE,         \
    .release_kind = CHUBBY_RELEASE, .grace_percent = 375, .fenced = true

#endif

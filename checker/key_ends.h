/* key_ends.h: why a key ended: in words, and whom it is to be blamed on. */
#ifndef CHECKER_KEY_ENDS_H
#define CHECKER_KEY_ENDS_H

#include "checker/verdict.h"

struct key_end {
    const char *words;    /* "lost when the node restarted without it" */
    struct blamed blamed; /* the library: no fault took it */
};

/* Never NULL; for causes that end no key the words say that the cause is not known. */
const struct key_end *key_end_of(enum history_cause cause);

#endif

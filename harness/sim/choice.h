/*
 * choice.h: the keyed choice log: where a run departs from what its seed alone would decide.
 *
 * A decision left to chance (a tie, a latency, the cut of a power loss) has a key: its kind, its
 * subject (the link, the queue) and its number among the decisions of that subject. Its default is
 * a pure function of the seed and the key, so that a new decision moves no other, and a log that
 * was made before a code change still fits the rest of the run. A log holds only what differs.
 */
#ifndef HARNESS_SIM_CHOICE_H
#define HARNESS_SIM_CHOICE_H

#include "base/random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHOICE_KIND_MAP(X)                                                                         \
    X(CHOICE_TIE, "tie")         /* order among events of equal time; subject: the queue */        \
    X(CHOICE_LATENCY, "latency") /* jitter of one message, ns; subject: link and direction */      \
    X(CHOICE_CUT, "cut")         /* requests that survive a cut connection; subject: link */       \
    X(CHOICE_LOSS, "loss")       /* ppm of the unsynced writes that survive; subject: fault */     \
    X(CHOICE_CONNECT, "connect") /* delay of a reconnect, ns; subject: link */                     \
    X(CHOICE_SLOW, "slow")       /* lateness of one step, ns; subject: client */                   \
    X(CHOICE_STRESS, "stress")   /* the same of a message or step in a stressed run, ns */         \
    X(CHOICE_RACE, "race")       /* who is first inside a service; subject: the node */

enum choice_kind {
#define X(name, word) name,
    CHOICE_KIND_MAP(X)
#undef X
        CHOICE_KINDS,
};

enum { CHOICES_MAX = 256 };

struct choice {
    uint8_t kind; /* enum choice_kind */
    uint32_t subject;
    uint32_t nth;
    uint64_t value; /* below the bound of its kind; larger ones are taken modulo the bound */
};

/* Sorted by kind, subject, nth. */
struct choices {
    uint32_t count;
    struct choice list[CHOICES_MAX];
};

/* Put a choice where it belongs; replaces an equal key. False if the list is full. */
bool choices_add(struct choices *choices, const struct choice *choice);

/* The value chosen for a key; false if the log is silent about it. */
bool choices_find(const struct choices *choices, enum choice_kind kind, uint32_t subject,
                  uint32_t nth, uint64_t *value);

const char *choice_kind_name(enum choice_kind kind);

/* What the seed decides: a word that depends on nothing but the seed and the key. */
static inline uint64_t choice_default(uint64_t seed, enum choice_kind kind, uint32_t subject,
                                      uint32_t nth)
{
    struct random_stream stream = {seed ^ ((uint64_t)kind << 56) ^
                                   (((uint64_t)subject << 32 | nth) * 0xd6e8feb86659fd93u)};
    return random_word(&stream);
}

#endif

/*
 * gap.h: for how long nobody has got a lock that was asked for, though it was free.
 *
 *     gap_asked(&gap, event, counted);     somebody asks, whom only the lock keeps waiting
 *     gap_answered(&gap, event);           ... and is granted it, or not
 *     gap_length(&gap, now_ns);            how long was asked in vain, in all
 *
 * Time in which nobody asks is not counted, nor is time in which the lock is held, or votes are
 * split. A lock that refuses at once is hardly ever asked: of such a one all time counts, as
 * long as nothing else can be why (gap_refuses).
 */
#ifndef CHECKER_GAP_H
#define CHECKER_GAP_H

#include "checker/ledger/ledger.h"

/* So many refusals in a row, at least: one may be an accident, and a program that tries so often
 * has no other way. */
enum { GAP_REFUSALS = 10 };

struct gap {
    uint32_t asking;     /* acquires under way by healthy clients */
    bool split;          /* several ask, and stand in each other's way */
    int32_t first_asker; /* who asked first, or was first to ask in vain */
    int32_t answered;    /* who was answered last */
    int32_t holder;      /* who was granted last; HISTORY_NOBODY */
    int64_t taken_ns;    /* until then its lease runs; TIME_NEVER: until it releases */
    int64_t late_ns;     /* until then comes what a delay held back, such as a place in a queue */
    int64_t since_ns;    /* asking without a grant since; TIME_NEVER: nobody asks, or split */
    int64_t before_ns;   /* asked in vain before that */
    int64_t first_ns;    /* when that began */
    int64_t failed_ns;   /* of that, what was counted as too long already */
    uint64_t index;      /* of the first ask in vain */

    uint32_t refusals; /* since the ask below, while there was no key of it, and none was set */
    uint32_t at_once;  /* of these, such as came so (CHECK_AT_ONCE_PARTS) */
    bool refusing;     /* that counts */
    int32_t refused;   /* who asked there */
    int64_t refused_ns;
    uint64_t refused_index;
};

/* As it is before anybody asks. */
void gap_init(struct gap *gap);

/* From now on it is counted, if anybody asks whom only the lock keeps waiting. */
void gap_count_on(struct gap *gap, int64_t now_ns);

/* Begin anew. */
void gap_reset(struct gap *gap, int64_t now_ns);

/* How long was asked in vain up to now; while a lease runs, or old messages come, nothing is. */
int64_t gap_length(struct gap *gap, int64_t now_ns);

/* A fault that is in force showed what it does: it may touch more than it did. */
void gap_goes_on(struct gap *gap, int64_t now_ns);

/* A client asks; `counted`: it is healthy, as is a majority of nodes. */
void gap_asked(struct gap *gap, const struct history_event *event, bool counted);

/* It was answered, granted or not. */
void gap_answered(struct gap *gap, const struct history_event *event);

/*
 * An event of acquires or keys of the resource: count refusals while the lock is free, without a
 * key on any node, all is calm since a ttl before, and nobody sets a key, so that nobody stands in
 * another's way. Resources of which no key was ever seen are not counted.
 */
void gap_refuses(struct gap *gap, const struct ledger *ledger, const struct history_event *event);

/* Whether enough of these came at once. */
bool gap_refuses_at_once(const struct gap *gap);

/* For how long it has refused everybody; 0 where that is no matter. */
int64_t gap_refused_ns(const struct gap *gap, int64_t now_ns);

#endif

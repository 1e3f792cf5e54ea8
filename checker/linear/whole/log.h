/*
 * log.h: the operations of a history, kept for the algorithms that need all of them at once.
 *
 * An operation is what the policies make of it: one that says nothing is not kept.
 */
#ifndef CHECKER_LINEAR_LOG_H
#define CHECKER_LINEAR_LOG_H

#include "base/arena.h"
#include "checker/linear/operation.h"
#include "checker/linear/whole/table.h"

/* Who owns a hold: a value, an owner's name, or a process. */
struct identity {
    uint64_t words[3];
};

enum { LOG_BLOCK_OPERATIONS = 4096 };

/* A release that failed and says nothing of the lock; but from here on its caller may not hold it.
 */
struct ask {
    int64_t called;
    int64_t returned;
    uint32_t resource;
    uint32_t name; /* of its caller, as in operations */
};

struct log {
    struct ask *asks; /* owned */
    size_t ask_count;
    size_t ask_room;
    struct operation *operations; /* owned */
    size_t count;
    size_t room;
    struct identity *identities; /* owned; identity i stands at i - 1 */
    uint32_t identity_count;
    uint32_t identity_room;
    struct table by_identity;
    size_t bytes_max; /* 0: keep nothing */
    bool full;        /* something did not fit: the log is of no use */
};

static inline uint64_t identity_hash(const struct identity *identity, uint64_t salt)
{
    uint64_t hash = identity->words[0] * 0x9e3779b97f4a7c15u +
                    identity->words[1] * 0xd6e8feb86659fd93u +
                    (identity->words[2] ^ (salt << 40)) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ (hash >> 32)) * 0x94d049bb133111ebu;
    return hash ^ (hash >> 29);
}

static inline bool identity_equal(const struct identity *a, const struct identity *b)
{
    return a->words[0] == b->words[0] && a->words[1] == b->words[1] && a->words[2] == b->words[2];
}

/* A process stands for itself: nobody learns later that an acquire was its. */
static inline bool identity_is_process(const struct identity *identity)
{
    return (identity->words[2] & 0xff) == 1;
}

/* The number of an identity, from 1; 0 if it does not fit. */
uint32_t log_identity(struct log *log, const struct identity *identity);
void log_add(struct log *log, const struct operation *operation);
void log_ask(struct log *log, const struct ask *ask);
void log_release(struct log *log);

/*
 * Sort by resource, then by call: groups of equal resource stand together. Identities are numbered
 * again, from 1 in each group, so that an array by identity is no longer than the group.
 */
void log_sort(struct log *log);

/*
 * The operations of one lock, and of its acquires of unknown outcome that never told whose they
 * were one more for each operation that names a holder, the earliest first: as many of one identity
 * as were called in time, but of several identities each. Sorted, in the arena; *count in: of the
 * operations, out: of these. NULL where there is nothing to add, or no memory.
 */
struct operation *log_adopt(const struct log *log, const struct operation *operations,
                            size_t *count, bool nests, struct arena *arena);

#endif

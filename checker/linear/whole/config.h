/*
 * config.h: a set of configurations of the frontier engine. Whatever can follow on one can follow
 * on another in the same state that used no more unknown operations of anyone: of two such, only
 * the richer one is kept.
 */
#ifndef CHECKER_LINEAR_CONFIG_H
#define CHECKER_LINEAR_CONFIG_H

#include "checker/linear/whole/state.h"

enum config_life { CONFIG_OPEN, CONFIG_EXPANDED, CONFIG_DEAD /* a richer one came */ };

/* Followed by `words` words: first the set of placed pending operations, then the counters: two
 * words for each identity that has unknown operations; halves of the first are acquires and
 * releases that were used, the second is extensions. */
struct config {
    uint32_t spent;   /* the less the better: ghosts that were used, or counters of a mutex */
    uint32_t trail;   /* how it came about, for the legal order */
    int64_t free_at;  /* a moment at which the lock had room; the later the better */
    uint32_t life;    /* enum config_life */
    uint32_t eternal; /* unknown acquires that nothing can end, and that were used */
    struct lock_state state;
    uint64_t words[];
};

struct config_set {
    unsigned char *items; /* owned */
    uint32_t *index;      /* owned; 0: empty, else item + 1 */
    uint32_t count, room, index_mask;
    uint32_t words;     /* of each */
    uint32_t holders;   /* at most, of each: those behind them are not looked at */
    uint32_t key_words; /* of these, the set of placed operations; behind it stand the counters */
    bool settled;       /* nothing is due, and nobody sees depths: they are not compared */
    size_t bytes_max;
};

static inline size_t config_bytes(uint32_t words)
{
    return sizeof(struct config) + words * sizeof(uint64_t);
}

static inline struct config *config_at(const struct config_set *set, uint32_t i)
{
    return (struct config *)(void *)(set->items + i * config_bytes(set->words));
}

/*
 * Put a copy of `config` in, unless one is there that is as rich. *at is the item that
 * was written, or UINT32_MAX. False at the memory limit.
 */
bool config_set_put(struct config_set *set, const struct config *config, uint32_t *at);
/* Keep `width` configurations: in turn of each state of the lock the one that used the least. False
 * if there are no more than that, or no memory for choosing: then all are kept. */
bool config_set_narrow(struct config_set *set, uint32_t width);
/* What came of the events so far is what the next ones begin with, and the other way round. */
void config_set_swap(struct config_set *now, struct config_set *next);
void config_set_clear(struct config_set *set);
void config_set_release(struct config_set *set);

#endif

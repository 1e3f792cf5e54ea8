/* story_keys.c: how the keys behind a lease went, in words. */
#include "base/assert.h"
#include "checker/story/story_cast.h"
#include "checker/story/story_drafts.h"

struct ends {
    const struct ledger_claim *claim;
    uint64_t nodes; /* whose keys ended alike, before the violation */
    int32_t node;   /* of the one that is told of: it broke the majority, or was the last */
    bool breaks;
};

static bool ends_alike(const struct ledger_end *a, const struct ledger_end *b)
{
    return a->cause == b->cause && a->fault == b->fault && a->process == b->process;
}

/* The end after which no majority of the keys was left; -1 if there was no such. */
static int32_t breaking_node(const struct story_cast *cast, const struct ledger_claim *claim,
                             uint64_t gone)
{
    const struct ledger_end *ends = ledger_ends(claim);
    int32_t left = ledger_bits(claim->set);
    while (gone != 0) {
        int32_t next = __builtin_ctzll(gone);
        for (int32_t node = next + 1; node < cast->ledger->node_count; node++) {
            bool earlier = (gone >> node & 1) != 0 && ends[node].index < ends[next].index;
            next = earlier ? node : next;
        }
        if (--left == cast->ledger->quorum - 1) {
            return next;
        }
        gone &= ~(UINT64_C(1) << next);
    }
    return -1;
}

/* What went as released, but not by its owner, was taken: the values were the same. */
static enum history_cause cause_of(const struct ends *ends)
{
    const struct ledger_end *end = &ledger_ends(ends->claim)[ends->node];
    bool taken = end->cause == CAUSE_RELEASED && end->process != ends->claim->process;
    return taken ? CAUSE_FOREIGN : (enum history_cause)end->cause;
}

/* Whether the client itself deleted its key, perhaps by another value than the key has. */
static bool is_own(const struct ends *ends)
{
    return ledger_ends(ends->claim)[ends->node].process == ends->claim->process;
}

/* "client 1's key", "client 1's keys there" */
static void put_keys_of(struct story_cast *cast, const struct ends *ends, struct text *text)
{
    enum history_cause cause = cause_of(ends);
    if (cause == CAUSE_RELEASED || (cause == CAUSE_FOREIGN && is_own(ends))) {
        text_add(text, ledger_bits(ends->nodes) == 1 ? "its own key" : "its own keys");
        return;
    }
    put_client(story_into(cast, text), ends->claim->process);
    text_add(text, ledger_bits(ends->nodes) == 1 ? "'s key" : "'s keys");
}

/* What a node, or several, did with a key. */
struct end_words {
    const char *subject; /* before the nodes; NULL: whoever sent the command */
    const char *does[2]; /* one node, several */
    const char *did;
    const char *label[2]; /* ... behind the nodes */
    bool early;           /* the key should have lived on */
};

static const struct end_words overwritten = {
    NULL,
    {"overwrites ", "overwrites "},
    "overwrote ",
    {"key overwritten by another", "keys overwritten by another"},
    false};

static const struct end_words other = {
    "", {"no longer has ", "no longer have "}, "no longer had ", {"key gone", "keys gone"}, false};

static const struct end_words *end_words_of(const struct story_cast *cast, const struct ends *ends)
{
    enum history_cause cause = cause_of(ends);
    static const struct end_words words[HISTORY_CAUSES] = {
        [CAUSE_CLOCK_JUMP] = {"the clock of ",
                              {"jumps", "jump"},
                              "jumped",
                              {"clock jumps, key gone", "clocks jump, keys gone"},
                              true},
        [CAUSE_CLOCK_RATE] = {"the clock of ",
                              {"runs wrong", "run wrong"},
                              "ran wrong",
                              {"clock wrong, key gone", "clocks wrong, keys gone"},
                              true},
        [CAUSE_RESTART] = {"",
                           {"restarts and forgets ", "restart and forget "},
                           "restarted and forgot ",
                           {"restarts and forgets the key", "restart and forget the keys"},
                           false},
        [CAUSE_FAILOVER] = {"",
                            {"fails over to a replica without ", "fail over to replicas without "},
                            "failed over to a replica without ",
                            {"fails over, key lost", "fail over, keys lost"},
                            false},
        [CAUSE_DEPOSED] = {"",
                           {"resumes and ends the lease of ", "resume and end the lease of "},
                           "ended the lease of ",
                           {"a leader that was deposed ends the lease",
                            "leaders that were deposed end the lease"},
                           true},
        [CAUSE_SPLIT] = {"",
                         {"grants, in another part of it, in spite of ",
                          "grant, in another part of the cluster, in spite of "},
                         "granted, in another part of it, in spite of ",
                         {"granted in another part of it",
                          "granted in another part of the cluster"},
                         false},
        [CAUSE_SESSION] = {"",
                           {"frees with its connection ", "free with their connections "},
                           "freed with its connection ",
                           {"connection over, key gone", "connections over, keys gone"},
                           false},
        [CAUSE_SHARED] = {"",
                          {"gives to another client, in the same session, ",
                           "give to another client, in the same session, "},
                          "gave to another client, in the same session, ",
                          {"the same session for another client",
                           "the same session for another client"},
                          false},
        [CAUSE_EVICTION] = {"",
                            {"throws out ", "throw out "},
                            "threw out ",
                            {"throws the key out", "throw the keys out"},
                            false},
        [CAUSE_FLUSH] =
            {"", {"forgets ", "forget "}, "was flushed of ", {"flushed", "flushed"}, false},
        [CAUSE_FOREIGN] = {NULL,
                           {"deletes ", "deletes "},
                           "deleted ",
                           {"key deleted by another", "keys deleted by another"},
                           false},
        [CAUSE_RELEASED] =
            {NULL, {"deletes ", "deletes "}, "deleted ", {"keys deleted", "keys deleted"}, false},
    };
    uint64_t index = ledger_ends(ends->claim)[ends->node].index;
    if (cause == CAUSE_FOREIGN && story_event(cast, index)->f == HISTORY_KEY_SET) {
        return &overwritten;
    }
    cause = cause == CAUSE_FOREIGN && is_own(ends) ? CAUSE_RELEASED : cause;
    return words[cause].did == NULL ? &other : &words[cause];
}

/* How much too early a key expired; 0 if it was in time or nobody can tell. */
static int64_t early_ns(const struct story_cast *cast, const struct ends *ends)
{
    const struct ledger_end *end = &ledger_ends(ends->claim)[ends->node];
    for (uint64_t i = end->index; i > 0; i--) {
        const struct history_event *event = story_event(cast, i - 1);
        bool here = event->kind == HISTORY_NODE && event->node == ends->node &&
                    event->resource == ends->claim->resource;
        if (here && (event->f == HISTORY_KEY_SET || event->f == HISTORY_KEY_EXTENDED)) {
            bool due = (event->flags & HISTORY_HAS_UNTIL) != 0 && event->until_ns != TIME_NEVER;
            int64_t early = due ? event->until_ns - story_event(cast, end->index)->time_ns : 0;
            return early >= NS_PER_MS ? early : 0;
        }
    }
    return 0;
}

/* Who did it. A service of several nodes tells of its keys as one; which of its nodes it was, the
 * fault knows, or nobody. */
static uint64_t enders(const struct story_cast *cast, const struct ends *ends)
{
    const struct ledger_end *end = &ledger_ends(ends->claim)[ends->node];
    if (history_stores(cast->history->header) != 1 || cast->ledger->node_count == 1) {
        return ends->nodes;
    }
    const struct history_event *start =
        end->fault == HISTORY_NO_FAULT ? NULL : telling_fault(&cast->telling, end->fault);
    return start != NULL ? story_nodes_named(start) : 0;
}

/* The time of keys was up: there is nobody who did it. */
static void tell_expiry(struct story_cast *cast, const struct ends *ends, struct draft *draft)
{
    bool one = ledger_bits(ends->nodes) == 1;
    put_keys_of(cast, ends, &draft->subject);
    if (enders(cast, ends) != 0) {
        text_add(&draft->subject, " on ");
        put_keepers(&draft->subject, cast->history->header, ends->nodes);
    }
    text_add(&draft->predicate, one ? "expires: its time is up" : "expire: their time is up");
    put_client(story_into(cast, &draft->label), ends->claim->process);
    text_add(&draft->label, one ? "'s key expires" : "'s keys expire");
}

static void put_enders(const struct story_cast *cast, const struct ends *ends, struct text *text)
{
    uint64_t nodes = enders(cast, ends);
    if (nodes == 0) {
        text_add(text, "%s", end_words_of(cast, ends)->early ? "a member" : "the cluster");
    } else {
        put_nodes(text, nodes);
    }
}

static void put_ender(struct story_cast *cast, const struct ends *ends, struct text *text)
{
    const struct ledger_end *end = &ledger_ends(ends->claim)[ends->node];
    const struct end_words *words = end_words_of(cast, ends);
    if (words->subject == NULL) {
        put_client(story_into(cast, text), end->process);
        return;
    }
    text_add(text, "%s", words->subject);
    put_enders(cast, ends, text);
}

/* "client 1's key expires 904 ms too early", "... expired ..." */
static void put_early(struct story_cast *cast, const struct ends *ends, const char *expires,
                      struct text *text)
{
    int64_t early = early_ns(cast, ends);
    text_add(text, "%s", expires);
    if (early > 0) {
        text_add(text, " ");
        duration_print_short(early, text);
    }
    text_add(text, " too early");
}

/* "jumps by +11 s, and client 1's key expires 904 ms too early", "throws out client 1's key" */
static void put_deed(struct story_cast *cast, const struct ends *ends, const char *does,
                     const char *expires, struct text *text)
{
    const struct ledger_end *end = &ledger_ends(ends->claim)[ends->node];
    text_add(text, "%s", does);
    if (!end_words_of(cast, ends)->early) {
        put_keys_of(cast, ends, text);
        return;
    }
    const struct history_event *start =
        end->cause == CAUSE_CLOCK_JUMP ? telling_fault(&cast->telling, end->fault) : NULL;
    if (start != NULL) {
        text_add(text, " by %s", start->number[0] > 0 ? "+" : "");
        duration_print_short(start->number[0], text);
    }
    text_add(text, ", and ");
    put_keys_of(cast, ends, text);
    put_early(cast, ends, expires, text);
}

static void tell_end(struct story_cast *cast, struct drafts *drafts, const struct ends *ends)
{
    const struct ledger_end *end = &ledger_ends(ends->claim)[ends->node];
    enum history_cause cause = cause_of(ends);
    const struct end_words *words = end_words_of(cast, ends);
    struct draft *draft = drafts_add(drafts, story_event(cast, end->index));
    struct text *text = &draft->predicate;
    bool one = ledger_bits(ends->nodes) == 1;
    bool several = ledger_bits(enders(cast, ends)) > 1;
    draft->nodes = ends->nodes;
    draft->violation = words->subject == NULL;
    if (cause == CAUSE_TTL) {
        tell_expiry(cast, ends, draft);
    } else {
        put_ender(cast, ends, &draft->subject);
        put_deed(cast, ends, words->does[several ? 1 : 0], one ? " expires" : " expire", text);
        if (words->subject == NULL) {
            text_add(text, " on ");
            put_keepers(text, cast->history->header, ends->nodes);
        }
        if (words->subject != NULL) {
            put_enders(cast, ends, &draft->label);
            text_add(&draft->label, "%s", words->early ? ": " : " ");
        }
        text_add(&draft->label, "%s", words->label[several ? 1 : 0]);
    }
    if (end->fault != HISTORY_NO_FAULT) {
        text_add(text, " (fault %d)", end->fault + 1);
        story_add_fault(cast->cause, end->fault);
    }
    bool breaks = ends->breaks && cast->ledger->quorum > 1; /* else the one key was all */
    text_add(text, "%s", breaks ? "; the majority is broken" : "");
}

/* Goes through the keys that went before an event, those that went alike at once. */
struct ends_walk {
    uint64_t gone;
    int32_t breaking;
    struct ends ends;
};

static struct ends_walk walk_begin(const struct story_cast *cast, const struct ledger_claim *claim,
                                   uint64_t before)
{
    struct ends_walk walk = {.ends = {.claim = claim}};
    const struct ledger_end *all = ledger_ends(claim);
    for (int32_t node = 0; node < cast->ledger->node_count; node++) {
        bool ended = (claim->set >> node & 1) != 0 && all[node].index > 0 &&
                     all[node].index < before &&
                     (all[node].cause != CAUSE_RELEASED || claim->over != OVER_RELEASED);
        walk.gone |= ended ? UINT64_C(1) << node : 0;
    }
    walk.breaking = breaking_node(cast, claim, walk.gone);
    return walk;
}

static bool walk_next(const struct story_cast *cast, struct ends_walk *walk)
{
    const struct ledger_end *all = ledger_ends(walk->ends.claim);
    struct ends *ends = &walk->ends;
    if (walk->gone == 0) {
        return false;
    }
    int32_t first = __builtin_ctzll(walk->gone);
    ends->nodes = 0;
    ends->node = first;
    for (int32_t node = first; node < cast->ledger->node_count; node++) {
        if ((walk->gone >> node & 1) == 0 || !ends_alike(&all[node], &all[first])) {
            continue;
        }
        bool later = all[node].index > all[ends->node].index;
        ends->nodes |= UINT64_C(1) << node;
        ends->node =
            node == walk->breaking || (later && ends->node != walk->breaking) ? node : ends->node;
    }
    ends->breaks = ends->node == walk->breaking;
    walk->gone &= ~ends->nodes;
    return true;
}

void story_tell_ends(struct story_cast *cast, struct drafts *drafts,
                     const struct ledger_claim *claim, uint64_t before)
{
    struct ends_walk walk = walk_begin(cast, claim, before);
    while (walk_next(cast, &walk)) {
        tell_end(cast, drafts, &walk.ends);
    }
}

bool story_put_loss(struct story_cast *cast, const struct ledger_claim *claim, uint64_t before,
                    struct text *text)
{
    struct ends_walk walk = walk_begin(cast, claim, before);
    struct ends found = {.claim = NULL};
    while (walk_next(cast, &walk)) {
        uint8_t cause = ledger_ends(claim)[walk.ends.node].cause;
        bool better = found.claim == NULL || walk.ends.breaks;
        found = cause != CAUSE_TTL && better ? walk.ends : found;
    }
    if (found.claim == NULL) {
        return false;
    }
    enum history_cause cause = cause_of(&found);
    const struct end_words *words = end_words_of(cast, &found);
    put_ender(cast, &found, text);
    text_add(text, " ");
    put_deed(cast, &found, words->did, " expired", text);
    if (cause == CAUSE_CLOCK_RATE && cast->cause->blame == BLAME_LIBRARY) {
        text_add(text, ", by no more than the lock allows for");
    }
    return true;
}

/* key_ends.c: a row for each cause of a key's end. */
#include "checker/key_ends.h"

#include "base/assert.h"

#define LIBRARY                                                                                    \
    {                                                                                              \
        BLAME_LIBRARY, ASSUMPTION_NONE                                                             \
    }

static const struct key_end ends[HISTORY_CAUSES] = {
    [CAUSE_TTL] = {"its ttl had run out on a sound clock", LIBRARY},
    [CAUSE_CLOCK_JUMP] = {"expired, because the node's clock jumped",
                          {BLAME_ASSUMPTION, ASSUMPTION_NODE_CLOCK}},
    [CAUSE_CLOCK_RATE] = {"expired, because the node's clock ran at a wrong rate",
                          {BLAME_ASSUMPTION, ASSUMPTION_NODE_CLOCK}},
    [CAUSE_RESTART] = {"lost when the node restarted without it",
                       {BLAME_ASSUMPTION, ASSUMPTION_PERSISTENCE}},
    [CAUSE_FAILOVER] = {"not yet replicated when a replica took over",
                        {BLAME_ASSUMPTION, ASSUMPTION_REPLICATION}},
    [CAUSE_DEPOSED] = {"ended by a leader that was none any more",
                       {BLAME_ASSUMPTION, ASSUMPTION_LEADER}},
    [CAUSE_SPLIT] = {"unknown to the part of the cluster that granted the next one",
                     {BLAME_DEPLOYMENT, ASSUMPTION_CONSENSUS}},
    [CAUSE_SESSION] = {"gone with the connection of its client",
                       {BLAME_ASSUMPTION, ASSUMPTION_SESSION}},
    [CAUSE_SHARED] = {"in a session that another client was given as well",
                      {BLAME_DEPLOYMENT, ASSUMPTION_OWN_SESSION}},
    [CAUSE_EVICTION] = {"thrown out by the node for want of memory",
                        {BLAME_DEPLOYMENT, ASSUMPTION_MEMORY}},
    [CAUSE_FLUSH] = {"flushed", {BLAME_DEPLOYMENT, ASSUMPTION_PERSISTENCE}},
    [CAUSE_RELEASED] = {"deleted by its owner", LIBRARY},
    [CAUSE_FOREIGN] = {"deleted by another client", LIBRARY},
};

static const struct key_end unknown = {"gone, the history does not say why", LIBRARY};

const struct key_end *key_end_of(enum history_cause cause)
{
    ASSERT(cause < HISTORY_CAUSES);
    return ends[cause].words == NULL ? &unknown : &ends[cause];
}

/* scenario_needs.c: whether a scenario applies to a lock. */
#include "harness/scenario_needs.h"

#include "base/assert.h"
#include "lockcore/algorithms.h"

#include <string.h>

void nature_of_own(const struct scenario *scenario, struct lock_nature *nature)
{
    const struct lock_algorithm *algorithm = lock_algorithm_at(scenario->lock.algorithm);
    memset(nature, 0, sizeof *nature);
    nature->declares = 1u << DECLARES_NOTICE | 1u << DECLARES_SEVERAL | 1u << DECLARES_THREADS;
    nature->declares |= algorithm->endless ? 0 : 1u << DECLARES_VALIDITY | 1u << DECLARES_EXTEND;
    nature->declares |= algorithm->fenced ? 1u << DECLARES_FENCE : 0;
    nature->nodes_min = 1;
    nature->follows = true;
    nature->nodes_max = HISTORY_NODES_MAX;
    struct text library = text_over(nature->library, sizeof nature->library);
    text_add(&library, "%s", algorithm->name);
}

/* What is missing, in words that go on after "it ...". */
static const char *need_missing(enum history_declares need)
{
    switch (need) {
    case DECLARES_VALIDITY:
        return "promises no validity";
    case DECLARES_EXTEND:
        return "extends nothing when asked";
    case DECLARES_FENCE:
        return "gives no fences";
    case DECLARES_NOTICE:
        return "does not tell of a loss";
    case DECLARES_RENEW:
        return "does not renew by itself";
    case DECLARES_WAIT:
        return "does not wait for the lock";
    case DECLARES_DEADLINE:
        return "takes no deadline";
    case DECLARES_CANCEL:
        return "cannot cancel an acquire";
    case DECLARES_REENTRANT:
        return "is not re-entrant";
    case DECLARES_SEVERAL:
        return "does not hold several at once";
    case DECLARES_THREADS:
        return "is not used by several threads of one program";
    case HISTORY_DECLARES:
        break;
    }
    UNREACHABLE();
}

bool scenario_applies(const struct scenario *scenario, const struct lock_nature *nature,
                      struct text *why)
{
    uint32_t missing = (uint32_t)scenario->needs & ~(uint32_t)nature->declares;
    if (missing != 0) {
        text_add(why, "it %s", need_missing((enum history_declares)__builtin_ctz(missing)));
        return false;
    }
    uint32_t odd = (uint32_t)scenario->lacks & nature->declares;
    if (odd != 0) {
        text_add(why, "it declares %s", history_declarations.words[__builtin_ctz(odd)]);
        return false;
    }
    if (scenario->lacks != 0 && nature->silent) {
        text_add(why, "it does not say whether it has %s",
                 history_declarations.words[__builtin_ctz(scenario->lacks)]);
        return false;
    }
    if (scenario->lock.replica_count > 0 && !nature->follows) {
        text_add(why, "it does not look for the primary of several nodes");
        return false;
    }
    if (scenario->node_count < nature->nodes_min) {
        text_add(why, "it is for several nodes");
        return false;
    }
    if (scenario->node_count > nature->nodes_max) {
        text_add(why,
                 nature->nodes_max == 1 ? "it is for one node" : "it is not for so many nodes");
        return false;
    }
    return true;
}

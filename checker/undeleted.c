/* undeleted.c: keys that went by their ttl, with the command that deletes them on its way. */
#include "checker/undeleted.h"

#include "base/assert.h"

#include <string.h>

void undeleted_note(struct undeleted *undeleted, const struct history_event *event,
                    const struct ledger_key *key, const struct finding *finding)
{
    ASSERT(undeleted->count <= UNDELETED_MAX);
    if (undeleted->count < UNDELETED_MAX) {
        undeleted->list[undeleted->count++] = (struct undeleted_key){.process = key->process,
                                                                     .node = event->node,
                                                                     .resource = event->resource,
                                                                     .value = key->value,
                                                                     .gone_ns = event->time_ns,
                                                                     .finding = *finding};
    }
}

static void undeleted_remove(struct undeleted *undeleted, uint32_t index)
{
    ASSERT(index < undeleted->count);
    undeleted->count--;
    memmove(&undeleted->list[index], &undeleted->list[index + 1],
            (undeleted->count - index) * sizeof undeleted->list[0]);
}

/* A command that deletes this key, sent before it went. */
static bool undeleted_came(const struct undeleted_key *key, const struct history_event *event)
{
    bool deletes = event->f == HISTORY_KEY_KEPT || event->f == HISTORY_KEY_DELETED;
    return event->kind == HISTORY_NODE && deletes && event->node == key->node &&
           event->resource == key->resource && event->process == key->process &&
           (event->flags & HISTORY_HAS_SENT) != 0 && event->sent_ns <= key->gone_ns &&
           history_value_equal(&event->value, &key->value);
}

void undeleted_step(struct undeleted *undeleted, struct check_result *result,
                    const struct ledger *ledger, const struct history_event *event)
{
    for (uint32_t i = 0; i < undeleted->count;) {
        const struct undeleted_key *key = &undeleted->list[i];
        bool over = ledger->ttl_ns > 0 && event->time_ns - key->gone_ns > ledger->ttl_ns;
        if (over) {
            check_fail(result, ledger, &key->finding);
        }
        if (over || undeleted_came(key, event)) {
            undeleted_remove(undeleted, i);
        } else {
            i++;
        }
    }
}

void undeleted_finish(struct undeleted *undeleted, struct check_result *result,
                      const struct ledger *ledger)
{
    for (uint32_t i = 0; i < undeleted->count; i++) {
        check_fail(result, ledger, &undeleted->list[i].finding);
    }
    undeleted->count = 0;
}

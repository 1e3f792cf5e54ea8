/*
 * undeleted.h: keys that went by their ttl, while the command that deletes them may be on its way.
 *
 *     undeleted_note(&list, event, key, &finding);     a key went, and that is a violation
 *     undeleted_step(&list, &result, ledger, event);   of each event; at last:
 *     undeleted_finish(&list, &result, ledger);
 *
 * What a client sent before its key went did not come too late by the lock's doing. That is known
 * when it comes, for a ttl at most.
 */
#ifndef CHECKER_UNDELETED_H
#define CHECKER_UNDELETED_H

#include "checker/verdict.h"

/* Of more at a time no more are noted: the verdict is that of these. */
enum { UNDELETED_MAX = 32 };

struct undeleted_key {
    int32_t process;
    int32_t node;
    uint32_t resource;
    struct history_value value;
    int64_t gone_ns;
    struct finding finding;
};

struct undeleted {
    uint32_t count;
    struct undeleted_key list[UNDELETED_MAX];
};

/* The end of a key by its ttl, and what it breaks unless a command that was sent before deletes it.
 */
void undeleted_note(struct undeleted *undeleted, const struct history_event *event,
                    const struct ledger_key *key, const struct finding *finding);

/* Forget what `event` deletes; judge what has waited for a ttl. */
void undeleted_step(struct undeleted *undeleted, struct check_result *result,
                    const struct ledger *ledger, const struct history_event *event);

/* Judge what still waits: the history ends. */
void undeleted_finish(struct undeleted *undeleted, struct check_result *result,
                      const struct ledger *ledger);

#endif

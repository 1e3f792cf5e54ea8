/* ownership.c: did anyone delete or extend a key that another owned? */
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/verdict.h"

#include <inttypes.h>

enum ownership_reason { DELETED_ANOTHERS = 1, EXTENDED_ANOTHERS, OVERWROTE_ANOTHERS };

struct ownership {
    struct check_result result;
};

static size_t ownership_bytes(const struct history_header *header)
{
    (void)header;
    return sizeof(struct ownership);
}

static void ownership_init(void *state, const struct history_header *header)
{
    (void)header;
    memset(state, 0, sizeof(struct ownership));
}

/* Threads share their connections: whose of one program a command is gets guessed, and one that
 * names the value of the key is its setter's, whatever was guessed of either. */
static bool is_guessed(const struct ledger *ledger, const struct ledger_key *key,
                       const struct history_event *event)
{
    uint32_t named = HISTORY_HAS_VALUE | HISTORY_HAS_OWNER;
    return ledger->threads > 1 &&
           key->process / ledger->threads == event->process / ledger->threads &&
           (event->flags & named) == named &&
           memcmp(&event->value, &event->owner, sizeof event->value) == 0;
}

/* The recorder's word, unless both who set the key and who sent the command are known. */
static bool is_foreign(const struct ledger *ledger, const struct ledger_key *key,
                       const struct history_event *event)
{
    bool set_is_known = key->process != HISTORY_NOBODY &&
                        ((event->flags & HISTORY_HAS_OWNER) == 0 ||
                         memcmp(&key->value, &event->owner, sizeof key->value) == 0);
    if (set_is_known && event->process != HISTORY_NOBODY) {
        return !ledger_same_owner(ledger, key->process, event->process) &&
               !is_guessed(ledger, key, event);
    }
    if ((event->flags & HISTORY_HAS_VALUE) != 0 && (event->flags & HISTORY_HAS_OWNER) != 0) {
        return memcmp(&event->value, &event->owner, sizeof event->value) != 0;
    }
    return event->cause == CAUSE_FOREIGN;
}

static void ownership_violated(struct ownership *ownership, const struct ledger *ledger,
                               const struct ledger_key *key, const struct history_event *event,
                               enum ownership_reason reason)
{
    struct finding finding = {
        .reason = (uint8_t)reason,
        .evidence = {event->index, key->set_index},
        .evidence_count = key->process == HISTORY_NOBODY || reason == OVERWROTE_ANOTHERS ? 1 : 2,
        .blamed = blamed_library(),
        .number = {event->node, reason == OVERWROTE_ANOTHERS ? key->before : key->process},
        .rest = rest_of_keys(ledger, key->set_ns),
    };
    check_fail(&ownership->result, ledger, &finding);
}

static void ownership_step(void *state, const struct ledger *ledger,
                           const struct history_event *event)
{
    struct ownership *ownership = state;
    bool known = ledger->node_count > 0 && event->resource < ledger->resource_count;
    if (!known) {
        return;
    }
    const struct ledger_key *key = ledger_key_at(ledger, event->node, event->resource);
    if (event->f == HISTORY_KEY_DELETED || event->f == HISTORY_KEY_EXTENDED) {
        ownership->result.judged++;
        if (is_foreign(ledger, key, event)) {
            ownership_violated(ownership, ledger, key, event,
                               event->f == HISTORY_KEY_DELETED ? DELETED_ANOTHERS
                                                               : EXTENDED_ANOTHERS);
        }
    } else if (event->f == HISTORY_KEY_SET && (event->flags & HISTORY_HAS_OWNER) != 0 &&
               (event->flags & HISTORY_HAS_VALUE) != 0) {
        ownership->result.judged++;
        bool other = memcmp(&event->owner, &event->value, sizeof event->value) != 0;
        bool own =
            key->before != HISTORY_NOBODY && ledger_same_owner(ledger, key->before, event->process);
        if (other && !own) {
            ownership_violated(ownership, ledger, key, event, OVERWROTE_ANOTHERS);
        }
    }
}

static void ownership_finish(void *state, const struct ledger *ledger)
{
    (void)ledger;
    check_conclude(state);
}

/* "client 1's key", or of one whom nobody knows, "another's key". */
static void put_owned_key(const struct telling *telling)
{
    const struct check_result *result = telling->result;
    int32_t owner = (int32_t)result->number[1];
    bool known =
        result->reason == OVERWROTE_ANOTHERS ? owner != HISTORY_NOBODY : result->evidence_count > 1;
    if (!known) {
        text_add(telling->text, "another's key");
        return;
    }
    put_client(telling, owner);
    text_add(telling->text, "'s key");
}

static void say_ownership(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct history_event *command =
        telling_evidence(telling, telling->result->evidence_count - 1u);
    const char *did = telling->result->reason == DELETED_ANOTHERS    ? " deleted "
                      : telling->result->reason == EXTENDED_ANOTHERS ? " extended "
                                                                     : " overwrote ";
    put_client(telling, command->process);
    text_add(text, "%s", did);
    put_owned_key(telling);
    text_add(text, " of ");
    put_resource(telling, command->resource);
    text_add(text, " on ");
    put_keepers(text, telling->history->header, UINT64_C(1) << command->node);
    text_add(text, " at ");
    put_time(text, command->time_ns);
}

static void effect_ownership(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct check_result *result = telling->result;
    const struct history_event *command = telling_evidence(telling, result->evidence_count - 1u);
    put_client(telling, command->process);
    text_add(text, result->reason == DELETED_ANOTHERS    ? " deleted "
                   : result->reason == EXTENDED_ANOTHERS ? " extended "
                                                         : " overwrote ");
    put_owned_key(telling);
}

const struct check check_ownership = {
    .name = "ownership",
    .question = "Did anyone delete or extend a key that another owned?",
    .nothing = "no node told of a key that was deleted, extended or overwritten",
    .keyed = true,
    .wants = CHECK_BIT(HISTORY_KEY_DELETED) | CHECK_BIT(HISTORY_KEY_EXTENDED) |
             CHECK_BIT(HISTORY_KEY_SET),
    .follows = true,
    .bytes = ownership_bytes,
    .init = ownership_init,
    .step = ownership_step,
    .finish = ownership_finish,
    .say = say_ownership,
    .effect = effect_ownership,
    .over = "another's key",
    .part = PART_LOCK,
    .weight = 5,
    .explains = 1 << DELETED_ANOTHERS | 1 << EXTENDED_ANOTHERS | 1 << OVERWROTE_ANOTHERS,
};

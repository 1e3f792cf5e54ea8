/* no_leak.c: did a refused or failed acquire leave keys behind? */
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/verdict.h"

#include <inttypes.h>

enum leak_reason {
    LEFT_TO_EXPIRE = 1, /* number[0]: how long it stood in the way */
    STILL_THERE,        /* at the end, later than a ttl, or without an expiry */
};

/*
 * A key that was set for an acquire (or one attempt of it) that was not granted must be deleted by
 * command. If it goes by its ttl although no fault touched its client, its node or all of them
 * meanwhile, the lock did not clean up. Not judged: acquires of unknown outcome, and of the dead.
 */
struct no_leak {
    struct check_result result;
};

static size_t leak_bytes(const struct history_header *header)
{
    (void)header;
    return sizeof(struct no_leak);
}

static void leak_init(void *state, const struct history_header *header)
{
    (void)header;
    memset(state, 0, sizeof(struct no_leak));
}

static bool is_leak(const struct ledger *ledger, const struct ledger_key *key, int32_t node)
{
    bool delete_came = key->missed && memcmp(&key->named, &key->value, sizeof key->value) == 0;
    return key->outcome == CLAIM_REFUSED && !delete_came && !key->came_back &&
           !ledger_touched(ledger, key->process, node, key->set_ns, ledger->now_ns);
}

static void leak_violated(struct no_leak *leak, const struct ledger *ledger,
                          const struct ledger_key *key, enum leak_reason reason)
{
    struct finding finding = {
        .reason = (uint8_t)reason,
        .evidence = {key->set_index, key->outcome_index, ledger->last_index},
        .evidence_count = 3,
        .blamed = blamed_library(),
        .number = {ledger->now_ns - key->set_ns, key->process},
    };
    check_fail(&leak->result, &finding);
}

static void leak_step(void *state, const struct ledger *ledger, const struct history_event *event)
{
    struct no_leak *leak = state;
    if (ledger->node_count == 0 || event->resource >= ledger->resource_count) {
        return;
    }
    if (event->kind == HISTORY_OP) {
        bool ended = event->f == HISTORY_ACQUIRE &&
                     (event->type == HISTORY_OK || event->type == HISTORY_FAIL);
        leak->result.judged += ended && ledger->has_nodes ? 1 : 0;
        return;
    }
    const struct ledger_key *key = ledger_key_at(ledger, event->node, event->resource);
    bool by_ttl = event->f == HISTORY_KEY_EXPIRED && event->cause == CAUSE_TTL;
    if (by_ttl && is_leak(ledger, key, event->node)) {
        leak_violated(leak, ledger, key, LEFT_TO_EXPIRE);
    }
}

static void leak_finish(void *state, const struct ledger *ledger)
{
    struct no_leak *leak = state;
    for (uint32_t resource = 0; resource < ledger->resource_count; resource++) {
        for (int32_t node = 0; node < ledger->node_count; node++) {
            const struct ledger_key *key = ledger_key_at(ledger, node, resource);
            int64_t age_ns = ledger->now_ns - key->set_ns;
            bool stays = key->present && ledger->ttl_ns > 0 && age_ns > ledger->ttl_ns;
            if (stays && is_leak(ledger, key, node)) {
                leak_violated(leak, ledger, key, STILL_THERE);
            }
        }
    }
    check_conclude(&leak->result);
}

static void say_leak(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct history_event *set = telling_evidence(telling, 0);
    put_client(telling, set->process);
    text_add(text, "'s acquire that was not granted left its key of ");
    put_resource(telling, set->resource);
    text_add(text, " on node %" PRId32 " for ", set->node + 1);
    put_length(text, telling->result->number[0]);
    text_add(text, telling->result->reason == STILL_THERE ? ", to the end of the run" : "");
}

static void effect_leak(const struct telling *telling)
{
    const struct history_event *set = telling_evidence(telling, 0);
    put_client(telling, set->process);
    text_add(telling->text, " was refused ");
    put_resource(telling, set->resource);
    text_add(telling->text, ", and left its key on node %" PRId32, set->node + 1);
}

const struct check check_no_leak = {
    .name = "no_leak",
    .question = "Did a refused or failed acquire leave keys behind?",
    .nothing = "no acquire was answered, or no node told of its keys",
    .keyed = true,
    .wants = CHECK_BIT(HISTORY_ACQUIRE) | CHECK_BIT(HISTORY_KEY_EXPIRED),
    .follows = true,
    .bytes = leak_bytes,
    .init = leak_init,
    .step = leak_step,
    .finish = leak_finish,
    .say = say_leak,
    .effect = effect_leak,
    .over = "key left behind",
    .lasts = true,
    .part = PART_LOCK,
    .weight = 2,
    .explains = 1 << LEFT_TO_EXPIRE | 1 << STILL_THERE,
};

/* ttl_truth.c: is the ttl that was set the ttl that was asked? */
#include "base/assert.h"
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/verdict.h"

#include <inttypes.h>

enum ttl_reason {
    TTL_SHORTER = 1, /* number[0]: the ttl of the key; number[1]: the ttl that was asked */
    TTL_LONGER,
    TTL_NONE, /* the key never expires */
};

/*
 * Judged when a grant or an extension is told, for the ttl that each of its keys has then: on the
 * way there a lock may set another. A lock that counts in whole seconds may round up; one that is
 * asked for more time may add it to what is left.
 */
enum {
    TTL_OFF_PARTS = 100, /* off by less than this part of the ttl is rounding, ... */
    TTL_LONG_PARTS = 10, /* and longer by less than this is an allowance for drift */
};
#define TTL_OFF_NS    ((int64_t)3000000) /* ... or by less than this */
#define TTL_SECOND_NS ((int64_t)1000000000)

struct ttl_truth {
    struct check_result result;
};

static size_t ttl_bytes(const struct history_header *header)
{
    (void)header;
    return sizeof(struct ttl_truth);
}

static void ttl_init(void *state, const struct history_header *header)
{
    (void)header;
    memset(state, 0, sizeof(struct ttl_truth));
}

/* Whether a node's own clock was tampered with: then only it knows what a ttl is. */
static bool clock_is_off(const struct ledger *ledger, int32_t node)
{
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        if (fault->state != FAULT_WAITING &&
            fault_is((enum fault_kind)fault->kind, FAULT_OF_CLOCK) &&
            ledger_fault_on_store(ledger, fault, node)) {
            return true;
        }
    }
    return false;
}

static int64_t ttl_off_ns(int64_t asked_ns)
{
    ASSERT(asked_ns > 0);
    int64_t off_ns = asked_ns / TTL_OFF_PARTS;
    return off_ns > TTL_OFF_NS ? off_ns : TTL_OFF_NS;
}

/* Whether a key that was given less ends where it would, had it been given all when it was asked
 * for: whoever sets a moment, not a length of time, reckons so. One that this operation did not
 * reach was judged before. */
static bool ttl_since_asked(const struct ledger *ledger, const struct ledger_claim *claim,
                            const struct ledger_key *key)
{
    const struct ledger_process *process = ledger_process(ledger, claim->process);
    int64_t end_ns = process->open_ns + ledger->ttl_ns - ttl_off_ns(ledger->ttl_ns);
    return key->kept_index < process->open_index || key->kept_ns + key->ttl_ns >= end_ns;
}

static uint8_t ttl_wrong(int64_t ttl_ns, int64_t asked_ns, bool extended)
{
    int64_t off_ns = ttl_off_ns(asked_ns);
    if (ttl_ns == TIME_NEVER) {
        return TTL_NONE;
    }
    if (ttl_ns < asked_ns - off_ns) {
        return TTL_SHORTER;
    }
    int64_t most_ns = asked_ns * (extended ? 2 : 1);
    int64_t long_ns = most_ns + asked_ns / TTL_LONG_PARTS;
    int64_t seconds_ns = (most_ns + TTL_SECOND_NS - 1) / TTL_SECOND_NS * TTL_SECOND_NS;
    bool rounded = ttl_ns <= seconds_ns + off_ns && ttl_ns > seconds_ns - off_ns;
    return ttl_ns >= long_ns && ttl_ns > most_ns + off_ns && !rounded ? TTL_LONGER : 0;
}

static void ttl_judge(struct ttl_truth *truth, const struct ledger *ledger,
                      const struct ledger_claim *claim, bool extended)
{
    for (int32_t node = 0; node < ledger->node_count; node++) {
        const struct ledger_key *key = ledger_key_at(ledger, node, claim->resource);
        bool its = key->present && !key->came_back && ledger_key_claim(ledger, key) == claim;
        if (!its || clock_is_off(ledger, node)) {
            continue;
        }
        /* One that no extension reached has the ttl that it was set with. */
        bool reached = key->kept_index > key->set_index;
        uint8_t reason = ttl_wrong(key->ttl_ns, ledger->ttl_ns, extended && reached);
        truth->result.judged++;
        if (reason == 0 || (reason == TTL_SHORTER && ttl_since_asked(ledger, claim, key))) {
            continue;
        }
        struct finding finding = {
            .reason = reason,
            .evidence = {key->kept_index, ledger->last_index},
            .evidence_count = 2,
            .blamed = blamed_library(),
            .number = {key->ttl_ns, ledger->ttl_ns},
            .rest = rest_of_keys(ledger, key->set_ns),
        };
        finding.rest.causes |= CHECK_LATE_CLOCKS;
        check_fail(&truth->result, ledger, &finding);
    }
}

static void ttl_step(void *state, const struct ledger *ledger, const struct history_event *event)
{
    bool extended = event->f == HISTORY_EXTEND;
    if (event->type != HISTORY_OK || ledger->endless || ledger->ttl_ns == 0 ||
        ledger->node_count == 0 || event->resource >= ledger->resource_count) {
        return;
    }
    const struct ledger_claim *claim = ledger_grant(ledger, event->process, event->resource);
    if (claim != NULL && claim->over == OVER_NOT && ledger_watched(ledger, claim)) {
        ttl_judge(state, ledger, claim, extended);
    }
}

static void ttl_finish(void *state, const struct ledger *ledger)
{
    (void)ledger;
    check_conclude(state);
}

static void say_ttl(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct history_event *set = telling_evidence(telling, 0);
    const struct history_event *answer = telling_evidence(telling, 1);
    put_granted(telling, answer);
    text_add(text, " by a key on ");
    put_keepers(text, telling->history->header, UINT64_C(1) << set->node);
    text_add(text, " that ");
    if (telling->result->reason == TTL_NONE) {
        text_add(text, "never expires");
    } else {
        text_add(text, "was given ");
        put_length(text, telling->result->number[0]);
    }
    text_add(text, "; the ttl that was asked is ");
    put_length(text, telling->result->number[1]);
}

static void effect_ttl(const struct telling *telling)
{
    static const char *const words[] = {
        [TTL_SHORTER] = "keys were given a shorter ttl than was asked",
        [TTL_LONGER] = "keys were given a longer ttl than was asked",
        [TTL_NONE] = "a key of a grant never expires",
    };
    text_add(telling->text, "%s", words[telling->result->reason]);
}

const struct check check_ttl_truth = {
    .name = "ttl_truth",
    .question = "Is the ttl that was set the ttl that was asked?",
    .nothing = "nothing was granted for a known ttl, or no node told of its keys",
    .keyed = true,
    .wants = CHECK_BIT(HISTORY_ACQUIRE) | CHECK_BIT(HISTORY_EXTEND),
    .follows = true,
    .bytes = ttl_bytes,
    .init = ttl_init,
    .step = ttl_step,
    .finish = ttl_finish,
    .say = say_ttl,
    .effect = effect_ttl,
    .over = "another ttl",
    .part = PART_LOCK,
    .weight = 1,
    .explains = 1 << TTL_SHORTER | 1 << TTL_LONGER | 1 << TTL_NONE,
};

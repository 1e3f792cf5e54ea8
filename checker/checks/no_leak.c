/* no_leak.c: did a refused or failed acquire leave keys behind? */
#include "base/assert.h"
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/undeleted.h"
#include "checker/verdict.h"

#include <inttypes.h>

enum leak_reason {
    LEFT_TO_EXPIRE = 1, /* number[0]: how long it stood in the way */
    STILL_THERE,        /* at the end, later than a ttl, or without an expiry */
    OVERTOOK_TO_EXPIRE, /* the same, of a key that came behind the release of its grant */
    OVERTOOK_STILL_THERE,
    KEPT_TO_EXPIRE, /* the same, of a key that no release took with it */
    KEPT_STILL_THERE,
    UNDONE_TO_EXPIRE, /* the same, of a key that came behind the delete that was to undo it */
    UNDONE_STILL_THERE,
    REMADE_TO_EXPIRE, /* the same, of a key that was set anew behind the release of its grant */
    REMADE_STILL_THERE,
};

/*
 * A key that was set for an acquire (or one attempt of it) that was not granted must be deleted by
 * command, and so must all keys of a grant that was released. If one goes by its ttl although no
 * fault touched its client, its node or all of them since it was sent, the lock did not clean up.
 * Not judged: acquires of unknown outcome, and of the dead.
 */
struct no_leak {
    struct check_result result;
    int64_t resend_ns; /* of a lock that is held to it; else 0 */
    struct undeleted undeleted;
};

static size_t leak_bytes(const struct history_header *header)
{
    (void)header;
    return sizeof(struct no_leak);
}

/* Held to what it says of sending again is our own lock in the simulator, of nodes that are stores
 * of their own: services elect somebody first. */
static void leak_init(void *state, const struct history_header *header)
{
    struct no_leak *leak = state;
    memset(leak, 0, sizeof *leak);
    bool held = !header->declared && strcmp(header->world, "sim") == 0 &&
                history_stores(header) == header->node_count;
    leak->resend_ns = held ? duration_at_most(header->resend_ns) : 0;
}

/*
 * Whether a fault may have held up the set, or the delete. What only makes messages late explains
 * so much: who looks before it deletes has its look answered, and its delete there, two round trips
 * after it knew. After half a ttl more nothing was sent. Our own locks in sessions keep those alive
 * that they cannot close yet, and what is in them.
 */
static bool is_excused(const struct ledger *ledger, const struct ledger_key *key, int32_t node,
                       int64_t known_ns)
{
    bool kept = !ledger->declared && key->kept_ns > known_ns;
    int64_t late_ns = ledger->now_ns - known_ns;
    bool in_time = kept || late_ns <= 2 * ledger_latency_ns(ledger) + ledger->ttl_ns / 2;
    uint64_t spared = in_time ? 0 : UINT64_C(1) << FAULT_LATENCY;
    return key->came_back || ledger_held_back(ledger, key, node, spared) ||
           ledger_touched(ledger, key->process, node, key->set_ns, spared);
}

/* Whether the grant of this key was released, and the key is left of it. A release may come back
 * before the last delete is carried out; one that some node did not answer is left unknown, and the
 * others are asked all the same, unless all are one store. */
static bool is_kept(const struct ledger *ledger, const struct ledger_key *key)
{
    const struct ledger_claim *claim = ledger_key_claim(ledger, key);
    if (key->outcome != CLAIM_GRANTED || claim == NULL || claim->state != CLAIM_GRANTED ||
        claim->left_index == 0 || claim->left_index < key->set_index ||
        (claim->freed_index == 0 && ledger->store_count < ledger->node_count)) {
        return false;
    }
    return ledger->ttl_ns > 0 &&
           ledger->now_ns - claim->left_ns > ledger->ttl_ns / CHECK_DELETION_PARTS;
}

/* Whether a released grant's key is here anew, by a command that was sent while it was held: that
 * was a renewal, which sets what it finds gone. However late it comes, it must not. */
static bool is_remade(const struct ledger *ledger, const struct ledger_key *key, int32_t node)
{
    const struct ledger_claim *claim = ledger_key_claim(ledger, key);
    return ledger_declares(ledger, DECLARES_RENEW) && claim != NULL &&
           claim->state == CLAIM_GRANTED && !key->came_back && (claim->remade >> node & 1) != 0 &&
           claim->freed_index > 0 && claim->freed_index < key->set_index &&
           key->sent_ns > claim->granted_ns && key->sent_ns < claim->freed_ns;
}

/* Whether another thread of its program was granted the lock under the value of this key: on
 * connections that threads share nobody can say for which of them a command went. */
static bool is_of_a_fellow(const struct ledger *ledger, const struct ledger_key *key,
                           uint32_t resource)
{
    int32_t first = ledger->threads > 1 ? key->process / ledger->threads * ledger->threads : 0;
    int32_t count = ledger->threads > 1 && key->process >= 0 ? ledger->threads : 0;
    bool found = false;
    for (int32_t process = first; process < first + count; process++) {
        const struct ledger_claim *claim = ledger_grant(ledger, process, resource);
        found = found || (process != key->process && claim != NULL && claim->has_value &&
                          history_value_equal(&claim->value, &key->value));
    }
    return found;
}

/* When the lock knew that this key was to be deleted. */
static int64_t leak_known_ns(const struct ledger *ledger, const struct ledger_key *key, bool kept)
{
    const struct ledger_claim *claim = ledger_key_claim(ledger, key);
    ASSERT(!kept || claim != NULL);
    return kept ? claim->left_ns : key->outcome_ns;
}

/* The kinds of fault behind which a client does not go on at once, by our time. */
#define LEAK_OTHER_TIME                                                                            \
    ((LEDGER_STOPS_A_CLIENT & ~(UINT32_C(1) << FAULT_PAUSE)) | UINT32_C(1) << FAULT_KILL)

/*
 * For how much longer than it needs nothing was in the way of a release that is sent again: the
 * lock knew that this key must go, the node had it, and the last fault was over. It needs two
 * turns, and a connection may have to be made first; a ttl behind the first one it is sent no more.
 * Less than 0 where it need not be: also where the node had answered one, or the client's time is
 * another.
 */
static int64_t leak_spare_ns(const struct no_leak *leak, const struct ledger *ledger,
                             const struct ledger_key *key, int32_t node, bool kept)
{
    if (leak->resend_ns == 0 || ledger->ttl_ns == 0 || key->came_back || key->overtaken ||
        ledger_client_fault(ledger, key->process, LEAK_OTHER_TIME, key->set_ns, ledger->now_ns)) {
        return -1;
    }
    int64_t free_ns = leak_known_ns(ledger, key, kept);
    int64_t over_ns = ledger_touched_until(ledger, key->process, node);
    free_ns = free_ns > key->set_ns ? free_ns : key->set_ns;
    free_ns = free_ns > over_ns ? free_ns : over_ns;
    int64_t asked_ns = kept ? ledger_key_claim(ledger, key)->over_ns : key->sent_ns;
    int64_t end_ns = ledger->now_ns;
    end_ns = end_ns - asked_ns > ledger->ttl_ns ? asked_ns + ledger->ttl_ns : end_ns;
    int64_t needed_ns = leak->resend_ns * 2 + ledger->ttl_ns / CHECK_DELETION_PARTS;
    return free_ns < end_ns ? end_ns - free_ns - needed_ns : -1;
}

/* What is wrong about a key that was not deleted: 0 if nothing is. */
static uint8_t leak_of(const struct no_leak *leak, const struct ledger *ledger, uint32_t resource,
                       int32_t node)
{
    const struct ledger_key *key = ledger_key_at(ledger, node, resource);
    const struct ledger_claim *claim = ledger_key_claim(ledger, key);
    bool kept = is_kept(ledger, key);
    if (is_remade(ledger, key, node)) {
        return REMADE_TO_EXPIRE;
    }
    if ((key->outcome != CLAIM_REFUSED && !kept) || is_of_a_fellow(ledger, key, resource) ||
        (is_excused(ledger, key, node, leak_known_ns(ledger, key, kept)) &&
         leak_spare_ns(leak, ledger, key, node, kept) <= 0)) {
        return 0;
    }
    bool released = claim != NULL && claim->state == CLAIM_GRANTED;
    return kept             ? KEPT_TO_EXPIRE
           : released       ? OVERTOOK_TO_EXPIRE
           : key->overtaken ? UNDONE_TO_EXPIRE
                            : LEFT_TO_EXPIRE;
}

static struct finding leak_finding(const struct no_leak *leak, const struct ledger *ledger,
                                   int32_t node, uint32_t resource, enum leak_reason reason)
{
    const struct ledger_key *key = ledger_key_at(ledger, node, resource);
    const struct ledger_claim *claim = ledger_key_claim(ledger, key);
    bool kept = reason == KEPT_TO_EXPIRE || reason == KEPT_STILL_THERE;
    int64_t known_ns = leak_known_ns(ledger, key, kept);
    struct finding finding = {
        .reason = (uint8_t)reason,
        .evidence = {key->set_index, kept ? claim->left_index : key->outcome_index,
                     ledger->last_index},
        .evidence_count = 3,
        .blamed = blamed_library(),
        .number = {ledger->now_ns - (kept ? known_ns : key->set_ns), key->process},
        .rest = rest_of_deletion(ledger, key->process, known_ns),
    };
    if (reason < REMADE_TO_EXPIRE && is_excused(ledger, key, node, known_ns)) {
        finding.rest.margin_ns = leak_spare_ns(leak, ledger, key, node, kept);
    }
    if (key->overtaken && !kept) {
        finding.evidence[finding.evidence_count++] = key->miss.index;
    }
    return finding;
}

static void leak_step(void *state, const struct ledger *ledger, const struct history_event *event)
{
    struct no_leak *leak = state;
    if (ledger->node_count == 0 || event->resource >= ledger->resource_count) {
        return;
    }
    undeleted_step(&leak->undeleted, &leak->result, ledger, event);
    if (event->kind == HISTORY_OP) {
        bool ended = event->f == HISTORY_ACQUIRE &&
                     (event->type == HISTORY_OK || event->type == HISTORY_FAIL);
        leak->result.judged += ended && ledger->has_nodes ? 1 : 0;
        return;
    }
    const struct ledger_key *key = ledger_key_at(ledger, event->node, event->resource);
    bool by_ttl = event->f == HISTORY_KEY_EXPIRED && event->cause == CAUSE_TTL &&
                  ((event->flags & HISTORY_HAS_OWNER) == 0 ||
                   history_value_equal(&event->owner, &key->value));
    uint8_t reason = by_ttl ? leak_of(leak, ledger, event->resource, event->node) : 0;
    if (reason != 0) {
        struct finding finding = leak_finding(leak, ledger, event->node, event->resource, reason);
        undeleted_note(&leak->undeleted, event, key, &finding);
    }
}

static void leak_finish(void *state, const struct ledger *ledger)
{
    struct no_leak *leak = state;
    undeleted_finish(&leak->undeleted, &leak->result, ledger);
    for (uint32_t resource = 0; resource < ledger->resource_count; resource++) {
        for (int32_t node = 0; node < ledger->node_count; node++) {
            const struct ledger_key *key = ledger_key_at(ledger, node, resource);
            int64_t age_ns = ledger->now_ns - key->set_ns;
            bool stays = key->present && ledger->ttl_ns > 0 && age_ns > ledger->ttl_ns;
            uint8_t reason = stays ? leak_of(leak, ledger, resource, node) : 0;
            if (reason != 0) {
                struct finding finding =
                    leak_finding(leak, ledger, node, resource, (enum leak_reason)(reason + 1));
                check_fail(&leak->result, ledger, &finding);
            }
        }
    }
    check_conclude(&leak->result);
}

/* How a key was left: of each two reasons, to its ttl and to the end of the run. */
static const struct {
    const char *story; /* "client 1", and then this */
    const char *effect;
} words[] = {
    {"'s acquire that was not granted left its key of ", " was refused "},
    {"'s release overtook its own key of ", " released "},
    {"'s release left its key of ", " released "},
    {"'s clean-up overtook its own key of ", " was refused "},
    {"'s renewal came behind the release and set its key of ", " released "},
};

/* Row of `words`. */
static size_t way_of(uint8_t reason)
{
    size_t way = (reason - 1u) / 2;
    ASSERT(way < sizeof words / sizeof words[0]);
    return way;
}

/* The set of the key: a delete that came before it stands before it. */
static const struct history_event *set_of(const struct telling *telling)
{
    const struct history_event *first = telling_evidence(telling, 0);
    return first->f == HISTORY_KEY_KEPT ? telling_evidence(telling, 1) : first;
}

static void say_leak(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct history_event *set = set_of(telling);
    uint8_t reason = telling->result->reason;
    put_client(telling, set->process);
    text_add(text, "%s", words[way_of(reason)].story);
    put_resource(telling, set->resource);
    text_add(text, " on ");
    put_keepers(text, telling->history->header, UINT64_C(1) << set->node);
    text_add(text, ", where it stayed for ");
    put_length(text, telling->result->number[0]);
    text_add(text, reason % 2 == 0 ? ", to the end of the run" : ", until its ttl was over");
}

static void effect_leak(const struct telling *telling)
{
    const struct history_event *set = set_of(telling);
    uint8_t reason = telling->result->reason;
    put_client(telling, set->process);
    text_add(telling->text, "%s", words[way_of(reason)].effect);
    put_resource(telling, set->resource);
    text_add(telling->text, ", and left its key on ");
    put_keepers(telling->text, telling->history->header, UINT64_C(1) << set->node);
    if (reason == UNDONE_TO_EXPIRE || reason == UNDONE_STILL_THERE) {
        text_add(telling->text, ": its delete came there before the set that it had sent earlier");
    } else if (reason == REMADE_TO_EXPIRE || reason == REMADE_STILL_THERE) {
        text_add(telling->text, ": a renewal that came behind the release set it anew");
    }
}

const struct check check_no_leak = {
    .name = "no_leak",
    .question = "Did an acquire that was not granted, or a release, leave keys behind?",
    .nothing = "no acquire was answered, or no node told of its keys",
    .keyed = true,
    .wants = CHECK_BIT(HISTORY_ACQUIRE) | CHECK_BIT(HISTORY_KEY_EXPIRED) |
             CHECK_BIT(HISTORY_KEY_DELETED) | CHECK_BIT(HISTORY_KEY_KEPT),
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
    .explains = 1 << LEFT_TO_EXPIRE | 1 << STILL_THERE | 1 << OVERTOOK_TO_EXPIRE |
                1 << OVERTOOK_STILL_THERE | 1 << KEPT_TO_EXPIRE | 1 << KEPT_STILL_THERE |
                1 << UNDONE_TO_EXPIRE | 1 << UNDONE_STILL_THERE | 1 << REMADE_TO_EXPIRE |
                1 << REMADE_STILL_THERE,
};

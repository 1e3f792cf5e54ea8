/* promptness.c: is an answer told in the very step in which the reply arrives that decides it? */
#include "base/assert.h"
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/verdict.h"

enum promptness_reason {
    TOLD_LATE = 1, /* number[0]: so long behind the reply that had decided it */
};

#define PROMPTNESS_STOPS (1u << FAULT_PAUSE | 1u << FAULT_SLOW)

/* What a node answered to the operation that is under way. */
struct promptness_vote {
    bool asked;
    bool cast; /* its reply was back; false again where it was asked twice: which is heard? */
    bool yes;  /* it set, extended or deleted the key, as it was asked */
    int64_t replied_ns;
    uint64_t index;
};

/* One client, and its operation. */
struct promptness_client {
    bool asks;
    uint8_t f; /* enum history_f */
    int64_t asked_ns;
    bool named;                 /* the value is known: */
    struct history_value value; /* of the operation; of an acquire, of its newest attempt */
    int64_t begun_ns;           /* ... whose first command was sent then, ... */
    int64_t sent_ns;            /* ... and its last one */
    int32_t attempts;           /* that were seen */
};

struct promptness {
    struct check_result result;
    bool set_decides;
    bool one_value;
    int32_t tries;
    uint32_t clients;
    int64_t retry_delay_ns;
};

/* Of our own locks in the simulator: there a step takes no time. */
static uint32_t promptness_clients(const struct history_header *header)
{
    bool says = header->tries > 0 && !header->declared && strcmp(header->world, "sim") == 0;
    return says ? ledger_process_count(header) : 0;
}

static size_t promptness_bytes(const struct history_header *header)
{
    size_t clients = promptness_clients(header);
    size_t votes = clients * (size_t)header->node_count;
    return sizeof(struct promptness) + clients * sizeof(struct promptness_client) +
           votes * sizeof(struct promptness_vote);
}

static struct promptness_client *promptness_client_at(struct promptness *promptness, uint32_t slot)
{
    ASSERT(slot < promptness->clients);
    return (struct promptness_client *)(promptness + 1) + slot;
}

/* Of all nodes. */
static struct promptness_vote *promptness_votes(struct promptness *promptness,
                                                const struct ledger *ledger, uint32_t slot)
{
    ASSERT(slot < promptness->clients);
    struct promptness_client *clients = (struct promptness_client *)(promptness + 1);
    struct promptness_vote *votes = (struct promptness_vote *)(clients + promptness->clients);
    return votes + (size_t)slot * (size_t)ledger->node_count;
}

static void promptness_init(void *state, const struct history_header *header)
{
    struct promptness *promptness = state;
    memset(state, 0, promptness_bytes(header));
    promptness->set_decides = header->set_decides;
    promptness->one_value = header->one_value;
    promptness->tries = header->tries;
    promptness->clients = promptness_clients(header);
    promptness->retry_delay_ns = duration_at_most(header->retry_delay_ns);
}

static void votes_forget(struct promptness_vote *votes, const struct ledger *ledger)
{
    memset(votes, 0, (size_t)ledger->node_count * sizeof *votes);
}

/* ---- replies --------------------------------------------------------------------------------- */

/* Whether a node's event is its answer to such an operation; `yes`: it did what was asked. */
static bool answers(const struct promptness_client *client, const struct history_event *event,
                    bool *yes)
{
    switch (client->f) {
    case HISTORY_ACQUIRE:
        *yes = event->f == HISTORY_KEY_SET;
        return *yes || event->f == HISTORY_KEY_REFUSED;
    case HISTORY_EXTEND:
        *yes = event->f == HISTORY_KEY_EXTENDED;
        return *yes || event->f == HISTORY_KEY_KEPT;
    default:
        *yes = event->f == HISTORY_KEY_DELETED;
        return *yes || event->f == HISTORY_KEY_KEPT;
    }
}

/* Whether it is the first that is seen of another attempt: what was sent later than all before. */
static bool attempt_begins(const struct promptness *promptness,
                           const struct promptness_client *client,
                           const struct history_event *event)
{
    bool same = client->named && history_value_equal(&client->value, &event->value);
    return (!same || promptness->one_value) && (!client->named || event->sent_ns > client->sent_ns);
}

static void promptness_heard(struct promptness *promptness, const struct ledger *ledger,
                             uint32_t slot, const struct history_event *event)
{
    struct promptness_client *client = promptness_client_at(promptness, slot);
    struct promptness_vote *votes = promptness_votes(promptness, ledger, slot);
    const uint16_t all = HISTORY_HAS_SENT | HISTORY_HAS_VALUE;
    bool yes;
    if (!client->asks || (event->flags & all) != all || event->sent_ns < client->asked_ns ||
        !answers(client, event, &yes)) {
        return;
    }
    if (client->f == HISTORY_ACQUIRE && attempt_begins(promptness, client, event)) {
        votes_forget(votes, ledger);
        client->named = true;
        client->value = event->value;
        client->begun_ns = event->sent_ns;
        client->sent_ns = event->sent_ns;
        client->attempts++;
    }
    if (!client->named || !history_value_equal(&client->value, &event->value)) {
        return; /* of an attempt before */
    }
    client->begun_ns = event->sent_ns < client->begun_ns ? event->sent_ns : client->begun_ns;
    client->sent_ns = event->sent_ns > client->sent_ns ? event->sent_ns : client->sent_ns;
    struct promptness_vote *vote = &votes[event->node];
    bool cast = !vote->asked && (event->flags & HISTORY_HAS_REPLIED) != 0;
    *vote = (struct promptness_vote){true, cast, yes, event->replied_ns, event->index};
}

/* ---- answers --------------------------------------------------------------------------------- */

/* How many nodes had said so when this reply was back. */
static int32_t votes_until(const struct promptness_vote *votes, const struct ledger *ledger,
                           const struct promptness_vote *until)
{
    int32_t count = 0;
    for (int32_t i = 0; i < ledger->node_count; i++) {
        count +=
            votes[i].cast && votes[i].yes == until->yes && votes[i].replied_ns <= until->replied_ns;
    }
    return count;
}

/* The reply behind which a majority had done it, or none could any more; NULL if none came. */
static const struct promptness_vote *votes_decided(const struct promptness_vote *votes,
                                                   const struct ledger *ledger, bool yes_decides)
{
    const struct promptness_vote *decided = NULL;
    for (int32_t i = 0; i < ledger->node_count; i++) {
        const struct promptness_vote *vote = &votes[i];
        int32_t needed = vote->yes ? ledger->quorum : ledger->store_count - ledger->quorum + 1;
        if (vote->cast && (yes_decides || !vote->yes) &&
            votes_until(votes, ledger, vote) >= needed &&
            (decided == NULL || vote->replied_ns < decided->replied_ns)) {
            decided = vote;
        }
    }
    return decided;
}

/* Whether a fault may be why the answer came late: of its client; of a service of several nodes
 * any, as its client may not listen any more to the node whose reply came. */
static bool promptness_is_excused(const struct ledger *ledger, int32_t process, int64_t asked_ns)
{
    bool one = ledger->store_count == ledger->node_count;
    int64_t from_ns = asked_ns - ledger->ttl_ns; /* who was slow is so until its step is over */
    return ledger_client_fault(ledger, process, PROMPTNESS_STOPS, from_ns, ledger->now_ns) ||
           (!one && !ledger_is_calm_since(ledger, asked_ns));
}

/* Whether the answer is to the attempt that was seen last: its value says so, none is left, or
 * there was no time for another, which may have reached no node. */
static bool promptness_is_of(const struct promptness *promptness, const struct ledger *ledger,
                             const struct promptness_client *client,
                             const struct history_event *event)
{
    bool own = event->type == HISTORY_OK && !promptness->one_value;
    int64_t since_ns;
    return event->f != HISTORY_ACQUIRE || client->attempts >= promptness->tries ||
           (own && history_value_equal(&client->value, &event->value)) ||
           (!__builtin_sub_overflow(ledger->now_ns, client->begun_ns, &since_ns) &&
            since_ns < promptness->retry_delay_ns);
}

static void promptness_told(struct promptness *promptness, const struct ledger *ledger,
                            uint32_t slot, const struct history_event *event)
{
    const struct promptness_client *client = promptness_client_at(promptness, slot);
    const struct promptness_vote *votes = promptness_votes(promptness, ledger, slot);
    bool acquires = event->f == HISTORY_ACQUIRE;
    if (!client->asks || client->f != event->f ||
        !promptness_is_of(promptness, ledger, client, event) ||
        promptness_is_excused(ledger, event->process, client->asked_ns)) {
        return;
    }
    bool yes_decides = !acquires || (promptness->set_decides && event->type == HISTORY_OK);
    const struct promptness_vote *decided = votes_decided(votes, ledger, yes_decides);
    if (decided == NULL) {
        return;
    }
    int64_t late_ns;
    bool fits = !__builtin_sub_overflow(ledger->now_ns, decided->replied_ns, &late_ns);
    promptness->result.judged++;
    if (fits && late_ns > 0) {
        struct finding finding = {
            .reason = TOLD_LATE,
            .evidence = {decided->index, ledger->last_index},
            .evidence_count = 2,
            .blamed = blamed_library(),
            .number = {late_ns, 0},
            .rest = rest_of_wait(ledger, client->asked_ns, 1), /* what is unread may be cut off */
        };
        finding.rest.processes[0] = event->process;
        finding.rest.causes |= CHECK_LATE_KEYS;
        check_fail(&promptness->result, ledger, &finding);
    }
}

static void promptness_step(void *state, const struct ledger *ledger,
                            const struct history_event *event)
{
    struct promptness *promptness = state;
    uint32_t slot = event->process >= 0 ? ledger_slot(ledger, event->process) : UINT32_MAX;
    if (slot >= promptness->clients || event->resource >= ledger->resource_count ||
        ledger->node_count == 0) {
        return;
    }
    struct promptness_client *client = promptness_client_at(promptness, slot);
    if (event->kind == HISTORY_OP && event->type == HISTORY_INVOKE) {
        votes_forget(promptness_votes(promptness, ledger, slot), ledger);
        *client = (struct promptness_client){.asks = true,
                                             .f = event->f,
                                             .asked_ns = ledger->now_ns,
                                             .named = event->f != HISTORY_ACQUIRE,
                                             .value = event->value};
    } else if (event->kind == HISTORY_OP) {
        promptness_told(promptness, ledger, slot, event);
        client->asks = false;
    } else if (event->node >= 0 && event->node < ledger->node_count) {
        promptness_heard(promptness, ledger, slot, event);
    }
}

static void promptness_finish(void *state, const struct ledger *ledger)
{
    (void)ledger;
    check_conclude(state);
}

static void say_promptness(const struct telling *telling)
{
    const struct history_event *answer = telling_evidence(telling, 1);
    static const char *const words[] = {[HISTORY_ACQUIRE] = "acquire",
                                        [HISTORY_EXTEND] = "extension",
                                        [HISTORY_RELEASE] = "release"};
    put_client(telling, answer->process);
    text_add(telling->text, "'s %s was decided by its nodes' replies, and answered only after ",
             words[answer->f]);
    put_length(telling->text, telling->result->number[0]);
}

static void effect_promptness(const struct telling *telling)
{
    text_add(telling->text, "the lock keeps its client waiting for an answer that it has");
}

const struct check check_promptness = {
    .name = "promptness",
    .question = "Is an answer told in the step in which the reply arrives that decides it?",
    .nothing = "it is none of picklock's own locks in the simulator, or nothing was answered",
    .keyed = true,
    .wants = CHECK_BIT(HISTORY_ACQUIRE) | CHECK_BIT(HISTORY_EXTEND) | CHECK_BIT(HISTORY_RELEASE) |
             CHECK_BIT(HISTORY_KEY_SET) | CHECK_BIT(HISTORY_KEY_REFUSED) |
             CHECK_BIT(HISTORY_KEY_EXTENDED) | CHECK_BIT(HISTORY_KEY_DELETED) |
             CHECK_BIT(HISTORY_KEY_KEPT),
    .follows = true,
    .bytes = promptness_bytes,
    .init = promptness_init,
    .step = promptness_step,
    .finish = promptness_finish,
    .say = say_promptness,
    .effect = effect_promptness,
    .over = "late answers",
    .part = PART_OTHER,
};

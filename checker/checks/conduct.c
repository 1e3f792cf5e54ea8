/* conduct.c: does the lock go about it as it says: attempts, delays, extensions, promises, and
 * nothing more behind the answer? */
#include "base/assert.h"
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/verdict.h"

#include <inttypes.h>

enum conduct_reason {
    TRIED_TOO_OFTEN = 1, /* number[0]: attempts, number[1]: allowed */
    GAVE_UP_TOO_SOON,    /* number[0]: attempts, number[1]: it was to make */
    EXTENDED_TOO_OFTEN,  /* number[0]: extensions of the grant, number[1]: allowed */
    LIMITED_TOO_SOON,    /* refused for the limit; number[0]: done, number[1]: allowed */
    TRIED_TOO_SOON,      /* number[0]: so long behind the attempt before, number[1]: least */
    PROMISED_TOO_MUCH,   /* number[0]: so much later than it was to end */
    PROMISED_TOO_LITTLE, /* number[0]: so much sooner */
    SET_UNASKED,         /* number[0]: so long behind the answer */
    EXTENDED_UNASKED,    /* number[0]: the same */
    FREED_AGAIN,         /* number[0]: so long behind the node's answer to the same release */
};

/* Behind an answer a command may still be on its way to whoever stamps it: this part of a ttl. */
enum { CONDUCT_SLACK_PARTS = 50 };

/* One client, since it asked to acquire last. */
struct conduct_client {
    int32_t process;
    bool asked;     /* it ever did, ... */
    bool acquired;  /* ... and was answered, ... */
    bool granted;   /* ... with yes */
    bool extends;   /* it asked for more time since, ... */
    bool extending; /* ... and was not answered yet */
    bool gaps;      /* an attempt has room where none was seen */
    int32_t attempts;
    int32_t extensions;         /* done, of the grant */
    struct history_value value; /* of the newest attempt; of the grant, when that was told */
    struct history_value heard; /* that a node was asked for last, ... */
    struct history_value older; /* ... and last before this acquire was asked */
    int64_t asked_ns;
    uint64_t asked_index;
    int64_t answered_ns; /* when an acquire or an extension was, last */
    uint64_t answered_index;
    int64_t sent_ns; /* when the first command of the newest attempt was */
    uint64_t sent_index;
    int64_t least_ns;       /* ... and when it can have begun at the earliest */
    uint64_t replied;       /* bit n: node n answered it, and its client has that */
    int64_t replied_ns;     /* ... the last of these */
    int64_t extend_ns;      /* when the extension was asked that is under way */
    int64_t extend_sent_ns; /* ... and its first command sent; TIME_NEVER: none was seen */
    uint64_t extend_sent_index;
};

/* What a node answered a client's release last. */
struct conduct_release {
    bool told; /* ... and it came back */
    struct history_value value;
    uint64_t index;
    int64_t replied_ns;
};

struct conduct {
    struct check_result result;
    int32_t tries;
    bool one_value;
    bool renews;
    int32_t extends;
    uint32_t clients;
    int64_t retry_delay_ns;
    int64_t allowance_ns;
    int64_t noted_ns; /* a clock is read at most so long before the ask is noted */
};

static uint32_t conduct_clients(const struct history_header *header)
{
    return header->tries > 0 ? ledger_process_count(header) : 0;
}

static size_t conduct_bytes(const struct history_header *header)
{
    size_t clients = conduct_clients(header);
    size_t nodes = (size_t)header->node_count;
    return sizeof(struct conduct) +
           clients * (sizeof(struct conduct_client) + nodes * sizeof(struct conduct_release));
}

static struct conduct_client *conduct_client_at(struct conduct *conduct, uint32_t slot)
{
    ASSERT(slot < conduct->clients);
    return (struct conduct_client *)(conduct + 1) + slot;
}

static struct conduct_release *conduct_release_at(struct conduct *conduct,
                                                  const struct ledger *ledger, uint32_t slot,
                                                  int32_t node)
{
    ASSERT(node >= 0 && node < ledger->node_count);
    struct conduct_client *clients = (struct conduct_client *)(conduct + 1);
    struct conduct_release *releases = (struct conduct_release *)(clients + conduct->clients);
    return releases + (size_t)slot * (size_t)ledger->node_count + (size_t)node;
}

/* What the event that is judged is held against, and whose it is. */
struct conduct_held {
    int32_t process;
    uint64_t index;
};

/* A promise counts from a moment not before `from_ns`, and not behind `to_ns`, when its first
 * command was sent: that is event `index`. */
struct conduct_begun {
    uint64_t index;
    int64_t from_ns;
    int64_t to_ns;
};

static void conduct_init(void *state, const struct history_header *header)
{
    struct conduct *conduct = state;
    memset(state, 0, conduct_bytes(header));
    conduct->tries = header->tries;
    conduct->one_value = header->one_value;
    conduct->renews = header->renew_every_ns > 0;
    conduct->extends = header->extends;
    conduct->clients = conduct_clients(header);
    conduct->retry_delay_ns = duration_at_most(header->retry_delay_ns);
    conduct->allowance_ns = duration_at_most(header->allowance_ns);
    bool real = strcmp(header->world, "real") == 0; /* there client and recorder may stand still */
    conduct->noted_ns = (real ? 3 : 1) * HISTORY_LATE_NOTED_NS; /* so long, and nobody tells */
}

static int64_t conduct_slack_ns(const struct ledger *ledger)
{
    return ledger->ttl_ns / CONDUCT_SLACK_PARTS;
}

/* How late somebody must have been for it to be no violation. */
static int64_t conduct_margin_ns(const struct conduct *conduct, const struct ledger *ledger,
                                 enum conduct_reason reason, const int64_t number[2])
{
    if (reason == GAVE_UP_TOO_SOON || reason == TRIED_TOO_OFTEN) {
        return conduct->retry_delay_ns; /* and an attempt was not seen, or was older */
    }
    if (reason >= SET_UNASKED) {
        return number[0] - conduct_slack_ns(ledger);
    }
    return reason == TRIED_TOO_SOON        ? number[1] - number[0]
           : reason == PROMISED_TOO_LITTLE ? number[0] - conduct->noted_ns
                                           : number[0];
}

static void conduct_violated(struct conduct *conduct, const struct ledger *ledger,
                             const struct conduct_held *against, enum conduct_reason reason,
                             const int64_t number[2])
{
    struct finding finding = {
        .reason = (uint8_t)reason,
        .evidence = {against->index, ledger->last_index},
        .evidence_count = 2,
        .blamed = blamed_library(),
        .number = {number[0], number[1]},
    };
    if (reason >= TRIED_TOO_SOON || reason <= GAVE_UP_TOO_SOON) {
        int64_t from_ns = ledger->now_ns - ledger->ttl_ns;
        finding.rest = rest_of_wait(ledger, from_ns > 0 ? from_ns : 0,
                                    conduct_margin_ns(conduct, ledger, reason, number));
        finding.rest.causes |= CHECK_LATE_KEYS;
        finding.rest.processes[0] = against->process;
    }
    check_fail(&conduct->result, ledger, &finding);
}

/* ---- attempts -------------------------------------------------------------------------------- */

/*
 * Whether another attempt may have been made before the one that `event` begins, and have reached
 * no node: there is a delay in front of each but the first, and behind it.
 */
static bool attempt_has_gap(const struct conduct *conduct, const struct conduct_client *client,
                            const struct history_event *event)
{
    int64_t over_ns = client->replied != 0 ? client->replied_ns : client->sent_ns;
    return client->attempts == 0 ? event->sent_ns - client->asked_ns >= conduct->retry_delay_ns
                                 : event->sent_ns - over_ns >= conduct->retry_delay_ns * 2;
}

static void attempt_begins(struct conduct *conduct, const struct ledger *ledger,
                           struct conduct_client *client, const struct history_event *event)
{
    int64_t gap_ns = event->sent_ns - client->sent_ns;
    client->gaps = client->gaps || attempt_has_gap(conduct, client, event);
    client->least_ns = client->asked_ns;
    if (client->attempts > 0) {
        client->least_ns = client->sent_ns + conduct->retry_delay_ns;
        if (gap_ns < conduct->retry_delay_ns) {
            conduct_violated(conduct, ledger,
                             &(struct conduct_held){client->process, client->sent_index},
                             TRIED_TOO_SOON, (const int64_t[]){gap_ns, conduct->retry_delay_ns});
        }
    }
    client->attempts++;
    client->value = event->value;
    client->sent_ns = event->sent_ns;
    client->sent_index = event->index;
    client->replied = 0;
    client->replied_ns = 0;
    if (client->attempts > conduct->tries) {
        conduct_violated(conduct, ledger,
                         &(struct conduct_held){client->process, client->asked_index},
                         TRIED_TOO_OFTEN, (const int64_t[]){client->attempts, conduct->tries});
    }
}

/* A node set the key for this client, or refused to. */
static void conduct_asked(struct conduct *conduct, const struct ledger *ledger,
                          struct conduct_client *client, const struct history_event *event)
{
    client->heard = event->value;
    if (client->acquired) {
        int64_t late_ns = event->sent_ns - client->answered_ns;
        if (late_ns > conduct_slack_ns(ledger) && !client->extending) {
            conduct_violated(conduct, ledger,
                             &(struct conduct_held){client->process, client->answered_index},
                             SET_UNASKED, (const int64_t[]){late_ns, 0});
        }
        return;
    }
    bool newer = client->attempts == 0 || event->sent_ns > client->sent_ns;
    bool same = client->attempts > 0 && history_value_equal(&client->value, &event->value) &&
                !(conduct->one_value && newer);
    bool older = history_value_equal(&client->older, &event->value);
    if (event->sent_ns < client->asked_ns || older || (!same && !newer)) {
        return; /* of an acquire, or an attempt, before: it was long under way */
    }
    if (!same) {
        attempt_begins(conduct, ledger, client, event);
    }
    client->sent_ns = event->sent_ns < client->sent_ns ? event->sent_ns : client->sent_ns;
    if ((event->flags & HISTORY_HAS_REPLIED) != 0) {
        client->replied |= UINT64_C(1) << event->node;
        client->replied_ns =
            event->replied_ns > client->replied_ns ? event->replied_ns : client->replied_ns;
    }
}

/* Whether another attempt may have been granted what the one before it had set, of which no node
 * tells: in one session, where there was time for it. */
static bool attempt_may_be_unseen(const struct conduct *conduct, const struct ledger *ledger,
                                  const struct conduct_client *client)
{
    return conduct->tries == INT32_MAX ||
           (conduct->one_value && ledger->now_ns - client->sent_ns >= conduct->retry_delay_ns);
}

/* Refused, when the last attempt was just over, and others were to follow. */
static void conduct_refused(struct conduct *conduct, const struct ledger *ledger,
                            const struct conduct_client *client)
{
    bool all = ledger_bits(client->replied) >= ledger->store_count && !client->gaps;
    if (all && client->attempts < conduct->tries && client->replied_ns <= ledger->now_ns &&
        ledger->now_ns - client->replied_ns < conduct->retry_delay_ns) {
        conduct_violated(conduct, ledger,
                         &(struct conduct_held){client->process, client->asked_index},
                         GAVE_UP_TOO_SOON, (const int64_t[]){client->attempts, conduct->tries});
    }
}

/* ---- promises -------------------------------------------------------------------------------- */

/* A promise of a ttl less the allowance. */
static void conduct_promised(struct conduct *conduct, const struct ledger *ledger,
                             const struct conduct_client *client, const struct history_event *event,
                             const struct conduct_begun *begun)
{
    int64_t length_ns = ledger->ttl_ns - conduct->allowance_ns;
    int64_t more_ns;
    int64_t less_ns;
    if ((event->flags & HISTORY_HAS_UNTIL) == 0 || !ledger->promises ||
        __builtin_sub_overflow(event->until_ns - begun->to_ns, length_ns, &more_ns) ||
        __builtin_sub_overflow(length_ns, event->until_ns - begun->from_ns, &less_ns)) {
        return;
    }
    if (more_ns > 0) {
        conduct_violated(conduct, ledger, &(struct conduct_held){client->process, begun->index},
                         PROMISED_TOO_MUCH, (const int64_t[]){more_ns, 0});
    } else if (less_ns > conduct->noted_ns) {
        conduct_violated(conduct, ledger, &(struct conduct_held){client->process, begun->index},
                         PROMISED_TOO_LITTLE, (const int64_t[]){less_ns, 0});
    }
}

static void conduct_extended(struct conduct *conduct, const struct ledger *ledger,
                             struct conduct_client *client, const struct history_event *event)
{
    if (!client->granted || !history_value_equal(&client->value, &event->value)) {
        return;
    }
    bool done = event->type == HISTORY_OK;
    bool limited = event->type == HISTORY_FAIL && event->cause == CAUSE_EXTEND_LIMIT;
    client->extensions += done ? 1 : 0;
    const int64_t number[] = {client->extensions, conduct->extends};
    if (done && client->extensions > conduct->extends) {
        conduct_violated(conduct, ledger,
                         &(struct conduct_held){client->process, client->asked_index},
                         EXTENDED_TOO_OFTEN, number);
    } else if (limited && client->extensions < conduct->extends) {
        conduct_violated(conduct, ledger,
                         &(struct conduct_held){client->process, client->asked_index},
                         LIMITED_TOO_SOON, number);
    }
    if (done && client->extending && client->extend_sent_ns != TIME_NEVER &&
        ledger_is_calm_since(ledger, client->asked_ns)) {
        conduct_promised(conduct, ledger, client, event,
                         &(struct conduct_begun){client->extend_sent_index, client->extend_ns,
                                                 client->extend_sent_ns});
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void conduct_extension(struct conduct *conduct, const struct ledger *ledger,
                              struct conduct_client *client, const struct history_event *event)
{
    if (event->type != HISTORY_INVOKE) {
        conduct_extended(conduct, ledger, client, event);
        client->answered_ns = ledger->now_ns;
        client->answered_index = event->index;
    }
    client->extends = true;
    client->extending = event->type == HISTORY_INVOKE;
    client->extend_ns = ledger->now_ns;
    client->extend_sent_ns = TIME_NEVER;
}

static void conduct_acquire(struct conduct *conduct, const struct ledger *ledger,
                            struct conduct_client *client, const struct history_event *event)
{
    if (event->type == HISTORY_INVOKE) {
        *client = (struct conduct_client){.process = event->process,
                                          .asked = true,
                                          .heard = client->heard,
                                          .older = client->heard,
                                          .asked_ns = ledger->now_ns,
                                          .asked_index = event->index};
        return;
    }
    bool sound = client->asked && ledger_is_calm_since(ledger, client->asked_ns);
    bool same = client->attempts > 0 && history_value_equal(&client->value, &event->value);
    if (sound && event->type == HISTORY_FAIL) {
        conduct_refused(conduct, ledger, client);
    } else if (sound && same && event->type == HISTORY_OK) {
        bool unseen = attempt_may_be_unseen(conduct, ledger, client);
        int64_t to_ns = unseen ? ledger->now_ns : client->sent_ns;
        conduct_promised(conduct, ledger, client, event,
                         &(struct conduct_begun){client->sent_index, client->least_ns, to_ns});
    }
    client->acquired = true;
    client->granted = event->type == HISTORY_OK;
    client->value = event->value;
    client->answered_ns = ledger->now_ns;
    client->answered_index = event->index;
}

/* A key was given more time: because that was asked, or of the lock's own accord. Once it was
 * asked, a node that forgot the script may say so late, and is sent it late. */
static void conduct_prolonged(struct conduct *conduct, const struct ledger *ledger,
                              struct conduct_client *client, const struct history_event *event)
{
    if (client->extending) {
        bool first = event->sent_ns >= client->extend_ns && event->sent_ns < client->extend_sent_ns;
        client->extend_sent_ns = first ? event->sent_ns : client->extend_sent_ns;
        client->extend_sent_index = first ? event->index : client->extend_sent_index;
        return;
    }
    int64_t late_ns = event->sent_ns - client->answered_ns;
    if (client->acquired && !client->extends && !conduct->renews &&
        late_ns > conduct_slack_ns(ledger)) {
        conduct_violated(conduct, ledger,
                         &(struct conduct_held){client->process, client->answered_index},
                         EXTENDED_UNASKED, (const int64_t[]){late_ns, 0});
    }
}

/* A node answered a release: once its client has that, it is not to be asked again. */
static void conduct_freed(struct conduct *conduct, const struct ledger *ledger, uint32_t slot,
                          const struct history_event *event)
{
    const struct conduct_client *client = conduct_client_at(conduct, slot);
    struct conduct_release *last = conduct_release_at(conduct, ledger, slot, event->node);
    bool again = last->told && history_value_equal(&last->value, &event->value);
    int64_t late_ns = event->sent_ns - last->replied_ns;
    if (again && late_ns > conduct_slack_ns(ledger) &&
        ledger->store_count == ledger->node_count && /* else another may serve by now */
        ledger_is_calm_since(ledger, last->replied_ns)) {
        conduct_violated(conduct, ledger, &(struct conduct_held){client->process, last->index},
                         FREED_AGAIN, (const int64_t[]){late_ns, 0});
    }
    *last = (struct conduct_release){.told = (event->flags & HISTORY_HAS_REPLIED) != 0,
                                     .value = event->value,
                                     .index = event->index,
                                     .replied_ns = event->replied_ns};
}

static void conduct_key(struct conduct *conduct, const struct ledger *ledger, uint32_t slot,
                        const struct history_event *event)
{
    struct conduct_client *client = conduct_client_at(conduct, slot);
    bool told = (event->flags & HISTORY_HAS_SENT) != 0 && (event->flags & HISTORY_HAS_VALUE) != 0;
    if (!told || !client->asked || !ledger_is_calm_since(ledger, client->asked_ns)) {
        return;
    }
    if (strstr(event->command, "delete") != NULL) {
        conduct_freed(conduct, ledger, slot, event);
    } else if (event->f == HISTORY_KEY_EXTENDED) {
        conduct_prolonged(conduct, ledger, client, event);
    } else if (event->f == HISTORY_KEY_SET || event->f == HISTORY_KEY_REFUSED) {
        conduct_asked(conduct, ledger, client, event);
    }
}

static void conduct_step(void *state, const struct ledger *ledger,
                         const struct history_event *event)
{
    struct conduct *conduct = state;
    uint32_t slot = event->process >= 0 ? ledger_slot(ledger, event->process) : UINT32_MAX;
    if (slot >= conduct->clients || event->resource >= ledger->resource_count ||
        ledger->node_count == 0 || ledger->ttl_ns == 0 || (event->flags & HISTORY_AUDIT) != 0) {
        return;
    }
    struct conduct_client *client = conduct_client_at(conduct, slot);
    if (event->kind == HISTORY_OP) {
        conduct->result.judged += event->type == HISTORY_INVOKE ? 0 : 1;
        if (event->f == HISTORY_EXTEND) {
            conduct_extension(conduct, ledger, client, event);
        } else {
            conduct_acquire(conduct, ledger, client, event);
        }
    } else if (event->node >= 0 && event->node < ledger->node_count) {
        conduct_key(conduct, ledger, slot, event);
    }
}

static void conduct_finish(void *state, const struct ledger *ledger)
{
    (void)ledger;
    check_conclude(state);
}

static void say_conduct(const struct telling *telling)
{
    static const char *const words[] = {
        [TRIED_TOO_OFTEN] = " made more attempts than the lock says: ",
        [GAVE_UP_TOO_SOON] = " was refused before all attempts were made that the lock says: ",
        [EXTENDED_TOO_OFTEN] = " extended a grant more often than the lock says: ",
        [LIMITED_TOO_SOON] = " may not extend any more, sooner than the lock says: ",
        [TRIED_TOO_SOON] = " tried again sooner than the lock says: after ",
        [PROMISED_TOO_MUCH] = " was promised more than a ttl less the lock's allowance: by ",
        [PROMISED_TOO_LITTLE] = " was promised less than a ttl less the lock's allowance: by ",
        [SET_UNASKED] = "'s acquire had been answered, and its lock asked a node for a key after ",
        [EXTENDED_UNASKED] = " had asked for no more time, and its lock gave a key more after ",
        [FREED_AGAIN] = "'s release had been answered by a node, and was sent there again after ",
    };
    struct text *text = telling->text;
    const struct check_result *result = telling->result;
    put_client(telling, telling_evidence(telling, 1)->process);
    text_add(text, "%s", words[result->reason]);
    if (result->reason < TRIED_TOO_SOON) {
        text_add(text, "%" PRId64 ", not %" PRId64, result->number[0], result->number[1]);
        return;
    }
    put_length(text, result->number[0]);
    if (result->reason == TRIED_TOO_SOON) {
        text_add(text, ", not ");
        put_length(text, result->number[1]);
    }
}

static void effect_conduct(const struct telling *telling)
{
    text_add(telling->text, "the lock does not go about it as it says");
}

const struct check check_conduct = {
    .name = "conduct",
    .question = "Does the lock go about it as it says, and do nothing more behind its answers?",
    .nothing = "the lock does not say how it goes about it",
    .keyed = true,
    .wants = CHECK_BIT(HISTORY_ACQUIRE) | CHECK_BIT(HISTORY_EXTEND) | CHECK_BIT(HISTORY_KEY_SET) |
             CHECK_BIT(HISTORY_KEY_REFUSED) | CHECK_BIT(HISTORY_KEY_EXTENDED) |
             CHECK_BIT(HISTORY_KEY_DELETED) | CHECK_BIT(HISTORY_KEY_KEPT),
    .follows = true,
    .bytes = conduct_bytes,
    .init = conduct_init,
    .step = conduct_step,
    .finish = conduct_finish,
    .say = say_conduct,
    .effect = effect_conduct,
    .over = "not as it says",
    .part = PART_OTHER,
};

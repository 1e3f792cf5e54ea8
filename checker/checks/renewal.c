/* renewal.c: does a lock that renews its leases by itself do so when it says, and promise what that
 * gave it? */
#include "base/assert.h"
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/verdict.h"

enum renewal_reason {
    KEPT_TOO_SELDOM = 1, /* number[0]: so long without, number[1]: how often it was to */
    KEPT_TOO_OFTEN,      /* number[0]: so long behind the one before, number[1]: the same */
    RENEWED_SPENT,       /* number[0]: so long before it was told the promise had ended */
    RENEWED_TOO_MUCH,    /* number[0]: so much later than it was to end */
    RENEWED_TOO_LITTLE,  /* number[0]: so much sooner, when the answer was long back */
    LEFT_FOR_NOTHING,    /* number[0]: for so long */
    LOST_FOR_NOTHING,    /* number[0]: for so long it was promised yet */
};

/* What is under way, and whole ticks of a service, are no delay: these parts of a ttl. */
enum { RENEWAL_LATE_PARTS = 10, RENEWAL_SOON_PARTS = 50 };

#define RENEWAL_STOPS (1u << FAULT_PAUSE | 1u << FAULT_KILL | 1u << FAULT_SLOW)

/* One client, and the lease that it was granted last. */
struct renewal_client {
    int32_t process;
    bool holds; /* it was granted one, and since then nothing was told of its end */
    struct history_value value;
    int64_t asked_ns;
    int64_t kept_ns; /* when the lease was given time last, or that was told */
    uint64_t kept_index;
    bool renewed; /* by a renewal, which said when it was sent, ... */
    bool whole;   /* ... for the ttl that was asked, ... */
    bool replied; /* ... and whose answer is back */
    int64_t sent_ns;
    int64_t replied_ns;
    int64_t least_ns; /* what is promised by that: no less than this, ... */
    int64_t most_ns;  /* ... and no more */
    int64_t until_ns; /* what was promised last */
    bool left;        /* its section, ... */
    int64_t left_ns;  /* ... then */
    uint64_t left_index;
};

struct renewal {
    struct check_result result;
    uint32_t clients;
    bool watches; /* of an ensemble, whose leader hears late of what its members were told */
    int64_t every_ns;
    int64_t length_ns; /* of a promise */
};

/* Of our own locks: `declared` is the word of another's, which answer_consistency takes it at. */
static uint32_t renewal_clients(const struct history_header *header)
{
    bool says = header->renew_every_ns > 0 && header->tries > 0 && !header->declared;
    return says ? ledger_process_count(header) : 0;
}

static size_t renewal_bytes(const struct history_header *header)
{
    return sizeof(struct renewal) + renewal_clients(header) * sizeof(struct renewal_client);
}

static struct renewal_client *renewal_client_at(struct renewal *renewal, uint32_t slot)
{
    ASSERT(slot < renewal->clients);
    return (struct renewal_client *)(renewal + 1) + slot;
}

static void renewal_init(void *state, const struct history_header *header)
{
    struct renewal *renewal = state;
    memset(state, 0, renewal_bytes(header));
    renewal->clients = renewal_clients(header);
    renewal->watches = header->tries == INT32_MAX;
    renewal->every_ns = duration_at_most(header->renew_every_ns);
    renewal->length_ns = duration_at_most(header->ttl_ns) - duration_at_most(header->allowance_ns);
}

/* Times that cannot be subtracted are of another history than ours. */
static int64_t renewal_between(int64_t from_ns, int64_t to_ns)
{
    int64_t length_ns;
    return __builtin_sub_overflow(to_ns, from_ns, &length_ns) ? 0 : length_ns;
}

/* From when on, `ttls` behind its end, a fault explains nothing any more; TIME_NEVER: one goes on,
 * or stays. */
static int64_t renewal_calm_ns(const struct ledger *ledger, const struct renewal_client *client,
                               int32_t ttls)
{
    int64_t calm_ns = 0;
    if (ledger_client_fault(ledger, client->process, RENEWAL_STOPS, client->kept_ns,
                            ledger->now_ns)) {
        return TIME_NEVER; /* who was slow is so until its step is over */
    }
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        bool stays = fault_trait_of((enum fault_kind)fault->kind)->life == FAULT_STAYS;
        if (fault->state == FAULT_WAITING) {
            continue;
        }
        if (stays || fault->end_ns >= ledger->now_ns) {
            return TIME_NEVER;
        }
        int64_t over_ns = fault->end_ns + ttls * ledger->ttl_ns;
        calm_ns = over_ns > calm_ns ? over_ns : calm_ns;
    }
    return calm_ns;
}

/* Who is not stopped hears at once; and all reckon by clocks that are true. */
static bool renewal_is_timely(const struct ledger *ledger, const struct renewal_client *client)
{
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        if (fault->state != FAULT_WAITING &&
            fault_is((enum fault_kind)fault->kind, FAULT_OF_CLOCK)) {
            return false;
        }
    }
    return !ledger_client_fault(ledger, client->process, RENEWAL_STOPS, client->asked_ns,
                                ledger->now_ns);
}

/* number[2]: how late somebody must have been for it to be no violation. */
static void renewal_violated(struct renewal *renewal, const struct ledger *ledger,
                             const struct renewal_client *client, enum renewal_reason reason,
                             const int64_t number[3])
{
    int64_t from_ns = ledger->now_ns - 2 * ledger->ttl_ns; /* the one before may have been late */
    struct finding finding = {
        .reason = (uint8_t)reason,
        .evidence = {client->kept_index, ledger->last_index},
        .evidence_count = 2,
        .blamed = blamed_library(),
        .number = {number[0], number[1]},
        .rest = rest_of_wait(ledger, from_ns > 0 ? from_ns : 0, number[2]),
    };
    finding.rest.causes |= CHECK_LATE_KEYS;
    finding.rest.processes[0] = client->process;
    check_fail(&renewal->result, ledger, &finding);
}

/* ---- how often ------------------------------------------------------------------------------- */

/* Up to now, and all being well, the lease was given no more time than it had. */
static void renewal_waited(struct renewal *renewal, const struct ledger *ledger,
                           const struct renewal_client *client)
{
    int64_t calm_ns = renewal_calm_ns(ledger, client, 1);
    int64_t from_ns = client->kept_ns > calm_ns ? client->kept_ns : calm_ns;
    int64_t without_ns = calm_ns < ledger->now_ns ? renewal_between(from_ns, ledger->now_ns) : 0;
    int64_t over_ns = without_ns - renewal->every_ns - ledger->ttl_ns / RENEWAL_LATE_PARTS;
    if (over_ns > 0 && !renewal->watches) {
        renewal_violated(renewal, ledger, client, KEPT_TOO_SELDOM,
                         (const int64_t[]){without_ns, renewal->every_ns, over_ns});
    }
}

/* The answer to the newest renewal is back: its holder has been told what it may count on. */
static void renewal_told(struct renewal *renewal, const struct ledger *ledger,
                         const struct renewal_client *client)
{
    int64_t less_ns = renewal_between(client->until_ns, client->least_ns);
    int64_t since_ns = renewal_between(client->replied_ns, ledger->now_ns);
    if (client->whole && client->replied && since_ns > HISTORY_LATE_NOTED_NS &&
        less_ns > HISTORY_LATE_NOTED_NS) {
        renewal_violated(renewal, ledger, client, RENEWED_TOO_LITTLE,
                         (const int64_t[]){less_ns, 0, since_ns});
    }
}

/* Its node gave it time up to an end; less what it was under way and the lock's allowance that is
 * promised. */
static void renewal_gave(const struct renewal *renewal, const struct ledger *ledger,
                         struct renewal_client *client, const struct history_event *event)
{
    int64_t allowance_ns = ledger->ttl_ns - renewal->length_ns;
    client->renewed = true;
    client->whole = event->ttl_ns == ledger->ttl_ns;
    client->sent_ns = event->sent_ns;
    client->replied = (event->flags & HISTORY_HAS_REPLIED) != 0;
    client->replied_ns = event->replied_ns;
    client->most_ns = event->until_ns - allowance_ns;
    client->least_ns = client->most_ns - (ledger->now_ns - event->sent_ns);
}

static void renewal_kept(struct renewal *renewal, const struct ledger *ledger,
                         struct renewal_client *client, const struct history_event *event)
{
    const uint16_t all = HISTORY_HAS_SENT | HISTORY_HAS_UNTIL | HISTORY_HAS_TTL;
    bool sent = (event->flags & all) == all;
    renewal_waited(renewal, ledger, client);
    if (ledger_is_calm_since(ledger, client->asked_ns)) {
        renewal_told(renewal, ledger, client);
        int64_t gap_ns = renewal_between(client->sent_ns, event->sent_ns);
        int64_t soon_ns = renewal->every_ns - ledger->ttl_ns / RENEWAL_SOON_PARTS - gap_ns;
        bool held = ledger->now_ns - event->sent_ns > ledger->ttl_ns / RENEWAL_SOON_PARTS;
        if (sent && client->renewed && !held && soon_ns > 0) {
            renewal_violated(renewal, ledger, client, KEPT_TOO_OFTEN,
                             (const int64_t[]){gap_ns, renewal->every_ns, soon_ns});
        }
    }
    if (sent && (!client->renewed || event->sent_ns > client->sent_ns)) {
        renewal_gave(renewal, ledger, client, event);
    }
    client->kept_ns = ledger->now_ns;
    client->kept_index = event->index;
}

/* ---- what is promised ------------------------------------------------------------------------ */

/* What a renewal gave that no node told of ends no later than a ttl behind now; while all is well
 * each is told. */
static void renewal_promised(struct renewal *renewal, const struct ledger *ledger,
                             const struct renewal_client *client, const struct history_event *event)
{
    if ((event->flags & HISTORY_HAS_UNTIL_LEAST) != 0 || !renewal_is_timely(ledger, client)) {
        return;
    }
    int64_t most_ns = ledger->now_ns + renewal->length_ns;
    bool later = client->most_ns > most_ns || ledger_is_calm_since(ledger, client->asked_ns);
    most_ns = client->renewed && later ? client->most_ns : most_ns;
    int64_t more_ns = renewal_between(most_ns, event->until_ns);
    int64_t over_ns = renewal_between(event->until_ns, ledger->now_ns);
    renewal->result.judged++;
    if (over_ns >= 0) {
        renewal_violated(renewal, ledger, client, RENEWED_SPENT,
                         (const int64_t[]){over_ns, 0, over_ns});
    } else if (more_ns > 0) {
        renewal_violated(renewal, ledger, client, RENEWED_TOO_MUCH,
                         (const int64_t[]){more_ns, 0, more_ns});
    }
}

/* The promised end moved: by a renewal, or because the holder's clock did. */
static void renewal_moved(struct renewal *renewal, const struct ledger *ledger,
                          struct renewal_client *client, const struct history_event *event)
{
    if (event->fault == HISTORY_NO_FAULT) {
        renewal_promised(renewal, ledger, client, event);
        client->kept_ns = ledger->now_ns;
        client->kept_index = event->index;
    }
    client->until_ns = event->until_ns;
}

/* Its loss is told, and its promise runs; the service, which alone can end it, has its key. */
static void renewal_lost(struct renewal *renewal, const struct ledger *ledger,
                         const struct renewal_client *client, const struct history_event *event)
{
    const struct ledger_key *key = ledger_key_at(ledger, 0, event->resource);
    int64_t left_ns = renewal_between(ledger->now_ns, client->until_ns);
    if (ledger->store_count == 1 && key->present &&
        history_value_equal(&key->value, &client->value) && left_ns > HISTORY_LATE_NOTED_NS) {
        renewal_violated(renewal, ledger, client, LOST_FOR_NOTHING,
                         (const int64_t[]){left_ns, 0, left_ns});
    }
}

/* ---- jeopardy -------------------------------------------------------------------------------- */

/* Where anybody waited for a processor, so may have a service, which tells nothing of it. */
static bool renewal_was_busy(const struct ledger *ledger)
{
    return ledger->lates > 0;
}

/* A holder leaves its section, and enters it again, where nobody knows for a while whether its
 * lease lasts: there must be a fault. A renewal that one held up gave it less time, so that another
 * ttl may pass. */
static void renewal_section(struct renewal *renewal, const struct ledger *ledger,
                            struct renewal_client *client, const struct history_event *event)
{
    if (event->f == HISTORY_ENTER && client->left && !renewal_was_busy(ledger) &&
        renewal_calm_ns(ledger, client, 2) <= client->left_ns) {
        client->kept_index = client->left_index;
        renewal_violated(renewal, ledger, client, LEFT_FOR_NOTHING,
                         (const int64_t[]){renewal_between(client->left_ns, ledger->now_ns), 0,
                                           HISTORY_LATE_NOTED_NS});
    }
    client->left = event->f == HISTORY_LEAVE;
    client->left_ns = ledger->now_ns;
    client->left_index = event->index;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void renewal_operation(struct renewal *renewal, const struct ledger *ledger,
                              struct renewal_client *client, const struct history_event *event)
{
    if (event->f == HISTORY_ACQUIRE && event->type == HISTORY_INVOKE) {
        *client = (struct renewal_client){.process = event->process, .asked_ns = ledger->now_ns};
    } else if (event->f == HISTORY_ACQUIRE) {
        client->holds = event->type == HISTORY_OK && (event->flags & HISTORY_HAS_UNTIL) != 0;
        client->value = event->value;
        client->until_ns = event->until_ns;
        client->kept_ns = ledger->now_ns;
        client->kept_index = event->index;
    } else if (client->holds && event->type == HISTORY_INVOKE) {
        renewal->result.judged++;
        renewal_waited(renewal, ledger, client);
        if (ledger_is_calm_since(ledger, client->asked_ns)) {
            renewal_told(renewal, ledger, client);
        }
        client->holds = false;
    }
}

static void renewal_step(void *state, const struct ledger *ledger,
                         const struct history_event *event)
{
    struct renewal *renewal = state;
    uint32_t slot = event->process >= 0 ? ledger_slot(ledger, event->process) : UINT32_MAX;
    if (slot >= renewal->clients || event->resource >= ledger->resource_count ||
        ledger->node_count == 0 || ledger->ttl_ns == 0 || (event->flags & HISTORY_AUDIT) != 0) {
        return;
    }
    struct renewal_client *client = renewal_client_at(renewal, slot);
    if (event->kind == HISTORY_OP) {
        renewal_operation(renewal, ledger, client, event);
    } else if (!client->holds) {
        return;
    } else if (event->kind == HISTORY_LEASE) {
        renewal_moved(renewal, ledger, client, event);
    } else if (event->kind == HISTORY_NODE && history_value_equal(&client->value, &event->value)) {
        renewal_kept(renewal, ledger, client, event);
    } else if (event->kind == HISTORY_NOTICE) {
        renewal_waited(renewal, ledger, client);
        renewal_lost(renewal, ledger, client, event);
        client->holds = false;
    } else if (event->kind == HISTORY_SECTION) {
        renewal_section(renewal, ledger, client, event);
    }
}

static void renewal_finish(void *state, const struct ledger *ledger)
{
    (void)ledger;
    check_conclude(state);
}

static void say_renewal(const struct telling *telling)
{
    static const char *const words[] = {
        [KEPT_TOO_SELDOM] = "'s lease was given no more time for ",
        [KEPT_TOO_OFTEN] = "'s lease was renewed again after ",
        [RENEWED_SPENT] = " was told of a renewal whose end had passed before by ",
        [RENEWED_TOO_MUCH] = "'s renewal promises more than a ttl less the lock's allowance: by ",
        [RENEWED_TOO_LITTLE] = "'s lease was renewed, and it was promised less than that gave: by ",
        [LEFT_FOR_NOTHING] = " was to leave its section, and there was no fault: for ",
        [LOST_FOR_NOTHING] = " was told that its lease is lost, though its key is there and it was "
                             "promised for another ",
    };
    struct text *text = telling->text;
    const struct check_result *result = telling->result;
    put_client(telling, telling_evidence(telling, 0)->process);
    text_add(text, "%s", words[result->reason]);
    put_length(text, result->number[0]);
    if (result->reason <= KEPT_TOO_OFTEN) {
        text_add(text, ", and the lock renews every ");
        put_length(text, result->number[1]);
    }
}

static void effect_renewal(const struct telling *telling)
{
    text_add(telling->text, "the lock does not renew its leases as it says");
}

const struct check check_renewal = {
    .name = "renewal",
    .question =
        "Does a lock that renews its leases do so when it says, and promise what that gave?",
    .nothing = "the lock does not say that it renews its leases, or none was renewed",
    .keyed = true,
    .wants = CHECK_BIT(HISTORY_ACQUIRE) | CHECK_BIT(HISTORY_RELEASE) | CHECK_BIT(HISTORY_MOVED) |
             CHECK_BIT(HISTORY_KEY_EXTENDED) | CHECK_BIT(HISTORY_LOST) | CHECK_BIT(HISTORY_ENTER) |
             CHECK_BIT(HISTORY_LEAVE),
    .follows = true,
    .bytes = renewal_bytes,
    .init = renewal_init,
    .step = renewal_step,
    .finish = renewal_finish,
    .say = say_renewal,
    .effect = effect_renewal,
    .over = "not renewed as it says",
    .part = PART_OTHER,
};

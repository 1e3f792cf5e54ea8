/* ledger_keys.c: follows the keys on the nodes and which claim each stands behind. */
#include "checker/ledger/ledger_keys.h"

#include "base/assert.h"
#include "checker/ledger/ledger_claims.h"

/* A set that arrives when its acquire is over belongs to a grant that still stands, also where the
 * holder asks for more meanwhile, or to nothing. */
static uint8_t set_outcome(const struct ledger_process *process, const struct ledger_claim *claim)
{
    if (claim->state == CLAIM_UNKNOWN) {
        return CLAIM_UNKNOWN;
    }
    if (claim->state == CLAIM_GRANTED && claim->over == OVER_NOT) {
        return CLAIM_GRANTED;
    }
    bool asks = process->open && process->open_f == HISTORY_ACQUIRE;
    return asks ? CLAIM_ASKED : CLAIM_REFUSED;
}

/*
 * Whether a set begins a claim anew: it is for another acquire than the claim was made for. Where
 * keys show no value that is new for each acquire (a member of a sorted set, the mode of a hash),
 * those that were sent for earlier ones come under the same claim.
 */
static bool claim_is_past(const struct ledger *ledger, const struct ledger_process *process,
                          const struct ledger_claim *claim, const struct history_event *event)
{
    bool asks = process->open && process->open_f == HISTORY_ACQUIRE &&
                process->open_resource == claim->resource;
    bool sent_since = (event->flags & HISTORY_HAS_SENT) != 0 && event->sent_ns >= process->open_ns;
    if (asks && claim->state == CLAIM_UNKNOWN && sent_since) {
        return true;
    }
    bool unsettled = claim->state == CLAIM_UNKNOWN && claim->present != 0;
    return asks && claim->first_set_index < process->open_index && !unsettled &&
           !ledger_running(ledger, claim);
}

/* Sent for an acquire that ended unknown, and come since, or now that its client asks again: it
 * says nothing of what that is told. */
static bool set_is_older(const struct ledger_process *process, const struct history_event *event)
{
    if (!process->open || process->open_f != HISTORY_ACQUIRE) {
        return process->last_end == HISTORY_INFO;
    }
    return process->unsettled && (event->flags & HISTORY_HAS_SENT) != 0 &&
           event->sent_ns < process->open_ns;
}

/* The claim that a set stands behind, as it is to be from now on. */
static struct ledger_claim *claim_of_set(struct ledger *ledger, uint32_t slot,
                                         const struct history_event *event)
{
    struct ledger_claim *claim = ledger_own(ledger_find(ledger, event));
    if (claim == NULL) {
        bool older = set_is_older(ledger_process_at(ledger, slot), event);
        claim = ledger_claim_take(ledger, slot);
        claim->state = older ? CLAIM_UNKNOWN : CLAIM_ASKED;
        claim->has_value = (event->flags & HISTORY_HAS_VALUE) != 0;
        claim->value = event->value;
        claim->resource = event->resource;
    } else if (claim_is_past(ledger, ledger_process_at(ledger, slot), claim, event)) {
        ledger_claim_renew(ledger, claim);
        claim->state = CLAIM_ASKED;
        claim->first_set_index = event->index;
        claim->first_set_ns = event->time_ns;
    }
    if (claim->set == 0) {
        claim->first_set_index = event->index;
        claim->first_set_ns = event->time_ns;
    }
    return claim;
}

/* A key of another claim was there, and a command, or a node that started anew, put this one in its
 * place. */
static void key_replaced(struct ledger *ledger, const struct ledger_key *key,
                         const struct history_event *event)
{
    ASSERT(key->present);
    ASSERT(event->f == HISTORY_KEY_SET || event->f == HISTORY_KEY_BACK);
    bool set = event->f == HISTORY_KEY_SET;
    struct ledger_claim *claim = ledger_own(ledger_key_claim(ledger, key));
    if (claim == NULL || (set && claim == ledger_find(ledger, event))) {
        return;
    }
    struct ledger_end *end = &ledger_ends(claim)[event->node];
    claim->present &= ~(UINT64_C(1) << event->node);
    *end = (struct ledger_end){
        .index = event->index,
        .put_index = end->put_index,
        .since_ns = event->time_ns,
        .process = set ? event->process : HISTORY_NOBODY,
        .fault = set ? HISTORY_NO_FAULT : (int16_t)event->fault,
        .cause = set ? CAUSE_FOREIGN : event->cause,
        .f = set ? HISTORY_KEY_SET : HISTORY_KEY_LOST,
    };
}

static int64_t ttl_of(const struct history_event *event)
{
    if ((event->flags & HISTORY_HAS_TTL) != 0) {
        return event->ttl_ns;
    }
    bool ends = (event->flags & HISTORY_HAS_UNTIL) != 0 && event->until_ns != TIME_NEVER;
    return ends ? event->until_ns - event->time_ns : TIME_NEVER;
}

/* When a set was sent: not before its acquire was asked, of which the last is the latest. */
static int64_t set_sent_ns(const struct ledger_process *process, const struct history_event *event)
{
    bool told = (event->flags & HISTORY_HAS_SENT) != 0 && event->sent_ns <= event->time_ns;
    bool asked = process->asked_ns > 0 && process->asked_ns <= event->time_ns;
    return told ? event->sent_ns : asked ? process->asked_ns : event->time_ns;
}

/* Remember a delete that found no key: not in place of another's that told what it was after. */
static void key_missed(struct ledger_key *key, const struct history_event *event)
{
    bool named = (event->flags & HISTORY_HAS_VALUE) != 0;
    if (!named && key->miss.named && key->miss.process != event->process) {
        return;
    }
    key->miss = (struct ledger_miss){
        .any = true,
        .named = named,
        .value = event->value,
        .process = event->process,
        .index = event->index,
        .sent_ns = (event->flags & HISTORY_HAS_SENT) != 0 ? event->sent_ns : TIME_NEVER,
    };
}

/* Whether a delete came before the set that its client had sent earlier: it went another way. */
static bool is_overtaken(const struct ledger_miss *miss, const struct history_event *set)
{
    bool told = (set->flags & HISTORY_HAS_SENT) != 0 && miss->sent_ns != TIME_NEVER;
    if (!miss->any) {
        return false;
    }
    return miss->named ? history_value_equal(&miss->value, &set->value)
                       : told && miss->process == set->process && miss->sent_ns > set->sent_ns;
}

static void key_set(struct ledger *ledger, struct ledger_key *key,
                    const struct history_event *event)
{
    uint64_t bit = UINT64_C(1) << event->node;
    ASSERT(event->f == HISTORY_KEY_SET);
    if (key->present) {
        key_replaced(ledger, key, event);
    }
    *key = (struct ledger_key){
        .value = event->value,
        .process = event->process,
        .before = key->present ? key->process : HISTORY_NOBODY,
        .present = true,
        .endless = (event->flags & HISTORY_HAS_UNTIL) == 0 || event->until_ns == TIME_NEVER,
        .miss = key->miss,
        .overtaken = is_overtaken(&key->miss, event),
        .set_index = event->index,
        .set_ns = event->time_ns,
        .until_ns = event->until_ns,
        .sent_ns = event->time_ns,
        .ttl_ns = ttl_of(event),
        .kept_index = event->index,
        .kept_ns = event->time_ns,
        .outcome = CLAIM_FREE,
        .outcome_index = event->index,
        .outcome_ns = event->time_ns,
    };
    uint32_t slot = ledger_slot_take(ledger, event->process);
    if (slot == ledger->process_count) {
        return;
    }
    key->sent_ns = set_sent_ns(ledger_process_at(ledger, slot), event);
    struct ledger_claim *claim = claim_of_set(ledger, slot, event);
    claim->remade |= claim->set & ~claim->present & bit;
    if (claim->state == CLAIM_GRANTED && (claim->present & bit) != 0) {
        claim->renewed_ns = event->time_ns;
    }
    ASSERT(claim->state != CLAIM_FREE);
    ASSERT(claim->resource == event->resource);
    claim->set |= bit;
    claim->present |= bit;
    claim->stamp = event->index;
    ledger_ends(claim)[event->node].put_index = event->index;
    key->claim = ledger_claim_index(ledger, claim) + 1;
    key->serial = claim->serial;
    key->outcome = set_outcome(ledger_process_at(ledger, slot), claim);
    ledger_resource_at(ledger, event->resource)->keys_seen = true;
    ASSERT(ledger_key_claim(ledger, key) == claim);
}

void ledger_keys_answered(struct ledger *ledger, const struct history_event *event,
                          const struct ledger_claim *granted)
{
    const struct ledger_process *process = ledger_process(ledger, event->process);
    ASSERT(event->type != HISTORY_INVOKE);
    ASSERT(process != NULL);
    for (int32_t node = 0; node < ledger->node_count; node++) {
        struct ledger_key *key = ledger_key_at(ledger, node, event->resource);
        if (key->outcome != CLAIM_ASKED || key->process != event->process ||
            key->set_index < process->open_index) {
            continue;
        }
        bool of_grant = granted != NULL && ledger_key_claim(ledger, key) == granted;
        uint8_t otherwise = event->type == HISTORY_INFO ? CLAIM_UNKNOWN : CLAIM_REFUSED;
        key->outcome = of_grant ? CLAIM_GRANTED : otherwise;
        key->outcome_index = event->index;
        key->outcome_ns = event->time_ns;
    }
}

static void key_end(struct ledger *ledger, struct ledger_key *key,
                    const struct history_event *event)
{
    bool gone = !key->present && event->f == HISTORY_KEY_EXPIRED;
    key->present = false;
    struct ledger_claim *claim = ledger_own(ledger_key_claim(ledger, key));
    if (claim == NULL || gone) {
        return; /* what ran out while its node was down had been lost before */
    }
    claim->present &= ~(UINT64_C(1) << event->node);
    claim->stamp = event->index;
    struct ledger_end *end = &ledger_ends(claim)[event->node];
    /* A clock that runs fast as well is not what a lock should have allowed for. */
    bool by_time = event->cause == CAUSE_TTL || event->cause == CAUSE_CLOCK_RATE;
    bool early = event->f == HISTORY_KEY_EXPIRED && by_time && key->shortened;
    *end = (struct ledger_end){
        .index = event->index,
        .put_index = end->put_index,
        .since_ns = (event->flags & HISTORY_HAS_SINCE) != 0 ? event->since_ns : event->time_ns,
        .process = event->process,
        .fault = early ? key->back_fault : (int16_t)event->fault,
        .cause = early ? key->back_cause : event->cause,
        .f = event->f,
    };
}

/* A restarted node may bring back a key that is not the last it had. */
static void key_back(struct ledger *ledger, struct ledger_key *key,
                     const struct history_event *event)
{
    ASSERT(event->f == HISTORY_KEY_BACK);
    const struct history_value *value =
        (event->flags & HISTORY_HAS_OWNER) != 0 ? &event->owner : &event->value;
    bool named = (event->flags & (HISTORY_HAS_OWNER | HISTORY_HAS_VALUE)) != 0;
    if (named && memcmp(value, &key->value, sizeof *value) != 0) {
        if (key->present) {
            key_replaced(ledger, key, event);
        }
        key->value = *value;
        key->process = HISTORY_NOBODY;
        key->claim = 0;
        for (uint32_t i = 0; i < ledger->process_count * LEDGER_CLAIMS; i++) {
            const struct ledger_claim *claim = ledger_claim_at(ledger, i);
            if (claim->state != CLAIM_FREE && claim->has_value &&
                claim->resource == event->resource &&
                memcmp(&claim->value, value, sizeof *value) == 0) {
                key->process = claim->process;
                key->claim = i + 1;
                key->serial = claim->serial;
            }
        }
    }
    bool known = (event->flags & HISTORY_HAS_UNTIL) != 0;
    key->present = true;
    key->came_back = true;
    key->shortened = known && event->until_ns < key->until_ns;
    key->back_cause = event->cause;
    key->back_fault = (int16_t)event->fault;
    key->until_ns = known ? event->until_ns : 0;
    struct ledger_claim *claim = ledger_own(ledger_key_claim(ledger, key));
    if (claim != NULL) {
        uint64_t bit = UINT64_C(1) << event->node;
        struct ledger_end *end = &ledger_ends(claim)[event->node];
        if ((claim->present & bit) != 0) {
            /* It was out of reach for a while, nobody said since when: because of this. */
            end->index = end->put_index;
            end->cause = event->cause;
            end->fault = (int16_t)event->fault;
        }
        claim->set |= bit;
        claim->present |= bit;
        end->put_index = event->index;
    }
}

bool ledger_blocked(const struct ledger *ledger, uint32_t resource)
{
    ASSERT(resource < ledger->resource_count);
    int32_t endless = 0;
    for (int32_t node = 0; node < ledger->node_count; node++) {
        const struct ledger_key *key = ledger_key_at(ledger, node, resource);
        const struct ledger_claim *claim = ledger_key_claim(ledger, key);
        bool for_long = key->ttl_ns > ledger->ttl_ns + ledger->bound_ns;
        bool now = claim != NULL && claim->granted_index == ledger->last_index;
        endless += key->present && (key->endless || for_long) && !now ? 1 : 0;
    }
    return ledger->node_count > 0 && ledger->node_count - endless < ledger->quorum;
}

int64_t ledger_stay_ns(const struct ledger *ledger, const struct ledger_claim *claim)
{
    int64_t left_ns[HISTORY_NODES_MAX];
    int32_t count = 0;
    for (int32_t node = 0; node < ledger->node_count; node++) {
        const struct ledger_key *key = ledger_key_at(ledger, node, claim->resource);
        bool its = key->present && ledger_key_claim(ledger, key) == claim;
        if (!its || key->until_ns <= ledger->now_ns) {
            continue;
        }
        int32_t at = count++; /* the longest first */
        for (; at > 0 && left_ns[at - 1] < key->until_ns - ledger->now_ns; at--) {
            left_ns[at] = left_ns[at - 1];
        }
        left_ns[at] = key->until_ns - ledger->now_ns;
    }
    ASSERT(count <= ledger->node_count);
    return ledger->node_count > 0 && count >= ledger->quorum ? left_ns[ledger->quorum - 1] : 0;
}

bool ledger_undecided(const struct ledger *ledger, uint32_t resource)
{
    ASSERT(resource < ledger->resource_count);
    int32_t most = 0;
    for (int32_t node = 0; node < ledger->node_count; node++) {
        const struct ledger_key *key = ledger_key_at(ledger, node, resource);
        const struct ledger_process *process = ledger_process(ledger, key->process);
        if (!key->present || process == NULL || !process->open || process->dead ||
            process->open_f != HISTORY_ACQUIRE || process->open_resource != resource) {
            continue;
        }
        int32_t same = 0;
        for (int32_t other = 0; other <= node; other++) {
            const struct ledger_key *also = ledger_key_at(ledger, other, resource);
            same += also->present && also->process == key->process ? 1 : 0;
        }
        most = same > most ? same : most;
    }
    return most > 0 && most < ledger->quorum;
}

/* Whether it asks, or was not told what came of it. */
static bool process_wonders(const struct ledger_process *process)
{
    return process->open && process->open_f == HISTORY_ACQUIRE ? true
                                                               : process->last_end == HISTORY_INFO;
}

bool ledger_unheard(const struct ledger *ledger, uint32_t resource)
{
    ASSERT(resource < ledger->resource_count);
    bool again = ledger_declares(ledger, DECLARES_REENTRANT);
    if ((!again && !ledger->endless) || ledger->faults_active == 0) {
        return false;
    }
    int32_t keys = 0;
    for (int32_t node = 0; node < ledger->node_count; node++) {
        const struct ledger_key *key = ledger_key_at(ledger, node, resource);
        const struct ledger_process *process = ledger_process(ledger, key->process);
        keys += key->present && process != NULL && !process->dead &&
                        (ledger->endless || process_wonders(process)) &&
                        !ledger_client_healthy(ledger, key->process)
                    ? 1
                    : 0;
    }
    ASSERT(keys <= ledger->node_count);
    return keys >= ledger->quorum;
}

static void key_extended(struct ledger *ledger, struct ledger_key *key,
                         const struct history_event *event)
{
    struct ledger_claim *claim = ledger_own(ledger_key_claim(ledger, key));
    ASSERT(event->f == HISTORY_KEY_EXTENDED);
    key->endless = false;
    key->ttl_ns = ttl_of(event);
    key->kept_index = event->index;
    key->kept_ns = event->time_ns;
    if (claim != NULL) {
        claim->renewed_ns = event->time_ns;
    }
}

/* A delete of the grant that is being released was carried out. */
static void key_freed(struct ledger *ledger, const struct history_event *event)
{
    struct ledger_claim *claim = ledger_own(ledger_find(ledger, event));
    uint64_t bit = UINT64_C(1) << event->node;
    if (claim == NULL || claim->over != OVER_RELEASED) {
        return;
    }
    ASSERT(claim->state == CLAIM_GRANTED);
    claim->denied &= ~bit;
    claim->freed |= event->f == HISTORY_KEY_DELETED ? bit : 0;
    claim->unfreed |= event->f == HISTORY_KEY_KEPT ? bit : 0;
    bool heard = (event->flags & HISTORY_HAS_REPLIED) != 0;
    int64_t heard_ns = heard ? event->replied_ns : TIME_NEVER;
    claim->heard_ns = heard_ns > claim->heard_ns ? heard_ns : claim->heard_ns;
}

/* A command of the release that is under way was answered with an error. It may be tried again. */
static void key_denied(struct ledger *ledger, const struct history_event *event)
{
    ASSERT(event->f == HISTORY_NODE_ERROR);
    const struct ledger_process *process = ledger_process(ledger, event->process);
    struct ledger_claim *claim = ledger_own(ledger_grant(ledger, event->process, event->resource));
    bool releases = process != NULL && process->open && process->open_f == HISTORY_RELEASE &&
                    process->open_resource == event->resource;
    if (claim != NULL && releases) {
        claim->denied |= UINT64_C(1) << event->node;
    }
}

/* Whoever asks the next node so soon did not wait for the one before, not even for a timeout. */
#define AT_ONCE_NS ((int64_t)5000000)

/* A node was asked for a key: was that before another had answered, or could be given up? */
static void key_asked(struct ledger *ledger, const struct history_event *event)
{
    uint32_t slot = ledger_slot(ledger, event->process);
    uint32_t told = HISTORY_HAS_SENT | HISTORY_HAS_REPLIED;
    if (slot == ledger->process_count || (event->flags & told) != told) {
        return;
    }
    struct ledger_process *process = ledger_process_at(ledger, slot);
    bool later = event->sent_ns >= process->sent_ns;
    int64_t apart_ns =
        later ? event->sent_ns - process->sent_ns : process->sent_ns - event->sent_ns;
    int64_t answer_ns = later ? process->replied_ns : event->replied_ns;
    int64_t second_ns = later ? event->sent_ns : process->sent_ns;
    ledger->at_once |= process->sent_ns > 0 && process->sent_node != event->node &&
                       apart_ns < AT_ONCE_NS && second_ns < answer_ns;
    process->sent_ns = event->sent_ns;
    process->replied_ns = event->replied_ns;
    process->sent_node = event->node;
}

void ledger_step_node(struct ledger *ledger, const struct history_event *event)
{
    ledger->has_nodes = true;
    if (ledger->node_count == 0) {
        return;
    }
    ASSERT(event->node >= 0 && event->node < ledger->node_count);
    struct ledger_key *key = ledger_key_at(ledger, event->node, event->resource);
    if (event->f == HISTORY_KEY_SET || event->f == HISTORY_KEY_REFUSED) {
        key_asked(ledger, event);
    }
    if (event->f == HISTORY_KEY_DELETED || event->f == HISTORY_KEY_KEPT) {
        key_freed(ledger, event);
    } else if (event->f == HISTORY_NODE_ERROR) {
        key_denied(ledger, event);
    }
    if (event->f == HISTORY_KEY_SET) {
        key_set(ledger, key, event);
    } else if (event->f == HISTORY_KEY_BACK) {
        key_back(ledger, key, event);
    } else if (event->f == HISTORY_KEY_DELETED || event->f == HISTORY_KEY_EXPIRED ||
               event->f == HISTORY_KEY_LOST || event->f == HISTORY_KEY_EVICTED) {
        key_end(ledger, key, event);
    } else if (event->f == HISTORY_KEY_KEPT && !key->present) {
        key_missed(key, event); /* of one that is there: what came before it */
    } else if (event->f == HISTORY_KEY_EXTENDED) {
        key_extended(ledger, key, event);
        key->shortened = false;
        key->until_ns = event->until_ns;
    }
}

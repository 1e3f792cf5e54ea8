/* ledger_leases.c: follows grants, extensions, releases, notices and deaths. */
#include "checker/ledger/ledger_leases.h"

#include "base/assert.h"
#include "checker/ledger/ledger_claims.h"
#include "checker/ledger/ledger_keys.h"

#include <string.h>

/* The claim that an acquire's ok is about: by its value, or by what was set since it was asked. */
static struct ledger_claim *claim_of_grant(struct ledger *ledger, uint32_t slot,
                                           const struct history_event *event)
{
    bool named = (event->flags & HISTORY_HAS_VALUE) != 0;
    uint64_t since = ledger_process_at(ledger, slot)->open_index;
    struct ledger_claim *known = named ? ledger_own(ledger_find(ledger, event)) : NULL;
    if (known != NULL) {
        if (known->first_set_index < since && !ledger_running(ledger, known)) {
            ledger_claim_renew(ledger, known); /* nothing was set for this acquire */
        }
        return known;
    }
    struct ledger_claim *newest = NULL;
    for (uint32_t i = 0; i < LEDGER_CLAIMS; i++) {
        struct ledger_claim *claim = ledger_claim_at(ledger, slot * LEDGER_CLAIMS + i);
        if (claim->state == CLAIM_ASKED && claim->resource == event->resource &&
            claim->first_set_index >= since &&
            (newest == NULL || claim->first_set_index > newest->first_set_index)) {
            newest = claim;
        }
    }
    if (newest == NULL) {
        newest = ledger_claim_take(ledger, slot);
        newest->has_value = named;
        newest->value = event->value;
    } else {
        newest->other_value = named && newest->has_value;
    }
    return newest;
}

/* A promise that names no end leaves it where it was. */
static void claim_promise(struct ledger_claim *claim, const struct history_event *event)
{
    claim->moved_ns = 0;
    if ((event->flags & HISTORY_HAS_UNTIL) == 0) {
        return;
    }
    bool least = (event->flags & HISTORY_HAS_UNTIL_LEAST) != 0;
    claim->moved_ns = claim->until_ns == TIME_NEVER ? 0 : event->until_ns - claim->until_ns;
    claim->until_ns = event->until_ns;
    claim->promised_ns = event->time_ns;
    claim->until_least_ns =
        least && event->until_least_ns < event->until_ns ? event->until_least_ns : event->until_ns;
}

/* What a re-entrant lock's owner was granted before and has not given back. */
static struct ledger_claim *claim_outer(struct ledger *ledger, const struct history_event *event)
{
    struct ledger_claim *held = ledger_own(ledger_grant(ledger, event->process, event->resource));
    bool mine = held != NULL && (held->over == OVER_NOT || held->over == OVER_TOLD);
    return mine && ledger_declares(ledger, DECLARES_REENTRANT) ? held : NULL;
}

/* Whether it is granted under another value, where what was held before was told lost or has run
 * out: it begins anew then, as nothing was left to count on. */
static bool claim_anew(const struct ledger *ledger, const struct ledger_claim *outer,
                       const struct history_event *event)
{
    bool named = (event->flags & HISTORY_HAS_VALUE) != 0 && outer->has_value;
    bool over = outer->over == OVER_TOLD || !ledger_running(ledger, outer);
    return over && named && memcmp(&outer->value, &event->value, sizeof outer->value) != 0;
}

static void claim_move(struct ledger *ledger, struct ledger_claim *claim,
                       const struct history_event *event);

/* Whether a majority has had its keys ever since it asked again: none of them was set anew. */
static bool claim_stayed(const struct ledger *ledger, const struct ledger_claim *claim,
                         uint64_t asked_index)
{
    int32_t stayed = 0;
    for (int32_t node = 0; node < ledger->node_count; node++) {
        bool present = (claim->present >> node & 1) != 0;
        stayed += present && ledger_ends(claim)[node].put_index < asked_index ? 1 : 0;
    }
    return stayed >= ledger->quorum;
}

/* It counts one more. Whether it did so on what had been held is not known if that was over. */
static void step_granted_again(struct ledger *ledger, struct ledger_claim *outer,
                               const struct history_event *event)
{
    const struct ledger_process *process = ledger_process(ledger, event->process);
    bool stayed =
        !ledger_watched(ledger, outer) || claim_stayed(ledger, outer, process->open_index);
    bool sure = ledger_running(ledger, outer) && stayed;
    ASSERT(outer->state == CLAIM_GRANTED);
    outer->depth++;
    outer->again = true;
    outer->doubtful = outer->doubtful || !sure;
    outer->over = OVER_NOT;
    outer->over_ns = TIME_NEVER;
    outer->acquire_ns = process->open_ns;
    outer->asked_ns = process->open_ns;
    claim_move(ledger, outer, event);
    ledger_keys_answered(ledger, event, outer);
}

/* Whether a re-entrant lock may count what this client asked for before and heard nothing of, or
 * gave back and heard no ok for. */
static bool claim_unsettled(const struct ledger *ledger, const struct history_event *event)
{
    const struct ledger_claim *before = ledger_grant(ledger, event->process, event->resource);
    ASSERT(before == NULL || before->state == CLAIM_GRANTED);
    bool given = before != NULL && before->over == OVER_RELEASED && before->freed_index == 0;
    return ledger_declares(ledger, DECLARES_REENTRANT) &&
           (given || ledger_process(ledger, event->process)->unsettled);
}

static void step_granted(struct ledger *ledger, uint32_t slot, const struct history_event *event)
{
    bool unsettled = claim_unsettled(ledger, event);
    struct ledger_claim *outer = claim_outer(ledger, event);
    bool anew = outer != NULL && claim_anew(ledger, outer, event);
    bool again = outer != NULL && !anew;
    ledger_process_at(ledger, slot)->nesting = again ? NESTING_INNER : NESTING_NONE;
    if (again) {
        step_granted_again(ledger, outer, event);
        return;
    }
    struct ledger_claim *claim = claim_of_grant(ledger, slot, event);
    ASSERT(claim->process == event->process);
    ASSERT(event->type == HISTORY_OK);
    ledger_running_drop(ledger, claim);
    claim->state = CLAIM_GRANTED;
    claim->resource = event->resource;
    claim->stamp = event->index;
    claim->order = ++ledger->grants;
    claim->granted_index = event->index;
    claim->granted_ns = ledger_said_ns(event);
    claim->acquire_ns = ledger_process_at(ledger, slot)->open_ns;
    claim->asked_ns = claim->acquire_ns;
    claim->fence = history_fence(event);
    claim->until_ns = TIME_NEVER;
    claim->until_least_ns = TIME_NEVER;
    claim_promise(claim, event);
    claim->remade = 0; /* what was gone before says nothing of this grant */
    claim->over = OVER_NOT;
    claim->over_ns = TIME_NEVER;
    claim->told = false;
    claim->depth = 0;
    claim->again = false;
    claim->doubtful =
        unsettled || anew || (claim->doubtful && ledger_declares(ledger, DECLARES_REENTRANT));
    claim->renewed_ns = 0;
    claim->freed = 0;
    claim->unfreed = 0;
    claim->denied = 0;
    claim->heard_ns = 0;
    claim->given_index = 0;
    claim->freed_index = 0;
    claim->freed_ns = 0;
    claim->left_index = 0;
    claim->left_ns = 0;
    claim->fresh_index = event->index;
    claim->fresh_ns = event->time_ns;
    ledger_running_add(ledger, claim);
    struct ledger_resource *resource = ledger_resource_at(ledger, event->resource);
    if (claim->granted_ns >= resource->granted_ns) {
        resource->granted_ns = claim->granted_ns;
        resource->granted_index = event->index;
        resource->granted_process = event->process;
    }
    ledger_keys_answered(ledger, event, claim);
}

/* Every attempt of an acquire but the granted one has failed, or ended unknown. */
static void step_refused(struct ledger *ledger, uint32_t slot, const struct history_event *event)
{
    for (uint32_t i = 0; i < LEDGER_CLAIMS; i++) {
        struct ledger_claim *claim = ledger_claim_at(ledger, slot * LEDGER_CLAIMS + i);
        if (claim->state == CLAIM_ASKED && claim->resource == event->resource) {
            claim->state = event->type == HISTORY_INFO ? CLAIM_UNKNOWN : CLAIM_REFUSED;
            claim->refused_index = event->index;
            claim->refused_ns = event->time_ns;
        }
    }
}

static void claim_end(struct ledger *ledger, struct ledger_claim *claim, enum claim_over why,
                      const struct history_event *event)
{
    ASSERT(why != OVER_NOT);
    ASSERT(claim->state == CLAIM_GRANTED);
    if (claim->over == OVER_NOT) {
        claim->over = (uint8_t)why;
        claim->over_ns = event->time_ns;
        claim->over_index = event->index;
    }
    claim->stamp = event->index;
    ledger_running_drop(ledger, claim);
}

/* The promised end moves; a lease that had run out may begin to run again. */
static void claim_move(struct ledger *ledger, struct ledger_claim *claim,
                       const struct history_event *event)
{
    ASSERT(claim->state == CLAIM_GRANTED);
    ASSERT(claim->over == OVER_NOT);
    bool lapsed = !ledger_running(ledger, claim);
    claim_promise(claim, event);
    claim->stamp = event->index;
    if (lapsed && ledger_running(ledger, claim)) {
        claim->fresh_index = event->index;
        claim->fresh_ns = event->time_ns;
        ledger_running_add(ledger, claim);
    }
}

static void step_extended(struct ledger *ledger, const struct history_event *event)
{
    struct ledger_claim *claim = ledger_own(ledger_held(ledger, event));
    if (claim == NULL || claim->over != OVER_NOT) {
        return;
    }
    claim->asked_ns = ledger_process(ledger, event->process)->open_ns;
    claim_move(ledger, claim, event);
}

/* A release of what is held several times gives back one of them. */
static void step_release(struct ledger *ledger, struct ledger_process *process,
                         const struct history_event *event)
{
    struct ledger_claim *claim = ledger_own(ledger_held(ledger, event));
    process->nesting = NESTING_NONE;
    if (claim == NULL) {
        return;
    }
    bool inner = claim->depth > 0;
    claim->depth = (uint8_t)(claim->depth - (inner ? 1 : 0));
    if (inner && !claim->doubtful) {
        process->nesting = NESTING_INNER;
        return;
    }
    process->nesting = claim->doubtful ? NESTING_DOUBTFUL : NESTING_NONE;
    claim->given_index = claim->given_index == 0 ? event->index : claim->given_index;
    claim_end(ledger, claim, OVER_RELEASED, event);
}

static void step_released(struct ledger *ledger, const struct history_event *event)
{
    struct ledger_claim *claim = ledger_own(ledger_held(ledger, event));
    bool whole = ledger_nesting(ledger, event->process) == NESTING_NONE;
    if (claim != NULL && whole && claim->over == OVER_RELEASED && claim->freed_index == 0) {
        claim->left_index = event->index;
        claim->left_ns = event->time_ns;
        claim->freed_index = event->type == HISTORY_OK ? event->index : 0;
        claim->freed_ns = event->type == HISTORY_OK ? event->time_ns : 0;
    }
}

static void step_ask(struct ledger *ledger, struct ledger_process *process,
                     const struct history_event *event)
{
    const struct ledger_claim *held = ledger_grant(ledger, event->process, event->resource);
    bool holds = held != NULL && ledger_running(ledger, held);
    process->asked_ns = event->time_ns;
    process->given_up_ns = TIME_NEVER;
    process->unsettled = process->last_end == HISTORY_INFO;
    process->held_index = holds ? held->granted_index : 0;
    process->held_asked_ns = holds ? held->acquire_ns : 0;
    process->held_value = holds ? held->value : (struct history_value){{0}};
    process->held_end_ns = holds ? ledger_lease_end_ns(held) : 0;
}

void ledger_step_operation(struct ledger *ledger, const struct history_event *event)
{
    ASSERT(event->kind == HISTORY_OP);
    uint32_t slot = ledger_slot_take(ledger, event->process);
    if (slot == ledger->process_count) {
        return;
    }
    struct ledger_process *process = ledger_process_at(ledger, slot);
    ASSERT(process->process == event->process);
    process->open = event->type == HISTORY_INVOKE;
    if (event->type == HISTORY_INVOKE) {
        process->open_f = event->f;
        process->open_flags = event->flags;
        process->open_resource = event->resource;
        process->open_index = event->index;
        process->open_ns = event->time_ns;
        process->nesting = NESTING_NONE;
        if (event->f == HISTORY_ACQUIRE) {
            step_ask(ledger, process, event);
        } else if (event->f == HISTORY_RELEASE) {
            step_release(ledger, process, event);
        }
        return;
    }
    process->last_end = event->f == HISTORY_ACQUIRE ? event->type : process->last_end;
    if (event->f == HISTORY_ACQUIRE && event->type == HISTORY_OK) {
        step_granted(ledger, slot, event);
        step_refused(ledger, slot, event);
    } else if (event->f == HISTORY_ACQUIRE) {
        step_refused(ledger, slot, event);
        ledger_keys_answered(ledger, event, NULL);
    } else if (event->f == HISTORY_EXTEND && event->type == HISTORY_OK) {
        step_extended(ledger, event);
    } else if (event->f == HISTORY_RELEASE && event->type != HISTORY_FAIL) {
        step_released(ledger, event);
    }
}

void ledger_step_section(struct ledger *ledger, const struct history_event *event)
{
    uint32_t slot = ledger_slot_take(ledger, event->process);
    if (slot == ledger->process_count) {
        return;
    }
    struct ledger_process *process = ledger_process_at(ledger, slot);
    process->inside = event->f == HISTORY_ENTER;
    if (process->inside) {
        process->inside_resource = event->resource;
        process->inside_index = event->index;
        process->inside_ns = event->time_ns;
    }
}

void ledger_step_notice(struct ledger *ledger, const struct history_event *event)
{
    ASSERT(event->kind == HISTORY_NOTICE);
    ledger->has_notices = true;
    struct ledger_claim *claim = ledger_own(ledger_held(ledger, event));
    if (claim != NULL) {
        uint32_t slot = ledger_slot(ledger, event->process);
        ledger_process_at(ledger, slot)->held_end_ns = event->time_ns;
        claim->told = true;
        claim_end(ledger, claim, OVER_TOLD, event);
    }
}

void ledger_step_client(struct ledger *ledger, const struct history_event *event)
{
    uint32_t slot = ledger_slot_take(ledger, event->process);
    if (slot == ledger->process_count) {
        return;
    }
    struct ledger_process *process = ledger_process_at(ledger, slot);
    if (event->f == HISTORY_GIVEN_UP) {
        process->given_up_ns = event->time_ns;
    }
    if (event->f != HISTORY_CLIENT_KILLED) {
        return;
    }
    process->dead = true;
    process->inside = false;
    for (uint32_t i = 0; i < LEDGER_CLAIMS; i++) {
        struct ledger_claim *claim = ledger_claim_at(ledger, slot * LEDGER_CLAIMS + i);
        if (claim->state == CLAIM_GRANTED && claim->until_ns == TIME_NEVER) {
            claim_end(ledger, claim, OVER_KILLED, event);
        }
    }
}

void ledger_step_lease(struct ledger *ledger, const struct history_event *event)
{
    struct ledger_claim *claim = ledger_own(ledger_held(ledger, event));
    if (claim != NULL && claim->over == OVER_NOT) {
        claim_move(ledger, claim, event);
    }
}

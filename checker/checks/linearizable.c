/* linearizable.c: is there a legal order of all operations, for a lock of leases? Live, and flat.
 */
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/linear/steps/chain.h"
#include "checker/verdict.h"

#include <inttypes.h>

/*
 * Fast path P2a of docs/LINEARIZABLE.md over one seat for each client: a run gives each acquire a
 * value of its own, and a client holds one lease at a time. A release that failed is of unknown
 * effect here, since some nodes may have carried it out. What is granted waits until time goes on,
 * so that a release asked at the very same time comes before it.
 */
struct seat {
    struct linear_hold hold;
    int32_t process;
    uint32_t resource;
    int64_t waits_ns;
    bool used;
    bool waiting;
};

struct linearizable {
    struct check_result result;
    int64_t now_ns;
    uint32_t waiting;
    uint32_t seat_count, resource_count;
    uint32_t chains_at; /* offset of struct linear_chain[resource_count] */
    struct seat seats[];
};

static size_t linearizable_bytes(const struct history_header *header)
{
    return sizeof(struct linearizable) + ledger_process_count(header) * sizeof(struct seat) +
           ledger_resource_count(header) * sizeof(struct linear_chain);
}

static struct linear_chain *chain_of(struct linearizable *state, uint32_t resource)
{
    void *chains = (char *)state + state->chains_at;
    return resource < state->resource_count ? (struct linear_chain *)chains + resource : NULL;
}

static void linearizable_init(void *memory, const struct history_header *header)
{
    struct linearizable *state = memory;
    memset(state, 0, linearizable_bytes(header));
    state->seat_count = ledger_process_count(header);
    state->resource_count = ledger_resource_count(header);
    state->chains_at = (uint32_t)(sizeof *state + state->seat_count * sizeof(struct seat));
    for (uint32_t i = 0; i < state->resource_count; i++) {
        *chain_of(state, i) = chain_empty();
    }
}

/* `first` held while `second` did; either may be NULL where it is not known any more. */
static void violated(struct linearizable *state, const struct ledger *ledger,
                     const struct linear_finding *found, const struct seat *first,
                     const struct seat *second)
{
    const struct ledger_claim *one =
        first == NULL ? NULL : ledger_grant(ledger, first->process, first->resource);
    const struct ledger_claim *two =
        second == NULL ? NULL : ledger_grant(ledger, second->process, second->resource);
    struct finding finding = {.reason = found->reason, .evidence_count = found->count};
    finding.blamed = one != NULL && two != NULL ? blame_overlap(ledger, one, two)
                     : one != NULL              ? blame_keys(ledger, one)
                                                : blamed_library();
    for (uint8_t i = 0; i < found->count; i++) {
        finding.evidence[i] = found->operations[i];
    }
    check_fail(&state->result, &finding);
}

/* The seat gives up its hold: its end cannot move any more. */
static void leave(struct linearizable *state, struct seat *seat)
{
    struct linear_chain *chain = chain_of(state, seat->resource);
    if (seat->used && chain != NULL && chain->last == (uint32_t)(seat - state->seats)) {
        chain->last = CHAIN_NO_HOLD;
    }
    state->waiting -= seat->waiting ? 1 : 0;
    seat->used = seat->waiting = false;
}

/* chain.c keeps holds in an array of their own; here they stand in the seats. */
static void grant(struct linearizable *state, const struct ledger *ledger, struct seat *seat)
{
    struct linear_chain *chain = chain_of(state, seat->resource);
    if (seat->hold.until < position_of_return(seat->waits_ns)) {
        leave(state, seat); /* the promise was over before it arrived: check `validity` tells */
        return;
    }
    struct linear_finding found = {0};
    struct linear_hold pair[2] = {{0}};
    struct seat *before = chain->last == CHAIN_NO_HOLD ? NULL : &state->seats[chain->last];
    struct linear_chain local = *chain;
    pair[0] = before == NULL ? hold_empty() : before->hold;
    pair[1] = seat->hold;
    local.last = before == NULL ? CHAIN_NO_HOLD : 0;
    chain_grant(&local, pair, 1, position_of_return(seat->waits_ns), &found);
    seat->hold = pair[1];
    if (before != NULL) {
        before->hold = pair[0];
    }
    if (local.last == 1) {
        chain->last = (uint32_t)(seat - state->seats);
    }
    seat->waiting = false;
    state->waiting--;
    if (found.reason != LINEAR_LEGAL) {
        violated(state, ledger, &found, before, seat);
    }
}

static void settle(struct linearizable *state, const struct ledger *ledger)
{
    for (uint32_t i = 0; i < state->seat_count && state->waiting > 0; i++) {
        if (state->seats[i].waiting) {
            grant(state, ledger, &state->seats[i]);
        }
    }
}

static int64_t until_of(const struct history_event *event)
{
    bool promised = (event->flags & HISTORY_HAS_UNTIL) != 0 && event->until_ns < LINEAR_TIME_MAX;
    return promised ? position_of_call(event->until_ns) : POSITION_NEVER;
}

static void sit_down(struct linearizable *state, struct seat *seat,
                     const struct history_event *event)
{
    leave(state, seat);
    *seat = (struct seat){.hold = hold_empty(),
                          .process = event->process,
                          .resource = event->resource,
                          .waits_ns = event->time_ns,
                          .used = true,
                          .waiting = true};
    seat->hold.asked = position_of_call(event->time_ns);
    seat->hold.acquire = event->index;
    seat->hold.grant = GRANT_OK;
    seat->hold.until = until_of(event);
    state->waiting++;
    state->result.judged++;
}

/* The promised end moved, by an extension, a clock or a notice. */
static void move(struct linearizable *state, const struct ledger *ledger, struct seat *seat,
                 const struct history_event *event)
{
    bool lost = event->kind == HISTORY_NOTICE;
    int64_t until = lost ? position_of_call(event->time_ns) : until_of(event);
    bool extends = event->kind == HISTORY_OP;
    if (seat->waiting || (lost && seat->hold.until <= until)) {
        seat->hold.until = seat->waiting ? until : seat->hold.until;
        return;
    }
    if (extends && until < seat->hold.until) {
        return;
    }
    struct linear_chain none = chain_empty();
    struct linear_finding found = {0};
    struct linear_moment moment = {.invoke = extends ? event->index : CHAIN_NO_OPERATION,
                                   .called = position_of_call(event->time_ns),
                                   .returned = position_of_return(event->time_ns),
                                   .until = until};
    bool late = !seat->hold.in_chain;
    if (!late) {
        chain_until(&none, &seat->hold, 0, &moment, &found);
    }
    if (found.reason != LINEAR_LEGAL) {
        violated(state, ledger, &found, seat, NULL);
    }
}

static void linearizable_step(void *memory, const struct ledger *ledger,
                              const struct history_event *event)
{
    struct linearizable *state = memory;
    uint32_t slot = ledger_slot(ledger, event->process);
    if (event->time_ns > state->now_ns) {
        settle(state, ledger);
        state->now_ns = event->time_ns;
    }
    if (slot >= state->seat_count || chain_of(state, event->resource) == NULL) {
        return;
    }
    struct seat *seat = &state->seats[slot];
    bool mine = seat->used && seat->resource == event->resource;
    bool ok = event->kind == HISTORY_OP && event->type == HISTORY_OK;
    if (ok && event->f == HISTORY_ACQUIRE) {
        sit_down(state, seat, event);
    } else if (mine && event->kind == HISTORY_OP && event->f == HISTORY_RELEASE) {
        if (seat->waiting || ok) {
            leave(state, seat);
        } else if (event->type == HISTORY_INVOKE) {
            chain_release_called(chain_of(state, event->resource), &seat->hold,
                                 position_of_call(event->time_ns), event->index);
        }
    } else if (mine && (event->kind != HISTORY_OP || (ok && event->f == HISTORY_EXTEND))) {
        move(state, ledger, seat, event);
    }
}

static void linearizable_finish(void *memory, const struct ledger *ledger)
{
    struct linearizable *state = memory;
    settle(state, ledger);
    check_conclude(&state->result);
}

static void say_linearizable(const struct telling *telling)
{
    text_add(telling->text, "no order of the operations is legal for a lock, because of these: ");
    put_evidence(telling);
}

static void effect_linearizable(const struct telling *telling)
{
    text_add(telling->text, "two clients held ");
    put_resource(telling, telling->resource);
    text_add(telling->text, " at once, by what the lock told them");
}

const struct check check_linearizable = {
    .name = "linearizable",
    .question = "Is there a legal order of all operations for a lock?",
    .nothing = "nobody was granted the lock",
    .wants = CHECK_BIT(HISTORY_ACQUIRE) | CHECK_BIT(HISTORY_EXTEND) | CHECK_BIT(HISTORY_RELEASE) |
             CHECK_BIT(HISTORY_LOST) | CHECK_BIT(HISTORY_MOVED),
    .follows = true,
    .bytes = linearizable_bytes,
    .init = linearizable_init,
    .step = linearizable_step,
    .finish = linearizable_finish,
    .say = say_linearizable,
    .effect = effect_linearizable,
    .over = "both hold it",
    .lasts = true,
    .part = PART_MEETING,
    .weight = 1,
};

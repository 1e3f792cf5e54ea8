/* fence_order.c: are fences unique and growing in grant order? */
#include "base/assert.h"
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/verdict.h"

#include <inttypes.h>

enum fence_reason { NOT_GROWING = 1, NOT_UNIQUE };

/*
 * A grant that returned before another was asked for comes first; its fence must be smaller. Of
 * grants whose acquires overlapped in time, that one came first which was being given back before
 * the other returned with a lease that ran: one hold at a time, and the other's was not over. Else
 * they may have got their fences in either order, but never the same.
 */
enum { FENCES_KEPT = 8 };

struct fence_seen {
    int64_t fence;
    uint64_t index;
    int32_t process;
};

/* The highest fence so far; what came at one time is in no order, and before nothing of that time.
 */
struct fence_top {
    struct fence_seen highest;
    struct fence_seen earlier; /* highest of those before `last_ns` */
    int64_t last_ns;           /* of the newest */
};

struct fence_resource {
    struct fence_top granted;
    struct fence_top given_back; /* or on its way to be */
    uint32_t count;
    struct fence_seen kept[FENCES_KEPT];
};

struct fence_order {
    struct check_result result;
    uint32_t resource_count;
    uint32_t process_count;
    uint32_t floors_at; /* offset of struct fence_seen[process_count]: highest when it asked */
    struct fence_resource resources[];
};

static size_t fence_bytes(const struct history_header *header)
{
    return sizeof(struct fence_order) +
           ledger_resource_count(header) * sizeof(struct fence_resource) +
           ledger_process_count(header) * sizeof(struct fence_seen);
}

static void fence_init(void *state, const struct history_header *header)
{
    struct fence_order *fences = state;
    memset(state, 0, fence_bytes(header));
    fences->resource_count = ledger_resource_count(header);
    fences->process_count = ledger_process_count(header);
    fences->floors_at =
        (uint32_t)(sizeof *fences + fences->resource_count * sizeof(struct fence_resource));
}

static struct fence_seen *floor_of(struct fence_order *fences, const struct ledger *ledger,
                                   int32_t process)
{
    uint32_t slot = ledger_slot(ledger, process);
    void *floors = (char *)fences + fences->floors_at;
    return slot < fences->process_count ? (struct fence_seen *)floors + slot : NULL;
}

static void fence_violated(struct fence_order *fences, const struct ledger *ledger,
                           const struct fence_seen *other, const struct history_event *event,
                           enum fence_reason reason)
{
    struct finding finding = {
        .reason = (uint8_t)reason,
        .evidence = {other->index, event->index},
        .evidence_count = 2,
        .blamed = blame_counters(ledger),
        .number = {other->fence, event->fence},
    };
    check_fail(&fences->result, ledger, &finding);
}

static struct fence_seen fence_before(struct fence_top *top, int64_t time_ns)
{
    ASSERT(time_ns >= top->last_ns);
    if (time_ns > top->last_ns) {
        top->earlier = top->highest;
        top->last_ns = time_ns;
    }
    return top->earlier;
}

static void fence_add(struct fence_top *top, const struct fence_seen *seen, int64_t time_ns)
{
    (void)fence_before(top, time_ns);
    top->highest = seen->fence > top->highest.fence ? *seen : top->highest;
}

/* A lease that surely runs as its grant returns: by its promise, or within a ttl of its asking. */
static bool granted_in_time(const struct ledger *ledger, const struct ledger_claim *claim)
{
    return claim->until_ns != TIME_NEVER ? ledger_running(ledger, claim)
                                         : ledger->now_ns - claim->asked_ns < ledger->ttl_ns;
}

/* Whoever was let in behind another has the larger fence, whenever it asked. */
static void fence_behind(struct fence_order *fences, const struct ledger *ledger,
                         const struct history_event *event)
{
    struct fence_top *given_back = &fences->resources[event->resource].given_back;
    struct fence_seen other = fence_before(given_back, event->time_ns);
    const struct ledger_claim *claim = ledger_grant(ledger, event->process, event->resource);
    if (event->fence > other.fence || claim == NULL || claim->granted_index != event->index ||
        !granted_in_time(ledger, claim) || !ledger_leases_are_sure(ledger)) {
        return;
    }
    struct finding finding = {
        .reason = NOT_GROWING,
        .evidence = {other.index, event->index},
        .evidence_count = 2,
        .blamed = blamed_library(),
        .number = {other.fence, event->fence},
        .rest = rest_of_promise(ledger, claim),
    };
    if (claim->until_ns == TIME_NEVER) {
        int64_t left_ns = claim->asked_ns + ledger->ttl_ns - ledger->now_ns;
        finding.rest = rest_of_wait(ledger, claim->asked_ns, left_ns);
        finding.rest.causes = CHECK_LATE_CLOCKS;
    }
    check_fail(&fences->result, ledger, &finding);
}

/* The grant that this release gives back, with its fence. */
static void fence_released(struct fence_order *fences, const struct ledger *ledger,
                           const struct history_event *event)
{
    const struct ledger_claim *claim = ledger_find(ledger, event);
    bool its = claim != NULL && claim->over_index == event->index;
    claim = its ? claim : ledger_grant(ledger, event->process, event->resource);
    if (claim != NULL && claim->over == OVER_RELEASED && claim->over_index == event->index &&
        claim->fence > 0 && ledger_nesting(ledger, event->process) == NESTING_NONE) {
        struct fence_seen seen = {
            .fence = claim->fence, .index = claim->granted_index, .process = event->process};
        fence_add(&fences->resources[event->resource].given_back, &seen, event->time_ns);
    }
}

/* Whether a re-entrant lock may just have gone on with what its owner held: no ok was heard of the
 * release before. */
static bool goes_on(const struct ledger *ledger, const struct fence_seen *before,
                    const struct history_event *event)
{
    const struct ledger_claim *claim = ledger_grant(ledger, event->process, event->resource);
    return claim != NULL && claim->doubtful && before->process == event->process &&
           before->fence == event->fence;
}

static void fence_granted(struct fence_order *fences, const struct ledger *ledger,
                          const struct fence_seen *floor, const struct history_event *event)
{
    struct fence_resource *resource = &fences->resources[event->resource];
    fences->result.judged++;
    if (event->fence <= floor->fence) {
        fence_violated(fences, ledger, floor, event, NOT_GROWING);
    } else {
        fence_behind(fences, ledger, event);
        for (uint32_t i = 0; i < FENCES_KEPT && i < resource->count; i++) {
            if (resource->kept[i].fence == event->fence) {
                fence_violated(fences, ledger, &resource->kept[i], event, NOT_UNIQUE);
                break;
            }
        }
    }
    struct fence_seen seen = {
        .fence = event->fence, .index = event->index, .process = event->process};
    resource->kept[resource->count++ % FENCES_KEPT] = seen;
    fence_add(&resource->granted, &seen, event->time_ns);
}

static void fence_step(void *state, const struct ledger *ledger, const struct history_event *event)
{
    struct fence_order *fences = state;
    if (event->resource >= fences->resource_count) {
        return;
    }
    if (event->f == HISTORY_RELEASE) {
        if (event->type == HISTORY_INVOKE) {
            fence_released(fences, ledger, event);
        }
        return;
    }
    struct fence_seen *floor = floor_of(fences, ledger, event->process);
    if (floor == NULL) {
        return;
    }
    if (event->type == HISTORY_INVOKE) {
        *floor = fence_before(&fences->resources[event->resource].granted, event->time_ns);
    } else if (event->type == HISTORY_OK && history_fence(event) > 0 &&
               ledger_nesting(ledger, event->process) == NESTING_NONE &&
               !goes_on(ledger, floor, event)) {
        fence_granted(fences, ledger, floor, event);
    }
}

static void fence_finish(void *state, const struct ledger *ledger)
{
    (void)ledger;
    check_conclude(state);
}

static void say_fence(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct history_event *first = telling_evidence(telling, 0);
    const struct history_event *second = telling_evidence(telling, 1);
    put_granted(telling, second);
    bool same = telling->result->reason == NOT_UNIQUE || first->fence == second->fence;
    text_add(text,
             same ? " with the same fence, %" PRId64 ", as " : " with fence %" PRId64 " after ",
             second->fence);
    put_client(telling, first->process);
    if (!same) {
        text_add(text, " with fence %" PRId64, first->fence);
    }
}

static void effect_fence(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct history_event *first = telling_evidence(telling, 0);
    const struct history_event *second = telling_evidence(telling, 1);
    if (telling->result->reason == NOT_UNIQUE) {
        text_add(text, "two grants got the same fence, %" PRId64, second->fence);
        return;
    }
    put_client(telling, second->process);
    text_add(text, " got fence %" PRId64 " after ", second->fence);
    put_client(telling, first->process);
    if (first->fence == second->fence) {
        text_add(text, " had got the same");
    } else {
        text_add(text, " had got %" PRId64, first->fence);
    }
}

const struct check check_fence_order = {
    .name = "fence_order",
    .question = "Are fences unique and growing in grant order?",
    .nothing = "no grant carried a fence",
    .needs = CHECK_BIT(DECLARES_FENCE),
    .wants = CHECK_BIT(HISTORY_ACQUIRE) | CHECK_BIT(HISTORY_RELEASE),
    .follows = true,
    .bytes = fence_bytes,
    .init = fence_init,
    .step = fence_step,
    .finish = fence_finish,
    .say = say_fence,
    .effect = effect_fence,
    .over = "fences out of order",
    .part = PART_DAMAGE,
    .weight = 1,
    .explains = 1 << NOT_GROWING | 1 << NOT_UNIQUE,
};

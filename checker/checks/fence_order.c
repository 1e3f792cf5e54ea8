/* fence_order.c: are fences unique and growing in grant order? */
#include "base/assert.h"
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/verdict.h"

#include <inttypes.h>

enum fence_reason { NOT_GROWING = 1, NOT_UNIQUE };

/*
 * A grant that returned before another was asked for comes first; its fence must be smaller. Grants
 * whose acquires overlapped in time may have got their fences in either order, but never the same.
 */
enum { FENCES_KEPT = 8 };

struct fence_seen {
    int64_t fence;
    uint64_t index;
};

struct fence_resource {
    struct fence_seen highest;
    struct fence_seen earlier; /* highest of the grants before `last_ns` */
    int64_t last_ns;           /* of the newest grant */
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

/* Counters that a node lost or threw out cannot go on where they were. */
static struct blamed blame_counters(const struct ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        if (fault->state == FAULT_WAITING) {
            continue;
        }
        if (fault_is((enum fault_kind)fault->kind, FAULT_OF_PROCESS)) {
            return (struct blamed){BLAME_ASSUMPTION, ASSUMPTION_PERSISTENCE};
        }
        if (fault->kind == FAULT_FAILOVER) {
            return (struct blamed){BLAME_ASSUMPTION, ASSUMPTION_REPLICATION};
        }
        if (fault->kind == FAULT_EVICT) {
            return (struct blamed){BLAME_DEPLOYMENT, ASSUMPTION_MEMORY};
        }
    }
    return blamed_library();
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

/* What is granted at one time is in no order, and comes before no ask of that time. */
static void fence_time_goes_on(struct fence_resource *resource, int64_t time_ns)
{
    ASSERT(time_ns >= resource->last_ns);
    if (time_ns > resource->last_ns) {
        resource->earlier = resource->highest;
        resource->last_ns = time_ns;
    }
}

static void fence_granted(struct fence_order *fences, const struct ledger *ledger,
                          const struct fence_seen *floor, const struct history_event *event)
{
    struct fence_resource *resource = &fences->resources[event->resource];
    fences->result.judged++;
    if (event->fence <= floor->fence) {
        fence_violated(fences, ledger, floor, event, NOT_GROWING);
    } else {
        for (uint32_t i = 0; i < FENCES_KEPT && i < resource->count; i++) {
            if (resource->kept[i].fence == event->fence) {
                fence_violated(fences, ledger, &resource->kept[i], event, NOT_UNIQUE);
                break;
            }
        }
    }
    struct fence_seen seen = {.fence = event->fence, .index = event->index};
    resource->kept[resource->count++ % FENCES_KEPT] = seen;
    fence_time_goes_on(resource, event->time_ns);
    if (event->fence > resource->highest.fence) {
        resource->highest = seen;
    }
}

static void fence_step(void *state, const struct ledger *ledger, const struct history_event *event)
{
    struct fence_order *fences = state;
    if (event->f != HISTORY_ACQUIRE || event->resource >= fences->resource_count) {
        return;
    }
    struct fence_seen *floor = floor_of(fences, ledger, event->process);
    if (floor == NULL) {
        return;
    }
    if (event->type == HISTORY_INVOKE) {
        struct fence_resource *resource = &fences->resources[event->resource];
        fence_time_goes_on(resource, event->time_ns);
        *floor = resource->earlier;
    } else if (event->type == HISTORY_OK && (event->flags & HISTORY_HAS_FENCE) != 0 &&
               ledger_nesting(ledger, event->process) == NESTING_NONE) {
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
    bool same = telling->result->reason == NOT_UNIQUE;
    text_add(telling->text, same ? "two grants got the same fence" : "a fence went backwards");
}

const struct check check_fence_order = {
    .name = "fence_order",
    .question = "Are fences unique and growing in grant order?",
    .nothing = "no grant carried a fence",
    .needs = CHECK_BIT(DECLARES_FENCE),
    .wants = CHECK_BIT(HISTORY_ACQUIRE),
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
};

/* fault_tolerance.c: with a majority healthy, do grants go on? */
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/verdict.h"

#include <inttypes.h>

enum tolerance_reason { GRANTS_STOPPED = 1 };

/*
 * Counts, for each resource, how long somebody healthy has been asking in vain while the lock was
 * free and no fault began, showed an effect or ended: more than ttl + bound of it fails. A fault
 * starts the count anew, because what it left behind may take a ttl to go away.
 */
struct tolerance_gap {
    uint32_t asking;   /* acquires under way by healthy clients */
    int32_t holder;    /* who was granted last; HISTORY_NOBODY */
    int64_t taken_ns;  /* until then its lease runs; TIME_NEVER: until it releases */
    int64_t since_ns;  /* asking without a grant since; TIME_NEVER: nobody asks */
    int64_t before_ns; /* asked in vain before that */
    uint64_t index;    /* of the first ask in vain */
};

struct fault_tolerance {
    struct check_result result;
    bool majority_healthy;
    int64_t allowed_ns; /* ttl + bound; 0: not judged */
    uint32_t resource_count;
    struct tolerance_gap gaps[];
};

static size_t tolerance_bytes(const struct history_header *header)
{
    return sizeof(struct fault_tolerance) +
           ledger_resource_count(header) * sizeof(struct tolerance_gap);
}

static void gap_reset(struct tolerance_gap *gap, int64_t now_ns)
{
    gap->since_ns = gap->asking > 0 ? now_ns : TIME_NEVER;
    gap->before_ns = 0;
}

static void tolerance_init(void *state, const struct history_header *header)
{
    struct fault_tolerance *tolerance = state;
    memset(state, 0, tolerance_bytes(header));
    bool known = header->ttl_ns > 0 && header->node_count > 0;
    tolerance->allowed_ns = known ? header->ttl_ns + header->bound_ns : 0;
    tolerance->majority_healthy = true;
    tolerance->resource_count = ledger_resource_count(header);
    for (uint32_t i = 0; i < tolerance->resource_count; i++) {
        tolerance->gaps[i].holder = HISTORY_NOBODY;
        tolerance->gaps[i].since_ns = TIME_NEVER;
    }
}

static bool client_is_healthy(const struct ledger *ledger, int32_t process)
{
    for (uint32_t i = 0; ledger->faults_active > 0 && i < ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(ledger, i);
        if (fault->state == FAULT_ACTIVE && ledger_fault_on_client(fault, process)) {
            return false;
        }
    }
    return true;
}

static bool majority_is_healthy(const struct ledger *ledger)
{
    int32_t healthy = 0;
    for (int32_t node = 0; node < ledger->node_count; node++) {
        bool touched = false;
        for (uint32_t i = 0; i < ledger->fault_count; i++) {
            const struct ledger_fault *fault = ledger_fault_at(ledger, i);
            touched |= fault->state == FAULT_ACTIVE && ledger_fault_on_node(fault, node);
        }
        healthy += touched ? 0 : 1;
    }
    return healthy >= ledger->quorum;
}

static bool counts(const struct fault_tolerance *tolerance, const struct ledger *ledger,
                   int32_t process)
{
    return tolerance->majority_healthy && client_is_healthy(ledger, process);
}

/* A fault changed: every count starts anew, with those who still ask and are not touched. */
static void tolerance_fault(struct fault_tolerance *tolerance, const struct ledger *ledger,
                            const struct history_event *event)
{
    tolerance->majority_healthy = majority_is_healthy(ledger);
    for (uint32_t i = 0; i < tolerance->resource_count; i++) {
        tolerance->gaps[i].asking = 0;
    }
    for (uint32_t i = 0; i < ledger->process_count; i++) {
        const struct ledger_process *process = ledger_process_at(ledger, i);
        if (process->open && process->open_f == HISTORY_ACQUIRE && !process->dead &&
            counts(tolerance, ledger, process->process)) {
            tolerance->gaps[process->open_resource].asking++;
        }
    }
    for (uint32_t i = 0; i < tolerance->resource_count; i++) {
        tolerance->gaps[i].index = event->index;
        gap_reset(&tolerance->gaps[i], event->time_ns);
    }
}

/* How long was asked in vain up to now; while a lease runs, nothing is in vain. */
static int64_t gap_length(struct tolerance_gap *gap, int64_t now_ns)
{
    if (gap->since_ns == TIME_NEVER) {
        return gap->before_ns;
    }
    int64_t free_ns = gap->taken_ns < now_ns ? gap->taken_ns : now_ns;
    if (free_ns > gap->since_ns) {
        gap->since_ns = free_ns;
        gap->before_ns = 0;
    }
    return gap->before_ns + now_ns - gap->since_ns;
}

static void gap_judge(struct fault_tolerance *tolerance, const struct ledger *ledger,
                      struct tolerance_gap *gap)
{
    int64_t length_ns = gap_length(gap, ledger->now_ns);
    if (length_ns <= tolerance->allowed_ns || !tolerance->majority_healthy) {
        return;
    }
    struct finding finding = {
        .reason = GRANTS_STOPPED,
        .evidence = {gap->index, ledger->last_index},
        .evidence_count = 2,
        .blamed = blamed_library(),
        .number = {length_ns, tolerance->allowed_ns},
    };
    check_fail(&tolerance->result, &finding);
    gap_reset(gap, ledger->now_ns);
}

static void gap_asked(struct tolerance_gap *gap, const struct history_event *event)
{
    if (gap->asking == 0) {
        gap->index = gap->before_ns == 0 ? event->index : gap->index;
        gap->since_ns = event->time_ns;
    }
    gap->asking++;
}

static void gap_answered(struct tolerance_gap *gap, const struct history_event *event)
{
    gap->asking -= gap->asking > 0 ? 1 : 0;
    if (event->type == HISTORY_OK) {
        gap->holder = event->process;
        gap->taken_ns = (event->flags & HISTORY_HAS_UNTIL) != 0 ? event->until_ns : TIME_NEVER;
        gap_reset(gap, event->time_ns);
        return;
    }
    gap->before_ns = gap_length(gap, event->time_ns);
    gap->since_ns = gap->asking > 0 ? event->time_ns : TIME_NEVER;
}

static void tolerance_acquire(struct fault_tolerance *tolerance, const struct ledger *ledger,
                              const struct history_event *event)
{
    struct tolerance_gap *gap = &tolerance->gaps[event->resource];
    bool counted = counts(tolerance, ledger, event->process);
    if (event->type == HISTORY_INVOKE) {
        if (counted) {
            gap_asked(gap, event);
        }
        return;
    }
    tolerance->result.judged += event->type == HISTORY_OK ? 1 : 0;
    gap_judge(tolerance, ledger, gap);
    if (counted || event->type == HISTORY_OK) {
        gap->asking += counted ? 0 : 1;
        gap_answered(gap, event);
    }
}

/* The holder's lease ends, or runs on. */
static void tolerance_holder(struct fault_tolerance *tolerance, const struct history_event *event)
{
    struct tolerance_gap *gap = &tolerance->gaps[event->resource];
    if (event->process != gap->holder) {
        return;
    }
    bool extended = event->kind == HISTORY_OP && event->f == HISTORY_EXTEND &&
                    event->type == HISTORY_OK && (event->flags & HISTORY_HAS_UNTIL) != 0;
    bool released =
        event->kind == HISTORY_OP && event->f == HISTORY_RELEASE && event->type == HISTORY_INVOKE;
    if (extended || event->kind == HISTORY_LEASE) {
        gap->taken_ns = event->until_ns;
    } else if (released || event->kind == HISTORY_NOTICE) {
        gap->taken_ns = gap->taken_ns < event->time_ns ? gap->taken_ns : event->time_ns;
    }
}

static void tolerance_killed(struct fault_tolerance *tolerance, const struct history_event *event)
{
    for (uint32_t i = 0; i < tolerance->resource_count; i++) {
        struct tolerance_gap *gap = &tolerance->gaps[i];
        if (gap->holder == event->process && gap->taken_ns == TIME_NEVER) {
            gap->taken_ns = event->time_ns;
        }
    }
}

static void tolerance_step(void *state, const struct ledger *ledger,
                           const struct history_event *event)
{
    struct fault_tolerance *tolerance = state;
    if (tolerance->allowed_ns == 0) {
        return;
    }
    if (event->kind == HISTORY_FAULT) {
        tolerance_fault(tolerance, ledger, event);
    } else if (event->kind == HISTORY_CLIENT) {
        if (event->f == HISTORY_CLIENT_KILLED) {
            tolerance_killed(tolerance, event);
        }
    } else if (event->resource < tolerance->resource_count) {
        if (event->kind == HISTORY_OP && event->f == HISTORY_ACQUIRE) {
            tolerance_acquire(tolerance, ledger, event);
        } else {
            tolerance_holder(tolerance, event);
        }
    }
}

static void tolerance_finish(void *state, const struct ledger *ledger)
{
    struct fault_tolerance *tolerance = state;
    for (uint32_t i = 0; tolerance->allowed_ns > 0 && i < tolerance->resource_count; i++) {
        if (tolerance->gaps[i].asking > 0) {
            tolerance->result.judged++;
            gap_judge(tolerance, ledger, &tolerance->gaps[i]);
        }
    }
    check_conclude(&tolerance->result);
}

static void say_tolerance(const struct telling *telling)
{
    struct text *text = telling->text;
    put_resource(telling, telling->resource);
    text_add(text, " was asked for in vain for ");
    put_length(text, telling->result->number[0]);
    text_add(text, " although a majority of nodes was healthy; ttl + bound allow ");
    put_length(text, telling->result->number[1]);
}

static void effect_tolerance(const struct telling *telling)
{
    text_add(telling->text, "nobody got ");
    put_resource(telling, telling->resource);
    text_add(telling->text, " although a majority of nodes was healthy");
}

const struct check check_fault_tolerance = {
    .name = "fault_tolerance",
    .question = "With a majority healthy, do grants go on?",
    .nothing = "nobody was granted the lock, or the ttl or the nodes are not known",
    .wants = CHECK_BIT(HISTORY_ACQUIRE) | CHECK_BIT(HISTORY_EXTEND) | CHECK_BIT(HISTORY_RELEASE) |
             CHECK_BIT(HISTORY_LOST) | CHECK_BIT(HISTORY_MOVED) | CHECK_BIT(HISTORY_CLIENT_KILLED) |
             CHECK_BIT(HISTORY_FAULT_START) | CHECK_BIT(HISTORY_FAULT_EFFECT) |
             CHECK_BIT(HISTORY_FAULT_END),
    .follows = true,
    .bytes = tolerance_bytes,
    .init = tolerance_init,
    .step = tolerance_step,
    .finish = tolerance_finish,
    .say = say_tolerance,
    .effect = effect_tolerance,
    .over = "asked for in vain",
    .lasts = true,
    .part = PART_WAITING,
    .weight = 1,
};

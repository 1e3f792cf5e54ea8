/* fault_tolerance.c: with a majority healthy, do grants go on? */
#include "base/assert.h"
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/gap.h"
#include "checker/verdict.h"

enum tolerance_reason {
    GRANTS_STOPPED = 1,
    NOT_EXTENDED, /* an extension came back after number[0], or never */
    NOT_RELEASED,
    SPINS,        /* a lock asks to be woken at once for ever */
    REFUSED_FREE, /* whoever asked was refused, for number[0] */
};

/*
 * Counts, for each resource, how long somebody healthy has been asking in vain while the lock was
 * free: more than ttl + bound of it fails. A fault that begins or ends starts the count anew,
 * because what it left behind may take a ttl to go away; what had passed is judged first. Time in
 * which votes are split, or one has it whom a fault keeps from hearing so, is not counted.
 * Extensions and releases are counted for each client: nobody else stands in their way.
 */
struct fault_tolerance {
    struct check_result result;
    bool majority_healthy;
    int64_t allowed_ns; /* ttl + bound; 0: not judged */
    uint32_t resource_count;
    uint32_t answers_at; /* offset of int64_t since_ns[], by the slot of a client: for so long a
                            healthy one has waited for an extension or a release; TIME_NEVER */
    struct gap gaps[];
};

static size_t answers_offset(const struct history_header *header)
{
    return sizeof(struct fault_tolerance) + ledger_resource_count(header) * sizeof(struct gap);
}

static size_t tolerance_bytes(const struct history_header *header)
{
    return answers_offset(header) + ledger_process_count(header) * sizeof(int64_t);
}

static int64_t *answer_of(struct fault_tolerance *tolerance, uint32_t slot)
{
    return (int64_t *)(void *)((char *)tolerance + tolerance->answers_at) + slot;
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
        gap_init(&tolerance->gaps[i]);
    }
    tolerance->answers_at = (uint32_t)answers_offset(header);
    for (uint32_t slot = 0; slot < ledger_process_count(header); slot++) {
        *answer_of(tolerance, slot) = TIME_NEVER;
    }
}

static bool counts(const struct fault_tolerance *tolerance, const struct ledger *ledger,
                   int32_t process)
{
    return tolerance->majority_healthy && ledger_client_healthy(ledger, process);
}

static void gap_judge(struct fault_tolerance *tolerance, const struct ledger *ledger,
                      struct gap *gap)
{
    int64_t length_ns = gap_length(gap, ledger->now_ns);
    /* What was too long once, and may have been our own lateness as it turned out, may be more. */
    bool doubted = gap->failed_ns > 0 && tolerance->result.verdict != VERDICT_FAIL;
    if (length_ns <= (doubted ? 0 : tolerance->allowed_ns) || !tolerance->majority_healthy) {
        return;
    }
    int64_t all_ns = gap->failed_ns + length_ns;
    struct finding finding = {
        .reason = GRANTS_STOPPED,
        .evidence = {gap->index, ledger->last_index},
        .evidence_count = 2,
        .blamed = blamed_library(),
        .number = {all_ns, tolerance->allowed_ns},
    };
    uint32_t resource = (uint32_t)(gap - tolerance->gaps);
    if (!ledger_blocked(ledger, resource)) {
        finding.rest = rest_of_wait(ledger, gap->first_ns, all_ns - tolerance->allowed_ns);
        int32_t involved[CHECK_REST_PROCESSES] = {ledger_asker(ledger, resource), gap->first_asker,
                                                  gap->answered, gap->holder};
        memcpy(finding.rest.processes, involved, sizeof involved);
    }
    if (check_fail(&tolerance->result, ledger, &finding)) {
        gap->failed_ns = all_ns;
        gap->before_ns = 0;
        gap_count_on(gap, ledger->now_ns);
    }
}

/* Refusals in a row, while nothing else can be why. */
static void refusals_judge(struct fault_tolerance *tolerance, const struct ledger *ledger,
                           const struct gap *gap, const struct history_event *event)
{
    int64_t length_ns = gap_refused_ns(gap, ledger->now_ns);
    if (length_ns <= tolerance->allowed_ns) {
        return;
    }
    struct finding finding = {
        .reason = REFUSED_FREE,
        .evidence = {gap->refused_index, event->index},
        .evidence_count = 2,
        .blamed = blamed_library(),
        .number = {length_ns, tolerance->allowed_ns},
        .rest = rest_of_wait(ledger, gap->refused_ns, length_ns - tolerance->allowed_ns),
    };
    finding.rest.processes[0] = gap->refused;
    finding.rest.processes[1] = event->process;
    finding.rest.processes[2] = gap->holder;
    finding.rest.causes |= CHECK_LATE_KEYS;
    finding.rest.answered = gap_refuses_at_once(gap);
    check_fail(&tolerance->result, ledger, &finding);
}

/* Somebody asks no longer, answered or killed: remember who was first in that, and judge. */
static void gap_judge_end(struct fault_tolerance *tolerance, const struct ledger *ledger,
                          struct gap *gap, int32_t process)
{
    (void)gap_length(gap, ledger->now_ns); /* from where a lease has ended */
    gap->first_asker = gap->first_asker == HISTORY_NOBODY ? process : gap->first_asker;
    gap_judge(tolerance, ledger, gap);
}

static bool awaits_answer(const struct ledger_process *process)
{
    bool answers = process->open_f == HISTORY_EXTEND || process->open_f == HISTORY_RELEASE;
    return process->open && !process->dead && answers;
}

/* It was, or still is, waited for from `since_ns` on. */
static void answer_judge(struct fault_tolerance *tolerance, const struct ledger *ledger,
                         const struct ledger_process *process, int64_t since_ns)
{
    int64_t length_ns = since_ns == TIME_NEVER ? 0 : ledger->now_ns - since_ns;
    ASSERT(length_ns >= 0);
    if (length_ns <= tolerance->allowed_ns) {
        return;
    }
    struct finding finding = {
        .reason = process->open_f == HISTORY_EXTEND ? NOT_EXTENDED : NOT_RELEASED,
        .evidence = {process->open_index, ledger->last_index},
        .evidence_count = 2,
        .blamed = blamed_library(),
        .number = {length_ns, tolerance->allowed_ns},
        .rest = rest_of_wait(ledger, since_ns, length_ns - tolerance->allowed_ns),
    };
    finding.rest.processes[0] = process->process;
    check_fail(&tolerance->result, ledger, &finding);
}

static void tolerance_answer(struct fault_tolerance *tolerance, const struct ledger *ledger,
                             const struct history_event *event)
{
    uint32_t slot = ledger_slot(ledger, event->process);
    if (slot == ledger->process_count) {
        return;
    }
    int64_t *since_ns = answer_of(tolerance, slot);
    if (event->type != HISTORY_INVOKE) {
        answer_judge(tolerance, ledger, ledger_process_at(ledger, slot), *since_ns);
    }
    bool waits = event->type == HISTORY_INVOKE && counts(tolerance, ledger, event->process);
    *since_ns = waits ? event->time_ns : TIME_NEVER;
}

/* Who was healthy before a fault changed has waited; who is so now waits from here on. */
static void answers_fault(struct fault_tolerance *tolerance, const struct ledger *ledger)
{
    for (uint32_t slot = 0; slot < ledger->process_count; slot++) {
        const struct ledger_process *process = ledger_process_at(ledger, slot);
        int64_t *since_ns = answer_of(tolerance, slot);
        bool waits = awaits_answer(process) && counts(tolerance, ledger, process->process);
        if (!waits && *since_ns != TIME_NEVER && awaits_answer(process)) {
            answer_judge(tolerance, ledger, process, *since_ns);
        }
        *since_ns = !waits ? TIME_NEVER : *since_ns == TIME_NEVER ? ledger->now_ns : *since_ns;
    }
}

/* Those who ask got into each other's way, or out of it; or one has it, and cannot hear so. */
static void tolerance_split(struct fault_tolerance *tolerance, const struct ledger *ledger,
                            uint32_t resource)
{
    struct gap *gap = &tolerance->gaps[resource];
    bool split =
        (gap->asking > 1 && ledger_undecided(ledger, resource)) || ledger_unheard(ledger, resource);
    if (split != gap->split) {
        gap->before_ns = gap_length(gap, ledger->now_ns);
        gap->split = split;
        gap_count_on(gap, ledger->now_ns);
    }
}

/* Who asks now, is alive and touched by no fault. */
static void count_asking(struct fault_tolerance *tolerance, const struct ledger *ledger)
{
    for (uint32_t i = 0; i < tolerance->resource_count; i++) {
        tolerance->gaps[i].asking = 0;
    }
    for (uint32_t i = 0; i < ledger->process_count; i++) {
        const struct ledger_process *process = ledger_process_at(ledger, i);
        if (process->open && process->open_f == HISTORY_ACQUIRE && !process->dead &&
            process->open_resource < tolerance->resource_count &&
            counts(tolerance, ledger, process->process)) {
            tolerance->gaps[process->open_resource].asking++;
        }
    }
}

/* A fault changed: what had passed is judged. One that begins or ends starts every count anew. */
static void tolerance_fault(struct fault_tolerance *tolerance, const struct ledger *ledger,
                            const struct history_event *event)
{
    for (uint32_t i = 0; i < tolerance->resource_count; i++) {
        gap_judge(tolerance, ledger, &tolerance->gaps[i]);
    }
    bool was_healthy = tolerance->majority_healthy;
    tolerance->majority_healthy = ledger_majority_healthy(ledger);
    count_asking(tolerance, ledger);
    int64_t late_ns = ledger_late_until(ledger, event);
    bool goes_on = event->f == HISTORY_FAULT_EFFECT && was_healthy && tolerance->majority_healthy;
    for (uint32_t i = 0; i < tolerance->resource_count; i++) {
        struct gap *gap = &tolerance->gaps[i];
        tolerance_split(tolerance, ledger, i);
        gap->late_ns = late_ns > gap->late_ns ? late_ns : gap->late_ns;
        if (goes_on) {
            gap_goes_on(gap, event->time_ns);
        } else {
            gap->index = event->index;
            gap_reset(gap, event->time_ns);
        }
    }
    answers_fault(tolerance, ledger);
}

static void tolerance_acquire(struct fault_tolerance *tolerance, const struct ledger *ledger,
                              const struct history_event *event)
{
    struct gap *gap = &tolerance->gaps[event->resource];
    bool counted = counts(tolerance, ledger, event->process);
    if (event->type == HISTORY_INVOKE) {
        gap_asked(gap, event, counted);
        return;
    }
    tolerance->result.judged += event->type == HISTORY_OK ? 1 : 0;
    gap->answered = event->process;
    gap_judge_end(tolerance, ledger, gap, event->process);
    if (counted || event->type == HISTORY_OK) {
        gap->asking += counted ? 0 : 1;
        gap_answered(gap, event);
    }
}

/* The holder's lease ends, or runs on; an end that had passed when it was told moves nothing. */
static void tolerance_holder(struct fault_tolerance *tolerance, const struct ledger *ledger,
                             const struct history_event *event)
{
    struct gap *gap = &tolerance->gaps[event->resource];
    if (event->process != gap->holder || ledger_nesting(ledger, event->process) == NESTING_INNER) {
        return;
    }
    bool extended = event->f == HISTORY_EXTEND && event->type == HISTORY_OK &&
                    (event->flags & HISTORY_HAS_UNTIL) != 0;
    bool released = event->f == HISTORY_RELEASE && event->type == HISTORY_INVOKE;
    int64_t kept_ns = gap->taken_ns < event->time_ns ? gap->taken_ns : event->time_ns;
    if (extended || event->kind == HISTORY_LEASE) {
        gap->taken_ns = event->until_ns > event->time_ns ? event->until_ns : kept_ns;
    } else if (released || event->kind == HISTORY_NOTICE) {
        gap->taken_ns = kept_ns;
    }
}

/* Whoever ended it: until now it had waited. Its place in a queue stays for a ttl. */
static void tolerance_killed(struct fault_tolerance *tolerance, const struct ledger *ledger,
                             const struct history_event *event)
{
    uint32_t slot = ledger_slot(ledger, event->process);
    for (uint32_t i = 0; i < tolerance->resource_count; i++) {
        struct gap *gap = &tolerance->gaps[i];
        if (gap->holder == event->process && gap->taken_ns == TIME_NEVER) {
            gap->taken_ns = event->time_ns;
        }
        if (ledger->store_count < ledger->node_count) {
            gap_judge(tolerance, ledger, gap);
            gap_reset(gap, event->time_ns);
        }
    }
    if (slot == ledger->process_count) {
        return;
    }
    const struct ledger_process *process = ledger_process_at(ledger, slot);
    if (process->open && process->open_f != HISTORY_ACQUIRE) {
        answer_judge(tolerance, ledger, process, *answer_of(tolerance, slot));
    } else if (process->open && process->open_resource < tolerance->resource_count) {
        struct gap *gap = &tolerance->gaps[process->open_resource];
        gap_judge_end(tolerance, ledger, gap, event->process);
        gap_goes_on(gap, event->time_ns);
        count_asking(tolerance, ledger);
        gap_count_on(gap, event->time_ns);
        tolerance_split(tolerance, ledger, process->open_resource);
    }
    *answer_of(tolerance, slot) = TIME_NEVER;
}

/* Time stood still, because a lock did nothing but ask to be woken. */
static void tolerance_end(struct fault_tolerance *tolerance, const struct ledger *ledger,
                          const struct history_event *event)
{
    if (event->f != HISTORY_RUN_END || event->cause != CAUSE_LIVELOCK) {
        return;
    }
    struct finding finding = {.reason = SPINS, .evidence = {event->index}, .evidence_count = 1};
    finding.blamed = blamed_library();
    tolerance->result.judged++;
    check_fail(&tolerance->result, ledger, &finding);
}

static void tolerance_step(void *state, const struct ledger *ledger,
                           const struct history_event *event)
{
    struct fault_tolerance *tolerance = state;
    if (event->kind == HISTORY_PHASE) {
        tolerance_end(tolerance, ledger, event);
        return;
    }
    if (tolerance->allowed_ns == 0) {
        return;
    }
    if (event->kind == HISTORY_FAULT) {
        tolerance_fault(tolerance, ledger, event);
    } else if (event->kind == HISTORY_CLIENT) {
        tolerance_killed(tolerance, ledger, event);
    } else if (event->resource < tolerance->resource_count) {
        bool acquires = event->kind == HISTORY_OP && event->f == HISTORY_ACQUIRE;
        struct gap *gap = &tolerance->gaps[event->resource];
        if (acquires) {
            tolerance_acquire(tolerance, ledger, event);
            gap_refuses(gap, ledger, event);
            refusals_judge(tolerance, ledger, gap, event);
        } else if (event->kind == HISTORY_OP) {
            tolerance_answer(tolerance, ledger, event);
        }
        if (event->kind == HISTORY_NODE) {
            gap_refuses(gap, ledger, event);
        }
        if (acquires || event->kind == HISTORY_NODE) {
            tolerance_split(tolerance, ledger, event->resource);
        } else {
            tolerance_holder(tolerance, ledger, event);
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
    for (uint32_t slot = 0; tolerance->allowed_ns > 0 && slot < ledger->process_count; slot++) {
        const struct ledger_process *process = ledger_process_at(ledger, slot);
        if (awaits_answer(process)) {
            answer_judge(tolerance, ledger, process, *answer_of(tolerance, slot));
        }
    }
    check_conclude(&tolerance->result);
}

static void say_tolerance(const struct telling *telling)
{
    struct text *text = telling->text;
    if (telling->result->reason == SPINS) {
        put_client(telling, telling_evidence(telling, 0)->process);
        text_add(text, "'s lock asked to be woken at once, for ever: a livelock");
        return;
    }
    if (telling->result->reason == GRANTS_STOPPED) {
        put_resource(telling, telling->resource);
        text_add(text, " was asked for in vain for ");
    } else if (telling->result->reason == REFUSED_FREE) {
        put_resource(telling, telling->resource);
        text_add(text, " was refused whoever asked for it, again and again, for ");
    } else {
        put_client(telling, telling_evidence(telling, 0)->process);
        text_add(text, "'s %s of ",
                 telling->result->reason == NOT_EXTENDED ? "extension" : "release");
        put_resource(telling, telling->resource);
        text_add(text, " did not come back for ");
    }
    put_length(text, telling->result->number[0]);
    text_add(text, " although %s; ttl + bound allow ",
             telling->result->reason == REFUSED_FREE
                 ? "nobody held it, no node had a key of it, and there was no fault"
                 : "a majority of nodes was healthy");
    put_length(text, telling->result->number[1]);
}

static void effect_tolerance(const struct telling *telling)
{
    struct text *text = telling->text;
    uint8_t reason = telling->result->reason;
    if (reason == GRANTS_STOPPED || reason == REFUSED_FREE) {
        text_add(text, "nobody got ");
        put_resource(telling, telling->resource);
    } else {
        put_client(telling, telling_evidence(telling, 0)->process);
        text_add(text, "'s %s",
                 reason == SPINS          ? "lock spun for ever"
                 : reason == NOT_EXTENDED ? "extension hung"
                                          : "release hung");
    }
    text_add(text, "%s",
             reason == SPINS          ? ""
             : reason == REFUSED_FREE ? " although it was free"
                                      : " although a majority of nodes was healthy");
}

const struct check check_fault_tolerance = {
    .name = "fault_tolerance",
    .question = "With a majority healthy, do grants go on?",
    .nothing = "nobody was granted the lock, or the ttl or the nodes are not known",
    .wants = CHECK_BIT(HISTORY_ACQUIRE) | CHECK_BIT(HISTORY_EXTEND) | CHECK_BIT(HISTORY_RELEASE) |
             CHECK_BIT(HISTORY_LOST) | CHECK_BIT(HISTORY_MOVED) | CHECK_BIT(HISTORY_CLIENT_KILLED) |
             CHECK_BIT(HISTORY_FAULT_START) | CHECK_BIT(HISTORY_FAULT_EFFECT) |
             CHECK_BIT(HISTORY_FAULT_END) | CHECK_BIT(HISTORY_RUN_END) |
             CHECK_BIT(HISTORY_KEY_SET) | CHECK_BIT(HISTORY_KEY_DELETED) |
             CHECK_BIT(HISTORY_KEY_EXPIRED) | CHECK_BIT(HISTORY_KEY_LOST) |
             CHECK_BIT(HISTORY_KEY_EVICTED) | CHECK_BIT(HISTORY_KEY_BACK),
    .follows = true,
    .served = true,
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

/* explain_headlines.c: one sentence for what each check found. */
#include "checker/explain/explain_headlines.h"

#include "base/assert.h"
#include "checker/checks/reasons.h"

#include <inttypes.h>
#include <string.h>

/* "client 2 was granted r0 at 1.204 s" */
static void put_granted(const struct telling *telling, const struct history_event *grant)
{
    put_client(telling, grant->process);
    text_add(telling->text,
             grant->f == HISTORY_EXTEND ? " was given more time on " : " was granted ");
    put_resource(telling, grant->resource);
    text_add(telling->text, " at ");
    put_time(telling->text, grant->time_ns);
}

static void say_exclusion(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct history_event *first = telling_evidence(telling, 0);
    const struct history_event *second = telling_evidence(telling, 1);
    put_granted(telling, second);
    text_add(text, " while ");
    put_client(telling, first->process);
    if (telling->result->reason == OVERLAP_UNTIL_TOLD) {
        text_add(text, " held it and had not been told otherwise");
        return;
    }
    text_add(text, "'s lease ran until ");
    put_time(text, second->time_ns + telling->result->number[0]);
    text_add(text, " (");
    put_length(text, telling->result->number[0]);
    text_add(text, " of overlap)");
}

static void say_section(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct history_event *first = telling_evidence(telling, 0);
    const struct history_event *second = telling_evidence(telling, 1);
    put_client(telling, second->process);
    text_add(text, " entered the section of ");
    put_resource(telling, second->resource);
    text_add(text, " at ");
    put_time(text, second->time_ns);
    text_add(text, " while ");
    put_client(telling, first->process);
    text_add(text, " was still inside, since ");
    put_time(text, first->time_ns);
}

static void say_store(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct history_event *one = telling_evidence(telling, 0);
    const struct history_event *two = telling_evidence(telling, 1);
    bool first_is_it = one->version == telling->result->number[0];
    const struct history_event *write = two == NULL || first_is_it ? one : two;
    const struct history_event *other = write == one ? two : one;
    put_client(telling, write->process);
    if (telling->result->reason == STALE_WRITE && other != NULL) {
        text_add(text, " wrote version %" PRId64 " of ", write->version);
        put_resource(telling, write->resource);
        text_add(text, " under an older grant than ");
        put_client(telling, other->process);
        text_add(text, ", who had written version %" PRId64, other->version);
        return;
    }
    text_add(text, " read version %" PRId64 " of ", write->basis);
    put_resource(telling, write->resource);
    text_add(text, " and wrote version %" PRId64 ", which lost ", write->version);
    if (other != NULL) {
        text_add(text, "version %" PRId64 " of ", other->version);
        put_client(telling, other->process);
    } else {
        text_add(text, "version %" PRId64 " unread", write->version - 1);
    }
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

static void say_ownership(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct history_event *command =
        telling_evidence(telling, telling->result->evidence_count - 1u);
    const char *did = telling->result->reason == DELETED_ANOTHERS    ? " deleted "
                      : telling->result->reason == EXTENDED_ANOTHERS ? " extended "
                                                                     : " overwrote ";
    put_client(telling, command->process);
    text_add(text, "%s", did);
    if (telling->result->evidence_count > 1) {
        put_client(telling, (int32_t)telling->result->number[1]);
        text_add(text, "'s key of ");
    } else {
        text_add(text, "another's key of ");
    }
    put_resource(telling, command->resource);
    text_add(text, " on node %" PRId32 " at ", command->node + 1);
    put_time(text, command->time_ns);
}

/* The last operation of the evidence: a grant may stand before the ends of its keys or behind. */
static const struct history_event *operation_of(const struct telling *telling)
{
    const struct history_event *operation = telling_evidence(telling, 0);
    for (uint32_t i = 0; i < telling->result->evidence_count; i++) {
        const struct history_event *event = telling_evidence(telling, i);
        operation = event->kind == HISTORY_OP ? event : operation;
    }
    return operation;
}

static void say_validity(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct history_event *grant = operation_of(telling);
    int64_t left_ns = telling->result->number[0];
    if (telling->result->reason == SPENT_WHEN_GRANTED) {
        put_granted(telling, grant);
        text_add(text, " with a lease that had ended ");
        put_length(text, -left_ns);
        text_add(text, " before");
        return;
    }
    put_client(telling, grant->process);
    text_add(text, "'s lease of ");
    put_resource(telling, grant->resource);
    if (telling->result->reason == SPENT_WHEN_EXTENDED) {
        text_add(text, " was extended at ");
        put_time(text, telling_evidence(telling, 1)->time_ns);
        text_add(text, " to a time that had passed ");
        put_length(text, -left_ns);
        text_add(text, " before");
        return;
    }
    text_add(text, " was to run for another ");
    put_length(text, left_ns);
    text_add(text, " when only %" PRId64 " of %" PRId32 " nodes had its key",
             telling->result->number[1], telling->history->header->node_count);
}

static void say_deadlock(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct check_result *result = telling->result;
    if (result->verdict == VERDICT_UNKNOWN) {
        text_add(text, "the run ended ");
        put_length(text, result->number[0]);
        text_add(text, " after somebody asked, too early to tell");
        return;
    }
    put_resource(telling, telling->resource);
    if (result->reason == NEVER_GRANTED) {
        text_add(text, " was granted to nobody in the ");
        put_length(text, result->number[0]);
        text_add(text, " after the heal");
    } else {
        text_add(text, " was granted to somebody only ");
        put_length(text, result->number[0]);
        text_add(text, " after it was asked for behind the heal");
    }
    text_add(text, "; ttl + bound allow ");
    put_length(text, result->number[1]);
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

static void say_loss(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct history_event *grant = telling_evidence(telling, 0);
    const struct history_event *other = telling_evidence(telling, 1);
    put_client(telling, grant->process);
    if (telling->result->reason == TOLD_LATE) {
        text_add(text, " was told that it had lost ");
    } else {
        text_add(text, " was never told that it had lost ");
    }
    put_resource(telling, grant->resource);
    text_add(text, telling->result->reason == TOLD_LATE ? " only " : ", and went on for ");
    put_length(text, telling->result->number[0]);
    text_add(text, " after ");
    put_client(telling, other->process);
    text_add(text, " had been granted it");
}

static void say_leak(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct history_event *set = telling_evidence(telling, 0);
    put_client(telling, set->process);
    text_add(text, "'s acquire that was not granted left its key of ");
    put_resource(telling, set->resource);
    text_add(text, " on node %" PRId32 " for ", set->node + 1);
    put_length(text, telling->result->number[0]);
    text_add(text, telling->result->reason == STILL_THERE ? ", to the end of the run" : "");
}

static void say_truth(const struct telling *telling)
{
    struct text *text = telling->text;
    const int64_t *number = telling->result->number;
    const struct history_event *event = operation_of(telling);
    put_client(telling, event->process);
    switch (telling->result->reason) {
    case GRANTED_WITHOUT_MAJORITY:
        text_add(text, " was granted ");
        put_resource(telling, event->resource);
        text_add(text, " with %" PRId64 " of the %" PRId64 " keys that make a majority", number[0],
                 number[1]);
        return;
    case RELEASED_BUT_KEPT:
        text_add(text, "'s release of ");
        put_resource(telling, event->resource);
        text_add(text, " said done, but %" PRId64 " nodes still have its key", number[0]);
        return;
    case NOT_RELEASED_BUT_HELD:
        text_add(text, "'s release of ");
        put_resource(telling, event->resource);
        text_add(text, " said that nothing was held, but %" PRId64 " nodes have its key",
                 number[0]);
        return;
    case EXTENDED_BUT_REMADE:
        text_add(text, " was told that its lease of ");
        put_resource(telling, event->resource);
        text_add(text,
                 " goes on, but only %" PRId64 " of the %" PRId64
                 " keys that make a majority had stayed; the others were gone and set anew",
                 number[0], number[1]);
        return;
    default:
        text_add(text, " was refused ");
        put_resource(telling, event->resource);
        text_add(text, ", but a majority of nodes kept its key for another ");
        put_length(text, number[0]);
        return;
    }
}

/* How the client that a fault struck had ended before: NULL if it had not. */
static const struct history_event *client_end(const struct telling *telling,
                                              const struct history_event *struck)
{
    for (const struct history_event *event = telling->history->events; event < struck; event++) {
        bool ended = event->f == HISTORY_CLIENT_DONE || event->f == HISTORY_CLIENT_KILLED;
        if (ended && event->process == struck->process) {
            return event;
        }
    }
    return NULL;
}

/* Which fault of the scenario was in vain, and why. */
static void say_fault(const struct telling *telling)
{
    struct text *text = telling->text;
    int64_t number = telling->result->number[0];
    const struct history_event *struck = telling_fault(telling, (int32_t)number - 1);
    if (struck == NULL) {
        text_add(text, "fault %" PRId64 " of the scenario did not strike", number);
        return;
    }
    put_fault(telling, struck);
    if (telling->result->reason == FAULT_WITHOUT_END) {
        text_add(text, " never ended");
        return;
    }
    text_add(text, " struck at ");
    put_time(text, struck->time_ns);
    if (telling->result->reason == FAULT_WHILE_IDLE) {
        text_add(text, ", when nobody held the lock, asked for it or gave it back");
        return;
    }
    text_add(text, ", but no effect of it was seen");
    const struct history_event *end = client_end(telling, struck);
    if (end != NULL) {
        text_add(text, ": ");
        put_client(telling, struck->process);
        text_add(text, " was %s by then", history_f_name((enum history_f)end->f));
    }
}

static void say_exercised(const struct telling *telling)
{
    switch (telling->result->reason) {
    case NO_GRANT:
        text_add(telling->text, "the lock was never granted, so nothing was tried");
        return;
    case NO_CONTENTION:
        text_add(telling->text,
                 "no client asked while another asked or held, so exclusion was not tried");
        return;
    default:
        say_fault(telling);
        return;
    }
}

/* The operations alone: for a check without a sentence of its own. */
static void say_evidence(const struct telling *telling)
{
    for (uint32_t i = 0; i < telling->result->evidence_count; i++) {
        const struct history_event *event = telling_evidence(telling, i);
        if (event == NULL) {
            continue;
        }
        text_add(telling->text, "%s", i == 0 ? "" : "; ");
        put_event(telling, event);
        text_add(telling->text, " at ");
        put_time(telling->text, event->time_ns);
    }
}

static void say_linearizable(const struct telling *telling)
{
    text_add(telling->text, "no order of the operations is legal for a lock, because of these: ");
    say_evidence(telling);
}

static const struct headline {
    const char *check;
    void (*say)(const struct telling *telling);
} headlines[] = {
    {"exclusion", say_exclusion},
    {"section_exclusion", say_section},
    {"store_integrity", say_store},
    {"fence_order", say_fence},
    {"ownership", say_ownership},
    {"validity", say_validity},
    {"linearizable", say_linearizable},
    {"deadlock_freedom", say_deadlock},
    {"fault_tolerance", say_tolerance},
    {"loss_notice", say_loss},
    {"no_leak", say_leak},
    {"result_truth", say_truth},
    {"exercised", say_exercised},
};

static bool evidence_is_there(const struct telling *telling)
{
    for (uint32_t i = 0; i < telling->result->evidence_count; i++) {
        if (telling_evidence(telling, i) == NULL) {
            return false;
        }
    }
    return true;
}

void put_headline(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct check_result *result = telling->result;
    text_add(text, "%s: ", telling->check->name);
    if (result->reason == CHECK_REASON_LIMIT) {
        text_add(text, "the history has more clients, resources or faults than this check follows");
        return;
    }
    if (result->verdict == VERDICT_PASS || result->verdict == VERDICT_NOTHING) {
        text_add(text, "%" PRIu64 " judged, none violated", result->judged);
        return;
    }
    for (size_t i = 0; i < sizeof headlines / sizeof headlines[0]; i++) {
        if (strcmp(headlines[i].check, telling->check->name) == 0 && evidence_is_there(telling)) {
            headlines[i].say(telling);
            return;
        }
    }
    say_evidence(telling);
}

/* marks.c: compares the ledger before and after each event. */
#include "checker/report/marks.h"

#include "base/arena.h"
#include "base/assert.h"
#include "checker/key_ends.h"

#include <string.h>

struct marker {
    struct ledger *ledger; /* owned */
    const struct history_event *event;
    struct marks *marks;
    /* As it was before the event. */
    struct ledger_claim claims[LEDGER_CLAIMS];
    struct ledger_process process;
    struct ledger_key key;
};

#define WORD(name, word) [name] = (word),
static const char *const bar_words[MARK_BARS] = {MARK_BAR_MAP(WORD)};
static const char *const how_words[MARK_HOWS] = {MARK_HOW_MAP(WORD)};
#undef WORD

const char *mark_bar_name(enum mark_bar bar)
{
    ASSERT(bar < MARK_BARS);
    return bar_words[bar];
}

const char *mark_how_name(enum mark_how how)
{
    ASSERT(how < MARK_HOWS);
    return how_words[how];
}

struct marker *marker_open(const struct history_header *header)
{
    struct marker *marker = memory_resize(NULL, sizeof *marker);
    struct ledger *ledger = memory_resize(NULL, ledger_bytes(header));
    if (marker == NULL || ledger == NULL) {
        memory_release(marker);
        memory_release(ledger);
        return NULL;
    }
    memset(marker, 0, sizeof *marker);
    ledger_init(ledger, header);
    marker->ledger = ledger;
    return marker;
}

void marker_close(struct marker *marker)
{
    if (marker != NULL) {
        memory_release(marker->ledger);
        memory_release(marker);
    }
}

const struct ledger *marker_ledger(const struct marker *marker)
{
    return marker->ledger;
}

static struct mark *mark_add(struct marker *marker, enum mark_bar bar, enum mark_turn turn)
{
    struct marks *marks = marker->marks;
    ASSERT(marks->count < MARKS_MAX);
    struct mark *mark = &marks->list[marks->count++];
    *mark = (struct mark){
        .bar = (uint8_t)bar,
        .turn = (uint8_t)turn,
        .process = marker->event->process,
        .node = HISTORY_NO_NODE,
        .resource = marker->event->resource,
        .until_ns = TIME_NEVER,
    };
    return mark;
}

/* ---- leases ---------------------------------------------------------------------------------- */

static enum mark_how how_over(enum claim_over over)
{
    switch (over) {
    case OVER_RELEASED:
        return HOW_RELEASED;
    case OVER_TOLD:
        return HOW_TOLD;
    case OVER_KILLED:
        return HOW_KILLED;
    case OVER_NOT:
        break;
    }
    UNREACHABLE();
}

static void mark_claim(struct marker *marker, const struct ledger_claim *before,
                       const struct ledger_claim *after)
{
    int64_t now_ns = marker->event->time_ns;
    struct mark *mark;
    if (after->state != CLAIM_GRANTED) {
        return;
    }
    bool fresh = before->state != CLAIM_GRANTED || before->order != after->order;
    bool ran = !fresh && ledger_lease_end_ns(before) > now_ns;
    if (fresh || (!ran && ledger_running(marker->ledger, after))) {
        mark = mark_add(marker, MARK_LEASE, MARK_OPEN);
        mark->until_ns = after->until_ns;
    } else if (ran && after->over != before->over) {
        mark = mark_add(marker, MARK_LEASE, MARK_CLOSE);
        mark->how = (uint8_t)how_over((enum claim_over)after->over);
    } else if (ran && after->until_ns != before->until_ns) {
        mark = mark_add(marker, MARK_LEASE, MARK_MOVE);
        mark->until_ns = after->until_ns;
    } else {
        return;
    }
    mark->resource = after->resource;
}

/* ---- sections and waiting -------------------------------------------------------------------- */

static void mark_process(struct marker *marker, const struct ledger_process *before,
                         const struct ledger_process *after)
{
    bool dies = marker->event->kind == HISTORY_CLIENT;
    bool entered =
        after->inside && (!before->inside || after->inside_index != before->inside_index);
    if (before->inside && (!after->inside || entered)) {
        struct mark *mark = mark_add(marker, MARK_SECTION, MARK_CLOSE);
        mark->how = dies ? HOW_KILLED : HOW_LEFT;
        mark->resource = before->inside_resource;
    }
    if (entered) {
        mark_add(marker, MARK_SECTION, MARK_OPEN)->resource = after->inside_resource;
    }
    bool asked = after->open && (!before->open || after->open_index != before->open_index);
    if (before->open && !after->open && !dies) {
        static const uint8_t answers[HISTORY_TYPES] = {
            [HISTORY_OK] = HOW_OK, [HISTORY_FAIL] = HOW_REFUSED, [HISTORY_INFO] = HOW_UNKNOWN};
        struct mark *mark = mark_add(marker, MARK_WAIT, MARK_CLOSE);
        mark->how = answers[marker->event->type];
        mark->resource = before->open_resource;
    }
    if (dies && after->dead && !before->dead && before->open) {
        struct mark *mark = mark_add(marker, MARK_WAIT, MARK_CLOSE);
        mark->how = HOW_KILLED;
        mark->resource = before->open_resource;
    }
    if (asked) {
        mark_add(marker, MARK_WAIT, MARK_OPEN)->resource = after->open_resource;
    }
}

/* ---- keys ------------------------------------------------------------------------------------ */

static enum mark_how how_key_ended(const struct history_event *event)
{
    enum history_cause cause = (enum history_cause)event->cause;
    bool taken = event->f == HISTORY_KEY_DELETED && cause == CAUSE_FOREIGN;
    if (key_end_of(cause)->blamed.blame != BLAME_LIBRARY) {
        return HOW_LOST;
    }
    if (event->f == HISTORY_KEY_LOST || event->f == HISTORY_KEY_EVICTED) {
        return HOW_LOST;
    }
    if (event->f == HISTORY_KEY_EXPIRED) {
        return HOW_EXPIRED;
    }
    return taken ? HOW_TAKEN : HOW_DELETED;
}

static struct mark *mark_key_turn(struct marker *marker, enum mark_turn turn, int32_t process)
{
    struct mark *mark = mark_add(marker, MARK_KEY, turn);
    mark->process = process;
    mark->node = marker->event->node;
    return mark;
}

static void mark_key(struct marker *marker, const struct ledger_key *before,
                     const struct ledger_key *after)
{
    const struct history_event *event = marker->event;
    bool put = event->f == HISTORY_KEY_SET || event->f == HISTORY_KEY_BACK;
    int64_t until_ns = (event->flags & HISTORY_HAS_UNTIL) != 0 ? event->until_ns : TIME_NEVER;
    if (before->present && (put || !after->present)) {
        struct mark *mark = mark_key_turn(marker, MARK_CLOSE, before->process);
        mark->how = (uint8_t)(put ? HOW_REPLACED : how_key_ended(event));
    }
    if (put && after->present) {
        mark_key_turn(marker, MARK_OPEN, after->process)->until_ns = until_ns;
    } else if (event->f == HISTORY_KEY_EXTENDED && after->present) {
        mark_key_turn(marker, MARK_MOVE, after->process)->until_ns = until_ns;
    }
}

/* ---- a step ---------------------------------------------------------------------------------- */

static bool is_of_client(const struct history_event *event)
{
    return event->kind == HISTORY_OP || event->kind == HISTORY_SECTION ||
           event->kind == HISTORY_NOTICE || event->kind == HISTORY_LEASE ||
           event->kind == HISTORY_CLIENT;
}

static void step_client(struct marker *marker, const struct history_event *event)
{
    struct ledger *ledger = marker->ledger;
    uint32_t slot = ledger_slot(ledger, event->process);
    bool known = slot < ledger->process_count;
    memset(marker->claims, 0, sizeof marker->claims);
    memset(&marker->process, 0, sizeof marker->process);
    if (known) {
        marker->process = *ledger_process_at(ledger, slot);
        for (uint32_t i = 0; i < LEDGER_CLAIMS; i++) {
            marker->claims[i] = *ledger_claim_at(ledger, slot * LEDGER_CLAIMS + i);
        }
    }
    ledger_step(ledger, event);
    slot = ledger_slot(ledger, event->process);
    if (slot == ledger->process_count) {
        return; /* more clients than the ledger follows */
    }
    for (uint32_t i = 0; i < LEDGER_CLAIMS; i++) {
        mark_claim(marker, &marker->claims[i], ledger_claim_at(ledger, slot * LEDGER_CLAIMS + i));
    }
    mark_process(marker, &marker->process, ledger_process_at(ledger, slot));
}

static void step_node(struct marker *marker, const struct history_event *event)
{
    struct ledger *ledger = marker->ledger;
    bool followed = ledger->node_count > 0 && event->resource < ledger->resource_count;
    if (!followed) {
        ledger_step(ledger, event);
        return;
    }
    marker->key = *ledger_key_at(ledger, event->node, event->resource);
    ledger_step(ledger, event);
    mark_key(marker, &marker->key, ledger_key_at(ledger, event->node, event->resource));
}

void marker_step(struct marker *marker, const struct history_event *event, struct marks *marks)
{
    marker->event = event;
    marker->marks = marks;
    marks->count = 0;
    if (is_of_client(event)) {
        step_client(marker, event);
    } else if (event->kind == HISTORY_NODE) {
        step_node(marker, event);
    } else {
        ledger_step(marker->ledger, event);
    }
}

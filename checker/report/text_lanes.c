/* text_lanes.c: puts bars into cells of characters. */
#include "base/arena.h"
#include "base/duration.h"
#include "checker/report/text_cells.h"

#include <string.h>

/* ---- cells ----------------------------------------------------------------------------------- */

static void put(struct text_lanes *lanes, uint8_t *cells, int32_t at, uint8_t glyph)
{
    if (at >= 0 && at < CELLS && (glyph >= cells[at] || glyph >= KEY)) {
        cells[at] = glyph;
        lanes->used |= glyph < GLYPHS ? 1u << glyph : 0;
    }
}

/* At least one cell, if any of it is in view. */
static void fill(struct text_lanes *lanes, uint8_t *cells, const int64_t between_ns[2],
                 uint8_t glyph)
{
    if (between_ns[1] < lanes->scale.from_ns || between_ns[0] > lanes->scale.to_ns) {
        return;
    }
    int32_t first = text_column(lanes, between_ns[0]);
    int32_t last = text_column(lanes, between_ns[1]);
    for (int32_t at = first; at < (last > first ? last : first + 1); at++) {
        put(lanes, cells, at, glyph);
    }
}

/* ---- bars ------------------------------------------------------------------------------------ */

static struct client_row *client_row(struct text_lanes *lanes, int32_t process)
{
    for (int32_t i = 0; i < lanes->client_count; i++) {
        if (lanes->clients[i].process == process) {
            return &lanes->clients[i];
        }
    }
    return NULL;
}

static void client_add(struct text_lanes *lanes, int32_t process)
{
    bool known = process == HISTORY_NOBODY || client_row(lanes, process) != NULL;
    if (!known && lanes->client_count < CLIENTS_MAX) {
        lanes->clients[lanes->client_count++] = (struct client_row){.process = process,
                                                                    .waits_ns = TIME_NEVER,
                                                                    .lease_ns = TIME_NEVER,
                                                                    .lease_end_ns = TIME_NEVER,
                                                                    .inside_ns = TIME_NEVER};
    }
}

static void end_section(struct text_lanes *lanes, struct client_row *row, int64_t now_ns)
{
    if (row->inside_ns == TIME_NEVER) {
        return;
    }
    int64_t over_ns = row->lease_end_ns < row->inside_ns ? row->inside_ns : row->lease_end_ns;
    over_ns = over_ns < now_ns ? over_ns : now_ns;
    if (over_ns > row->inside_ns) {
        fill(lanes, row->cells, (int64_t[]){row->inside_ns, over_ns}, INSIDE);
    }
    if (now_ns > over_ns) {
        fill(lanes, row->cells, (int64_t[]){over_ns, now_ns}, OVERTIME);
    }
    row->inside_ns = TIME_NEVER;
}

static void end_lease(struct text_lanes *lanes, struct client_row *row, int64_t now_ns)
{
    if (row->lease_ns != TIME_NEVER) {
        int64_t end_ns = row->lease_end_ns < now_ns ? row->lease_end_ns : now_ns;
        if (end_ns > row->lease_ns) {
            fill(lanes, row->cells, (int64_t[]){row->lease_ns, end_ns}, LEASE);
        }
        row->lease_ns = TIME_NEVER;
    }
}

static void end_wait(struct text_lanes *lanes, struct client_row *row, int64_t now_ns)
{
    if (row->waits_ns != TIME_NEVER) {
        fill(lanes, row->cells, (int64_t[]){row->waits_ns, now_ns}, WAITS);
        row->waits_ns = TIME_NEVER;
    }
}

static void take_client_mark(struct text_lanes *lanes, const struct mark *mark, int64_t now_ns)
{
    struct client_row *row = client_row(lanes, mark->process);
    if (row == NULL) {
        return;
    }
    bool opens = mark->turn == MARK_OPEN;
    if (mark->bar == MARK_WAIT) {
        end_wait(lanes, row, now_ns);
        row->waits_ns = opens ? now_ns : TIME_NEVER;
    } else if (mark->bar == MARK_SECTION) {
        end_section(lanes, row, now_ns);
        row->inside_ns = opens ? now_ns : TIME_NEVER;
    } else if (mark->turn == MARK_MOVE) {
        row->lease_end_ns = mark->until_ns;
    } else {
        end_lease(lanes, row, now_ns);
        row->lease_ns = opens ? now_ns : TIME_NEVER;
        row->lease_end_ns = opens ? mark->until_ns : now_ns;
    }
}

static void end_hollow(struct text_lanes *lanes, struct node_row *row, int64_t now_ns)
{
    if (row->hollow_ns == TIME_NEVER) {
        return;
    }
    int64_t end_ns = row->hollow_end_ns < now_ns ? row->hollow_end_ns : now_ns;
    int32_t first = text_column(lanes, row->hollow_ns) + 1;
    for (int32_t at = first; end_ns >= lanes->scale.from_ns && at < text_column(lanes, end_ns);
         at++) {
        put(lanes, row->cells, at, HOLLOW);
    }
    row->hollow_ns = TIME_NEVER;
}

static void end_key(struct text_lanes *lanes, struct node_row *row, int64_t now_ns)
{
    if (row->key_ns == TIME_NEVER || now_ns < lanes->scale.from_ns ||
        row->key_ns > lanes->scale.to_ns) {
        return;
    }
    bool audit = row->owner == lanes->history->header->client_count;
    int32_t base = lanes->history->header->format != 0 ? 1 : 0;
    int32_t first = text_column(lanes, row->key_ns);
    int32_t last = text_column(lanes, now_ns);
    for (int32_t at = first; at < (last > first ? last : first + 1); at++) {
        bool number = (at - first) % OWNER_EVERY == 1 && row->owner != HISTORY_NOBODY && !audit;
        put(lanes, row->cells, at, (uint8_t)(number ? OWNER + (row->owner + base) % 10 : KEY));
        lanes->used |= 1u << KEY;
    }
}

static void take_key_mark(struct text_lanes *lanes, const struct mark *mark, int64_t now_ns)
{
    bool cluster = history_is_cluster(lanes->history->header);
    struct node_row *row = &lanes->nodes[cluster ? TEXT_CLUSTER : mark->node];
    if (mark->turn == MARK_MOVE) {
        row->hollow_end_ns = mark->until_ns;
        return;
    }
    end_hollow(lanes, row, now_ns);
    if (mark->turn == MARK_OPEN) {
        row->key_ns = now_ns;
        row->owner = mark->process;
        row->hollow_end_ns = mark->until_ns;
        return;
    }
    bool lost = mark->how == HOW_LOST || mark->how == HOW_TAKEN;
    end_key(lanes, row, now_ns);
    if (text_in_view(lanes, now_ns) && mark->how != HOW_REPLACED) {
        put(lanes, row->cells, text_column(lanes, now_ns),
            lost                       ? GONE
            : mark->how == HOW_EXPIRED ? TIME_UP
                                       : DELETED);
    }
    row->key_ns = TIME_NEVER;
    row->hollow_ns = lost ? now_ns : TIME_NEVER;
}

/* ---- the store and faults -------------------------------------------------------------------- */

static bool is_damage(const struct text_lanes *lanes, uint64_t index)
{
    for (uint8_t i = 0; lanes->cause != NULL && i < lanes->cause->step_count; i++) {
        const struct story_step *step = &lanes->cause->steps[i];
        if (step->event == index && step->store && step->violation) {
            return true;
        }
    }
    return false;
}

static void take_store(struct text_lanes *lanes, const struct history_event *event)
{
    bool write = event->f == HISTORY_WRITE && event->type != HISTORY_INVOKE;
    bool refused = event->f == HISTORY_READ && event->type == HISTORY_FAIL;
    if (event->kind == HISTORY_OP && (write || refused) && event->resource == lanes->resource &&
        text_in_view(lanes, event->time_ns)) {
        uint8_t glyph = event->type != HISTORY_OK        ? REFUSED
                        : is_damage(lanes, event->index) ? BAD_WRITE
                                                         : WRITE;
        put(lanes, lanes->store, text_column(lanes, event->time_ns), glyph);
    }
}

static int64_t fault_end_ns(const struct explain_history *history, uint64_t start)
{
    for (size_t i = start + 1; i < history->count; i++) {
        const struct history_event *event = &history->events[i];
        if (event->kind == HISTORY_FAULT && event->f == HISTORY_FAULT_END &&
            event->fault == history->events[start].fault) {
            return event->time_ns;
        }
    }
    return history->events[history->count - 1].time_ns;
}

static void take_fault(struct text_lanes *lanes, const struct history_event *event)
{
    int64_t between_ns[2] = {event->time_ns, fault_end_ns(lanes->history, event->index)};
    bool stops = event->fault_kind == FAULT_PAUSE || event->fault_kind == FAULT_SLOW;
    for (int32_t i = 0; stops && i < lanes->client_count; i++) {
        if (history_fault_names_client(event, lanes->clients[i].process)) {
            fill(lanes, lanes->clients[i].cells, between_ns, PAUSED);
        }
    }
    bool matters = lanes->cause == NULL; /* nothing was found: all of them */
    for (uint8_t i = 0; lanes->cause != NULL && i < lanes->cause->fault_count; i++) {
        matters = matters || lanes->cause->faults[i] == event->fault;
    }
    if (matters) {
        fill(lanes, lanes->faults, between_ns, FAULT);
    }
}

/* ---- the story's numbers --------------------------------------------------------------------- */

static void number_cell(uint8_t *cells, int32_t at, uint8_t number)
{
    /* What ended a key stays to be seen beside the number. */
    bool ends = cells[at] == GONE || cells[at] == TIME_UP || cells[at] == DELETED;
    cells[ends && at > 0 ? at - 1 : at] = (uint8_t)(DIGIT + number);
}

static void number_lanes(struct text_lanes *lanes)
{
    for (uint8_t i = 0; lanes->cause != NULL && i < lanes->cause->step_count; i++) {
        const struct story_step *step = &lanes->cause->steps[i];
        struct client_row *row = client_row(lanes, step->process);
        if (!text_in_view(lanes, step->time_ns)) {
            continue;
        }
        int32_t at = text_column(lanes, step->time_ns);
        if (!step->store && row != NULL) {
            number_cell(row->cells, at, i);
        }
        if (history_is_cluster(lanes->history->header) && step->nodes != 0 &&
            lanes->history->events[step->event].kind == HISTORY_NODE) {
            number_cell(lanes->nodes[TEXT_CLUSTER].cells, at, i);
            continue;
        }
        for (int32_t node = 0; node < HISTORY_NODES_MAX; node++) {
            if ((step->nodes >> node & 1) != 0) {
                number_cell(lanes->nodes[node].cells, at, i);
            }
        }
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Those of the cause, else the first that ask. */
static void cast_clients(struct text_lanes *lanes)
{
    const struct story_cause *cause = lanes->cause;
    for (int i = 0; cause != NULL && i < 2; i++) {
        client_add(lanes, cause->involved[i]);
    }
    for (uint8_t i = 0; cause != NULL && i < cause->step_count; i++) {
        client_add(lanes, cause->steps[i].process);
    }
    for (size_t i = 0; lanes->client_count == 0 || cause == NULL; i++) {
        if (i == lanes->history->count || lanes->client_count == CLIENTS_MAX) {
            break;
        }
        const struct history_event *event = &lanes->history->events[i];
        client_add(lanes, event->kind == HISTORY_OP ? event->process : HISTORY_NOBODY);
    }
    for (int32_t i = 1; i < lanes->client_count; i++) {
        struct client_row moving = lanes->clients[i];
        int32_t at = i;
        for (; at > 0 && lanes->clients[at - 1].process > moving.process; at--) {
            lanes->clients[at] = lanes->clients[at - 1];
        }
        lanes->clients[at] = moving;
    }
}

static void take_events(struct text_lanes *lanes, struct marker *marker)
{
    const struct explain_history *history = lanes->history;
    struct marks marks;
    for (size_t i = 0; i < history->count; i++) {
        const struct history_event *event = &history->events[i];
        if (event->time_ns > lanes->scale.to_ns) {
            break;
        }
        marker_step(marker, event, &marks);
        for (uint32_t k = 0; k < marks.count; k++) {
            if (marks.list[k].resource != lanes->resource) {
                continue;
            }
            if (marks.list[k].bar == MARK_KEY) {
                take_key_mark(lanes, &marks.list[k], event->time_ns);
            } else {
                take_client_mark(lanes, &marks.list[k], event->time_ns);
            }
        }
        take_store(lanes, event);
        if (event->kind == HISTORY_FAULT && event->f == HISTORY_FAULT_START) {
            take_fault(lanes, event);
        }
    }
    for (int32_t i = 0; i < lanes->client_count; i++) {
        end_wait(lanes, &lanes->clients[i], lanes->scale.to_ns + 1);
        end_lease(lanes, &lanes->clients[i], lanes->scale.to_ns + 1);
        end_section(lanes, &lanes->clients[i], lanes->scale.to_ns + 1);
    }
    for (int32_t i = 0; i <= TEXT_CLUSTER; i++) {
        end_hollow(lanes, &lanes->nodes[i], lanes->scale.to_ns + 1);
        end_key(lanes, &lanes->nodes[i], lanes->scale.to_ns + 1);
    }
}

void text_lanes_print(const struct explain_history *history, const struct story_cause *cause,
                      enum text_style style, struct sheet *sheet)
{
    struct marker *marker = history->count > 0 ? marker_open(history->header) : NULL;
    struct text_lanes *lanes = marker != NULL ? memory_resize(NULL, sizeof *lanes) : NULL;
    if (lanes != NULL) {
        memset(lanes, 0, sizeof *lanes);
        lanes->history = history;
        lanes->cause = cause;
        lanes->resource = cause != NULL ? cause->resource : 0;
        text_scale_make(&lanes->scale, history, cause, CELLS);
        cast_clients(lanes);
        for (int32_t i = 0; i <= TEXT_CLUSTER; i++) {
            lanes->nodes[i].key_ns = TIME_NEVER;
            lanes->nodes[i].hollow_ns = TIME_NEVER;
        }
        take_events(lanes, marker);
        number_lanes(lanes);
        text_cells_print(lanes, style, sheet);
    }
    memory_release(lanes);
    marker_close(marker);
}

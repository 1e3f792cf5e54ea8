/* lanes.c: draws the lanes of clients and nodes along true time. */
#include "checker/report/lanes.h"

#include "base/assert.h"
#include "base/duration.h"
#include "checker/explain/explain_words.h"
#include "checker/report/html.h"

#include <inttypes.h>

enum {
    LABEL_WIDTH = 90,
    PICTURE_WIDTH = 1500,
    LANE_HEIGHT = 30,
    BAR_HEIGHT = 18,
    NO_LANE = -1,
    TIMES_SHOWN = 10,
};

/* What is open in a client's lane while the events go by. */
struct client_lane {
    int32_t process;
    int64_t asked_ns; /* TIME_NEVER: nothing asked */
    uint8_t asked_f;
    int64_t granted_ns; /* TIME_NEVER: holds nothing */
    int64_t until_ns;
    int64_t entered_ns; /* TIME_NEVER: not inside */
};

struct fault_band {
    int64_t start_ns; /* TIME_NEVER: not open */
    int32_t process;
    int32_t node;
    uint8_t kind;
};

enum { BANDS_MAX = 64 };

struct lanes {
    const struct explain_history *history;
    const struct check_result *violation;
    struct text *text;
    uint32_t resource;
    uint64_t begin; /* events drawn: [begin, end) */
    uint64_t end;
    int64_t from_ns;
    int64_t to_ns;
    int32_t client_count;
    int32_t clients_left_out;
    struct client_lane clients[HTML_CLIENTS_MAX];
    int32_t node_count;
    int64_t key_since_ns[HISTORY_NODES_MAX]; /* TIME_NEVER: no key */
    int32_t key_process[HISTORY_NODES_MAX];
    struct fault_band bands[BANDS_MAX];
};

static int32_t lane_of_client(const struct lanes *lanes, int32_t process)
{
    for (int32_t i = 0; i < lanes->client_count; i++) {
        if (lanes->clients[i].process == process) {
            return i;
        }
    }
    return NO_LANE;
}

static void lane_add(struct lanes *lanes, int32_t process)
{
    if (process == HISTORY_NOBODY || lane_of_client(lanes, process) != NO_LANE) {
        return;
    }
    if (lanes->client_count == HTML_CLIENTS_MAX) {
        lanes->clients_left_out++;
        return;
    }
    lanes->clients[lanes->client_count++] = (struct client_lane){
        .process = process,
        .asked_ns = TIME_NEVER,
        .granted_ns = TIME_NEVER,
        .entered_ns = TIME_NEVER,
    };
}

static bool is_evidence(const struct lanes *lanes, uint64_t index)
{
    for (uint32_t i = 0; lanes->violation != NULL && i < lanes->violation->evidence_count; i++) {
        if (lanes->violation->evidence[i] == index) {
            return true;
        }
    }
    return false;
}

/* Draw the events around the evidence, as many as fit. */
static void lanes_window(struct lanes *lanes)
{
    uint64_t count = lanes->history->count;
    lanes->begin = 0;
    lanes->end = count < HTML_EVENTS_MAX ? count : HTML_EVENTS_MAX;
    if (lanes->violation != NULL && count > HTML_EVENTS_MAX) {
        uint64_t last = lanes->violation->evidence[lanes->violation->evidence_count - 1u];
        uint64_t before = HTML_EVENTS_MAX * 3 / 4;
        lanes->begin = last > before ? last - before : 0;
        uint64_t end = lanes->begin + HTML_EVENTS_MAX;
        lanes->end = end < count ? end : count;
    }
    const struct history_event *events = lanes->history->events;
    lanes->from_ns = count > 0 ? events[lanes->begin].time_ns : 0;
    lanes->to_ns = lanes->end > lanes->begin ? events[lanes->end - 1].time_ns : lanes->from_ns;
    lanes->to_ns += lanes->to_ns == lanes->from_ns ? 1 : 0;
}

/* The resource and the lanes: first those of the evidence, then in order of appearance. */
static void lanes_cast(struct lanes *lanes)
{
    const struct history_event *events = lanes->history->events;
    for (uint32_t i = 0; lanes->violation != NULL && i < lanes->violation->evidence_count; i++) {
        const struct history_event *event = &events[lanes->violation->evidence[i]];
        lane_add(lanes, event->process);
        if (event->kind == HISTORY_OP || event->kind == HISTORY_SECTION ||
            event->kind == HISTORY_NODE) {
            lanes->resource = event->resource;
        }
    }
    for (uint64_t i = lanes->begin; i < lanes->end; i++) {
        if (events[i].kind == HISTORY_OP && events[i].type == HISTORY_INVOKE &&
            events[i].resource == lanes->resource) {
            lane_add(lanes, events[i].process);
        }
    }
    lanes->node_count = lanes->history->header->node_count;
    for (int32_t i = 0; i < lanes->node_count; i++) {
        lanes->key_since_ns[i] = TIME_NEVER;
        lanes->key_process[i] = HISTORY_NOBODY;
    }
    for (int32_t i = 0; i < BANDS_MAX; i++) {
        lanes->bands[i].start_ns = TIME_NEVER;
    }
}

static double x_of(const struct lanes *lanes, int64_t time_ns)
{
    int64_t bounded = time_ns < lanes->from_ns ? lanes->from_ns : time_ns;
    bounded = bounded > lanes->to_ns ? lanes->to_ns : bounded;
    double share = (double)(bounded - lanes->from_ns) / (double)(lanes->to_ns - lanes->from_ns);
    return LABEL_WIDTH + share * (PICTURE_WIDTH - LABEL_WIDTH - 10);
}

static int32_t y_of(int32_t lane)
{
    return 24 + lane * LANE_HEIGHT;
}

struct bar {
    int32_t lane;
    int32_t inset; /* from the top and the bottom of the lane's bar */
    int64_t from_ns;
    int64_t to_ns;
    const char *fill;
};

/* A bar and its words, which are our own or names without < and &. */
static void put_bar(const struct lanes *lanes, const struct bar *bar, const char *words)
{
    double x = x_of(lanes, bar->from_ns);
    double width = x_of(lanes, bar->to_ns) - x;
    text_add(lanes->text,
             "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\" "
             "fill-opacity=\"0.7\"><title>%s\n%.6f s "
             "to %.6f s</title></rect>\n",
             x, y_of(bar->lane) + bar->inset, width < 0.8 ? 0.8 : width,
             BAR_HEIGHT - 2 * bar->inset, bar->fill, words, (double)bar->from_ns / NS_PER_S,
             (double)bar->to_ns / NS_PER_S);
}

static void end_lease(struct lanes *lanes, struct client_lane *lane, int64_t end_ns)
{
    if (lane->granted_ns == TIME_NEVER) {
        return;
    }
    int64_t over_ns = lane->until_ns < end_ns ? lane->until_ns : end_ns;
    struct bar bar = {.lane = (int32_t)(lane - lanes->clients),
                      .from_ns = lane->granted_ns,
                      .to_ns = over_ns > lane->granted_ns ? over_ns : lane->granted_ns,
                      .fill = "#a5d6a7"};
    put_bar(lanes, &bar, lane->until_ns == TIME_NEVER ? "lease without a promised end" : "lease");
    lane->granted_ns = TIME_NEVER;
}

static void end_section(struct lanes *lanes, struct client_lane *lane, int64_t end_ns)
{
    if (lane->entered_ns != TIME_NEVER) {
        struct bar bar = {.lane = (int32_t)(lane - lanes->clients),
                          .inset = 6,
                          .from_ns = lane->entered_ns,
                          .to_ns = end_ns,
                          .fill = "#1b5e20"};
        put_bar(lanes, &bar, "section");
        lane->entered_ns = TIME_NEVER;
    }
}

static void draw_operation(struct lanes *lanes, struct client_lane *lane,
                           const struct history_event *event)
{
    if (event->type == HISTORY_INVOKE) {
        lane->asked_ns = event->time_ns;
        lane->asked_f = event->f;
        if (event->f == HISTORY_RELEASE) {
            end_lease(lanes, lane, event->time_ns);
        }
        return;
    }
    if (lane->asked_ns != TIME_NEVER) {
        struct bar bar = {.lane = (int32_t)(lane - lanes->clients),
                          .inset = 7,
                          .from_ns = lane->asked_ns,
                          .to_ns = event->time_ns,
                          .fill = event->f == HISTORY_WRITE ? "#6a1b9a" : "#b0bec5"};
        char memory[80];
        struct text words = text_over(memory, sizeof memory);
        text_add(&words, "%s: %s", history_f_name((enum history_f)event->f),
                 history_type_name((enum history_type)event->type));
        put_bar(lanes, &bar, memory);
        lane->asked_ns = TIME_NEVER;
    }
    bool has_until = (event->flags & HISTORY_HAS_UNTIL) != 0;
    if (event->type == HISTORY_OK && event->f == HISTORY_ACQUIRE) {
        end_lease(lanes, lane, event->time_ns);
        lane->granted_ns = event->time_ns;
        lane->until_ns = has_until ? event->until_ns : TIME_NEVER;
    } else if (event->type == HISTORY_OK && event->f == HISTORY_EXTEND && has_until) {
        lane->until_ns = event->until_ns;
    }
}

static void end_key(struct lanes *lanes, int32_t node, int64_t end_ns, const char *how)
{
    if (lanes->key_since_ns[node] == TIME_NEVER) {
        return;
    }
    char memory[120];
    struct text words = text_over(memory, sizeof memory);
    text_add(&words, "key of ");
    put_client_number(&words, lanes->history->header, lanes->key_process[node]);
    text_add(&words, "%s%s", how[0] == '\0' ? "" : ", then ", how);
    struct bar bar = {.lane = lanes->client_count + node,
                      .inset = 2,
                      .from_ns = lanes->key_since_ns[node],
                      .to_ns = end_ns,
                      .fill = lanes->key_process[node] % 2 == 0 ? "#90caf9" : "#ce93d8"};
    put_bar(lanes, &bar, memory);
    lanes->key_since_ns[node] = TIME_NEVER;
}

static void draw_node(struct lanes *lanes, const struct history_event *event)
{
    if (event->node >= lanes->node_count) {
        return;
    }
    if (event->f == HISTORY_KEY_SET || event->f == HISTORY_KEY_BACK) {
        end_key(lanes, event->node, event->time_ns, "");
        lanes->key_since_ns[event->node] = event->time_ns;
        if (event->f == HISTORY_KEY_SET) {
            lanes->key_process[event->node] = event->process;
        }
    } else if (event->f == HISTORY_KEY_DELETED || event->f == HISTORY_KEY_EXPIRED ||
               event->f == HISTORY_KEY_LOST || event->f == HISTORY_KEY_EVICTED) {
        end_key(lanes, event->node, event->time_ns, history_f_name((enum history_f)event->f));
    }
}

static void end_band(struct lanes *lanes, uint32_t number, int64_t end_ns)
{
    struct fault_band *band = &lanes->bands[number];
    if (band->start_ns == TIME_NEVER) {
        return;
    }
    int32_t client =
        band->process == HISTORY_NOBODY ? NO_LANE : lane_of_client(lanes, band->process);
    bool on_node = band->process == HISTORY_NOBODY && band->node != HISTORY_NO_NODE &&
                   band->node < lanes->node_count;
    int32_t all = lanes->client_count + lanes->node_count;
    int32_t first = client != NO_LANE ? client : on_node ? lanes->client_count + band->node : 0;
    int32_t lanes_high = client != NO_LANE || on_node ? 1 : all;
    double x = x_of(lanes, band->start_ns);
    double width = x_of(lanes, end_ns) - x;
    text_add(lanes->text,
             "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"#ffb74d\" "
             "fill-opacity=\"0.4\"><title>fault %" PRIu32 ": %s</title></rect>\n",
             x, y_of(first) - 4, width < 1.5 ? 1.5 : width, lanes_high * LANE_HEIGHT - 4,
             number + 1, fault_kind_name((enum fault_kind)band->kind));
    band->start_ns = TIME_NEVER;
}

static void draw_fault(struct lanes *lanes, const struct history_event *event)
{
    if (event->fault < 0 || event->fault >= BANDS_MAX) {
        return;
    }
    struct fault_band *band = &lanes->bands[event->fault];
    if (event->f == HISTORY_FAULT_END) {
        end_band(lanes, (uint32_t)event->fault, event->time_ns);
    } else if (event->f == HISTORY_FAULT_START) {
        *band = (struct fault_band){.start_ns = event->time_ns,
                                    .process = event->process,
                                    .node = event->node,
                                    .kind = event->fault_kind};
    }
}

static void draw_client_event(struct lanes *lanes, const struct history_event *event)
{
    int32_t index = lane_of_client(lanes, event->process);
    if (index == NO_LANE) {
        return;
    }
    struct client_lane *lane = &lanes->clients[index];
    if (event->kind == HISTORY_OP) {
        draw_operation(lanes, lane, event);
    } else if (event->kind == HISTORY_SECTION && event->f == HISTORY_ENTER) {
        lane->entered_ns = event->time_ns;
    } else if (event->kind == HISTORY_SECTION) {
        end_section(lanes, lane, event->time_ns);
    } else if (event->kind == HISTORY_NOTICE) {
        end_lease(lanes, lane, event->time_ns);
    } else if (event->kind == HISTORY_LEASE) {
        lane->until_ns = event->until_ns;
    } else if (event->f == HISTORY_CLIENT_KILLED) {
        end_section(lanes, lane, event->time_ns);
    }
}

static void draw_event(struct lanes *lanes, const struct history_event *event)
{
    if (event->kind == HISTORY_FAULT) {
        draw_fault(lanes, event);
    } else if (event->kind == HISTORY_CLIENT) {
        draw_client_event(lanes, event);
    } else if (event->kind != HISTORY_PHASE && event->resource == lanes->resource) {
        if (event->kind == HISTORY_NODE) {
            draw_node(lanes, event);
        } else {
            draw_client_event(lanes, event);
        }
    }
    if (is_evidence(lanes, event->index)) {
        int32_t height = (lanes->client_count + lanes->node_count) * LANE_HEIGHT;
        text_add(lanes->text,
                 "<line x1=\"%.2f\" y1=\"16\" x2=\"%.2f\" y2=\"%d\" stroke=\"#b00020\" "
                 "stroke-width=\"1.5\" vector-effect=\"non-scaling-stroke\"><title>evidence: event "
                 "%" PRIu64 "</title></line>\n",
                 x_of(lanes, event->time_ns), x_of(lanes, event->time_ns), height + 16,
                 event->index);
    }
}

static void draw_lines(const struct lanes *lanes)
{
    for (int32_t i = 0; i < lanes->client_count + lanes->node_count; i++) {
        text_add(lanes->text, "<line x1=\"0\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#eee\"/>\n",
                 y_of(i) - 5, PICTURE_WIDTH, y_of(i) - 5);
    }
}

/* Names of lanes, and times, which zooming moves but does not stretch. */
static void draw_words(const struct lanes *lanes)
{
    int32_t audit = lanes->history->header->client_count;
    for (int32_t i = 0; i < lanes->client_count + lanes->node_count; i++) {
        bool node = i >= lanes->client_count;
        int32_t process = node ? 0 : lanes->clients[i].process;
        text_add(lanes->text, "<text x=\"6\" y=\"%d\">", y_of(i) + 13);
        if (!node && audit > 0 && process == audit) {
            text_add(lanes->text, "auditor");
        } else if (node) {
            text_add(lanes->text, "node %" PRId32, i - lanes->client_count + 1);
        } else {
            put_client_number(lanes->text, lanes->history->header, process);
        }
        text_add(lanes->text, "</text>\n");
    }
    for (int32_t i = 0; i < TIMES_SHOWN; i++) {
        int64_t time_ns = lanes->from_ns + (lanes->to_ns - lanes->from_ns) / TIMES_SHOWN * i;
        double x = x_of(lanes, time_ns);
        text_add(lanes->text,
                 "<text class=\"time\" data-x=\"%.1f\" x=\"%.1f\" y=\"12\" fill=\"#777\">%.3f s"
                 "</text>\n",
                 x, x, (double)time_ns / NS_PER_S);
    }
}

static void say_what_is_left_out(const struct lanes *lanes)
{
    uint64_t drawn = lanes->end - lanes->begin;
    if (drawn < lanes->history->count) {
        text_add(lanes->text, "<p>Events %" PRIu64 " to %" PRIu64 " of %zu are drawn.</p>\n",
                 lanes->begin, lanes->end - 1, lanes->history->count);
    }
    if (lanes->clients_left_out > 0) {
        text_add(lanes->text,
                 "<p>More than %d clients asked: those without a lane are not drawn.</p>\n",
                 HTML_CLIENTS_MAX);
    }
}

void lanes_print(const struct explain_history *history, const struct check_result *violation,
                 struct text *text)
{
    struct lanes lanes = {.history = history, .violation = violation, .text = text};
    lanes_window(&lanes);
    lanes_cast(&lanes);
    int32_t height = y_of(lanes.client_count + lanes.node_count);
    text_add(text,
             "<div id=\"frame\"><svg id=\"picture\" width=\"%d\" height=\"%d\"><g id=\"bars\">\n",
             PICTURE_WIDTH, height);
    draw_lines(&lanes);
    for (uint64_t i = lanes.begin; i < lanes.end; i++) {
        draw_event(&lanes, &history->events[i]);
    }
    for (int32_t i = 0; i < lanes.client_count; i++) {
        end_lease(&lanes, &lanes.clients[i], lanes.to_ns);
        end_section(&lanes, &lanes.clients[i], lanes.to_ns);
    }
    for (int32_t i = 0; i < lanes.node_count; i++) {
        end_key(&lanes, i, lanes.to_ns, "");
    }
    for (uint32_t i = 0; i < BANDS_MAX; i++) {
        end_band(&lanes, i, lanes.to_ns);
    }
    text_add(text, "</g>\n");
    draw_words(&lanes);
    text_add(text, "</svg></div>\n");
    say_what_is_left_out(&lanes);
}

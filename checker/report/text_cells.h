/* text_cells.h: lanes as cells of characters: what text_lanes.c gathers and text_print.c prints. */
#ifndef CHECKER_REPORT_TEXT_CELLS_H
#define CHECKER_REPORT_TEXT_CELLS_H

#include "checker/report/text_lanes.h"
#include "checker/report/text_scale.h"

enum {
    GUTTER = 11,
    CELLS = TEXT_LANES_COLUMNS - GUTTER,
    CLIENTS_MAX = 8,
    OWNER_EVERY = 8, /* cells from one number of a key's owner to the next */
    LABEL_BYTES = 32,
};

/* What a cell may show; a later one stands over an earlier one. */
enum glyph {
    BLANK,
    PAUSED,
    WAITS,
    LEASE,
    INSIDE,
    OVERTIME,
    KEY,
    HOLLOW,
    DELETED,
    TIME_UP,
    GONE,
    WRITE,
    REFUSED,
    BAD_WRITE,
    FAULT,
    GLYPHS,
    DIGIT = 64, /* + number of a step */
    OWNER = 96, /* + last digit of a key's owner */
};

enum { TEXT_CLUSTER = HISTORY_NODES_MAX }; /* the row of keys that are the service's */

struct client_row {
    int32_t process;
    int64_t waits_ns; /* TIME_NEVER: not open, as below */
    int64_t lease_ns;
    int64_t lease_end_ns; /* of the newest, open or not */
    int64_t inside_ns;
    uint8_t cells[CELLS];
};

struct node_row {
    int64_t key_ns;
    int32_t owner;
    int64_t hollow_ns;     /* a key was lost here, ... */
    int64_t hollow_end_ns; /* ... which should have lived until then */
    uint8_t cells[CELLS];
};

struct text_lanes {
    const struct explain_history *history;
    const struct story_cause *cause;
    struct text_scale scale;
    uint32_t resource;
    int32_t client_count;
    struct client_row clients[CLIENTS_MAX];
    struct node_row nodes[TEXT_CLUSTER + 1];
    uint8_t store[CELLS];
    uint8_t faults[CELLS];
    uint32_t used; /* bit g: glyph g stands somewhere */
};

static inline bool text_in_view(const struct text_lanes *lanes, int64_t time_ns)
{
    return time_ns >= lanes->scale.from_ns && time_ns <= lanes->scale.to_ns;
}

static inline int32_t text_column(const struct text_lanes *lanes, int64_t time_ns)
{
    return text_scale_column(&lanes->scale, time_ns);
}

void text_cells_print(const struct text_lanes *lanes, enum text_style style, struct sheet *sheet);

#endif

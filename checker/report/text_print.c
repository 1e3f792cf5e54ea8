/* text_print.c: prints cells as characters. */
#include "checker/explain/explain_words.h"
#include "checker/report/text_cells.h"

#include <inttypes.h>
#include <string.h>

static const char *const glyphs[2][GLYPHS] = {
    [TEXT_ASCII] = {" ", "/", "-", ":", "#", "%", "=", ".", "'", "!", "x", "^", "o", "X", "~"},
    [TEXT_UNICODE] = {" ", "\xe2\x95\xb1", "\xe2\x94\x80", "\xe2\x96\x91", "\xe2\x96\x88",
                      "\xe2\x96\x93", "\xe2\x94\x81", "\xe2\x95\x8e", "\xe2\x95\xb5",
                      "\xe2\x94\x8a", "\xe2\x9c\x97", "\xe2\x96\xb2", "\xe2\x97\x8b",
                      "\xe2\x9c\x96", "\xe2\x89\x88"},
};

static const char *const glyph_words[GLYPHS] = {
    [PAUSED] = "paused",
    [WAITS] = "waits",
    [LEASE] = "lease",
    [INSIDE] = "inside",
    [OVERTIME] = "inside, lease over",
    [KEY] = "key of client 1",
    [HOLLOW] = "should have lived",
    [DELETED] = "deleted",
    [TIME_UP] = "time up",
    [GONE] = "key lost",
    [WRITE] = "write",
    [REFUSED] = "refused write",
    [BAD_WRITE] = "damage",
    [FAULT] = "fault",
};

/* ---- printing -------------------------------------------------------------------------------- */

void text_lanes_number(unsigned number, enum text_style style, struct sheet *sheet)
{
    if (style == TEXT_UNICODE && number <= 20) {
        sheet_add(sheet, "\xe2\x91%c", (char)(0xa0 + number - 1)); /* a number in a circle */
    } else {
        sheet_add(sheet, "%u", number);
    }
}

static void print_cells(const char *name, const uint8_t *cells, enum text_style style,
                        struct sheet *sheet)
{
    int32_t length = CELLS;
    while (length > 0 && cells[length - 1] == BLANK) {
        length--;
    }
    sheet_add(sheet, "%-*.*s", length > 0 ? GUTTER : 0, GUTTER - 1, name);
    for (int32_t i = 0; i < length; i++) {
        if (cells[i] >= OWNER) {
            sheet_add(sheet, "%u", (unsigned)(cells[i] - OWNER));
        } else if (cells[i] >= DIGIT) {
            text_lanes_number((unsigned)(cells[i] - DIGIT) + 1, style, sheet);
        } else {
            sheet_add_text(sheet, glyphs[style][cells[i]]);
        }
    }
    sheet_add_text(sheet, "\n");
}

/* One row, or as many as it takes for each number to stand over its moment. */
static void print_evidence(const struct text_lanes *lanes, enum text_style style,
                           struct sheet *sheet)
{
    uint64_t left = 0;
    const struct story_cause *cause = lanes->cause;
    for (uint8_t i = 0; cause != NULL && i < cause->step_count; i++) {
        left |= text_in_view(lanes, cause->steps[i].time_ns) ? UINT64_C(1) << i : 0;
    }
    for (bool first = true; left != 0; first = false) {
        uint8_t cells[CELLS] = {0};
        for (uint8_t i = 0; i < cause->step_count; i++) {
            int32_t at = text_column(lanes, cause->steps[i].time_ns);
            if ((left >> i & 1) != 0 && cells[at] == BLANK) {
                cells[at] = (uint8_t)(DIGIT + i);
                left &= ~(UINT64_C(1) << i);
            }
        }
        print_cells(first ? "evidence" : "", cells, style, sheet);
    }
}

static void print_legend(uint32_t used, enum text_style style, struct sheet *sheet)
{
    size_t at = 0;
    for (int glyph = PAUSED; glyph < GLYPHS; glyph++) {
        bool key = glyph == KEY;
        size_t length = strlen(glyph_words[glyph]) + (key ? 6 : 4);
        const char *sign = glyphs[style][glyph];
        if ((used >> glyph & 1) == 0) {
            continue;
        }
        if (at == 0 || at + length > CELLS) {
            sheet_add(sheet, "%s%*s", at == 0 ? "" : "\n", GUTTER, "");
            at = 0;
        }
        sheet_add(sheet, "%s%s%s%s %s", at == 0 ? "" : "  ", sign, key ? "1" : "", key ? sign : "",
                  glyph_words[glyph]);
        at += length;
    }
    sheet_add_text(sheet, "\n");
}

static void print_name(const struct text_lanes *lanes, int32_t process, struct text *name)
{
    int32_t audit = lanes->history->header->client_count;
    if (audit > 0 && process == audit) {
        text_add(name, "auditor");
    } else {
        put_client_number(name, lanes->history->header, process);
    }
}

static bool is_blank(const uint8_t cells[CELLS])
{
    for (int32_t at = 0; at < CELLS; at++) {
        if (cells[at] != BLANK) {
            return false;
        }
    }
    return true;
}

void text_cells_print(const struct text_lanes *lanes, enum text_style style, struct sheet *sheet)
{
    char memory[LABEL_BYTES];
    text_scale_print(&lanes->scale, GUTTER, style == TEXT_UNICODE, sheet);
    print_evidence(lanes, style, sheet);
    if ((lanes->used >> FAULT & 1) != 0) {
        print_cells("fault", lanes->faults, style, sheet);
    }
    if ((lanes->used & (1u << WRITE | 1u << BAD_WRITE | 1u << REFUSED)) != 0) {
        print_cells("store", lanes->store, style, sheet);
    }
    for (int32_t i = 0; i < lanes->client_count; i++) {
        struct text name = text_over(memory, sizeof memory);
        print_name(lanes, lanes->clients[i].process, &name);
        print_cells(name.data, lanes->clients[i].cells, style, sheet);
    }
    bool cluster = history_is_cluster(lanes->history->header);
    if (cluster) {
        print_cells("cluster", lanes->nodes[TEXT_CLUSTER].cells, style, sheet);
    }
    for (int32_t i = 0; i < lanes->history->header->node_count; i++) {
        struct text name = text_over(memory, sizeof memory);
        if (cluster && is_blank(lanes->nodes[i].cells)) {
            continue; /* its keys are the cluster's */
        }
        text_add(&name, "node %" PRId32, i + 1);
        print_cells(name.data, lanes->nodes[i].cells, style, sheet);
    }
    print_legend(lanes->used, style, sheet);
}

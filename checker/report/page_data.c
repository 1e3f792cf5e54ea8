/* page_data.c: what the script of a page draws: events, bars, steps. */
#include "base/assert.h"
#include "base/duration.h"
#include "checker/report/pack.h"
#include "checker/report/page.h"

#include <inttypes.h>
#include <string.h>

/* A foreign history may count from 1970: its times are then told from its first event on. */
#define BASE_FROM_NS (INT64_C(100) * 24 * 3600 * NS_PER_S)

static int64_t base_of(const struct page *page)
{
    const struct explain_history *history = page->history;
    bool far = history->count > 0 && history->events[0].time_ns > BASE_FROM_NS;
    return far ? history->events[0].time_ns : 0;
}

/* Where a moment lies in the page; no further than its script counts. */
static int64_t moment_of(const struct page *page, int64_t time_ns)
{
    int64_t limit = INT64_C(1) << 52;
    int64_t moment = time_ns - base_of(page);
    return moment > limit ? limit : moment < -limit ? -limit : moment;
}

static void print_word(struct sheet *sheet, const char *name, const char *word)
{
    sheet_add(sheet, ",\"%s\":", name);
    encode_json(sheet, word);
}

static void print_header_data(const struct page *page, struct sheet *sheet)
{
    const struct history_header *header = page->history->header;
    sheet_add(sheet,
              "\"header\":{\"ours\":%s,\"nodes\":%" PRId32 ",\"clients\":%" PRId32
              ",\"faults\":%" PRId32 ",\"ttl\":%" PRId64 ",\"fenced\":%s,\"cluster\":%s",
              header->format != 0 ? "true" : "false", header->node_count, header->client_count,
              header->fault_count, header->ttl_ns, header->fenced ? "true" : "false",
              history_is_cluster(header) ? "true" : "false");
    print_word(sheet, "unwatched", header->unwatched);
    sheet_add(sheet, "},\"base\":%" PRId64 ",\"count\":%zu", base_of(page), page->history->count);
}

static void print_resources(const struct page *page, struct sheet *sheet)
{
    uint32_t count = 1;
    for (size_t i = 0; i < page->history->count; i++) {
        const struct history_event *event = &page->history->events[i];
        bool named = event->kind == HISTORY_OP || event->kind == HISTORY_SECTION ||
                     event->kind == HISTORY_NOTICE || event->kind == HISTORY_NODE;
        count = named && event->resource >= count ? event->resource + 1 : count;
    }
    sheet_add_text(sheet, ",\"resources\":[");
    for (uint32_t i = 0; i < count; i++) {
        char memory[16];
        struct text name = text_over(memory, sizeof memory);
        text_add(&name, "r%" PRIu32, i);
        sheet_add_text(sheet, i == 0 ? "" : ",");
        encode_json(sheet,
                    page->history->resources != NULL ? page->history->resources[i] : name.data);
    }
    sheet_add_text(sheet, "]");
}

static void print_mask(struct sheet *sheet, uint64_t mask)
{
    const char *comma = "";
    sheet_add_text(sheet, "[");
    for (int i = 0; i < HISTORY_NODES_MAX; i++) {
        if ((mask >> i & 1) != 0) {
            sheet_add(sheet, "%s%d", comma, i);
            comma = ",";
        }
    }
    sheet_add_text(sheet, "]");
}

static void print_step_data(const struct page *page, const struct story_step *step,
                            struct sheet *sheet)
{
    sheet_add(sheet,
              "{\"i\":%" PRIu64 ",\"t\":%" PRId64 ",\"bad\":%d,\"store\":%d,"
              "\"p\":%" PRId32,
              step->event, moment_of(page, step->time_ns), step->violation, step->store,
              step->process);
    sheet_add_text(sheet, ",\"nodes\":");
    print_mask(sheet, step->nodes);
    print_word(sheet, "label", step->label);
    print_word(sheet, "says", step->sentence);
    sheet_add_text(sheet, "}");
}

static void print_cause_data(const struct page *page, const struct story_cause *cause,
                             struct sheet *sheet)
{
    const struct story_box *box = &cause->box;
    sheet_add(sheet, "{\"i\":%" PRIu64 ",\"t\":%" PRId64 ",\"from\":%" PRId64 ",\"to\":%" PRId64,
              cause->event, moment_of(page, cause->at_ns), moment_of(page, cause->from_ns),
              moment_of(page, cause->to_ns));
    sheet_add(sheet, ",\"resource\":%" PRIu32 ",\"involved\":[%" PRId32 ",%" PRId32 "]",
              cause->resource, cause->involved[0], cause->involved[1]);
    sheet_add(sheet,
              ",\"box\":{\"p\":[%" PRId32 ",%" PRId32 "],\"n\":%" PRId32 ",\"from\":%" PRId64
              ",\"to\":%" PRId64,
              box->process[0], box->process[1], box->node, moment_of(page, box->from_ns),
              moment_of(page, box->to_ns));
    print_word(sheet, "label", box->label);
    sheet_add_text(sheet, "}");
    print_word(sheet, "title", cause->title);
    sheet_add_text(sheet, ",\"faults\":[");
    for (uint8_t i = 0; i < cause->fault_count; i++) {
        sheet_add(sheet, "%s%d", i == 0 ? "" : ",", cause->faults[i]);
    }
    sheet_add_text(sheet, "],\"steps\":[");
    for (uint8_t i = 0; i < cause->step_count; i++) {
        sheet_add_text(sheet, i == 0 ? "" : ",");
        print_step_data(page, &cause->steps[i], sheet);
    }
    sheet_add_text(sheet, "]}");
}

static void print_meta(const struct page *page, const struct pack *pack, struct sheet *sheet)
{
    sheet_add_text(sheet, "<script type=\"application/json\" id=\"pl-meta\">{");
    print_header_data(page, sheet);
    print_resources(page, sheet);
    sheet_add_text(sheet, ",\"causes\":[");
    for (uint32_t i = 0; i < page->stories->cause_count; i++) {
        sheet_add_text(sheet, i == 0 ? "" : ",");
        print_cause_data(page, &page->stories->causes[i], sheet);
    }
    sheet_add_text(sheet, "],\"faults\":[");
    for (size_t i = 0; page->faults != NULL && i < page->fault_count; i++) {
        sheet_add_text(sheet, i == 0 ? "" : ",");
        encode_json(sheet, page->faults[i]);
    }
    sheet_add_text(sheet, "],\"shapes\":");
    pack_shapes(pack, sheet);
    sheet_add_text(sheet, "}</script>\n");
}

static void print_bytes(struct sheet *sheet, const char *id, const struct sheet *bytes)
{
    sheet_add(sheet, "<script type=\"text/plain\" id=\"%s\">", id);
    encode_pairs(sheet, bytes->data, bytes->length);
    sheet_add_text(sheet, "</script>\n");
}

void page_print_data(const struct page *page, struct sheet *sheet)
{
    struct marker *marker = marker_open(page->history->header);
    struct pack *pack = pack_open(base_of(page));
    if (marker != NULL && pack != NULL) {
        for (size_t i = 0; i < page->history->count; i++) {
            struct marks marks;
            marker_step(marker, &page->history->events[i], &marks);
            pack_event(pack, &page->history->events[i], &marks);
        }
        print_meta(page, pack, sheet);
        print_bytes(sheet, "pl-events", pack_rows(pack));
        print_bytes(sheet, "pl-values", pack_values(pack));
    }
    sheet->cut = sheet->cut || marker == NULL || pack == NULL || pack_failed(pack);
    marker_close(marker);
    pack_close(pack);
}

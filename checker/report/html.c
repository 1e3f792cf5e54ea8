/* html.c: draws a history as one HTML page with an SVG picture, its verdicts and its stories. */
#include "checker/report/html.h"

#include "base/assert.h"
#include "base/duration.h"
#include "checker/report/lanes.h"

#include <inttypes.h>

enum { STORY_BYTES_MAX = 16 * 1024 };

static const char page_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>picklock: ";

static const char page_style[] =
    "</title>\n<style>\n"
    "body{font:14px system-ui,sans-serif;margin:1.5em;color:#222;background:#fff}\n"
    "#frame{overflow-x:auto;border:1px solid #ccc}svg{display:block}text{font-size:12px}\n"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:2px 10px;text-align:left;"
    "border-bottom:1px solid #ddd}\n"
    "pre{background:#f6f6f6;padding:1em;overflow-x:auto}.fail{color:#b00020;font-weight:bold}"
    ".unknown{color:#a06000}\n"
    ".key span{display:inline-block;width:1em;height:.8em;margin:0 .3em 0 1em}\n"
    "</style></head><body>\n";

static const char page_legend[] =
    "<p class=\"key\"><span style=\"background:#a5d6a7\"></span>lease"
    "<span style=\"background:#1b5e20\"></span>section"
    "<span style=\"background:#b0bec5\"></span>waiting for an answer"
    "<span style=\"background:#90caf9\"></span>key on a node"
    "<span style=\"background:#ffe0b2\"></span>fault"
    "<span style=\"background:#b00020\"></span>violation; hold the mouse over anything</p>\n"
    "<p><label>zoom <input type=\"range\" min=\"1\" max=\"200\" value=\"1\" step=\"0.5\" "
    "oninput=\"zoom(this.value)\"></label></p>\n"
    "<script>function zoom(z){var "
    "p=document.getElementById('picture');p.setAttribute('width',1500*z);"
    "document.getElementById('bars').setAttribute('transform','scale('+z+',1)');"
    "p.querySelectorAll('.time').forEach(function(t){t.setAttribute('x',t.dataset.x*z);});}"
    "</script>\n";

/* Text from a history is shown, never obeyed. */
static void put_escaped(struct text *text, const char *words)
{
    for (const char *at = words; *at != '\0'; at++) {
        switch (*at) {
        case '<':
            text_add(text, "&lt;");
            break;
        case '>':
            text_add(text, "&gt;");
            break;
        case '&':
            text_add(text, "&amp;");
            break;
        case '"':
            text_add(text, "&quot;");
            break;
        default:
            text_add_bytes(text, at, 1);
            break;
        }
    }
}

static const struct check_result *first_violation(const struct html_page *page)
{
    for (size_t i = 0; i < page->result_count; i++) {
        if (page->results[i]->verdict == VERDICT_FAIL && page->results[i]->evidence_count > 0) {
            return page->results[i];
        }
    }
    return NULL;
}

static void put_title(const struct html_page *page, struct text *text)
{
    const struct history_header *header = page->history->header;
    text_add(text, "%s", page_head);
    put_escaped(text, header->scenario[0] != '\0' ? header->scenario : "a history");
    text_add(text, "%s<h1>", page_style);
    put_escaped(text, header->scenario[0] != '\0' ? header->scenario : "a history");
    text_add(text, "</h1>\n<p>");
    if (header->world[0] != '\0') {
        text_add(text, "world ");
        put_escaped(text, header->world);
        text_add(text, ", seed %" PRIu64 ", ", header->seed);
    }
    if (header->algorithm[0] != '\0') {
        text_add(text, "lock ");
        put_escaped(text, header->algorithm);
        text_add(text, " (");
        put_escaped(text, header->library);
        text_add(text, "), ");
    }
    text_add(text, "%zu events</p>\n", page->history->count);
}

static void put_verdicts(const struct html_page *page, struct text *text)
{
    text_add(text, "<table><tr><th>check</th><th>verdict</th><th>blame</th><th>judged</th></tr>\n");
    for (size_t i = 0; i < page->result_count; i++) {
        const struct check_result *result = page->results[i];
        const char *verdict = verdict_name((enum verdict)result->verdict);
        text_add(text,
                 "<tr><td>%s</td><td class=\"%s\">%s</td><td>%s</td><td>%" PRIu64 "</td></tr>\n",
                 check_at(i)->name, verdict, verdict,
                 result->verdict == VERDICT_FAIL ? blame_name((enum blame)result->blame) : "",
                 result->judged);
    }
    text_add(text, "</table>\n");
}

static void put_stories(const struct html_page *page, struct text *text)
{
    char memory[STORY_BYTES_MAX];
    size_t told = 0;
    for (size_t i = 0; i < page->result_count && told < HTML_STORIES_MAX; i++) {
        if (page->results[i]->verdict != VERDICT_FAIL) {
            continue;
        }
        struct text story = text_over(memory, sizeof memory);
        explain_story(page->history, check_at(i), page->results[i], &story);
        text_add(text, "<pre>");
        put_escaped(text, memory);
        text_add(text, "</pre>\n");
        told++;
    }
}

void html_print(const struct html_page *page, struct text *text)
{
    put_title(page, text);
    put_verdicts(page, text);
    text_add(text, "%s", page_legend);
    lanes_print(page->history, first_violation(page), text);
    put_stories(page, text);
    text_add(text, "</body></html>\n");
}

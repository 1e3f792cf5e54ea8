/* page.c: the words of a page: header, finding, stories, expected and found. */
#include "checker/report/page.h"

#include "base/assert.h"
#include "base/duration.h"
#include "checker/report/page_files.h"
#include "checker/report/sha256.h"

#include <inttypes.h>
#include <string.h>

enum { PAGE_SENTENCE_BYTES = 2048, SHORT_BYTES = 64 };

#define DOT " &middot; "

void page_print_head(const char *title, const struct page_file *script,
                     const struct page_file *more_style, struct buffer *buffer)
{
    uint8_t digest[SHA256_BYTES];
    buffer_text(buffer, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"
                        " base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'");
    if (script != NULL) {
        sha256(script->bytes, script->length, digest);
        buffer_text(buffer, "; script-src 'sha256-");
        buffer_base64(buffer, digest, sizeof digest);
        buffer_text(buffer, "'");
    }
    buffer_text(buffer, "\">\n<title>");
    buffer_html(buffer, title);
    buffer_text(buffer, "</title>\n<style>");
    buffer_bytes(buffer, page_style.bytes, page_style.length);
    if (more_style != NULL) {
        buffer_bytes(buffer, more_style->bytes, more_style->length);
    }
    buffer_text(buffer, "</style></head>\n<body>\n");
}

/* ---- header ---------------------------------------------------------------------------------- */

static size_t count_of(const struct page *page, enum verdict verdict)
{
    size_t count = 0;
    for (size_t i = 0; i < page->result_count; i++) {
        count += page->results[i]->verdict == verdict;
    }
    return count;
}

static bool all_met(const struct page *page)
{
    for (size_t i = 0; page->expected != NULL && i < page->result_count; i++) {
        if (!page->expected[i].met) {
            return false;
        }
    }
    return true;
}

static void print_tag(struct buffer *buffer, const char *class, const char *words)
{
    buffer_add(buffer, "<span class=\"tag %s\">%s</span> ", class, words);
}

static void print_tags(const struct page *page, struct buffer *buffer)
{
    bool failed = count_of(page, VERDICT_FAIL) > 0;
    if (failed) {
        print_tag(buffer, "fail", "violation");
    } else if (count_of(page, VERDICT_UNKNOWN) > 0) {
        print_tag(buffer, "unknown", "not all could be decided");
    } else if (count_of(page, VERDICT_PASS) == 0) {
        print_tag(buffer, "unknown", "nothing was judged");
    } else {
        print_tag(buffer, "pass", "no violation");
    }
    if (page->expected != NULL) {
        bool met = all_met(page);
        print_tag(buffer, met ? "pass" : "fail", met ? "as the scenario expects" : "not expected");
    }
}

static void print_fact(struct buffer *buffer, const char *name, const char *value)
{
    buffer_add(buffer, "%s <b>", name);
    buffer_html(buffer, value);
    buffer_text(buffer, "</b>");
}

static void print_count(struct buffer *buffer, uint64_t count, const char *noun)
{
    char memory[SHORT_BYTES];
    struct text digits = text_over(memory, sizeof memory);
    text_add(&digits, "%" PRIu64, count);
    for (size_t i = 0; i < digits.length; i++) {
        bool comma = i > 0 && (digits.length - i) % 3 == 0;
        buffer_add(buffer, "%s%c", comma ? "," : "", digits.data[i]);
    }
    buffer_add(buffer, " %s%s", noun, count == 1 ? "" : "s");
}

static void print_header(const struct page *page, struct buffer *buffer)
{
    const struct history_header *header = page->history->header;
    char memory[SHORT_BYTES];
    struct text ttl = text_over(memory, sizeof memory);
    buffer_text(buffer, "<header>");
    print_tags(page, buffer);
    buffer_text(buffer, "<b>");
    buffer_html(buffer, header->scenario[0] != '\0' ? header->scenario : "a history");
    buffer_text(buffer, "</b><span>");
    if (header->world[0] != '\0') {
        print_fact(buffer, "world", header->world);
        buffer_add(buffer, DOT "seed <b>%" PRIu64 "</b>" DOT, header->seed);
    }
    if (header->algorithm[0] != '\0') {
        print_fact(buffer, "lock", header->algorithm);
        buffer_text(buffer, header->library[0] != '\0' ? " (" : "");
        buffer_html(buffer, header->library);
        buffer_text(buffer, header->library[0] != '\0' ? ")" DOT : DOT);
    }
    if (header->node_count > 0) {
        print_count(buffer, (uint64_t)header->node_count, "node");
        buffer_text(buffer, header->server[0] != '\0' ? " (" : "");
        buffer_html(buffer, header->server);
        buffer_text(buffer, header->server[0] != '\0' ? ")" DOT : DOT);
    }
    if (header->client_count > 0) {
        print_count(buffer, (uint64_t)header->client_count, "client");
        buffer_text(buffer, DOT);
    }
    print_count(buffer, page->history->count, "event");
    if (header->ttl_ns > 0) {
        duration_print_short(header->ttl_ns, &ttl);
        buffer_text(buffer, DOT "ttl ");
        buffer_html_sentence(buffer, ttl.data);
    }
    buffer_text(buffer, "</span></header>\n");
}

/* ---- the finding ----------------------------------------------------------------------------- */

/* "No violation: 9 checks passed over 40 grants to 20 clients, under 2 faults." */
static void print_calm(const struct page *page, struct buffer *buffer)
{
    const struct history_header *header = page->history->header;
    uint64_t grants = 0;
    uint64_t faults = 0;
    for (size_t i = 0; i < page->history->count; i++) {
        const struct history_event *event = &page->history->events[i];
        bool audit = (event->flags & HISTORY_AUDIT) != 0;
        grants += event->kind == HISTORY_OP && event->f == HISTORY_ACQUIRE &&
                  event->type == HISTORY_OK && !audit;
        faults += event->kind == HISTORY_FAULT && event->f == HISTORY_FAULT_START;
    }
    buffer_text(buffer, count_of(page, VERDICT_UNKNOWN) > 0 ? "No violation was found: "
                                                            : "No violation: ");
    print_count(buffer, count_of(page, VERDICT_PASS), "check");
    buffer_text(buffer, " passed over ");
    print_count(buffer, grants, "grant");
    if (header->client_count > 0) {
        buffer_text(buffer, " to ");
        print_count(buffer, (uint64_t)header->client_count, "client");
    }
    buffer_text(buffer, faults > 0 ? ", under " : ", without faults");
    if (faults > 0) {
        print_count(buffer, faults, "fault");
    }
    buffer_text(buffer, ".");
}

/* What a check found, without its name in front. */
static void print_why(const struct page *page, size_t check, struct buffer *buffer)
{
    char memory[PAGE_SENTENCE_BYTES];
    struct text why = text_over(memory, sizeof memory);
    const char *words = memory;
    explain_headline(page->history, check_at(check), page->results[check], &why);
    size_t name = strlen(check_at(check)->name);
    if (strncmp(words, check_at(check)->name, name) == 0 && words[name] == ':') {
        words += name + 1;
        words += strspn(words, " ");
    }
    buffer_html_sentence(buffer, words);
}

static void print_title(const struct page *page, struct buffer *buffer)
{
    buffer_text(buffer, "<h1>");
    if (page->stories->cause_count > 0) {
        buffer_html_sentence(buffer, page->stories->causes[0].title);
    } else if (count_of(page, VERDICT_FAIL) > 0) {
        for (size_t i = 0; i < page->result_count; i++) {
            if (page->results[i]->verdict == VERDICT_FAIL) {
                print_why(page, i, buffer);
                break;
            }
        }
    } else {
        print_calm(page, buffer);
    }
    buffer_text(buffer, "</h1>\n");
}

static void print_blame(const struct story_cause *cause, struct buffer *buffer)
{
    char memory[PAGE_SENTENCE_BYTES];
    struct text why = text_over(memory, sizeof memory);
    story_blame_why(cause, &why);
    buffer_text(buffer, "<p>");
    print_tag(buffer, cause->blame == BLAME_LIBRARY ? "fail" : "unknown", story_blame_words(cause));
    buffer_html_sentence(buffer, why.data);
    buffer_text(buffer, "</p>");
    if (cause->advice[0] != '\0') {
        buffer_text(buffer, "<p><b>What to do:</b> ");
        buffer_html_sentence(buffer, cause->advice);
        buffer_text(buffer, "</p>");
    }
    buffer_text(buffer, "\n");
}

static void print_finding(const struct page *page, struct buffer *buffer)
{
    const struct stories *stories = page->stories;
    print_title(page, buffer);
    buffer_text(buffer, "<div class=\"verdict\">\n");
    if (stories->cause_count > 0) {
        print_blame(&stories->causes[0], buffer);
    }
    for (uint32_t i = 1; i < stories->cause_count; i++) {
        buffer_add(buffer,
                   "<p class=\"more\"><button data-cause=\"%" PRIu32 "\">cause %" PRIu32
                   "</button> ",
                   i, i + 1);
        buffer_html_sentence(buffer, stories->causes[i].title);
        buffer_text(buffer, "</p>\n");
    }
    buffer_text(buffer, "</div>\n");
    if (page->rerun != NULL) {
        buffer_text(buffer, "<div class=\"cmd\"><code id=\"cmd\">");
        buffer_html(buffer, page->rerun);
        buffer_text(buffer, "</code><button id=\"b-copy\" class=\"noprint\">copy</button></div>\n");
    }
}

/* ---- stories --------------------------------------------------------------------------------- */

static void print_step(const struct page *page, const struct story_cause *cause, uint8_t number,
                       struct buffer *buffer)
{
    const struct story_step *step = &cause->steps[number];
    bool ours = page->history->header->format != 0;
    char memory[SHORT_BYTES];
    struct text text = text_over(memory, sizeof memory);
    buffer_add(buffer, "<li><button data-step=\"%u\"><span class=\"n%s\">%u</span><span>", number,
               step->violation ? " v" : "", number + 1u);
    buffer_html_sentence(buffer, step->sentence);
    buffer_text(buffer, "</span><small>");
    moment_print(step->time_ns, &text);
    buffer_html_sentence(buffer, text.data);
    buffer_add(buffer, DOT "%s %" PRIu64, ours ? "line" : "event", step->event + (ours ? 2 : 0));
    if (step->time_ns != cause->at_ns) {
        bool before = step->time_ns < cause->at_ns;
        text_clear(&text);
        duration_print_short(before ? cause->at_ns - step->time_ns : step->time_ns - cause->at_ns,
                             &text);
        buffer_text(buffer, DOT);
        buffer_html_sentence(buffer, text.data);
        buffer_text(buffer, before ? " before" : " after");
    }
    buffer_text(buffer, "</small></button></li>\n");
}

static void print_cause(const struct page *page, uint32_t number, struct buffer *buffer)
{
    const struct story_cause *cause = &page->stories->causes[number];
    bool several = page->stories->cause_count > 1;
    int broken = __builtin_popcountll(cause->checks);
    buffer_add(buffer, "<details class=\"cause\" data-cause=\"%" PRIu32 "\"%s><summary>", number,
               number == 0 ? " open" : "");
    if (several) {
        buffer_add(buffer, "Cause %" PRIu32 " of %" PRIu32, number + 1, page->stories->cause_count);
    } else {
        buffer_text(buffer, "The story");
    }
    buffer_text(buffer, "</summary>\n");
    if (several && number > 0) {
        buffer_text(buffer, "<p class=\"title\">");
        buffer_html_sentence(buffer, cause->title);
        buffer_text(buffer, "</p>");
        print_blame(cause, buffer);
    }
    buffer_text(buffer, "<ol class=\"steps\">\n");
    for (uint8_t i = 0; i < cause->step_count; i++) {
        print_step(page, cause, i, buffer);
    }
    buffer_add(buffer, "</ol>\n<h2>%s broke %d check%s</h2>\n<dl class=\"broke\">",
               several ? "It" : "One cause", broken, broken == 1 ? "" : "s");
    for (size_t i = 0; i < page->result_count; i++) {
        if ((cause->checks >> i & 1) != 0) {
            buffer_add(buffer, "<dt>%s</dt><dd>", check_at(i)->name);
            print_why(page, i, buffer);
            buffer_text(buffer, "</dd>");
        }
    }
    buffer_text(buffer, "</dl></details>\n");
}

static void print_stories(const struct page *page, struct buffer *buffer)
{
    if (page->stories->cause_count > 0) {
        buffer_text(buffer, "<aside>\n");
        for (uint32_t i = 0; i < page->stories->cause_count; i++) {
            print_cause(page, i, buffer);
        }
        buffer_text(buffer, "</aside>");
    }
}

/* ---- expected and found ---------------------------------------------------------------------- */

static void print_expected(const struct page *page, size_t i, struct buffer *buffer)
{
    if (page->expected == NULL) {
        return;
    }
    const struct page_expectation *expected = &page->expected[i];
    buffer_text(buffer, "<td>");
    buffer_html(buffer, expected->verdict[0] != '\0' ? expected->verdict : "must not fail");
    buffer_text(buffer, expected->blame[0] != '\0' ? ", " : "");
    buffer_html(buffer, expected->blame);
    buffer_text(buffer, "</td>");
}

/* A name that may be broken behind its underscores. */
static void print_check(const char *name, struct buffer *buffer)
{
    for (const char *at = name; *at != '\0'; at++) {
        buffer_bytes(buffer, at, 1);
        buffer_text(buffer, *at == '_' ? "<wbr>" : "");
    }
}

static void print_row(const struct page *page, size_t i, struct buffer *buffer)
{
    const struct check_result *result = page->results[i];
    const char *verdict = verdict_name((enum verdict)result->verdict);
    char memory[PAGE_SENTENCE_BYTES];
    struct text why = text_over(memory, sizeof memory);
    buffer_text(buffer, "<tr><th scope=\"row\">");
    print_check(check_at(i)->name, buffer);
    buffer_text(buffer, "</th>");
    print_expected(page, i, buffer);
    buffer_text(buffer, "<td>");
    print_tag(buffer, verdict, verdict);
    if (result->verdict == VERDICT_FAIL) {
        buffer_text(buffer, blame_name((enum blame)result->blame));
    } else if (result->verdict == VERDICT_SKIPPED) {
        check_print_skipped(check_at(i), result->inapplicable, &why);
        buffer_html(buffer, why.data);
    } else if (result->verdict == VERDICT_UNKNOWN) {
        print_why(page, i, buffer);
    }
    buffer_text(buffer, "</td>");
    if (page->expected != NULL) {
        buffer_text(buffer, page->expected[i].met ? "<td>&#10003;</td>"
                                                  : "<td class=\"differs\">&#10007; differs</td>");
    }
    buffer_add(buffer, "<td class=\"number\">%" PRIu64 "</td></tr>\n", result->judged);
}

/* What stands out, and else what passed as it should. */
static bool stands_out(const struct page *page, size_t i)
{
    uint8_t verdict = page->results[i]->verdict;
    return verdict == VERDICT_FAIL || verdict == VERDICT_UNKNOWN ||
           (page->expected != NULL && !page->expected[i].met);
}

static void print_rows(const struct page *page, bool outstanding, struct buffer *buffer)
{
    buffer_add(buffer,
               "<table><tr><th>check</th>%s<th>found</th>%s<th class=\"number\">judged</th>"
               "</tr>\n",
               page->expected != NULL ? "<th>expected</th>" : "",
               page->expected != NULL ? "<th></th>" : "");
    for (size_t i = 0; i < page->result_count; i++) {
        if (stands_out(page, i) == outstanding) {
            print_row(page, i, buffer);
        }
    }
    buffer_text(buffer, "</table>");
}

static void print_table(const struct page *page, struct buffer *buffer)
{
    size_t out = 0;
    for (size_t i = 0; i < page->result_count; i++) {
        out += stands_out(page, i);
    }
    size_t rest = page->result_count - out;
    buffer_add(buffer, "<section><h2>%s</h2>\n",
               page->expected != NULL ? "Expected and found" : "What was found");
    if (out > 0) {
        print_rows(page, true, buffer);
    }
    if (rest > 0) {
        buffer_add(buffer, "<details%s><summary>%zu %scheck%s passed or %s skipped</summary>",
                   out == 0 ? " open" : "", rest, out > 0 ? "more " : "", rest == 1 ? "" : "s",
                   rest == 1 ? "was" : "were");
        print_rows(page, false, buffer);
        buffer_text(buffer, "</details>");
    }
    buffer_text(buffer, "</section>\n");
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void print_picture(const struct page *page, struct buffer *buffer)
{
    bool found = page->stories->cause_count > 0;
    buffer_add(buffer, "<div class=\"grid%s\"><div class=\"pic\">\n", found ? "" : " one");
    buffer_bytes(buffer, page_toolbar.bytes, page_toolbar.length);
    buffer_text(buffer, "</div>\n");
    print_stories(page, buffer);
    buffer_text(buffer, "</div>\n<div class=\"two\">\n");
    print_table(page, buffer);
    buffer_bytes(buffer, page_below.bytes, page_below.length);
    buffer_text(buffer, "</div>\n<div id=\"tip\"></div>\n</main>\n");
}

void page_print(const struct page *page, struct buffer *buffer)
{
    const struct history_header *header = page->history->header;
    char memory[PAGE_SENTENCE_BYTES];
    struct text title = text_over(memory, sizeof memory);
    text_add(&title, "%s: %s", count_of(page, VERDICT_FAIL) > 0 ? "FAIL" : "pass",
             header->scenario[0] != '\0' ? header->scenario : "a history");
    if (header->world[0] != '\0') {
        text_add(&title, " (%s, seed %" PRIu64 ")", header->world, header->seed);
    }
    text_add(&title, " - picklock");
    page_print_head(title.data, &page_script, NULL, buffer);
    print_header(page, buffer);
    buffer_text(buffer, "<main>\n");
    print_finding(page, buffer);
    print_picture(page, buffer);
    page_print_data(page, buffer);
    buffer_text(buffer, "<script>");
    buffer_bytes(buffer, page_script.bytes, page_script.length);
    buffer_text(buffer, "</script>\n</body></html>\n");
}

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
                     const struct page_file *more_style, struct sheet *sheet)
{
    uint8_t digest[SHA256_BYTES];
    sheet_add_text(sheet,
                   "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"
                   " base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'");
    if (script != NULL) {
        sha256(script->bytes, script->length, digest);
        sheet_add_text(sheet, "; script-src 'sha256-");
        encode_base64(sheet, digest, sizeof digest);
        sheet_add_text(sheet, "'");
    }
    sheet_add_text(sheet, "\">\n<title>");
    encode_html(sheet, title);
    sheet_add_text(sheet, "</title>\n<style>");
    sheet_add_bytes(sheet, page_style.bytes, page_style.length);
    if (more_style != NULL) {
        sheet_add_bytes(sheet, more_style->bytes, more_style->length);
    }
    sheet_add_text(sheet, "</style></head>\n<body>\n");
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

static void print_tag(struct sheet *sheet, const char *class, const char *words)
{
    sheet_add(sheet, "<span class=\"tag %s\">%s</span> ", class, words);
}

static void print_tags(const struct page *page, struct sheet *sheet)
{
    bool failed = count_of(page, VERDICT_FAIL) > 0;
    if (failed) {
        print_tag(sheet, "fail", "violation");
    } else if (count_of(page, VERDICT_UNKNOWN) > 0) {
        print_tag(sheet, "unknown", "not all could be decided");
    } else if (count_of(page, VERDICT_PASS) == 0) {
        print_tag(sheet, "unknown", "nothing was judged");
    } else {
        print_tag(sheet, "pass", "no violation");
    }
    if (page->expected != NULL) {
        bool met = all_met(page);
        print_tag(sheet, met ? "pass" : "fail", met ? "as the scenario expects" : "not expected");
    }
}

static void print_fact(struct sheet *sheet, const char *name, const char *value)
{
    sheet_add(sheet, "%s <b>", name);
    encode_html(sheet, value);
    sheet_add_text(sheet, "</b>");
}

static void print_count(struct sheet *sheet, uint64_t count, const char *noun)
{
    char memory[SHORT_BYTES];
    struct text digits = text_over(memory, sizeof memory);
    text_add(&digits, "%" PRIu64, count);
    for (size_t i = 0; i < digits.length; i++) {
        bool comma = i > 0 && (digits.length - i) % 3 == 0;
        sheet_add(sheet, "%s%c", comma ? "," : "", digits.data[i]);
    }
    sheet_add(sheet, " %s%s", noun, count == 1 ? "" : "s");
}

static void print_header(const struct page *page, struct sheet *sheet)
{
    const struct history_header *header = page->history->header;
    char memory[SHORT_BYTES];
    struct text ttl = text_over(memory, sizeof memory);
    sheet_add_text(sheet, "<header>");
    print_tags(page, sheet);
    sheet_add_text(sheet, "<b>");
    encode_html(sheet, header->scenario[0] != '\0' ? header->scenario : "a history");
    sheet_add_text(sheet, "</b><span>");
    if (header->world[0] != '\0') {
        print_fact(sheet, "world", header->world);
        sheet_add(sheet, DOT "seed <b>%" PRIu64 "</b>" DOT, header->seed);
    }
    if (header->algorithm[0] != '\0') {
        print_fact(sheet, "lock", header->algorithm);
        sheet_add_text(sheet, header->library[0] != '\0' ? " (" : "");
        encode_html(sheet, header->library);
        sheet_add_text(sheet, header->library[0] != '\0' ? ")" DOT : DOT);
    }
    if (header->node_count > 0) {
        print_count(sheet, (uint64_t)header->node_count, "node");
        sheet_add_text(sheet, header->server[0] != '\0' ? " (" : "");
        encode_html(sheet, header->server);
        sheet_add_text(sheet, header->server[0] != '\0' ? ")" DOT : DOT);
    }
    if (header->client_count > 0) {
        print_count(sheet, (uint64_t)header->client_count, "client");
        sheet_add_text(sheet, DOT);
    }
    print_count(sheet, page->history->count, "event");
    if (header->ttl_ns > 0) {
        duration_print_short(header->ttl_ns, &ttl);
        sheet_add_text(sheet, DOT "ttl ");
        encode_html_sentence(sheet, ttl.data);
    }
    sheet_add_text(sheet, "</span></header>\n");
}

/* ---- the finding ----------------------------------------------------------------------------- */

/* "No violation: 9 checks passed over 40 grants to 20 clients, under 2 faults." */
static void print_calm(const struct page *page, struct sheet *sheet)
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
    sheet_add_text(sheet, count_of(page, VERDICT_UNKNOWN) > 0 ? "No violation was found: "
                                                              : "No violation: ");
    print_count(sheet, count_of(page, VERDICT_PASS), "check");
    sheet_add_text(sheet, " passed over ");
    print_count(sheet, grants, "grant");
    if (header->client_count > 0) {
        sheet_add_text(sheet, " to ");
        print_count(sheet, (uint64_t)header->client_count, "client");
    }
    sheet_add_text(sheet, faults > 0 ? ", under " : ", without faults");
    if (faults > 0) {
        print_count(sheet, faults, "fault");
    }
    sheet_add_text(sheet, ".");
}

/* What a check found, without its name in front. */
static void print_why(const struct page *page, size_t check, struct sheet *sheet)
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
    encode_html_sentence(sheet, words);
}

static void print_title(const struct page *page, struct sheet *sheet)
{
    sheet_add_text(sheet, "<h1>");
    if (page->stories->cause_count > 0) {
        encode_html_sentence(sheet, page->stories->causes[0].title);
    } else if (count_of(page, VERDICT_FAIL) > 0) {
        for (size_t i = 0; i < page->result_count; i++) {
            if (page->results[i]->verdict == VERDICT_FAIL) {
                print_why(page, i, sheet);
                break;
            }
        }
    } else {
        print_calm(page, sheet);
    }
    sheet_add_text(sheet, "</h1>\n");
}

static void print_blame(const struct story_cause *cause, const struct history_header *header,
                        struct sheet *sheet)
{
    char memory[PAGE_SENTENCE_BYTES];
    struct text why = text_over(memory, sizeof memory);
    story_blame_why(cause, header, &why);
    sheet_add_text(sheet, "<p>");
    print_tag(sheet, cause->blame == BLAME_LIBRARY ? "fail" : "unknown", story_blame_words(cause));
    encode_html_sentence(sheet, why.data);
    sheet_add_text(sheet, "</p>");
    if (cause->advice[0] != '\0') {
        sheet_add_text(sheet, "<p><b>What to do:</b> ");
        encode_html_sentence(sheet, cause->advice);
        sheet_add_text(sheet, "</p>");
    }
    sheet_add_text(sheet, "\n");
}

static void print_finding(const struct page *page, struct sheet *sheet)
{
    const struct stories *stories = page->stories;
    print_title(page, sheet);
    sheet_add_text(sheet, "<div class=\"verdict\">\n");
    if (stories->cause_count > 0) {
        print_blame(&stories->causes[0], page->history->header, sheet);
    }
    for (uint32_t i = 1; i < stories->cause_count; i++) {
        sheet_add(sheet,
                  "<p class=\"more\"><button data-cause=\"%" PRIu32 "\">cause %" PRIu32
                  "</button> ",
                  i, i + 1);
        encode_html_sentence(sheet, stories->causes[i].title);
        sheet_add_text(sheet, "</p>\n");
    }
    sheet_add_text(sheet, "</div>\n");
    if (page->rerun != NULL) {
        sheet_add_text(sheet, "<div class=\"cmd\"><code id=\"cmd\">");
        encode_html(sheet, page->rerun);
        sheet_add_text(sheet,
                       "</code><button id=\"b-copy\" class=\"noprint\">copy</button></div>\n");
    }
}

/* ---- stories --------------------------------------------------------------------------------- */

static void print_step(const struct page *page, const struct story_cause *cause, uint8_t number,
                       struct sheet *sheet)
{
    const struct story_step *step = &cause->steps[number];
    bool ours = page->history->header->format != 0;
    char memory[SHORT_BYTES];
    struct text text = text_over(memory, sizeof memory);
    sheet_add(sheet, "<li><button data-step=\"%u\"><span class=\"n%s\">%u</span><span>", number,
              step->violation ? " v" : "", number + 1u);
    encode_html_sentence(sheet, step->sentence);
    sheet_add_text(sheet, "</span><small>");
    moment_print(step->time_ns, &text);
    encode_html_sentence(sheet, text.data);
    sheet_add(sheet, DOT "%s %" PRIu64, ours ? "line" : "event", step->event + (ours ? 2 : 0));
    if (step->time_ns != cause->at_ns) {
        bool before = step->time_ns < cause->at_ns;
        text_clear(&text);
        duration_print_short(before ? cause->at_ns - step->time_ns : step->time_ns - cause->at_ns,
                             &text);
        sheet_add_text(sheet, DOT);
        encode_html_sentence(sheet, text.data);
        sheet_add_text(sheet, before ? " before" : " after");
    }
    sheet_add_text(sheet, "</small></button></li>\n");
}

static void print_cause(const struct page *page, uint32_t number, struct sheet *sheet)
{
    const struct story_cause *cause = &page->stories->causes[number];
    bool several = page->stories->cause_count > 1;
    int broken = __builtin_popcountll(cause->checks);
    sheet_add(sheet, "<details class=\"cause\" data-cause=\"%" PRIu32 "\"%s><summary>", number,
              number == 0 ? " open" : "");
    if (several) {
        sheet_add(sheet, "Cause %" PRIu32 " of %" PRIu32, number + 1, page->stories->cause_count);
    } else {
        sheet_add_text(sheet, "The story");
    }
    sheet_add_text(sheet, "</summary>\n");
    if (several && number > 0) {
        sheet_add_text(sheet, "<p class=\"title\">");
        encode_html_sentence(sheet, cause->title);
        sheet_add_text(sheet, "</p>");
        print_blame(cause, page->history->header, sheet);
    }
    sheet_add_text(sheet, "<ol class=\"steps\">\n");
    for (uint8_t i = 0; i < cause->step_count; i++) {
        print_step(page, cause, i, sheet);
    }
    sheet_add(sheet, "</ol>\n<h2>%s broke %d check%s</h2>\n<dl class=\"broke\">",
              several ? "It" : "One cause", broken, broken == 1 ? "" : "s");
    for (size_t i = 0; i < page->result_count; i++) {
        if ((cause->checks >> i & 1) != 0) {
            sheet_add(sheet, "<dt>%s</dt><dd>", check_at(i)->name);
            print_why(page, i, sheet);
            sheet_add_text(sheet, "</dd>");
        }
    }
    sheet_add_text(sheet, "</dl></details>\n");
}

static void print_stories(const struct page *page, struct sheet *sheet)
{
    if (page->stories->cause_count > 0) {
        sheet_add_text(sheet, "<aside>\n");
        for (uint32_t i = 0; i < page->stories->cause_count; i++) {
            print_cause(page, i, sheet);
        }
        sheet_add_text(sheet, "</aside>");
    }
}

/* ---- expected and found ---------------------------------------------------------------------- */

static void print_expected(const struct page *page, size_t i, struct sheet *sheet)
{
    if (page->expected == NULL) {
        return;
    }
    const struct page_expectation *expected = &page->expected[i];
    sheet_add_text(sheet, "<td>");
    encode_html(sheet, expected->verdict[0] != '\0' ? expected->verdict : "must not fail");
    sheet_add_text(sheet, expected->blame[0] != '\0' ? ", " : "");
    encode_html(sheet, expected->blame);
    sheet_add_text(sheet, "</td>");
}

/* A name that may be broken behind its underscores. */
static void print_check(const char *name, struct sheet *sheet)
{
    for (const char *at = name; *at != '\0'; at++) {
        sheet_add_bytes(sheet, at, 1);
        sheet_add_text(sheet, *at == '_' ? "<wbr>" : "");
    }
}

static void print_row(const struct page *page, size_t i, struct sheet *sheet)
{
    const struct check_result *result = page->results[i];
    const char *verdict = verdict_name((enum verdict)result->verdict);
    char memory[PAGE_SENTENCE_BYTES];
    struct text why = text_over(memory, sizeof memory);
    sheet_add_text(sheet, "<tr><th scope=\"row\">");
    print_check(check_at(i)->name, sheet);
    sheet_add_text(sheet, "</th>");
    print_expected(page, i, sheet);
    sheet_add_text(sheet, "<td>");
    print_tag(sheet, verdict, verdict);
    if (result->verdict == VERDICT_FAIL) {
        sheet_add_text(sheet, blame_name((enum blame)result->blame));
    } else if (result->verdict == VERDICT_SKIPPED) {
        check_print_skipped(check_at(i), result->inapplicable, &why);
        encode_html(sheet, why.data);
    } else if (result->verdict == VERDICT_UNKNOWN) {
        print_why(page, i, sheet);
    }
    sheet_add_text(sheet, "</td>");
    if (page->expected != NULL) {
        sheet_add_text(sheet, page->expected[i].met
                                  ? "<td>&#10003;</td>"
                                  : "<td class=\"differs\">&#10007; differs</td>");
    }
    sheet_add(sheet, "<td class=\"number\">%" PRIu64 "</td></tr>\n", result->judged);
}

/* What stands out, and else what passed as it should. */
static bool stands_out(const struct page *page, size_t i)
{
    uint8_t verdict = page->results[i]->verdict;
    return verdict == VERDICT_FAIL || verdict == VERDICT_UNKNOWN ||
           (page->expected != NULL && !page->expected[i].met);
}

static void print_rows(const struct page *page, bool outstanding, struct sheet *sheet)
{
    sheet_add(sheet,
              "<table><tr><th>check</th>%s<th>found</th>%s<th class=\"number\">judged</th>"
              "</tr>\n",
              page->expected != NULL ? "<th>expected</th>" : "",
              page->expected != NULL ? "<th></th>" : "");
    for (size_t i = 0; i < page->result_count; i++) {
        if (stands_out(page, i) == outstanding) {
            print_row(page, i, sheet);
        }
    }
    sheet_add_text(sheet, "</table>");
}

static void print_table(const struct page *page, struct sheet *sheet)
{
    size_t out = 0;
    for (size_t i = 0; i < page->result_count; i++) {
        out += stands_out(page, i);
    }
    size_t rest = page->result_count - out;
    sheet_add(sheet, "<section><h2>%s</h2>\n",
              page->expected != NULL ? "Expected and found" : "What was found");
    if (out > 0) {
        print_rows(page, true, sheet);
    }
    if (rest > 0) {
        sheet_add(sheet, "<details%s><summary>%zu %scheck%s passed or %s skipped</summary>",
                  out == 0 ? " open" : "", rest, out > 0 ? "more " : "", rest == 1 ? "" : "s",
                  rest == 1 ? "was" : "were");
        print_rows(page, false, sheet);
        sheet_add_text(sheet, "</details>");
    }
    sheet_add_text(sheet, "</section>\n");
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void print_picture(const struct page *page, struct sheet *sheet)
{
    bool found = page->stories->cause_count > 0;
    sheet_add(sheet, "<div class=\"grid%s\"><div class=\"pic\">\n", found ? "" : " one");
    sheet_add_bytes(sheet, page_toolbar.bytes, page_toolbar.length);
    sheet_add_text(sheet, "</div>\n");
    print_stories(page, sheet);
    sheet_add_text(sheet, "</div>\n<div class=\"two\">\n");
    print_table(page, sheet);
    sheet_add_bytes(sheet, page_below.bytes, page_below.length);
    sheet_add_text(sheet, "</div>\n<div id=\"tip\"></div>\n</main>\n");
}

void page_print(const struct page *page, struct sheet *sheet)
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
    page_print_head(title.data, &page_script, NULL, sheet);
    print_header(page, sheet);
    sheet_add_text(sheet, "<main>\n");
    print_finding(page, sheet);
    print_picture(page, sheet);
    page_print_data(page, sheet);
    sheet_add_text(sheet, "<script>");
    sheet_add_bytes(sheet, page_script.bytes, page_script.length);
    sheet_add_text(sheet, "</script>\n</body></html>\n");
}

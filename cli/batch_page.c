/* batch_page.c: draws the page of a batch. */
#include "cli/batch_page.h"

#include "base/assert.h"
#include "base/foreign.h"
#include "checker/report/page.h"
#include "checker/report/page_files.h"
#include "cli/files.h"
#include "cli/results.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR_WIDTH = 118, BOX_COLUMNS = 20, BOX_WIDTH = 8, BOX_HEIGHT = 13, SPARK_HEIGHT = 16 };

/* What a row is filed under, in this order. */
enum section { DIFFERS, OPEN, ALWAYS, NEVER, SECTIONS };

void wilson_interval(uint64_t k, uint64_t n, double interval[2])
{
    static const double z = 1.959964;
    interval[0] = 0;
    interval[1] = 1;
    if (n == 0) {
        return;
    }
    double count = (double)n;
    double rate = (double)k / count;
    double scale = 1 + z * z / count;
    double middle = rate + z * z / (2 * count);
    double half = z * sqrt(rate * (1 - rate) / count + z * z / (4 * count * count));
    interval[0] = k == 0 ? 0 : (middle - half) / scale;
    interval[1] = k == n ? 1 : (middle + half) / scale;
}

static void print_count(struct sheet *sheet, uint64_t count, const char *noun)
{
    sheet_add(sheet, "%" PRIu64 " %s%s", count, noun, count == 1 ? "" : "s");
}

/* A path as an address: what is no letter, digit or mark of a path is spelled out. */
static void print_address(struct sheet *sheet, const char *path)
{
    for (const char *at = path; *at != '\0'; at++) {
        bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                     (*at >= '0' && *at <= '9') || strchr("-_./", *at) != NULL;
        if (plain) {
            sheet_add_bytes(sheet, at, 1);
        } else {
            sheet_add(sheet, "%%%02X", (unsigned)(unsigned char)*at);
        }
    }
}

static void print_link(struct sheet *sheet, const char *link, const char *words)
{
    if (link[0] != '\0') {
        sheet_add_text(sheet, "<a href=\"");
        print_address(sheet, link);
        sheet_add_text(sheet, "/report.html\">");
    }
    encode_html(sheet, words);
    sheet_add_text(sheet, link[0] != '\0' ? "</a>" : "");
}

/* ---- causes ---------------------------------------------------------------------------------- */

static void print_also(const struct tally_cause *cause, struct sheet *sheet)
{
    const char *before = "also broken: ";
    for (size_t i = 0; i < check_count(); i++) {
        if (cause->checks[i] > 0 && i != cause->lead) {
            sheet_add(sheet, "%s%s", before, check_at(i)->name);
            if (cause->checks[i] != cause->runs) {
                sheet_add(sheet, " %" PRIu64, cause->checks[i]);
            }
            before = ", ";
        }
    }
    sheet_add_text(sheet, strcmp(before, ", ") == 0 ? "<br>" : "");
}

static void print_places(const struct tally_cause *cause, struct sheet *sheet)
{
    uint64_t told = 0;
    for (uint32_t i = 0; i < cause->place_count; i++) {
        const struct tally_place *place = &cause->places[i];
        sheet_add_text(sheet, i == 0 ? "in " : ", ");
        encode_html(sheet, place->group->scenario->name);
        sheet_add(sheet, " (%s) %" PRIu64, place->group->world, place->runs);
        told += place->runs;
    }
    if (told < cause->runs) {
        sheet_add(sheet, " and %" PRIu64 " elsewhere", cause->runs - told);
    }
    sheet_add(sheet, "; first: seed %" PRIu64, cause->seed);
}

static void print_cause(const struct tally_cause *cause, struct sheet *sheet)
{
    const char *blame = blame_name((enum blame)cause->blame);
    bool named = cause->lead < check_count();
    sheet_add(sheet, "<article%s><h3>", cause->differs > 0 ? " class=\"differs\"" : "");
    sheet_add(sheet, "<span class=\"tag %s\">%s</span> %s ",
              cause->blame == BLAME_LIBRARY || !named ? "fail" : "unknown",
              named ? blame : "not as expected", named ? check_at(cause->lead)->name : "");
    sheet_add_text(sheet, "<span class=\"quiet\">");
    print_count(sheet, cause->runs, "run");
    if (cause->differs > 0 && cause->differs < cause->runs) {
        sheet_add(sheet, ", %" PRIu64 " not as expected", cause->differs);
    }
    sheet_add_text(sheet, "</span></h3>\n<p>");
    encode_html_sentence(sheet, cause->title);
    sheet_add_text(sheet, "</p>");
    if (cause->advice[0] != '\0') {
        sheet_add_text(sheet, "<p><b>What to do:</b> ");
        encode_html_sentence(sheet, cause->advice);
        sheet_add_text(sheet, "</p>");
    }
    sheet_add_text(sheet, "<p class=\"quiet\">");
    print_also(cause, sheet);
    print_places(cause, sheet);
    if (cause->link[0] != '\0') {
        sheet_add_text(sheet, "; ");
        print_link(sheet, cause->link, "its page");
    }
    sheet_add_text(sheet, "</p>\n<div class=\"cmd\"><code>");
    encode_html(sheet, cause->rerun);
    sheet_add_text(sheet, "</code></div></article>\n");
}

/* Those with the most runs first. */
static void print_causes(const struct tally *tally, bool differing, struct sheet *sheet)
{
    bool told[TALLY_CAUSES] = {false};
    for (uint32_t turn = 0; turn < tally->cause_count; turn++) {
        const struct tally_cause *best = NULL;
        for (uint32_t i = 0; i < tally->cause_count; i++) {
            const struct tally_cause *cause = &tally->causes[i];
            bool fits = !told[i] && (cause->differs > 0) == differing;
            if (fits && (best == NULL || cause->runs > best->runs)) {
                best = cause;
            }
        }
        if (best == NULL) {
            return;
        }
        told[best - tally->causes] = true;
        print_cause(best, sheet);
    }
}

static size_t count_causes(const struct tally *tally, bool differing)
{
    size_t count = 0;
    for (uint32_t i = 0; i < tally->cause_count; i++) {
        count += (tally->causes[i].differs > 0) == differing;
    }
    return count;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* "violation", "open" or "no violation". */
static const char *expected_of(const struct scenario *scenario, const char **blame)
{
    const char *found = "no violation";
    *blame = "";
    for (size_t i = 0; i < scenario->expect_count; i++) {
        const struct expectation *expect = &scenario->expects[i];
        if (strcmp(expect->verdict, "fail") == 0) {
            *blame = expect->blame[0] != '\0' ? expect->blame : *blame;
            found = "violation";
        } else if (strcmp(expect->verdict, "any") == 0 && strcmp(found, "violation") != 0) {
            found = "open";
        }
    }
    return found;
}

static enum section section_of(const struct tally_row *row)
{
    const struct report_group *group = row->group;
    if (group->unmet > 0 || group->errors > 0) {
        return DIFFERS;
    }
    if (group->violated == 0) {
        return NEVER;
    }
    return group->violated == group->runs ? ALWAYS : OPEN;
}

static void print_bar(const struct tally_row *row, const char *expected, struct sheet *sheet)
{
    double interval[2];
    const struct report_group *group = row->group;
    wilson_interval(group->violated, group->runs, interval);
    double rate = group->runs > 0 ? (double)group->violated / (double)group->runs : 0;
    double low = 4 + interval[0] * BAR_WIDTH;
    double high = 4 + interval[1] * BAR_WIDTH;
    const char *ink = group->unmet + group->errors > 0 ? "var(--fail)" : "var(--ink)";
    sheet_add(sheet,
              "<td><svg width=\"%d\" height=\"16\" role=\"img\" aria-label=\"%.0f %%, 95 %% "
              "interval %.0f to %.0f %%\"><title>%.1f %% (%.1f to %.1f)</title>"
              "<path d=\"M4 8.5h%d\" stroke=\"var(--line)\"/>",
              BAR_WIDTH + 8, 100 * rate, 100 * interval[0], 100 * interval[1], 100 * rate,
              100 * interval[0], 100 * interval[1], BAR_WIDTH);
    if (strcmp(expected, "open") != 0) {
        sheet_add(sheet, "<path d=\"M%d 0h6l-3 4z\" fill=\"var(--muted)\"/>",
                  strcmp(expected, "violation") == 0 ? 1 + BAR_WIDTH : 1);
    }
    sheet_add(sheet,
              "<rect x=\"%.1f\" y=\"5.5\" width=\"%.1f\" height=\"6\" rx=\"2\" fill=\"%s\" "
              "opacity=\".3\"/><rect x=\"%.1f\" y=\"2.5\" width=\"3\" height=\"12\" "
              "fill=\"%s\"/></svg></td>",
              low, high - low > 2 ? high - low : 2.0, ink, 2.5 + rate * BAR_WIDTH, ink);
}

/* The rate over the runs, in order. */
static void print_over_time(const struct tally_row *row, struct sheet *sheet)
{
    sheet_add(sheet,
              "<td><svg width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"rate over the "
              "runs\"><title>rate over the runs, %" PRIu64 " a bar</title>",
              TALLY_PERIODS * 4, SPARK_HEIGHT + 1, row->period_runs);
    for (uint32_t i = 0; i < row->period_count; i++) {
        double rate = (double)row->periods[i].violated / (double)row->periods[i].runs;
        double height = rate * (SPARK_HEIGHT - 1) + 1;
        sheet_add(sheet,
                  "<rect x=\"%" PRIu32 "\" y=\"%.1f\" width=\"3\" height=\"%.1f\" "
                  "fill=\"var(--%s)\"/>",
                  i * 4, SPARK_HEIGHT - height, height, rate > 0 ? "c0" : "line");
    }
    sheet_add_text(sheet, "</svg></td>");
}

static void print_boxes(const struct tally_row *row, struct sheet *sheet)
{
    static const char *const fills[] = {"var(--bg)", "var(--c0)", "var(--fail)", "var(--unknown)"};
    static const char *const words[] = {"no violation", "violation, as expected", "not as expected",
                                        "unknown"};
    uint32_t lines = (row->box_count + BOX_COLUMNS - 1) / BOX_COLUMNS;
    uint32_t columns = row->box_count < BOX_COLUMNS ? row->box_count : BOX_COLUMNS;
    sheet_add(sheet,
              "<td><svg width=\"%" PRIu32 "\" height=\"%" PRIu32 "\" role=\"img\" "
              "aria-label=\"the first seeds\">",
              columns * BOX_WIDTH, lines * BOX_HEIGHT);
    for (uint32_t i = 0; i < row->box_count; i++) {
        uint32_t x = i % BOX_COLUMNS * BOX_WIDTH;
        uint32_t y = i / BOX_COLUMNS * BOX_HEIGHT;
        uint8_t box = row->boxes[i];
        sheet_add(sheet,
                  "<g><title>seed %" PRIu64 ": %s</title><rect x=\"%" PRIu32 ".5\" y=\"%" PRIu32
                  ".5\" width=\"6\" height=\"11\" rx=\"1\" fill=\"%s\" stroke=\"var(--%s)\"/>",
                  row->seeds[i], words[box], x, y, fills[box], box == BOX_DIFFERS ? "fail" : "c0");
        if (box == BOX_DIFFERS) {
            sheet_add(sheet,
                      "<path d=\"M%" PRIu32 " %" PRIu32 "l5 8M%" PRIu32 " %" PRIu32
                      "l-5 8\" stroke=\"var(--bg)\" stroke-width=\"1.4\"/>",
                      x + 1, y + 2, x + 6, y + 2);
        }
        sheet_add_text(sheet, "</g>");
    }
    sheet_add_text(sheet, "</svg></td>");
}

static void print_broken(const struct tally_row *row, struct sheet *sheet)
{
    const struct report_group *group = row->group;
    const char *comma = "";
    sheet_add_text(sheet, "<td class=\"broken\">");
    for (size_t i = 0; i < check_count(); i++) {
        if (group->failed[i] > 0) {
            sheet_add(sheet, "<span class=\"check\">%s", check_at(i)->name);
            if (group->failed[i] != group->violated) {
                sheet_add(sheet, " %" PRIu64, group->failed[i]);
            }
            sheet_add_text(sheet, "</span> ");
        }
    }
    sheet_add_text(sheet, "<span class=\"quiet\">");
    for (int blame = BLAME_LIBRARY; blame <= BLAME_DEPLOYMENT; blame++) {
        if ((row->blames >> blame & 1) != 0) {
            sheet_add(sheet, "%s%s", comma, blame_name((enum blame)blame));
            comma = ", ";
        }
    }
    sheet_add_text(sheet, "</span></td>");
}

static void print_row(const struct tally_row *row, struct sheet *sheet)
{
    const struct report_group *group = row->group;
    const char *blame;
    const char *expected = expected_of(group->scenario, &blame);
    uint64_t bad = group->unmet + group->errors;
    sheet_add(sheet, "<tr%s><th scope=\"row\">", bad > 0 ? " class=\"bad\"" : "");
    print_link(sheet, row->link, group->scenario->name);
    sheet_add(
        sheet, "</th><td>%s</td><td>%s%s%s</td><td class=\"number\">%" PRIu64 "/%" PRIu64 "</td>",
        group->world, expected, blame[0] != '\0' ? ", " : "", blame, group->violated, group->runs);
    print_bar(row, expected, sheet);
    print_over_time(row, sheet);
    print_boxes(row, sheet);
    print_broken(row, sheet);
    if (bad > 0) {
        sheet_add(sheet, "<td><span class=\"tag fail\">&#10007; %" PRIu64 " differ%s</span></td>",
                  bad, bad == 1 ? "s" : "");
    } else if (group->unknown > 0) {
        sheet_add(sheet, "<td><span class=\"tag unknown\">%" PRIu64 " unknown</span></td>",
                  group->unknown);
    } else {
        sheet_add_text(sheet, "<td>&#10003;</td>");
    }
    sheet_add_text(sheet, "</tr>\n");
}

static void print_section(const struct tally *tally, enum section section, struct sheet *sheet)
{
    static const char *const titles[] = {"not as expected", "violated in some of its runs",
                                         "violated in every run, as expected",
                                         "never violated, as expected"};
    size_t count = 0;
    for (size_t i = 0; i < tally->row_count; i++) {
        count += section_of(&tally->rows[i]) == section;
    }
    if (count == 0) {
        return;
    }
    sheet_add(sheet,
              "<details class=\"rows\"%s><summary>%zu %s</summary><div class=\"scroll\"><table>"
              "<tr><th>scenario</th><th>world</th><th>expected</th>"
              "<th class=\"number\">violated</th><th>rate, 95 %% interval</th>"
              "<th>over the runs</th><th>each seed</th><th>checks broken, blame</th><th></th>"
              "</tr>\n",
              section != NEVER ? " open" : "", count, titles[section]);
    for (size_t i = 0; i < tally->row_count; i++) {
        if (section_of(&tally->rows[i]) == section) {
            print_row(&tally->rows[i], sheet);
        }
    }
    sheet_add_text(sheet, "</table></div></details>\n");
}

/* ---- the whole ------------------------------------------------------------------------------- */

struct sums {
    uint64_t runs;
    uint64_t differ;
    uint64_t unknown;
};

static struct sums sums_of(const struct tally *tally)
{
    struct sums sums = {0};
    for (size_t i = 0; i < tally->row_count; i++) {
        const struct report_group *group = tally->rows[i].group;
        sums.runs += group->runs;
        sums.differ += group->unmet + group->errors;
        sums.unknown += group->unknown;
    }
    return sums;
}

static void print_title(const struct tally *tally, const struct sums *sums, struct text *text)
{
    size_t causes = count_causes(tally, true);
    if (sums->differ == 0 && sums->unknown == 0) {
        text_add(text, "All %" PRIu64 " runs are as expected.", sums->runs);
    } else if (sums->differ == 0) {
        text_add(text, "%" PRIu64 " of %" PRIu64 " runs could not be decided.", sums->unknown,
                 sums->runs);
    } else {
        text_add(text, "%" PRIu64 " of %" PRIu64 " runs %s not as expected, for %zu cause%s.",
                 sums->differ, sums->runs, sums->differ == 1 ? "is" : "are", causes,
                 causes == 1 ? "" : "s");
    }
}

/* The worlds of one scenario stand beside each other. */
static size_t count_scenarios(const struct tally *tally)
{
    size_t count = 0;
    for (size_t i = 0; i < tally->row_count; i++) {
        count += i == 0 || tally->rows[i].group->scenario != tally->rows[i - 1].group->scenario;
    }
    return count;
}

static void print_body(const struct tally *tally, const struct sums *sums, const char *title,
                       struct sheet *sheet)
{
    size_t expected = count_causes(tally, false);
    sheet_add_text(sheet, "<header><b>picklock</b><span>");
    print_count(sheet, count_scenarios(tally), "scenario");
    sheet_add_text(sheet, " &middot; ");
    print_count(sheet, sums->runs, "run");
    sheet_add(sheet, " &middot; %" PRIu64 " unknown</span></header>\n<main><h1>", sums->unknown);
    encode_html(sheet, title);
    sheet_add_text(sheet, "</h1>\n");
    if (count_causes(tally, true) > 0) {
        sheet_add_text(sheet, "<h2>One entry for each cause</h2>\n");
        print_causes(tally, true, sheet);
    }
    for (int section = DIFFERS; section < SECTIONS; section++) {
        print_section(tally, (enum section)section, sheet);
    }
    if (expected > 0) {
        sheet_add(sheet,
                  "<details><summary>%zu cause%s of violations that were expected or left "
                  "open</summary>\n",
                  expected, expected == 1 ? "" : "s");
        print_causes(tally, false, sheet);
        sheet_add_text(sheet, "</details>\n");
    }
    if (tally->causes_left_out > 0) {
        sheet_add(sheet,
                  "<p class=\"quiet\">%" PRIu64 " runs had yet other causes; there is room "
                  "for %d.</p>\n",
                  tally->causes_left_out, TALLY_CAUSES);
    }
    sheet_add_text(
        sheet, "<p class=\"quiet\">A box is a seed: empty, no violation; grey, a violation that "
               "was expected; crossed out red, not as expected. The wedge over a bar is what the "
               "scenario expects, the pale band the 95 % interval (Wilson), the stroke the rate "
               "found.</p></main></body></html>\n");
}

struct result batch_page_write(const struct tally *tally, const char *out, struct text *why)
{
    char path[FILES_PATH_BYTES];
    char memory[WHY_BYTES];
    struct text title = text_over(memory, sizeof memory);
    struct sheet sheet = sheet_empty(REPORT_BYTES_MAX);
    if (tally == NULL || tally->row_count == 0) {
        return RESULT_OK;
    }
    struct sums sums = sums_of(tally);
    if (sums.runs <= 1) {
        return RESULT_OK;
    }
    TRY(folder_make(out, why));
    print_title(tally, &sums, &title);
    page_print_head(RESULTS_PAGE_TITLE, NULL, &page_batch_style, &sheet);
    print_body(tally, &sums, title.data, &sheet);
    (void)snprintf(path, sizeof path, "%s/index.html", out);
    struct result result = RESULT_OK;
    if (!results_page_is_ours(path)) {
        fprintf(stderr, "picklock: ");
        foreign_print_line(stderr, path);
        fprintf(stderr, " is not picklock's, and stays as it is\n");
    } else if (sheet.cut) {
        text_add(why, "%s: no memory to draw it", path);
        result = result_error(ERROR_IO);
    } else {
        result = file_replace(path, sheet.data, sheet.length, why);
    }
    sheet_release(&sheet);
    return result;
}

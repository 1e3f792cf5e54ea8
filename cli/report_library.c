/* report_library.c: a table of what was tried on a library. */
#include "cli/report_library.h"

#include "base/assert.h"
#include "base/foreign.h"
#include "cli/command.h"
#include "cli/json.h"

#include <inttypes.h>
#include <string.h>

enum { SENTENCE_BYTES = 512, LINE_BYTES = 4096 };

/* Names of scenarios in one line. */
enum { APART_NAMED_MAX = 20 };

const char *library_outcome_name(enum library_outcome outcome)
{
    switch (outcome) {
    case LIBRARY_PASSED:
        return "passed";
    case LIBRARY_BLAMED:
        return "failed (library)";
    case LIBRARY_ASSUMPTION:
        return "failed (assumption)";
    case LIBRARY_UNKNOWN:
        return "unknown";
    case LIBRARY_ERROR:
        return "not run";
    case LIBRARY_OUTCOMES:
        break;
    }
    UNREACHABLE();
}

static bool run_blames(const struct run_report *run, enum blame blame)
{
    for (size_t i = 0; i < check_count(); i++) {
        if ((run->violations >> i & 1u) != 0 && run->blames[i] == blame) {
            return true;
        }
    }
    return false;
}

/* The worst of its runs; a run as expected may hold a violation that the scenario leaves open. */
enum library_outcome library_outcome(const struct report_group *group)
{
    bool blamed = run_blames(&group->last, BLAME_LIBRARY);
    for (uint32_t i = 0; i < group->kind_count; i++) {
        blamed = blamed || run_blames(&group->kinds[i].shortest, BLAME_LIBRARY);
    }
    if (blamed) {
        return LIBRARY_BLAMED;
    }
    if (group->errors > 0 || group->runs == 0) {
        return LIBRARY_ERROR;
    }
    if (group->unknown > 0) {
        return LIBRARY_UNKNOWN;
    }
    if (group->violated > 0) {
        return LIBRARY_ASSUMPTION;
    }
    return group->met == group->runs ? LIBRARY_PASSED : LIBRARY_UNKNOWN;
}

void library_sentence(const char *about, struct text *text)
{
    const char *stop = strstr(about, ". ");
    size_t bytes = stop != NULL ? (size_t)(stop - about) : strlen(about);
    while (bytes > 0 && (about[bytes - 1] == '.' || about[bytes - 1] == '\n')) {
        bytes--;
    }
    text_add_bytes(text, about, bytes);
}

/* "failed (library)  many-reset  All connections are reset (no_leak)". */
static void print_row(const char *outcome, const struct scenario *scenario, const char *checks)
{
    char memory[SENTENCE_BYTES];
    struct text text = text_over(memory, sizeof memory);
    library_sentence(scenario->about, &text);
    if (checks[0] != '\0') {
        text_add(&text, " (%s)", checks);
    }
    printf("%-20s %-30s %s\n", outcome, scenario->name, text.data);
}

/* A line for each reason, with what does not apply for it. */
static void print_apart(const struct apart_list *apart)
{
    for (size_t i = 0; i < apart->count; i++) {
        const char *why = apart->list[i].why;
        size_t alike = 0;
        bool told = false;
        for (size_t k = 0; k < apart->count; k++) {
            bool same = strcmp(apart->list[k].why, why) == 0;
            alike += same ? 1 : 0;
            told = told || (same && k < i);
        }
        if (told) {
            continue;
        }
        printf("%-20s %zu, as %s:", "does not apply", alike, why);
        size_t listed = 0;
        for (size_t k = i; k < apart->count && listed < APART_NAMED_MAX; k++) {
            if (strcmp(apart->list[k].why, why) == 0) {
                printf("%s %s", listed++ > 0 ? "," : "", apart->list[k].name);
            }
        }
        printf("%s\n", alike > listed ? ", ..." : "");
    }
}

/* "exclusion, no_leak": what failed, or what could not be said. */
static void group_checks(const struct report_group *group, bool open, struct text *text)
{
    for (size_t i = 0; i < check_count(); i++) {
        if (open ? group->open[i] > 0 : group->failed[i] > 0) {
            text_add(text, "%s%s", text->length > 0 ? ", " : "", check_at(i)->name);
        }
    }
}

/* Below a row, what was not so: "assumption: a node never evicts a lock's key". */
static void print_assumed(const struct report *report, const struct report_group *group)
{
    uint32_t told = 0;
    bool tells = (report->nature->declares >> DECLARES_NOTICE & 1u) != 0;
    for (size_t i = 0; i < check_count(); i++) {
        const struct evidence *evidence = &group->last.found.evidence[i];
        bool named =
            (group->last.violations >> i & 1u) != 0 && evidence->assumption != ASSUMPTION_NONE;
        if (!named || (told >> evidence->assumption & 1u) != 0) {
            continue;
        }
        told |= 1u << evidence->assumption;
        bool untold = evidence->assumption == ASSUMPTION_SECTION && !tells;
        printf("%-20s %-30s %s: %s%s\n", "", "", blame_name((enum blame)evidence->blame),
               assumption_sentence((enum assumption)evidence->assumption),
               untold ? "; a lock that declares notice tells it when it is over" : "");
    }
}

/* Below a row that is not as its file expects, though the library is not to blame. */
static void print_unmet(const struct report_group *group)
{
    char memory[SENTENCE_BYTES];
    struct text checks = text_over(memory, sizeof memory);
    report_unmet(group, &checks);
    if (group->unmet > 0) {
        printf("%-20s %-30s not expected: a lock of its kind passes %s here\n", "", "",
               checks.data);
    }
}

static void print_groups(const struct report *report, const struct report_group *groups,
                         size_t count, enum library_outcome outcome)
{
    char memory[SENTENCE_BYTES];
    for (size_t i = 0; i < count; i++) {
        if (library_outcome(&groups[i]) != outcome) {
            continue;
        }
        struct text checks = text_over(memory, sizeof memory);
        if (outcome != LIBRARY_PASSED && outcome != LIBRARY_ERROR) {
            group_checks(&groups[i], outcome == LIBRARY_UNKNOWN, &checks);
        }
        print_row(library_outcome_name(outcome), groups[i].scenario, checks.data);
        if (outcome == LIBRARY_ASSUMPTION) {
            print_assumed(report, &groups[i]);
            print_unmet(&groups[i]);
        }
    }
}

static void print_declared(const struct lock_nature *nature)
{
    const char *comma = "it declares ";
    foreign_print_line(stdout, nature->library);
    printf(": %s; ", nature->nodes_max == 1 ? "a lock for one node" : "a lock for several nodes");
    for (int i = 0; i < HISTORY_DECLARES; i++) {
        if ((nature->declares >> i & 1u) != 0) {
            printf("%s%s", comma, history_declarations.words[i]);
            comma = ", ";
        }
    }
    printf("%s\n\n", nature->declares == 0 ? "it declares nothing" : "");
}

static void print_answer(const struct report *report, const size_t outcomes[LIBRARY_OUTCOMES],
                         size_t unexpected)
{
    if (outcomes[LIBRARY_BLAMED] > 0) {
        printf("Not safe: the library broke its own promises. `%s show %s/NAME/1/real` tells "
               "how.\n",
               program_called(), report->out);
    } else if (unexpected > 0) {
        printf("Not as safe as a lock of its kind can be: what %zu of these failed, such a lock "
               "passes, though the library is not to blame for it.\n",
               unexpected);
    } else if (outcomes[LIBRARY_UNKNOWN] + outcomes[LIBRARY_ERROR] > 0) {
        printf("Not known: nothing was found that the library is to blame for, but not all of it "
               "could be judged.\n");
    } else if (outcomes[LIBRARY_PASSED] + outcomes[LIBRARY_ASSUMPTION] == 0) {
        printf("Not known: nothing was tried.\n");
    } else if (outcomes[LIBRARY_ASSUMPTION] > 0) {
        bool tells = (report->nature->declares >> DECLARES_NOTICE & 1u) != 0;
        printf(
            "As safe as a lock of its kind can be: what failed, no lock with a lease survives%s. "
            "A store that checks fences does.\n",
            tells ? "" : ", or only one that tells its holder of a loss");
    } else {
        printf("Nothing was found: everything that was tried passed.\n");
    }
}

void report_library(const struct report *report, const struct report_group *groups, size_t count)
{
    size_t outcomes[LIBRARY_OUTCOMES] = {0};
    size_t unexpected = 0;
    const struct apart_list *apart = report->apart;
    print_declared(report->nature);
    printf("%-20s %-30s %s\n", "outcome", "scenario", "what was tried");
    for (int outcome = 0; outcome < LIBRARY_OUTCOMES; outcome++) {
        print_groups(report, groups, count, (enum library_outcome)outcome);
    }
    print_apart(apart);
    for (size_t i = 0; i < count; i++) {
        outcomes[library_outcome(&groups[i])]++;
        unexpected += groups[i].unmet > 0 ? 1 : 0;
    }
    printf("\n%zu tried:", count);
    for (int i = 0; i < LIBRARY_OUTCOMES; i++) {
        printf("%s %zu %s", i == 0 ? "" : ",", outcomes[i],
               library_outcome_name((enum library_outcome)i));
    }
    printf("; %zu do not apply\n", apart->count);
    print_answer(report, outcomes, unexpected);
}

void report_apart(struct report *report)
{
    char memory[LINE_BYTES];
    for (size_t i = 0; report->apart != NULL && i < report->apart->count; i++) {
        const struct apart *apart = &report->apart->list[i];
        struct text line = text_over(memory, sizeof memory);
        apart_print(apart, &line);
        if (report->results != NULL) {
            fputs(line.data, report->results);
        }
        if (report->format == REPORT_JSON) {
            fputs(line.data, stdout);
        } else if (report->format == REPORT_TAP) {
            printf("ok %zu - %s # SKIP does not apply: %s\n", ++report->number, apart->name,
                   apart->why);
        } else if (report->nature == NULL && !report->quiet) {
            printf("%-5s %-34s does not apply: %s\n", "-", apart->name, apart->why);
        }
    }
}

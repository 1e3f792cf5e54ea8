/* update.c: writes into scenario files what came of their runs. */
#include "cli/update.h"

#include "base/assert.h"
#include "base/foreign.h"
#include "cli/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { UPDATE_BYTES = 2 << 20, VALUE_BYTES = 64 };

/* What all runs of a check came to, as a file words it; false where they differ or are open. */
static bool update_value(const struct report_group *groups, size_t worlds, size_t check,
                         char value[VALUE_BYTES])
{
    char before[VALUE_BYTES] = "";
    for (size_t w = 0; w < worlds; w++) {
        const struct report_group *group = &groups[w];
        bool fails = group->failed[check] == group->runs;
        bool skipped = group->skipped[check] == group->runs;
        bool passes = group->failed[check] + group->open[check] + group->skipped[check] == 0;
        if (group->runs == 0 || group->errors > 0 || !(fails || skipped || passes)) {
            return false;
        }
        const char *blame = blame_name((enum blame)group->last.blames[check]);
        (void)snprintf(value, VALUE_BYTES, fails ? "{verdict: fail, blame: %s}" : "%.0s%s",
                       fails ? blame : "", skipped ? "skipped" : "pass");
        if (w > 0 && strcmp(before, value) != 0) {
            return false;
        }
        memcpy(before, value, sizeof before);
    }
    return true;
}

/* Nothing was found out: to expect that would be to be content with it. */
static bool is_open(const struct report_group *groups, size_t worlds, size_t check)
{
    for (size_t w = 0; w < worlds; w++) {
        if (groups[w].open[check] > 0) {
            return true;
        }
    }
    return false;
}

static bool is_unmet(const struct report_group *groups, size_t worlds, size_t check)
{
    for (size_t w = 0; w < worlds; w++) {
        for (uint32_t k = 0; k < groups[w].kind_count; k++) {
            if ((groups[w].kinds[k].shortest.unmet >> check & 1u) != 0) {
                return true;
            }
        }
    }
    return false;
}

/* Where the value of an expectation stands in the file: behind its key, to what ends it. */
static char *value_of(char *text, const struct expectation *expect, size_t *bytes)
{
    char *at = text;
    for (uint32_t line = 1; line < expect->line && at != NULL; line++) {
        at = strchr(at, '\n');
        at = at != NULL ? at + 1 : NULL;
    }
    if (at == NULL || strlen(at) < expect->column) {
        return NULL;
    }
    at += expect->column - 1;
    if (strncmp(at, expect->check, strlen(expect->check)) != 0) {
        return NULL; /* quoted, or another file by now */
    }
    at += strcspn(at, ":\n");
    at += *at == ':';
    at += strspn(at, " ");
    *bytes = *at == '{' ? strcspn(at, "}") + 1 : strcspn(at, ",}#\n \r");
    return at;
}

/* Put `words` in place of `bytes` at `at`. False if there is no room. */
static bool splice(char *text, char *at, size_t bytes, const char *words)
{
    size_t more = strlen(words);
    size_t rest = strlen(at + bytes) + 1;
    if ((size_t)(at - text) + more + rest > UPDATE_BYTES) {
        return false;
    }
    memmove(at + more, at + bytes, rest);
    memcpy(at, words, more);
    return true;
}

/* Add a check behind the last one that the file names: on a line of its own if that is on one. */
static bool add_check(char *text, const struct scenario *scenario, const char *check,
                      const char *value)
{
    char words[2 * SCENARIO_NAME_BYTES + VALUE_BYTES];
    size_t bytes = 0;
    const struct expectation *last = &scenario->expects[scenario->expect_count - 1];
    bool flow = last->line == scenario->expect_line;
    char *at = value_of(text, last, &bytes);
    if (at == NULL) {
        return false;
    }
    at += bytes;
    if (flow) {
        (void)snprintf(words, sizeof words, ", %s: %s", check, value);
    } else {
        at += strcspn(at, "\n");
        (void)snprintf(words, sizeof words, "\n%*s%s: %s", (int)last->column - 1, "", check, value);
    }
    return splice(text, at, 0, words);
}

static struct result update_read(const char *path, char *text, struct text *why)
{
    FILE *file = fopen(path, "re");
    size_t bytes = file != NULL ? fread(text, 1, UPDATE_BYTES - 1, file) : 0;
    bool read = file != NULL && ferror(file) == 0;
    text[bytes] = '\0';
    if (file != NULL) {
        (void)fclose(file);
    }
    if (!read) {
        text_add(why, "cannot read %s: %s", path, strerror(errno));
        return result_error(ERROR_IO);
    }
    return RESULT_OK;
}

/* What is being changed: a file's text, and whether it was. */
struct update {
    char *text;
    const struct report_group *groups;
    size_t worlds;
    const char *done[SCENARIO_EXPECTS_MAX]; /* by check; NULL: nothing is to be said of it */
    char values[SCENARIO_EXPECTS_MAX][VALUE_BYTES];
    bool changed;
};

static const struct expectation *named(const struct scenario *scenario, const char *check)
{
    for (size_t i = 0; i < scenario->expect_count; i++) {
        if (strcmp(scenario->expects[i].check, check) == 0) {
            return &scenario->expects[i];
        }
    }
    return NULL;
}

static void update_check(struct update *update, size_t check)
{
    const struct scenario *scenario = update->groups->scenario;
    const struct expectation *expect = named(scenario, check_at(check)->name);
    char *value = update->values[check];
    size_t bytes = 0;
    if (!is_unmet(update->groups, update->worlds, check)) {
        return;
    }
    if (is_open(update->groups, update->worlds, check)) {
        update->done[check] = "left as it is: unknown is nothing to expect; see above why it is";
        return;
    }
    if (!update_value(update->groups, update->worlds, check, value)) {
        value[0] = '\0';
        update->done[check] = "left as it is: not all runs came out alike";
        return;
    }
    char *at = expect != NULL ? value_of(update->text, expect, &bytes) : NULL;
    bool done = expect != NULL ? at != NULL && splice(update->text, at, bytes, value)
                               : add_check(update->text, scenario, check_at(check)->name, value);
    update->changed = update->changed || done;
    update->done[check] = done ? "now expects " : "left as it is; write it by hand: ";
}

static void say(const struct update *update, size_t check, FILE *stream)
{
    if (update->done[check] != NULL) {
        foreign_print_line(stream, update->groups->scenario->path);
        fprintf(stream, ": %s: %s%s\n", check_at(check)->name, update->done[check],
                update->values[check]);
    }
}

static size_t check_of(const char *name)
{
    for (size_t i = 0; i < check_count(); i++) {
        if (strcmp(check_at(i)->name, name) == 0) {
            return i;
        }
    }
    UNREACHABLE();
}

/* In the order of the file, and behind it what was added. */
static void say_all(const struct update *update, FILE *stream)
{
    const struct scenario *scenario = update->groups->scenario;
    for (size_t i = 0; i < scenario->expect_count; i++) {
        say(update, check_of(scenario->expects[i].check), stream);
    }
    for (size_t i = 0; i < check_count(); i++) {
        if (named(scenario, check_at(i)->name) == NULL) {
            say(update, i, stream);
        }
    }
}

/* From the end of the file to its beginning, so that no change moves what comes after it. */
static struct result update_file(const struct report_group *groups, size_t worlds, FILE *stream,
                                 struct text *why)
{
    static char text[UPDATE_BYTES];
    const struct scenario *scenario = groups->scenario;
    struct update update = {.text = text, .groups = groups, .worlds = worlds};
    ASSERT(check_count() <= SCENARIO_EXPECTS_MAX);
    TRY(update_read(scenario->path, text, why));
    for (size_t i = check_count(); i > 0; i--) {
        if (named(scenario, check_at(i - 1)->name) == NULL) {
            update_check(&update, i - 1);
        }
    }
    for (size_t i = scenario->expect_count; i > 0; i--) {
        update_check(&update, check_of(scenario->expects[i - 1].check));
    }
    if (update.changed) {
        TRY(file_replace(scenario->path, text, strlen(text), why));
    }
    say_all(&update, stream);
    return RESULT_OK;
}

struct result update_expectations(const struct report_group *groups, size_t count, size_t worlds,
                                  FILE *stream, struct text *why)
{
    ASSERT(worlds > 0 && count % worlds == 0);
    for (size_t i = 0; i < count; i += worlds) {
        bool unmet = false;
        for (size_t w = 0; w < worlds; w++) {
            unmet = unmet || groups[i + w].met != groups[i + w].runs;
        }
        if (unmet && groups[i].scenario->expect_count > 0) {
            TRY(update_file(&groups[i], worlds, stream, why));
        }
    }
    return RESULT_OK;
}

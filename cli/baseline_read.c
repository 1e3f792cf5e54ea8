/* baseline_read.c: reads an earlier release's results. */
#include "cli/baseline_read.h"

#include "cli/json.h"
#include "cli/report_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BASELINE_LINE_BYTES = 256 * 1024, WORD_BYTES = 16 };

struct reading {
    struct baseline *baseline;
    const char *path;
    uint64_t number; /* of the line */
    size_t capacity; /* of the records */
    struct json json;
};

static struct result wrong(const struct reading *reading, const char *what, struct text *why)
{
    text_add(why, "%s:%" PRIu64 ": %s", reading->path, reading->number, what);
    return result_error(ERROR_SCHEMA);
}

static struct result group_of(struct reading *reading, struct baseline_group **found,
                              struct text *why)
{
    struct baseline *baseline = reading->baseline;
    const struct json *json = &reading->json;
    char name[SCENARIO_NAME_BYTES];
    char world[WORD_BYTES];
    uint64_t content = 0;
    if (!json_text(json, 0, "scenario", name, sizeof name) ||
        !json_text(json, 0, "world", world, sizeof world)) {
        return wrong(reading, "this run has no scenario or no world", why);
    }
    bool real = strcmp(world, world_real.name) == 0;
    bool has_content = json_hash(json, 0, "content", &content);
    for (size_t i = baseline->group_count; i > 0; i--) {
        struct baseline_group *group = &baseline->groups[i - 1];
        if (group->real == real && strcmp(group->name, name) == 0) {
            bool same = group->has_content == has_content && group->content == content;
            *found = group;
            return same ? RESULT_OK
                        : wrong(reading, "two scenarios of this name, which say different things",
                                why);
        }
    }
    if (baseline->group_count == BASELINE_GROUPS_MAX) {
        return wrong(reading, "more scenarios than can be told apart", why);
    }
    struct baseline_group *group = &baseline->groups[baseline->group_count++];
    *group = (struct baseline_group){.real = real, .has_content = has_content, .content = content};
    memcpy(group->name, name, sizeof group->name);
    *found = group;
    return RESULT_OK;
}

static struct result keep_record(struct reading *reading, const struct baseline_record *record,
                                 struct text *why)
{
    struct baseline *baseline = reading->baseline;
    if (baseline->record_count == reading->capacity) {
        size_t capacity = 2 * reading->capacity + 1024;
        struct baseline_record *larger =
            memory_resize(baseline->records, capacity * sizeof *larger);
        if (larger == NULL) {
            text_add(why, "out of memory for %zu runs of %s", capacity, reading->path);
            return result_error(ERROR_IO);
        }
        baseline->records = larger;
        reading->capacity = capacity;
    }
    baseline->records[baseline->record_count++] = *record;
    return RESULT_OK;
}

static void count_checks(struct baseline_group *group, const struct run_report *run)
{
    for (size_t i = 0; i < check_count(); i++) {
        bool failed = (run->violations >> i & 1u) != 0;
        group->failed[i] += failed;
        group->blamed[i] += failed && run->blames[i] == BLAME_LIBRARY;
    }
}

static struct result take_line(struct reading *reading, const char *line, size_t bytes,
                               struct text *why)
{
    static struct run_report run;
    struct baseline_group *group;
    const struct json *json = &reading->json;
    char status[WORD_BYTES];
    uint64_t virtual_ns = 0;
    if (!json_read(&reading->json, line, bytes)) {
        return wrong(reading,
                     "this line is no JSON object; expected what `picklock run --json` printed",
                     why);
    }
    if (!json_is(json, 0, "type", "run")) {
        return RESULT_OK; /* another kind of line */
    }
    memset(&run, 0, sizeof run);
    TRY(group_of(reading, &group, why));
    if (!json_text(json, 0, "status", status, sizeof status) ||
        !run_status_find(status, &run.status) || !json_number(json, 0, "seed", &run.seed) ||
        !json_number(json, 0, "run", &run.run) ||
        !report_checks_read(json, json_find(json, 0, "checks"), &run)) {
        return wrong(reading, "this is no run of a picklock that is known", why);
    }
    if (json_number(json, 0, "virtual_ns", &virtual_ns) &&
        (int64_t)virtual_ns > group->virtual_ns) {
        group->virtual_ns = (int64_t)virtual_ns;
    }
    group->runs++;
    group->unmet += run.status == RUN_UNMET;
    group->unknown += run.status == RUN_UNKNOWN;
    group->errors += run.status == RUN_ERROR || run.status == RUN_INTERRUPTED;
    count_checks(group, &run);
    struct baseline_record record = {.group = (uint32_t)(group - reading->baseline->groups),
                                     .status = run.status,
                                     .seed = run.seed,
                                     .number = run.run};
    return keep_record(reading, &record, why);
}

static int by_key(const void *one, const void *other)
{
    const struct baseline_record *a = one;
    const struct baseline_record *b = other;
    if (a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    if (a->seed != b->seed) {
        return a->seed < b->seed ? -1 : 1;
    }
    return a->number < b->number ? -1 : a->number > b->number;
}

static struct result read_lines(struct reading *reading, FILE *file, struct text *why)
{
    static char line[BASELINE_LINE_BYTES];
    while (fgets(line, sizeof line, file) != NULL) {
        size_t bytes = strlen(line);
        reading->number++;
        if (bytes + 1 == sizeof line) {
            return wrong(reading, "this line is too long for a run's", why);
        }
        TRY(take_line(reading, line, bytes, why));
    }
    if (ferror(file)) {
        text_add(why, "cannot read %s: %s", reading->path, strerror(errno));
        return result_error(ERROR_IO);
    }
    if (reading->baseline->record_count == 0) {
        text_add(why, "%s: no run stands in it; expected what `picklock run --json` printed",
                 reading->path);
        return result_error(ERROR_SCHEMA);
    }
    return RESULT_OK;
}

struct result baseline_read(const char *path, struct arena *arena, struct baseline **baseline,
                            struct text *why)
{
    static struct reading reading;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        text_add(why, "cannot read %s: %s", path, strerror(errno));
        return result_error(ERROR_USAGE);
    }
    struct baseline *read = arena_take(arena, sizeof *read);
    struct result result = RESULT_OK;
    if (read == NULL) {
        text_add(why, "out of memory for %s", path);
        result = result_error(ERROR_IO);
    } else {
        read->arena = arena;
        reading.baseline = read;
        reading.path = path;
        result = read_lines(&reading, file, why);
    }
    (void)fclose(file);
    if (!result_failed(result)) {
        qsort(read->records, read->record_count, sizeof *read->records, by_key);
        *baseline = read;
    }
    return result;
}

const struct baseline_group *baseline_find(const struct baseline *baseline, const char *name,
                                           bool real)
{
    for (size_t i = 0; i < baseline->group_count; i++) {
        const struct baseline_group *group = &baseline->groups[i];
        if (group->real == real && strcmp(group->name, name) == 0) {
            return group;
        }
    }
    return NULL;
}

const struct baseline_record *baseline_partner(const struct baseline *baseline,
                                               const struct baseline_group *group, uint64_t seed)
{
    uint32_t index = (uint32_t)(group - baseline->groups);
    size_t low = 0;
    size_t high = baseline->record_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct baseline_record *record = &baseline->records[middle];
        bool before = record->group < index || (record->group == index && record->seed < seed);
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    /* The first of that seed: one seed of the simulator has one result, whichever run it was. */
    bool found = low < baseline->record_count && baseline->records[low].group == index &&
                 baseline->records[low].seed == seed;
    return found ? &baseline->records[low] : NULL;
}

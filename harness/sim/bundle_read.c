/* bundle_read.c: reads a bundle, and says in one line what is wrong with it. */
#include "harness/sim/bundle.h"

#include "base/assert.h"
#include "base/version.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct bundle_reading {
    const char *path;
    char *at; /* the next line */
    char *end;
    uint32_t line; /* of the last line taken */
    struct text *why;
};

static struct result bundle_refuse(struct bundle_reading *reading, const char *sentence)
{
    text_add(reading->why, "%s:%u: %s", reading->path, reading->line, sentence);
    return result_error(ERROR_SCHEMA);
}

/* The next line, terminated; NULL where the file ends before it does. */
static char *bundle_line(struct bundle_reading *reading)
{
    char *line = reading->at;
    char *newline = memchr(line, '\n', (size_t)(reading->end - line));
    reading->line++;
    if (newline == NULL) {
        return NULL;
    }
    *newline = '\0';
    reading->at = newline + 1;
    return line;
}

static struct result bundle_cut(struct bundle_reading *reading)
{
    return bundle_refuse(reading, "the bundle is cut short here; copy it again");
}

static struct result bundle_read_head(struct bundle_reading *reading, struct bundle *bundle,
                                      int64_t *stress_ns)
{
    const char *line = bundle_line(reading);
    int format = 0;
    if (line == NULL || sscanf(line, "picklock-bundle %d", &format) != 1) {
        return bundle_refuse(reading, "this is no bundle: it must begin with \"picklock-bundle\"");
    }
    if (format != BUNDLE_FORMAT) {
        return bundle_refuse(reading, "a bundle of another format; this picklock reads format 1");
    }
    line = bundle_line(reading);
    if (line == NULL || sscanf(line, "picklock %15s", bundle->picklock) != 1) {
        return bundle_cut(reading);
    }
    if (strcmp(bundle->picklock, PICKLOCK_VERSION) != 0) {
        return bundle_refuse(reading,
                             "made by another version of picklock than this, which is "
                             "" PICKLOCK_VERSION "; run the scenario at its end with its seed");
    }
    line = bundle_line(reading);
    if (line == NULL || sscanf(line, "seed %" SCNu64, &bundle->seed) != 1) {
        return bundle_cut(reading);
    }
    if (strncmp(reading->at, "stress ", strlen("stress ")) == 0) {
        line = bundle_line(reading);
        if (line == NULL || sscanf(line, "stress %" SCNd64, stress_ns) != 1 || *stress_ns <= 0 ||
            *stress_ns > STRESS_NS_MAX) {
            return bundle_refuse(reading, "no stress: it must read \"stress NANOSECONDS\"");
        }
    }
    return RESULT_OK;
}

static struct result bundle_read_trace(struct bundle_reading *reading, struct trace *trace)
{
    const char *line = bundle_line(reading);
    if (line == NULL ||
        sscanf(line, "events %" SCNu64 " %" SCNx64, &trace->events, &trace->hash) != 2) {
        return bundle_cut(reading);
    }
    line = bundle_line(reading);
    if (line == NULL ||
        sscanf(line, "marks %" SCNu64 " %" SCNu32, &trace->distance, &trace->mark_count) != 2 ||
        trace->mark_count > TRACE_MARKS_MAX || trace->distance == 0) {
        return bundle_cut(reading);
    }
    line = trace->mark_count > 0 ? bundle_line(reading) : "";
    for (uint32_t i = 0; i < trace->mark_count; i++) {
        if (line == NULL || sscanf(line, "%" SCNx32, &trace->marks[i]) != 1) {
            return bundle_cut(reading);
        }
        line = strchr(line, ' ');
        line = line == NULL ? NULL : line + 1;
    }
    return RESULT_OK;
}

static bool bundle_parse_choice(const char *line, struct choice *choice)
{
    char word[16];
    if (sscanf(line, "%15s %" SCNu32 " %" SCNu32 " %" SCNu64, word, &choice->subject, &choice->nth,
               &choice->value) != 4) {
        return false;
    }
    for (uint8_t kind = 0; kind < CHOICE_KINDS; kind++) {
        if (strcmp(word, choice_kind_name((enum choice_kind)kind)) == 0) {
            choice->kind = kind;
            return true;
        }
    }
    return false;
}

static struct result bundle_read_choices(struct bundle_reading *reading, struct choices *choices)
{
    uint32_t count = 0;
    const char *line = bundle_line(reading);
    if (line == NULL || sscanf(line, "choices %" SCNu32, &count) != 1 || count > CHOICES_MAX) {
        return bundle_cut(reading);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct choice choice = {0};
        line = bundle_line(reading);
        if (line == NULL) {
            return bundle_cut(reading);
        }
        if (!bundle_parse_choice(line, &choice)) {
            return bundle_refuse(reading, "no choice: it must read KIND SUBJECT NUMBER VALUE");
        }
        (void)choices_add(choices, &choice);
    }
    return RESULT_OK;
}

static struct result bundle_read_verdict(struct bundle_reading *reading, struct bundle *bundle)
{
    uint32_t count = 0;
    const char *line = bundle_line(reading);
    struct text verdict = text_over(bundle->verdict, sizeof bundle->verdict);
    if (line == NULL || sscanf(line, "verdict %" SCNu32, &count) != 1) {
        return bundle_cut(reading);
    }
    for (uint32_t i = 0; i < count; i++) {
        line = bundle_line(reading);
        if (line == NULL) {
            return bundle_cut(reading);
        }
        text_add(&verdict, "%s\n", line);
    }
    return verdict.cut ? bundle_refuse(reading, "the verdict is too long") : RESULT_OK;
}

static struct result bundle_read_scenario(struct bundle_reading *reading, struct arena *arena,
                                          struct bundle *bundle)
{
    size_t bytes = 0;
    const char *line = bundle_line(reading);
    if (line == NULL || sscanf(line, "scenario %63s %zu", bundle->scenario, &bytes) != 2) {
        return bundle_cut(reading);
    }
    if (bytes + strlen("end\n") != (size_t)(reading->end - reading->at) ||
        memcmp(reading->at + bytes, "end\n", strlen("end\n")) != 0) {
        return bundle_cut(reading);
    }
    struct scenario *scenario = arena_take(arena, sizeof *scenario);
    if (scenario == NULL) {
        text_add(reading->why, "%s: no memory for its scenario", reading->path);
        return result_error(ERROR_LIMIT);
    }
    /* A scenario is named as its file is: the bundle stands for the folder. */
    char path[1024];
    struct text name = text_over(path, sizeof path);
    text_add(&name, "%s/%s.yaml", reading->path, bundle->scenario);
    struct scenario_source source = {.path = path, .bytes = reading->at, .length = bytes};
    struct result result = scenario_parse(&source, arena, scenario, reading->why);
    if (result_failed(result)) {
        return result_error(ERROR_SCHEMA);
    }
    scenario_plan(scenario, bundle->seed, 1000000, &bundle->plan);
    return RESULT_OK;
}

static struct result bundle_load(struct bundle_reading *reading, struct arena *arena)
{
    FILE *file = fopen(reading->path, "re");
    reading->at = arena_take(arena, BUNDLE_BYTES_MAX + 1);
    if (file == NULL || reading->at == NULL) {
        text_add(reading->why, "%s: %s", reading->path, strerror(errno));
        if (file != NULL) {
            (void)fclose(file);
        }
        return result_error(ERROR_IO);
    }
    size_t bytes = fread(reading->at, 1, BUNDLE_BYTES_MAX, file);
    bool failed = ferror(file) != 0;
    (void)fclose(file);
    reading->end = reading->at + bytes;
    if (failed) {
        text_add(reading->why, "%s: it cannot be read; a bundle is a file", reading->path);
        return result_error(ERROR_IO);
    }
    return RESULT_OK;
}

struct result bundle_read(const char *path, struct arena *arena, struct bundle *bundle,
                          struct text *why)
{
    struct bundle_reading reading = {.path = path, .why = why};
    memset(bundle, 0, sizeof *bundle);
    TRY(bundle_load(&reading, arena));
    int64_t stress_ns = 0; /* put in last: reading the scenario makes the plan anew */
    TRY(bundle_read_head(&reading, bundle, &stress_ns));
    TRY(bundle_read_trace(&reading, &bundle->trace));
    TRY(bundle_read_choices(&reading, &bundle->choices));
    TRY(bundle_read_verdict(&reading, bundle));
    TRY(bundle_read_scenario(&reading, arena, bundle));
    bundle->plan.stress_ns = stress_ns;
    return RESULT_OK;
}

/* merge_read.c: reads the files that shards leave. */
#include "cli/merge_read.h"

#include "base/assert.h"
#include "base/version.h"
#include "cli/hash.h"
#include "cli/report_json.h"
#include "cli/words.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MERGE_TEXT_BYTES = 512 * 1024, VERSION_BYTES = 64, WORD_BYTES = 16 };

/* Going through a file, a line at a time. */
struct reading {
    struct merge_shard *shard;
    struct arena *arena;
    struct merge_scenarios *scenarios;
    const char *line;
    size_t bytes;    /* of it, with its end */
    uint64_t number; /* of it, from 1 */
    uint64_t hash;   /* of the lines before it */
    struct json json;
};

static struct result cut(const struct reading *reading, const char *what, struct text *why)
{
    const struct merge_shard *shard = reading->shard;
    text_add(why, "%s: %s", shard->path, what);
    if (shard->runs.shards > 0) {
        text_add(why, "; run shard %" PRIu32 "/%" PRIu32 " again", shard->runs.shard,
                 shard->runs.shards);
    }
    return result_error(ERROR_ENVIRONMENT);
}

static struct result wrong(const struct reading *reading, const char *what, struct text *why)
{
    text_add(why, "%s:%" PRIu64 ": %s", reading->shard->path, reading->number, what);
    return result_error(ERROR_SCHEMA);
}

/* The next line, taken apart. */
static struct result next_line(struct reading *reading, struct text *why)
{
    const struct merge_shard *shard = reading->shard;
    const char *line = reading->line + reading->bytes;
    size_t left = (size_t)(shard->bytes + shard->length - line);
    const char *end = left > 0 ? memchr(line, '\n', left) : NULL;
    if (end == NULL) {
        return cut(reading, left > 0 ? "cut in the middle of a line" : "cut: it has no end line",
                   why);
    }
    reading->line = line;
    reading->bytes = (size_t)(end - line) + 1;
    reading->number++;
    if (!json_read(&reading->json, line, reading->bytes)) {
        return wrong(reading, "this line is no JSON object", why);
    }
    return RESULT_OK;
}

size_t merge_line_bytes(const char *line, size_t bytes)
{
    static const char key[] = ",\"wall_ns\":";
    size_t at = bytes >= 2 ? bytes - 2 : 0; /* without the brace and the end of the line */
    size_t digits = at;
    while (digits > 0 && line[digits - 1] >= '0' && line[digits - 1] <= '9') {
        digits--;
    }
    bool timed = digits >= sizeof key - 1 &&
                 memcmp(line + digits - (sizeof key - 1), key, sizeof key - 1) == 0;
    return timed ? digits - (sizeof key - 1) : at;
}

static struct result read_header(struct reading *reading, struct text *why)
{
    struct merge_shard *shard = reading->shard;
    const struct json *json = &reading->json;
    char version[VERSION_BYTES];
    char worlds[WORD_BYTES];
    char lines[WORD_BYTES];
    uint64_t numbers[9];
    static const char *const names[] = {"schema",         "shard", "of",
                                        "seed_first",     "seeds", "repeat",
                                        "time_scale_ppm", "files", "stop_at_first"};
    bool is_shard = json_is(json, 0, "type", "shard");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        is_shard = is_shard && json_number(json, 0, names[i], &numbers[i]);
    }
    if (!is_shard || !json_text(json, 0, "picklock", version, sizeof version)) {
        return wrong(reading, "this is no file of a shard", why);
    }
    if (numbers[0] != 1 || strcmp(version, PICKLOCK_VERSION) != 0) {
        text_add(why, "%s is of picklock %s, this is %s: one search takes one version", shard->path,
                 version, PICKLOCK_VERSION);
        return result_error(ERROR_SCHEMA);
    }
    bool words = json_text(json, 0, "worlds", worlds, sizeof worlds) &&
                 json_text(json, 0, "lines", lines, sizeof lines) &&
                 json_text(json, 0, "adapter", shard->adapter, sizeof shard->adapter) &&
                 words_index("world", worlds) >= 0 && words_index("lines", lines) >= 0;
    bool numbered = numbers[1] >= 1 && numbers[1] <= numbers[2] && numbers[2] <= SHARDS_MAX &&
                    numbers[4] >= 1 && numbers[5] >= 1 && numbers[5] <= UINT32_MAX &&
                    numbers[7] >= 1 && numbers[7] <= FILES_SCENARIOS_MAX && numbers[8] <= 1;
    if (!words || !numbered) {
        return wrong(reading, "this header says something impossible", why);
    }
    int world = words_index("world", worlds);
    shard->worlds[0] = world != 1;
    shard->worlds[1] = world >= 1;
    shard->lines = words_index("lines", lines) == 1 ? SHARD_LINES_UNMET : SHARD_LINES_ALL;
    shard->time_scale_ppm = (int64_t)numbers[6];
    shard->file_count = numbers[7];
    shard->stop_at_first = numbers[8] == 1;
    shard->runs = (struct agenda_order){
        .files = numbers[7],
        .worlds = world >= 2 ? 2 : 1,
        .seed_first = numbers[3],
        .seeds = numbers[4],
        .repeat = (uint32_t)numbers[5],
        .shard = (uint32_t)numbers[1],
        .shards = (uint32_t)numbers[2],
    };
    return RESULT_OK;
}

static const struct scenario *scenario_find(const struct merge_scenarios *scenarios,
                                            uint64_t content)
{
    for (size_t i = 0; i < scenarios->count; i++) {
        if (scenarios->list[i]->content == content) {
            return &scenarios->list[i]->scenario;
        }
    }
    return NULL;
}

/* Keep a scenario that no shard before this one had. */
static struct result scenario_keep(struct reading *reading, const struct scenario_source *source,
                                   struct merge_file *file, struct text *why)
{
    static char memory[2 * WHY_BYTES];
    struct text errors = text_over(memory, sizeof memory);
    struct merge_scenarios *scenarios = reading->scenarios;
    struct merge_scenario *kept = arena_take(reading->arena, sizeof *kept);
    if (kept == NULL || scenarios->count == FILES_SCENARIOS_MAX) {
        text_add(why, "%s: more than %d scenarios, or more than memory holds", reading->shard->path,
                 (int)FILES_SCENARIOS_MAX);
        return result_error(ERROR_LIMIT);
    }
    kept->content = file->content;
    if (result_failed(scenario_parse(source, reading->arena, &kept->scenario, &errors))) {
        return wrong(reading, "this scenario cannot be read", why);
    }
    scenarios->list[scenarios->count++] = kept;
    file->scenario = &kept->scenario;
    return RESULT_OK;
}

static struct result read_file(struct reading *reading, struct merge_file *file, struct text *why)
{
    static char text[MERGE_TEXT_BYTES];
    char path[FILES_PATH_BYTES];
    const struct json *json = &reading->json;
    if (!json_is(json, 0, "type", "file") || !json_hash(json, 0, "content", &file->content) ||
        !json_text(json, 0, "path", path, sizeof path) ||
        !json_text(json, 0, "text", text, sizeof text)) {
        return wrong(reading, "expected a line of a scenario's file", why);
    }
    if (file->content != hash_bytes(0, text, strlen(text))) {
        return wrong(reading, "this scenario is not what its hash says", why);
    }
    file->scenario = scenario_find(reading->scenarios, file->content);
    if (file->scenario != NULL) {
        return RESULT_OK;
    }
    struct scenario_source source = {.path = path, .bytes = text, .length = strlen(text)};
    return scenario_keep(reading, &source, file, why);
}

bool merge_run_read(const struct json *json, struct run_report *run)
{
    char status[WORD_BYTES];
    uint64_t virtual_ns = 0;
    uint64_t wall_ns = 0;
    memset(run, 0, sizeof *run);
    bool whole =
        json_is(json, 0, "type", "run") && json_text(json, 0, "status", status, sizeof status) &&
        json_number(json, 0, "seed", &run->seed) && json_number(json, 0, "run", &run->run) &&
        run->run >= 1 && json_number(json, 0, "events", &run->events) &&
        json_number(json, 0, "virtual_ns", &virtual_ns) &&
        json_text(json, 0, "library", run->library, sizeof run->library) &&
        json_text(json, 0, "why", run->sentences, sizeof run->sentences);
    (void)json_number(json, 0, "wall_ns", &wall_ns);
    (void)json_number(json, 0, "late_tries", &run->late_tries);
    report_causes_read(json, json_find(json, 0, "causes"), run);
    run->virtual_ns = (int64_t)virtual_ns;
    run->wall_ns = (int64_t)wall_ns;
    return whole && run_status_find(status, &run->status) &&
           report_checks_read(json, json_find(json, 0, "checks"), run);
}

/* Which of the shard's scenarios the line is about; SIZE_MAX if none. */
static size_t file_of_line(const struct reading *reading)
{
    uint64_t content;
    if (!json_hash(&reading->json, 0, "content", &content)) {
        return SIZE_MAX;
    }
    for (size_t i = 0; i < reading->shard->file_count; i++) {
        if (reading->shard->files[i].content == content) {
            return i;
        }
    }
    return SIZE_MAX;
}

static struct merge_part *part_of_line(const struct reading *reading, size_t *file)
{
    *file = file_of_line(reading);
    bool real = json_is(&reading->json, 0, "world", world_real.name);
    bool known = real || json_is(&reading->json, 0, "world", world_sim.name);
    if (*file == SIZE_MAX || !known || !reading->shard->worlds[real ? 1 : 0]) {
        return NULL;
    }
    return &reading->shard->files[*file].parts[real ? 1 : 0];
}

static struct result take_run(struct reading *reading, struct text *why)
{
    static struct run_report run;
    const struct merge_shard *shard = reading->shard;
    size_t file;
    struct merge_part *part = part_of_line(reading, &file);
    if (part == NULL || !merge_run_read(&reading->json, &run)) {
        return wrong(reading, "expected a run of a scenario of this shard", why);
    }
    if (!agenda_has(&shard->runs, file, run.run - 1) ||
        run.seed != agenda_seed(&shard->runs, run.run - 1)) {
        return wrong(reading, "this run is not this shard's", why);
    }
    /* Its lines stand together and grow, so that none stands twice. */
    if (part->begin == NULL) {
        part->begin = reading->line;
    } else if (part->end != reading->line || run.run <= part->last) {
        return wrong(reading, "this run is out of order", why);
    }
    part->end = reading->line + reading->bytes;
    part->last = run.run;
    part->lines++;
    return RESULT_OK;
}

static bool read_counts(const struct json *json, const char *key, uint64_t *counts)
{
    int32_t at = json_first(json, json_find(json, 0, key));
    for (size_t i = 0; i < check_count(); i++) {
        if (!json_at(json, at, &counts[i])) {
            return false;
        }
        at = json_next(json, at);
    }
    return at < 0;
}

static bool read_tally(const struct json *json, struct merge_tally *tally)
{
    return json_number(json, 0, "runs", &tally->runs) && json_number(json, 0, "met", &tally->met) &&
           json_number(json, 0, "unmet", &tally->unmet) &&
           json_number(json, 0, "unknown", &tally->unknown) &&
           json_number(json, 0, "errors", &tally->errors) &&
           json_number(json, 0, "violated", &tally->violated) &&
           json_number(json, 0, "first_violated", &tally->first_violated) &&
           read_counts(json, "failed", tally->failed) && read_counts(json, "open", tally->open) &&
           read_counts(json, "skipped", tally->skipped);
}

static struct result take_tally(struct reading *reading, struct text *why)
{
    size_t file;
    const struct merge_shard *shard = reading->shard;
    struct merge_part *part = part_of_line(reading, &file);
    if (part == NULL || part->counted || !read_tally(&reading->json, &part->tally)) {
        return wrong(reading, "expected the counts of a scenario of this shard", why);
    }
    const struct merge_tally *tally = &part->tally;
    bool all = shard->lines == SHARD_LINES_ALL;
    uint64_t others = tally->unmet + tally->unknown + tally->errors;
    uint64_t absent = 0;
    part->absent = json_number(&reading->json, 0, "absent", &absent) && absent != 0;
    uint64_t due = part->absent ? 0 : agenda_runs(&shard->runs, file * shard->runs.worlds);
    if (tally->runs != due || tally->met + others != tally->runs ||
        part->lines != (all ? tally->runs : others)) {
        return wrong(reading, "these counts are not those of the runs above", why);
    }
    part->counted = true;
    return RESULT_OK;
}

static struct result take_end(struct reading *reading, struct text *why)
{
    struct merge_shard *shard = reading->shard;
    uint64_t hash;
    if (!json_hash(&reading->json, 0, "hash", &hash) || hash != reading->hash) {
        return cut(reading, "changed or cut since it was written: its hash does not fit", why);
    }
    if (reading->line + reading->bytes != shard->bytes + shard->length) {
        return wrong(reading, "there is more behind the end line", why);
    }
    for (size_t i = 0; i < shard->file_count * MERGE_WORLDS; i++) {
        bool due = shard->worlds[i % MERGE_WORLDS];
        if (due && !shard->files[i / MERGE_WORLDS].parts[i % MERGE_WORLDS].counted) {
            return wrong(reading, "the counts of a scenario are missing", why);
        }
    }
    shard->hash = hash;
    return RESULT_OK;
}

/* It stands in every shard of its search. */
static struct result take_apart(struct reading *reading, struct text *why)
{
    struct apart_list *apart = &reading->scenarios->apart;
    if (apart->list == NULL) {
        apart->list = arena_take(reading->arena, FILES_SCENARIOS_MAX * sizeof *apart->list);
    }
    if (apart->list == NULL || apart->count == FILES_SCENARIOS_MAX) {
        return wrong(reading, "more scenarios that do not apply than there is room for", why);
    }
    struct apart *one = &apart->list[apart->count];
    memset(one, 0, sizeof *one);
    if (!json_text(&reading->json, 0, "scenario", one->name, sizeof one->name) ||
        !json_text(&reading->json, 0, "why", one->why, sizeof one->why)) {
        return wrong(reading, "expected a scenario that does not apply, and why", why);
    }
    for (size_t i = 0; i < apart->count; i++) {
        if (strcmp(apart->list[i].name, one->name) == 0 &&
            strcmp(apart->list[i].why, one->why) == 0) {
            return RESULT_OK;
        }
    }
    apart->count++;
    return RESULT_OK;
}

static struct result read_lines(struct reading *reading, struct text *why)
{
    for (;;) {
        TRY(next_line(reading, why));
        size_t bytes = reading->bytes;
        if (json_is(&reading->json, 0, "type", "end")) {
            return take_end(reading, why);
        }
        if (json_is(&reading->json, 0, "type", "tally")) {
            TRY(take_tally(reading, why));
        } else if (json_is(&reading->json, 0, "type", "apart")) {
            TRY(take_apart(reading, why));
        } else {
            TRY(take_run(reading, why));
            bytes = merge_line_bytes(reading->line, reading->bytes);
        }
        reading->hash = hash_bytes(reading->hash, reading->line, bytes);
    }
}

/* What was searched, without which part of it this is, and without where the files lay. */
static uint64_t search_hash(const struct merge_shard *shard)
{
    uint64_t numbers[] = {shard->runs.seed_first, shard->runs.seeds, shard->runs.repeat,
                          shard->worlds[0], shard->worlds[1]};
    uint64_t hash = hash_bytes(0, (const char *)numbers, sizeof numbers);
    for (size_t i = 0; i < shard->file_count; i++) {
        const uint64_t *content = &shard->files[i].content;
        hash = hash_bytes(hash, (const char *)content, sizeof *content);
        for (size_t w = 0; w < MERGE_WORLDS; w++) {
            hash = shard->files[i].parts[w].absent ? hash_bytes(hash, (const char *)&w, sizeof w)
                                                   : hash;
        }
    }
    return hash;
}

static struct result read_all(struct reading *reading, struct text *why)
{
    struct merge_shard *shard = reading->shard;
    TRY(next_line(reading, why));
    TRY(read_header(reading, why));
    reading->hash = hash_bytes(reading->hash, reading->line, reading->bytes);
    shard->files = arena_take(reading->arena, shard->file_count * sizeof *shard->files);
    if (shard->files == NULL) {
        text_add(why, "%s: out of memory", shard->path);
        return result_error(ERROR_IO);
    }
    for (size_t i = 0; i < shard->file_count; i++) {
        TRY(next_line(reading, why));
        TRY(read_file(reading, &shard->files[i], why));
        reading->hash = hash_bytes(reading->hash, reading->line, reading->bytes);
    }
    TRY(read_lines(reading, why));
    shard->search = search_hash(shard);
    return RESULT_OK;
}

static struct result map_file(struct merge_shard *shard, struct text *why)
{
    struct stat info;
    int fd = open(shard->path, O_RDONLY | O_CLOEXEC);
    bool read = fd >= 0 && fstat(fd, &info) == 0;
    void *bytes = NULL;
    if (read && S_ISREG(info.st_mode) && info.st_size > 0) {
        bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        read = bytes != MAP_FAILED;
    }
    int error = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (!read) {
        text_add(why, "cannot read %s: %s", shard->path, strerror(error));
        return result_error(ERROR_IO);
    }
    shard->bytes = bytes;
    shard->length = bytes != NULL ? (size_t)info.st_size : 0;
    return RESULT_OK;
}

struct result merge_read(const char *path, struct arena *arena, struct merge_scenarios *scenarios,
                         struct merge_shard *shard, struct text *why)
{
    static struct reading reading;
    *shard = (struct merge_shard){.path = path};
    TRY(map_file(shard, why));
    reading.shard = shard;
    reading.arena = arena;
    reading.scenarios = scenarios;
    reading.line = shard->bytes;
    reading.bytes = 0;
    reading.number = reading.hash = 0;
    struct result result = read_all(&reading, why);
    if (result_failed(result)) {
        merge_release(shard);
    }
    return result;
}

void merge_release(struct merge_shard *shard)
{
    if (shard->bytes != NULL) {
        (void)munmap((void *)(uintptr_t)shard->bytes, shard->length);
        shard->bytes = NULL;
    }
}

/* shard.c: the file that a shard of a search leaves. */
#include "cli/shard.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/version.h"
#include "cli/hash.h"
#include "cli/report_json.h"
#include "cli/words.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { SHARD_TEXT_BYTES = 512 * 1024 };

struct shard {
    FILE *file;
    uint64_t hash;
    uint64_t runs;
    uint64_t errors;
    struct shard_order order;
    char path[FILES_PATH_BYTES];
    char part[FILES_PATH_BYTES]; /* where it is written; empty once it has its name */
};

bool shard_parse(const char *word, uint32_t *shard, uint32_t *shards)
{
    char *slash;
    char *end;
    unsigned long k = strtoul(word, &slash, 10);
    unsigned long n = *slash == '/' ? strtoul(slash + 1, &end, 10) : 0;
    if (word[0] < '0' || word[0] > '9' || *slash != '/' || slash[1] < '0' || slash[1] > '9' ||
        *end != '\0' || k < 1 || k > n || n > SHARDS_MAX) {
        return false;
    }
    *shard = (uint32_t)k;
    *shards = (uint32_t)n;
    return true;
}

void shard_path(const char *out, uint32_t shard, uint32_t shards, struct text *path)
{
    text_add(path, "%s/shard-%" PRIu32 "-of-%" PRIu32 ".jsonl", out, shard, shards);
}

static struct result shard_refused(const struct shard *shard, int error, struct text *why)
{
    text_add(why,
             "cannot write %s: %s; shard %" PRIu32 "/%" PRIu32
             " leaves no file and must be run again",
             shard->path, strerror(error), shard->order.runs->shard, shard->order.runs->shards);
    return result_error(ERROR_IO);
}

static struct result shard_put(struct shard *shard, const struct text *line, struct text *why)
{
    ASSERT(!line->cut);
    if (fwrite(line->data, 1, line->length, shard->file) != line->length || ferror(shard->file)) {
        return shard_refused(shard, errno, why);
    }
    return RESULT_OK;
}

static struct result shard_write(struct shard *shard, const struct text *line, struct text *why)
{
    shard->hash = hash_bytes(shard->hash, line->data, line->length);
    return shard_put(shard, line, why);
}

static void print_header(const struct shard_order *order, struct text *line)
{
    text_add(line,
             "{\"type\":\"shard\",\"schema\":1,\"picklock\":\"%s\",\"shard\":%" PRIu32
             ",\"of\":%" PRIu32 ",\"seed_first\":%" PRIu64 ",\"seeds\":%" PRIu64
             ",\"repeat\":%" PRIu32 ",\"worlds\":\"%s\",\"time_scale_ppm\":%" PRId64
             ",\"stop_at_first\":%d,\"lines\":\"%s\",\"files\":%zu,\"adapter\":",
             PICKLOCK_VERSION, order->runs->shard, order->runs->shards, order->runs->seed_first,
             order->runs->seeds, order->runs->repeat, order->worlds, order->time_scale_ppm,
             order->stop_at_first ? 1 : 0, words_at("lines", order->lines),
             order->scenarios->count);
    text_add_json(line, order->adapter != NULL ? order->adapter : "");
    text_add(line, "}\n");
}

static struct result shard_begin(struct shard *shard, struct text *line, struct text *why)
{
    const struct scenario_list *scenarios = shard->order.scenarios;
    char *memory = memory_resize(NULL, SHARD_TEXT_BYTES);
    struct result result = RESULT_OK;
    if (memory == NULL) {
        text_add(why, "out of memory for %s", shard->path);
        return result_error(ERROR_IO);
    }
    print_header(&shard->order, line);
    result = shard_write(shard, line, why);
    for (size_t i = 0; i < scenarios->count && !result_failed(result); i++) {
        struct text canonical = text_over(memory, SHARD_TEXT_BYTES);
        scenario_print(&scenarios->list[i], &canonical);
        text_clear(line);
        text_add(line, "{\"type\":\"file\",\"content\":\"%016" PRIx64 "\",\"path\":",
                 scenarios->contents[i]);
        text_add_json(line, scenarios->list[i].path);
        text_add(line, ",\"text\":");
        text_add_json(line, canonical.data);
        text_add(line, "}\n");
        result = shard_write(shard, line, why);
    }
    for (size_t i = 0; i < shard->order.apart->count && !result_failed(result); i++) {
        text_clear(line);
        apart_print(&shard->order.apart->list[i], line);
        result = shard_write(shard, line, why);
    }
    memory_release(memory);
    return result;
}

/* Open what becomes the file, so that nobody else writes it at the same time. */
static struct result shard_take(struct shard *shard, struct text *why)
{
    int fd = open(shard->part, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
        return shard_refused(shard, errno, why);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int error = errno;
        (void)close(fd);
        shard->part[0] = '\0'; /* another's */
        if (error != EWOULDBLOCK) {
            return shard_refused(shard, error, why);
        }
        text_add(why, "%s: another picklock is at work on this shard", shard->path);
        return result_error(ERROR_IO);
    }
    if (ftruncate(fd, 0) != 0) {
        int error = errno;
        (void)close(fd);
        return shard_refused(shard, error, why);
    }
    shard->file = fdopen(fd, "w");
    ASSERT(shard->file != NULL);
    return RESULT_OK;
}

/* A run is told from others by what its scenario says: so no two of them may say the same. */
static struct result shard_check_files(const struct scenario_list *scenarios, struct text *why)
{
    for (size_t i = 0; i < scenarios->count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (scenarios->contents[i] == scenarios->contents[j]) {
                text_add(why, "%s and %s say the same; a shard counts each scenario once",
                         scenarios->list[j].path, scenarios->list[i].path);
                return result_error(ERROR_USAGE);
            }
        }
    }
    return RESULT_OK;
}

struct result shard_open(const struct shard_order *order, struct shard **opened, struct text *why)
{
    TRY(shard_check_files(order->scenarios, why));
    TRY(folder_make(order->out, why));
    struct shard *shard = memory_resize(NULL, sizeof *shard);
    char *memory = memory_resize(NULL, 2 * SHARD_TEXT_BYTES);
    if (shard == NULL || memory == NULL) {
        memory_release(shard);
        memory_release(memory);
        text_add(why, "out of memory for the file of a shard");
        return result_error(ERROR_IO);
    }
    *shard = (struct shard){.order = *order};
    struct text path = text_over(shard->path, sizeof shard->path);
    struct text part = text_over(shard->part, sizeof shard->part);
    shard_path(order->out, order->runs->shard, order->runs->shards, &path);
    text_add(&part, "%s.part", shard->path);
    struct result result = RESULT_OK;
    if (part.cut) {
        text_add(why, "%.60s...: the path is too long", order->out);
        result = result_error(ERROR_LIMIT);
    } else {
        result = shard_take(shard, why);
    }
    if (!result_failed(result)) {
        struct text line = text_over(memory, 2 * SHARD_TEXT_BYTES);
        result = shard_begin(shard, &line, why);
    }
    memory_release(memory);
    if (result_failed(result)) {
        shard_close(shard);
        return result;
    }
    *opened = shard;
    return RESULT_OK;
}

struct result shard_run(struct shard *shard, const struct report_group *group,
                        const struct run_report *run, const struct text *line, struct text *why)
{
    static char memory[REPORT_LINE_BYTES];
    struct text whole = text_over(memory, sizeof memory);
    ASSERT(group->runs > 0);
    shard->runs++;
    shard->errors += run->status == RUN_ERROR;
    if (shard->order.lines == SHARD_LINES_UNMET && run->status == RUN_MET) {
        return RESULT_OK;
    }
    text_add_bytes(&whole, line->data, line->length);
    shard->hash = hash_bytes(shard->hash, line->data, line->length);
    report_line_end(run, shard->order.timing, &whole);
    return shard_put(shard, &whole, why);
}

static void print_counts(const char *name, const uint64_t *counts, struct text *line)
{
    text_add(line, ",\"%s\":[", name);
    for (size_t i = 0; i < check_count(); i++) {
        text_add(line, "%s%" PRIu64, i > 0 ? "," : "", counts[i]);
    }
    text_add(line, "]");
}

static void print_tally(const struct report_group *group, struct text *line)
{
    text_add(line, "{\"type\":\"tally\",\"content\":\"%016" PRIx64 "\",\"world\":\"%s\"",
             group->content, group->world);
    text_add(line,
             ",\"runs\":%" PRIu64 ",\"met\":%" PRIu64 ",\"unmet\":%" PRIu64 ",\"unknown\":%" PRIu64
             ",\"errors\":%" PRIu64 ",\"violated\":%" PRIu64 ",\"first_violated\":%" PRIu64,
             group->runs, group->met, group->unmet, group->unknown, group->errors, group->violated,
             group->first_violated);
    print_counts("failed", group->failed, line);
    print_counts("open", group->open, line);
    print_counts("skipped", group->skipped, line);
    text_add(line, "%s}\n", group->absent ? ",\"absent\":1" : "");
}

/* On the disk under its name, or not at all. */
static struct result shard_settle(struct shard *shard, struct text *why)
{
    bool written = fflush(shard->file) == 0 && fsync(fileno(shard->file)) == 0;
    if (!written || rename(shard->part, shard->path) != 0) {
        return shard_refused(shard, errno, why);
    }
    shard->part[0] = '\0';
    int folder = open(shard->order.out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        (void)fsync(folder); /* a name that a crash takes back is a shard to be run again */
        (void)close(folder);
    }
    return RESULT_OK;
}

struct result shard_finish(struct shard *shard, const struct report_group *groups, size_t count,
                           struct text *why)
{
    char memory[8 * 1024];
    struct text line = text_over(memory, sizeof memory);
    for (size_t i = 0; i < count; i++) {
        text_clear(&line);
        print_tally(&groups[i], &line);
        TRY(shard_write(shard, &line, why));
    }
    text_clear(&line);
    text_add(&line,
             "{\"type\":\"end\",\"shard\":%" PRIu32 ",\"of\":%" PRIu32 ",\"runs\":%" PRIu64
             ",\"errors\":%" PRIu64 ",\"hash\":\"%016" PRIx64 "\"}\n",
             shard->order.runs->shard, shard->order.runs->shards, shard->runs, shard->errors,
             shard->hash);
    TRY(shard_write(shard, &line, why));
    return shard_settle(shard, why);
}

void shard_close(struct shard *shard)
{
    if (shard->part[0] != '\0') {
        (void)unlink(shard->part);
    }
    if (shard->file != NULL) {
        (void)fclose(shard->file); /* what mattered was flushed when it was finished */
    }
    memory_release(shard);
}

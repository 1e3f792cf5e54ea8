/* merge_join.c: the runs of many shards as those of one run. */
#include "cli/merge_join.h"

#include "base/assert.h"
#include "base/foreign.h"
#include "cli/report_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MISSING_TOLD_MAX = 20 };

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Of one search together, by number. Searches go by where their seeds begin. */
static int by_search(const void *one, const void *other)
{
    const struct merge_shard *a = one;
    const struct merge_shard *b = other;
    int first = compare_numbers(a->runs.seed_first, b->runs.seed_first);
    int search = compare_numbers(a->search, b->search);
    int cut = compare_numbers(a->runs.shards, b->runs.shards);
    int number = compare_numbers(a->runs.shard, b->runs.shard);
    return first != 0 ? first : search != 0 ? search : cut != 0 ? cut : number;
}

static bool same_cut(const struct merge_shard *a, const struct merge_shard *b)
{
    return a->search == b->search && a->runs.shards == b->runs.shards;
}

/* Take out what is there twice. */
static struct result drop_doubles(struct merge_shards *shards, struct text *why)
{
    size_t kept = 0;
    for (size_t i = 0; i < shards->count; i++) {
        struct merge_shard *shard = &shards->list[i];
        struct merge_shard *before = kept > 0 ? &shards->list[kept - 1] : NULL;
        bool twice =
            before != NULL && same_cut(before, shard) && before->runs.shard == shard->runs.shard;
        if (!twice) {
            shards->list[kept++] = *shard;
            continue;
        }
        if (before->hash != shard->hash) {
            text_add(why,
                     "two results of shard %" PRIu32 "/%" PRIu32
                     ": %s and %s differ; leave out one of them",
                     shard->runs.shard, shard->runs.shards, before->path, shard->path);
            return result_error(ERROR_SCHEMA);
        }
        fprintf(stderr, "picklock: ");
        foreign_print_line(stderr, before->path);
        fprintf(stderr, " and ");
        foreign_print_line(stderr, shard->path);
        fprintf(stderr, " are the same shard %" PRIu32 "/%" PRIu32 ": counted once\n",
                shard->runs.shard, shard->runs.shards);
        merge_release(shard);
    }
    shards->count = kept;
    return RESULT_OK;
}

/* What all must have in common. */
static struct result check_alike(const struct merge_shards *shards, struct text *why)
{
    const struct merge_shard *first = &shards->list[0];
    bool counted = false;
    for (size_t i = 0; i < shards->count; i++) {
        const struct merge_shard *shard = &shards->list[i];
        const char *what = strcmp(shard->adapter, first->adapter) != 0      ? "adapter"
                           : shard->time_scale_ppm != first->time_scale_ppm ? "time scale"
                           : shard->stop_at_first != first->stop_at_first
                               ? "kind of --stop-at-first"
                           : shard->lines != first->lines ? "kind of --lines"
                                                          : NULL;
        if (what != NULL) {
            text_add(why, "%s and %s are of another %s: they cannot be put together", first->path,
                     shard->path, what);
            return result_error(ERROR_SCHEMA);
        }
        counted = counted || (shard->lines == SHARD_LINES_UNMET && !same_cut(first, shard));
    }
    if (counted) {
        text_add(why, "these shards have lines of unmet runs only, and are of several searches: "
                      "what they share could not be counted once");
        return result_error(ERROR_SCHEMA);
    }
    return RESULT_OK;
}

/* Whether some cut of the search that begins at `first` is whole; counts of the last one what is
 * missing. */
static size_t count_missing(const struct merge_shards *shards, size_t first, size_t end)
{
    size_t least = SIZE_MAX;
    for (size_t i = first; i < end;) {
        size_t there = i;
        while (there < end && same_cut(&shards->list[i], &shards->list[there])) {
            there++;
        }
        size_t missing = shards->list[i].runs.shards - (there - i);
        least = missing < least ? missing : least;
        i = there;
    }
    return least;
}

static void tell_missing(const struct merge_shards *shards, size_t first, size_t end)
{
    const struct merge_shard *shard = &shards->list[first];
    uint32_t due = 1;
    size_t told = 0;
    fprintf(stderr, "picklock: missing of the search with seeds %" PRIu64 "..%" PRIu64 ": shard",
            shard->runs.seed_first, shard->runs.seed_first + shard->runs.seeds - 1);
    for (size_t i = first; i <= end; i++) {
        bool last = i == end || !same_cut(shard, &shards->list[i]);
        uint32_t next = last ? shard->runs.shards + 1 : shards->list[i].runs.shard;
        for (; due < next && told < MISSING_TOLD_MAX; due++, told++) {
            fprintf(stderr, " %" PRIu32 "/%" PRIu32, due, shard->runs.shards);
        }
        due = next + 1;
        if (last) {
            break;
        }
    }
    fprintf(stderr, "%s; run what is missing again\n", told == MISSING_TOLD_MAX ? " ..." : "");
}

struct result merge_order(struct merge_shards *shards, size_t *missing, struct text *why)
{
    ASSERT(shards->count > 0);
    qsort(shards->list, shards->count, sizeof *shards->list, by_search);
    TRY(drop_doubles(shards, why));
    TRY(check_alike(shards, why));
    *missing = 0;
    for (size_t first = 0; first < shards->count;) {
        size_t end = first;
        while (end < shards->count && shards->list[end].search == shards->list[first].search) {
            end++;
        }
        size_t lost = count_missing(shards, first, end);
        if (lost > 0) {
            tell_missing(shards, first, end);
        }
        *missing += lost;
        first = end;
    }
    return RESULT_OK;
}

/* Where one shard stands in one group. */
struct stream {
    const struct merge_shard *shard;
    const char *line;
    const char *end;
    size_t bytes;        /* of the line, with its end */
    uint64_t repetition; /* of its run */
    struct run_report run;
};

static void stream_read(struct stream *stream, struct json *json)
{
    size_t left = (size_t)(stream->end - stream->line);
    if (left == 0) {
        return;
    }
    const char *end = memchr(stream->line, '\n', left);
    ASSERT(end != NULL);
    stream->bytes = (size_t)(end - stream->line) + 1;
    bool read = json_read(json, stream->line, stream->bytes) && merge_run_read(json, &stream->run);
    ASSERT(read); /* merge_read has seen it */
    stream->repetition = (stream->run.run - 1) / stream->shard->runs.seeds;
}

static int compare_runs(const struct stream *a, const struct stream *b)
{
    int repetition = compare_numbers(a->repetition, b->repetition);
    return repetition != 0 ? repetition : compare_numbers(a->run.seed, b->run.seed);
}

static bool same_outcome(const struct run_report *a, const struct run_report *b)
{
    return a->status == b->status && a->events == b->events && a->unmet == b->unmet &&
           memcmp(a->verdicts, b->verdicts, sizeof a->verdicts) == 0 &&
           memcmp(a->blames, b->blames, sizeof a->blames) == 0;
}

struct joining {
    struct stream *streams; /* one a shard, in the arena */
    size_t count;           /* of those that have runs of this group */
    struct json json;
};

/* The stream with the first run; the others that have the same run go on to their next. */
static struct result take_first(struct joining *joining, bool sim, struct stream **taken,
                                struct text *why)
{
    struct stream *first = NULL;
    for (size_t i = 0; i < joining->count; i++) {
        struct stream *stream = &joining->streams[i];
        bool ended = stream->line == stream->end;
        if (!ended && (first == NULL || compare_runs(stream, first) < 0)) {
            first = stream;
        }
    }
    *taken = first;
    for (size_t i = 0; i < joining->count && first != NULL; i++) {
        struct stream *stream = &joining->streams[i];
        if (stream == first || stream->line == stream->end || compare_runs(stream, first) != 0) {
            continue;
        }
        if (sim && !same_outcome(&stream->run, &first->run)) {
            text_add(why,
                     "%s and %s have another result of seed %" PRIu64
                     " in the simulator: a bug of picklock, please report it",
                     first->shard->path, stream->shard->path, first->run.seed);
            return result_error(ERROR_SCHEMA);
        }
        stream->line += stream->bytes;
        stream_read(stream, &joining->json);
    }
    return RESULT_OK;
}

static const struct merge_file *file_of(const struct merge_shard *shard, uint64_t content)
{
    for (size_t i = 0; i < shard->file_count; i++) {
        if (shard->files[i].content == content) {
            return &shard->files[i];
        }
    }
    return NULL;
}

static void add_counts(struct report_group *group, const struct merge_tally *tally)
{
    group->runs += tally->runs;
    group->met += tally->met;
    group->unmet += tally->unmet;
    group->unknown += tally->unknown;
    group->errors += tally->errors;
    group->violated += tally->violated;
    bool earlier = group->first_violated == 0 || tally->first_violated < group->first_violated;
    if (tally->first_violated > 0 && earlier) {
        group->first_violated = tally->first_violated;
    }
    for (size_t i = 0; i < RUN_CHECKS_MAX; i++) {
        group->failed[i] += tally->failed[i];
        group->open[i] += tally->open[i];
        group->skipped[i] += tally->skipped[i];
    }
}

static struct result join_group(struct joining *joining, const struct merge_told *told,
                                struct report_group *group, struct text *why)
{
    static char memory[REPORT_LINE_BYTES];
    bool sim = strcmp(group->world, world_sim.name) == 0;
    bool counted = joining->count > 0 && joining->streams[0].shard->lines == SHARD_LINES_UNMET;
    for (size_t i = 0; i < joining->count; i++) {
        stream_read(&joining->streams[i], &joining->json);
    }
    for (;;) {
        struct stream *stream;
        TRY(take_first(joining, sim, &stream, why));
        if (stream == NULL) {
            break;
        }
        struct text line = text_over(memory, sizeof memory);
        text_add_bytes(&line, stream->line, merge_line_bytes(stream->line, stream->bytes));
        if (counted) {
            report_add_kind(group, &stream->run);
        } else {
            report_add(group, &stream->run);
        }
        told->run(told->context, &stream->run, &line);
        stream->line += stream->bytes;
        stream_read(stream, &joining->json);
    }
    return RESULT_OK;
}

/* The streams of one scenario in one world, and its counts where lines are not all there. */
static void open_streams(const struct merge_shards *shards, size_t world, struct joining *joining,
                         struct report_group *group)
{
    joining->count = 0;
    for (size_t i = 0; i < shards->count; i++) {
        const struct merge_shard *shard = &shards->list[i];
        const struct merge_file *file = file_of(shard, group->content);
        if (file == NULL || !shard->worlds[world]) {
            continue;
        }
        const struct merge_part *part = &file->parts[world];
        joining->streams[joining->count++] =
            (struct stream){.shard = shard, .line = part->begin, .end = part->end};
        if (shard->lines == SHARD_LINES_UNMET) {
            add_counts(group, &part->tally);
        }
    }
}

/* Whether a shard before this one has the scenario too. Those of one search stand together. */
static bool seen_before(const struct merge_shards *shards, size_t shard, size_t file)
{
    if (shard > 0 && shards->list[shard - 1].search == shards->list[shard].search) {
        return true;
    }
    for (size_t i = 0; i < shard; i++) {
        bool of_another = i == 0 || shards->list[i - 1].search != shards->list[i].search;
        if (of_another &&
            file_of(&shards->list[i], shards->list[shard].files[file].content) != NULL) {
            return true;
        }
    }
    return false;
}

size_t merge_file_count(const struct merge_shards *shards)
{
    size_t count = 0;
    for (size_t i = 0; i < shards->count; i++) {
        for (size_t f = 0; f < shards->list[i].file_count; f++) {
            count += seen_before(shards, i, f) ? 0 : 1;
        }
    }
    return count;
}

static struct result join_file(const struct merge_shards *shards, const struct merge_file *file,
                               struct joining *joining, const struct merge_told *told,
                               struct text *why)
{
    for (size_t world = 0; world < MERGE_WORLDS; world++) {
        struct report_group *group = told->begin(told->context, file);
        group->scenario = file->scenario;
        group->content = file->content;
        group->world = world == 0 ? world_sim.name : world_real.name;
        open_streams(shards, world, joining, group);
        TRY(join_group(joining, told, group, why));
        told->group(told->context, group);
    }
    return RESULT_OK;
}

struct result merge_join(const struct merge_shards *shards, struct arena *arena,
                         const struct merge_told *told, struct text *why)
{
    struct joining *joining = arena_take(arena, sizeof *joining);
    struct stream *streams = arena_take(arena, shards->count * sizeof *streams);
    if (joining == NULL || streams == NULL) {
        text_add(why, "out of memory for %zu shards", shards->count);
        return result_error(ERROR_IO);
    }
    joining->streams = streams;
    for (size_t i = 0; i < shards->count; i++) {
        for (size_t f = 0; f < shards->list[i].file_count; f++) {
            if (!seen_before(shards, i, f)) {
                TRY(join_file(shards, &shards->list[i].files[f], joining, told, why));
            }
        }
    }
    return RESULT_OK;
}

const struct merge_shard *merge_shard_of(const struct merge_shards *shards,
                                         const struct report_group *group,
                                         const struct run_report *run)
{
    for (size_t i = 0; i < shards->count; i++) {
        const struct merge_shard *shard = &shards->list[i];
        for (size_t f = 0; f < shard->file_count; f++) {
            if (shard->files[f].content == group->content &&
                agenda_has(&shard->runs, f, run->run - 1)) {
                return shard;
            }
        }
    }
    return NULL;
}

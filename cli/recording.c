/* recording.c: keeps a run's events in memory, in order, and lets the checks watch. */
#include "cli/recording.h"

#include "base/arena.h"
#include "base/assert.h"
#include "checker/judge.h"
#include "history/writer.h"

#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { RECORDING_LINE_BYTES = 4096, RECORDING_SHARE = 4 };

/* A run may record that much, or its share of a smaller machine's memory: jobs run beside it, and
 * what is out of order is sorted in as much again. */
#define RECORDING_BYTES_MAX (4 * GIBIBYTE)

/* From this part of it on it is looked at how much the whole run would take; what would take more
 * than there is by that many percent is given up: it is an estimate. */
enum { RECORDING_LOOK_PART = 16, RECORDING_BEYOND_PERCENT = 125 };

struct recording {
    struct recorder recorder; /* first: the world knows us by it */
    struct history_event *events;
    size_t count;
    size_t capacity;
    bool in_order; /* no event came with a time before its forerunner's */
    bool full;     /* that many events are as many as there is memory for */
    double beyond; /* full before that: what the whole run would take, in bytes; else 0 */
    struct recording_length length;
    uint64_t entered; /* sections */
    bool stop_at_first;
    struct history_header header;
    void *judge; /* judge.h: live while running, the final one after recording_judge */
    size_t judge_bytes;
    uint64_t live_index;
    int64_t live_ns;
};

static void recording_watch(struct recording *recording, const struct history_event *event)
{
    /* Live watching takes events as they come; one that is late is left to the final judgement, and
     * so is a run with threads: whose an event is may turn out later. */
    if (!recording->stop_at_first || recording->judge == NULL ||
        recording->header.thread_count > 1 || event->time_ns < recording->live_ns) {
        return;
    }
    struct history_event copy = *event;
    copy.index = recording->live_index++;
    recording->live_ns = event->time_ns;
    judge_event(recording->judge, &copy);
}

static size_t recording_bytes_max(void)
{
    size_t machine = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    size_t share = machine / RECORDING_SHARE;
    return share < RECORDING_BYTES_MAX ? share : RECORDING_BYTES_MAX;
}

/* What the run would take if it went on as it has begun, to its end or its last section; 0 as long
 * as too little of it is seen. */
static double recording_would_take(const struct recording *recording)
{
    const struct recording_length *length = &recording->length;
    int64_t now_ns = recording->count > 0 ? recording->events[recording->count - 1].time_ns : 0;
    if (now_ns <= length->cycle_ns || length->duration_ns <= 0) {
        return 0;
    }
    double done = (double)now_ns / (double)length->duration_ns;
    double entered = (double)recording->entered / (double)(length->sections + 1);
    return (double)(recording->count * sizeof *recording->events) /
           (done > entered ? done : entered);
}

static bool recording_grow(struct recording *recording)
{
    size_t bytes_max = recording_bytes_max();
    double whole = recording_would_take(recording);
    if (recording->capacity * sizeof *recording->events >= bytes_max / RECORDING_LOOK_PART &&
        whole > (double)bytes_max * RECORDING_BEYOND_PERCENT / 100) {
        recording->beyond = whole;
        return false;
    }
    size_t capacity = recording->capacity == 0 ? 1024 : recording->capacity * 2;
    size_t bytes = capacity * sizeof *recording->events;
    struct history_event *events =
        bytes > bytes_max ? NULL : memory_resize(recording->events, bytes);
    if (events == NULL) {
        return false;
    }
    recording->events = events;
    recording->capacity = capacity;
    return true;
}

static void recording_event(struct recorder *recorder, const struct history_event *event)
{
    struct recording *recording = (struct recording *)recorder;
    if (recording->count == recording->capacity && !recording_grow(recording)) {
        recording->full = true;
        return;
    }
    if (recording->count > 0 && event->time_ns < recording->events[recording->count - 1].time_ns) {
        recording->in_order = false;
    }
    recording->events[recording->count] = *event;
    recording->events[recording->count].index = recording->count;
    recording->count++;
    recording->entered += event->f == HISTORY_ENTER;
    recording_watch(recording, event);
}

/* Replies come while events are still in the order in which they were handed over. What ended by
 * itself between two events of one command was sent by nobody. */
static void recording_replied(struct recorder *recorder, uint64_t event, int64_t time_ns)
{
    struct recording *recording = (struct recording *)recorder;
    if (event >= recording->count) {
        ASSERT(recording->full);
        return;
    }
    struct history_event *told = &recording->events[event];
    ASSERT(told->kind == HISTORY_NODE);
    if ((told->flags & HISTORY_HAS_SENT) != 0) {
        ASSERT(time_ns >= told->time_ns);
        told->replied_ns = time_ns;
        told->flags |= HISTORY_HAS_REPLIED;
    }
}

static void recording_whose(struct recorder *recorder, uint64_t event, int32_t client)
{
    struct recording *recording = (struct recording *)recorder;
    if (event >= recording->count) {
        ASSERT(recording->full);
        return;
    }
    ASSERT(recording->events[event].kind == HISTORY_NODE);
    recording->events[event].process = client;
}

static bool recording_should_stop(struct recorder *recorder)
{
    struct recording *recording = (struct recording *)recorder;
    return recording->full ||
           (recording->stop_at_first && recording->judge != NULL && judge_failed(recording->judge));
}

struct recording *recording_open(bool stop_at_first)
{
    struct recording *recording = memory_resize(NULL, sizeof *recording);
    if (recording == NULL) {
        return NULL;
    }
    memset(recording, 0, sizeof *recording);
    recording->recorder.event = recording_event;
    recording->recorder.replied = recording_replied;
    recording->recorder.whose = recording_whose;
    recording->recorder.should_stop = recording_should_stop;
    recording->in_order = true;
    recording->stop_at_first = stop_at_first;
    return recording;
}

struct recorder *recording_recorder(struct recording *recording)
{
    return &recording->recorder;
}

static struct result recording_new_judge(struct recording *recording,
                                         const struct history_header *header, struct text *why)
{
    size_t bytes = judge_bytes(header, JUDGE_ALL);
    if (bytes > recording->judge_bytes) {
        void *judge = memory_resize(recording->judge, bytes);
        if (judge == NULL) {
            text_add(why, "out of memory: the checks need %zu bytes", bytes);
            return result_error(ERROR_IO);
        }
        recording->judge = judge;
        recording->judge_bytes = bytes;
    }
    recording->header = *header;
    (void)judge_init(recording->judge, header, JUDGE_ALL);
    return RESULT_OK;
}

struct result recording_begin(struct recording *recording, const struct history_header *header,
                              struct text *why)
{
    recording->live_index = 0;
    recording->live_ns = INT64_MIN;
    return recording->stop_at_first ? recording_new_judge(recording, header, why) : RESULT_OK;
}

void recording_expect(struct recording *recording, const struct recording_length *length)
{
    recording->length = *length;
}

/* Stable merge sort by time: events of one process keep their order. */
static struct result recording_sort(struct recording *recording, struct text *why)
{
    size_t count = recording->count;
    if (recording->in_order || count < 2) {
        return RESULT_OK;
    }
    struct history_event *from = recording->events;
    struct history_event *to = memory_resize(NULL, recording->capacity * sizeof *to);
    if (to == NULL) {
        text_add(why, "out of memory while sorting %zu events", count);
        return result_error(ERROR_IO);
    }
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t start = 0; start < count; start += 2 * width) {
            size_t middle = start + width < count ? start + width : count;
            size_t end = start + 2 * width < count ? start + 2 * width : count;
            size_t a = start;
            size_t b = middle;
            for (size_t i = start; i < end; i++) {
                bool take_a = a < middle && (b == end || from[a].time_ns <= from[b].time_ns);
                to[i] = take_a ? from[a++] : from[b++];
            }
        }
        struct history_event *other = from;
        from = to;
        to = other;
    }
    recording->events = from;
    memory_release(to);
    recording->in_order = true;
    return RESULT_OK;
}

struct result recording_judge(struct recording *recording, const struct history_header *header,
                              struct text *why)
{
    if (recording->beyond > 0) {
        text_add(why,
                 "no memory for this run: to its end its events would take about %.0f GiB, and one "
                 "run may have %.1f GiB; take fewer clients or nodes, or less time",
                 recording->beyond / (double)GIBIBYTE,
                 (double)recording_bytes_max() / (double)GIBIBYTE);
        return result_error(ERROR_IO);
    }
    if (recording->full) {
        text_add(why,
                 "no memory for more than %zu events of one run, which take %.1f GiB; take fewer "
                 "clients or nodes, or less time",
                 recording->count,
                 (double)(recording->count * sizeof *recording->events) / (double)GIBIBYTE);
        return result_error(ERROR_IO);
    }
    TRY(recording_sort(recording, why));
    TRY(recording_new_judge(recording, header, why));
    for (size_t i = 0; i < recording->count; i++) {
        recording->events[i].index = i;
        judge_event(recording->judge, &recording->events[i]);
    }
    judge_finish(recording->judge);
    return RESULT_OK;
}

const struct check_result *recording_result(const struct recording *recording, size_t check)
{
    return judge_result(recording->judge, check);
}

struct explain_history recording_history(const struct recording *recording)
{
    return (struct explain_history){
        .header = &recording->header, .events = recording->events, .count = recording->count};
}

struct result recording_write(const struct recording *recording, const char *path, struct text *why)
{
    struct history_writer *writer;
    TRY(history_writer_open(path, &recording->header, &writer, why));
    struct result result = RESULT_OK;
    for (size_t i = 0; i < recording->count && !result_failed(result); i++) {
        result = history_writer_event(writer, &recording->events[i], why);
    }
    if (result_failed(result)) {
        history_writer_drop(writer);
        return result;
    }
    return history_writer_close(writer, why);
}

uint64_t recording_hash(const struct recording *recording)
{
    char memory[RECORDING_LINE_BYTES];
    struct text line = text_over(memory, sizeof memory);
    XXH64_state_t *state = XXH64_createState();
    if (state == NULL) {
        return 0;
    }
    (void)XXH64_reset(state, 0);
    history_header_print(&recording->header, &line);
    (void)XXH64_update(state, line.data, line.length);
    for (size_t i = 0; i < recording->count; i++) {
        text_clear(&line);
        history_event_print(&recording->events[i], &line);
        ASSERT(!line.cut);
        (void)XXH64_update(state, line.data, line.length);
    }
    uint64_t hash = XXH64_digest(state);
    (void)XXH64_freeState(state);
    return hash;
}

void recording_clear(struct recording *recording)
{
    recording->count = 0;
    recording->in_order = true;
    recording->full = false;
    recording->beyond = 0;
    recording->entered = 0;
}

void recording_close(struct recording *recording)
{
    memory_release(recording->events);
    memory_release(recording->judge);
    memory_release(recording);
}

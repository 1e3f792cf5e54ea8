/* sim_fixture.h: runs a scenario written in a test, and keeps what was recorded. */
#ifndef TESTS_SIM_SIM_FIXTURE_H
#define TESTS_SIM_SIM_FIXTURE_H

#include "base/arena.h"
#include "base/duration.h"
#include "harness/sim/sim.h"
#include "history/writer.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { FIXTURE_EVENTS_MAX = 1 << 16, FIXTURE_WHY_BYTES = 8192 };

struct fixture {
    struct recorder recorder;
    struct arena arena;
    struct scenario scenario;
    struct plan plan;
    struct sim_options options;
    struct sim *sim;
    uint64_t count;
    uint64_t hash; /* FNV-1a over the printed lines */
    struct history_event events[FIXTURE_EVENTS_MAX];
};

static inline void fixture_hash(struct fixture *fixture, const struct history_event *event)
{
    char memory[1024];
    struct text line = text_over(memory, sizeof memory);
    history_event_print(event, &line);
    for (size_t i = 0; i < line.length; i++) {
        fixture->hash = (fixture->hash ^ (uint8_t)line.data[i]) * 0x100000001b3u;
    }
}

static inline void fixture_event(struct recorder *recorder, const struct history_event *event)
{
    struct fixture *fixture = (struct fixture *)recorder;
    struct history_event kept = *event;
    kept.index = fixture->count;
    cr_assert(fixture->count < FIXTURE_EVENTS_MAX);
    if (fixture->count > 0) {
        cr_assert(fixture->events[fixture->count - 1].time_ns <= kept.time_ns);
    }
    fixture->events[fixture->count++] = kept;
    fixture_hash(fixture, &kept);
}

static inline void fixture_replied(struct recorder *recorder, uint64_t event, int64_t time_ns)
{
    struct fixture *fixture = (struct fixture *)recorder;
    cr_assert_lt(event, fixture->count);
    struct history_event *told = &fixture->events[event];
    cr_assert_eq(told->kind, HISTORY_NODE);
    told->replied_ns = time_ns;
    told->flags |= HISTORY_HAS_REPLIED;
}

static inline bool fixture_should_stop(struct recorder *recorder)
{
    (void)recorder;
    return false;
}

/* Read a scenario and make a simulator for it. */
static inline void fixture_open(struct fixture *fixture, const char *yaml, uint64_t seed)
{
    static char memory[FIXTURE_WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    memset(fixture, 0, sizeof *fixture);
    fixture->recorder = (struct recorder){
        .event = fixture_event, .replied = fixture_replied, .should_stop = fixture_should_stop};
    fixture->arena = arena_empty(GIBIBYTE);
    struct scenario_source source = {
        .path = "test.yaml", .bytes = yaml, .length = strlen(yaml), .checks = NULL};
    struct result result = scenario_parse(&source, &fixture->arena, &fixture->scenario, &why);
    cr_assert(!result_failed(result), "%s", why.data);
    scenario_plan(&fixture->scenario, seed, 1000000, &fixture->plan);
    result = sim_create(&fixture->arena, &fixture->plan, &fixture->options, &fixture->sim, &why);
    cr_assert(!result_failed(result), "%s", why.data);
    sim_reset(fixture->sim, &fixture->plan);
}

static inline void fixture_finish(struct fixture *fixture)
{
    static char memory[FIXTURE_WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct result result = sim_run(fixture->sim, &fixture->recorder, &why);
    cr_assert(!result_failed(result), "%s", why.data);
}

/* Read, run to the end, keep the history. */
static inline void fixture_run(struct fixture *fixture, const char *yaml, uint64_t seed)
{
    fixture_open(fixture, yaml, seed);
    fixture_finish(fixture);
}

/* Begin the same plan, or that of another seed, anew. */
static inline void fixture_again(struct fixture *fixture, uint64_t seed)
{
    scenario_plan(&fixture->scenario, seed, 1000000, &fixture->plan);
    fixture->count = 0;
    fixture->hash = 0;
    sim_reset(fixture->sim, &fixture->plan);
}

static inline void fixture_close(struct fixture *fixture)
{
    arena_release(&fixture->arena);
}

/* What to look for in a history: each field is IS(value), or 0 for anything. */
struct wanted {
    int kind, type, f, cause, fault_kind, process, node;
};

#define IS(value) ((int)(value) + 1)

static inline bool wanted_fits(int wanted, int value)
{
    return wanted == 0 || wanted == IS(value);
}

static inline bool wanted_is(const struct wanted *wanted, const struct history_event *event)
{
    return wanted_fits(wanted->kind, event->kind) && wanted_fits(wanted->type, event->type) &&
           wanted_fits(wanted->f, event->f) && wanted_fits(wanted->cause, event->cause) &&
           wanted_fits(wanted->fault_kind, event->fault_kind) &&
           wanted_fits(wanted->process, event->process) && wanted_fits(wanted->node, event->node);
}

/* The first such event from `from` on; NULL if there is none. */
static inline const struct history_event *find(const struct fixture *fixture, uint64_t from,
                                               struct wanted wanted)
{
    for (uint64_t i = from; i < fixture->count; i++) {
        if (wanted_is(&wanted, &fixture->events[i])) {
            return &fixture->events[i];
        }
    }
    return NULL;
}

static inline int count(const struct fixture *fixture, struct wanted wanted)
{
    int found = 0;
    for (uint64_t i = 0; i < fixture->count; i++) {
        found += wanted_is(&wanted, &fixture->events[i]);
    }
    return found;
}

/* Print a history, for whoever looks into a failure. */
static inline void fixture_print(const struct fixture *fixture)
{
    for (uint64_t i = 0; i < fixture->count; i++) {
        char memory[1024];
        struct text line = text_over(memory, sizeof memory);
        history_event_print(&fixture->events[i], &line);
        fprintf(stderr, "%s", line.data);
    }
}

/* The head of most scenarios here; clients and faults follow. */
#define HEAD(lock, fsync)                                                                          \
    "version: 1\nname: test\nabout: a test\nsource: the tests\nlock: {" lock "}\n"                 \
    "nodes: {kind: redis, count: 5, fsync: " fsync "}\n"
#define TAIL "expect: {exclusion: pass}\n"

#endif

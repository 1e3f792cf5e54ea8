/* story.h: run a scenario on real servers inside a test, and look at what was recorded. */
#ifndef TESTS_REAL_STORY_H
#define TESTS_REAL_STORY_H

#include "harness/world.h"
#include "tests/real/place.h"

#include <criterion/criterion.h>
#include <criterion/logging.h>
#include <stddef.h>
#include <string.h>

enum { STORY_EVENTS_MAX = 200000 };

struct story {
    struct recorder recorder;                        /* first: the recorder is the story */
    void (*seen)(const struct history_event *event); /* set before, or NULL: told of each */
    const char *adapter; /* set before by who wants somebody else's lock; else NULL */
    struct plan plan;
    struct history_header header;
    struct result result;
    char why[512];
    size_t count;
    struct history_event events[STORY_EVENTS_MAX];
};

static inline void story_event(struct recorder *recorder, const struct history_event *event)
{
    struct story *story = (struct story *)recorder;
    if (story->seen != NULL) {
        story->seen(event);
    }
    if (story->count < STORY_EVENTS_MAX) {
        story->events[story->count++] = *event;
    }
}

static inline bool story_should_stop(struct recorder *recorder)
{
    (void)recorder;
    return false;
}

/* Nodes under agents, where tests/cluster/run.py has some: each fault is tried on them as well. */
static inline const struct cluster *story_cluster(void)
{
    static struct cluster cluster;
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    const char *path = getenv("PICKLOCK_CLUSTER");
    if (path == NULL) {
        return NULL;
    }
    cr_assert(!result_failed(cluster_read(path, &cluster, &why)), "%s", why.data);
    return &cluster;
}

static inline void story_run(struct story *story, const char *lines, uint64_t seed)
{
    static struct scenario scenario;
    static char errors_memory[8192];
    struct arena arena = arena_empty(16 * MEBIBYTE);
    struct text errors = text_over(errors_memory, sizeof errors_memory);
    struct scenario_source source = {.path = "story.yaml", .bytes = lines, .length = strlen(lines)};
    struct result read = scenario_parse(&source, &arena, &scenario, &errors);
    cr_assert(!result_failed(read), "%s", errors.data);
    arena_release(&arena);
    struct place place;
    place_make(&place);
    struct text why = text_over(story->why, sizeof story->why);
    struct world_options options = {
        .run_directory = place.path, .adapter = story->adapter, .cluster = story_cluster()};
    story->recorder = (struct recorder){.event = story_event, .should_stop = story_should_stop};
    story->count = 0;
    scenario_plan(&scenario, seed, 1000000, &story->plan);
    plan_header(&story->plan, "real", &story->header);
    story->result = world_real.run(&story->plan, &options, &story->header, &story->recorder, &why);
    place_remove(&place);
}

static inline void story_must_run(struct story *story, const char *lines, uint64_t seed)
{
    story_run(story, lines, seed);
    cr_assert(!result_failed(story->result), "%s", story->why);
}

/* The nth (from 0) event of this kind and f; NULL if there are not that many. */
static inline const struct history_event *
story_find(const struct story *story, enum history_kind kind, enum history_f f, size_t nth)
{
    for (size_t i = 0; i < story->count; i++) {
        if (story->events[i].kind == kind && story->events[i].f == f && nth-- == 0) {
            return &story->events[i];
        }
    }
    return NULL;
}

static inline size_t story_count(const struct story *story, enum history_kind kind,
                                 enum history_f f)
{
    size_t count = 0;
    while (story_find(story, kind, f, count) != NULL) {
        count++;
    }
    return count;
}

static inline size_t story_ended(const struct story *story, enum history_f f,
                                 enum history_type type)
{
    size_t count = 0;
    for (size_t i = 0; i < story->count; i++) {
        const struct history_event *event = &story->events[i];
        count += event->kind == HISTORY_OP && event->f == f && event->type == type &&
                         (event->flags & HISTORY_AUDIT) == 0
                     ? 1
                     : 0;
    }
    return count;
}

/* For an assertion that is about to fail: everything that was recorded. */
static inline void story_tell(const struct story *story)
{
    for (size_t k = 0; k < story->plan.scenario.fault_count; k++) {
        const struct trigger *start = &story->plan.scenario.faults[k].start;
        cr_log_warn("fault %zu of %zu: trigger %d at %lld", k + 1, story->plan.scenario.fault_count,
                    start->kind, (long long)start->at_ns);
    }
    for (size_t i = 0; i < story->count; i++) {
        const struct history_event *event = &story->events[i];
        cr_log_warn("%.6f %s %s client %d node %d fault %d %s %.6f %lld",
                    (double)event->time_ns / 1e9, history_kind_name((enum history_kind)event->kind),
                    history_f_name((enum history_f)event->f), event->process + 1, event->node + 1,
                    event->fault + 1, history_cause_name((enum history_cause)event->cause),
                    (double)event->until_ns / 1e9, (long long)event->number[1]);
    }
}

#endif

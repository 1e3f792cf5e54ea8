/*
 * frontier_search.c: how many configurations are followed, and from where.
 *
 * First a few, those that used the least: a legal history seldom needs more. Where all of them die,
 * two things are tried, each time in a wider range. Was it impossible? A *window* begins a little
 * before, with a configuration that can do all that any other can: whoever may hold is anybody or
 * nobody, and what is pending has happened or not. If all that follows dies too, no order is legal.
 * Was it bad luck? The search goes back to a checkpoint and follows more of them from there, until
 * it is past the place. The last time it begins at the start and leaves nothing out.
 */
#include "checker/linear/whole/frontier_inside.h"

#include "base/assert.h"

#include <string.h>

enum {
    BETWEEN_CHECKPOINTS = 16,
    PAST_THE_PLACE = 32,
    CHECKPOINT_CONFIGS_MAX = 256,
    CHECKPOINTS_MAX = 512
};

/* How hard it is tried. */
struct effort {
    uint32_t back; /* checkpoints */
    uint32_t width;
    enum frontier_way way; /* where laziness is not complete */
    uint32_t window;       /* returns; 0: none */
    uint32_t window_budget;
};

/* Looking at everything multiplies what there is to follow: first more is followed lazily, from
 * further back, since what was decided wrongly may lie far before the place where it shows. */
static const struct effort efforts[] = {
    {0, 8, FRONTIER_LAZY, 0, 0},       {2, 64, FRONTIER_LAZY, 0, 0},
    {2, 16, FRONTIER_FULL, 0, 0},      {16, 64, FRONTIER_LAZY, 0, 0},
    {8, 256, FRONTIER_LAZY, 0, 0},     {4, 64, FRONTIER_FULL, 0, 0},
    {200, 64, FRONTIER_LAZY, 0, 0},    {100, 32, FRONTIER_FULL, 0, 0},
    {200, 256, FRONTIER_LAZY, 0, 0},   {200, 1024, FRONTIER_LAZY, 0, 0},
    {8, 256, FRONTIER_FULL, 12, 2000}, {24, 1024, FRONTIER_FULL, 40, 20000},
    {64, 4096, FRONTIER_FULL, 0, 0},   {UINT32_MAX, UINT32_MAX, FRONTIER_FULL, 200, 100000},
};

/* Of exact leases most that die are impossible, and a window shows it. */
static const struct effort exact_efforts[] = {
    {0, 8, FRONTIER_LAZY, 0, 0},       {2, 64, FRONTIER_LAZY, 0, 0},
    {2, 16, FRONTIER_FULL, 0, 0},      {4, 64, FRONTIER_FULL, 0, 0},
    {8, 256, FRONTIER_FULL, 12, 2000}, {24, 1024, FRONTIER_FULL, 40, 20000},
    {64, 4096, FRONTIER_FULL, 0, 0},   {UINT32_MAX, UINT32_MAX, FRONTIER_FULL, 200, 100000},
};

/* For tests: small histories die everywhere. */
static const struct effort narrow_efforts[] = {
    {0, 1, FRONTIER_LAZY, 0, 0},
    {1, 2, FRONTIER_LAZY, 1, 100},
    {1, 1, FRONTIER_FULL, 2, 100},
    {2, 2, FRONTIER_LAZY, 0, 0},
    {1, 2, FRONTIER_FULL, 3, 100},
    {2, 3, FRONTIER_LAZY, 0, 0},
    {3, 3, FRONTIER_LAZY, 0, 0},
    {2, 2, FRONTIER_FULL, 4, 1000},
    {2, 4, FRONTIER_FULL, 5, 1000},
    {3, 8, FRONTIER_FULL, 6, 1000},
    {UINT32_MAX, UINT32_MAX, FRONTIER_FULL, 7, 1000},
};

#define COUNT_OF(table) ((uint32_t)(sizeof(table) / sizeof(table)[0]))

/* Where the search can go on from. */
struct checkpoint {
    size_t next_return, call;
    bool narrowed;
    uint32_t count;
    unsigned char *configs; /* owned */
};

enum { EFFORT_ALONE = 2, PLACES_MAX = 12 };

struct search {
    struct frontier *frontier;
    const struct effort *efforts;
    uint32_t effort_count;
    uint32_t between, past;    /* checkpoints, in returns; the place, until it is easy again */
    struct checkpoint *points; /* owned */
    uint32_t point_count;
    size_t farthest; /* return at which all died */
    uint32_t effort;
    bool may_be_lazy, lazy_is_complete;
    bool forgets;     /* exact leases: the first time */
    uint64_t budget;  /* configurations that may be looked at in all */
    struct part part; /* near the last place */
};

static void checkpoint_drop(struct search *search)
{
    memory_release(search->points[--search->point_count].configs);
}

/* The oldest but the first go; false without memory for one more. */
static bool checkpoint_room(struct search *search)
{
    if (search->point_count == CHECKPOINTS_MAX) {
        uint32_t half = CHECKPOINTS_MAX / 2;
        for (uint32_t i = 1; i <= half; i++) {
            memory_release(search->points[i].configs);
        }
        search->point_count -= half;
        memmove(&search->points[1], &search->points[1 + half],
                (search->point_count - 1) * sizeof *search->points);
    }
    if (search->points == NULL) {
        search->points = memory_resize(NULL, CHECKPOINTS_MAX * sizeof *search->points);
    }
    return search->points != NULL;
}

/* Remember what is alive; without memory for it, earlier ones have to do. */
static void checkpoint_keep(struct search *search)
{
    struct frontier *frontier = search->frontier;
    const struct config_set *now = &frontier->now;
    size_t bytes = config_bytes(now->words);
    uint32_t room = now->count < CHECKPOINT_CONFIGS_MAX ? now->count : CHECKPOINT_CONFIGS_MAX;
    struct checkpoint point = {.next_return = frontier->next_return,
                               .call = frontier->call,
                               .narrowed = frontier->narrowed};
    bool ready = checkpoint_room(search);
    point.configs = ready ? memory_resize(NULL, room * bytes) : NULL;
    for (uint32_t i = 0; i < now->count && point.configs != NULL; i++) {
        bool alive = config_at(now, i)->life != CONFIG_DEAD;
        point.narrowed = point.narrowed || (alive && point.count == room);
        if (alive && point.count < room) {
            memcpy(point.configs + point.count++ * bytes, config_at(now, i), bytes);
        }
    }
    if (point.configs != NULL) {
        search->points[search->point_count++] = point;
    }
}

/* Go through the events up to a place again, without a configuration. */
static void replay(struct frontier *frontier, size_t next_return, size_t call)
{
    frontier_restart(frontier);
    frontier->replays = true;
    while (frontier->next_return < next_return || frontier->call < call) {
        bool more = frontier_advance(frontier);
        ASSERT(more);
    }
    frontier->replays = false;
}

static void set_effort(struct search *search, uint32_t effort)
{
    struct frontier *frontier = search->frontier;
    search->effort = effort;
    frontier->width = search->efforts[effort].width;
    frontier->way = search->efforts[effort].way;
    if (!search->may_be_lazy) {
        frontier->way = FRONTIER_FULL;
    } else if (search->lazy_is_complete) {
        frontier->way = FRONTIER_LAZY;
    }
    bool all = search->lazy_is_complete || (frontier->way == FRONTIER_FULL && !search->forgets);
    frontier->narrowed = frontier->narrowed || !all;
}

/* Go back some checkpoints, and try harder from there. */
static void go_back(struct search *search, uint32_t effort)
{
    struct frontier *frontier = search->frontier;
    for (uint32_t i = 0; i < search->efforts[effort].back && search->point_count > 1; i++) {
        checkpoint_drop(search);
    }
    ASSERT(search->point_count > 0);
    const struct checkpoint *point = &search->points[search->point_count - 1];
    frontier->forgets = search->forgets;
    replay(frontier, point->next_return, point->call);
    for (uint32_t i = 0; i < point->count && !frontier->exhausted; i++) {
        memcpy(frontier->scratch, point->configs + i * config_bytes(frontier->now.words),
               config_bytes(frontier->now.words));
        frontier_put(frontier, &frontier->now, NULL);
    }
    frontier->narrowed = point->narrowed;
    set_effort(search, effort);
}

/* Until the end, or until all are dead. */
static void follow(struct search *search)
{
    struct frontier *frontier = search->frontier;
    frontier->budget = search->budget;
    size_t kept = frontier->next_return;
    while (frontier->budget > 0 && frontier_advance(frontier)) {
        if (search->effort > 0 && frontier->next_return > search->farthest + search->past) {
            set_effort(search, 0);
        }
        if (frontier->next_return >= kept + search->between) {
            checkpoint_keep(search);
            kept = frontier->next_return;
        }
    }
    search->budget = frontier->budget;
}

/* Whether everything dies that begins so many returns before the place where all died. */
static bool is_impossible(struct search *search, const struct effort *effort)
{
    struct frontier *frontier = search->frontier;
    size_t dead = frontier->next_return;
    bool plain = !is_mutex(frontier) && !frontier->rules.nests && !frontier->rules.fenced;
    if (effort->window == 0 || effort->window >= dead || !plain) {
        return false;
    }
    frontier->forgets = false;
    replay(frontier, dead - effort->window, 0);
    bool moments = frontier->moments;
    memcpy(frontier->loose, frontier->slots_used, frontier->slot_words * sizeof *frontier->loose);
    memset(frontier->scratch, 0, config_bytes(frontier->now.words));
    state_make_wild(&frontier->scratch->state, &frontier->rules);
    frontier->scratch->trail = UINT32_MAX;
    frontier->moments = frontier->narrowed = false;
    frontier->rules.wild = true;
    frontier->way = FRONTIER_FULL;
    frontier->width = UINT32_MAX;
    frontier->budget = effort->window_budget;
    frontier_put(frontier, &frontier->now, NULL);
    while (frontier->next_return <= dead && !frontier->narrowed && frontier_advance(frontier)) {
    }
    bool dies = frontier->now.count == 0 && !frontier->narrowed && !frontier->exhausted;
    bool late = frontier->exhausted && frontier->whole->limit == LINEAR_LIMIT_TIME;
    frontier->exhausted = frontier->exhausted && late;
    frontier->rules.wild = false;
    frontier->moments = moments;
    return dies;
}

/* The operation that fits nowhere, and the latest grants of those who held the lock before it. */
static void tell(struct whole *whole, uint32_t due)
{
    struct linear_finding *finding = &whole->finding;
    *finding = (struct linear_finding){.reason = LINEAR_NO_ORDER,
                                       .grade = GRADE_NOT_LINEARIZABLE,
                                       .count = 1,
                                       .operations = {whole->operations[due].invoke}};
    for (size_t i = whole->count; i-- > 0 && finding->count < LINEAR_OPERATIONS_SHOWN;) {
        const struct operation *operation = &whole->operations[i];
        bool earlier = operation->called < whole->operations[due].returned && i != due;
        bool changes = operation->kind == OPERATION_TAKE || operation->kind == OPERATION_FREE;
        if (earlier && changes && operation->returned <= whole->operations[due].returned) {
            finding->operations[finding->count++] = operation->invoke;
        }
    }
}

/* It was not seen to be impossible: from the start, nobody is forgotten. */
static void begin_again(struct search *search)
{
    search->forgets = false;
    search->farthest = 0;
    search->frontier->narrowed = false;
    while (search->point_count > 1) {
        checkpoint_drop(search);
    }
    go_back(search, 0);
}

/* Try no harder than `effort_max`; WHOLE_NOT_FOR_ME if that is not enough. */
static enum whole_verdict search_on(struct search *search, uint32_t effort_max)
{
    struct frontier *frontier = search->frontier;
    for (;;) {
        follow(search);
        if (frontier->exhausted) {
            return WHOLE_UNKNOWN;
        }
        if (frontier->budget == 0) {
            return WHOLE_NOT_FOR_ME;
        }
        if (frontier->next_return == frontier->return_count) {
            return WHOLE_LEGAL;
        }
        size_t dead = frontier->next_return;
        uint32_t effort = search->effort + 1;
        search->farthest = dead > search->farthest ? dead : search->farthest;
        struct part part = frontier_part_near(frontier);
        if (!frontier->narrowed || is_impossible(search, &search->efforts[effort])) {
            tell(frontier->whole, frontier->by_return[frontier->next_return]);
            return WHOLE_ILLEGAL;
        }
        if (frontier->exhausted) {
            return WHOLE_UNKNOWN;
        }
        ASSERT(effort < search->effort_count);
        search->part = part;
        if (effort + 1 == search->effort_count && search->forgets) {
            begin_again(search);
        } else {
            go_back(search, effort);
        }
        if (search->effort == effort_max + 1) {
            return WHOLE_NOT_FOR_ME;
        }
    }
}

/* Whether what is left out by laziness is never needed. It may be where several may hold and
 * somebody saw how many; and where one owner does several things at a time, and either was refused
 * what it may have twice, or leases end silently, or by themselves while somebody looked. */
static bool laziness_is_complete(const struct whole *whole)
{
    struct state_rules rules = state_rules(whole->options);
    bool seen = false, refused = false;
    for (size_t i = 0; i < whole->count; i++) {
        seen = seen || operation_is_observer(&whole->operations[i]);
        refused = refused || whole->operations[i].kind == OPERATION_BUSY;
    }
    uint8_t model = whole->options->model;
    bool leased = model == LINEAR_LEASE_REFRESHED || (model == LINEAR_LEASE && seen);
    if (model == LINEAR_LEASE_EXACT) {
        return false;
    }
    return !(seen && rules.room > 1) && !(whole->entangled && ((refused && rules.nests) || leased));
}

static bool search_begin(struct search *search, struct frontier *frontier, struct whole *whole)
{
    const struct linear_options *options = whole->options;
    bool exact = options->model == LINEAR_LEASE_EXACT;
    *frontier = (struct frontier){
        .whole = whole, .rules = state_rules(options), .arena = arena_empty(options->bytes_max)};
    bool may_be_lazy = !options->order && options->model != LINEAR_MUTEX;
    bool narrow = options->engine == LINEAR_ENGINE_NARROW;
    *search = (struct search){.frontier = frontier,
                              .efforts = narrow  ? narrow_efforts
                                         : exact ? exact_efforts
                                                 : efforts,
                              .effort_count = narrow  ? COUNT_OF(narrow_efforts)
                                              : exact ? COUNT_OF(exact_efforts)
                                                      : COUNT_OF(efforts),
                              .between = narrow ? 1 : BETWEEN_CHECKPOINTS,
                              .past = narrow ? 0 : PAST_THE_PLACE,
                              .may_be_lazy = may_be_lazy,
                              .forgets = exact,
                              .budget = UINT64_MAX};
    whole->limit = LINEAR_LIMIT_BYTES;
    frontier->moments = may_be_lazy && !exact;
    frontier_prepare(frontier);
    frontier->forgets = exact;
    search->lazy_is_complete = may_be_lazy && laziness_is_complete(whole);
    if (!frontier->exhausted) {
        checkpoint_keep(search);
        set_effort(search, 0);
    }
    frontier->exhausted = frontier->exhausted || search->point_count == 0;
    return !frontier->exhausted;
}

static void search_end(struct search *search)
{
    struct frontier *frontier = search->frontier;
    while (search->point_count > 0) {
        checkpoint_drop(search);
    }
    memory_release(search->points);
    memory_release(frontier->by_return);
    memory_release(frontier->trail);
    config_set_release(&frontier->now);
    config_set_release(&frontier->next);
    arena_release(&frontier->arena);
}

/* ---- what is illegal with less is illegal --------------------------------------------------- */

static bool is_part_illegal(struct whole *whole, const struct part *part)
{
    struct whole less = *whole;
    less.count = 0;
    less.operations = memory_resize(NULL, (whole->count + 1) * sizeof *less.operations);
    for (size_t i = 0; less.operations != NULL && i < whole->count; i++) {
        less.operations[less.count] = whole->operations[i];
        less.count += frontier_part_of(part, whole->options, &less.operations[less.count]) ? 1 : 0;
    }
    if (less.operations == NULL) {
        return false;
    }
    struct frontier frontier;
    struct search search;
    bool illegal = search_begin(&search, &frontier, &less);
    search.budget = 20 * less.count + 20000;
    illegal = illegal && search_on(&search, search.effort_count) == WHOLE_ILLEGAL;
    if (illegal) {
        whole->finding = less.finding;
    }
    search_end(&search);
    memory_release(less.operations);
    return illegal;
}

/* Who asked, and where one holds, each who held the lock, alone; all of them; of exact leases with
 * some, and then more, who did something near. */
static bool is_some_part_illegal(struct search *search)
{
    struct whole *whole = search->frontier->whole;
    const uint32_t near = search->part.near;
    const uint32_t counts[] = {near, near + 2, near + 4, PART_CHOSEN_MAX};
    uint32_t alone = search->frontier->rules.room == 1 ? near : 1;
    ASSERT(near > 0 && near <= search->part.count && search->part.count <= PART_CHOSEN_MAX);
    for (uint32_t i = 0; i < alone; i++) {
        const struct part part = {.count = 1, .chosen = {search->part.chosen[i]}};
        if (is_part_illegal(whole, &part)) {
            return true;
        }
    }
    uint32_t before = 1;
    uint32_t tries = whole->options->model == LINEAR_LEASE_EXACT ? COUNT_OF(counts) : 1;
    for (uint32_t i = 0; i < tries; i++) {
        struct part part = search->part;
        part.count = counts[i] < part.count ? counts[i] : part.count;
        if (part.count > before && is_part_illegal(whole, &part)) {
            return true;
        }
        before = part.count;
    }
    return false;
}

/* A little is tried first; then, at each place where that fails, what is illegal with less. */
static enum whole_verdict judge_parts(struct search *search)
{
    struct whole *whole = search->frontier->whole;
    bool owned = whole->options->model != LINEAR_MUTEX && !whole->options->order;
    bool sees = owned && whole->options->model != LINEAR_LEASE_EXACT && !search->lazy_is_complete;
    enum whole_verdict verdict = search_on(search, EFFORT_ALONE);
    for (uint32_t i = 0; i < PLACES_MAX && verdict == WHOLE_NOT_FOR_ME && owned; i++) {
        const struct part sightless = {.sightless = true};
        if (is_some_part_illegal(search) ||
            (i == 0 && sees && is_part_illegal(whole, &sightless))) {
            return WHOLE_ILLEGAL;
        }
        verdict = search_on(search, EFFORT_ALONE);
    }
    return verdict == WHOLE_NOT_FOR_ME ? search_on(search, search->effort_count) : verdict;
}

static enum whole_verdict judge_searched(struct whole *whole)
{
    struct frontier frontier;
    struct search search;
    bool ready = search_begin(&search, &frontier, whole);
    enum whole_verdict verdict = ready ? judge_parts(&search) : WHOLE_UNKNOWN;
    if (verdict == WHOLE_LEGAL && whole->options->order) {
        frontier_write_order(&frontier);
    }
    search_end(&search);
    return verdict;
}

enum whole_verdict frontier_judge(struct whole *whole)
{
    const struct linear_options *asked = whole->options;
    struct linear_options options = *asked;
    if (whole->count >= UINT32_MAX / 4) {
        whole->limit = LINEAR_LIMIT_MODEL;
        return WHOLE_UNKNOWN;
    }
    if (options.model == LINEAR_SEMAPHORE) {
        options.permits = frontier_permits(whole);
    }
    if (options.permits > STATE_HOLDERS_MAX) {
        whole->limit = LINEAR_LIMIT_PERMITS;
        return WHOLE_UNKNOWN;
    }
    whole->options = &options;
    enum whole_verdict verdict = judge_searched(whole);
    whole->options = asked;
    return verdict;
}

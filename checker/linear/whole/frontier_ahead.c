/*
 * frontier_ahead.c: semaphores: what was used of unknown outcome may leave too few or too many
 * holders at a place that is far ahead.
 *
 * How many permits an owner holds is what he took less what he let go, known operations and unknown
 * ones. An unknown acquire that happened has happened for good, so with those that a configuration
 * has used there is a number that he holds at least whenever a grant returns: takes that returned,
 * and unknown ones that were used or that his releases need, less all releases called by then,
 * known or not. Of all owners together they must not be more than there are permits. In the same
 * way the unknown releases that were used leave a number that he holds at most while an acquire was
 * refused; together they must be all permits. A configuration that fails at one of these points is
 * dead, and is not followed to it.
 *
 * Numbers are looked at when one more is used, from the next point up to the last one at which that
 * makes a difference: behind it there are releases enough that may have happened, or acquires.
 */
#include "checker/linear/whole/frontier_inside.h"

#include "base/assert.h"

#include <string.h>

enum {
    AHEAD_OPERATIONS_MAX = 30000, /* numbers fit into 16 bits */
    AHEAD_CELLS_MAX = 1 << 22,    /* owners times points */
    AHEAD_BLOCK = 64,             /* points that are looked at together */
};

/* What all events up to a point say of an owner. */
struct tally {
    int16_t taken, takes_called;     /* acquires, ok: returned, called */
    int16_t freed, frees_called;     /* releases, ok */
    int16_t maybe_took, maybe_freed; /* unknown ones, called */
    int16_t needed;                  /* unknown acquires without which his releases cannot be */
};

static int16_t positive(int16_t number)
{
    return number > 0 ? number : 0;
}

static void count_call(struct tally *tally, uint8_t kind)
{
    switch (kind) {
    case OPERATION_TAKE:
        tally->takes_called++;
        return;
    case OPERATION_FREE:
        tally->frees_called++;
        return;
    case OPERATION_MAYBE_TAKE:
        tally->maybe_took++;
        return;
    case OPERATION_MAYBE_FREE:
        tally->maybe_freed++;
        return;
    default:
        return;
    }
}

static void count_return(struct tally *tally, uint8_t kind)
{
    if (kind == OPERATION_TAKE) {
        tally->taken++;
    } else if (kind == OPERATION_FREE) {
        tally->freed++;
    }
    int16_t needed = (int16_t)(tally->freed - tally->takes_called);
    tally->needed = needed > tally->needed ? needed : tally->needed;
}

/* A grant returns: what each holds at least. */
static void add_grant(struct ahead *ahead, const struct tally *tallies, uint32_t owners)
{
    for (uint32_t i = 0; i < owners; i++) {
        const struct tally *tally = &tallies[i];
        size_t cell = i * ahead->grants_room + ahead->grant_count;
        ahead->least[cell] = (int16_t)(tally->taken - tally->frees_called - tally->maybe_freed);
        ahead->least_ever[cell] = positive((int16_t)(ahead->least[cell] + tally->needed));
    }
    ahead->grant_count++;
}

/* A refusal is called, and returns: what each holds at most in between. */
static void add_refusal(struct ahead *ahead, const struct tally *tallies, uint32_t owners)
{
    for (uint32_t i = 0; i < owners; i++) {
        ahead->most[i * ahead->refusals_room + ahead->refusal_count] = (int16_t)-tallies[i].freed;
    }
    ahead->refusal_count++;
}

static void end_refusal(struct ahead *ahead, uint32_t refusal, const struct tally *tallies,
                        uint32_t owners)
{
    for (uint32_t i = 0; i < owners; i++) {
        int16_t *most = &ahead->most[i * ahead->refusals_room + refusal];
        *most = (int16_t)(*most + tallies[i].takes_called + tallies[i].maybe_took);
    }
}

static void fill(struct frontier *frontier, struct tally *tallies, uint32_t *refusals)
{
    const struct whole *whole = frontier->whole;
    struct ahead *ahead = &frontier->ahead;
    size_t call = 0;
    for (size_t i = 0; i < frontier->return_count; i++) {
        uint32_t due = frontier->by_return[i];
        const struct operation *returned = &whole->operations[due];
        for (; call < whole->count && whole->operations[call].called < returned->returned; call++) {
            ahead->refusal_from[call] = ahead->refusal_count;
            count_call(&tallies[frontier->owners[call]], whole->operations[call].kind);
            if (whole->operations[call].kind == OPERATION_BUSY) {
                refusals[call] = ahead->refusal_count;
                add_refusal(ahead, tallies, frontier->someone_count);
            }
        }
        ahead->grant_from[i] = ahead->grant_count;
        count_return(&tallies[frontier->owners[due]], returned->kind);
        if (returned->kind == OPERATION_TAKE) {
            add_grant(ahead, tallies, frontier->someone_count);
        } else if (returned->kind == OPERATION_BUSY) {
            end_refusal(ahead, refusals[due], tallies, frontier->someone_count);
        }
    }
    for (; call <= whole->count; call++) {
        ahead->refusal_from[call] = ahead->refusal_count;
    }
}

/* Behind a point: the most of what each holds at least, the least of what each holds at most. */
static void look_back(struct ahead *ahead, uint32_t owners)
{
    for (uint32_t owner = 0; owner < owners; owner++) {
        const int16_t *least = &ahead->least[owner * ahead->grants_room];
        int16_t *least_after = &ahead->least_after[owner * ahead->grants_room];
        for (uint32_t i = ahead->grant_count; i-- > 0;) {
            bool last = i + 1 == ahead->grant_count;
            least_after[i] = last || least[i] > least_after[i + 1] ? least[i] : least_after[i + 1];
        }
        const int16_t *most = &ahead->most[owner * ahead->refusals_room];
        int16_t *most_after = &ahead->most_after[owner * ahead->refusals_room];
        for (uint32_t i = ahead->refusal_count; i-- > 0;) {
            bool last = i + 1 == ahead->refusal_count;
            most_after[i] = last || most[i] < most_after[i + 1] ? most[i] : most_after[i + 1];
        }
    }
}

static int16_t most_of(const int16_t *numbers, uint32_t count)
{
    int16_t most = numbers[0];
    for (uint32_t i = 1; i < count; i++) {
        most = numbers[i] > most ? numbers[i] : most;
    }
    return most;
}

static int16_t least_of(const int16_t *numbers, uint32_t count)
{
    int16_t least = numbers[0];
    for (uint32_t i = 1; i < count; i++) {
        least = numbers[i] < least ? numbers[i] : least;
    }
    return least;
}

/* How many points there are in a block that begins at `from`. */
static uint32_t block_points(uint32_t from, uint32_t count)
{
    return count - from < AHEAD_BLOCK ? count - from : AHEAD_BLOCK;
}

/* Blocks whose bounds cannot add up to a failure need not be looked at point by point. */
static void bound_blocks(struct ahead *ahead, uint32_t owners)
{
    for (uint32_t owner = 0; owner < owners; owner++) {
        for (uint32_t b = 0; b * AHEAD_BLOCK < ahead->grant_count; b++) {
            uint32_t from = b * AHEAD_BLOCK;
            uint32_t count = block_points(from, ahead->grant_count);
            size_t cell = (size_t)owner * ahead->grants_room + from;
            ahead->least_block[owner + b * owners] = most_of(&ahead->least[cell], count);
            ahead->ever_block[owner + b * owners] = most_of(&ahead->least_ever[cell], count);
        }
        for (uint32_t b = 0; b * AHEAD_BLOCK < ahead->refusal_count; b++) {
            uint32_t from = b * AHEAD_BLOCK;
            uint32_t count = block_points(from, ahead->refusal_count);
            size_t cell = (size_t)owner * ahead->refusals_room + from;
            ahead->most_block[owner + b * owners] = least_of(&ahead->most[cell], count);
        }
    }
}

/* Behind the last point of a row nobody need hold, and anybody may. */
static void pad(int16_t *numbers, size_t count, int16_t number)
{
    for (size_t i = 0; i < count; i++) {
        numbers[i] = number;
    }
}

void frontier_look_ahead(struct frontier *frontier)
{
    const struct whole *whole = frontier->whole;
    struct ahead *ahead = &frontier->ahead;
    uint32_t owners = frontier->someone_count;
    for (size_t i = 0; i < whole->count; i++) {
        ahead->grants_max += whole->operations[i].kind == OPERATION_TAKE ? 1 : 0;
        ahead->refusals_max += whole->operations[i].kind == OPERATION_BUSY ? 1 : 0;
    }
    size_t cells = (size_t)owners * (ahead->grants_max + ahead->refusals_max);
    if (frontier->rules.room == 1 || whole->count > AHEAD_OPERATIONS_MAX ||
        cells > AHEAD_CELLS_MAX) {
        return;
    }
    uint32_t grant_blocks = ahead->grants_max / AHEAD_BLOCK + 1;
    uint32_t refusal_blocks = ahead->refusals_max / AHEAD_BLOCK + 1;
    ahead->grants_room = grant_blocks * AHEAD_BLOCK;
    ahead->refusals_room = refusal_blocks * AHEAD_BLOCK;
    size_t grants = (size_t)owners * ahead->grants_room;
    size_t refusals_all = (size_t)owners * ahead->refusals_room;
    size_t blocks = (size_t)owners * (2 * grant_blocks + refusal_blocks);
    size_t count = 3 * grants + 2 * refusals_all + blocks;
    int16_t *numbers = frontier_take(frontier, (count + 1) * sizeof *numbers);
    ahead->grant_from = frontier_take(frontier, (whole->count + 1) * sizeof(uint32_t));
    ahead->refusal_from = frontier_take(frontier, (whole->count + 1) * sizeof(uint32_t));
    uint32_t *refusals = frontier_take(frontier, (whole->count + 1) * sizeof *refusals);
    struct tally *tallies = frontier_take(frontier, (owners + 1) * sizeof *tallies);
    ahead->used = frontier_take(frontier, (owners + 1) * sizeof *ahead->used);
    if (frontier->exhausted) {
        return;
    }
    memset(tallies, 0, owners * sizeof *tallies);
    ahead->least = numbers;
    ahead->least_ever = ahead->least + grants;
    ahead->least_after = ahead->least_ever + grants;
    ahead->most = ahead->least_after + grants;
    ahead->most_after = ahead->most + refusals_all;
    ahead->least_block = ahead->most_after + refusals_all;
    ahead->ever_block = ahead->least_block + owners * grant_blocks;
    ahead->most_block = ahead->ever_block + owners * grant_blocks;
    pad(ahead->least, grants, INT16_MIN);
    pad(ahead->least_ever, grants, 0);
    pad(ahead->most, refusals_all, INT16_MAX);
    fill(frontier, tallies, refusals);
    look_back(ahead, owners);
    bound_blocks(ahead, owners);
    ASSERT(ahead->grant_count == ahead->grants_max);
    ASSERT(ahead->refusal_count <= ahead->refusals_max);
    ahead->known = true;
}

/* What the owner used of one kind. */
static int16_t used_by(const struct frontier *frontier, const struct config *config, uint32_t owner,
                       enum unknown_kind kind)
{
    uint32_t track = frontier->someone[owner].track;
    if (track == NO_TRACK) {
        return 0;
    }
    uint64_t word = config->words[frontier->slot_words + 2 * track];
    return (int16_t)(kind == UNKNOWN_FREE ? word >> 32 : word & UINT32_MAX);
}

/* ... and each owner, in ahead->used. */
static void list_used(const struct frontier *frontier, const struct config *config,
                      enum unknown_kind kind)
{
    for (uint32_t owner = 0; owner < frontier->someone_count; owner++) {
        frontier->ahead.used[owner] = used_by(frontier, config, owner, kind);
    }
}

/* Whether the grants of a block, each with its own owners' most, can add up to more than all. */
static bool can_be_too_full(const struct ahead *ahead, const int16_t *used, uint32_t owners,
                            uint32_t block, int16_t room)
{
    const int16_t *least = &ahead->least_block[(size_t)block * owners];
    const int16_t *ever = &ahead->ever_block[(size_t)block * owners];
    int16_t sum = 0;
    for (uint32_t owner = 0; owner < owners; owner++) {
        int16_t held = (int16_t)(least[owner] + used[owner]);
        sum = (int16_t)(sum + (held > ever[owner] ? held : ever[owner]));
    }
    return sum > room;
}

/* At some grant more than all permits are held, now that `user` took one more. */
static bool is_too_full(const struct frontier *frontier, const struct config *config, uint32_t user)
{
    const struct ahead *ahead = &frontier->ahead;
    uint32_t owners = frontier->someone_count;
    int16_t room = (int16_t)frontier->rules.room;
    int16_t taken = used_by(frontier, config, user, UNKNOWN_TAKE);
    const int16_t *after = &ahead->least_after[(size_t)user * ahead->grants_room];
    uint32_t from = ahead->grant_from[frontier->next_return];
    list_used(frontier, config, UNKNOWN_TAKE);
    while (from < ahead->grant_count && after[from] + taken > 0) {
        uint32_t begin = from - from % AHEAD_BLOCK;
        int16_t sums[AHEAD_BLOCK] = {0};
        bool may = can_be_too_full(ahead, ahead->used, owners, from / AHEAD_BLOCK, room);
        for (uint32_t owner = 0; owner < owners && may; owner++) {
            const int16_t *least = &ahead->least[(size_t)owner * ahead->grants_room + begin];
            const int16_t *ever = &ahead->least_ever[(size_t)owner * ahead->grants_room + begin];
            int16_t used = ahead->used[owner];
            for (uint32_t i = 0; i < AHEAD_BLOCK; i++) {
                int16_t held = (int16_t)(least[i] + used);
                sums[i] = (int16_t)(sums[i] + (held > ever[i] ? held : ever[i]));
            }
        }
        if (may && most_of(&sums[from - begin], AHEAD_BLOCK - (from - begin)) > room) {
            return true;
        }
        from = begin + AHEAD_BLOCK;
    }
    return false;
}

static bool can_be_too_empty(const struct ahead *ahead, const int16_t *used, uint32_t owners,
                             uint32_t block, int16_t room)
{
    const int16_t *most = &ahead->most_block[(size_t)block * owners];
    int16_t sum = 0;
    for (uint32_t owner = 0; owner < owners; owner++) {
        int16_t held = positive((int16_t)(most[owner] - used[owner]));
        sum = (int16_t)(sum + (held < room ? held : room));
    }
    return sum < room;
}

/* At some refusal not all permits can be held, now that `user` let one more go. */
static bool is_too_empty(const struct frontier *frontier, const struct config *config,
                         uint32_t user)
{
    const struct ahead *ahead = &frontier->ahead;
    uint32_t owners = frontier->someone_count;
    int16_t room = (int16_t)frontier->rules.room;
    int16_t freed = used_by(frontier, config, user, UNKNOWN_FREE);
    const int16_t *after = &ahead->most_after[(size_t)user * ahead->refusals_room];
    uint32_t from = ahead->refusal_from[frontier->call];
    list_used(frontier, config, UNKNOWN_FREE);
    while (from < ahead->refusal_count && after[from] - freed < room) {
        uint32_t begin = from - from % AHEAD_BLOCK;
        int16_t sums[AHEAD_BLOCK] = {0};
        bool may = can_be_too_empty(ahead, ahead->used, owners, from / AHEAD_BLOCK, room);
        for (uint32_t owner = 0; owner < owners && may; owner++) {
            const int16_t *most = &ahead->most[(size_t)owner * ahead->refusals_room + begin];
            int16_t used = ahead->used[owner];
            for (uint32_t i = 0; i < AHEAD_BLOCK; i++) {
                int16_t held = positive((int16_t)(most[i] - used));
                sums[i] = (int16_t)(sums[i] + (held < room ? held : room));
            }
        }
        uint32_t points = (begin + AHEAD_BLOCK < ahead->refusal_count ? begin + AHEAD_BLOCK
                                                                      : ahead->refusal_count) -
                          from;
        if (may && least_of(&sums[from - begin], points) < room) {
            return true;
        }
        from = begin + AHEAD_BLOCK;
    }
    return false;
}

bool frontier_is_doomed(const struct frontier *frontier, const struct config *config,
                        uint32_t owner, enum unknown_kind used)
{
    if (!frontier->ahead.known) {
        return false;
    }
    return used == UNKNOWN_TAKE ? is_too_full(frontier, config, owner)
                                : is_too_empty(frontier, config, owner);
}

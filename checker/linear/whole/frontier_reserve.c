/*
 * frontier_reserve.c: what makes no difference any more in exact leases, so that configurations can
 * be compared. Of those whose events are over
 *
 *   - who does not hold and has no acquire left never holds again: what is left of his releases and
 *     extensions is worth nothing;
 *   - who had one acquire, of unknown outcome, can do what any other such one can who asked no
 * later and had as many releases and extensions.
 */
#include "checker/linear/whole/frontier_inside.h"

#include "base/assert.h"

#include <string.h>

/* Those with fewer releases and fewer extensions than this are told apart by how many. */
enum { KINDS_EACH = 8, KINDS = KINDS_EACH * KINDS_EACH, NO_KIND = KINDS };

static uint64_t *words_of(const struct frontier *frontier, struct config *config, uint32_t track)
{
    return &config->words[frontier->slot_words + 2 * track];
}

/* Whether no event comes of him who is counted in `track`. */
static bool is_through(const struct frontier *frontier, uint32_t track)
{
    uint32_t owner = frontier->track_owner[track];
    return owner != NO_TRACK && frontier->someone[owner].left == 0;
}

/* How many releases and extensions he has, if he is like others by now; NO_KIND if not. */
static uint32_t kind_of(const struct frontier *frontier, const struct config *config,
                        uint32_t track)
{
    const struct someone *who = &frontier->someone[frontier->track_owner[track]];
    bool few = who->called[UNKNOWN_FREE] < KINDS_EACH && who->called[UNKNOWN_EXTEND] < KINDS_EACH;
    if (!few || who->called[UNKNOWN_TAKE] != 1 ||
        frontier->unknown_calls[who->first[UNKNOWN_TAKE]] > 2 * config->state.now) {
        return NO_KIND;
    }
    return KINDS_EACH * who->called[UNKNOWN_FREE] + who->called[UNKNOWN_EXTEND];
}

void frontier_even_out(const struct frontier *frontier, struct config *config)
{
    uint32_t used[KINDS] = {0};
    bool any = false;
    for (uint32_t track = 0; track < frontier->track_count; track++) {
        if (!is_through(frontier, track) ||
            state_is_held_by(&config->state, frontier->track_owner[track] + 1)) {
            continue;
        }
        uint64_t *words = words_of(frontier, config, track);
        uint32_t takes = (uint32_t)words[0];
        if (takes < frontier->someone[frontier->track_owner[track]].called[UNKNOWN_TAKE]) {
            continue;
        }
        words[0] = takes;
        words[1] = 0;
        uint32_t kind = kind_of(frontier, config, track);
        if (kind != NO_KIND) {
            ASSERT(takes == 1);
            used[kind]++;
            words[0] = 0;
            any = true;
        }
    }
    /* Those who did something stand before those who did nothing. */
    for (uint32_t track = 0; track < frontier->track_count && any; track++) {
        if (is_through(frontier, track) &&
            !state_is_held_by(&config->state, frontier->track_owner[track] + 1)) {
            uint32_t kind = kind_of(frontier, config, track);
            if (kind != NO_KIND && used[kind] > 0) {
                ASSERT(words_of(frontier, config, track)[0] == 0);
                words_of(frontier, config, track)[0] = 1;
                used[kind]--;
            }
        }
    }
}

/* Whether someone's one acquire is unknown, nothing of his is used, and no event of his comes. */
static bool is_in_reserve(const struct frontier *frontier, const struct config *config,
                          uint32_t track)
{
    const uint64_t *words = &config->words[frontier->slot_words + 2 * track];
    return is_through(frontier, track) && words[0] == 0 && words[1] == 0 &&
           frontier->someone[frontier->track_owner[track]].called[UNKNOWN_TAKE] == 1;
}

bool frontier_waits_in_reserve(const struct frontier *frontier, const struct config *config,
                               uint32_t track)
{
    if (!is_exact(frontier) || !is_in_reserve(frontier, config, track)) {
        return false;
    }
    uint32_t owner = frontier->track_owner[track];
    const struct someone *who = &frontier->someone[owner];
    int64_t asked = frontier->unknown_calls[who->first[UNKNOWN_TAKE]];
    for (uint32_t i = 0; i < frontier->track_count; i++) {
        if (i == track || !is_in_reserve(frontier, config, i)) {
            continue;
        }
        uint32_t other = frontier->track_owner[i];
        const struct someone *rival = &frontier->someone[other];
        int64_t rival_asked = frontier->unknown_calls[rival->first[UNKNOWN_TAKE]];
        if (memcmp(rival->called, who->called, sizeof who->called) == 0 &&
            (rival_asked < asked || (rival_asked == asked && other < owner))) {
            return true;
        }
    }
    return false;
}

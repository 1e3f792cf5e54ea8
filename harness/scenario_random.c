/* scenario_random.c: draws faults from a seed, near the boundaries that matter. */
#include "harness/scenario_random.h"

#include "base/assert.h"
#include "base/duration.h"
#include "base/random.h"
#include "harness/scenario_table.h"

#include <string.h>

/* One place for a fault: its own stream, so that a new draw in one moves no other. */
struct fault_draw {
    struct random_stream stream;
    const struct scenario *scenario;
    struct fault *fault;
};

static int64_t draw_below(struct fault_draw *draw, int64_t bound)
{
    return (int64_t)random_below(&draw->stream, (uint64_t)bound);
}

static bool draw_coin(struct fault_draw *draw)
{
    return random_below(&draw->stream, 2) == 0;
}

/* A length of time near those that decide whether a lease holds. */
static int64_t draw_length(struct fault_draw *draw)
{
    int64_t ttl_ns = draw->scenario->lock.ttl_ns;
    int64_t timeout_ns = draw->scenario->lock.node_timeout_ns;
    const int64_t lengths[] = {
        ttl_ns - NS_PER_MS,     ttl_ns,     ttl_ns + NS_PER_MS,     ttl_ns / 2,
        timeout_ns - NS_PER_US, timeout_ns, timeout_ns + NS_PER_MS, ttl_ns + ttl_ns / 2,
    };
    int64_t length_ns = lengths[draw_below(draw, sizeof lengths / sizeof lengths[0])];
    return length_ns > 0 ? length_ns : NS_PER_US;
}

static int64_t draw_rate_ppm(struct fault_draw *draw)
{
    /* Hundredths of the lock's own allowance. */
    static const int64_t parts[] = {0, 50, 100, 101, 200};
    int64_t part = parts[draw_below(draw, sizeof parts / sizeof parts[0])];
    int64_t drift_ppm = draw->scenario->lock.drift_ppm * part / 100;
    int64_t rate_ppm = 1000000 + (draw_coin(draw) ? drift_ppm : -drift_ppm);
    return rate_ppm > 0 ? rate_ppm : 0;
}

static void draw_client(struct fault_draw *draw)
{
    int32_t client = (int32_t)draw_below(draw, draw->scenario->client_count);
    draw->fault->client_first = client;
    draw->fault->client_last = client;
}

/* One node, or now and then two, or any set. */
static void draw_nodes(struct fault_draw *draw)
{
    int32_t count = draw->scenario->node_count;
    int64_t kind = draw_below(draw, 4);
    uint32_t all = (1u << count) - 1;
    uint32_t mask = 1u << draw_below(draw, count);
    if (kind == 1) {
        mask |= 1u << draw_below(draw, count);
    } else if (kind == 2) {
        mask = (uint32_t)random_below(&draw->stream, all) + 1;
    }
    draw->fault->node_mask = mask;
}

static void draw_struck(struct fault_draw *draw)
{
    uint32_t strikes = fault_trait_of((enum fault_kind)draw->fault->kind)->nature;
    struct fault *fault = draw->fault;
    if ((strikes & FAULT_ON_LINK) != 0) {
        bool one = draw_coin(draw);
        draw_client(draw);
        if (!one) {
            fault->client_first = 0;
            fault->client_last = draw->scenario->client_count - 1;
        }
        draw_nodes(draw);
    } else if ((strikes & FAULT_ON_NODE) == 0 ||
               ((strikes & FAULT_ON_CLIENT) != 0 && draw_coin(draw))) {
        draw_client(draw);
    } else {
        draw_nodes(draw);
    }
}

static bool point_is_passed(const struct scenario *scenario, enum probe_point point)
{
    if (point == PROBE_BEFORE_EXTEND || point == PROBE_AFTER_EXTEND) {
        return scenario->extend_every_ns > 0;
    }
    if (point == PROBE_BEFORE_WRITE || point == PROBE_AFTER_WRITE) {
        return scenario->writes > 0;
    }
    return true;
}

/* About how long the clients are busy if nothing goes wrong: later faults strike nobody. */
static int64_t busy_ns(const struct scenario *scenario)
{
    int64_t turns = (int64_t)scenario->sections * scenario->client_count;
    int64_t turn_ns = scenario->hold_ns + scenario->think_ns + 10 * scenario->latency_ns + 1;
    int64_t ttl_ns = scenario->lock.ttl_ns;
    bool longer = turns > (scenario->duration_ns - 1) / turn_ns;
    int64_t total_ns = longer ? scenario->duration_ns : turns * turn_ns + ttl_ns;
    return total_ns < scenario->duration_ns ? total_ns : scenario->duration_ns;
}

/* At a time within the window or, where the window is the whole run, at an event as well. */
static void draw_start(struct fault_draw *draw)
{
    const struct random_faults *random = &draw->scenario->random;
    struct trigger *start = &draw->fault->start;
    bool whole = random->from_ns == 0 && random->to_ns == draw->scenario->duration_ns;
    start->client = SCENARIO_ANY;
    start->node = SCENARIO_ANY;
    start->nth = 1;
    if (!whole || draw_below(draw, 3) == 0) {
        int64_t to_ns = whole ? busy_ns(draw->scenario) : random->to_ns;
        start->kind = TRIGGER_TIME;
        start->at_ns = random->from_ns + draw_below(draw, to_ns - random->from_ns);
        return;
    }
    enum probe_point point = (enum probe_point)draw_below(draw, PROBE_POINTS);
    start->kind = TRIGGER_PROBE;
    start->point = (uint8_t)(point_is_passed(draw->scenario, point) ? point : PROBE_AFTER_GRANTED);
    start->client = (int32_t)draw_below(draw, draw->scenario->client_count);
    /* Every point that is passed at all is passed once per section at least. */
    int64_t nth_max = draw->scenario->sections < 3 ? draw->scenario->sections : 3;
    start->nth = 1 + (uint32_t)draw_below(draw, nth_max);
}

/* A command of one client at one node: the start of faults that strike one command. */
static void draw_command(struct fault_draw *draw)
{
    struct trigger *start = &draw->fault->start;
    if (start->kind != TRIGGER_PROBE) {
        return;
    }
    start->kind = draw->fault->kind == FAULT_LOSE_REPLY ? TRIGGER_COMMAND : TRIGGER_ARRIVAL;
    start->point = 0;
    start->role = (uint8_t)(draw_coin(draw) ? ROLE_SET : ROLE_DELETE);
    start->node = (int32_t)draw_below(draw, draw->scenario->node_count);
    draw->fault->role = start->role;
    draw->fault->client_first = start->client;
    draw->fault->client_last = start->client;
    draw->fault->node_mask = 1u << start->node;
    draw->fault->for_ns = 0;
}

static void draw_magnitude(struct fault_draw *draw)
{
    struct fault *fault = draw->fault;
    const struct fault_trait *trait = fault_trait_of((enum fault_kind)fault->kind);
    fault->for_ns = trait->life == FAULT_LASTS ? draw_length(draw) : 0;
    switch ((enum fault_unit)trait->unit) {
    case FAULT_UNIT_NONE:
        return;
    case FAULT_UNIT_LENGTH: /* a process that is back at once is a case of its own */
        if ((trait->nature & FAULT_OF_PROCESS) != 0) {
            fault->for_ns = draw_coin(draw) ? 0 : fault->for_ns;
        }
        return;
    case FAULT_UNIT_AMOUNT:
        fault->amount_ns = draw_length(draw);
        return;
    case FAULT_UNIT_JUMP:
        fault->amount_ns = draw_coin(draw) ? draw_length(draw) : -draw_length(draw);
        return;
    case FAULT_UNIT_PPM:
        fault->rate_ppm = draw_rate_ppm(draw);
        fault->for_ns = TIME_NEVER;
        return;
    case FAULT_UNIT_MODE:
        fault->mode = (uint8_t)draw_below(draw, MODE_RESET + 1);
        fault->direction = (uint8_t)(1 + draw_below(draw, DIRECTION_BOTH));
        return;
    case FAULT_UNIT_ERROR:
        fault->error = (uint8_t)draw_below(draw, NODE_ERRORS);
        return;
    }
    UNREACHABLE();
}

static uint8_t draw_kind(struct fault_draw *draw, uint32_t kinds)
{
    int64_t skip = draw_below(draw, __builtin_popcount(kinds));
    uint8_t kind = 0;
    while ((kinds >> kind & 1) == 0 || skip > 0) {
        skip -= (int64_t)(kinds >> kind & 1);
        kind++;
    }
    ASSERT(kind < FAULT_KINDS);
    return kind;
}

static void fault_draw(struct fault_draw *draw, uint32_t kinds)
{
    struct fault *fault = draw->fault;
    memset(fault, 0, sizeof *fault);
    keys_set_fallbacks(fault_keys, FAULT_KEYS, fault);
    fault->kind = draw_kind(draw, kinds);
    fault->client_first = -1;
    fault->client_last = -1;
    fault->until.client = SCENARIO_ANY;
    fault->until.node = SCENARIO_ANY;
    draw_start(draw);
    draw_struck(draw);
    draw_magnitude(draw);
    if (fault_is((enum fault_kind)fault->kind, FAULT_OF_COMMAND)) {
        draw_command(draw);
    }
}

void random_faults_draw(struct scenario *scenario, uint64_t seed)
{
    ASSERT(scenario->random.present);
    struct random_stream switches = random_stream("fault kinds", seed);
    uint32_t kinds = scenario->random.kinds & (uint32_t)random_word(&switches);
    scenario->fault_count = 0;
    for (uint32_t i = 0; i < scenario->random.count_max && kinds != 0; i++) {
        struct fault_draw draw = {
            .stream = random_stream_at("fault", i, seed),
            .scenario = scenario,
            .fault = &scenario->faults[scenario->fault_count],
        };
        if (random_below(&draw.stream, 4) < 3) {
            fault_draw(&draw, kinds);
            scenario->fault_count++;
        }
    }
    memset(&scenario->random, 0, sizeof scenario->random);
}

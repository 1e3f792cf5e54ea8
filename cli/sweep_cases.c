/* sweep_cases.c: one fault at each point of a lock's own protocol. */
#include "cli/sweep_cases.h"

#include "base/assert.h"
#include "lockcore/quorum.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    STRIKES_CLIENT = 1 << 0, /* the holder itself, once */
    STRIKES_BEFORE = 1 << 1, /* each node of a set, before the command reaches it */
    STRIKES_AFTER = 1 << 2,  /* ... and when it has carried it out */
    SWEEP_NTH_MAX = 2,       /* of one role */
    SWEEP_LOOK_MS = 2500,    /* a section in which a lock is seen to renew: two and a half ttls */
    SWEEP_HOLD_MS = 300,
    SWEEP_STAYS_MS = 1300, /* beyond the ttl */
    SWEEP_DOES_BYTES = 200,
};

struct sweep_strike {
    const char *name;
    const char *about;
    uint8_t where;
    uint8_t fault;    /* enum fault_kind */
    const char *keys; /* of it in a scenario; # is the number of the node */
};

/* Lengths are for a ttl of 1 s. */
static const struct sweep_strike strikes[] = {
    {"pause", "the holder stops for longer than its ttl", STRIKES_CLIENT, FAULT_PAUSE,
     "target: client 1, for: 1500ms"},
    {"kill", "the holder dies", STRIKES_CLIENT, FAULT_KILL, "target: client 1"},
    {"wall-clock-ahead", "the holder's wall clock jumps ahead", STRIKES_CLIENT, FAULT_CLOCK_JUMP,
     "target: client 1, by: 1h"},
    {"wall-clock-back", "the holder's wall clock jumps back", STRIKES_CLIENT, FAULT_CLOCK_JUMP,
     "target: client 1, by: -1m"},
    {"request-held", "a request is held for longer than the ttl", STRIKES_BEFORE,
     FAULT_DELAY_COMMAND, "delay: 1500ms"},
    {"request-late", "a request is late", STRIKES_BEFORE, FAULT_DELAY_COMMAND, "delay: 300ms"},
    {"request-lost", "a request is lost", STRIKES_BEFORE, FAULT_PARTITION,
     "from: client 1, to: node #, direction: request, mode: drop, for: 300ms"},
    {"refused", "connections are cut and refused", STRIKES_BEFORE | STRIKES_AFTER, FAULT_PARTITION,
     "from: client 1, to: node #, mode: refuse, for: 400ms"},
    {"reset", "the connection is reset", STRIKES_BEFORE | STRIKES_AFTER, FAULT_PARTITION,
     "from: client 1, to: node #, mode: reset, for: 20ms"},
    {"reply-held", "a reply is held for longer than the ttl", STRIKES_AFTER, FAULT_PARTITION,
     "from: client 1, to: node #, direction: reply, mode: hold, for: 1500ms"},
    {"reply-late", "a reply is late", STRIKES_AFTER, FAULT_PARTITION,
     "from: client 1, to: node #, direction: reply, mode: hold, for: 300ms"},
    {"reply-lost", "a reply is lost", STRIKES_AFTER, FAULT_LOSE_REPLY, ""},
    {"frozen", "a node is frozen for longer than the ttl", STRIKES_BEFORE | STRIKES_AFTER,
     FAULT_PAUSE, "target: node #, for: 1500ms"},
    {"forgets", "a node restarts and forgets", STRIKES_BEFORE | STRIKES_AFTER, FAULT_CRASH,
     "target: node #, for: 0s"},
    {"down", "a node is down for longer than the ttl", STRIKES_BEFORE | STRIKES_AFTER, FAULT_CRASH,
     "target: node #, for: 1500ms"},
    {"clock", "a node's clock jumps ahead", STRIKES_BEFORE | STRIKES_AFTER, FAULT_CLOCK_JUMP,
     "target: node #, by: 2s"},
    {"clock-fast", "a node's clock is fast by what is allowed for", STRIKES_BEFORE,
     FAULT_CLOCK_RATE, "target: node #, rate: 1.01"},
    {"out-of-memory", "a node is out of memory", STRIKES_BEFORE, FAULT_REFUSE_WRITES,
     "target: node #, error: OOM, for: 400ms"},
    {"read-only", "a node is read-only", STRIKES_BEFORE, FAULT_REFUSE_WRITES,
     "target: node #, error: READONLY, for: 400ms"},
    {"loading", "a node is loading", STRIKES_BEFORE, FAULT_REFUSE_WRITES,
     "target: node #, error: LOADING, for: 400ms"},
    {"script-flush", "a node forgets its scripts", STRIKES_BEFORE, FAULT_SCRIPT_FLUSH,
     "target: node #"},
    {"evict", "a node throws the key out", STRIKES_AFTER, FAULT_EVICT, "target: node #"},
};

/* Where the holder can strike itself, beside at its commands. */
static const enum probe_point points[] = {
    PROBE_AFTER_GRANTED, PROBE_BEFORE_WRITE,   PROBE_AFTER_WRITE,   PROBE_BEFORE_EXTEND,
    PROBE_AFTER_EXTEND,  PROBE_BEFORE_RELEASE, PROBE_AFTER_RELEASE,
};

size_t sweep_strike_count(void)
{
    return sizeof strikes / sizeof strikes[0];
}

const char *sweep_strike_about(size_t strike)
{
    ASSERT(strike < sweep_strike_count());
    return strikes[strike].about;
}

/* A section in which a lock that renews does so twice. */
static int64_t sweep_renewed_ms(const struct sweep_protocol *protocol)
{
    int64_t ms = protocol->renew_ns * 5 / 2 / NS_PER_MS;
    return protocol->renew_ns > 0 && ms < SWEEP_LOOK_MS ? ms : SWEEP_LOOK_MS;
}

/* A promise that is too long shows only when the holder stays to its end; what became of a renewal,
 * when the lease that it was to prolong is over. */
static void sweep_clients(const struct sweep_protocol *protocol, bool stays, struct text *text)
{
    int64_t hold_ms = protocol->renews ? sweep_renewed_ms(protocol) : SWEEP_HOLD_MS;
    if (stays) {
        hold_ms = SWEEP_STAYS_MS + (protocol->renews ? hold_ms : 0);
    }
    text_add(text, "clients: {count: 2, hold: %" PRId64 "ms, writes: 2%s%s}\n", hold_ms,
             protocol->extends && !stays ? ", extend_every: 120ms" : "",
             protocol->renews ? ", on_lost: leave" : "");
}

static void sweep_head(const struct sweep_protocol *protocol, const char *name, const char *about,
                       struct text *text)
{
    text_add(text,
             "version: 1\nname: %s\nabout: >\n  %s.\nsource: 'picklock sweep'\n%s"
             "lock: {algorithm: %s, ttl: 1s, node_timeout: 200ms, "
             "retry: {count: 3, delay: 50ms, jitter: 50ms}, extend: {count: 20}}\n"
             "nodes: {count: %" PRId32 "}\nduration: 8s\n",
             name, about, protocol->renews ? "needs: [renew]\n" : "", protocol->algorithm,
             protocol->nodes);
}

void sweep_base(const struct sweep_protocol *protocol, struct text *text)
{
    sweep_head(protocol, "dry", "Nothing goes wrong", text);
    sweep_clients(protocol, false, text);
    text_add(text,
             "faults:\n  - {at: 0s, do: pause, target: client 2, until: client 1 after_granted}\n"
             "expect: {exclusion: any}\n");
}

/* The role of a command by what it did; ROLE_OTHER if it did nothing to the key. */
static enum command_role sweep_role(const struct history_event *event)
{
    if (event->kind != HISTORY_NODE || event->process != 0) {
        return ROLE_OTHER;
    }
    return event->f == HISTORY_KEY_SET        ? ROLE_SET
           : event->f == HISTORY_KEY_EXTENDED ? ROLE_EXTEND
           : event->f == HISTORY_KEY_DELETED  ? ROLE_DELETE
                                              : ROLE_OTHER;
}

/* Whether each node got its first set only when the one before it had answered. */
static bool sweep_in_turn(const struct loaded *loaded, struct sweep_protocol *protocol)
{
    int32_t count = 0;
    int64_t replied_ns = 0;
    bool in_turn = true;
    for (size_t i = 0; i < loaded->count && count < protocol->nodes; i++) {
        const struct history_event *event = &loaded->events[i];
        bool timed =
            (event->flags & HISTORY_HAS_SENT) != 0 && (event->flags & HISTORY_HAS_REPLIED) != 0;
        if (sweep_role(event) != ROLE_SET || !timed) {
            continue;
        }
        in_turn = in_turn && (count == 0 || event->sent_ns >= replied_ns);
        replied_ns = event->replied_ns;
        protocol->order[count++] = event->node;
    }
    return in_turn && count == protocol->nodes && count > 1;
}

/* How long from one renewal of the holder to the next at one node: as declared, or as seen. */
static int64_t sweep_renewals_ns(const struct loaded *loaded)
{
    int64_t before_ns = -1;
    int64_t least_ns = 0;
    int32_t node = -1;
    for (size_t i = 0; i < loaded->count; i++) {
        const struct history_event *event = &loaded->events[i];
        enum command_role role = sweep_role(event);
        if ((role != ROLE_SET && role != ROLE_EXTEND) || (node >= 0 && event->node != node)) {
            continue;
        }
        int64_t since_ns = event->time_ns - before_ns;
        if (role == ROLE_EXTEND && before_ns >= 0 && (least_ns == 0 || since_ns < least_ns)) {
            least_ns = since_ns;
        }
        node = event->node;
        before_ns = event->time_ns;
    }
    return loaded->header.renew_every_ns > 0 ? loaded->header.renew_every_ns : least_ns;
}

bool sweep_look(const struct loaded *loaded, struct sweep_protocol *protocol)
{
    uint32_t seen[ROLE_OTHER][SWEEP_NODES_MAX];
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < loaded->count; i++) {
        const struct history_event *event = &loaded->events[i];
        enum command_role role = sweep_role(event);
        if (role != ROLE_OTHER && event->node < protocol->nodes) {
            seen[role][event->node]++;
        }
    }
    for (int role = 0; role < ROLE_OTHER; role++) {
        for (int32_t node = 0; node < protocol->nodes; node++) {
            uint32_t more = seen[role][node];
            protocol->commands[role] =
                more > protocol->commands[role] ? more : protocol->commands[role];
        }
    }
    if (protocol->renews) {
        /* Later renewals are like these. */
        uint32_t *renewals = &protocol->commands[ROLE_EXTEND];
        *renewals = *renewals > SWEEP_NTH_MAX ? SWEEP_NTH_MAX : *renewals;
        protocol->renew_ns = sweep_renewals_ns(loaded);
    }
    protocol->in_turn = sweep_in_turn(loaded, protocol);
    return protocol->commands[ROLE_SET] > 0;
}

/* Whether the holder also stays, and whether it only stays. */
static void sweep_add(const struct sweep_protocol *protocol, struct sweep_cases *cases,
                      struct sweep_case one, const char *set)
{
    bool asks = !one.at_probe && one.role == ROLE_SET && one.nth == 1;
    bool renews = !one.at_probe && one.role == ROLE_EXTEND && protocol->renews;
    (void)snprintf(one.set, sizeof one.set, "%s", set);
    for (int stays = renews ? 1 : 0; stays < (asks || renews ? 2 : 1); stays++) {
        if (cases->count < SWEEP_CASES_MAX) {
            one.stays = stays == 1;
            cases->list[cases->count++] = one;
        }
    }
}

/* What strikes nodes, at a command: one of those that are alike, most of them, all. */
static void sweep_add_sets(const struct sweep_protocol *protocol, struct sweep_cases *cases,
                           struct sweep_case one)
{
    uint32_t quorum = lock_quorum((uint32_t)protocol->nodes);
    uint32_t all = (1u << protocol->nodes) - 1;
    one.nodes = (1u << quorum) - 1;
    if (protocol->nodes > 1) {
        sweep_add(protocol, cases, one, "most");
    }
    for (int32_t i = 0; i < (protocol->in_turn ? protocol->nodes : 1); i++) {
        char number[16];
        int32_t node = protocol->in_turn ? protocol->order[i] : 0;
        (void)snprintf(number, sizeof number, "%d", node + 1);
        one.nodes = 1u << node;
        sweep_add(protocol, cases, one, protocol->in_turn ? number : "one");
    }
    one.nodes = all;
    if (quorum < (uint32_t)protocol->nodes) {
        sweep_add(protocol, cases, one, "all");
    }
}

/* What the holder does to itself at a command, which is known by the node that it is sent to. */
static void sweep_add_client(const struct sweep_protocol *protocol, struct sweep_cases *cases,
                             struct sweep_case one)
{
    for (int32_t i = 0; i < (protocol->in_turn ? protocol->nodes : 1); i++) {
        char number[16];
        int32_t node = protocol->in_turn ? protocol->order[i] : 0;
        (void)snprintf(number, sizeof number, "%d", node + 1);
        one.nodes = 1u << node;
        sweep_add(protocol, cases, one, protocol->in_turn ? number : "one");
    }
}

static void sweep_at_commands(const struct sweep_protocol *protocol, size_t strike,
                              struct sweep_cases *cases)
{
    uint8_t where = strikes[strike].where;
    bool client = (where & STRIKES_CLIENT) != 0;
    for (uint8_t role = 0; role < ROLE_OTHER; role++) {
        uint32_t times = protocol->commands[role];
        for (uint32_t nth = 1; nth <= times && nth <= SWEEP_NTH_MAX; nth++) {
            for (int after = 0; after < 2; after++) {
                struct sweep_case one = {
                    .strike = strike, .role = role, .nth = nth, .before = after == 0};
                uint8_t bit = after == 0 ? STRIKES_BEFORE : STRIKES_AFTER;
                if (client) {
                    sweep_add_client(protocol, cases, one);
                } else if ((where & bit) != 0) {
                    sweep_add_sets(protocol, cases, one);
                }
            }
        }
    }
}

static void sweep_at_probes(const struct sweep_protocol *protocol, size_t strike,
                            struct sweep_cases *cases)
{
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        bool extends = points[i] == PROBE_BEFORE_EXTEND || points[i] == PROBE_AFTER_EXTEND;
        if (!extends || protocol->extends) {
            struct sweep_case one = {
                .strike = strike, .at_probe = true, .point = (uint8_t)points[i]};
            sweep_add(protocol, cases, one, "");
        }
    }
}

/* One of each kind after the other: where time runs out, each was tried about as often. */
static void sweep_deal(const struct sweep_cases *sorted, struct sweep_cases *cases)
{
    size_t next[sizeof strikes / sizeof strikes[0]] = {0};
    cases->count = 0;
    while (cases->count < sorted->count) {
        for (size_t strike = 0; strike < sweep_strike_count(); strike++) {
            size_t *at = &next[strike];
            while (*at < sorted->count && sorted->list[*at].strike != strike) {
                (*at)++;
            }
            if (*at < sorted->count) {
                cases->list[cases->count++] = sorted->list[(*at)++];
            }
        }
    }
}

void sweep_list(const struct sweep_protocol *protocol, struct sweep_cases *cases)
{
    static struct sweep_cases sorted;
    sorted.count = 0;
    for (size_t strike = 0; strike < sweep_strike_count(); strike++) {
        if (!server_kind_has(protocol->kind, (enum fault_kind)strikes[strike].fault)) {
            continue;
        }
        sweep_at_commands(protocol, strike, &sorted);
        if ((strikes[strike].where & STRIKES_CLIENT) != 0) {
            sweep_at_probes(protocol, strike, &sorted);
        }
    }
    sweep_deal(&sorted, cases);
}

void sweep_name(const struct sweep_case *one, struct text *text)
{
    const char *strike = strikes[one->strike].name;
    if (one->at_probe) {
        text_add(text, "sweep-%s-%s", strike, probe_point_name((enum probe_point)one->point));
        return;
    }
    text_add(text, "sweep-%s-%s-%s%" PRIu32 "-%s%s", strike, one->before ? "before" : "after",
             command_role_name((enum command_role)one->role), one->nth, one->set,
             one->stays ? "-stays" : "");
}

/* "on: node 1 before set from client 1, nth: 2, " */
static void sweep_print_trigger(const struct sweep_case *one, int32_t node, struct text *text)
{
    if (one->at_probe) {
        text_add(text, "on: client 1 %s, ", probe_point_name((enum probe_point)one->point));
        return;
    }
    text_add(text, "on: node %" PRId32 " %s%s from client 1, ", node + 1,
             one->before ? "before " : "", command_role_name((enum command_role)one->role));
    if (one->nth > 1) {
        text_add(text, "nth: %" PRIu32 ", ", one->nth);
    }
}

static void sweep_print_fault(const struct sweep_case *one, int32_t node, struct text *text)
{
    text_add(text, "  - {");
    sweep_print_trigger(one, node, text);
    const struct sweep_strike *strike = &strikes[one->strike];
    text_add(text, "do: %s%s", fault_kind_name((enum fault_kind)strike->fault),
             strike->keys[0] != '\0' ? ", " : "");
    for (const char *at = strike->keys; *at != '\0'; at++) {
        if (*at == '#') {
            text_add(text, "%" PRId32, node + 1);
        } else {
            text_add_bytes(text, at, 1);
        }
    }
    text_add(text, "}\n");
}

/* "A request is late (2 of 3 nodes), before the first set". */
static void sweep_about(const struct sweep_protocol *protocol, const struct sweep_case *one,
                        struct text *text)
{
    const char *about = strikes[one->strike].about;
    text_add(text, "%c%s", about[0] - 'a' + 'A', about + 1);
    if (one->at_probe) {
        text_add(text, ", at %s", probe_point_name((enum probe_point)one->point));
        return;
    }
    if ((strikes[one->strike].where & STRIKES_CLIENT) == 0 && protocol->nodes > 1) {
        text_add(text, " (%d of %" PRId32 " nodes)", __builtin_popcount(one->nodes),
                 protocol->nodes);
    }
    text_add(text, ", %s %s %" PRIu32, one->before ? "before" : "after",
             command_role_name((enum command_role)one->role), one->nth);
    text_add(text, "%s", one->stays ? "; the holder stays to the end of its lease" : "");
}

void sweep_print(const struct sweep_protocol *protocol, const struct sweep_case *one,
                 struct text *text)
{
    char name_memory[SCENARIO_NAME_BYTES];
    char about_memory[SWEEP_DOES_BYTES];
    struct text name = text_over(name_memory, sizeof name_memory);
    struct text about = text_over(about_memory, sizeof about_memory);
    sweep_name(one, &name);
    sweep_about(protocol, one, &about);
    ASSERT(!name.cut && !about.cut);
    sweep_head(protocol, name.data, about.data, text);
    sweep_clients(protocol, one->stays, text);
    /* The other client is there in time to be in the way. */
    bool asking = !one->at_probe && one->role == ROLE_SET;
    text_add(text, "faults:\n  - {at: 0s, do: pause, target: client 2, until: %s}\n",
             asking ? "any node before set from client 1" : "client 1 after_granted");
    uint32_t nodes = one->at_probe ? 1 : one->nodes;
    for (int32_t node = 0; nodes >> node != 0; node++) {
        if ((nodes >> node & 1) != 0) {
            sweep_print_fault(one, node, text);
        }
    }
}

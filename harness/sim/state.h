/*
 * state.h: the inside of a simulated world, for the files of this room.
 *
 *     struct sim      what never changes during a run: the plan, where each part of the block is
 *     block           everything that does change: no pointers, copied as a whole
 *
 *       world | schedule | heap | ties | actors | nodes | links | lanes | peers | store | extra |
 * messages
 */
#ifndef HARNESS_SIM_STATE_H
#define HARNESS_SIM_STATE_H

#include "base/assert.h"
#include "base/clock.h"
#include "harness/actor.h"
#include "harness/schedule.h"
#include "harness/sim/heap.h"
#include "harness/sim/sim.h"
#include "harness/store.h"
#include "servers/server.h"

enum {
    SIM_TIE_BEGIN = 0,          /* what is so from the start, before anybody moves */
    SIM_TIE_CONNECTED = 1,      /* a connection comes up before anything uses it */
    SIM_TIE_AGAIN = 2,          /* after a freeze: first the actor goes on where it stopped, ... */
    SIM_TIE_ARRIVED = 3,        /* ... then come replies, in order of arrival, ... */
    SIM_TIE_TIMER = 0x7fffffff, /* ... then the timer, as an event loop does it */
};

#define SIM_NONE            UINT32_MAX /* no message, no link */
#define SIM_NO_EVENT        UINT64_MAX
#define SIM_CONNECTION_GONE SERVER_CONNECTION_GONE /* it broke on the way: replies go nowhere */
#define SIM_TIE_DRAWN       0x80000000u /* all else: drawn from the seed, and behind these */

#define SIM_RECONNECT_NS_MIN (10 * NS_PER_MS) /* lockcore/drivers/links.h */
#define SIM_RECONNECT_NS_MAX NS_PER_S
#define SIM_TURN_NS          (100 * NS_PER_US) /* a turn of a client's event loop */
#define SIM_WALL_START_NS    (1700000000 * NS_PER_S)
#define SIM_MONO_START_NS    (1000 * NS_PER_S)

enum sim_phase { SIM_PHASE_FAULTS, SIM_PHASE_AUDIT, SIM_PHASE_OVER };

struct sim_world {
    int64_t now_ns; /* true time */
    uint64_t steps;
    uint64_t recorded; /* events */
    uint8_t phase;     /* enum sim_phase */
    bool out_of_time;  /* the clients did not finish by themselves */
    bool overflowed;   /* more messages in flight than there is room for */
    bool livelocked;   /* a client's lock asks to be woken at once for ever ... */
    int32_t spinner;   /* ... this one's */
    bool stood;        /* stressed: a client was put off, which is not told yet */
    uint32_t clients_left;
    int64_t deadline_ns;            /* of this phase */
    uint64_t active;                /* bit k: fault k has begun and not ended */
    uint64_t in_force[FAULT_KINDS]; /* of these, by kind */
    int64_t begun_ns[SCENARIO_FAULTS_MAX];
    int64_t seen[SCENARIO_FAULTS_MAX]; /* how much of it was observed; by kind */
    uint32_t message_free;             /* a list of given-back messages */
    uint32_t message_used;             /* messages that were ever taken: the rest is untouched */
};

enum sim_message_kind {
    SIM_REQUEST,
    SIM_REPLY,
    SIM_PUSH, /* what was asked for earlier */
    SIM_BROKEN,
    SIM_TOLD,   /* by one node to another */
    SIM_HANGUP, /* the end of an old connection, behind all that it still brings */
};

struct sim_message {
    int64_t at_ns; /* when it arrives; TIME_NEVER while a stalled node keeps it */
    uint32_t next;
    uint32_t lock;   /* of the client: actor_lock_resource says for which resource */
    uint8_t kind;    /* enum sim_message_kind */
    bool seen;       /* its arrival was shown to the schedule */
    int64_t sent_ns; /* of a request */
    uint64_t event;  /* reply: number of the event that tells of the command, or SIM_NO_EVENT */
    union {
        struct {
            struct lock_reply reply;
            struct lock_command command;
        };
        struct server_message told; /* TOLD */
    };
};

/* One direction of one connection: what was sent first arrives first. */
struct sim_queue {
    uint32_t head;
    uint32_t tail;
    int64_t last_ns; /* when the newest message arrives */
    uint32_t sent;   /* messages ever: numbers the draws */
    bool parked;     /* its head could not be delivered and waits to be looked at again */
};

enum { SIM_REQUESTS = 0, SIM_REPLIES = 1, SIM_DIRECTIONS = 2 };

enum sim_link_state {
    SIM_LINK_UP,
    SIM_LINK_BROKEN, /* dead; the client does not know yet, what it sends vanishes */
    SIM_LINK_DOWN,   /* dead; the client knows and connects anew */
};

struct sim_link {
    struct sim_queue queue[SIM_DIRECTIONS];
    uint32_t client;
    uint32_t node;
    int64_t down_ns; /* when it broke */
    uint32_t breaks;
    uint32_t connects;
    uint8_t state;       /* enum sim_link_state */
    bool refused;        /* the last attempt to connect failed; waits for a heal */
    bool ready;          /* connected anew, up once the client has read BROKEN */
    bool broken_pending; /* BROKEN is under way to the client */
    bool dropped;        /* a partition made bytes of it vanish */
};

/* What an old connection of a link still has to deliver; the replies go nowhere. */
struct sim_lane {
    struct sim_queue queue;
    uint32_t link; /* SIM_NONE: free */
    uint32_t connection;
};

/* What goes from one node to another; of the two between a pair, the first stands for the link. */
struct sim_peer {
    struct sim_queue queue;
    bool down;
    bool dropped; /* a partition made some of it vanish */
};

enum sim_store_state { SIM_STORE_IDLE, SIM_STORE_SENT, SIM_STORE_ANSWERED };

struct sim_store_call {
    uint8_t state; /* enum sim_store_state */
    uint8_t f;
    uint32_t resource;
    struct history_value value;
    int64_t fence;
    struct store_answer answer;
};

/* A lease that a client was promised and has not given back. */
struct sim_lease {
    bool held;
    uint32_t resource;
    int64_t until_ns; /* on the client's monotonic clock */
    struct history_value value;
};

enum sim_actor_state { SIM_ACTOR_NEW, SIM_ACTOR_RUNNING, SIM_ACTOR_DONE, SIM_ACTOR_KILLED };

struct sim_actor {
    struct clock wall;
    struct clock mono;
    struct random_stream random;
    struct random_stream random_before; /* as it was before the last step */
    int64_t wake_ns;                    /* asked for, on its monotonic clock */
    uint8_t state;                      /* enum sim_actor_state */
    uint8_t freezes;                    /* pauses in force */
    bool again;                         /* it stopped at a probe point and wants to go on */
    bool wake_waits;                    /* the timer ran out during a freeze */
    bool late;                          /* slow: its next step is being put off */
    bool put_off;                       /* slow: that step was put off and may run */
    uint32_t late_steps;                /* numbers the draws */
    uint32_t stressed_steps;            /* the same */
    uint32_t spins;                     /* wakes since anything else came to it, ... */
    int64_t spins_ns;                   /* ... from this time on */
    int64_t thawed_ns;                  /* stressed: what waited then is all served at once */
    int64_t stress_from_ns;             /* stressed: its next step is put off since then, ... */
    int64_t stress_ns;                  /* ... for so long by the stress itself */
    int64_t stood_from_ns;              /* stressed: put off since then without a break, ... */
    int64_t stood_ns;                   /* ... for so long of it, which is not told yet */
    struct sim_store_call store;
    struct sim_lease leases[SCENARIO_HOLDS_MAX];
};

struct sim_node {
    bool up;
    uint8_t downs; /* faults that keep it down */
    uint8_t freezes;
    uint8_t stalls;
    uint32_t stops;       /* crashes and promotions so far */
    int64_t shared_ns;    /* shared queue (tests only): nothing is delivered before, ... */
    uint32_t shared_rank; /* ... then in this order */
};

/* How the slots of the heap are numbered. */
struct sim_slots {
    uint32_t wakes;   /* + actor */
    uint32_t thaws;   /* + actor */
    uint32_t stores;  /* + actor */
    uint32_t links;   /* + 3 * link + direction, or 2: connect */
    uint32_t lanes;   /* + lane */
    uint32_t wakings; /* + number of the service's wake */
    uint32_t peers;   /* + from * node_count + to */
    uint32_t count;
};

struct sim {
    const struct plan *plan;
    const struct choices *choices;
    const struct lock_dialect *dialect; /* of the plan's algorithm */
    const struct server_kind *kind;     /* that understands it */
    struct client_program program;
    struct client_program audit;
    uint32_t actor_count; /* clients and the auditor */
    uint32_t node_count;
    uint32_t resource_count;
    uint32_t link_count;
    uint32_t lane_count;
    uint32_t peer_count; /* 0 where nodes do not speak to each other */
    uint32_t message_max;
    struct server_shape shape;
    struct sim_slots slots;
    size_t actor_stride;
    size_t extra_bytes;
    bool shared_queue; /* tests only: one queue per node, the trap */

    char *block; /* all mutable state, of at most block_bytes_max */
    size_t block_bytes_max;
    struct sim_world *world;
    struct schedule *schedule;
    struct heap *heap;
    uint32_t *ties; /* how many ties each slot has drawn */
    char *actors;
    struct sim_node *nodes;
    struct server_node *clocks; /* of the nodes */
    void *service;              /* the model's state */
    struct sim_link *links;
    struct sim_lane *lanes;
    struct sim_peer *peers; /* from * node_count + to */
    struct store_cell *store;
    char *extra;
    struct sim_message *messages;

    struct recorder *recorder;    /* of the step under way */
    struct actor_effects effects; /* scratch of a step */
    struct schedule_actions actions;
    struct server_door door;      /* the model tells what it does through it */
    struct sim_command *answered; /* the command that it is asked */
};

static inline struct sim_actor *sim_actor(const struct sim *sim, uint32_t index)
{
    ASSERT(index < sim->actor_count);
    return (struct sim_actor *)(void *)(sim->actors + index * sim->actor_stride);
}

static inline struct actor *sim_actor_core(struct sim_actor *actor)
{
    return (struct actor *)(void *)(actor + 1);
}

static inline struct sim_node *sim_node(const struct sim *sim, uint32_t index)
{
    ASSERT(index < sim->node_count);
    return &sim->nodes[index];
}

static inline struct server_node *sim_clock(const struct sim *sim, uint32_t node)
{
    return &sim->clocks[node];
}

/* The service's model, before it is told or asked something at the present time. */
static inline const struct server_model *sim_model(struct sim *sim)
{
    sim->door.true_ns = sim->world->now_ns;
    return sim->kind->model;
}

static inline uint32_t sim_link_of(const struct sim *sim, uint32_t client, uint32_t node)
{
    return client * sim->node_count + node;
}

static inline uint32_t sim_link_slot(const struct sim *sim, uint32_t link, uint32_t which)
{
    return sim->slots.links + 3 * link + which;
}

static inline const struct fault *sim_fault(const struct sim *sim, uint32_t k)
{
    ASSERT(k < sim->plan->scenario.fault_count);
    return &sim->plan->scenario.faults[k];
}

static inline enum command_role sim_command_role(const struct sim *sim,
                                                 const struct sim_message *message)
{
    const struct lock_command_row *row = lock_dialect_row(sim->dialect, message->command.kind);
    return command_role_of((enum lock_verb)row->verb);
}

static inline int64_t sim_later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- sim.c ----------------------------------------------------------------------------------- */

/* A decision below `bound` > 0: the log's, or the seed's. */
uint64_t sim_choose_logged(const struct sim *sim, const struct choice *key, uint64_t bound);

static inline uint64_t sim_choose(const struct sim *sim, const struct choice *key, uint64_t bound)
{
    if (sim->choices != NULL) {
        return sim_choose_logged(sim, key, bound);
    }
    struct random_stream word = {
        choice_default(sim->plan->seed, (enum choice_kind)key->kind, key->subject, key->nth)};
    return random_below(&word, bound);
}

/*
 * How much later than it would the nth message or step of `subject` (2 * link + direction, or
 * behind these a client) comes in a stressed run; 0 in all others.
 */
int64_t sim_stress_drawn(const struct sim *sim, uint32_t subject, uint32_t nth);

static inline int64_t sim_stress(const struct sim *sim, uint32_t subject, uint32_t nth)
{
    return sim->plan->stress_ns == 0 ? 0 : sim_stress_drawn(sim, subject, nth);
}

/* Make a slot pending, its tie drawn. */
void sim_arm(struct sim *sim, uint32_t slot, int64_t time_ns);

/* The next time trigger or deadline may have changed. */
void sim_arm_world(struct sim *sim);

/* Hand an event to the recorder, at the present time. */
void sim_record(struct sim *sim, struct history_event *event);

/* An event about nobody and nothing yet. */
static inline struct history_event sim_event(enum history_kind kind, enum history_f f)
{
    return (struct history_event){
        .kind = (uint8_t)kind,
        .f = (uint8_t)f,
        .process = HISTORY_NOBODY,
        .node = HISTORY_NO_NODE,
        .fault = HISTORY_NO_FAULT,
    };
}

/* ---- actors.c: clients ----------------------------------------------------------------------- */

void sim_actor_init(struct sim *sim, uint32_t client);
void sim_actor_wake(struct sim *sim, uint32_t client);
void sim_actor_thawed(struct sim *sim, uint32_t client);
void sim_actor_store(struct sim *sim, uint32_t client);
void sim_actor_reply(struct sim *sim, uint32_t link, const struct sim_message *message);

/* May it take an event now? If not, it will look again at what waits for it. */
bool sim_actor_takes(struct sim *sim, uint32_t client);

void sim_actor_freeze(struct sim *sim, uint32_t client);
void sim_actor_thaw(struct sim *sim, uint32_t client);
void sim_actor_kill(struct sim *sim, uint32_t client, enum history_cause cause);
void sim_actor_rearm(struct sim *sim, uint32_t client); /* its clock was bent */
/* Before time goes on: tell who was put off, and by how much, in a stressed run. */
void sim_actors_tell_late(struct sim *sim);
void sim_actor_tell_lease(struct sim *sim, uint32_t client, int32_t fault);

/* ---- queues.c: messages and their order ------------------------------------------------------ */

/* Take a message from those given back, or a fresh one. SIM_NONE ends the run. */
uint32_t sim_message_take(struct sim *sim);
void sim_message_give(struct sim *sim, uint32_t index);

void sim_queue_push(struct sim *sim, struct sim_queue *queue, uint32_t index);
void sim_queue_push_front(struct sim *sim, struct sim_queue *queue, uint32_t index);
uint32_t sim_queue_pop(struct sim *sim, struct sim_queue *queue);
uint32_t sim_queue_count(const struct sim *sim, const struct sim_queue *queue);

/* Both return how many messages were lost. */
uint32_t sim_queue_drop_all(struct sim *sim, struct sim_queue *queue);
uint32_t sim_queue_drop_unsent(struct sim *sim, struct sim_queue *queue);

/* Make the queue's slot pending for its head, if there is one that is under way. */
void sim_queue_arm(struct sim *sim, struct sim_queue *queue, uint32_t slot);

/* Look again at a head that could not be delivered. */
void sim_queue_retry(struct sim *sim, struct sim_queue *queue, uint32_t slot);

/* ---- links.c: connections -------------------------------------------------------------------- */

void sim_links_init(struct sim *sim);
void sim_link_send(struct sim *sim, uint32_t link, const struct lock_command *command,
                   uint32_t lock);
/* A node answers a command that it was asked before; the connection may be gone by now. */
void sim_link_answer(struct sim *sim, const struct server_ask *ask, struct lock_reply reply,
                     uint64_t event);
/* A node tells a client more about a command that it answered. */
void sim_link_push(struct sim *sim, const struct server_ask *ask, struct lock_reply reply);
void sim_link_pop_reply(struct sim *sim, uint32_t link);
void sim_link_pop_connect(struct sim *sim, uint32_t link);

/* What dies with a connection. */
enum sim_break {
    SIM_BREAK_NODE,   /* the node's process: requests are lost, sent replies still arrive */
    SIM_BREAK_LINK,   /* cut on its way: some requests have passed, the replies are lost */
    SIM_BREAK_CLIENT, /* the client's process: its kernel still delivers what was sent */
};
/* Returns how many messages were lost. */
uint32_t sim_link_break(struct sim *sim, uint32_t link, enum sim_break how);

/* Look again at whatever waits on a link: a fault ended, a node is back. */
void sim_link_retry(struct sim *sim, uint32_t link);
void sim_node_links_retry(struct sim *sim, uint32_t node);
void sim_node_unstall(struct sim *sim, uint32_t node);

/* ---- arrivals.c: requests at their node ------------------------------------------------------ */

void sim_link_pop_request(struct sim *sim, uint32_t link);
void sim_lane_pop(struct sim *sim, uint32_t lane);
/* Its node has read an old connection to its end. */
void sim_lane_hang_up(struct sim *sim, uint32_t link, uint32_t connection);
void sim_lanes_forget(struct sim *sim, uint32_t node); /* its process is gone */

/* ---- nodes.c --------------------------------------------------------------------------------- */

/* One command at its node: shown to the schedule, carried out. */
struct sim_command {
    uint32_t link;
    uint32_t node;
    struct sim_message *message;
    uint32_t connection;     /* of the link: how many broke before it; or SIM_CONNECTION_GONE */
    uint8_t moment;          /* TRIGGER_ARRIVAL, TRIGGER_COMMAND */
    bool lost;               /* out: the reply must not go out */
    int64_t delay_ns;        /* out: it must not arrive yet */
    bool answered;           /* out: the node has answered at once, ... */
    struct lock_reply reply; /* ... so */
    uint64_t event;          /* out: number of the event that tells of it, or SIM_NO_EVENT */
};

void sim_node_init(struct sim *sim, uint32_t node);
void sim_command_arrives(struct sim *sim, struct sim_command *command);
void sim_command_execute(struct sim *sim, struct sim_command *command);
/* The command as its service is asked. */
struct server_ask sim_command_ask(const struct sim *sim, const struct sim_command *command);
void sim_service_init(struct sim *sim);
void sim_service_pop(struct sim *sim, uint32_t wake);
void sim_node_rearm(struct sim *sim, uint32_t node); /* its clock was bent */

/* A node's process ends or changes. Return how many keys were lost. */
uint32_t sim_node_stop(struct sim *sim, const struct server_turn *turn, enum server_stop how,
                       uint32_t kept);
void sim_node_start(struct sim *sim, const struct server_turn *turn);
uint32_t sim_node_promote(struct sim *sim, const struct server_turn *turn, int64_t lag_ns);

/* ---- peers.c: links between nodes -------------------------------------------------------------
 */

void sim_peers_init(struct sim *sim);
void sim_peer_send(struct sim *sim, const struct server_message *told);
bool sim_peer_runs(const struct sim *sim, uint32_t node);
/* Does the link between two let pass what one tells the other? Do their processes run as well? */
bool sim_peer_links(const struct sim *sim, uint32_t from, uint32_t to);
bool sim_peer_reaches(const struct sim *sim, uint32_t from, uint32_t to);
void sim_peer_pop(struct sim *sim, uint32_t pair);
/* A node went, came, or runs again: its links do what follows from it. */
void sim_peers_turn(struct sim *sim, uint32_t node);
/* A fault of links between nodes begins, or ends. */
void sim_peers_cut(struct sim *sim, uint32_t k);
void sim_peers_heal(struct sim *sim, uint32_t k);

/* ---- faults.c -------------------------------------------------------------------------------- */

/* Carry out sim->actions. `command` is the command at hand, or NULL. */
void sim_faults_act(struct sim *sim, struct sim_command *command);

/* Is this direction of a link cut in this mode? */
bool sim_link_cut_by(const struct sim *sim, uint32_t link, uint32_t direction,
                     enum partition_mode mode);
static inline bool sim_link_cut(const struct sim *sim, uint32_t link, uint32_t direction,
                                enum partition_mode mode)
{
    return sim->world->in_force[FAULT_PARTITION] != 0 &&
           sim_link_cut_by(sim, link, direction, mode);
}
/* What the latency faults in force add: amount, and jitter to draw from. */
void sim_link_latency(struct sim *sim, uint32_t link, uint32_t direction, int64_t *amount_ns,
                      int64_t *jitter_ns);
/* The same of the slow faults in force on a client. */
void sim_actor_lateness(struct sim *sim, uint32_t client, int64_t *amount_ns, int64_t *jitter_ns);
/* A message was dropped on this link by the partitions in force. */
void sim_link_dropped(struct sim *sim, uint32_t link, uint32_t direction);
/* A stalled node kept a reply; a node refused a command. */
void sim_node_seen(struct sim *sim, uint32_t node, enum fault_kind kind);

#endif

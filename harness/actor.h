/*
 * actor.h: a client together with our own lock core, as one step: what sim and a real client
 * process both run.
 *
 *     reply, broken link, timer, store answer  -->  actor_step()  -->  send, wake, store, record,
 *                                                                      probe, done
 *
 * It joins client_step to lock_step: what the client asks becomes a lock event, what the lock
 * tells becomes a client event, and the probe points between sending and granting are put where
 * they belong. A probe point that nobody watches is passed in silence.
 *
 * Effects are carried out in order. A PROBE is the last effect, or the last but AGAIN: the actor
 * may be frozen or killed there, with nothing left over but the wish to be stepped AGAIN when it
 * may go on. What comes in meanwhile waits.
 */
#ifndef HARNESS_ACTOR_H
#define HARNESS_ACTOR_H

#include "harness/client.h"
#include "lockcore/lock.h"

enum actor_event_type {
    ACTOR_EVENT_START,
    ACTOR_EVENT_REPLY,  /* reply to `command` of `resource` from `node` */
    ACTOR_EVENT_PUSH,   /* what `command` of `resource` asked `node` to be told of */
    ACTOR_EVENT_BROKEN, /* the link to `node` broke */
    ACTOR_EVENT_WAKE,
    ACTOR_EVENT_STORE,
    ACTOR_EVENT_AGAIN,
};

struct actor_event {
    uint8_t type; /* enum actor_event_type */
    uint8_t node_index;
    uint8_t store_outcome; /* STORE: enum client_outcome */
    uint8_t store_cause;   /* STORE: enum history_cause */
    uint32_t lock;         /* REPLY, PUSH: as its SEND had it */
    struct lock_reply reply;
    struct lock_command command;
    int64_t now_ns;
    int64_t wall_ns;
    int64_t version;         /* STORE */
    uint32_t probes_watched; /* bit p: the schedule waits for probe point p */
    uint64_t random[LOCK_RANDOM_WORDS];
};

enum actor_effect_type {
    ACTOR_EFFECT_SEND,
    ACTOR_EFFECT_WAKE,
    ACTOR_EFFECT_STORE,
    ACTOR_EFFECT_RECORD,
    ACTOR_EFFECT_PROBE,
    ACTOR_EFFECT_AGAIN,
    ACTOR_EFFECT_DONE,
};

struct actor_effect {
    uint8_t type; /* enum actor_effect_type */
    uint8_t node_index;
    uint8_t point;
    uint8_t f;         /* STORE */
    uint32_t resource; /* SEND, STORE */
    uint32_t lock;     /* SEND: which of the actor's locks asks */
    int64_t at_ns;     /* WAKE: replaces the one before; TIME_NEVER cancels */
    union {
        struct lock_command command; /* SEND */
        struct history_event record; /* RECORD: see client.h */
        struct {
            struct history_value value;
            int64_t fence;
            int64_t basis;
        } store; /* STORE */
    } u;
};

enum { ACTOR_EFFECTS_MAX = LOCK_EFFECTS_MAX + 3 * CLIENT_EFFECTS_MAX };

struct actor_effects {
    uint32_t count;
    struct actor_effect list[ACTOR_EFFECTS_MAX];
};

enum { ACTOR_TOLD_MAX = 4 };

enum actor_stash {
    ACTOR_STASH_NONE,
    ACTOR_STASH_AS_IT_WAS, /* before_send: the lock took its time before the freeze */
    ACTOR_STASH_TIME_ANEW, /* after_majority: the lock looks at the clock after the freeze */
};

struct actor {
    struct client client;
    bool at_probe;      /* the client stands at a probe point and is to be told that it passed */
    uint8_t stash;      /* enum actor_stash: why `stashed` waits */
    uint8_t told_count; /* what the lock said and the client has not heard yet */
    uint32_t lock_count;
    uint32_t resource_count;
    uint32_t stashed_lock;
    int64_t wake_ns;        /* asked of the world; TIME_NEVER if none */
    int64_t client_wake_ns; /* the program's own part of it */
    struct client_event told[ACTOR_TOLD_MAX];
    struct lock_event stashed;
    /* One per resource; and, where clients acquire again what they hold, one more per resource for
       each time: another lock object of the same name. */
    struct lock locks[];
};

size_t actor_bytes(const struct client_program *program);
/* Which resource a lock of an actor is for. */
static inline uint32_t actor_lock_resource(const struct client_program *program, uint32_t lock)
{
    return lock % (uint32_t)program->resource_count;
}
void actor_init(struct actor *actor, const struct client_program *program,
                const struct lock_config *config, int32_t index, uint64_t seed);
void actor_step(struct actor *actor, const struct client_program *program,
                const struct actor_event *event, struct actor_effects *effects);

#endif

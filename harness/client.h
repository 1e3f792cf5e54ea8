/*
 * client.h: what one simulated application does, as a step: event in, effects out.
 *
 *     think -> acquire -> section (read, write, extend ...) -> release -> think ...
 *
 * It asks for the lock without knowing who answers: our core (actor.h), or any library behind the
 * adapter protocol. Both worlds and the adapter use this one program.
 *
 * Effects are carried out in order. A PROBE is always the last one: the client may be frozen or
 * killed there. When it may go on it is stepped with PASSED.
 */
#ifndef HARNESS_CLIENT_H
#define HARNESS_CLIENT_H

#include "base/random.h"
#include "harness/scenario.h"

enum client_event_type {
    CLIENT_EVENT_START,
    CLIENT_EVENT_WAKE,   /* the time asked for has come */
    CLIENT_EVENT_TOLD,   /* the lock answered, or says unasked that it was lost */
    CLIENT_EVENT_STORE,  /* the guarded store answered */
    CLIENT_EVENT_PASSED, /* the probe point that was the last effect is passed */
};

enum client_outcome {
    OUTCOME_OK,
    OUTCOME_FAIL,
    OUTCOME_INFO,
    OUTCOME_LOST,     /* unasked */
    OUTCOME_RENEWED,  /* unasked: held until `until_ns`, also where it was in jeopardy */
    OUTCOME_JEOPARDY, /* unasked: nobody knows whether it is held; RENEWED or LOST comes */
};

struct client_event {
    uint8_t type;               /* enum client_event_type */
    uint8_t outcome;            /* TOLD: enum client_outcome; STORE: OK or FAIL */
    uint8_t cause;              /* TOLD, STORE: enum history_cause of a failure */
    bool has_until;             /* TOLD ok, renewed: the lock promised an end */
    uint32_t resource;          /* TOLD unasked: of which */
    int64_t now_ns;             /* the client's monotonic clock */
    int64_t until_ns;           /* the same: the promised end on the client's clock ... */
    int64_t until_least_ns;     /* ... and its earliest reading; 0: it is exact */
    int64_t since_ns;           /* the same: when this was said, if it is heard later; else 0 */
    struct history_value value; /* TOLD ok of acquire */
    int64_t fence;              /* TOLD ok of acquire: > 0, or 0 */
    int64_t version;            /* STORE: after a write, or seen by a read */
};

enum client_effect_type {
    CLIENT_EFFECT_ASK,    /* f = acquire, extend or release of `resource` */
    CLIENT_EFFECT_STORE,  /* f = read or write of `resource` at the guarded store */
    CLIENT_EFFECT_WAKE,   /* at_ns on the client's clock; replaces; TIME_NEVER cancels */
    CLIENT_EFFECT_RECORD, /* `record`; the world sets time, index, process and until_ns in true
                             time (record.until_ns is on the client's clock) */
    CLIENT_EFFECT_PROBE,  /* `point` is passed */
    CLIENT_EFFECT_CANCEL, /* the acquire that is under way is given up; its own answer comes all
                             the same */
    CLIENT_EFFECT_DONE,   /* the program is finished */
};

struct client_effect {
    uint8_t type;                /* enum client_effect_type */
    uint8_t f;                   /* ASK, STORE: enum history_f */
    uint8_t point;               /* PROBE: enum probe_point */
    uint8_t depth;               /* ASK: so often its client held it before this grant */
    uint32_t resource;           /* ASK, STORE */
    int64_t at_ns;               /* WAKE */
    int64_t deadline_ns;         /* ASK acquire: it is to be answered within this; 0: no limit */
    struct history_value value;  /* STORE */
    int64_t fence;               /* STORE */
    int64_t basis;               /* STORE write: the version read before */
    struct history_event record; /* RECORD */
};

enum { CLIENT_EFFECTS_MAX = 8 };

struct client_effects {
    uint32_t count;
    struct client_effect list[CLIENT_EFFECTS_MAX];
};

/* What all clients of a run have in common; borrowed, never written. */
struct client_program {
    int32_t resource_count;
    int32_t at_once; /* so many of them in each section */
    int32_t again;   /* so often it acquires in its section what it holds already */
    uint8_t order;   /* enum acquire_order */
    int32_t sections;
    int32_t writes;
    int64_t hold_ns;
    int64_t think_ns;
    int64_t think_jitter_ns;
    int64_t extend_every_ns;
    int32_t releases;
    int64_t deadline_ns;     /* of an acquire; 0: none */
    int64_t cancel_after_ns; /* 0: never */
    uint8_t on_lost;         /* enum on_lost */
    bool audit; /* the auditor: acquires each resource in turn, asking until granted; releases */
};

/*
 * What a client was granted, or asks for, lies on a stack: first the resources that it wants at
 * once, then what it acquired again. It is given back from the top.
 */
struct client_hold {
    uint32_t resource;
    bool lost;     /* told so */
    bool jeopardy; /* told so, and neither renewed nor lost since: its client touches nothing */
    struct history_value value;
    int64_t fence;
};

enum client_state {
    CLIENT_STATE_NEW,
    CLIENT_STATE_THINKING,
    CLIENT_STATE_ACQUIRING, /* asked, not answered */
    CLIENT_STATE_REFUSED,   /* at the probe after_refused */
    CLIENT_STATE_GRANTED,   /* at the probe after_granted */
    CLIENT_STATE_HOLDING,   /* in the section, nothing outstanding */
    CLIENT_STATE_READING,
    CLIENT_STATE_READ, /* at the probe before_write */
    CLIENT_STATE_WRITING,
    CLIENT_STATE_WRITTEN, /* at the probe after_write */
    CLIENT_STATE_OVERDUE, /* at the probe before_extend */
    CLIENT_STATE_EXTENDING,
    CLIENT_STATE_EXTENDED, /* at the probe after_extend */
    CLIENT_STATE_LEFT,     /* at the probe before_release */
    CLIENT_STATE_RELEASING,
    CLIENT_STATE_RELEASED, /* at the probe after_release */
    CLIENT_STATE_DONE,
    CLIENT_STATES,
};

struct client {
    uint8_t state; /* enum client_state */
    bool entered;  /* it is, or was, in the section of what it holds */
    bool left;     /* ... and is so no longer */
    bool outside;  /* it has left its section while something is in jeopardy */
    uint8_t held;  /* grants on the stack */
    uint8_t at;    /* the one that the client is busy with; `held` while it asks for it */
    uint8_t again_left;
    int32_t index;
    int32_t sections_left; /* a section counts once it was granted; refusals do not */
    int32_t writes_left;
    int32_t releases_left; /* of this grant */
    int64_t enter_ns;  /* when the section began, client's clock; the writes are spread from here */
    int64_t extend_ns; /* when the next extension is due; TIME_NEVER if none */
    int64_t basis;     /* version read for the write that is under way */
    struct client_hold holds[SCENARIO_HOLDS_MAX];
    struct random_stream stream; /* thinking times and choices of a resource */
};

void client_program_init(struct client_program *program, const struct plan *plan, bool audit);
void client_init(struct client *client, const struct client_program *program, int32_t index,
                 uint64_t seed);

/* Advance by one event. Same client, program and event give the same effects, anywhere. */
void client_step(struct client *client, const struct client_program *program,
                 const struct client_event *event, struct client_effects *effects);

#endif

/*
 * keys.h: what each node holds, as the node itself tells it: who set a key, until when, and why it
 * went.
 *
 *     node's tap --keys_receive()--> the view --> HISTORY_NODE events
 *        ^                            ^
 *        |                            |  keys_learned: which keys are a resource's
 *     commands through the proxies    requests of clients: keys_asked(), keys_told()
 *
 * A node says in its own order what it did, whose command it was, and what ended by itself (tap.h).
 * What a script's text says decides nothing. A reply is held by its proxy until the tap has shown
 * what its command did (keys_answer), so that a node's events precede what follows from them.
 *
 * Which keys belong to a resource is said (keys_pattern) or learned: a key that came to be while
 * its client asked for a resource is that resource's. Of several, one is the lock: the first that
 * was said, or the one that was given an end. Its presence is what "set" and "deleted" tell of.
 *
 * A node whose server will not tell makes all of this silent (keys_unwatched): then nothing is said
 * of keys at all.
 *
 * Times are loop_now_ns(); events carry the time since options.start_ns, and are dated by the
 * node's own clock, which the run says (keys_clock_changed). One thread.
 */
#ifndef HARNESS_REAL_KEYS_H
#define HARNESS_REAL_KEYS_H

#include "base/result.h"
#include "base/text.h"
#include "harness/scenario.h"
#include "lockcore/redis/command.h"
#include "servers/address.h"
#include "servers/redis/real/resp.h"
#include "servers/wire.h"

#include <stdbool.h>
#include <stdint.h>

struct keys;

enum {
    KEYS_COMMAND_KEYS_MAX = 4, /* resources of one command; more are not looked at */
    KEYS_NAME_BYTES_MAX = 512, /* of a key; a longer one is not followed */
    KEYS_PATTERNS_MAX = 8,
    KEYS_OF_RESOURCE_MAX = 8, /* keys that are followed for one resource */
};

#define KEYS_NO_RESOURCE UINT32_MAX

/* What a command was seen to do to the key that is a resource's lock. */
enum keys_did {
    KEYS_DID_SET = 1 << 0,     /* it is there now, and was not before, or was another's */
    KEYS_DID_EXTEND = 1 << 1,  /* it has a new end */
    KEYS_DID_DELETE = 1 << 2,  /* it is gone */
    KEYS_DID_TOUCH = 1 << 3,   /* it changed otherwise */
    KEYS_DID_REFUSED = 1 << 4, /* asked for, but it is there already: no effect */
    KEYS_DID_KEPT = 1 << 5,    /* deletion or extension that had no effect */
};

/* Events that tell of one command, by the numbers that `emit` gave them. */
struct keys_told {
    uint64_t first;
    uint64_t count;
};

/* What one command did, as the node told it. */
struct keys_deed {
    bool seen;         /* false: the node did not say; nothing below is known */
    bool holds;        /* after it, the lock's key is there and the client's own */
    uint8_t did;       /* enum keys_did, of `resource` */
    uint32_t resource; /* or KEYS_NO_RESOURCE: it touched none's */
    struct keys_told told;
};

/* A command on its way, as far as it can be known before it is carried out. Plain data. */
struct keys_command {
    uint8_t role;      /* enum command_role: by its name; of a script by what the same script was
                          seen to do, or at first by what its client asked for */
    uint8_t kind;      /* row of the dialect that it is or resembles; row_count: none */
    uint8_t ask;       /* keys room's own: enum effect_ask */
    uint8_t key_count; /* resources that it names */
    bool doubtful;     /* several threads of its program may have sent it: `client` is a guess */
    bool has_value;
    bool ends_replies; /* after it, what the node sends answers commands no more: SUBSCRIBE ... */
    bool shown;        /* keys room's own: the node has shown it, and all that it did */
    bool known;        /* the wire read it: it is `own` */
    uint32_t resource[KEYS_COMMAND_KEYS_MAX];
    struct history_value value; /* that it sets or names */
    int32_t client;             /* whose it is: of several threads of a program, which */
    uint64_t habit;             /* what it is: equal for equal scripts */
    uint64_t hash;              /* of all its words */
    int64_t came_ns;            /* when it was read from its client; 0: nobody's */
    int64_t sent_ns;            /* when it was forwarded; 0: not yet */
    struct lock_command own;
    int64_t own_until_ms; /* wire.h */
};

/* A reply, read. */
struct keys_reply {
    uint8_t type;  /* enum redis_said; GARBLED: none of those that a lock expects */
    bool error;    /* an error, NOSCRIPT included: nothing was applied */
    uint8_t tells; /* enum wire_tells */
    int64_t integer;
};

/* Where events go. time_ns counts from the start of the run; the receiver sets index. Gives the
 * number by which `replied` knows the event, or KEYS_NO_EVENT: it is not kept. */
typedef uint64_t keys_emit(void *data, const struct history_event *event);

#define KEYS_NO_EVENT UINT64_MAX

/* A command as a node showed it. */
struct keys_shown {
    int32_t client; /* or HISTORY_NOBODY */
    int32_t node;
    bool inside; /* called by the script, function or transaction before it */
    uint8_t f;   /* what the client asks its library for meanwhile; HISTORY_READ: nothing */
    int64_t true_ns;
    const struct resp_words *words;
};

struct keys_options {
    uint8_t kind; /* of servers/kinds.h: what the nodes are */
    bool pooled;  /* a pooler gives each transaction whichever connection is free */
    int32_t node_count;
    int32_t client_count; /* with the auditor */
    int32_t thread_count; /* clients of one program, that send what they send through the links of
                             the first of them; 0, 1: each has its own */
    uint32_t resource_count;
    const char *const *resource_names; /* kept */
    int64_t start_ns;                  /* loop_now_ns() at the start of the run */
    keys_emit *emit;
    void *emit_data;                                           /* of shown and replied, too */
    void (*shown)(void *data, const struct keys_shown *shown); /* or NULL */
    /* The reply to the command that this event tells of went on to its client; or NULL. */
    void (*replied)(void *data, uint64_t event, int64_t true_ns);
    /* The command that this event tells of turned out to be this client's; or NULL. */
    void (*whose)(void *data, uint64_t event, int32_t client);
};

/* NULL if memory is short. */
struct keys *keys_new(const struct keys_options *options);
void keys_free(struct keys *keys);

/*
 * Say which keys are a resource's: a name in which "{resource}" stands for it. The first that is
 * said is the lock itself; nothing is learned any more. False: it is too long, one too many, or
 * names no resource.
 */
bool keys_pattern(struct keys *keys, const char *pattern);

/* ---- taps: for the run ----------------------------------------------------------------------- */

/* What happened to a node that is back. */
struct keys_return {
    int32_t node;
    struct address address; /* where its server listens */
    int32_t fault;          /* number in the plan, or HISTORY_NO_FAULT */
    uint8_t cause;          /* CAUSE_RESTART, CAUSE_FAILOVER; CAUSE_NONE: only its tap was lost */
    int64_t lost_ns;        /* when it went away, ... */
    int64_t since_ns;       /* ... or not before this; 0: exactly then */
    uint32_t lost;          /* out: keys of resources that were there then, and are not any more */
};

/*
 * Have the node at this address tell what it does from now on, before any client can reach it.
 * ERROR_ENVIRONMENT where it does not answer. One that will not tell makes keys_unwatched.
 */
MUST_USE struct result keys_watch(struct keys *keys, int32_t node, struct address address,
                                  struct text *why);

/*
 * The node is on another machine, whose wall clock is ahead of ours, as far as it was measured. Its
 * stamps date nothing: what it tells happened between the moment at which we sent the command and
 * the one at which we heard of it (since_ns and time_ns of the events).
 */
void keys_distant(struct keys *keys, int32_t node, int64_t wall_ahead_ns);

/*
 * The node was away and is back: ask it what it holds, and have it tell again. Keys that are gone
 * are reported lost (time lost_ns), or expired if their time was up; those that are there are back.
 */
MUST_USE struct result keys_watch_again(struct keys *keys, struct keys_return *back,
                                        struct text *why);

/*
 * The node's process is gone: take in what it still said. What was not said of commands under way
 * is lost with it. With `forgets` its keys are gone as well: they are reported lost now.
 */
void keys_gone(struct keys *keys, struct keys_return *gone, bool forgets);

/* One node's keys are another's, as far as that has them: the next keys_watch_again tells. They end
 * at the same dates. */
void keys_handed_on(struct keys *keys, int32_t from, int32_t to);

/*
 * Another node took its place, and this one may not know: its keys are lost to the store now, and
 * so is each that is set there from now on, as it is set. Until it is watched anew.
 */
void keys_deposed(struct keys *keys, struct keys_return *gone);

/* A node that was watched does not tell any more, though nobody said that it is gone; since when.
 */
bool keys_went_silent(const struct keys *keys, int32_t node);
int64_t keys_heard_ns(const struct keys *keys, int32_t node);

/* Why nodes are not watched: a sentence; "": they are. */
const char *keys_unwatched(const struct keys *keys);

/* All of them were listened to, and would have told of every key. */
bool keys_tapped(const struct keys *keys);

/* A node that stood still goes on: a leader of sessions may do now what it would have done then. */
void keys_resumed(struct keys *keys);

/* ---- connections: for the proxies ------------------------------------------------------------ */

/* A connection between a client and a node, and the commands under way on it. */
struct keys_channel;

struct keys_route {
    int32_t node;
    int32_t client;
    uint16_t own_port;           /* of our socket towards the node: the node names it */
    struct address node_address; /* where that socket leads: nobody watches another's */
};

/* NULL if memory is short. */
struct keys_channel *keys_channel_open(struct keys *keys, const struct keys_route *route);
void keys_channel_close(struct keys_channel *channel);

/* Read a command that came from the client at command->came_ns, in the order in which they come.
 * `stream` is the wire's, which has just read it. */
void keys_read(struct keys_channel *channel, const void *stream, const struct wire_request *request,
               struct keys_command *command);

/* It goes to the node. */
void keys_sent(struct keys_channel *channel, const struct keys_command *command, int64_t true_ns);

/* The oldest command without a reply, as its wire read it; NULL: there is none, or the wire did not
 * know it. */
const struct lock_command *keys_next_asked(const struct keys_channel *channel);

/* ... has it now. Only where keys_unheard. */
void keys_heard(struct keys_channel *channel, const void *stream, const struct wire_reply *reply,
                int64_t true_ns);

/* The node's side is over: commands without a reply will never have one. */
void keys_cut_off(struct keys_channel *channel);

/* Sent and without a reply; sent and not taken by keys_answer yet. */
uint32_t keys_unheard(const struct keys_channel *channel);
uint32_t keys_open(const struct keys_channel *channel);

/* A command whose reply may pass now. */
struct keys_answer {
    struct keys_command command;
    struct keys_reply reply;
    struct keys_deed deed;
    struct keys_told error; /* that the reply was one */
    bool answered;          /* false: there is no reply */
    bool lost;              /* what it did was never told: its reply must not pass */
};

/* Take the oldest command whose reply is here and which the node has shown; false: none yet. */
bool keys_answer(struct keys_channel *channel, struct keys_answer *answer);

/* The reply to what these tell of goes on to its client. */
void keys_replied(struct keys_channel *channel, const struct keys_told *told, int64_t true_ns);

/* The descriptor on which a node tells; -1: none. keys_receive when it can be read, ... */
int keys_fd(const struct keys *keys, int32_t node);
void keys_receive(struct keys *keys, int32_t node);
/* ... and keys_ask at the end of a turn: it asks nodes for what replies wait for. */
void keys_ask(struct keys *keys);

/* Report what expired until now; keys_next_ns says when to call again (TIME_NEVER: no need). */
void keys_time(struct keys *keys, int64_t true_ns);
int64_t keys_next_ns(const struct keys *keys);

/* ---- requests: for adapters ------------------------------------------------------------------ */

/* A client asks its library for something, and is told. */
struct keys_request {
    int32_t client;
    uint8_t f; /* HISTORY_ACQUIRE, HISTORY_EXTEND, HISTORY_RELEASE */
    uint32_t resource;
    int64_t true_ns;
};

void keys_asked(struct keys *keys, const struct keys_request *request);

struct keys_outcome {
    uint8_t type; /* enum history_type */
    const struct history_value
        *value; /* what its library says that it put into the keys, or NULL */
    int64_t true_ns;
};

void keys_told(struct keys *keys, const struct keys_request *request,
               const struct keys_outcome *outcome);

/* Two threads of one program hold a lock as one owner: whose its keys are cannot be said. */
void keys_shared(struct keys *keys);

/* ---- for the run ----------------------------------------------------------------------------- */

/*
 * `fault` is the number in the plan, or HISTORY_NO_FAULT. From true_ns on the node's wall clock is
 * jump_ns further than it was and goes at rate_ppm (1000000: sound). A key that is over by that is
 * reported expired, with the cause.
 */
struct keys_clock_change {
    int32_t node;
    int32_t fault;
    int64_t true_ns;
    int64_t jump_ns;
    int64_t rate_ppm;
};

void keys_clock_changed(struct keys *keys, const struct keys_clock_change *change);

/* Names of the keys of a resource that a node holds, for the run to evict. */
struct keys_names {
    uint32_t count;
    struct resp_word name[KEYS_OF_RESOURCE_MAX]; /* borrowed until the next call */
    int32_t database[KEYS_OF_RESOURCE_MAX];
};

void keys_names_of(const struct keys *keys, int32_t node, uint32_t resource,
                   struct keys_names *names);

/* The keys that turned out to be a resource's; false: there is no such number. */
struct keys_known {
    struct resp_word name;
    bool lock; /* it is the lock; else it stands beside it */
};

bool keys_known(const struct keys *keys, uint32_t resource, uint32_t number,
                struct keys_known *known);

/* From now on keys that somebody else than a client deletes there are evicted, by this fault. */
void keys_evicting(struct keys *keys, int32_t node, int32_t fault);

/* The view of one resource's lock, for the run and for tests. */
struct keys_view {
    bool present;
    bool has_value;
    struct history_value value;
    int32_t owner;       /* the client that set it, or HISTORY_NOBODY */
    int64_t earliest_ns; /* true time of its end, at the earliest ... */
    int64_t latest_ns;   /* ... and at the latest; TIME_NEVER without a ttl */
};

void keys_look(const struct keys *keys, int32_t node, uint32_t resource, int64_t true_ns,
               struct keys_view *view);

/* The history's value for a value string: 40 hex digits are 20 bytes, and 20 bytes are themselves;
 * all else is hashed. */
void keys_value(const char *text, size_t bytes, struct history_value *value);

#endif

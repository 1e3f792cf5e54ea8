/*
 * keys.h: what each node holds, as seen on the wire: who set a key, until when, and why it went.
 *
 *     command words  --keys_read()-->  struct keys_command  --keys_sent(), keys_answered()-->
 *                                                      HISTORY_NODE events
 *
 * It never asks a node. It knows our own commands and scripts (lockcore/redis/command.h), the plain
 * commands that locks are made of, and foreign scripts by what their text calls: an EVAL or SCRIPT
 * LOAD that passes teaches it the SHA-1.
 *
 * A key's end is given the benefit of the doubt: the latest possible one, reply time + ttl. The
 * earliest possible one, sending time + ttl, is kept beside it. Replies of two connections can
 * reach us in another order than the node gave them: one that contradicts the view waits until the
 * commands on the same key that are still unanswered have explained it.
 *
 * A node's wall clock is piecewise linear and told by the run (keys_clock). Times are
 * loop_now_ns(); events carry the time since options.start_ns.
 *
 * Memory is bounded by resources and nodes, not by the length of a run.
 */
#ifndef HARNESS_REAL_KEYS_H
#define HARNESS_REAL_KEYS_H

#include "harness/real/proxy/resp.h"
#include "harness/scenario.h"
#include "lockcore/redis/command.h"

#include <stdbool.h>
#include <stdint.h>

struct keys;

enum {
    KEYS_COMMAND_KEYS_MAX = 4, /* watched keys of one command; more are not looked at */
};

#define KEYS_NO_RESOURCE UINT32_MAX

/* What a command does to its keys. */
enum keys_verb {
    KEYS_NONE,           /* nothing that a lock's key would notice */
    KEYS_SET,            /* SET without NX: whoever owns it */
    KEYS_SET_ABSENT,     /* SET NX, SETNX, an acquire script */
    KEYS_SET_PRESENT,    /* SET XX */
    KEYS_EXTEND,         /* PEXPIRE, EXPIRE: whoever owns it */
    KEYS_EXTEND_COMPARE, /* only if the key holds the value */
    KEYS_SET_OR_EXTEND,  /* extends our key or creates it */
    KEYS_DELETE,         /* DEL, UNLINK */
    KEYS_DELETE_COMPARE, /* only if the key holds the value */
    KEYS_FLUSH,          /* FLUSHALL, FLUSHDB */
};

/* A command, read. Plain data. */
struct keys_command {
    uint8_t verb;      /* enum keys_verb */
    uint8_t role;      /* enum command_role */
    uint8_t kind;      /* enum redis_command that it is or resembles; REDIS_COMMANDS:
                          none */
    uint8_t key_count; /* watched keys */
    uint8_t flags;     /* keys.c's own */
    bool has_value;
    uint32_t resource[KEYS_COMMAND_KEYS_MAX]; /* of the watched keys */
    struct history_value value;
    int64_t ttl_ns;  /* 0: none */
    int64_t sent_ns; /* when it was forwarded; 0: not yet */
};

/* A reply, read. */
struct keys_reply {
    uint8_t type; /* enum redis_said; GARBLED: none of those that a lock expects */
    bool error;   /* an error, NOSCRIPT included: nothing was applied */
    int64_t integer;
};

/* Where events go. time_ns counts from the start of the run; the receiver sets index. */
typedef void keys_emit(void *data, const struct history_event *event);

struct keys_options {
    int32_t node_count;
    uint32_t resource_count;
    const char *const *resource_names; /* kept */
    int64_t start_ns;                  /* loop_now_ns() at the start of the run */
    keys_emit *emit;
    void *emit_data;
};

/* NULL if memory is short. */
struct keys *keys_new(const struct keys_options *options);
void keys_free(struct keys *keys);

/*
 * For the proxies: read a command, and be told when it and its reply pass. `words` are of one RESP
 * command.
 */
void keys_read(struct keys *keys, const struct resp_words *words, struct keys_command *command);

/* A command, or its reply, that passes between a client and a node at true_ns. */
struct keys_passage {
    int32_t node;
    int32_t process; /* the client */
    int64_t true_ns;
    struct keys_command *command;
};

void keys_sent(struct keys *keys, const struct keys_passage *passage);
void keys_answered(struct keys *keys, const struct keys_passage *passage,
                   const struct resp_reply *reply, struct keys_reply *read);
/* The reply will never come: whether it was applied is not known. */
void keys_unanswered(struct keys *keys, const struct keys_passage *passage);

/* Report what expired until now; keys_next_ns says when to call again (TIME_NEVER: no need). */
void keys_time(struct keys *keys, int64_t true_ns);
int64_t keys_next_ns(const struct keys *keys);

/*
 * For the run: what it does to nodes. `fault` is the number in the plan, or HISTORY_NO_FAULT.
 *
 * From true_ns on the node's wall clock is jump_ns further than it was and goes at rate_ppm
 * (1000000: sound). A key that is over by that is reported expired, with the cause.
 */
struct keys_clock_change {
    int32_t node;
    int32_t fault;
    int64_t true_ns;
    int64_t jump_ns;
    int64_t rate_ppm;
};

void keys_clock_changed(struct keys *keys, const struct keys_clock_change *change);

/* What a node holds after a restart or a failover, read from the node itself by the run. */
struct keys_found {
    const char *name;
    const char *value;
    uint32_t value_bytes;
    int64_t ttl_ns; /* PTTL; < 0: none */
};

struct keys_restart {
    int32_t node;
    int32_t fault;
    uint8_t cause;   /* CAUSE_RESTART or CAUSE_FAILOVER */
    int64_t lost_ns; /* when the node went away */
    int64_t back_ns; /* when `found` was read */
    const struct keys_found *found;
    uint32_t found_count;
};

/*
 * The node was away and is back, and holds exactly `found`: the rest is reported as lost (time
 * lost_ns), or expired if its time was up; what was found is reported as back (time back_ns). Call
 * it before any client's command can reach the node.
 */
void keys_restarted(struct keys *keys, const struct keys_restart *restart);

/* The run evicted a key, or flushed the node (all keys: KEYS_NO_RESOURCE). */
struct keys_eviction {
    int32_t node;
    int32_t fault;
    uint32_t resource;
    int64_t true_ns;
};

void keys_evicted(struct keys *keys, const struct keys_eviction *eviction);

/* The view of one key, for the run and for tests. */
struct keys_view {
    bool present;
    struct history_value value;
    int32_t owner;       /* the client that set it, or HISTORY_NOBODY */
    int64_t earliest_ns; /* true time of its end, at the earliest ... */
    int64_t latest_ns;   /* ... and at the latest; TIME_NEVER without a ttl */
};

void keys_look(struct keys *keys, int32_t node, uint32_t resource, int64_t true_ns,
               struct keys_view *view);

/* The history's value for a value string: 40 hex digits are 20 bytes; all else is hashed. */
void keys_value(const char *text, size_t bytes, struct history_value *value);

/* The resource whose key this is, by name, or KEYS_NO_RESOURCE. */
uint32_t keys_resource(const struct keys *keys, const char *name, size_t bytes);

#endif

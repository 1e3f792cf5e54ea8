/*
 * keys_inner.h: what the files of keys.h share; nobody else includes it.
 *
 *     keys_name.c    names of resources and values, by hash
 *     keys_script.c  Lua texts, their SHA-1, and what they do
 *     keys_read.c    words -> struct keys_command, reply -> struct keys_reply
 *     keys_judge.c   does a reply agree with the view of one key, and which event does it make
 *     keys_view.c    the view of one key: facts and endings, as events
 *     keys.c         what passes, and replies that come out of order
 *     keys_run.c     what time and the run do to keys
 */
#ifndef HARNESS_REAL_KEYS_INNER_H
#define HARNESS_REAL_KEYS_INNER_H

#include "harness/real/keys/keys.h"

enum {
    KEYS_SHA_HEX_BYTES = 40,
    KEYS_SCRIPTS_MAX = 128, /* the oldest foreign one makes room */
    KEYS_DEFERRED_MAX = 64,
    KEYS_NO_SCRIPT = UINT16_MAX,
};

/* Flags of a command. */
enum {
    KEYS_FLAG_NIL_IS_YES = 1 << 0, /* a script that answers nil when it got the lock (Redisson) */
    KEYS_FLAG_COUNT = 1 << 1,      /* several keys, and the reply says how many */
};

/* ---- names ---- */

struct keys_names {
    const char *const *name; /* borrowed */
    uint32_t *slot;          /* open addressing: index + 1, 0: free */
    uint32_t slot_mask;
    uint32_t count;
};

bool keys_names_init(struct keys_names *names, const char *const *name, uint32_t count);
uint32_t keys_names_find(const struct keys_names *names, const char *name, size_t bytes);
uint64_t keys_hash(const char *data, size_t bytes);

/* ---- scripts ---- */

struct keys_script {
    uint64_t text_hash;
    char sha[KEYS_SHA_HEX_BYTES];
    uint8_t verb;  /* enum keys_verb */
    uint8_t kind;  /* enum redis_command */
    uint8_t flags; /* KEYS_FLAG_... */
};

struct keys_scripts {
    uint32_t count;
    uint32_t own;  /* the first ones are lockcore's */
    uint32_t next; /* the foreign slot that is taken when all are full */
    struct keys_script list[KEYS_SCRIPTS_MAX];
};

void keys_scripts_init(struct keys_scripts *scripts);
const struct keys_script *keys_scripts_learn(struct keys_scripts *scripts, const char *text,
                                             size_t bytes);
const struct keys_script *keys_scripts_find(const struct keys_scripts *scripts, const char *sha,
                                            size_t bytes);
/* What a Lua text does, from the commands that it calls. */
void keys_script_classify(const char *text, size_t bytes, struct keys_script *script);
void keys_sha1_print(const char *data, size_t bytes, char hex[KEYS_SHA_HEX_BYTES]);

/* ---- reading ---- */

void keys_command_read(struct keys_scripts *scripts, const struct keys_names *names,
                       const struct resp_words *words, struct keys_command *command);
void keys_reply_read(const struct resp_reply *reply, struct keys_reply *read);

/* ---- one key ---- */

/* What a key was before its last change, and that change: a reply may tell of the time before. */
struct keys_past {
    bool known;
    bool present;
    bool has_ttl;
    bool yes;
    int32_t owner;
    int32_t process;
    struct history_value value;
    int64_t earliest_ns;
    int64_t latest_ns;
    int64_t true_ns; /* when the reply to `command` came */
    int64_t recorded_ns;
    struct keys_command command;
};

/* What a node is believed to hold under one name. Ends are on the node's wall clock. */
struct keys_entry {
    bool present;
    bool has_ttl;
    bool maybe_set;   /* `maybe` was sent and never answered */
    uint8_t cause;    /* enum history_cause that an expiry will have */
    int16_t fault;    /* that is to blame for it, or HISTORY_NO_FAULT */
    int32_t owner;    /* the client that set it */
    uint32_t pending; /* commands on it that are not answered */
    struct history_value value;
    int64_t earliest_wall_ns;
    int64_t latest_wall_ns;
    int64_t earliest_ns; /* the same in true time */
    int64_t latest_ns;
    struct keys_command maybe;
    int32_t maybe_process;
    struct keys_past past;
};

/* What the answer to a command says about one of its keys. */
struct keys_fact {
    const struct keys_command *command;
    int32_t process;
    bool yes;            /* the command had its effect */
    int64_t true_ns;     /* when the reply came */
    int64_t recorded_ns; /* the time of its event: earlier if what followed from it came first */
};

enum keys_agreement {
    KEYS_AGREES,
    KEYS_AGREES_EXPIRED, /* if the entry's time was up meanwhile, which is possible */
    KEYS_CONTRADICTS,
};

enum keys_agreement keys_judge(const struct keys_entry *entry, const struct keys_fact *fact);

/* The event that a fact makes, beside the ending of what was there before. */
enum history_f keys_event_f(const struct keys_entry *entry, const struct keys_fact *fact);

/* ---- the view (keys_view.c) ---- */

enum { KEYS_RATE_SOUND_PPM = 1000000 };

/* A node's wall clock: wall = base_wall + (true - base_true) * rate. It counts from 0 at start. */
struct keys_clock {
    int64_t base_true_ns;
    int64_t base_wall_ns;
    int64_t rate_ppm;
    int32_t fault; /* that set the rate */
};

/* A fact that contradicts the view until other commands on the same key are answered. */
struct keys_deferred {
    struct keys_command command;
    struct keys_fact fact; /* its command pointer is set when it is used */
    struct keys_entry *entry;
    uint32_t waits; /* answers that may still explain it */
};

struct keys {
    struct keys_options options;
    struct keys_names names;
    struct keys_scripts scripts;
    int64_t next_ns; /* no key ends before; TIME_NEVER */
    uint32_t deferred_count;
    struct keys_deferred deferred[KEYS_DEFERRED_MAX]; /* oldest first */
    struct keys_clock *clocks;                        /* one a node */
    struct keys_entry entries[];                      /* node * resource_count + resource */
};

/* How a key ended without a command's doing. */
struct keys_ending {
    uint8_t f;     /* enum history_f */
    uint8_t cause; /* enum history_cause */
    int32_t fault;
    int64_t true_ns;
};

int64_t keys_clock_wall(const struct keys_clock *clock, int64_t true_ns);
struct keys_entry *keys_entry(struct keys *keys, int32_t node, uint32_t resource);
struct keys_clock *keys_entry_clock(struct keys *keys, const struct keys_entry *entry);
/* Make an event about the entry's key, with the owner that it has. */
struct history_event keys_event(const struct keys *keys, const struct keys_entry *entry,
                                enum history_f f, int64_t true_ns);
void keys_event_until(const struct keys *keys, const struct keys_entry *entry,
                      struct history_event *event);
/* Ends in true time, from those on the wall clock. */
void keys_entry_recompute(const struct keys_clock *clock, struct keys_entry *entry);
/* Let keys_time look at it when it ends. */
void keys_entry_schedule(struct keys *keys, const struct keys_entry *entry);
void keys_gone(struct keys *keys, struct keys_entry *entry, const struct keys_ending *ending);
void keys_expire(struct keys *keys, struct keys_entry *entry, int64_t true_ns);
/* Take a fact in; false, and nothing done, if it contradicts the view and is not forced. */
bool keys_take(struct keys *keys, struct keys_entry *entry, const struct keys_fact *fact,
               bool force);

/* Record that a key was set and deleted again before its last change; moves nothing. */
void keys_take_episode(struct keys *keys, struct keys_entry *entry, const struct keys_fact *set,
                       const struct keys_fact *deletion);

#endif

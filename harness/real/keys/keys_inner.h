/*
 * keys_inner.h: what the files of keys.h share; nobody else includes it.
 *
 *     keys.c         make and free, look, time
 *     keys_table.c   names of keys, and each of them on each node
 *     keys_value.c   hashes and values
 *     keys_read.c    words -> struct keys_command, reply -> struct keys_reply
 *     keys_own.c     the same for kinds whose nodes do not tell: what their wires read
 *     keys_session.c the same where locks live in sessions
 *     keys_connection.c the same where they live with a connection
 *     keys_habit.c   what a script was seen to do
 *     keys_channel.c commands under way, and which of them the node has shown
 *     keys_tap.c     what a node tells, cut into units: one command, script or transaction
 *     keys_change.c  what one effect does to one key
 *     keys_owner.c   whose a hash is, by what is written into it
 *     keys_thread.c  which thread of a program a command is of
 *     keys_learn.c   which keys belong to a resource; what clients ask for
 *     keys_tell.c    what a unit did to a resource's lock, as events
 *     keys_clock.c   the node's clock, and the ends of keys
 *     keys_return.c  nodes that go and come back
 *
 * What is Redis's own stands in tap.h, monitor.h, effect.h and keys_read.c.
 */
#ifndef HARNESS_REAL_KEYS_INNER_H
#define HARNESS_REAL_KEYS_INNER_H

#include "base/duration.h"
#include "harness/real/keys/effect.h"
#include "harness/real/keys/keys.h"
#include "harness/real/keys/tap.h"
#include "servers/kinds.h"
#include "servers/redis/real/wire.h"

enum {
    KEYS_SHA_HEX_BYTES = 40,
    KEYS_HABITS = 1024,    /* a power of two; two that fall on one place forget each other */
    KEYS_TEXTS = 64,       /* scripts whose SHA-1 is remembered; a power of two */
    KEYS_NAMES_MAX = 8192, /* then those that are nobody's and nowhere make room */
    KEYS_EFFECTS_MAX = 64, /* of one command; further ones are taken for nobody's */
    KEYS_EFFECT_BYTES = 64 << 10,
    KEYS_CHANGES_MAX = 64, /* keys that one unit changes and that are somebody's lock */
    KEYS_MENTIONS_MAX = 8, /* resources that one unit names without changing them */
    KEYS_VALUES_MAX = 8,   /* that a client set last */
    KEYS_WORDS_MAX = 256,  /* different words of one acquire's commands that are remembered */
    KEYS_RATE_SOUND_PPM = 1000000,
    KEYS_LOST_MAX = 64, /* commands that a node that goes leaves without an answer */
    KEYS_DOUBTS_MAX = 256,
    KEYS_CHANNELS = 256, /* places of the table of channels by port; a power of two */
};

/* ---- names and keys -------------------------------------------------------------------------- */

/* What a key is for its resource. */
enum keys_part {
    KEYS_PART_NONE,   /* nobody's */
    KEYS_PART_LOCK,   /* its presence is the lock */
    KEYS_PART_BESIDE, /* a fence, a queue, a count */
};

/* Of a lock that lives with a connection. */
struct keys_holding {
    const struct keys_channel *by; /* NULL: that is over */
    uint32_t count;                /* so often it was granted and not given back */
    int64_t over_ns;               /* when the connection ended; 0: it has not */
};

/* A key on one node. Ends are on the node's wall clock, since 1970. */
struct keys_key {
    bool present;
    bool has_ttl;
    bool has_value;
    bool has_number;
    bool lingers;  /* its time was up by our reckoning; the node has not said yet that it is gone */
    uint8_t shape; /* enum effect_shape */
    uint8_t cause; /* enum history_cause that an expiry will have */
    int16_t fault; /* that is to blame for it, or HISTORY_NO_FAULT */
    int32_t owner; /* the client that set it, or HISTORY_NOBODY */
    struct history_value value;
    uint64_t value_field; /* of a hash: the field that holds it, hashed; 0: it is a field's name */
    int64_t number;       /* of a counter */
    int64_t ttl_ns;       /* as it was given */
    int64_t earliest_wall_ns;
    int64_t latest_wall_ns;
    int64_t earliest_ns; /* the same in true time */
    int64_t latest_ns;
    struct keys_holding holding;
};

/* A key's name, the same on all nodes. */
struct keys_name {
    char *text; /* owned */
    uint32_t bytes;
    int32_t database;
    uint64_t hash;
    uint8_t part;        /* enum keys_part */
    uint32_t resource;   /* whose it is; KEYS_NO_RESOURCE */
    struct keys_key *on; /* owned: one a node */
};

struct keys_table {
    uint32_t count;
    uint32_t slot_mask;
    uint32_t *slot; /* owned: open addressing; index + 1, 0: free */
    struct keys_name names[KEYS_NAMES_MAX];
};

/* ---- resources ------------------------------------------------------------------------------- */

struct keys_resource {
    uint32_t lock;  /* index of its lock's name + 1; 0: not known yet */
    bool told;      /* events went by it already */
    uint32_t count; /* of names below */
    uint32_t name[KEYS_OF_RESOURCE_MAX];
};

/* A client's session with a service, as the answers say it; ends in true time. */
struct keys_session {
    bool known;
    bool over; /* its end was answered: nothing is set in it any more */
    struct history_value value;
    int64_t ttl_ns;
    int64_t earliest_ns;
    int64_t latest_ns;
};

/* What a client asked its library for. */
struct keys_client {
    bool asks; /* a request is open */
    bool asked;
    bool mismatched; /* a value that it reported was never sent: said */
    uint8_t f;
    uint32_t resource;
    int64_t asked_ns;
    uint32_t effects;    /* keys that its commands changed since */
    uint32_t sets;       /* ... and locks that they set */
    uint32_t word_count; /* different words that it sent since no thread of its program asked
                            beside it, by hash */
    uint64_t words[KEYS_WORDS_MAX];
    uint32_t value_count; /* set so far; the last ones are kept */
    struct history_value values[KEYS_VALUES_MAX];
    uint32_t owned_count; /* values that its grants have named */
    struct history_value owned[KEYS_VALUES_MAX];
    struct keys_session session; /* of its last acquire */
};

/* What was told of a command that several threads of a program may have sent. */
struct keys_doubt {
    uint64_t event; /* its number */
    int32_t client; /* whose it was taken for */
    uint32_t resource;
    int64_t true_ns;
    struct history_value value;
};

/* ---- what a node tells ----------------------------------------------------------------------- */

/* A key as it was before the unit. */
struct keys_change {
    uint32_t name; /* index */
    bool made;     /* it came to be, or was changed, by the unit */
    bool ends;     /* it was given another end, or the same one again */
    struct keys_key before;
};

/* One command, script or transaction, with all that it did. */
struct keys_unit {
    bool open;
    bool script;      /* lines of its inside may follow */
    bool transaction; /* commands may follow until EXEC */
    bool ran;         /* a script's inside was seen */
    bool by_command;  /* somebody's; else it happened by itself */
    int32_t process;  /* or HISTORY_NOBODY */
    struct keys_channel *channel;
    uint64_t number; /* of the command on its channel; KEYS_NO_NUMBER */
    int64_t wall_ns; /* when at the latest, by the node's clock: the stamp of its last line */
    int64_t true_ns;
    int64_t since_wall_ns; /* not before this */
    int64_t since_ns;      /* the same in true time, on a distant node */
    bool between;          /* since its command was sent: not only near its stamp */
    struct keys_command command;
    uint32_t word_count; /* values of its words, and of those that it set */
    struct history_value words[RESP_WORDS_MAX];
    uint32_t change_count;
    struct keys_change changes[KEYS_CHANGES_MAX];
    uint32_t mention_count;
    uint32_t mentions[KEYS_MENTIONS_MAX];
    struct keys_told told; /* once it is closed: its events */
};

#define KEYS_NO_NUMBER    UINT64_MAX
#define KEYS_ANY_DATABASE (-1)

/* An effect that waits for the line of the command that did it. */
struct keys_effect {
    int32_t database;
    struct resp_word key; /* into the node's memory of effects */
    struct resp_word text;
};

/* A command that was sent and will never be answered. */
struct keys_lost {
    int32_t client;
    struct keys_command command;
};

/* A node's wall clock: wall = base_wall + (true - base_true) * rate. */
struct keys_clock {
    int64_t base_true_ns;
    int64_t base_wall_ns;
    int64_t rate_ppm;
    uint8_t cause; /* CAUSE_CLOCK_JUMP or CAUSE_CLOCK_RATE: why it is not what it was */
    int32_t fault;
};

struct keys_node {
    bool watched;
    bool distant;          /* its clock is not ours: its stamps are not looked at */
    bool silent;           /* ... until its tap was lost */
    bool deposed;          /* another took its place, ... */
    int32_t deposed_fault; /* ... by this fault */
    int64_t heard_ns;      /* when it said its last */
    struct address address;
    uint32_t life; /* how often it was watched anew: what an earlier tap did not say is lost */
    int32_t evict_fault;
    struct tap tap;
    struct keys_clock clock;
    struct keys_clock clock_before; /* the last change, for what was stamped just before it */
    int64_t wall_ns;                /* the last stamp that was read ... */
    int64_t seen_ns;                /* ... and when that was in true time */
    int64_t told_ns;                /* no event before this one in the node's own order */
    uint32_t open;                  /* commands on it that are sent and not taken */
    bool ask;                       /* a barrier is wanted */
    uint32_t closed;                /* channels that wait to be freed */
    uint32_t effect_count;
    uint32_t effect_bytes;
    struct keys_effect effects[KEYS_EFFECTS_MAX];
    char effect_memory[KEYS_EFFECT_BYTES];
    uint32_t lost_count; /* only where answers tell what commands did */
    struct keys_lost lost[KEYS_LOST_MAX];
    struct keys_unit unit;
    struct keys_channel *channels[KEYS_CHANNELS]; /* by port */
};

/* ---- channels -------------------------------------------------------------------------------- */

/* A command that was sent. */
struct keys_pending {
    struct keys_command command;
    struct keys_reply reply;
    struct keys_deed deed;
    struct keys_told error;
    bool heard;     /* it has its reply */
    uint64_t needs; /* the barrier that shows it at the latest */
};

struct keys_channel {
    struct keys *keys;
    struct keys_route route;
    struct keys_channel *next; /* of the node's table */
    bool watched;              /* by the node's present tap, when it was opened */
    bool closed;               /* the proxies are done: kept until `needs` has passed */
    bool cut;                  /* the node's side is over */
    bool queueing;             /* between MULTI and EXEC, as commands come in */
    bool queued;               /* ... and as the node shows them */
    uint8_t queue_role;        /* the strongest of the commands that wait for EXEC */
    uint32_t life;
    uint64_t needs;
    uint64_t number_first; /* of the oldest that is kept */
    uint32_t first;
    uint32_t count; /* sent and not taken */
    uint32_t heard; /* of these, the oldest that have their reply */
    uint32_t seen;  /* of these, those whose line has come, or never will */
    uint32_t capacity;
    struct keys_pending *pending; /* owned: a ring */
};

/* ---- all ------------------------------------------------------------------------------------- */

struct keys_habit {
    uint64_t id;
    uint8_t role; /* enum command_role */
};

struct keys_text {
    uint64_t hash;
    char sha[KEYS_SHA_HEX_BYTES];
};

struct keys {
    struct keys_options options;
    const struct server_kind *kind;
    int64_t next_ns;    /* no key ends before; TIME_NEVER */
    int64_t resumed_ns; /* when a node that stood still went on, last; 0: none has */
    bool learns;        /* no patterns were said */
    char unwatched[TAP_REFUSED_BYTES];
    uint32_t pattern_count;
    char patterns[KEYS_PATTERNS_MAX][KEYS_NAME_BYTES_MAX];
    struct keys_resource *resources; /* owned */
    struct keys_client *clients;     /* owned */
    struct keys_node *nodes;         /* owned */
    struct keys_habit habits[KEYS_HABITS];
    struct keys_text texts[KEYS_TEXTS];
    uint32_t doubt_count; /* so far; the last ones are kept */
    struct keys_doubt doubts[KEYS_DOUBTS_MAX];
    struct keys_table table;
};

/* keys_value.c */
uint64_t keys_hash(const char *data, size_t bytes);

/* keys_owner.c */
/* What `said` writes into the fields of a hash. */
void keys_hash_write(struct keys_key *key, const struct keys_unit *unit, const struct effect *said);

/* keys_table.c */
bool keys_table_init(struct keys_table *table);
void keys_table_release(struct keys_table *table);
/* The index of a name, which is made if it is new; UINT32_MAX: it is not followed. */
uint32_t keys_table_take(struct keys *keys, const struct resp_word *name, int32_t database);
/* Forget names that nobody needs, where many are known. */
void keys_table_tidy(struct keys *keys);
uint32_t keys_table_find(const struct keys_table *table, const struct resp_word *name,
                         int32_t database);
static inline struct keys_key *keys_key_on(struct keys *keys, uint32_t name, int32_t node)
{
    return &keys->table.names[name].on[node];
}
/* There, and a counter is above 0. */
static inline bool keys_key_holds(const struct keys_key *key)
{
    bool counter = key->shape == SHAPE_COUNTER && key->has_number;
    return key->present && (!counter || key->number > 0);
}

/* keys_read.c */
void keys_words_read(struct keys *keys, const struct resp_words *words,
                     struct keys_command *command);
void keys_reply_read(const struct resp_reply *reply, struct keys_reply *read);
void keys_sha1_print(const char *data, size_t bytes, char hex[KEYS_SHA_HEX_BYTES]);

/* keys_own.c */
/* Do nodes of this kind tell what they do, by a tap? */
bool keys_kind_tells(const struct keys *keys);
void keys_do_not_tell(struct keys *keys, int32_t node);
/* A command has its answer, or will never have one: what it did, where answers tell. */
void keys_own_answered(struct keys_channel *channel, struct keys_pending *pending);
void keys_own_cut_off(struct keys_channel *channel, const struct keys_pending *pending);
/* It has its answer, which says whether it did what it asked for. */
void keys_own_done(struct keys_channel *channel, struct keys_pending *pending, bool did);
/* The node is back: what commands without an answer did, by what it holds. */
MUST_USE struct result keys_own_back(struct keys *keys, struct keys_return *back, struct text *why);
/* Would the command, carried out, free a lock of this owner? */
bool keys_own_frees(const struct keys_channel *channel, const struct keys_command *command,
                    const struct history_value *owner);
/* keys_channel.c: the command under way on a node that may have freed this lock; NULL: none. */
struct keys_pending *keys_channels_freeing(struct keys_node *node, uint32_t resource,
                                           const struct history_value *owner,
                                           struct keys_channel **channel);
void keys_own_read(struct keys *keys, const struct wire_request *request,
                   struct keys_command *command);
void keys_own_reply(const struct wire_reply *reply, struct keys_reply *read);

/* keys_session.c: the same of locks that live in sessions. */
bool keys_in_sessions(const struct keys *keys);
void keys_session_answered(struct keys_channel *channel, struct keys_pending *pending);
void keys_session_cut_off(struct keys_channel *channel, const struct keys_pending *pending);

/* keys_connection.c: the same of locks that live with a connection. */
bool keys_of_connection(const struct keys *keys, const struct keys_command *command);
void keys_connection_answered(struct keys_channel *channel, struct keys_pending *pending, bool did);
void keys_connection_over(struct keys_channel *channel);

/* keys_habit.c */
void keys_habits_init(struct keys *keys);
void keys_habit_seen(struct keys *keys, const struct keys_command *command, uint8_t did);
/* The role of a command of this client, as far as it can be known before it is carried out. */
enum command_role keys_role(const struct keys *keys, const struct keys_command *command,
                            int32_t client);

/* keys_channel.c */
struct keys_channel *keys_channel_find(struct keys_node *node, uint16_t port);
/* The command whose line this is: its number, or KEYS_NO_NUMBER. */
uint64_t keys_channel_line(struct keys_channel *channel, const struct resp_words *words,
                           struct keys_command *command);
/* All that it did was shown. */
void keys_channel_shown(struct keys_channel *channel, uint64_t number,
                        const struct keys_deed *deed);
void keys_channels_free(struct keys_node *node, bool all);

/* keys_tap.c */
void keys_unit_close(struct keys *keys, int32_t node);
void keys_effects_flush(struct keys *keys, int32_t node);
struct keys_unit *keys_unit_alone(struct keys *keys, int32_t node);

/* keys_change.c */
/* An effect on a key, by `words` (NULL: by nobody's command). */
void keys_change(struct keys *keys, int32_t node, const struct keys_effect *effect,
                 const struct resp_words *words);
/* Remember what the key was before the open unit. */
struct keys_change *keys_change_note(struct keys *keys, int32_t node, uint32_t name);

/* Whether the unit that is being read has changed this key, which is told when it is closed. */
bool keys_change_is_open(const struct keys_node *node, uint32_t name);

/* keys_learn.c */
bool keys_resources_init(struct keys *keys);
void keys_learn(struct keys *keys, int32_t node, struct keys_unit *unit);
/* The resource that a name belongs to by what was said; part: what it is there. */
void keys_name_bind(struct keys *keys, uint32_t name);
uint64_t keys_word_hash(const struct resp_word *word);
void keys_client_word(struct keys_client *client, const struct resp_words *words);
void keys_client_value(struct keys_client *client, const struct history_value *value);
struct keys_client *keys_client_at(struct keys *keys, int32_t client);
void keys_unclear(struct keys *keys, const char *why);

/* keys_thread.c */
/* Which client of the program whose links it came through sent a command: sets `client` and
 * `doubtful`. */
void keys_thread_read(const struct keys *keys, int32_t first, const struct resp_words *words,
                      struct keys_command *command);
void keys_thread_doubt(struct keys *keys, uint64_t event, const struct history_event *told);
/* A grant names its value: what was told of it is that client's. */
void keys_thread_told(struct keys *keys, const struct keys_request *request,
                      const struct keys_outcome *outcome);
/* The clients of its program: from the first up to but not with the last. */
int32_t keys_thread_first(const struct keys *keys, int32_t client);
int32_t keys_thread_last(const struct keys *keys, int32_t client);

/* keys_tell.c */
void keys_tell_unit(struct keys *keys, int32_t node, struct keys_deed *deed);
/* How a key ended without a command's doing. */
struct keys_ending {
    uint8_t f;     /* enum history_f */
    uint8_t cause; /* enum history_cause */
    int32_t fault;
    int64_t true_ns;
    int64_t since_ns; /* TIME_NEVER: exactly then */
};
void keys_tell_ending(struct keys *keys, int32_t node, uint32_t name,
                      const struct keys_ending *ending);
void keys_tell_back(struct keys *keys, const struct keys_return *back, uint32_t name,
                    int64_t true_ns);
struct keys_told keys_tell_error(struct keys_channel *channel, const struct keys_command *command,
                                 int64_t true_ns);

/* keys_clock.c */
int64_t keys_clock_wall(const struct keys_clock *clock, int64_t true_ns);
int64_t keys_clock_true(const struct keys_clock *clock, int64_t wall_ns);
/* When, in true time, the node's clock showed this; not after now. */
int64_t keys_stamp_seen(const struct keys_node *node, int64_t wall_ns);
/* The same for an event: at least `least_ns`, and not before what was told last. */
int64_t keys_stamp_true(const struct keys_node *node, int64_t wall_ns, int64_t least_ns);
void keys_key_end(struct keys *keys, int32_t node, uint32_t name);
/* Ends of locks that the node has passed by then. */
void keys_expire_until(struct keys *keys, int32_t node, int64_t true_ns);
void keys_expire(struct keys *keys, int32_t node, uint32_t name, int64_t true_ns);

#endif

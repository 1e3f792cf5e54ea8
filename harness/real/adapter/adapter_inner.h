/*
 * adapter_inner.h: what the files of adapter.h share; nobody else includes it.
 *
 *     adapter.c          processes: start, freeze, kill, lines in and out
 *     adapter_program.c  the client's program, driven by what its adapter says
 *     adapter_wire.c     probe points inside an acquire, seen on the wire
 *     adapter_fail.c     what an adapter did wrong, in a sentence
 *     adapter_json.c     lines of the protocol; the one file that includes jansson
 */
#ifndef HARNESS_REAL_ADAPTER_INNER_H
#define HARNESS_REAL_ADAPTER_INNER_H

#include "harness/real/adapter/adapter.h"

#include <sys/types.h>

enum {
    ADAPTER_LINE_BYTES_MAX = 64 << 10,
    ADAPTER_ERROR_BYTES = 120,
    ADAPTER_PATH_BYTES = 512,
    ADAPTER_QUIET_MS = 250, /* before_replies: then a library asks one node after the other */
    ADAPTER_GOODBYE_MS = 300,
};

enum answer_type { ANSWER_OK, ANSWER_FAIL, ANSWER_INFO, ANSWER_LOST };

/* A line from an adapter. */
struct adapter_answer {
    uint8_t type; /* enum answer_type */
    bool has_id;
    bool has_value;
    bool has_validity;
    int64_t id;
    int64_t validity_ns;
    int64_t fence; /* 0: none */
    int64_t heard_ns;
    struct history_value value;
    char library[HISTORY_NAME_BYTES];
    char resource[HISTORY_NAME_BYTES];
};

enum adapter_state {
    ADAPTER_STARTING, /* init is asked */
    ADAPTER_READY,
    ADAPTER_ACTIVE, /* its program runs */
    ADAPTER_DONE,   /* its program is finished */
    ADAPTER_GONE,   /* its process is */
};

/* One attempt of an acquire: a SET to each node, seen on the wire. Bit i: node i. */
struct adapter_attempt {
    uint32_t arrived;
    uint32_t answered;
    uint32_t agreed;
    uint32_t requests_held;
    uint32_t replies_held;
    bool holds_requests; /* frozen at before_send */
    bool send_passed;
    bool replies_passed;
    bool majority_passed;
};

struct adapter_client {
    struct adapter *adapter;
    int32_t index;
    uint8_t state; /* enum adapter_state */
    bool frozen;
    bool thawed;   /* its process goes on; its program does in the loop's next turn */
    bool begins;   /* ... with its first step */
    bool asked;    /* an answer is awaited, to `asked_id` */
    bool answered; /* `answer` came while frozen or slow */
    bool lost;     /* a notice came while frozen */
    bool passed;   /* the program waits at a probe point, to be stepped with PASSED */
    pid_t pid;
    int input; /* its stdin; -1: closed */
    int output;
    struct loop_watch watch;
    struct loop_alarm alarm;
    char log_path[ADAPTER_PATH_BYTES];
    char *line; /* owned: ADAPTER_LINE_BYTES_MAX */
    size_t line_bytes;
    uint64_t line_number; /* of the line that is read */
    int64_t asked_id;
    uint8_t asked_f; /* enum history_f */
    uint32_t asked_resource;
    int64_t frozen_ns; /* since when */
    int64_t alive_ns;  /* the last sign of life */
    int64_t wake_ns;   /* asked for by the program; TIME_NEVER */
    int64_t quiet_ns;  /* when held replies are let go; TIME_NEVER */
    int64_t slow_ns;   /* every step is so late, ... */
    int64_t slow_jitter_ns;
    int64_t late_ns; /* ... and `answer` is heard at this time; TIME_NEVER: at once */
    struct random_stream slow;
    uint64_t connections; /* seen at the last look */
    struct adapter_answer answer;
    struct adapter_attempt attempt;
    struct client client;
};

struct adapter {
    struct adapter_options options;
    struct client_program program;
    struct client_program auditor_program;
    bool stopped;
    int32_t count;
    struct adapter_client clients[];
};

/* ---- adapter_fail.c ---- */

/* The adapter broke the protocol, or died: tell the run, once, with the end of its log. */
__attribute__((format(printf, 2, 3))) void adapter_fail(struct adapter_client *client,
                                                        const char *format, ...);

/* ---- adapter.c ---- */

/* Its program does nothing now, and hears what is said later. */
static inline bool adapter_stands(const struct adapter_client *client)
{
    return client->frozen || client->thawed;
}

void adapter_write(struct adapter_client *client, const char *line, size_t bytes);
/* Set the alarm to the next thing that this client waits for. */
void adapter_alarm(struct adapter_client *client);

/* ---- adapter_program.c ---- */

/* Step the program with `event` and whatever follows from it. now_ns is set here. */
void adapter_program_step(struct adapter_client *client, struct client_event event);
void adapter_program_told(struct adapter_client *client, const struct adapter_answer *answer);
/* How late the next step is; 0 unless the client is slow. */
int64_t adapter_program_late_ns(struct adapter_client *client);
/* Go on after a freeze, or with an answer that was late. */
void adapter_program_thaw(struct adapter_client *client);

/* ---- adapter_wire.c ---- */

/* The attempt is over: let go whatever of it is held. */
void adapter_attempt_end(struct adapter_client *client);
void adapter_wire_thaw(struct adapter_client *client);
/* before_replies: no other command came for a while. */
void adapter_wire_quiet(struct adapter_client *client);

/* ---- adapter_json.c ---- */

/* Read a line. False: `why` says what was expected. */
bool adapter_answer_read(const char *line, size_t bytes, struct adapter_answer *answer,
                         struct text *why);
/* Lines to an adapter, with their newline; owned by the caller (free). NULL: no memory. */
char *adapter_init_line(const struct adapter_client *client);
char *adapter_request_line(enum history_f f, int64_t id, const char *resource, int64_t ttl_ms);
char *adapter_shutdown_line(int64_t id);
void adapter_line_free(char *line);

#endif

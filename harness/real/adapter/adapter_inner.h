/*
 * adapter_inner.h: what the files of adapter.h share; nobody else includes it.
 *
 *     adapter.c          processes: start, freeze, kill
 *     adapter_stop.c     their end, and what they write to stderr
 *     adapter_lines.c    lines in and out, and which request an answer is for
 *     adapter_slow.c     programs that are given a processor now and then only
 *     adapter_clock.c    the clocks of adapters, and when a promise was computed
 *     adapter_program.c  the client's program, driven by what its adapter says
 *     adapter_wire.c     probe points inside an acquire, seen on the wire
 *     adapter_fail.c     what an adapter did wrong, in a sentence
 *     adapter_json.c     lines of the protocol; the one file that includes jansson
 */
#ifndef HARNESS_REAL_ADAPTER_INNER_H
#define HARNESS_REAL_ADAPTER_INNER_H

#include "harness/real/adapter/adapter.h"
#include "harness/real/process/lateness.h"

#include <sys/types.h>

enum {
    ADAPTER_LINE_BYTES_MAX = 64 << 10,
    ADAPTER_ERROR_BYTES = 120,
    ADAPTER_PATH_BYTES = 512,
    ADAPTER_QUIET_MS = 250, /* before_replies: then a library asks one node after the other */
    ADAPTER_GOODBYE_MS = 2000,
    ADAPTER_GRACE_MS = 500,
    ADAPTER_STARVES_MAX = 5,    /* a program without a processor is given as much time again */
    ADAPTER_TERM_MS = 5000,     /* to end after SIGTERM */
    ADAPTER_LEAVE_MS = 1000,    /* for what it started to end after it */
    ADAPTER_END_MS_MAX = 60000, /* all of it, however little processor there was */
    ADAPTER_STRAYS_MAX = 64,    /* ended by itself; more of it end with the run */
    ADAPTER_LOG_BYTES_MAX = 16 << 20, /* of its stderr; looked at now and then */
    ADAPTER_FILE_BYTES_MAX = 1 << 30, /* of any file of its own: the kernel sees to it */
    ADAPTER_SLOW_RUNS_MS = 2,         /* a slow process has a processor so long between two stops */
};

/* What an adapter starts has it in its environment, wherever it goes: the number of its client. */
#define ADAPTER_VARIABLE "PICKLOCK_ADAPTER"

enum { ADAPTER_MARK_BYTES = sizeof ADAPTER_VARIABLE + 12 };

enum answer_type { ANSWER_OK, ANSWER_FAIL, ANSWER_INFO, ANSWER_LOST };

/* A line from an adapter. */
struct adapter_answer {
    uint8_t type; /* enum answer_type */
    bool has_type;
    bool has_id;
    bool has_value;
    bool has_validity;
    bool has_at; /* it says when, on its own monotonic clock */
    bool has_mono;
    bool has_wall;
    int64_t id;
    int64_t thread; /* whose answer or notice it is; 0: it did not say */
    int64_t validity_ns;
    int64_t at_ns;   /* its monotonic clock when it computed the promise */
    int64_t mono_ns; /* op clock: its clocks */
    int64_t wall_ns;
    int64_t fence;    /* 0: none */
    int64_t asked_ns; /* when its request was written, and ... */
    int64_t heard_ns; /* ... when it was read, ... */
    bool held;        /* ... which its client hears of later: it stood still, or is slow */
    struct history_value value;
    char resource[HISTORY_NAME_BYTES];
};

/* A request to an adapter. */
struct adapter_request {
    uint8_t op;     /* enum adapter_op */
    int32_t thread; /* 1, 2, ...: which of the program asks; 0: there is but one */
    uint32_t resource;
    int64_t id;
    int64_t of;          /* cancel: the id of the acquire that is given up */
    int64_t ttl_ns;      /* acquire, extend */
    int64_t deadline_ns; /* acquire: it must be answered within so long; 0: no limit */
};

enum adapter_op {
    ADAPTER_ACQUIRE,
    ADAPTER_EXTEND,
    ADAPTER_RELEASE,
    ADAPTER_CANCEL,
    ADAPTER_CLOCK,
    ADAPTER_SHUTDOWN,
    ADAPTER_OPS,
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

/*
 * The monotonic clock of an adapter: it shows `true - offset`, and the offset lies between these.
 * Every answer to op clock narrows it: the clock was read between the question and the answer.
 * Some clocks go in steps (/proc/uptime in 10 ms): whatever they show is a multiple of one.
 */
struct adapter_clock {
    uint32_t answers;
    int64_t step_ns; /* at most this: it divides all that was shown; 0: nothing was */
    int64_t offset_least_ns;
    int64_t offset_most_ns;
};

/* A process, in which the clients of a program live: one, or one for each of its threads. */
struct adapter_process {
    struct adapter *adapter;
    int32_t first;               /* client: the one that the proxies know it by */
    int32_t count;               /* of its clients */
    bool gone;                   /* or not there yet: nothing is heard of it */
    bool stopped;                /* by a freeze of its clients */
    bool hears;                  /* it was asked to end */
    bool awaited;                /* its end is */
    struct lateness_grace grace; /* to end */
    pid_t pid;
    long long started; /* as /proc counts it */
    int input;         /* its stdin; -1: closed */
    int output;
    struct loop_watch watch;
    char log_path[ADAPTER_PATH_BYTES];
    char *line; /* owned: ADAPTER_LINE_BYTES_MAX */
    size_t line_bytes;
    uint64_t line_number; /* of the line that is read */
    int64_t last_id;      /* of all requests so far */
    int64_t clock_id;     /* a question for its clocks that is not answered yet; 0: none */
    int64_t clock_asked_ns;
    struct adapter_clock clock;
    int64_t frozen_ns;    /* since when */
    int64_t waited_ns;    /* for a processor, in all, when it was overdue last */
    uint32_t starved;     /* so often more time was given because of that, since it spoke last */
    int64_t slow_next_ns; /* it stops, or goes on, then; TIME_NEVER: it is not slow */
    int64_t slow_stops;   /* so often it was seen to stand */
    bool slow_stands;
    uint64_t connections; /* seen at the last look */
};

struct adapter_client {
    struct adapter *adapter;
    struct adapter_process *process;
    int32_t index;
    uint8_t state; /* enum adapter_state */
    bool frozen;
    bool thawed;        /* its process goes on; its program does in the loop's next turn */
    bool begins;        /* ... with its first step */
    bool asked;         /* an answer is awaited, to `asked_id` */
    bool answered;      /* `answer` came while frozen or slow */
    uint8_t lost_count; /* notices that came while frozen, of these resources */
    uint32_t lost[SCENARIO_HOLDS_MAX];
    bool overdue; /* nothing was heard for as long as silence takes, and a little more is given */
    bool passed;  /* the program waits at a probe point, to be stepped with PASSED */
    struct loop_alarm alarm;
    int64_t asked_id;
    int64_t asked_ns; /* when that request was written */
    uint8_t asked_f;  /* enum history_f */
    uint32_t asked_resource;
    int64_t cancel_id; /* a cancel that is not answered yet; 0: none */
    int64_t alive_ns;  /* the last sign of life */
    int64_t wake_ns;   /* asked for by the program; TIME_NEVER */
    int64_t quiet_ns;  /* when held replies are let go; TIME_NEVER */
    int64_t slow_ns;   /* every step is so late, ... */
    int64_t slow_jitter_ns;
    int64_t late_ns; /* ... and `answer` is heard at this time; TIME_NEVER: at once */
    struct random_stream slow;
    struct adapter_answer answer;
    struct adapter_attempt attempt;
    struct client client;
};

struct adapter {
    struct adapter_options options;
    struct client_program program;
    struct client_program auditor_program;
    bool stopped;
    bool accused;    /* of something that showed at its end */
    bool introduced; /* some client has answered init, and said: */
    struct adapter_declaration declaration;
    int32_t count;
    struct adapter_process *processes; /* owned; process c / threads is that of client c */
    int32_t process_count;
    struct adapter_client clients[];
};

static inline struct adapter_client *adapter_first(const struct adapter_process *process)
{
    return &process->adapter->clients[process->first];
}

/* The only one in its process: requests name no thread. */
static inline bool adapter_alone(const struct adapter_client *client)
{
    return client->adapter->options.plan->scenario.thread_count <= 1;
}

/* ---- adapter_fail.c ---- */

/* The adapter broke the protocol, or died: tell the run, once, with the end of its log. */
__attribute__((format(printf, 2, 3))) void adapter_fail(struct adapter_process *process,
                                                        const char *format, ...);

/* The same at the end of the run: nothing is left to be killed. */
void adapter_accuse(struct adapter_process *process, const char *what);

/* ---- adapter.c ---- */

/* The process is gone or will be at once: nothing is heard of its clients any more. */
void adapter_close(struct adapter_process *process);

/* SIGKILL: all clients of the process end. */
void adapter_process_kill(struct adapter_process *process);

/* Its program does nothing now, and hears what is said later. */
static inline bool adapter_stands(const struct adapter_client *client)
{
    return client->frozen || client->thawed;
}

/* Set the alarm to the next thing that this client waits for. */
void adapter_alarm(struct adapter_client *client);

/*
 * On a busy machine a program may not have come to do what it was to do within `period_ns`: where
 * it, or we ourselves, waited for a processor for a tenth of that, it is given as much again, a few
 * times.
 */
bool adapter_starves(struct adapter_process *process, int64_t period_ns);

/* ---- adapter_lines.c ---- */

/* Its output can be read. */
void adapter_readable(struct loop_watch *watch);
void adapter_write(struct adapter_process *process, const char *line, size_t bytes);
void adapter_send(struct adapter_process *process, const struct adapter_request *request);
/* Init is answered, and its clocks are known if they can be. */
void adapter_ready(struct adapter_process *process);

/* ---- adapter_clock.c ---- */

/* Ask for the clocks a few times, then it is ready; at once where it cannot be asked. */
void adapter_clock_first(struct adapter_process *process);
void adapter_clock_told(struct adapter_process *process, const struct adapter_answer *answer);
/* Between which moments of true time the promise of an answer was computed. */
struct adapter_moment {
    int64_t least_ns;
    int64_t most_ns;
};
/* False: what it says cannot be. */
bool adapter_clock_moment(const struct adapter_client *client, const struct adapter_answer *answer,
                          struct adapter_moment *moment);

/* ---- adapter_slow.c ---- */

/* How late the next step is; 0 unless the client is slow. */
int64_t adapter_slow_late_ns(struct adapter_client *client);
/* Stop the process of a slow client, or have it go on. */
void adapter_slow_turn(struct adapter_process *process, int64_t now_ns);

/* ---- adapter_program.c ---- */

/* The library has said what it does: programs do not ask for what it does not. */
void adapter_program_declared(struct adapter *adapter);
/* Give up the acquire that is asked; its own answer says what became of it. */
void adapter_program_cancel(struct adapter_client *client);

/* Step the program with `event` and whatever follows from it. now_ns is set here. */
void adapter_program_step(struct adapter_client *client, struct client_event event);
void adapter_program_told(struct adapter_client *client, const struct adapter_answer *answer);
/* The library noticed a loss; a client that stands hears of it when it goes on. */
void adapter_program_lost(struct adapter_client *client, uint32_t resource);
/* Go on after a freeze, or with an answer that was late. */
void adapter_program_thaw(struct adapter_client *client);

/* ---- adapter_wire.c ---- */

/* The attempt is over: let go whatever of it is held. */
void adapter_attempt_end(struct adapter_client *client);
void adapter_wire_thaw(struct adapter_client *client);
/* before_replies: no other command came for a while. */
void adapter_wire_quiet(struct adapter_client *client);

/* ---- adapter_json.c ---- */

/* Read a line; `declaration` is what an answer to init says. False: `why` says what was expected.
 */
bool adapter_answer_read(const char *line, size_t bytes, struct adapter_answer *answer,
                         struct adapter_declaration *declaration, struct text *why);
/* Lines to an adapter, with their newline; owned by the caller (free). NULL: no memory. */
char *adapter_init_line(const struct adapter_process *process);
char *adapter_request_line(const struct adapter_request *request, const char *resource);
void adapter_line_free(char *line);

#endif

/*
 * hazelcast_rig.h: the model of a Hazelcast cluster and a real one, side by side: the same
 * invocations of each lock in the same order, the same answers, and then the same locks, queues and
 * sessions. Fences stand for places in a log that has more in it than invocations: they must be
 * the same one, or grow, when those of the model do.
 *
 * Each client has two lines for a lock, by the driver of our own locks: while an invocation waits
 * on one, it goes on by the other. Nobody has to be quick: sessions last for an hour, and what the
 * model does by itself it does when the cluster has done it.
 */
#ifndef TESTS_SIM_HAZELCAST_RIG_H
#define TESTS_SIM_HAZELCAST_RIG_H

#include "lockcore/drivers/connection.h"
#include "lockcore/drivers/links.h"
#include "servers/hazelcast/grid.h"
#include "servers/hazelcast/real/real.h"
#include "servers/kinds.h"
#include "tests/sim/rig_door.h"
#include "tests/sim/rig_members.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    RIG_RESOURCES = 6,
    RIG_CLIENTS = 4,
    RIG_ROWS = RIG_RESOURCES * RIG_CLIENTS,
    RIG_LINES = 2,
    RIG_WAKES = RIG_ROWS * GRID_SESSIONS + 1,
    RIG_MODEL_BYTES = 1 << 17,
    RIG_TOLD_MAX = 64,
    RIG_LOOK_BYTES = 4096,
    RIG_WAIT_MS = 60000,
};

#define RIG_TTL_NS  (3600 * NS_PER_S)
#define RIG_LONG_MS (36 * 1000 * 1000) /* for one's turn */

/* What is asked, and then what the model answers. */
struct rig_told {
    struct lock_command command;
    struct lock_reply reply;
};

struct rig_line {
    void *connection; /* NULL: none */
    uint32_t number;  /* of the connection: what is told by one of before is not heard */
    uint32_t told_count;
    struct rig_told told[RIG_TOLD_MAX]; /* by the model, and not yet by the cluster */
};

/* One client's, for one lock: `row` of RIG_ROWS. */
struct rig_row {
    uint32_t node;           /* that it asks */
    struct lock_value value; /* of its session, or of the one that is over */
    int64_t invocation;      /* its newest in this */
    struct rig_line lines[RIG_LINES];
};

/* The same fence as both know it: the newest of a lock. */
struct rig_fence {
    int64_t real;
    int64_t modelled;
};

struct rig {
    struct members members;
    uint64_t away; /* bit n: member n does not run, or stands still */
    uint64_t commands;
    uint64_t waited; /* that did not get an answer at once */
    uint64_t unsure; /* ... and were told that nobody knows */
    uint64_t looks;
    uint64_t expired;
    uint64_t given_up; /* waits, at their end */
    uint64_t values;
    uint64_t numbers; /* of connections */
    bool forgets;     /* plant a wrong rule in the model: a re-entry gets a fence of its own */
    bool failed;
    char difference[512];
    struct rig_row rows[RIG_ROWS];
    struct rig_fence fences[RIG_RESOURCES];
    struct server_node clocks[RIG_NODES_MAX];
    struct server_door door; /* of the model */
    int64_t due_ns[RIG_WAKES];
    _Alignas(16) char model[RIG_MODEL_BYTES];
};

static inline struct grid *rig_grid(struct rig *rig)
{
    return (struct grid *)(void *)rig->model;
}

static inline uint32_t rig_resource(uint32_t row)
{
    return row / RIG_CLIENTS;
}

/* The first difference is the one that counts. */
FORMATTED(2, 3) static inline void rig_differs(struct rig *rig, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    if (!rig->failed) {
        (void)vsnprintf(rig->difference, sizeof rig->difference, format, words);
    }
    va_end(words);
    rig->failed = true;
}

/* ---- the model ------------------------------------------------------------------------------- */

static inline void door_arm(struct server_door *door, uint32_t wake, int64_t true_ns)
{
    cr_assert_lt(wake, (uint32_t)RIG_WAKES);
    RIG_OF(door)->due_ns[wake] = true_ns;
}

static inline void door_answer(struct server_door *door, const struct server_ask *ask,
                               struct lock_reply reply, uint64_t event)
{
    (void)event;
    struct rig_row *row = &RIG_OF(door)->rows[ask->resource * RIG_CLIENTS + ask->client];
    for (uint32_t i = 0; i < RIG_LINES; i++) {
        struct rig_line *line = &row->lines[i];
        if (line->number == ask->connection) {
            cr_assert_lt(line->told_count, (uint32_t)RIG_TOLD_MAX);
            line->told[line->told_count++] = (struct rig_told){ask->command, reply};
        }
    }
}

static inline bool door_reaches(const struct server_door *door, uint32_t from, uint32_t to)
{
    (void)door;
    (void)from;
    (void)to;
    return true;
}

static inline void rig_model_init(struct rig *rig)
{
    struct server_shape shape = {.dialect = &hazelcast_dialect,
                                 .node_count = RIG_NODES_MAX,
                                 .client_count = RIG_CLIENTS,
                                 .resource_count = RIG_RESOURCES,
                                 .ttl_ns = RIG_TTL_NS};
    cr_assert_leq(hazelcast_grid.bytes(&shape), (size_t)RIG_MODEL_BYTES);
    cr_assert_leq(hazelcast_grid.wakes(&shape), (uint32_t)RIG_WAKES);
    hazelcast_grid.init(rig->model, &shape);
    rig_wakes_init(rig->due_ns, RIG_WAKES);
    rig_clocks_init(rig->clocks, RIG_NODES_MAX);
    rig->door = (struct server_door){.true_ns = loop_now_ns(),
                                     .nodes = rig->clocks,
                                     .record = door_record,
                                     .arm = door_arm,
                                     .answer = door_answer,
                                     .reaches = door_reaches};
}

/* It is as late in the model as it is here, or later. */
static inline void rig_model_time(struct rig *rig)
{
    int64_t now_ns = loop_now_ns();
    rig->door.true_ns = now_ns > rig->door.true_ns ? now_ns : rig->door.true_ns;
}

static inline void rig_model_wake(struct rig *rig, uint32_t wake)
{
    int64_t due_ns = rig->due_ns[wake];
    rig_model_time(rig);
    rig->door.true_ns = due_ns > rig->door.true_ns ? due_ns : rig->door.true_ns;
    rig->due_ns[wake] = TIME_NEVER;
    hazelcast_grid.wake(rig->model, wake, &rig->door);
}

/* Number of the session of a row; GRID_NOBODY: it is over. */
static inline uint32_t rig_session_number(struct rig *rig, uint32_t of)
{
    const struct lock_value *value = &rig->rows[of].value;
    for (uint32_t i = of * GRID_SESSIONS; i < (of + 1) * GRID_SESSIONS; i++) {
        const struct grid_session *session = grid_session_at(rig_grid(rig), 0, i);
        if (session->open && memcmp(&session->value, value, sizeof *value) == 0) {
            return i;
        }
    }
    return GRID_NOBODY;
}

static inline const struct grid_session *rig_session(struct rig *rig, uint32_t of)
{
    uint32_t number = rig_session_number(rig, of);
    return number == GRID_NOBODY ? NULL : grid_session_at(rig_grid(rig), 0, number);
}

/* An invocation of the row waits, and nothing else is answered on its line. */
static inline bool rig_waits_on(struct rig *rig, uint32_t of, uint32_t line)
{
    const struct grid_session *session = rig_session(rig, of);
    return session != NULL && session->waits &&
           session->ask.connection == rig->rows[of].lines[line].number;
}

static inline uint32_t rig_waiting(struct rig *rig, uint32_t resource)
{
    uint32_t count = 0;
    for (uint32_t of = resource * RIG_CLIENTS; of < (resource + 1) * RIG_CLIENTS; of++) {
        const struct grid_session *session = rig_session(rig, of);
        count += session != NULL && session->waits;
    }
    return count;
}

/* ---- asking both ----------------------------------------------------------------------------- */

/* A member tells invocations apart by its end. */
static inline struct lock_value rig_value(struct rig *rig)
{
    struct lock_value value = {.bytes = {0}};
    rig->values++;
    memcpy(&value.bytes[sizeof value.bytes - sizeof rig->values], &rig->values, sizeof rig->values);
    return value;
}

static inline void rig_wait_for(int fd, short events)
{
    struct pollfd wait = {.fd = fd, .events = events};
    cr_assert_eq(poll(&wait, 1, RIG_WAIT_MS), 1, "Hazelcast says nothing");
}

static inline void rig_line_open(struct rig *rig, uint32_t of, uint32_t number)
{
    struct rig_line *line = &rig->rows[of].lines[number];
    struct lock_address address = {.name = "127.0.0.1"};
    address.port = rig->members.nodes[rig->rows[of].node].port;
    line->connection = hazelcast_connection.open(&address, NULL);
    cr_assert_not_null(line->connection);
    line->number = (uint32_t)++rig->numbers;
    line->told_count = 0;
    do {
        rig_wait_for(hazelcast_connection.fd(line->connection), POLLOUT);
    } while (hazelcast_connection.progress(line->connection) != CONNECTION_UP);
}

static inline void rig_lines_close(struct rig_row *row)
{
    for (uint32_t i = 0; i < RIG_LINES; i++) {
        if (row->lines[i].connection != NULL) {
            hazelcast_connection.close(row->lines[i].connection);
        }
        row->lines[i].connection = NULL;
        row->lines[i].number = 0;
    }
}

static inline void rig_ask_cluster(uint32_t of, struct rig_line *line,
                                   const struct lock_command *command)
{
    bool full = false;
    char name[2] = {'r', (char)('0' + rig_resource(of))};
    struct lock_request request = {
        .command = command, .resource = name, .resource_bytes = sizeof name};
    cr_assert(hazelcast_connection.add(line->connection, &request));
    cr_assert(hazelcast_connection.write(line->connection, &full) && !full);
}

/* The model answers now, or it lets wait; the cluster is heard in rig_gather. */
static inline void rig_ask(struct rig *rig, uint32_t of, uint32_t number,
                           const struct lock_command *command)
{
    struct rig_row *row = &rig->rows[of];
    struct rig_line *line = &row->lines[number];
    struct server_ask ask = {.node = row->node,
                             .client = of % RIG_CLIENTS,
                             .resource = rig_resource(of),
                             .connection = line->number,
                             .command = *command};
    rig_ask_cluster(of, line, command);
    rig_model_time(rig);
    hazelcast_grid.ask(rig->model, &ask, &rig->door);
    rig->commands++;
    rig->waited += rig_waits_on(rig, of, number);
}

/* It is the one that both know, or another, and then it is greater, or less, for both. */
static inline bool rig_same_fence(struct rig *rig, uint32_t resource, int64_t real,
                                  int64_t modelled)
{
    struct rig_fence *newest = &rig->fences[resource];
    bool same = (real > newest->real) == (modelled > newest->modelled) &&
                (real < newest->real) == (modelled < newest->modelled);
    *newest = (struct rig_fence){real, modelled};
    return same;
}

static inline void rig_compare(struct rig *rig, uint32_t of, const struct rig_told *told,
                               struct lock_reply real)
{
    int64_t modelled = told->reply.number;
    bool fence = told->command.kind == HAZELCAST_TRY_LOCK && told->reply.type == LOCK_REPLY_NUMBER;
    modelled += fence && rig->forgets && told->command.number > 1 ? 1 << 20 : 0;
    bool refused = told->command.kind == HAZELCAST_TRY_LOCK && told->reply.type == LOCK_REPLY_NO;
    if (refused && real.type == LOCK_REPLY_UNSURE) {
        rig->unsure++;
        return;
    }
    bool same = told->reply.type == real.type &&
                (fence ? rig_same_fence(rig, rig_resource(of), real.number, modelled)
                       : real.number == modelled);
    if (!same) {
        rig_differs(rig,
                    "command %" PRIu64 ", row %u, %s %" PRId64 " for %" PRId64
                    " ms: Hazelcast answers %d %" PRId64 ", the model %d %" PRId64,
                    rig->commands, of, hazelcast_dialect.rows[told->command.kind].name,
                    told->command.number, told->command.ttl_ms, real.type, real.number,
                    told->reply.type, modelled);
    }
}

static inline struct lock_reply rig_hear(struct rig *rig, uint32_t of, struct rig_line *line,
                                         const struct lock_command *command)
{
    struct connection_said said = {.reply.type = LOCK_REPLY_GARBLED};
    enum connection_next next;
    while ((next = hazelcast_connection.next(line->connection, command, &said)) ==
           CONNECTION_EMPTY) {
        rig_wait_for(hazelcast_connection.fd(line->connection), POLLIN);
        if (!hazelcast_connection.read(line->connection)) {
            rig_differs(rig, "row %u: Hazelcast hung up", of);
            break;
        }
    }
    return said.reply;
}

/* "?": a member whose clock jumped has given up whom it let wait, or asked a leader that is gone;
 * the group may know better. Who asks once more is told what it would have been told. */
static inline bool rig_asks_again(const struct rig_told *told, struct lock_reply real)
{
    bool lasts =
        told->command.kind == HAZELCAST_HEARTBEAT ||
        (told->command.kind == HAZELCAST_TRY_LOCK && told->reply.type == LOCK_REPLY_NUMBER);
    return real.type == LOCK_REPLY_UNSURE && lasts;
}

static inline void rig_gather_line(struct rig *rig, uint32_t of, struct rig_line *line)
{
    struct rig_told again[RIG_TOLD_MAX];
    uint32_t again_count = 0;
    for (uint32_t i = 0; i < line->told_count && !rig->failed; i++) {
        struct lock_reply real = rig_hear(rig, of, line, &line->told[i].command);
        if (rig_asks_again(&line->told[i], real)) {
            again[again_count++] = line->told[i];
        } else {
            rig_compare(rig, of, &line->told[i], real);
        }
    }
    for (uint32_t i = 0; i < again_count && !rig->failed;) {
        rig_ask_cluster(of, line, &again[i].command);
        struct lock_reply real = rig_hear(rig, of, line, &again[i].command);
        rig->unsure++;
        if (!rig_asks_again(&again[i], real)) {
            rig_compare(rig, of, &again[i++], real);
        }
    }
    line->told_count = 0;
}

/* All that the model has answered the cluster answers too. */
static inline void rig_gather(struct rig *rig)
{
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        for (uint32_t i = 0; i < RIG_LINES; i++) {
            rig_gather_line(rig, of, &rig->rows[of].lines[i]);
        }
    }
}

/* ---- what they know -------------------------------------------------------------------------- */

struct rig_look {
    bool leads;
    uint32_t waiting;
    int64_t fence;
    int64_t count;
    char holder[LOCK_VALUE_HEX_BYTES + 1];
    char sessions[RIG_LOOK_BYTES]; /* values */
};

/* What a member says to a question that is no lock's. */
static inline void rig_member_ask(struct rig *rig, uint32_t node, const char *question,
                                  char line[RIG_LOOK_BYTES])
{
    size_t bytes = 0;
    ssize_t asked = (ssize_t)strlen(question);
    int fd = address_connect(rig->members.nodes[node].server.address);
    cr_assert_geq(fd, 0);
    cr_assert_eq(send(fd, question, (size_t)asked, MSG_NOSIGNAL), asked);
    do {
        ssize_t got = recv(fd, line + bytes, RIG_LOOK_BYTES - 1 - bytes, 0);
        cr_assert_gt(got, 0, "member %u does not answer %s", node + 1, question);
        bytes += (size_t)got;
        line[bytes] = '\0';
    } while (line[bytes - 1] != '\n');
    (void)close(fd);
}

/* By a member; false: it cannot say. */
static inline bool rig_look_at(struct rig *rig, uint32_t node, uint32_t resource,
                               struct rig_look *look)
{
    char line[RIG_LOOK_BYTES] = "";
    char question[16] = "";
    (void)snprintf(question, sizeof question, "look r%u\n", resource);
    rig_member_ask(rig, node, question, line);
    char leads = '?';
    int sessions = 0;
    int read = sscanf(line, "%c %u %" SCNd64 " %" SCNd64 " %40s%n", &leads, &look->waiting,
                      &look->fence, &look->count, look->holder, &sessions);
    cr_assert(read == 5 || leads == '?', "member %u says %s", node + 1, line);
    look->leads = leads == '+';
    (void)snprintf(look->sessions, sizeof look->sessions, "%s", line + sessions);
    return read == 5;
}

/* Who leads; waits until one does. */
static inline uint32_t rig_leader(struct rig *rig)
{
    struct rig_look look;
    for (uint32_t node = 0;; node = (node + 1) % RIG_NODES_MAX) {
        if ((rig->away >> node & 1) == 0 && rig_look_at(rig, node, 0, &look) && look.leads) {
            return node;
        }
        rig_nap(NS_PER_MS);
    }
}

static inline bool rig_has(const char *list, const struct lock_value *value)
{
    char hex[LOCK_VALUE_HEX_BYTES + 1] = "";
    lock_value_print(value, hex);
    return strstr(list, hex) != NULL;
}

/* Whose sessions there are; how many. */
static inline void rig_compare_sessions(struct rig *rig, const char *sessions)
{
    size_t open = 0;
    for (uint32_t i = 0; i < grid_session_count(rig_grid(rig)); i++) {
        const struct grid_session *session = grid_session_at(rig_grid(rig), 0, i);
        open += session->open;
        if (session->open && !rig_has(sessions, &session->value)) {
            rig_differs(rig, "row %u: its session is over, the model keeps it", i / GRID_SESSIONS);
        }
    }
    size_t real = strlen(sessions) / (LOCK_VALUE_HEX_BYTES + 1);
    if (real != open) {
        rig_differs(rig, "Hazelcast keeps %zu sessions, the model %zu", real, open);
    }
}

/* What waits may not have come yet. */
static inline void rig_compare_lock(struct rig *rig, uint32_t node, uint32_t resource)
{
    struct rig_look look = {.waiting = UINT32_MAX};
    uint32_t waiting = rig_waiting(rig, resource);
    int64_t end_ns = loop_now_ns() + RIG_WAIT_MS * NS_PER_MS;
    bool told = false;
    while ((!told || look.waiting != waiting) && loop_now_ns() < end_ns) {
        told = rig_look_at(rig, node, resource, &look);
    }
    const struct grid_lock *lock = grid_lock_at(rig_grid(rig), 0, resource);
    bool held = lock->holder != GRID_NOBODY;
    bool same =
        !held ||
        (rig_has(look.holder, &grid_session_at(rig_grid(rig), 0, lock->holder)->value) &&
         look.count == lock->count && rig_same_fence(rig, resource, look.fence, lock->fence));
    if (look.waiting != waiting || held != (look.count > 0) || !same) {
        rig_differs(rig,
                    "lock %u: Hazelcast's is entered %" PRId64 " times by %s, %u wait; the model's "
                    "%" PRId64 " times by session %u, %u wait",
                    resource, look.count, look.holder, look.waiting, held ? lock->count : 0,
                    lock->holder, waiting);
    }
    rig_compare_sessions(rig, look.sessions);
    rig->looks++;
}

#endif

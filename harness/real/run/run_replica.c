/* run_replica.c: replicas that lag behind their nodes, and what becomes of one in a failover. */
#include "harness/real/process/process.h"
#include "harness/real/run/run.h"

#include "base/assert.h"
#include "servers/kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/*
 *     replica --connects to--> relay --connects to--> node
 *        ^------ bytes of the node, `lag` later ------'
 *
 * What the relay has not passed on when the node dies was never replicated.
 */
enum {
    RELAY_CONNECTIONS_MAX = 4, /* a replica connects anew when its node was restarted */
    RELAY_BYTES = 1 << 20,     /* of the stream on its way; more, and the replica starts anew */
    RELAY_CHUNKS = 4096,
};

struct relay_chunk {
    int64_t due_ns;
    size_t bytes;
};

struct relay_connection {
    struct run_replica *replica;
    int node_fd; /* -1: closed */
    int replica_fd;
    struct loop_watch node_watch;
    struct loop_watch replica_watch;
    struct loop_alarm alarm;
    size_t first_chunk;
    size_t chunk_count;
    size_t filled;
    struct relay_chunk chunks[RELAY_CHUNKS];
    char bytes[RELAY_BYTES];
};

struct run_replica {
    struct run *run;
    struct site site; /* after the failover: the node that was replaced */
    int32_t index;    /* of the node it follows */
    bool promoted;
    int64_t lag_ns; /* 0 until it is in step */
    int listen_fd;
    struct address address; /* of the relay */
    struct loop_watch listen_watch;
    size_t connection_count;
    struct relay_connection *connections[RELAY_CONNECTIONS_MAX];
};

static void relay_close(struct relay_connection *connection)
{
    if (connection->node_fd < 0) {
        return;
    }
    loop_watch_close(&connection->node_watch);
    loop_watch_close(&connection->replica_watch);
    loop_alarm_close(&connection->alarm);
    (void)close(connection->node_fd);
    (void)close(connection->replica_fd);
    connection->node_fd = -1;
    connection->replica_fd = -1;
}

/* Pass on what is due; the rest when it is. */
static void relay_pass(struct relay_connection *connection)
{
    int64_t now_ns = loop_now_ns();
    while (connection->chunk_count > 0) {
        struct relay_chunk *chunk = &connection->chunks[connection->first_chunk];
        if (chunk->due_ns > now_ns) {
            loop_alarm_set(&connection->alarm, chunk->due_ns);
            return;
        }
        ssize_t sent = send(connection->replica_fd, connection->bytes, chunk->bytes,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN) {
            relay_close(connection);
            return;
        }
        size_t gone = sent > 0 ? (size_t)sent : 0;
        connection->filled -= gone;
        memmove(connection->bytes, connection->bytes + gone, connection->filled);
        chunk->bytes -= gone;
        if (chunk->bytes > 0) {
            loop_alarm_set(&connection->alarm, now_ns + NS_PER_MS);
            return;
        }
        connection->first_chunk = (connection->first_chunk + 1) % RELAY_CHUNKS;
        connection->chunk_count--;
    }
}

static void relay_ring(struct loop_alarm *alarm)
{
    relay_pass(alarm->context);
}

/* From the node: it waits for as long as the replica lags. */
static void relay_from_node(struct loop_watch *watch)
{
    struct relay_connection *connection = watch->context;
    size_t room = RELAY_BYTES - connection->filled;
    if (connection->node_fd < 0) {
        return;
    }
    ssize_t got =
        recv(connection->node_fd, connection->bytes + connection->filled, room, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got <= 0 || connection->chunk_count == RELAY_CHUNKS) {
        relay_close(connection);
        return;
    }
    size_t last = (connection->first_chunk + connection->chunk_count) % RELAY_CHUNKS;
    connection->chunks[last] = (struct relay_chunk){
        .due_ns = loop_now_ns() + connection->replica->lag_ns, .bytes = (size_t)got};
    connection->chunk_count++;
    connection->filled += (size_t)got;
    relay_pass(connection);
}

/* From the replica: handshakes and acknowledgements, at once. */
static void relay_from_replica(struct loop_watch *watch)
{
    struct relay_connection *connection = watch->context;
    char bytes[4096];
    if (connection->node_fd < 0) {
        return;
    }
    ssize_t got = recv(connection->replica_fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got <= 0 || send(connection->node_fd, bytes, (size_t)got, MSG_NOSIGNAL) != got) {
        relay_close(connection);
    }
}

static void relay_accept(struct loop_watch *watch)
{
    struct run_replica *replica = watch->context;
    struct run *run = replica->run;
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    int replica_fd = accept4(replica->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (replica_fd < 0) {
        return;
    }
    int node_fd = address_connect(run->nodes[replica->index].site.address);
    struct relay_connection *connection =
        replica->connection_count < RELAY_CONNECTIONS_MAX && node_fd >= 0
            ? arena_take(&run->arena, sizeof *connection)
            : NULL;
    if (connection == NULL) {
        (void)close(replica_fd); /* it tries again */
        if (node_fd >= 0) {
            (void)close(node_fd);
        }
        return;
    }
    replica->connections[replica->connection_count++] = connection;
    connection->replica = replica;
    connection->node_fd = node_fd;
    connection->replica_fd = replica_fd;
    connection->node_watch.context = connection;
    connection->replica_watch.context = connection;
    if (result_failed(
            loop_alarm_init(&connection->alarm, &run->loop, relay_ring, connection, &text)) ||
        result_failed(loop_watch_init(&connection->node_watch, &run->loop, node_fd, relay_from_node,
                                      &text)) ||
        result_failed(loop_watch_init(&connection->replica_watch, &run->loop, replica_fd,
                                      relay_from_replica, &text))) {
        run_fail(run, result_error(ERROR_ENVIRONMENT), text.data);
    }
}

/* ---- start ---------------------------------------------------------------------------------- */

static struct result replica_listen(struct run_replica *replica, struct text *why)
{
    struct sockaddr_in address = address_socket(run_cluster_own(replica->run));
    replica->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (replica->listen_fd < 0 ||
        bind(replica->listen_fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(replica->listen_fd, RELAY_CONNECTIONS_MAX) != 0) {
        text_add(why, "no free port for a replica: %s", strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    replica->address = address_of(replica->listen_fd);
    replica->listen_watch.context = replica;
    return loop_watch_init(&replica->listen_watch, &replica->run->loop, replica->listen_fd,
                           relay_accept, why);
}

/* What a kind has of its own to follow and to be promoted; NULL: the orders of Redis. */
static const struct server_replica *replica_kind(const struct run_replica *replica)
{
    return server_kind_at(replica->run->plan->scenario.node_kind)->launch->replica;
}

static struct result replica_follow(struct run_replica *replica, struct text *why)
{
    struct admin_reply reply;
    char port[16];
    char ip_memory[16];
    struct text ip = text_over(ip_memory, sizeof ip_memory);
    if (replica_kind(replica) != NULL) {
        return RESULT_OK; /* it does so since its start */
    }
    (void)snprintf(port, sizeof port, "%u", replica->address.port);
    address_print_ip(replica->address, &ip);
    return site_order(&replica->site, (const char *[]){"REPLICAOF", ip.data, port, NULL}, &reply,
                      why);
}

/* A server of its own that follows node `index` through a relay of ours. */
static struct result replica_start(struct run *run, int32_t index, struct text *why)
{
    struct run_replica *replica = arena_take(&run->arena, sizeof *replica);
    struct node_options options = {
        .kind = run->plan->scenario.node_kind,
        .index = index,
        .node_count = run->node_count,
        .fsync = run->plan->scenario.fsync,
        .pooler = run->plan->scenario.pooler,
        .replica = true,
        .run_directory = run->guard.run_directory,
        .data_directory = run->guard.state_directory,
        .server = run->options->server,
        .password = run->password,
    };
    struct site_place place;
    bool ready = false;
    if (replica == NULL) {
        text_add(why, "no memory for a replica");
        return result_error(ERROR_LIMIT);
    }
    run->replicas[index] = replica;
    replica->run = run;
    replica->index = index;
    replica->listen_fd = -1;
    run_node_needs(run, index, &options);
    TRY(replica_listen(replica, why));
    options.at = replica->address;
    TRY(site_init(&replica->site, &options, run_cluster_place(run, index, &place), why));
    TRY(site_start(&replica->site, why));
    while (!ready) {
        TRY(site_ready(&replica->site, &ready, why));
        (void)nanosleep(&(struct timespec){.tv_nsec = ready ? 0 : NS_PER_MS / 5}, NULL);
    }
    return replica_follow(replica, why);
}

static bool replica_ask(struct run *run, struct site *site, const char *const *words,
                        struct admin_reply *reply)
{
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    struct result asked = site_order(site, words, reply, &text);
    if (result_failed(asked)) {
        run_fail(run, asked, text.data);
        return false;
    }
    return true;
}

/* What is written to the node arrives at the replica: tried with a key that no lock uses. */
static bool replica_in_step(struct run_replica *replica)
{
    struct run *run = replica->run;
    struct site *site = &run->nodes[replica->index].site;
    const struct server_replica *kind = replica_kind(replica);
    struct admin_reply reply;
    if (kind != NULL) {
        char memory[WHY_BYTES];
        struct text text = text_over(memory, sizeof memory);
        bool in_step = false;
        struct result asked =
            kind->in_step(&replica->site.node.server, &site->node.server, &in_step, &text);
        if (result_failed(asked)) {
            run_fail(run, asked, text.data);
        }
        return in_step;
    }
    return replica_ask(run, site,
                       (const char *[]){"SET", "picklock:probe", "1", "PX", "1000", NULL},
                       &reply) &&
           replica_ask(run, &replica->site, (const char *[]){"EXISTS", "picklock:probe", NULL},
                       &reply) &&
           reply.items[0].integer == 1;
}

struct result run_replicas_start(struct run *run, struct text *why)
{
    int64_t lag_ns[LOCK_NODES_MAX];
    memset(lag_ns, 0, sizeof lag_ns);
    for (size_t k = run->plan->scenario.fault_count; k > 0 && !run_follows(run); k--) {
        const struct fault *fault = &run->plan->scenario.faults[k - 1];
        for (int32_t i = 0; fault->kind == FAULT_FAILOVER && i < run->node_count; i++) {
            if ((fault->node_mask >> i & 1) == 0) {
                continue;
            }
            lag_ns[i] = fault->amount_ns; /* the first one's, where there are more */
            if (run->replicas[i] == NULL) {
                TRY(replica_start(run, i, why));
            }
        }
    }
    int64_t deadline_ns = loop_now_ns() + RUN_START_SECONDS * NS_PER_S;
    for (int32_t i = 0; i < run->node_count && !run->over;) {
        struct run_replica *replica = run->replicas[i];
        if (replica == NULL || replica_in_step(replica)) {
            if (replica != NULL) {
                replica->lag_ns = lag_ns[i];
            }
            i++;
            continue;
        }
        if (loop_now_ns() > deadline_ns) {
            text_add(why, "the replica of node %d is not in step after %d s", i + 1,
                     RUN_START_SECONDS);
            process_quote_log(replica->site.log_path, why);
            return result_error(ERROR_ENVIRONMENT);
        }
        loop_alarm_set(&run->phase_alarm, loop_now_ns() + 2 * NS_PER_MS);
        run_turn(run);
    }
    return RESULT_OK;
}

/* ---- failover ------------------------------------------------------------------------------- */

static struct result replica_take_over(struct run_replica *replica, struct site *promoted,
                                       struct text *why)
{
    struct admin_reply reply;
    const struct server_replica *kind = replica_kind(replica);
    if (kind != NULL) {
        return kind->promote(&promoted->node.server, why);
    }
    /* The first answer shows that the server has taken a turn: it has read what came before. */
    TRY(site_order(promoted, (const char *[]){"PING", NULL}, &reply, why));
    return site_order(promoted, (const char *[]){"REPLICAOF", "NO", "ONE", NULL}, &reply, why);
}

bool run_replica_promote(struct run *run, int32_t node)
{
    struct run_replica *replica = run->replicas[node];
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    if (replica == NULL || replica->promoted) {
        return false;
    }
    replica->promoted = true;
    for (size_t i = 0; i < replica->connection_count; i++) {
        /* What is due by now was replicated. */
        relay_from_node(&replica->connections[i]->node_watch);
        relay_close(replica->connections[i]);
    }
    struct site old = run->nodes[node].site;
    struct result done = site_crash(&old, &text);
    run->nodes[node].site = replica->site;
    replica->site = old;
    node_moved(&run->nodes[node].site.node);
    node_moved(&replica->site.node);
    if (!result_failed(done)) {
        done = replica_take_over(replica, &run->nodes[node].site, &text);
    }
    if (result_failed(done)) {
        run_fail(run, done, text.data);
    }
    return true;
}

void run_replicas_end(struct run *run)
{
    for (int32_t i = 0; i < run->node_count; i++) {
        struct run_replica *replica = run->replicas[i];
        if (replica == NULL) {
            continue;
        }
        for (size_t j = 0; j < replica->connection_count; j++) {
            relay_close(replica->connections[j]);
        }
        loop_watch_close(&replica->listen_watch);
        if (replica->listen_fd >= 0) {
            (void)close(replica->listen_fd);
        }
        site_release(&replica->site);
    }
}

/*
 * connect.c: a lock's connection to a member of a ZooKeeper ensemble, over ZooKeeper's own client
 * library, the one without threads.
 *
 * A session is a handle of the library, with a socket of its own: each lock has one at each member
 * that it asked. The handle is made anew for each open-session and attach, knows one member only
 * and never goes on to another: from member to member it is the lock that goes. What connects them
 * is the session's id and password, which all connections of a set of links share.
 *
 * The library is asked to connect, and to read and write when there is something: never for
 * pings of its own, so that a session of which the lock knows no more ends. The lock's own pings
 * ask whether the root is there, which touches the session as well.
 *
 * A connection without a question on it stands for the link from the beginning, as other kinds have
 * it: what befalls links befalls this one also while no session goes by it. A member may close it.
 *
 * Answers of several locks are told in the order of their questions. A question that is open for
 * CONNECT_PATIENCE_NS ends its handle; what is not known of it then is told as such.
 */
#include "servers/zookeeper/real/real.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/duration.h"
#include "base/machine_clock.h"
#include "lockcore/drivers/links.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#if __has_include(<zookeeper/zookeeper.h>)

#include "servers/zookeeper/real/connect.h"

#define CONNECT_PATIENCE_NS (1000 * NS_PER_MS)
#define CONNECT_LOOK_NS     (100 * NS_PER_MS)

enum { CONNECT_ENTRIES_MAX = 65536, CONNECT_EVENTS = 16 };

/* ---- the library ----------------------------------------------------------------------------- */

static struct libzookeeper functions;

static bool library_begin(void)
{
    functions.zoo_set_debug_level((ZooLogLevel)0);
    return true;
}

const struct libzookeeper *libzookeeper(void)
{
    static const char *const names[] = {LIBZOOKEEPER_MAP(LOADED_NAME)};
    static struct loaded library = {
        .files = {"libzookeeper_st.so.2"}, .begin = library_begin, LOADED_INTO(functions, names)};
    return loaded_there(&library) ? &functions : NULL;
}

struct server_lack libzookeeper_lacks(void)
{
    struct server_lack missing = {"ZooKeeper's client library, libzookeeper_st, is not installed",
                                  "apt-get install libzookeeper-st2"};
    return libzookeeper() != NULL ? (struct server_lack){NULL, NULL} : missing;
}

static void make_ready(const struct connection *connection)
{
    uint64_t one = 1;
    ssize_t written = write(connection->ready_fd, &one, sizeof one);
    (void)written; /* full: it is ready */
}

/* ---- what is to be told ---------------------------------------------------------------------- */

struct entry *entry_add(struct connection *connection, uint64_t tag,
                        const struct lock_command *command)
{
    struct entry *entry =
        connection->entry_count < CONNECT_ENTRIES_MAX ? memory_resize(NULL, sizeof *entry) : NULL;
    if (entry == NULL) {
        return NULL;
    }
    memset(entry, 0, sizeof *entry);
    entry->tag = tag;
    entry->command = *command;
    entry->asked_ns = monotonic_ns();
    if (connection->last == NULL) {
        connection->first = entry;
    } else {
        connection->last->next = entry;
    }
    connection->last = entry;
    connection->entry_count++;
    return entry;
}

static void entry_drop(struct connection *connection, struct entry *before, struct entry *entry)
{
    if (before == NULL) {
        connection->first = entry->next;
    } else {
        before->next = entry->next;
    }
    connection->last = connection->last == entry ? before : connection->last;
    connection->entry_count--;
    memory_release(entry);
}

void entry_answer(struct entry *entry, enum lock_reply_type type, int64_t number)
{
    ASSERT(!entry->push);
    entry->handle = NULL;
    entry->answered = true;
    entry->reply = (struct lock_reply){.type = (uint8_t)type, .number = number};
}

void entry_push(struct handle *handle, const struct lock_command *command)
{
    struct entry *entry = entry_add(handle->connection, handle->tag, command);
    if (entry == NULL) {
        handle->over = true; /* who is not told must not wait for it */
        return;
    }
    entry->push = true;
    entry->reply.type = LOCK_REPLY_NO;
}

void entry_fail(struct entry *entry, int code)
{
    struct handle *handle = entry->handle;
    bool refused = code == ZSESSIONEXPIRED || code == ZSESSIONMOVED || code == ZINVALIDSTATE;
    entry_answer(entry, refused ? LOCK_REPLY_ERROR : LOCK_REPLY_UNSURE, 0);
    handle->over = true;
}

/* It was not asked at all. */
void entry_sent(struct entry *entry, int code)
{
    if (code != ZOK && entry->handle != NULL) {
        entry_fail(entry, code);
    }
}

/* ---- the link ---- */

static void idle_close(struct connection *connection)
{
    if (connection->idle_fd >= 0) {
        (void)close(connection->idle_fd);
    }
    connection->idle_fd = -1;
}

/* Without it nothing is lost: who asks for a session sees whether the member can be had. */
static void idle_open(struct connection *connection)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)connection->address.port)};
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = connection}};
    if (connection->idle_fd >= 0 ||
        inet_pton(AF_INET, connection->address.name, &to.sin_addr) != 1) {
        return;
    }
    connection->idle_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool fine = connection->idle_fd >= 0 &&
                (connect(connection->idle_fd, (const struct sockaddr *)&to, sizeof to) == 0 ||
                 errno == EINPROGRESS) &&
                epoll_ctl(connection->fd, EPOLL_CTL_ADD, connection->idle_fd, &event) == 0;
    if (!fine) {
        idle_close(connection);
    }
}

/* ---- the connection -------------------------------------------------------------------------- */

static void connection_close(void *of)
{
    struct connection *connection = of;
    while (connection->handles != NULL) {
        handle_free(connection->handles);
    }
    while (connection->first != NULL) {
        entry_drop(connection, NULL, connection->first);
    }
    idle_close(connection);
    if (connection->ready_fd >= 0) {
        (void)close(connection->ready_fd);
    }
    if (connection->fd >= 0) {
        (void)close(connection->fd);
    }
    memory_release(connection);
}

static void *connection_open(const struct lock_address *address, void *shared)
{
    const struct libzookeeper *zk = libzookeeper();
    struct connection *connection = zk != NULL ? memory_resize(NULL, sizeof *connection) : NULL;
    if (connection == NULL) {
        return NULL;
    }
    memset(connection, 0, sizeof *connection);
    connection->zk = zk;
    connection->sessions = shared;
    connection->address = *address;
    connection->idle_fd = -1;
    bool v6 = strchr(address->name, ':') != NULL;
    (void)snprintf(connection->host, sizeof connection->host, "%s%s%s:%d", v6 ? "[" : "",
                   address->name, v6 ? "]" : "", address->port);
    connection->fd = epoll_create1(EPOLL_CLOEXEC);
    connection->ready_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event ready = {.events = EPOLLIN, .data = {.ptr = NULL}};
    if (address->port == 0 || connection->fd < 0 || connection->ready_fd < 0 ||
        epoll_ctl(connection->fd, EPOLL_CTL_ADD, connection->ready_fd, &ready) != 0) {
        connection_close(connection);
        return NULL;
    }
    idle_open(connection);
    return connection;
}

static int connection_fd(const void *of)
{
    const struct connection *connection = of;
    return connection->fd;
}

/* There is nothing to connect before a session is asked for. */
static enum connection_progress connection_progress(void *of)
{
    (void)of;
    return CONNECTION_UP;
}

static bool connection_add(void *of, const struct lock_request *request)
{
    struct connection *connection = of;
    struct wire_text name = {request->resource, (uint32_t)request->resource_bytes};
    uint32_t kind = request->command->kind;
    struct entry *entry = request->resource_bytes <= ZNODE_NAME_BYTES_MAX
                              ? entry_add(connection, request->tag, request->command)
                              : NULL;
    if (entry == NULL) {
        return false;
    }
    znode_print_parent(name, entry->parent);
    if (kind == ZOOKEEPER_OPEN || kind == ZOOKEEPER_ATTACH) {
        idle_open(connection);
        bool fine = handle_ask(connection, entry);
        make_ready(connection);
        return fine;
    }
    entry->handle = handle_of(connection, request->tag);
    if (entry->handle == NULL || !entry->handle->up || entry->handle->over) {
        entry_answer(entry, LOCK_REPLY_UNSURE, 0);
    } else {
        question_ask(entry);
    }
    if (entry->answered) {
        make_ready(connection);
    }
    return true;
}

/* The library writes what it is asked at once; what did not fit it writes when it is looked at. */
static bool connection_write(void *of, bool *full)
{
    (void)of;
    *full = false;
    return true;
}

static bool connection_read(void *of)
{
    struct connection *connection = of;
    struct epoll_event events[CONNECT_EVENTS];
    const struct libzookeeper *zk = connection->zk;
    int count = epoll_wait(connection->fd, events, CONNECT_EVENTS, 0);
    for (int i = 0; i < count; i++) {
        struct handle *handle = events[i].data.ptr;
        uint64_t readies;
        if (handle == NULL) {
            ssize_t got = read(connection->ready_fd, &readies, sizeof readies);
            (void)got;
            continue;
        }
        if (events[i].data.ptr == connection) {
            idle_close(connection); /* nothing ever comes by it but its end */
            continue;
        }
        bool reads = (events[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0;
        bool writes = (events[i].events & EPOLLOUT) != 0;
        if (!handle->over) {
            handle_process(handle,
                           (reads ? *zk->ZOOKEEPER_READ : 0) | (writes ? *zk->ZOOKEEPER_WRITE : 0));
        }
    }
    handles_end(connection);
    return true;
}

/* The oldest question, if it is answered; or what is told to a lock that waits for no answer that
 * was asked for before. */
static enum connection_next connection_next(void *of, const struct lock_command *asked,
                                            struct connection_said *said)
{
    struct connection *connection = of;
    struct entry *before = NULL;
    handles_end(connection);
    for (struct entry *entry = connection->first; entry != NULL; entry = entry->next) {
        bool open = false;
        for (struct entry *other = connection->first; entry->push && other != entry && !open;
             other = other->next) {
            open = other->tag == entry->tag;
        }
        bool oldest = !entry->push && (before == NULL || asked == NULL);
        if ((entry->push && !open) || (oldest && entry->answered)) {
            bool pushed = entry->push;
            said->reply = entry->reply;
            said->command = entry->command;
            said->tag = entry->tag;
            entry_drop(connection, before, entry);
            return pushed ? CONNECTION_PUSH : asked != NULL ? CONNECTION_REPLY : CONNECTION_GARBAGE;
        }
        before = entry;
    }
    return CONNECTION_EMPTY;
}

/* ---- looked at ------------------------------------------------------------------------------- */

static int64_t connection_patience_ns(const void *of)
{
    const struct connection *connection = of;
    return connection->first != NULL ? CONNECT_LOOK_NS : TIME_NEVER;
}

/* Whoever stood still himself looks first whether the answer is here. */
static bool connection_tend(void *of)
{
    struct connection *connection = of;
    bool fine = connection_read(connection);
    int64_t at_ns = monotonic_ns();
    for (struct entry *entry = connection->first; entry != NULL; entry = entry->next) {
        if (entry->handle != NULL && at_ns - entry->asked_ns >= CONNECT_PATIENCE_NS) {
            entry->handle->over = true;
        } else if (entry->handle != NULL && entry->handle->up && !entry->handle->over) {
            handle_process(entry->handle, *connection->zk->ZOOKEEPER_WRITE);
        }
    }
    handles_end(connection);
    return fine;
}

const struct connection_kind zookeeper_connection = {
    .name = "zookeeper",
    .shared_bytes = sizeof(struct sessions),
    .open = connection_open,
    .fd = connection_fd,
    .progress = connection_progress,
    .add = connection_add,
    .write = connection_write,
    .read = connection_read,
    .next = connection_next,
    .close = connection_close,
    .patience_ns = connection_patience_ns,
    .tend = connection_tend,
};

#else

struct server_lack libzookeeper_lacks(void)
{
    return (struct server_lack){"picklock was built without libzookeeper's header",
                                "apt-get install libzookeeper-st-dev, then build picklock again"};
}

const struct connection_kind zookeeper_connection = {.name = "zookeeper",
                                                     .open = server_connection_unbuilt};

#endif

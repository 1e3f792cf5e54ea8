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
#include "lockcore/drivers/links.h"
#include "lockcore/zookeeper/zookeeper.h"
#include "servers/zookeeper/real/znode.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#if __has_include(<zookeeper/zookeeper.h>)

#include "servers/zookeeper/real/libzookeeper.h"

#define CONNECT_PATIENCE_NS (1000 * NS_PER_MS)
#define CONNECT_LOOK_NS     (100 * NS_PER_MS)

enum {
    CONNECT_SESSIONS = 1024, /* of all locks: those that were begun last */
    CONNECT_ENTRIES_MAX = 65536,
    CONNECT_EVENTS = 16,
};

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

/* ---- sessions, which outlive connections ------------------------------------------------------
 */

struct session {
    uint64_t used; /* when: of the oldest the place is taken; 0: never */
    uint64_t tag;  /* of the lock */
    int ttl_ms;
    bool known;  /* `id` is */
    bool parent; /* the lock's own znode is there */
    clientid_t id;
    struct lock_value name;
    struct lock_value created; /* whose create was sent last */
};

struct sessions {
    uint64_t uses;
    struct session list[CONNECT_SESSIONS];
};

/* The lock's, or else the one that was used the longest ago. */
static struct session *session_of(struct sessions *sessions, uint64_t tag)
{
    struct session *oldest = &sessions->list[0];
    for (uint32_t i = 0; i < CONNECT_SESSIONS; i++) {
        struct session *session = &sessions->list[i];
        if (session->used != 0 && session->tag == tag) {
            oldest = session;
            break;
        }
        oldest = session->used < oldest->used ? session : oldest;
    }
    if (oldest->used == 0 || oldest->tag != tag) {
        *oldest = (struct session){.tag = tag};
    }
    oldest->used = ++sessions->uses;
    return oldest;
}

/* ---- one connection -------------------------------------------------------------------------- */

struct connection;

/* A lock's session, as this member has it. */
struct handle {
    struct handle *next; /* owned */
    struct connection *connection;
    uint64_t tag;
    struct lock_command asked; /* open-session or attach */
    zhandle_t *zoo;            /* owned */
    int fd;                    /* the library's */
    bool writes;               /* it is waited for until it can be written */
    bool up;
    bool over;                      /* it is of no more use */
    bool expired;                   /* ... for the ensemble says so */
    bool watches;                   /* `watching` waits to be told */
    struct lock_command watching;   /* the newest question that left a watch */
    char watched[ZNODE_PATH_BYTES]; /* on what */
    int64_t ahead;                  /* place of whom the lock was told that it is before it */
    struct lock_value ahead_value;  /* ... and whose that is */
};

/* How a create goes on: where it was sent before, its znode is looked for first. */
enum entry_step { STEP_LOOK, STEP_OWNER, STEP_PARENT, STEP_CREATE };

/* A question, or what is told without one. */
struct entry {
    struct entry *next;    /* owned */
    struct handle *handle; /* NULL: it is answered, or told */
    uint64_t tag;
    bool push;
    bool answered;
    uint8_t step; /* enum entry_step */
    struct lock_command command;
    struct lock_reply reply;
    int64_t found; /* STEP_OWNER: the place of the znode that may be ours */
    int64_t asked_ns;
    char parent[ZNODE_PARENT_BYTES];
};

struct connection {
    const struct libzookeeper *zk;
    struct sessions *sessions;
    struct handle *handles; /* owned */
    struct entry *first;    /* owned */
    struct entry *last;
    uint32_t entry_count;
    int fd;       /* owned: an epoll of all handles, and of: */
    int ready_fd; /* owned: something may be told that no socket shows */
    int idle_fd;  /* owned: of the connection that stands for the link; -1: it was closed */
    struct lock_address address;
    char host[ADDRESS_NAME_BYTES + 16];
};

static int64_t now_ns(void)
{
    struct timespec now;
    ASSERT(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void make_ready(const struct connection *connection)
{
    uint64_t one = 1;
    ssize_t written = write(connection->ready_fd, &one, sizeof one);
    (void)written; /* full: it is ready */
}

/* ---- what is to be told ---------------------------------------------------------------------- */

static struct entry *entry_add(struct connection *connection, uint64_t tag,
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
    entry->asked_ns = now_ns();
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

static void entry_answer(struct entry *entry, enum lock_reply_type type, int64_t number)
{
    ASSERT(!entry->push);
    entry->handle = NULL;
    entry->answered = true;
    entry->reply = (struct lock_reply){.type = (uint8_t)type, .number = number};
}

static void push(struct handle *handle, const struct lock_command *command)
{
    struct entry *entry = entry_add(handle->connection, handle->tag, command);
    if (entry == NULL) {
        handle->over = true; /* who is not told must not wait for it */
        return;
    }
    entry->push = true;
    entry->reply.type = LOCK_REPLY_NO;
}

/* ---- handles --------------------------------------------------------------------------------- */

/* Closing one that is connected would end the session: who closes cannot say so any more. */
static void handle_free(struct handle *handle)
{
    struct connection *connection = handle->connection;
    struct handle **at = &connection->handles;
    for (struct entry *entry = connection->first; entry != NULL; entry = entry->next) {
        if (entry->handle == handle) {
            entry_answer(entry, LOCK_REPLY_UNSURE, 0);
        }
    }
    while (*at != handle) {
        at = &(*at)->next;
    }
    *at = handle->next;
    if (handle->fd >= 0) {
        (void)epoll_ctl(connection->fd, EPOLL_CTL_DEL, handle->fd, NULL);
        (void)shutdown(handle->fd, SHUT_RDWR);
    }
    if (handle->zoo != NULL) {
        (void)connection->zk->zookeeper_close(handle->zoo);
    }
    memory_release(handle);
}

/* It is over by itself: who asks is told, and who has the session as well. */
static void handle_end(struct handle *handle)
{
    struct connection *connection = handle->connection;
    struct lock_command asked = handle->asked;
    bool attaches = handle->asked.kind == ZOOKEEPER_ATTACH;
    for (struct entry *entry = connection->first; entry != NULL; entry = entry->next) {
        if (entry->handle == handle && entry->command.attempt == asked.attempt) {
            bool gone = attaches && handle->expired;
            entry_answer(entry, gone ? LOCK_REPLY_NO : LOCK_REPLY_UNSURE, 0);
        }
    }
    if (handle->up) {
        push(handle, &asked);
    }
    handle_free(handle);
}

static struct handle *handle_of(const struct connection *connection, uint64_t tag)
{
    struct handle *handle = connection->handles;
    while (handle != NULL && handle->tag != tag) {
        handle = handle->next;
    }
    return handle;
}

static void handle_wait(struct handle *handle, bool writes, int operation)
{
    struct epoll_event event = {.events = EPOLLIN | (writes ? EPOLLOUT : 0u),
                                .data = {.ptr = handle}};
    handle->writes = writes;
    if (epoll_ctl(handle->connection->fd, operation, handle->fd, &event) != 0) {
        handle->over = true;
    }
}

static void on_event(zhandle_t *zoo, int type, int state, const char *path, void *of)
{
    struct handle *handle = of;
    (void)zoo;
    (void)state;
    if (handle == NULL || !handle->watches) {
        return;
    }
    const struct libzookeeper *zk = handle->connection->zk;
    bool child = handle->watching.kind == ZOOKEEPER_CHILDREN_WATCH;
    bool comes = type == (child ? *zk->ZOO_CHILD_EVENT : *zk->ZOO_DELETED_EVENT);
    if (comes && path != NULL && strcmp(path, handle->watched) == 0) {
        handle->watches = false;
        push(handle, &handle->watching);
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

static void create_go_on(struct entry *entry);

/* Of an answer that says nothing of the question, as the library reports it. */
static void entry_fail(struct entry *entry, int code)
{
    struct handle *handle = entry->handle;
    bool refused = code == ZSESSIONEXPIRED || code == ZSESSIONMOVED || code == ZINVALIDSTATE;
    entry_answer(entry, refused ? LOCK_REPLY_ERROR : LOCK_REPLY_UNSURE, 0);
    handle->over = true;
}

/* What comes when its handle is being closed was told before. */
static struct entry *entry_of(const void *of)
{
    struct entry *entry = (struct entry *)(uintptr_t)of;
    return entry->handle != NULL ? entry : NULL;
}

static void on_deleted(int code, const void *of)
{
    struct entry *entry = entry_of(of);
    if (entry == NULL) {
        return;
    }
    if (code == ZOK || code == ZNONODE) {
        entry_answer(entry, code == ZOK ? LOCK_REPLY_YES : LOCK_REPLY_NO, 0);
    } else {
        entry_fail(entry, code);
    }
}

static void on_pinged(int code, const struct Stat *stat, const void *of)
{
    struct entry *entry = entry_of(of);
    (void)stat;
    if (entry != NULL && code == ZOK) {
        entry_answer(entry, LOCK_REPLY_YES, 0);
    } else if (entry != NULL) {
        entry_fail(entry, code);
    }
}

static void on_looked(int code, const struct Stat *stat, const void *of)
{
    struct entry *entry = entry_of(of);
    (void)stat;
    if (entry == NULL) {
        return;
    }
    if (code == ZOK || code == ZNONODE) {
        entry->handle->watches = code == ZOK;
        entry_answer(entry, code == ZOK ? LOCK_REPLY_YES : LOCK_REPLY_NO, 0);
    } else {
        entry_fail(entry, code);
    }
}

static void on_synced(int code, const char *path, const void *of)
{
    struct entry *entry = entry_of(of);
    (void)path;
    if (entry != NULL && code == ZOK) {
        entry_answer(entry, LOCK_REPLY_YES, 0);
    } else if (entry != NULL) {
        entry_fail(entry, code);
    }
}

struct child {
    struct lock_value value;
    int64_t place;
};

static bool child_at(const struct String_vector *children, int32_t at, struct child *child)
{
    const char *name = children->data[at];
    return znode_read_child((struct wire_text){name, (uint32_t)strlen(name)}, &child->value,
                            &child->place);
}

/* Are we the lowest, or who is the one before us? */
static void children_read(struct entry *entry, const struct String_vector *children)
{
    const struct lock_command *command = &entry->command;
    struct handle *handle = entry->handle;
    struct child child;
    bool ours = false;
    handle->ahead = 0;
    for (int32_t i = 0; i < children->count; i++) {
        if (!child_at(children, i, &child)) {
            continue;
        }
        ours = ours || (child.place == command->number &&
                        memcmp(&child.value, &command->value, sizeof child.value) == 0);
        if (child.place < command->number && child.place > handle->ahead) {
            handle->ahead = child.place;
            handle->ahead_value = child.value;
        }
    }
    entry_answer(entry,
                 !ours               ? LOCK_REPLY_NO
                 : handle->ahead > 0 ? LOCK_REPLY_NUMBER
                                     : LOCK_REPLY_YES,
                 ours ? handle->ahead : 0);
}

static void on_children(int code, const struct String_vector *children, const void *of)
{
    struct entry *entry = entry_of(of);
    if (entry == NULL) {
        return;
    }
    if (code == ZOK) {
        entry->handle->watches = entry->command.kind == ZOOKEEPER_CHILDREN_WATCH;
        children_read(entry, children);
    } else if (code == ZNONODE) {
        entry_answer(entry, LOCK_REPLY_NO, 0);
    } else {
        entry_fail(entry, code);
    }
}

/* ---- questions ------------------------------------------------------------------------------- */

/* It was not asked at all. */
static void entry_sent(struct entry *entry, int code)
{
    if (code != ZOK && entry->handle != NULL) {
        entry_fail(entry, code);
    }
}

static void ask_children(struct entry *entry, strings_completion_t completion)
{
    struct handle *handle = entry->handle;
    bool watch = entry->command.kind == ZOOKEEPER_CHILDREN_WATCH;
    if (watch) {
        handle->watches = false;
        handle->watching = entry->command;
        (void)snprintf(handle->watched, sizeof handle->watched, "%s", entry->parent);
    }
    entry_sent(entry, handle->connection->zk->zoo_awget_children(
                          handle->zoo, entry->parent, watch ? on_event : NULL,
                          watch ? handle : NULL, completion, entry));
}

/* Whose znode that is only the answer before this told. */
static void ask_exists(struct entry *entry)
{
    struct handle *handle = entry->handle;
    if (handle->ahead == 0 || handle->ahead != entry->command.number) {
        entry_answer(entry, LOCK_REPLY_NO, 0);
        return;
    }
    handle->watches = false;
    handle->watching = entry->command;
    znode_print(entry->parent, &handle->ahead_value, handle->ahead, handle->watched);
    entry_sent(entry, handle->connection->zk->zoo_awexists(handle->zoo, handle->watched, on_event,
                                                           handle, on_looked, entry));
}

static void ask_ping(struct entry *entry)
{
    struct handle *handle = entry->handle;
    entry_sent(entry, handle->connection->zk->zoo_awexists(handle->zoo, "/", NULL, NULL, on_pinged,
                                                           entry));
}

static void ask_delete(struct entry *entry)
{
    struct handle *handle = entry->handle;
    char path[ZNODE_PATH_BYTES];
    znode_print(entry->parent, &entry->command.value, entry->command.number, path);
    entry_sent(entry, handle->connection->zk->zoo_adelete(handle->zoo, path, 0, on_deleted, entry));
}

/* ---- create, "with protection" --------------------------------------------------------------- */

static void on_created(int code, const char *path, const void *of)
{
    struct entry *entry = entry_of(of);
    const char *child = path != NULL ? strrchr(path, '/') : NULL;
    struct lock_value value;
    int64_t place = 0;
    if (entry == NULL) {
        return;
    }
    if (code == ZOK && child != NULL) {
        bool fine = znode_read_child((struct wire_text){child + 1, (uint32_t)strlen(child + 1)},
                                     &value, &place);
        entry_answer(entry, fine ? LOCK_REPLY_NUMBER : LOCK_REPLY_GARBLED, fine ? place : 0);
    } else if (code == ZNONODE) {
        entry->step = STEP_PARENT;
        create_go_on(entry);
    } else {
        entry_fail(entry, code);
    }
}

static void on_parent_made(int code, const char *path, const void *of)
{
    struct entry *entry = entry_of(of);
    (void)path;
    if (entry != NULL && (code == ZOK || code == ZNODEEXISTS)) {
        session_of(entry->handle->connection->sessions, entry->tag)->parent = true;
        entry->step = STEP_CREATE;
        create_go_on(entry);
    } else if (entry != NULL) {
        entry_fail(entry, code);
    }
}

/* Is the znode that was found this session's? */
static void on_owner(int code, const struct Stat *stat, const void *of)
{
    struct entry *entry = entry_of(of);
    if (entry == NULL) {
        return;
    }
    const struct handle *handle = entry->handle;
    int64_t session = handle->connection->zk->zoo_client_id(handle->zoo)->client_id;
    if (code == ZOK && stat->ephemeralOwner == session) {
        entry_answer(entry, LOCK_REPLY_NUMBER, entry->found);
    } else if (code == ZOK || code == ZNONODE) {
        entry->step = STEP_CREATE;
        create_go_on(entry);
    } else {
        entry_fail(entry, code);
    }
}

static void on_looked_for(int code, const struct String_vector *children, const void *of)
{
    struct entry *entry = entry_of(of);
    struct child child;
    if (entry == NULL) {
        return;
    }
    if (code != ZOK && code != ZNONODE) {
        entry_fail(entry, code);
        return;
    }
    entry->found = 0;
    for (int32_t i = 0; code == ZOK && i < children->count; i++) {
        bool named = child_at(children, i, &child) &&
                     memcmp(&child.value, &entry->command.value, sizeof child.value) == 0;
        entry->found = named && child.place > entry->found ? child.place : entry->found;
    }
    if (entry->found != 0 && entry->command.kind == ZOOKEEPER_CREATE_FOUND) {
        entry_answer(entry, LOCK_REPLY_NUMBER, entry->found);
        return;
    }
    entry->step = entry->found != 0 ? STEP_OWNER : STEP_CREATE;
    create_go_on(entry);
}

static void create_go_on(struct entry *entry)
{
    struct handle *handle = entry->handle;
    const struct libzookeeper *zk = handle->connection->zk;
    char path[ZNODE_PATH_BYTES];
    switch ((enum entry_step)entry->step) {
    case STEP_LOOK:
        ask_children(entry, on_looked_for);
        return;
    case STEP_OWNER:
        znode_print(entry->parent, &entry->command.value, entry->found, path);
        entry_sent(entry, zk->zoo_awexists(handle->zoo, path, NULL, NULL, on_owner, entry));
        return;
    case STEP_PARENT:
        entry_sent(entry, zk->zoo_acreate(handle->zoo, entry->parent, "", 0,
                                          zk->ZOO_OPEN_ACL_UNSAFE, 0, on_parent_made, entry));
        return;
    case STEP_CREATE:
        znode_print(entry->parent, &entry->command.value, 0, path);
        entry_sent(entry, zk->zoo_acreate(handle->zoo, path, "", 0, zk->ZOO_OPEN_ACL_UNSAFE,
                                          *zk->ZOO_EPHEMERAL_SEQUENTIAL, on_created, entry));
        return;
    }
    UNREACHABLE();
}

/*
 * "Recoverable errors and the GUID": what was sent before may be there. The lock's own znode is
 * made first, so that no create is refused for it: faults strike the first.
 */
static void ask_create(struct entry *entry)
{
    struct session *session = session_of(entry->handle->connection->sessions, entry->tag);
    bool before = memcmp(&session->created, &entry->command.value, sizeof session->created) == 0;
    session->created = entry->command.value;
    entry->step = before ? STEP_LOOK : session->parent ? STEP_CREATE : STEP_PARENT;
    create_go_on(entry);
}

/* ---- sessions -------------------------------------------------------------------------------- */

/* A member that takes a session up may have to hear yet of what was committed. */
static void handle_arrive(struct handle *handle)
{
    struct connection *connection = handle->connection;
    struct session *session = session_of(connection->sessions, handle->tag);
    handle->up = true;
    session->id = *connection->zk->zoo_client_id(handle->zoo);
    session->name = handle->asked.value;
    session->known = true;
    for (struct entry *entry = connection->first; entry != NULL; entry = entry->next) {
        if (entry->handle != handle) {
            continue;
        }
        if (handle->asked.kind == ZOOKEEPER_OPEN) {
            entry_answer(entry, LOCK_REPLY_YES, 0);
        } else {
            entry_sent(entry, connection->zk->zoo_async(handle->zoo, "/", on_synced, entry));
        }
        return; /* the first is the one that asked for it */
    }
}

/* Let the library do what can be done. */
static void handle_process(struct handle *handle, int events)
{
    const struct libzookeeper *zk = handle->connection->zk;
    int code = zk->zookeeper_process(handle->zoo, events);
    int state = zk->zoo_state(handle->zoo);
    handle->expired = handle->expired || state == *zk->ZOO_EXPIRED_SESSION_STATE;
    if ((code != ZOK && code != ZNOTHING) || handle->expired) {
        handle->over = true;
    } else if (!handle->up && state == *zk->ZOO_CONNECTED_STATE) {
        handle_arrive(handle);
    } else if (handle->up && state != *zk->ZOO_CONNECTED_STATE) {
        handle->over = true;
    }
    if (handle->writes && !handle->over && state != *zk->ZOO_CONNECTING_STATE) {
        handle_wait(handle, false, EPOLL_CTL_MOD);
    }
}

static void handle_open(struct handle *handle, const struct session *session)
{
    struct connection *connection = handle->connection;
    const struct libzookeeper *zk = connection->zk;
    bool attaches = handle->asked.kind == ZOOKEEPER_ATTACH;
    struct timeval patience;
    int interest = 0;
    int fd = -1;
    handle->zoo = zk->zookeeper_init(connection->host, on_event, session->ttl_ms,
                                     attaches ? &session->id : NULL, NULL, ZOO_NO_LOG_CLIENTENV);
    handle->over = handle->zoo == NULL ||
                   zk->zookeeper_interest(handle->zoo, &fd, &interest, &patience) != ZOK || fd < 0;
    if (!handle->over) {
        handle->fd = fd;
        handle_wait(handle, true, EPOLL_CTL_ADD);
    }
}

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

/* A new handle in place of the one before. */
static bool session_ask(struct connection *connection, struct entry *entry)
{
    struct handle *before = handle_of(connection, entry->tag);
    struct session *session = session_of(connection->sessions, entry->tag);
    const struct lock_command *command = &entry->command;
    idle_open(connection);
    if (before != NULL) {
        handle_free(before);
    }
    if (command->kind == ZOOKEEPER_OPEN) {
        session->known = false;
        session->ttl_ms = (int)command->ttl_ms;
    } else if (!session->known ||
               memcmp(&session->name, &command->value, sizeof session->name) != 0) {
        entry_answer(entry, LOCK_REPLY_ERROR, 0); /* too many have been begun since */
        return true;
    }
    struct handle *handle = memory_resize(NULL, sizeof *handle);
    if (handle == NULL) {
        return false;
    }
    memset(handle, 0, sizeof *handle);
    handle->connection = connection;
    handle->tag = entry->tag;
    handle->asked = *command;
    handle->fd = -1;
    handle->next = connection->handles;
    connection->handles = handle;
    entry->handle = handle;
    handle_open(handle, session);
    return true;
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

static void entry_ask(struct entry *entry)
{
    switch ((enum zookeeper_command)entry->command.kind) {
    case ZOOKEEPER_PING:
        ask_ping(entry);
        return;
    case ZOOKEEPER_CREATE:
    case ZOOKEEPER_CREATE_FOUND:
        ask_create(entry);
        return;
    case ZOOKEEPER_CHILDREN:
    case ZOOKEEPER_CHILDREN_WATCH:
        ask_children(entry, on_children);
        return;
    case ZOOKEEPER_EXISTS:
        ask_exists(entry);
        return;
    case ZOOKEEPER_DELETE:
        ask_delete(entry);
        return;
    case ZOOKEEPER_OPEN:
    case ZOOKEEPER_ATTACH:
    case ZOOKEEPER_COMMANDS:
        break;
    }
    UNREACHABLE();
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
        bool fine = session_ask(connection, entry);
        make_ready(connection);
        return fine;
    }
    entry->handle = handle_of(connection, request->tag);
    if (entry->handle == NULL || !entry->handle->up || entry->handle->over) {
        entry_answer(entry, LOCK_REPLY_UNSURE, 0);
    } else {
        entry_ask(entry);
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

static void handles_end(struct connection *connection)
{
    struct handle *next;
    for (struct handle *handle = connection->handles; handle != NULL; handle = next) {
        next = handle->next;
        if (handle->over) {
            handle_end(handle);
        }
    }
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
    int64_t at_ns = now_ns();
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

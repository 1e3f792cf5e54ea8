/* handle.c: a lock's session, as one member of a ZooKeeper ensemble has it. */
#include "base/arena.h"
#include "base/assert.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#if __has_include(<zookeeper/zookeeper.h>)

#include "servers/zookeeper/real/connect.h"

/* ---- sessions, which outlive connections ---- */

/* The lock's, or else the one that was used the longest ago. */
struct session *session_kept(struct sessions *sessions, uint64_t tag)
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

/* ---- handles --------------------------------------------------------------------------------- */

/* Closing one that is connected would end the session: who closes cannot say so any more. */
void handle_free(struct handle *handle)
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
        entry_push(handle, &asked);
    }
    handle_free(handle);
}

struct handle *handle_of(const struct connection *connection, uint64_t tag)
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

void handles_end(struct connection *connection)
{
    struct handle *next;
    for (struct handle *handle = connection->handles; handle != NULL; handle = next) {
        next = handle->next;
        if (handle->over) {
            handle_end(handle);
        }
    }
}

/* ---- sessions -------------------------------------------------------------------------------- */

/* A member that takes a session up may have to hear yet of what was committed. */
static void handle_arrive(struct handle *handle)
{
    struct connection *connection = handle->connection;
    struct session *session = session_kept(connection->sessions, handle->tag);
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
            entry_sent(entry, connection->zk->zoo_async(handle->zoo, "/", question_synced, entry));
        }
        return; /* the first is the one that asked for it */
    }
}

void handle_process(struct handle *handle, int events)
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
    handle->zoo = zk->zookeeper_init(connection->host, question_event, session->ttl_ms,
                                     attaches ? &session->id : NULL, NULL, ZOO_NO_LOG_CLIENTENV);
    handle->over = handle->zoo == NULL ||
                   zk->zookeeper_interest(handle->zoo, &fd, &interest, &patience) != ZOK || fd < 0;
    if (!handle->over) {
        handle->fd = fd;
        handle_wait(handle, true, EPOLL_CTL_ADD);
    }
}

bool handle_ask(struct connection *connection, struct entry *entry)
{
    struct handle *before = handle_of(connection, entry->tag);
    struct session *session = session_kept(connection->sessions, entry->tag);
    const struct lock_command *command = &entry->command;
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

#else

typedef int without_the_header; /* a file that is empty is no C */

#endif

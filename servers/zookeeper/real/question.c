/* question.c: what a lock asks in its session, and what the answers say. */
#include "base/assert.h"

#include <stdio.h>
#include <string.h>

#if __has_include(<zookeeper/zookeeper.h>)

#include "servers/zookeeper/real/connect.h"

/* ---- watches ---- */

void question_event(zhandle_t *zoo, int type, int state, const char *path, void *of)
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
        entry_push(handle, &handle->watching);
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

static void create_go_on(struct entry *entry);

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

void question_synced(int code, const char *path, const void *of)
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
                          handle->zoo, entry->parent, watch ? question_event : NULL,
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
    entry_sent(entry, handle->connection->zk->zoo_awexists(
                          handle->zoo, handle->watched, question_event, handle, on_looked, entry));
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
        session_kept(entry->handle->connection->sessions, entry->tag)->parent = true;
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
    struct session *session = session_kept(entry->handle->connection->sessions, entry->tag);
    bool before = memcmp(&session->created, &entry->command.value, sizeof session->created) == 0;
    session->created = entry->command.value;
    entry->step = before ? STEP_LOOK : session->parent ? STEP_CREATE : STEP_PARENT;
    create_go_on(entry);
}

void question_ask(struct entry *entry)
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

#else

typedef int without_the_header; /* a file that is empty is no C */

#endif

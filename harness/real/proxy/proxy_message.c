/* proxy_message.c: whole messages: the commands under way, and what callbacks say of them. */
#include "harness/real/proxy/proxy_inner.h"

#include "base/arena.h"
#include "base/assert.h"

#include <string.h>

/* A mark behind the last; NULL if there are too many. */
static struct proxy_mark *pipe_push(struct proxy_pipe *pipe, uint32_t bytes)
{
    if (pipe->mark_count == pipe->mark_capacity) {
        uint32_t capacity = pipe->mark_capacity > 0 ? 2 * pipe->mark_capacity : 16;
        struct proxy_mark *marks =
            capacity <= PIPE_MARKS_MAX ? memory_resize(NULL, capacity * sizeof *marks) : NULL;
        if (marks == NULL) {
            return NULL;
        }
        for (uint32_t i = 0; i < pipe->mark_count; i++) {
            marks[i] = *pipe_mark(pipe, i);
        }
        memory_release(pipe->marks);
        pipe->marks = marks;
        pipe->mark_capacity = capacity;
        pipe->mark_first = 0;
    }
    struct proxy_mark *mark = pipe_mark(pipe, pipe->mark_count++);
    memset(mark, 0, sizeof *mark);
    mark->bytes = bytes;
    return mark;
}

/* ---- commands under way ---- */

static struct keys_command *commands_push(struct proxy_connection *connection)
{
    if (connection->command_count == connection->command_capacity) {
        uint32_t capacity = connection->command_capacity > 0 ? 2 * connection->command_capacity : 8;
        struct keys_command *commands =
            capacity <= PIPE_MARKS_MAX ? memory_resize(NULL, capacity * sizeof *commands) : NULL;
        if (commands == NULL) {
            return NULL;
        }
        for (uint32_t i = 0; i < connection->command_count; i++) {
            commands[i] = *connection_command(connection, i);
        }
        memory_release(connection->commands);
        connection->commands = commands;
        connection->command_capacity = capacity;
        connection->command_first = 0;
    }
    return connection_command(connection, connection->command_count++);
}

/* The oldest command that is not sent yet vanishes. */
void commands_drop_waiting(struct proxy_connection *connection)
{
    ASSERT(connection->command_count > 0);
    connection->command_first++;
    connection->command_count--;
}

/* The oldest command that is not sent yet goes to the node now. */
void commands_send(struct proxy_connection *connection)
{
    keys_sent(connection->channel, connection_command(connection, 0),
              connection->link->proxy->now_ns);
    commands_drop_waiting(connection);
}

/* Tell the run that the oldest waiting command is about to go. */
struct proxy_answer commands_arrival(struct proxy_connection *connection)
{
    struct proxy_link *link = connection->link;
    const struct proxy_callbacks *callbacks = &link->proxy->options.callbacks;
    struct proxy_message message = {
        .client = link->client,
        .node = link->node,
        .true_ns = link->proxy->now_ns,
        .command = connection_command(connection, 0),
    };
    return callbacks->arrival(callbacks->data, &message);
}

/* Note what a callback wants with a message. */
void mark_answer(struct proxy_connection *connection, struct proxy_mark *mark,
                 const struct proxy_answer *answer)
{
    struct proxy *proxy = connection->link->proxy;
    mark->held = answer->action == PROXY_HOLD;
    if (answer->action == PROXY_DELAY) {
        connection->delayed = true;
        mark->due_ns = proxy->now_ns + answer->delay_ns;
        proxy_count_answer(proxy, answer, PROXY_DELAY);
    }
}

/* ---- whole messages ---- */

/* Note a message that waits. */
static struct proxy_mark *message_wait(struct proxy_connection *connection, uint8_t direction,
                                       uint32_t bytes)
{
    struct proxy_link *link = connection->link;
    struct proxy_pipe *pipe =
        direction == DIRECTION_REQUEST ? &connection->request : &connection->reply;
    struct proxy_mark *mark = pipe_push(pipe, bytes);
    if (mark == NULL) {
        return NULL;
    }
    pipe->parsed += bytes;
    if (link->faults != 0) {
        proxy_count_held(link, direction, mark);
        mark->due_ns = proxy_latency_due(link, direction, link->proxy->now_ns);
        if (mark->due_ns < pipe->due_last_ns) {
            mark->due_ns = pipe->due_last_ns;
        }
        pipe->due_last_ns = mark->due_ns;
    }
    return mark;
}

/* A whole command came from the client. False: the connection cannot go on. */
bool request_message(struct proxy_connection *connection, const struct wire_request *request)
{
    struct proxy_link *link = connection->link;
    struct proxy_pipe *pipe = &connection->request;
    bool silent = request->silent || connection->opaque;
    link->proxy->counts.commands++;
    if (connection->node_fd < 0) {
        pipe->parsed += request->bytes; /* for nobody: the client does not know yet */
        (void)pipe_discard(pipe);
        return true;
    }
    if (!silent) {
        struct keys_command *command = commands_push(connection);
        if (command == NULL) {
            return false;
        }
        command->came_ns = link->proxy->now_ns;
        keys_read(connection->channel, connection->stream, request, command);
        if (command->ends_replies) {
            connection->opaque = true;
            connection->command_count--;
            silent = true;
        }
    }
    bool free = link->faults == 0 && pipe->mark_count == 0 && connection->connected;
    bool seen = free && !silent;
    struct proxy_answer answer = PROXY_PASSES;
    if (seen) {
        answer = commands_arrival(connection);
        if (connection->dead || connection->client_fd < 0) {
            return true; /* cut by the callback: the caller sees it */
        }
        free = answer.action == PROXY_PASS && link->faults == 0;
        if (free) {
            commands_send(connection);
            pipe->parsed += request->bytes;
            pipe->ready = pipe->parsed;
            return true;
        }
    }
    struct proxy_mark *mark = message_wait(connection, DIRECTION_REQUEST, request->bytes);
    if (mark == NULL) {
        return false;
    }
    mark->silent = silent;
    mark->seen = seen;
    mark_answer(connection, mark, &answer);
    return true;
}

/* A command is answered and shown: what does the run say, and what do faults do to its reply? */
static struct proxy_answer reply_answered(struct proxy_connection *connection,
                                          const struct keys_answer *told)
{
    struct proxy_link *link = connection->link;
    struct proxy *proxy = link->proxy;
    struct proxy_message message = {.client = link->client,
                                    .node = link->node,
                                    .true_ns = proxy->now_ns,
                                    .command = &told->command,
                                    .reply = &told->reply,
                                    .deed = &told->deed};
    struct proxy_answer answer =
        proxy->options.callbacks.reply(proxy->options.callbacks.data, &message);
    proxy_count_answer(proxy, &answer, PROXY_LOSE);
    if (link->faults != 0 && answer.action != PROXY_LOSE && proxy_loses(link, told->command.role)) {
        answer.action = PROXY_LOSE;
    }
    return answer;
}

/* The first reply that waits for the node's word; NULL where its client is gone. */
static struct proxy_mark *reply_waiting(const struct proxy_connection *connection)
{
    for (uint32_t i = 0; i < connection->reply.mark_count; i++) {
        struct proxy_mark *mark = pipe_mark(&connection->reply, i);
        if (mark->waits) {
            return mark;
        }
    }
    return NULL;
}

void reply_passes(struct proxy_connection *connection, const struct keys_told told[2])
{
    for (int i = 0; i < 2 && connection->channel != NULL; i++) {
        keys_replied(connection->channel, &told[i], connection->link->proxy->now_ns);
    }
}

/* What waits in a mark is what was told of its command. */
static void mark_told(struct proxy_mark *mark, const struct keys_answer *answer)
{
    mark->told[0] = answer->deed.told;
    mark->told[1] = answer->error;
}

void connection_answers(struct proxy_connection *connection)
{
    struct keys_answer told;
    bool any = false;
    while (!connection->dead && keys_answer(connection->channel, &told)) {
        any = true;
        struct proxy_answer answer = {PROXY_LOSE, PROXY_NO_FAULT, 0};
        if (!told.answered) {
            continue;
        }
        if (!told.lost) {
            answer = reply_answered(connection, &told);
        }
        /* The callback may have cut this very connection. */
        struct proxy_mark *mark = connection->dead ? NULL : reply_waiting(connection);
        if (mark != NULL && answer.action == PROXY_LOSE) {
            (void)connection_cut(connection);
        } else if (mark != NULL) {
            mark->waits = false;
            mark_told(mark, &told);
            mark_answer(connection, mark, &answer);
        }
    }
    if (any && !connection->dead) {
        pipe_advance(connection, DIRECTION_REPLY);
        connection_settle(connection);
    }
}

/* It waits until the node has shown what its command did. */
void connection_wait(struct proxy_connection *connection)
{
    struct proxy *proxy = connection->link->proxy;
    if (!connection->waiting) {
        connection->waiting = true;
        connection->waiting_next = proxy->waiting;
        proxy->waiting = connection;
    }
}

/* A whole reply came from the node. False: the connection cannot go on. */
bool reply_message(struct proxy_connection *connection, const struct wire_reply *reply)
{
    struct proxy_link *link = connection->link;
    struct proxy_pipe *pipe = &connection->reply;
    struct proxy_answer answer = PROXY_PASSES;
    struct keys_answer told = {.lost = false}; /* an unasked reply tells of nothing */
    link->proxy->counts.replies++;
    bool answers = !reply->unasked && keys_unheard(connection->channel) > 0;
    bool first = answers && keys_open(connection->channel) == keys_unheard(connection->channel);
    bool waits = false;
    if (answers) {
        keys_heard(connection->channel, connection->stream, reply, link->proxy->now_ns);
        waits = !first || !keys_answer(connection->channel, &told);
    }
    if (waits) {
        connection_wait(connection);
    } else if (answers && told.lost) {
        answer.action = PROXY_LOSE;
    } else if (answers) {
        answer = reply_answered(connection, &told);
    }
    if (connection->client_fd < 0) {
        pipe->parsed += reply->bytes;
        (void)pipe_discard(pipe);
        return true;
    }
    if (answer.action == PROXY_LOSE) {
        pipe->parsed += reply->bytes;
        (void)connection_cut(connection);
        return true;
    }
    bool free = answer.action == PROXY_PASS && link->faults == 0 && pipe->mark_count == 0;
    if (free && !waits) {
        reply_passes(connection, (const struct keys_told[2]){told.deed.told, told.error});
        pipe->parsed += reply->bytes;
        pipe->ready = pipe->parsed;
        return true;
    }
    struct proxy_mark *mark = message_wait(connection, DIRECTION_REPLY, reply->bytes);
    if (mark == NULL) {
        return false;
    }
    mark->waits = waits;
    mark_told(mark, &told);
    mark_answer(connection, mark, &answer);
    return true;
}

/* proxy_message.c: whole messages: the commands under way, and what callbacks say of them. */
#include "harness/real/proxy/proxy_inner.h"

#include "base/arena.h"
#include "base/assert.h"

#include <string.h>
#include <strings.h>

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
    ASSERT(connection->command_count > connection->command_sent);
    for (uint32_t i = connection->command_sent; i + 1 < connection->command_count; i++) {
        *connection_command(connection, i) = *connection_command(connection, i + 1);
    }
    connection->command_count--;
}

/* The oldest command that is not sent yet goes to the node now. */
void commands_send(struct proxy_connection *connection)
{
    struct proxy_link *link = connection->link;
    keys_sent(link->proxy->options.keys,
              &(struct keys_passage){
                  .node = link->node,
                  .process = link->client,
                  .true_ns = link->proxy->now_ns,
                  .command = connection_command(connection, connection->command_sent),
              });
    connection->command_sent++;
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
        .command = connection_command(connection, connection->command_sent),
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
        mark->due_ns = proxy->now_ns + answer->delay_ns;
        proxy_count_answer(proxy, answer, PROXY_DELAY);
    }
}

/* ---- whole messages ---- */

/* After this command, what the node sends does not answer commands one by one any more. */
static bool command_is_opaque(const struct resp_words *words)
{
    static const char *const names[] = {"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MONITOR",
                                        "SYNC",      "PSYNC",      "CLIENT"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (words->word[0].bytes == strlen(names[i]) &&
            strncasecmp(words->word[0].data, names[i], words->word[0].bytes) == 0) {
            /* Of CLIENT only REPLY matters. */
            return names[i][0] != 'C' || (words->count > 1 && words->word[1].bytes == 5 &&
                                          strncasecmp(words->word[1].data, "REPLY", 5) == 0);
        }
    }
    return false;
}

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
bool request_message(struct proxy_connection *connection, const struct resp_words *words)
{
    struct proxy_link *link = connection->link;
    struct proxy_pipe *pipe = &connection->request;
    bool silent = words->total == 0 || connection->opaque;
    link->proxy->counts.commands++;
    if (connection->node_fd < 0) {
        pipe->parsed += words->message_bytes; /* for nobody: the client does not know yet */
        (void)pipe_discard(pipe);
        return true;
    }
    if (!silent) {
        struct keys_command *command = commands_push(connection);
        if (command == NULL) {
            return false;
        }
        keys_read(link->proxy->options.keys, words, command);
        if (command->kind == REDIS_COMMANDS && command_is_opaque(words)) {
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
            pipe->parsed += words->message_bytes;
            pipe->ready = pipe->parsed;
            return true;
        }
    }
    struct proxy_mark *mark = message_wait(connection, DIRECTION_REQUEST, words->message_bytes);
    if (mark == NULL) {
        return false;
    }
    mark->silent = silent;
    mark->seen = seen;
    mark_answer(connection, mark, &answer);
    return true;
}

/* The reply answers the oldest command that was sent. */
static struct proxy_answer reply_answered(struct proxy_connection *connection,
                                          const struct resp_reply *reply)
{
    struct proxy_link *link = connection->link;
    struct proxy *proxy = link->proxy;
    struct keys_command command = *connection_command(connection, 0);
    struct keys_reply read;
    connection->command_first++;
    connection->command_sent--;
    connection->command_count--;
    keys_answered(proxy->options.keys,
                  &(struct keys_passage){.node = link->node,
                                         .process = link->client,
                                         .true_ns = proxy->now_ns,
                                         .command = &command},
                  reply, &read);
    struct proxy_message message = {.client = link->client,
                                    .node = link->node,
                                    .true_ns = proxy->now_ns,
                                    .command = &command,
                                    .reply = &read};
    struct proxy_answer answer =
        proxy->options.callbacks.reply(proxy->options.callbacks.data, &message);
    proxy_count_answer(proxy, &answer, PROXY_LOSE);
    if (link->faults != 0 && answer.action != PROXY_LOSE && proxy_loses(link, command.role)) {
        answer.action = PROXY_LOSE;
    }
    return answer;
}

/* A whole reply came from the node. False: the connection cannot go on. */
bool reply_message(struct proxy_connection *connection, const struct resp_reply *reply)
{
    struct proxy_link *link = connection->link;
    struct proxy_pipe *pipe = &connection->reply;
    struct proxy_answer answer = PROXY_PASSES;
    link->proxy->counts.replies++;
    if (reply->type != '>' && connection->command_sent > 0) {
        answer = reply_answered(connection, reply);
    }
    if (connection->client_fd < 0) {
        pipe->parsed += reply->message_bytes;
        (void)pipe_discard(pipe);
        return true;
    }
    if (answer.action == PROXY_LOSE) {
        pipe->parsed += reply->message_bytes;
        (void)connection_cut(connection);
        return true;
    }
    if (answer.action == PROXY_PASS && link->faults == 0 && pipe->mark_count == 0) {
        pipe->parsed += reply->message_bytes;
        pipe->ready = pipe->parsed;
        return true;
    }
    struct proxy_mark *mark = message_wait(connection, DIRECTION_REPLY, reply->message_bytes);
    if (mark == NULL) {
        return false;
    }
    mark_answer(connection, mark, &answer);
    return true;
}

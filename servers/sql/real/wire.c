/*
 * wire.c: PostgreSQL's protocol as questions and answers.
 *
 *     client   Parse? Bind Describe Execute Sync      one request: up to Sync, or a Query
 *     node     ParseComplete? ... DataRow ... Ready   its answer: up to ReadyForQuery
 *
 * What comes before is a question each: the start-up, and what it is answered with until it is
 * welcome. A client that sends Flush instead of Sync waits for an answer that has no end.
 */
#include "servers/sql/real/message.h"
#include "servers/sql/real/real.h"
#include "servers/sql/real/statements.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { WIRE_TEXT_MAX = 32 }; /* of a number */

struct stream {
    uint8_t unnamed; /* enum sql_statement: the statement without a name, parsed last */
    bool started;    /* the client's start-up has been seen */
    bool greeted;    /* the node's Ready after it */
    bool letter;     /* the node owes one letter instead */
};

/* ---- requests -------------------------------------------------------------------------------- */

/* The body of a Bind: portal, statement, how parameters are written, the parameters. */
struct bind {
    const char *at;
    const char *end;
};

static bool bind_text(struct bind *bind, struct wire_text *text)
{
    const char *zero = memchr(bind->at, '\0', (size_t)(bind->end - bind->at));
    if (zero == NULL) {
        return false;
    }
    *text = (struct wire_text){bind->at, (uint32_t)(zero - bind->at)};
    bind->at = zero + 1;
    return true;
}

static bool bind_count(struct bind *bind, uint32_t *count)
{
    if (bind->end - bind->at < 2) {
        return false;
    }
    *count = (uint32_t)(unsigned char)bind->at[0] << 8 | (unsigned char)bind->at[1];
    bind->at += 2;
    return true;
}

static bool bind_parameter(struct bind *bind, struct wire_text *text)
{
    if (bind->end - bind->at < 4) {
        return false;
    }
    uint32_t bytes = message_number(bind->at);
    bind->at += 4;
    if (bytes > (uint32_t)(bind->end - bind->at)) {
        return false; /* also NULL, which is -1 */
    }
    *text = (struct wire_text){bind->at, bytes};
    bind->at += bytes;
    return true;
}

static int64_t number_of(const struct wire_text *text)
{
    char memory[WIRE_TEXT_MAX] = "";
    if (text->bytes < sizeof memory) {
        memcpy(memory, text->data, text->bytes);
    }
    return strtoll(memory, NULL, 10);
}

/* A statement without a name is the newest: which of ours that is. */
static void parse_read(struct stream *stream, const struct message *message)
{
    struct bind parse = {message->body, message->body + message->body_bytes};
    struct wire_text name;
    struct wire_text text;
    if (bind_text(&parse, &name) && bind_text(&parse, &text) && name.bytes == 0) {
        stream->unnamed = (uint8_t)statement_read(text.data, text.bytes);
    }
}

/* Which command of ours it binds, with all that goes with it; else it stays unknown. */
static void bind_read(const struct stream *stream, const struct message *message,
                      struct wire_request *request)
{
    struct bind bind = {message->body, message->body + message->body_bytes};
    struct wire_text portal;
    struct wire_text name;
    struct wire_text parameters[STATEMENT_PARAMETERS_MAX];
    uint32_t formats;
    uint32_t count;
    if (!bind_text(&bind, &portal) || !bind_text(&bind, &name) || !bind_count(&bind, &formats) ||
        (size_t)(bind.end - bind.at) < 2 * (size_t)formats) {
        return;
    }
    bind.at += 2 * (size_t)formats;
    enum sql_statement kind = name.bytes == 0 ? (enum sql_statement)stream->unnamed
                                              : statement_named(name.data, name.bytes);
    if (kind == SQL_NONE || !bind_count(&bind, &count) || count != statement_of(kind)->parameters) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!bind_parameter(&bind, &parameters[i])) {
            return;
        }
    }
    bool valued = count < 2 || lock_value_parse(parameters[1].data, parameters[1].bytes,
                                                &request->command.value);
    request->known = valued;
    request->command.kind = kind;
    request->resource = count > 0 ? parameters[0] : (struct wire_text){NULL, 0};
    request->command.ttl_ms = count > 2 ? number_of(&parameters[2]) : 0;
    request->command.number = count > 3 ? number_of(&parameters[3]) : 0;
    request->until_ms = count > 3 ? request->command.number + request->command.ttl_ms : 0;
}

static enum wire_cut first_read(struct stream *stream, const char *data, size_t bytes,
                                struct wire_request *request)
{
    struct message message;
    enum wire_cut cut = message_first(data, bytes, &message);
    if (cut != WIRE_CUT_MESSAGE) {
        return cut;
    }
    uint32_t asks = message.body_bytes >= 4 ? message_number(message.body) : 0;
    request->bytes = message.bytes;
    request->silent = asks == MESSAGE_ASKS_CANCEL;
    stream->letter = asks == MESSAGE_ASKS_TLS || asks == MESSAGE_ASKS_GSS;
    stream->started = !stream->letter;
    return WIRE_CUT_MESSAGE;
}

static enum wire_cut sql_request(void *of, const char *data, size_t bytes,
                                 struct wire_request *request)
{
    struct stream *stream = of;
    size_t at = 0;
    if (!stream->started) {
        return first_read(stream, data, bytes, request);
    }
    for (;;) {
        struct message message;
        enum wire_cut cut = message_cut(data + at, bytes - at, &message);
        if (cut != WIRE_CUT_MESSAGE) {
            return cut;
        }
        at += message.bytes;
        if (message.type == 'P') {
            parse_read(stream, &message);
        }
        if (message.type == 'B' && !request->known) {
            bind_read(stream, &message, request);
        }
        bool copies = message.type == 'd' || message.type == 'c' || message.type == 'f';
        if (at > WIRE_MESSAGE_BYTES_MAX) {
            return WIRE_CUT_BROKEN;
        }
        if (message.type == 'S' || message.type == 'Q' || message.type == 'p' ||
            message.type == 'X' || message.type == 'F' || copies) {
            request->bytes = (uint32_t)at;
            request->silent = message.type == 'X' || copies;
            return WIRE_CUT_MESSAGE;
        }
    }
}

/* ---- replies --------------------------------------------------------------------------------- */

/* What one message of an answer says of it. */
static void reply_note(const struct message *message, const struct lock_command *asked,
                       struct wire_reply *reply)
{
    bool counts = asked != NULL &&
                  lock_dialect_row(&sql_dialect, asked->kind)->answers == LOCK_ANSWERS_NUMBER;
    if (message->type == 'E') {
        reply->reply.type = LOCK_REPLY_ERROR;
    } else if (message->type == 'D' && message->body_bytes >= 6) {
        struct wire_text first = {message->body + 6, message_number(message->body + 2)};
        bool whole = first.bytes <= message->body_bytes - 6;
        reply->reply.type = counts ? LOCK_REPLY_NUMBER : LOCK_REPLY_YES;
        reply->reply.number = counts && whole ? number_of(&first) : 0;
    }
}

/* Does the answer end with this one? */
static bool reply_ends(struct stream *stream, const struct message *message)
{
    if (message->type == 'Z') {
        stream->greeted = true;
        return true;
    }
    uint32_t said = message->type == 'R' && message->body_bytes >= 4 ? message_number(message->body)
                                                                     : MESSAGE_WELCOME;
    return (said != MESSAGE_WELCOME && said != MESSAGE_SASL_FINAL) ||
           (message->type == 'E' && !stream->greeted);
}

static bool comes_unasked(const struct message *message)
{
    return message->type == 'N' || message->type == 'A' || message->type == 'S' ||
           message->type == 'G' || message->type == 'H' || message->type == 'W';
}

static enum wire_cut sql_reply(void *of, const char *data, size_t bytes,
                               const struct lock_command *asked, struct wire_reply *reply)
{
    struct stream *stream = of;
    size_t at = 0;
    if (stream->letter) {
        stream->letter = bytes == 0;
        reply->bytes = 1;
        return bytes == 0 ? WIRE_CUT_MORE : WIRE_CUT_MESSAGE;
    }
    reply->reply.type = LOCK_REPLY_NO;
    for (;;) {
        struct message message;
        enum wire_cut cut = message_cut(data + at, bytes - at, &message);
        if (cut != WIRE_CUT_MESSAGE) {
            return cut;
        }
        reply->unasked = at == 0 && comes_unasked(&message);
        at += message.bytes;
        if (at > WIRE_MESSAGE_BYTES_MAX) {
            return WIRE_CUT_BROKEN;
        }
        reply_note(&message, asked, reply);
        if (reply->unasked || reply_ends(stream, &message)) {
            reply->bytes = (uint32_t)at;
            return WIRE_CUT_MESSAGE;
        }
    }
}

/* ---- the password ---------------------------------------------------------------------------- */

static const char asks_password[] = {'R', 0, 0, 0, 8, 0, 0, 0, MESSAGE_ASKS_PASSWORD};

/* It is asked for when the client has said who it is. */
static bool sql_password_say(int fd, const char *password, uint32_t *owed)
{
    (void)fd;
    *owed = password != NULL ? sizeof asks_password : 0;
    return true;
}

static bool password_send(int fd, const char *password)
{
    char message[MESSAGE_HEAD_BYTES + 64] = {'p', 0, 0, 0};
    size_t bytes = strlen(password) + 1;
    if (bytes > sizeof message - MESSAGE_HEAD_BYTES) {
        return false;
    }
    message[4] = (char)(bytes + 4);
    memcpy(message + MESSAGE_HEAD_BYTES, password, bytes);
    bytes += MESSAGE_HEAD_BYTES;
    return send(fd, message, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
}

static bool sql_password_hear(int fd, const char *password, uint32_t *owed)
{
    while (*owed > 0) {
        char asked[sizeof asks_password];
        const char *expected = asks_password + sizeof asks_password - *owed;
        ssize_t got = recv(fd, asked, *owed, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && errno == EAGAIN) {
            return true;
        }
        if (got <= 0 || memcmp(asked, expected, (size_t)got) != 0) {
            errno = got > 0 ? EACCES : got == 0 ? EPIPE : errno;
            return false;
        }
        *owed -= (uint32_t)got;
        if (*owed == 0 && !password_send(fd, password)) {
            return false;
        }
    }
    return true;
}

const struct server_wire sql_wire = {
    .stream_bytes = sizeof(struct stream),
    .answers_tell = true,
    .request = sql_request,
    .reply = sql_reply,
    .password_say = sql_password_say,
    .password_hear = sql_password_hear,
};

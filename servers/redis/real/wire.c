/* wire.c: RESP as messages. Which command it is the view of keys says, which knows any library's
 * (harness/real/keys). */
#include "servers/redis/real/wire.h"

#include "servers/redis/real/password.h"

_Static_assert((int)WIRE_CUT_MESSAGE == (int)RESP_MESSAGE && (int)WIRE_CUT_MORE == (int)RESP_MORE &&
                   (int)WIRE_CUT_BROKEN == (int)RESP_BROKEN,
               "one is the other");
_Static_assert((int)RESP_MESSAGE_BYTES_MAX == (int)WIRE_MESSAGE_BYTES_MAX, "the same limit");

static enum wire_cut redis_request(void *of, const char *data, size_t bytes,
                                   struct wire_request *request)
{
    struct redis_stream *stream = of;
    enum resp_status status = resp_command(&stream->commands, data, bytes, &stream->words);
    if (status == RESP_MESSAGE) {
        request->bytes = stream->words.message_bytes;
        request->silent = stream->words.total == 0;
    }
    return (enum wire_cut)status;
}

static enum wire_cut redis_reply(void *of, const char *data, size_t bytes,
                                 const struct lock_command *asked, struct wire_reply *reply)
{
    struct redis_stream *stream = of;
    (void)asked;
    enum resp_status status = resp_reply(&stream->replies, data, bytes, &stream->reply);
    if (status == RESP_MESSAGE) {
        reply->bytes = stream->reply.message_bytes;
        reply->unasked = stream->reply.type == '>';
    }
    return (enum wire_cut)status;
}

static bool redis_password_hear(int fd, const char *password, uint32_t *owed)
{
    (void)password; /* it is said */
    return password_heard(fd, owed);
}

const struct server_wire redis_wire = {
    .tapped = true,
    .stream_bytes = sizeof(struct redis_stream),
    .request = redis_request,
    .reply = redis_reply,
    .password_say = password_say,
    .password_hear = redis_password_hear,
};

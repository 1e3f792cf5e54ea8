/* wire.c: what clients and etcd's gateway tell each other: requests and replies of HTTP/1.1. */
#include "servers/etcd/real/gateway.h"
#include "servers/etcd/real/http.h"
#include "servers/etcd/real/real.h"

#include <string.h>

struct stream {
    char name[GATEWAY_NAME_BYTES_MAX]; /* of the request that was read last */
};

/* "POST /v3/lease/grant HTTP/1.1" */
static bool path_of(const struct http_message *message, struct wire_text *path)
{
    const char *end = message->line.data + message->line.bytes;
    const char *from = memchr(message->line.data, ' ', message->line.bytes);
    const char *to = from != NULL ? memchr(from + 1, ' ', (size_t)(end - from - 1)) : NULL;
    if (to == NULL) {
        return false;
    }
    *path = (struct wire_text){from + 1, (uint32_t)(to - from - 1)};
    return true;
}

static enum wire_cut etcd_request(void *of, const char *data, size_t bytes,
                                  struct wire_request *request)
{
    struct stream *stream = of;
    struct http_message message;
    struct wire_text path;
    struct wire_text id;
    char body[GATEWAY_BODY_BYTES_MAX];
    enum wire_cut cut = http_cut(data, bytes, HTTP_REQUEST, &message);
    if (cut != WIRE_CUT_MESSAGE) {
        return cut;
    }
    request->bytes = message.bytes;
    if (path_of(&message, &path) && http_header(&message, "X-Request-ID", &id)) {
        size_t body_bytes = http_body(&message, body, sizeof body);
        request->known = gateway_read(path, id, (struct wire_text){body, (uint32_t)body_bytes},
                                      stream->name, request);
    }
    return WIRE_CUT_MESSAGE;
}

static enum wire_cut etcd_reply(void *of, const char *data, size_t bytes,
                                const struct lock_command *asked, struct wire_reply *reply)
{
    struct http_message message;
    char body[GATEWAY_BODY_BYTES_MAX];
    (void)of;
    enum wire_cut cut = http_cut(data, bytes, HTTP_REPLY, &message);
    if (cut != WIRE_CUT_MESSAGE) {
        return cut;
    }
    reply->bytes = message.bytes;
    reply->unasked = message.status < 200; /* "100 Continue": the answer is still to come */
    reply->reply.type = LOCK_REPLY_GARBLED;
    if (asked != NULL && !reply->unasked) {
        size_t body_bytes = http_body(&message, body, sizeof body);
        enum wire_tells tells;
        reply->reply = gateway_reply(asked, message.status,
                                     (struct wire_text){body, (uint32_t)body_bytes}, &tells);
        reply->tells = (uint8_t)tells;
    }
    return WIRE_CUT_MESSAGE;
}

const struct server_wire etcd_wire = {
    .stream_bytes = sizeof(struct stream),
    .answers_tell = true,
    .request = etcd_request,
    .reply = etcd_reply,
};

/* wire.c: what clients and a ZooKeeper server tell each other, as the proxies read it. */
#include "servers/zookeeper/real/jute.h"
#include "servers/zookeeper/real/real.h"
#include "servers/zookeeper/real/znode.h"

#include "lockcore/zookeeper/zookeeper.h"

/* Of one connection: the first message of each side is about the session. */
struct stream {
    bool asked;
    bool answered;
    char name[ZNODE_NAME_BYTES_MAX]; /* of the request that was read last */
};

/* ConnectRequest: a session that is 0 is to begin. */
static void session_read(struct jute *jute, struct wire_request *request)
{
    (void)jute_number(jute, 4); /* of the protocol */
    (void)jute_number(jute, 8); /* the newest zxid that the client has seen */
    request->command.ttl_ms = jute_number(jute, 4);
    request->command.kind = jute_number(jute, 8) == 0 ? ZOOKEEPER_OPEN : ZOOKEEPER_ATTACH;
    (void)jute_text(jute);
    request->known = !jute->short_of;
}

/* A lock's own znode, by its path. */
static bool znode_named(struct stream *stream, struct wire_text path, struct wire_request *request)
{
    return znode_read(path, stream->name, &request->resource, &request->command.value,
                      &request->command.number);
}

/* Our driver asks whether the root is there instead of a ping, which its library sends by itself.
 */
static void exists_read(struct stream *stream, struct jute *jute, struct wire_request *request)
{
    struct wire_text path = jute_text(jute);
    bool root = path.bytes == 1 && path.data[0] == '/';
    request->command.kind = root ? ZOOKEEPER_PING : ZOOKEEPER_EXISTS;
    request->known = root || znode_named(stream, path, request);
}

static void children_read(struct stream *stream, struct jute *jute, struct wire_request *request)
{
    struct wire_text path = jute_text(jute);
    bool watch = jute_number(jute, 1) != 0;
    request->command.kind = watch ? ZOOKEEPER_CHILDREN_WATCH : ZOOKEEPER_CHILDREN;
    request->known = znode_read_parent(path, stream->name, &request->resource);
}

static void request_read(struct stream *stream, struct jute *jute, struct wire_request *request)
{
    (void)jute_number(jute, 4); /* the xid: answers come in the order of questions */
    switch (jute_number(jute, 4)) {
    case JUTE_PING:
        request->command.kind = ZOOKEEPER_PING;
        request->known = true;
        break;
    case JUTE_CREATE:
    case JUTE_CREATE2:
        request->command.kind = ZOOKEEPER_CREATE;
        request->known = znode_named(stream, jute_text(jute), request);
        break;
    case JUTE_DELETE:
        request->command.kind = ZOOKEEPER_DELETE;
        request->known = znode_named(stream, jute_text(jute), request);
        break;
    case JUTE_EXISTS:
        exists_read(stream, jute, request);
        break;
    case JUTE_CHILDREN:
    case JUTE_CHILDREN2:
        children_read(stream, jute, request);
        break;
    default:
        break;
    }
    request->known = request->known && !jute->short_of;
}

static enum wire_cut zookeeper_request(void *of, const char *data, size_t bytes,
                                       struct wire_request *request)
{
    struct stream *stream = of;
    struct jute jute;
    enum wire_cut cut = jute_cut(data, bytes, &jute);
    if (cut != WIRE_CUT_MESSAGE) {
        return cut;
    }
    request->bytes = jute.bytes;
    if (stream->asked) {
        request_read(stream, &jute, request);
    } else {
        stream->asked = true;
        session_read(&jute, request);
    }
    if (!request->known) {
        request->resource = (struct wire_text){NULL, 0};
    }
    return WIRE_CUT_MESSAGE;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* ConnectResponse: a session without time is over. */
static struct lock_reply session_answer(struct jute *jute)
{
    (void)jute_number(jute, 4);
    bool lives = jute_number(jute, 4) > 0;
    return (struct lock_reply){.type = lives ? LOCK_REPLY_YES : LOCK_REPLY_NO};
}

static struct lock_reply answer_read(struct jute *jute, int64_t error,
                                     const struct lock_command *asked)
{
    char name[ZNODE_NAME_BYTES_MAX];
    struct wire_text read;
    struct lock_value value;
    int64_t place = 0;
    bool creates =
        lock_dialect_row(&zookeeper_dialect, asked->kind)->answers == LOCK_ANSWERS_NUMBER;
    if (error == JUTE_NO_NODE) { /* of a create: the lock's own znode is not there yet */
        return (struct lock_reply){.type = LOCK_REPLY_NO};
    }
    if (error != 0) {
        return (struct lock_reply){.type = LOCK_REPLY_ERROR};
    }
    if (!creates) {
        return (struct lock_reply){.type = LOCK_REPLY_YES};
    }
    bool fine = znode_read(jute_text(jute), name, &read, &value, &place) && place > 0;
    return fine ? (struct lock_reply){LOCK_REPLY_NUMBER, place}
                : (struct lock_reply){.type = LOCK_REPLY_GARBLED};
}

static enum wire_cut zookeeper_reply(void *of, const char *data, size_t bytes,
                                     const struct lock_command *asked, struct wire_reply *reply)
{
    struct stream *stream = of;
    struct jute jute;
    enum wire_cut cut = jute_cut(data, bytes, &jute);
    if (cut != WIRE_CUT_MESSAGE) {
        return cut;
    }
    reply->bytes = jute.bytes;
    reply->reply.type = LOCK_REPLY_GARBLED;
    if (!stream->answered) {
        stream->answered = true;
        reply->reply = asked != NULL ? session_answer(&jute) : reply->reply;
        return WIRE_CUT_MESSAGE;
    }
    reply->unasked = jute_number(&jute, 4) == JUTE_XID_WATCH;
    (void)jute_number(&jute, 8); /* the zxid */
    int64_t error = jute_number(&jute, 4);
    if (asked != NULL && !reply->unasked) {
        reply->reply = answer_read(&jute, error, asked);
    }
    return WIRE_CUT_MESSAGE;
}

const struct server_wire zookeeper_wire = {
    .stream_bytes = sizeof(struct stream),
    .request = zookeeper_request,
    .reply = zookeeper_reply,
};

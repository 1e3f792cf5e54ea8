/* wire.h: what Redis' wire keeps of a connection, for whoever looks at its words
 * (harness/real/keys). */
#ifndef SERVERS_REDIS_WIRE_H
#define SERVERS_REDIS_WIRE_H

#include "servers/redis/real/resp.h"
#include "servers/wire.h"

struct redis_stream {
    struct resp_commands commands;
    struct resp_replies replies;
    struct resp_words words; /* of the last request, until the next call */
    struct resp_reply reply; /* the last reply, until the next call */
};

extern const struct server_wire redis_wire;

#endif

/*
 * gateway.h: what a lock asks of etcd, as its gateway for HTTP takes it: JSON, in which keys stand
 * in base64 and large numbers as strings.
 *
 *     POST /v3/lease/grant  X-Request-ID: KEY  {"TTL":"3","ID":"77"}
 *
 * KEY is the lock's name, a slash and the value in hex. Only a transaction names it; so that each
 * request can be told on its way, all carry it as their X-Request-ID, in base64. The lease's number
 * is made of the value.
 */
#ifndef SERVERS_ETCD_REAL_GATEWAY_H
#define SERVERS_ETCD_REAL_GATEWAY_H

#include "base/text.h"
#include "lockcore/etcd/etcd.h"
#include "servers/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GATEWAY_NAME_BYTES_MAX = 1024, /* of a lock */
    GATEWAY_KEY_BYTES_MAX = GATEWAY_NAME_BYTES_MAX + 1 + LOCK_VALUE_HEX_BYTES,
    GATEWAY_KEY_BASE64_MAX = (GATEWAY_KEY_BYTES_MAX + 2) / 3 * 4,
    GATEWAY_BODY_BYTES_MAX = 8 * GATEWAY_KEY_BASE64_MAX + 1024,
};

struct gateway_request {
    const char *path;                    /* "/v3/lease/grant" */
    char id[GATEWAY_KEY_BASE64_MAX + 1]; /* X-Request-ID */
    char body[GATEWAY_BODY_BYTES_MAX + 1];
};

/* A name longer than GATEWAY_NAME_BYTES_MAX asserts. */
void gateway_print(const struct lock_command *command, struct wire_text resource,
                   struct gateway_request *request);

/* Which command this is, if it is one of ours; the resource's name is put into `name`. */
bool gateway_read(struct wire_text path, struct wire_text id, struct wire_text body,
                  char name[GATEWAY_NAME_BYTES_MAX], struct wire_request *request);

/* What an answer says to a command, and what of the lock. */
struct lock_reply gateway_reply(const struct lock_command *asked, uint32_t status,
                                struct wire_text body, enum wire_tells *tells);

/* The number of a value's lease. */
int64_t gateway_lease(const struct lock_value *value);

/* The first key under a lock's name, as an answer to a range tells it, or nothing. */
struct gateway_key {
    bool present;
    struct lock_value value;
    int64_t revision; /* of its creation */
    int64_t lease;
};

/* The body of the question for the oldest key under a lock's name. */
void gateway_print_oldest(struct wire_text resource, struct text *body);
bool gateway_read_oldest(struct wire_text body, struct gateway_key *key);

/* A number in the body of an answer, by the one or two names that lead to it ("header.revision");
 * 0: there is none. */
int64_t gateway_number(struct wire_text body, const char *path);

/* The id of the member of this name in an answer that lists them; 0: none. */
int64_t gateway_member(struct wire_text body, const char *name);

#endif

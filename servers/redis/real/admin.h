/*
 * admin.h: the harness's own direct connection to a node, past all proxies: one command at a time.
 *
 *     struct admin admin = ADMIN_CLOSED;
 *     admin_ask(&admin, address, (const char *[]){"TIME", NULL}, &reply, why);
 *
 * It waits for the answer, at most ADMIN_WAIT_SECONDS: ask only nodes that are up and not frozen.
 * Replies that locks' nodes give to such questions are small and flat; a larger one is an error.
 */
#ifndef SERVERS_REDIS_ADMIN_H
#define SERVERS_REDIS_ADMIN_H

#include "base/result.h"
#include "base/text.h"
#include "servers/address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ADMIN_WAIT_SECONDS = 10,
    ADMIN_WORDS_MAX = 8,
    ADMIN_REPLY_BYTES = 1 << 16,
    ADMIN_ITEMS_MAX = 1100, /* a key for every resource, and the fences of some */
};

struct admin {
    int fd;           /* -1: not connected */
    uint32_t awaited; /* bytes of the answer to a look that are still to come; 0: none is asked */
};

#define ADMIN_CLOSED ((struct admin){.fd = -1})

struct admin_item {
    const char *data; /* into the reply's memory; NULL for nil */
    size_t bytes;
    int64_t integer; /* of ":n" and of text that is a number */
};

struct admin_reply {
    char type; /* '+', '-', ':', '$' or '*' */
    size_t count;
    struct admin_item items[ADMIN_ITEMS_MAX]; /* one, or those of the list */
    size_t bytes;
    char memory[ADMIN_REPLY_BYTES];
};

/*
 * Connect where needed, send `words` (NULL at the end), wait for the answer. An error reply is an
 * answer. ERROR_ENVIRONMENT when there is none; the connection is closed then.
 */
MUST_USE struct result admin_ask(struct admin *admin, struct address address,
                                 const char *const *words, struct admin_reply *reply,
                                 struct text *why);

/*
 * Does a server answer PING with PONG? Waits for a few milliseconds only, but asks only once: an
 * answer that a busy machine brings late is there for a later look. Then the connection is open.
 */
bool admin_look(struct admin *admin, struct address address);

/*
 * What its wall clock shows, by TIME, less what ours shows: the quickest of a few answers, because
 * on a busy machine the others come late.
 */
MUST_USE struct result admin_clock_offset(struct admin *admin, struct address address,
                                          int64_t *offset_ns, struct text *why);

void admin_close(struct admin *admin);

#endif

/*
 * address.h: where a node is: "host:port", "[v6]:port" or "/path/of/a/unix/socket".
 *
 * "redis://" before a host and "unix:" before a path are allowed.
 */
#ifndef LOCKCORE_DRIVERS_ADDRESS_H
#define LOCKCORE_DRIVERS_ADDRESS_H

#include "base/result.h"
#include "base/text.h"

enum { ADDRESS_NAME_BYTES = 256 };

struct lock_address {
    char name[ADDRESS_NAME_BYTES]; /* a host, or a path; terminated */
    int port;                      /* 1..65535; 0: `name` is a path */
};

/* Fails with ERROR_USAGE and says what was expected. */
MUST_USE struct result address_parse(const char *word, struct lock_address *address,
                                     struct text *why);

#endif

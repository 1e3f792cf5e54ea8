/*
 * outbox.h: the bytes that are to leave on one connection, written straight as RESP.
 *
 * The same command goes to every node, so its bytes are made once, in a template, and copied.
 */
#ifndef LOCKCORE_DRIVERS_OUTBOX_H
#define LOCKCORE_DRIVERS_OUTBOX_H

#include "lockcore/drivers/links.h"

enum {
    OUTBOX_RESOURCE_BYTES_MAX = 512 * 1024, /* longest name of a resource; redis allows 512 MB */
};

struct outbox {
    char *bytes;  /* owned */
    size_t count; /* bytes that have not left yet */
    size_t first; /* where they begin */
    size_t bytes_max;
};

/* The command that was written last, as it is on the wire. */
struct outbox_template {
    bool filled;
    struct lock_command command;
    size_t resource_at; /* where the resource stands in `bytes` */
    size_t resource_bytes;
    size_t count;
    char bytes[1024];
};

/* Append one request. False if there is no memory. */
bool outbox_add(struct outbox *outbox, struct outbox_template *template,
                const struct lock_request *request);

/* Write to a socket what it takes. False if the connection is broken; `full` if some remains. */
bool outbox_write(struct outbox *outbox, int fd, bool *full);

void outbox_release(struct outbox *outbox);

#endif

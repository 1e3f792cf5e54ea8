/*
 * pack.h: the events of a history as few bytes, with what each did to the bars of the picture.
 *
 *     row: shape, time since the row before, fields of the shape, rest of its marks
 *
 * A shape is all that many events have in common: kind, f, type, cause, node, which fields follow,
 * which marks. All numbers are varints, those that may be negative zigzag. A value or an owner is
 * its distance to the newest value, 0 being a new one. `until` is the difference of (until - time)
 * to that of the row before of its shape, `sent` to the time sent of the last command of its
 * client (by its number modulo PACK_SENDERS). What a node set, and every owner that a row tells, is
 * the last one told of on that node. checker/report/script/events.js reads it.
 */
#ifndef CHECKER_REPORT_PACK_H
#define CHECKER_REPORT_PACK_H

#include "checker/report/encode.h"
#include "checker/report/marks.h"

enum {
    PACK_SENDERS = 4096,
    PACK_SHAPES_MAX = 4096,
    PACK_VALUE_BYTES = 3, /* of each value: enough to tell them apart by eye */
};

/* The fields of a row, in this order; the script has them by the same numbers. */
enum pack_field {
    PACK_PROCESS = 1 << 0,  /* + 1; 0: nobody */
    PACK_NODE = 1 << 1,     /* where it is not in the shape */
    PACK_RESOURCE = 1 << 2, /* where it is not the first */
    PACK_VALUE = 1 << 3,
    PACK_OWNER = 1 << 4,
    PACK_UNTIL = 1 << 5,
    PACK_FENCE = 1 << 6,
    PACK_VERSION = 1 << 7,
    PACK_BASIS = 1 << 8,
    PACK_FAULT = 1 << 9, /* + 1 */
    PACK_NUMBERS = 1 << 10,
    PACK_CLIENTS = 1 << 11, /* first and last, + 1 each */
    PACK_NODES = 1 << 12,   /* a mask: low half, high half */
    PACK_SENT = 1 << 13,
    PACK_REPLIED = 1 << 14,  /* since the event */
    PACK_SINCE = 1 << 15,    /* before the event */
    PACK_OF_VALUE = 1 << 16, /* no bytes: the client is the one who brought the value */
    PACK_HELD = 1 << 17,     /* no bytes: the owner is the last one told of on this node */
    PACK_PEERS = 1 << 18,    /* a mask as PACK_NODES, behind it: links between nodes */
};

struct pack;

/* NULL if memory is short. */
struct pack *pack_open(int64_t base_ns);
void pack_close(struct pack *pack);

/* Add one event. `marks` are those that it left. */
void pack_event(struct pack *pack, const struct history_event *event, const struct marks *marks);

bool pack_failed(const struct pack *pack);

/* The rows, and PACK_VALUE_BYTES of every value. */
const struct sheet *pack_rows(const struct pack *pack);
const struct sheet *pack_values(const struct pack *pack);

/* The shapes, as a JSON array. */
void pack_shapes(const struct pack *pack, struct sheet *sheet);

#endif

/*
 * link.h: one link to one node, and the links together, for link.c and links.c: nobody else.
 *
 *     links.c  the door: open, send, flush, drain, close
 *     link.c   one link: its connection is made, read, written, tended, broken and made again
 */
#ifndef LOCKCORE_DRIVERS_LINK_H
#define LOCKCORE_DRIVERS_LINK_H

#include "base/duration.h"
#include "lockcore/drivers/connection.h"
#include "lockcore/drivers/links.h"
#include "lockcore/drivers/loop.h"
#include "lockcore/drivers/owed.h"

enum link_state {
    LINK_DOWN,       /* waits to be tried again */
    LINK_CONNECTING, /* what is sent now is kept until it is up */
    LINK_UP,
};

struct link;

/* The polling of one connection; outlives it until libuv has let go. */
struct wire {
    uv_poll_t poll;
    struct link *link;
};

struct link {
    struct lock_links *links;
    uint32_t index;
    enum link_state state;
    struct lock_address address;
    void *connection;  /* owned; NULL while down */
    struct wire *wire; /* owned until uv_close; NULL while down */
    uv_timer_t timer;  /* CONNECTING: gives up; DOWN: tries again; UP: tends the connection */
    int64_t backoff_ns;
    bool wants_write; /* polled for writing: the socket was full, or is connecting */
    struct owed_ring owed;
};

struct lock_links {
    struct lock_links_options options;
    const struct connection_kind *kind;
    void *shared; /* owned: of all connections */
    uv_prepare_t before_wait;
    uv_idle_t no_wait; /* active while a break is to be told: the loop must not sleep on it */
    uint32_t dirty;    /* bit i: link i has bytes to write in this turn */
    uint32_t broken;   /* bit i: the break of link i is to be told */
    uint32_t handles_open;
    bool closing;
    void (*closed)(void *data);
    void *closed_data;
    struct link link[LOCK_NODES_MAX];
};

/* ---- link.c ---- */
void link_connect(struct link *link);
void link_write(struct link *link);
void link_read(struct link *link);
/* Let go of the connection, if there is one. */
void link_cut(struct link *link);
/* The connection is of no more use: forget what it owed, tell so, and try again later. */
void link_break(struct link *link);
/* Its break is to be told before the loop waits. */
void link_note_broken(struct link *link);

/* ---- links.c ---- */
/* One of the loop's handles is closed; the last one gives the memory back. */
void links_handle_closed(struct lock_links *links);

#endif

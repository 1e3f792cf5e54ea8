/*
 * remote.h: the harness's end of a connection to an agent, and nodes under agents as sites.
 *
 *     remote_open(&remote, &where, why);             greets, attaches, measures its clocks
 *     remote_ask(&remote, &order, &answer, why);     waits for the answer
 *     remote_beat(&remote, why);                     often: says that we are here, hears the same
 *     remote_close(&remote);
 *
 *     site_init(&site, &options, &(struct site_place){&site_agent, &remote}, why);
 *
 * Whatever happens to an agent is noticed within AGENT_SILENCE_MS, by our own clock: it closes its
 * connection, or is not heard. From then on everything fails at once, with the same sentence.
 */
#ifndef HARNESS_REAL_REMOTE_H
#define HARNESS_REAL_REMOTE_H

#include "harness/cluster.h"
#include "harness/real/agent/agent.h"
#include "harness/real/agent/order.h"
#include "harness/real/agent/wire.h"
#include "harness/real/node/site.h"

enum {
    REMOTE_WHY_BYTES = 320,
    REMOTE_LOOKS = 60,
    REMOTE_LOOK_MS = 500, /* of looks at one clock: meanwhile no other agent hears of us */
    REMOTE_LISTEN_MS = 150,
};

/* Its machine's clocks, beside ours: the look whose answer came back quickest. */
struct remote_clock {
    int64_t ahead_ns;      /* of its monotonic clock, before ours */
    int64_t wall_ahead_ns; /* of its wall clock */
    int64_t bound_ns;      /* what is not known of either, to both sides: half the trip */
};

struct remote {
    const struct cluster_node *place; /* kept */
    int32_t node;                     /* index of the node it looks after */
    int fd;                           /* -1: closed */
    struct wire wire;
    char password[PASSWORD_BYTES]; /* of its servers */
    struct remote_clock clock;
    int64_t heard_ns;
    int64_t told_ns;
    int64_t looked_ns;  /* when we listened last ... */
    int64_t silence_ns; /* ... and for how long we did so in vain */
    uint32_t slots;     /* prepared */
    bool answered;      /* `type` and `answer` are what came */
    uint8_t type;
    bool died[ORDER_SLOTS];
    char died_why[ORDER_SLOTS][REMOTE_WHY_BYTES];
    char lost[REMOTE_WHY_BYTES]; /* "": it is there */
    size_t answer_bytes;
    char answer[WIRE_BODY_BYTES_MAX + 1];
    size_t filled;
    uint8_t bytes[WIRE_FRAME_BYTES_MAX];
};

struct remote_where {
    int32_t node;
    const struct cluster_node *place;    /* kept */
    const struct cluster_secret *secret; /* borrowed for the call */
    const char *name;                    /* ours, for those who come second */
};

/* ERROR_ENVIRONMENT with one sentence: no host, another version, another secret, in use. */
MUST_USE struct result remote_open(struct remote *remote, const struct remote_where *where,
                                   struct text *why);
void remote_close(struct remote *remote);

/* The answer's words stand in remote->answer. ERROR_ENVIRONMENT where there is none. */
MUST_USE struct result remote_ask(struct remote *remote, const struct order *order,
                                  struct text *why);

/* Take what came; say that we are here, where it is time; has it been silent for too long? */
MUST_USE struct result remote_beat(struct remote *remote, struct text *why);

/* Look at its clocks, at most REMOTE_LOOKS times in REMOTE_LOOK_MS; keeps the best look. */
MUST_USE struct result remote_measure(struct remote *remote, struct text *why);

/* Fetch the end of a server's log into site->log_path. */
MUST_USE struct result remote_log(struct site *site, struct text *why);

extern const struct site_hand site_agent;

#endif

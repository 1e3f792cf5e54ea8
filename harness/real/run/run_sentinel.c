/* run_sentinel.c: sentinels, which promote by themselves one of the nodes that follow another. */
#include "harness/real/process/process.h"
#include "harness/real/run/run.h"

#include "base/assert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/*
 *     sentinel 2 --SLAVEOF NO ONE, CLIENT KILL TYPE normal--> [ door ] --> node 3
 *                                                                            |
 *     ear of node 3 <------------------ is at its end -----------------------+
 *
 * A sentinel says both in one transaction, so that no client that is connected goes on. Neither
 * does our own connection, the node's ear: where it is at its end, we ask the node what it is now.
 * We look at all ears before we let any command go to a node, and each millisecond: what the node
 * holds is read, and it is listened to, before a client is let in.
 */
enum { SENTINEL_POLL_US = 5000 };

bool run_is_watched(const struct run *run)
{
    return run->plan->scenario.sentinels.count > 0;
}

static int32_t sentinel_count(const struct run *run)
{
    return (int32_t)run->plan->scenario.sentinels.count;
}

struct result run_sentinels_init(struct run *run, struct text *why)
{
    for (int32_t i = 0; run_is_watched(run) && i < run->node_count; i++) {
        run->sentinels[i].ear = ADMIN_CLOSED;
    }
    for (int32_t i = 0; i < sentinel_count(run); i++) {
        struct node_options options = run->nodes[i].site.options;
        options.sentinel = true;
        options.fake_clock = false;
        options.track_fsync = false;
        TRY(site_init(&run->sentinels[i].site, &options, NULL, why));
    }
    return RESULT_OK;
}

/* ---- start ----------------------------------------------------------------------------------- */

/* How often `words` stand in what it answers, which are lists of lists; 0: it does not yet. */
static uint32_t sentinel_says(struct run_sentinel *sentinel, const char *of, const char *words)
{
    static struct admin_reply reply;
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    struct admin admin = ADMIN_CLOSED; /* a part of the answer may be left behind */
    uint32_t count = 0;
    struct result asked =
        admin_ask(&admin, sentinel->site.address,
                  (const char *[]){"SENTINEL", of, "picklock", NULL}, &reply, &text);
    for (const char *at = reply.memory; !result_failed(asked) && at != NULL; count++) {
        at = strstr(at, words);
        at = at != NULL ? at + strlen(words) : NULL;
        count -= at == NULL ? 1 : 0;
    }
    admin_close(&admin);
    return count;
}

/* It is connected to all others, and has heard of each replica that it is in step. */
static bool sentinel_ready(const struct run *run, struct run_sentinel *sentinel)
{
    uint32_t replicas = (uint32_t)run->node_count - 1;
    return sentinel_says(sentinel, "replicas", "flags\r\n$5\r\nslave\r\n") == replicas &&
           sentinel_says(sentinel, "replicas", "master-link-status\r\n$2\r\nok\r\n") == replicas &&
           sentinel_says(sentinel, "sentinels", "flags\r\n$8\r\nsentinel\r\n") ==
               (uint32_t)sentinel_count(run) - 1;
}

static struct result
sentinels_wait(struct run *run, bool (*is)(struct run *, int32_t, struct text *), struct text *why)
{
    int64_t deadline_ns = loop_now_ns() + RUN_START_SECONDS * NS_PER_S;
    for (int32_t i = 0; i < sentinel_count(run) && !run->over;) {
        if (is(run, i, why)) {
            i++;
            continue;
        }
        if (why->length > 0) {
            return result_error(ERROR_ENVIRONMENT);
        }
        if (loop_now_ns() > deadline_ns) {
            text_add(why, "sentinel %d does not know all others after %d s", i + 1,
                     RUN_START_SECONDS);
            process_quote_log(run->sentinels[i].site.log_path, why);
            return result_error(ERROR_ENVIRONMENT);
        }
        loop_alarm_set(&run->phase_alarm, loop_now_ns() + SENTINEL_POLL_US * NS_PER_US);
        run_turn(run);
    }
    return RESULT_OK;
}

static bool sentinel_is_up(struct run *run, int32_t index, struct text *why)
{
    bool ready = false;
    result_ignore(site_ready(&run->sentinels[index].site, &ready, why), "why says it");
    return ready;
}

static bool sentinel_is_ready(struct run *run, int32_t index, struct text *why)
{
    (void)why;
    return sentinel_ready(run, &run->sentinels[index]);
}

/* Listen to a node until a sentinel ends it. */
static void ear_open(struct run *run, int32_t node)
{
    struct run_sentinel *sentinel = &run->sentinels[node];
    admin_close(&sentinel->ear);
    for (int i = 0; i < 200 && !admin_look(&sentinel->ear, run->nodes[node].site.address); i++) {
    }
    if (sentinel->ear.fd < 0) {
        run_fail(run, result_error(ERROR_ENVIRONMENT), "a node that is up does not answer");
    }
}

struct result run_sentinels_start(struct run *run, struct text *why)
{
    if (!run_is_watched(run)) {
        return RESULT_OK;
    }
    for (int32_t i = 0; i < sentinel_count(run); i++) {
        TRY(site_start(&run->sentinels[i].site, why));
    }
    TRY(sentinels_wait(run, sentinel_is_up, why));
    TRY(sentinels_wait(run, sentinel_is_ready, why));
    for (int32_t i = 0; i < run->node_count; i++) {
        ear_open(run, i);
    }
    return RESULT_OK;
}

/* ---- what they do ---------------------------------------------------------------------------- */

static bool ear_is_over(const struct run_sentinel *sentinel)
{
    char byte;
    ssize_t got =
        sentinel->ear.fd >= 0 ? recv(sentinel->ear.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) : -1;
    return sentinel->ear.fd >= 0 && (got == 0 || (got < 0 && errno == ECONNRESET));
}

/* What a node is now; what we asked it by before was ended, too. False: it is gone meanwhile. */
static bool role_ask(struct run *run, int32_t node, struct admin_reply *reply)
{
    bool answered = false;
    for (int i = 0; i < 2 && !answered; i++) {
        char memory[WHY_BYTES];
        struct text text = text_over(memory, sizeof memory);
        answered = !result_failed(site_ask(
            &run->nodes[node].site, (const char *[]){"INFO", "replication", NULL}, reply, &text));
    }
    return answered;
}

/* Whose door that is; -1: nobody's. */
static int32_t master_of(const struct run *run, int32_t node, const struct admin_reply *reply)
{
    const char *said = strstr(reply->memory, "master_port:");
    const uint16_t *doors = run->nodes[node].site.node.server.peers;
    for (int32_t i = 0; said != NULL && i < run->node_count; i++) {
        if (doors[i] == strtol(said + strlen("master_port:"), NULL, 10)) {
            return i;
        }
    }
    return -1;
}

static void node_was_told(struct run *run, int32_t node)
{
    static struct admin_reply reply;
    if (!role_ask(run, node, &reply)) {
        return; /* it died: that is found out elsewhere */
    }
    ear_open(run, node);
    bool serves = strstr(reply.memory, "role:master") != NULL;
    if (serves && node != run->told) {
        run_node_promoted(run, node);
    } else if (!serves) {
        struct keys_return gone = {.node = node, .fault = HISTORY_NO_FAULT};
        int32_t master = master_of(run, node, &reply);
        run->follows[node] = master >= 0 && master != node ? master : run->told;
        if (node != run->told) {
            keys_gone(run->keys, &gone, false);
        }
    }
}

void run_sentinels_look(struct run *run)
{
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    for (int32_t i = 0; run_is_watched(run) && i < run->node_count && !run->over; i++) {
        if (i < sentinel_count(run) && site_died(&run->sentinels[i].site, &text)) {
            run_fail(run, result_error(ERROR_ENVIRONMENT), text.data);
        } else if (run->nodes[i].site.state == NODE_UP && ear_is_over(&run->sentinels[i])) {
            node_was_told(run, i);
        }
    }
}

void run_sentinels_gone(struct run *run, int32_t node)
{
    if (run_is_watched(run)) {
        admin_close(&run->sentinels[node].ear);
    }
}

void run_sentinels_back(struct run *run, int32_t node)
{
    if (run->follows[node] != node && node != run->told) {
        run_follow_tell(run, node, run->follows[node]);
    }
    ear_open(run, node);
}

void run_sentinels_end(struct run *run)
{
    for (int32_t i = 0; run_is_watched(run) && i < run->node_count; i++) {
        site_release(&run->sentinels[i].site);
        if (run->sentinels[i].ear.fd > 0) {
            admin_close(&run->sentinels[i].ear);
        }
    }
}

/* rig_members.h: the members of a real cluster that a model is compared with, which find each other
 * without proxies. */
#ifndef TESTS_SIM_RIG_MEMBERS_H
#define TESTS_SIM_RIG_MEMBERS_H

#include "harness/real/node/node.h"
#include "harness/real/process/loop.h"
#include "servers/kinds.h"
#include "tests/real/place.h"

#include <criterion/criterion.h>
#include <time.h>

enum { RIG_NODES_MAX = 3 };

struct members {
    struct place place;
    uint32_t count;
    struct node nodes[RIG_NODES_MAX];
    uint16_t peers[SERVER_PEER_PORTS_MAX * RIG_NODES_MAX];
};

#define RIG_MUST(call)                                                                             \
    do {                                                                                           \
        char rig_memory[WHY_BYTES] = "";                                                           \
        struct text why = text_over(rig_memory, sizeof rig_memory);                                \
        cr_assert(!result_failed(call), "%s", rig_memory);                                         \
    } while (0)

/* Where its servers are not installed, what is missing is named and how to get it. */
static inline void members_need(uint8_t kind, const char *test)
{
    char memory[2][WHY_BYTES] = {"", ""};
    struct text what = text_over(memory[0], sizeof memory[0]);
    struct text remedy = text_over(memory[1], sizeof memory[1]);
    if (server_launch_lacks(server_kind_at(kind)->launch, &what, &remedy)) {
        (void)fprintf(stderr, "%s: skipped: %s: %s\n", test, memory[0], memory[1]);
        cr_skip_test("there is no such server here");
    }
}

static inline void rig_nap(int64_t ns)
{
    struct timespec time = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
    (void)nanosleep(&time, NULL);
}

/* Nothing runs yet; their clocks will be `moved`. */
static inline void members_open(struct members *members, uint8_t kind, uint32_t count,
                                int64_t ttl_ns, bool moved)
{
    members->count = count;
    place_make(&members->place);
    for (uint32_t i = 0; i < count; i++) {
        struct node_options options = {.kind = kind,
                                       .index = (int32_t)i,
                                       .node_count = (int32_t)count,
                                       .ttl_ns = ttl_ns,
                                       .fake_clock = moved,
                                       .run_directory = members->place.path};
        struct node *node = &members->nodes[i];
        RIG_MUST(node_init(node, &options, &why));
        for (uint32_t port = 0; port < SERVER_PEER_PORTS_MAX; port++) {
            members->peers[port * count + i] = node->peer_port[port];
        }
        node->server.peers = members->peers;
    }
}

static inline void members_wait_up(struct members *members, uint64_t starting)
{
    for (uint32_t i = 0; starting != 0; i = (i + 1) % members->count) {
        bool ready = false;
        if ((starting >> i & 1) != 0) {
            RIG_MUST(node_ready(&members->nodes[i], &ready, &why));
        }
        starting &= ready ? ~(UINT64_C(1) << i) : UINT64_MAX;
        rig_nap(NS_PER_MS);
    }
}

static inline void members_start(struct members *members, uint64_t which)
{
    for (uint32_t i = 0; i < members->count; i++) {
        if ((which >> i & 1) != 0) {
            RIG_MUST(node_start(&members->nodes[i], &why));
        }
    }
    members_wait_up(members, which);
}

/* Also if nothing was opened. */
static inline void members_close(struct members *members)
{
    if (members->count == 0) {
        return;
    }
    for (uint32_t i = 0; i < members->count; i++) {
        node_release(&members->nodes[i]);
    }
    place_remove(&members->place);
}

#endif

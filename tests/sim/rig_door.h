/* rig_door.h: what models that are compared with real servers need of a world: clocks that show
 * true time, wakes that are due, and nobody who writes down what happens. */
#ifndef TESTS_SIM_RIG_DOOR_H
#define TESTS_SIM_RIG_DOOR_H

#include "servers/server.h"

#include <criterion/criterion.h>
#include <stddef.h>

/* The test's own `struct rig`, which has a `door`. */
#define RIG_OF(its) ((struct rig *)(void *)((char *)(uintptr_t)(its)-offsetof(struct rig, door)))

/* What the test's own `rig` says of the first difference stops it. */
#define AGREE(call)                                                                                \
    do {                                                                                           \
        call;                                                                                      \
        cr_assert_not(rig.failed, "%s", rig.difference);                                           \
    } while (0)

static inline uint64_t door_record(struct server_door *door, struct history_event *event)
{
    (void)door;
    (void)event;
    return 0;
}

static inline void rig_clocks_init(struct server_node *clocks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        clocks[i] = (struct server_node){.wall = CLOCK_SOUND, .mono = CLOCK_SOUND};
    }
}

static inline void rig_wakes_init(int64_t *due_ns, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        due_ns[i] = TIME_NEVER;
    }
}

/* The number of the wake that is due first. */
static inline uint32_t rig_wake_first(const int64_t *due_ns, uint32_t count)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < count; i++) {
        first = due_ns[i] < due_ns[first] ? i : first;
    }
    return first;
}

#endif

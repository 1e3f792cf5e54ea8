/* fuzz_wire.c: whatever comes to an agent is read in bounds, and nothing of it is taken for ours.
 */
#include "base/arena.h"
#include "base/assert.h"
#include "harness/real/agent/order.h"
#include "harness/real/agent/wire.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void read_order(const char *body, size_t bytes)
{
    struct order order;
    struct order again;
    char memory[1024];
    struct text text = text_over(memory, sizeof memory);
    if (!order_parse(body, bytes, &order)) {
        return;
    }
    order_print(&order, &text);
    ASSERT(!text.cut && order_parse(text.data, text.length, &again));
    ASSERT(memcmp(&order, &again, sizeof order) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const struct cluster_secret secret = {.bytes = "a secret of a fuzz target",
                                                 .length = 25};
    struct wire_greet greet = {.side = WIRE_HARNESS};
    struct wire wire;
    struct wire_frame frame;
    /* Memory of exactly that size: a byte too far is seen. */
    uint8_t *copy = memory_resize(NULL, bytes + 1);
    ASSERT(copy != NULL);
    memcpy(copy, data, bytes);
    if (bytes >= WIRE_GREETING_BYTES) {
        ASSERT(wire_greeted(&secret, copy, &greet) != WIRE_GREETING_FINE);
    }
    wire_begin(&wire, WIRE_AGENT, &secret, greet.nonce, greet.nonce);
    ASSERT(wire_open(&wire, copy, bytes, &frame) != WIRE_WHOLE);
    read_order((const char *)copy, bytes);
    memory_release(copy);
    return 0;
}

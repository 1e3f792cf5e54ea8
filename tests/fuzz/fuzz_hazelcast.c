/* fuzz_hazelcast.c: the wire of a Hazelcast member (pieces.h). */
#include "lockcore/hazelcast/hazelcast.h"
#include "servers/hazelcast/real/real.h"
#include "tests/fuzz/pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes < 2 || bytes > 4096) {
        return 0;
    }
    struct lock_command asked = {.kind = data[0] / 14u % HAZELCAST_COMMANDS};
    struct wire_text all = {(const char *)data + 1, (uint32_t)bytes - 1};
    struct pieces pieces = {&hazelcast_wire, (data[0] & 1) != 0 ? NULL : &asked};
    pieces_compare(&pieces, &all, 1 + data[0] / 2 % 7);
    return 0;
}

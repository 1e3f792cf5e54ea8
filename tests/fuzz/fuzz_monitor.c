/* fuzz_monitor.c: whatever a server tells is cut the same way in any pieces, and read in bounds. */
#include "base/arena.h"
#include "base/assert.h"
#include "harness/real/keys/effect.h"
#include "harness/real/keys/monitor.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* What is said of a word that lies in the message: nothing points outside. */
static void within(const struct resp_word *word, const char *data, size_t bytes)
{
    if (word->data != NULL) {
        ASSERT(word->data >= data && word->data + word->bytes <= data + bytes);
    }
}

static void read_whole(char *data, uint32_t bytes)
{
    struct monitor_message message;
    enum effect_shape shape;
    monitor_read(data, bytes, &message);
    within(&message.key, data, bytes);
    within(&message.text, data, bytes);
    (void)effect_event(&message.text, &shape);
    (void)effect_ask(&message.words);
    ASSERT(message.words.count <= message.words.total);
    for (uint32_t i = 0; i < message.words.count; i++) {
        struct effect said;
        within(&message.words.word[i], data, bytes);
        effect_said(&message.words, &message.words.word[i], &said);
        within(&said.value, data, bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    size_t at = 0;
    while (at < bytes) {
        /* Memory of exactly that size: a byte too far is seen. */
        char *copy = memory_resize(NULL, bytes - at);
        uint32_t whole = 0;
        ASSERT(copy != NULL);
        memcpy(copy, data + at, bytes - at);
        enum resp_status status = monitor_cut(copy, bytes - at, &whole);
        for (uint32_t part = 0; status == RESP_MESSAGE && part < whole; part++) {
            uint32_t other = 0;
            ASSERT(monitor_cut(copy, part, &other) == RESP_MORE);
        }
        if (status == RESP_MESSAGE) {
            read_whole(copy, whole);
        }
        memory_release(copy);
        if (status != RESP_MESSAGE) {
            return 0;
        }
        at += whole;
    }
    return 0;
}

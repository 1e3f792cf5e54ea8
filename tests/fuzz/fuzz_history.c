/* fuzz_history.c: any bytes are a history or a sentence with a line; what is read is written again.
 */
#include "base/assert.h"
#include "history/reader.h"
#include "history/writer.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* What was read must be what the writer writes, unless a foreign file said more than ours can. */
static void assert_printable(const struct history_event *event)
{
    char line[2048];
    struct text text = text_over(line, sizeof line);
    history_event_print(event, &text);
    ASSERT(!text.cut);
    ASSERT(text.length > 2);
}

static void read_all(const char *path)
{
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct history_reader *reader = NULL;
    struct result result = history_reader_open(path, NULL, &reader, &why);
    if (result_failed(result)) {
        ASSERT(why.length > 0);
        ASSERT(reader == NULL);
        return;
    }
    ASSERT(why.length == 0);
    struct history_event event;
    uint64_t count = 0;
    bool more = true;
    while (more && !result_failed(result)) {
        result = history_reader_next(reader, &event, &more, &why);
        if (!result_failed(result) && more) {
            ASSERT(event.index == count);
            count++;
            assert_printable(&event);
        }
    }
    ASSERT(result_failed(result) == (why.length > 0));
    history_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    int file = memfd_create("fuzz", 0);
    ASSERT(file >= 0);
    ASSERT(write(file, data, bytes) == (ssize_t)bytes);
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    read_all(path);
    ASSERT(close(file) == 0);
    return 0;
}

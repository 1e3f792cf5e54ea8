/* fuzz_edn.c: any bytes as a history: refused with a sentence, or judged without harm. */
#include "base/arena.h"
#include "base/assert.h"
#include "checker/linear/file.h"
#include "history/foreign.h"
#include "history/guess.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const maps[] = {"plain",
                                       "hazelcast",
                                       "valued",
                                       "independent",
                                       "plain,value=value[0].x|value,unknown=timeout,unit=ms",
                                       "etcd",
                                       "atlasdb"};
    if (size == 0) {
        return 0;
    }
    char path[64];
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct history_map map;
    size_t choice = data[size - 1];
    ASSERT(!result_failed(
        history_map_parse(maps[choice % (sizeof maps / sizeof maps[0])], &map, &why)));
    struct history_reader_options readers = {.map = &map};
    struct linear_options options =
        linear_options_default((enum linear_model)(choice % LINEAR_MODELS));
    options.bytes_max = 8 * MEBIBYTE;
    options.refused_acquire = choice % 2;
    options.failed_release = choice % 3;
    int file = memfd_create("history", 0);
    ASSERT(file >= 0);
    ASSERT(write(file, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    struct history_map guessed;
    bool told = history_map_guess(path, &guessed);
    ASSERT(!told || guessed.preset[0] != '\0');
    struct linear_report report;
    struct result result = linear_check_file(path, &readers, &options, &report, &why);
    ASSERT(result_failed(result) == (why.length > 0));
    char story[4096];
    struct text text = text_over(story, sizeof story);
    if (!result_failed(result)) {
        linear_report_print(&report, &text);
    }
    close(file);
    return 0;
}

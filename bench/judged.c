/* judged.c: makes histories block by block, so that only their judgement is timed. */
#include "bench/judged.h"

#include "base/assert.h"
#include "history/writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK_EVENTS = 1024 };

/* Of this process alone, so that a busy machine measures the same. */
static double now_cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The check alone: events are made block by block outside the measured time. */
struct measured measure_check(const struct generator_options *generated,
                              const struct linear_options *options)
{
    static struct history_event block[BLOCK_EVENTS];
    struct generator *generator = generator_open(generated);
    struct linear *linear = linear_open(options);
    struct measured measured = {0};
    size_t count = BLOCK_EVENTS;
    while (count == BLOCK_EVENTS) {
        for (count = 0; count < BLOCK_EVENTS && generator_next(generator, &block[count]);) {
            count++;
        }
        double start = now_cpu_seconds();
        for (size_t i = 0; i < count; i++) {
            linear_event(linear, &block[i]);
        }
        measured.seconds += now_cpu_seconds() - start;
        measured.events += count;
    }
    double start = now_cpu_seconds();
    linear_finish(linear);
    measured.seconds += now_cpu_seconds() - start;
    measured.result = *linear_result(linear);
    enum verdict wanted = generated->illegal ? VERDICT_FAIL : VERDICT_PASS;
    if (measured.result.verdict != wanted) {
        printf("# WRONG: %s\n", verdict_name((enum verdict)measured.result.verdict));
    }
    linear_close(linear);
    generator_close(generator);
    return measured;
}

struct generator_options one_lock(uint64_t operations, uint32_t clients, uint32_t unknown_ppm,
                                  bool illegal)
{
    return (struct generator_options){.operations = operations,
                                      .locks = 1,
                                      .clients = clients,
                                      .unknown_ppm = unknown_ppm,
                                      .illegal = illegal,
                                      .seed = 1};
}

void write_history(const struct generator_options *generated, const char *path)
{
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct history_header header = {.format = HISTORY_FORMAT};
    struct history_writer *writer = NULL;
    struct history_event event;
    struct generator *generator = generator_open(generated);
    struct result result = history_writer_open(path, &header, &writer, &why);
    while (!result_failed(result) && generator_next(generator, &event)) {
        result = history_writer_event(writer, &event, &why);
    }
    if (!result_failed(result)) {
        result = history_writer_close(writer, &why);
    }
    generator_close(generator);
    if (result_failed(result)) {
        printf("# %s\n", why.data);
        exit(3);
    }
}

int scratch_open(char path[SCRATCH_PATH_BYTES])
{
    int file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    ASSERT(file >= 0);
    (void)snprintf(path, SCRATCH_PATH_BYTES, "/proc/%d/fd/%d", (int)getpid(), file);
    return file;
}

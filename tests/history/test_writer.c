/* test_writer.c: a full disk is told, and what the reader would refuse is never written. */
#include "history/writer.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

static const struct history_header header = {.format = HISTORY_FORMAT};

static struct history_event healed(uint64_t index, int64_t time_ns)
{
    return (struct history_event){.index = index,
                                  .time_ns = time_ns,
                                  .kind = HISTORY_PHASE,
                                  .f = HISTORY_HEALED,
                                  .process = HISTORY_NOBODY,
                                  .node = HISTORY_NO_NODE,
                                  .fault = HISTORY_NO_FAULT};
}

Test(writer, full_disk_is_an_error_that_names_the_file)
{
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct history_writer *writer = NULL;
    struct result result = history_writer_open("/dev/full", &header, &writer, &why);
    cr_assert(!result_failed(result), "%s", memory);
    struct history_event event = healed(0, 1);
    cr_assert(!result_failed(history_writer_event(writer, &event, &why)));
    result = history_writer_close(writer, &why);
    cr_assert_eq(result.code, ERROR_IO);
    cr_assert_str_eq(memory, "/dev/full: cannot write: No space left on device");
}

Test(writer, folder_that_is_missing_is_an_error_that_names_the_file)
{
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct history_writer *writer = NULL;
    struct result result = history_writer_open("/nowhere/h.jsonl", &header, &writer, &why);
    cr_assert_eq(result.code, ERROR_IO);
    cr_assert_str_eq(memory, "/nowhere/h.jsonl: cannot create: No such file or directory");
}

static void write_two(struct history_event first, struct history_event second)
{
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct history_writer *writer = NULL;
    cr_assert(!result_failed(history_writer_open("/dev/null", &header, &writer, &why)));
    cr_assert(!result_failed(history_writer_event(writer, &first, &why)));
    result_ignore(history_writer_event(writer, &second, &why), "aborts");
}

Test(writer, time_that_goes_back_aborts, .signal = SIGABRT)
{
    write_two(healed(0, 2), healed(1, 1));
}

Test(writer, index_that_does_not_follow_aborts, .signal = SIGABRT)
{
    write_two(healed(0, 2), healed(2, 3));
}

Test(writer, f_of_another_kind_aborts, .signal = SIGABRT)
{
    struct history_event event = healed(1, 3);
    event.f = HISTORY_ACQUIRE;
    write_two(healed(0, 2), event);
}

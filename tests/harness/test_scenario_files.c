/* test_scenario_files.c: what is not even a scenario file: one clear line each. */
#include "tests/harness/scenario_text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char told_memory[TOLD_BYTES];
static struct scenario scenario;

static struct result read_file(const char *path)
{
    struct arena arena = arena_empty(64 * MEBIBYTE);
    struct text told = text_over(told_memory, sizeof told_memory);
    struct result result = scenario_read(path, test_checks(), &arena, &scenario, &told);
    arena_release(&arena);
    return result;
}

/* A new directory of this test's own. */
static const char *directory(void)
{
    static char path[] = "/tmp/picklock-test-XXXXXX";
    cr_assert_not_null(mkdtemp(path));
    return path;
}

Test(scenario_files, missing_file_directory_and_device_are_usage_errors)
{
    cr_assert_eq(read_file("/nowhere/demo.yaml").code, ERROR_USAGE);
    cr_assert_str_eq(told_memory, "/nowhere/demo.yaml: No such file or directory\n");
    cr_assert_eq(read_file("/tmp").code, ERROR_USAGE);
    cr_assert_str_eq(told_memory, "/tmp: a directory, not a scenario file\n");
    cr_assert_eq(read_file("/dev/zero").code, ERROR_USAGE);
    cr_assert_str_eq(told_memory, "/dev/zero: not a regular file\n");
}

Test(scenario_files, gigabytes_of_noise_are_not_read)
{
    char path[100];
    const char *home = directory();
    (void)snprintf(path, sizeof path, "%s/demo.yaml", home);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(ftruncate(fileno(file), (off_t)8 << 30), 0); /* a hole: takes no room */
    (void)fclose(file);
    cr_assert_eq(read_file(path).code, ERROR_LIMIT);
    cr_assert_not_null(strstr(told_memory, ": larger than 1 MiB, so no scenario\n"));
    (void)unlink(path);
    (void)rmdir(home);
}

Test(scenario_files, file_is_read_and_named_after_itself)
{
    char path[100];
    const char *home = directory();
    (void)snprintf(path, sizeof path, "%s/demo.yaml", home);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    (void)fputs(HEAD, file);
    (void)fclose(file);
    cr_assert_eq(read_file(path).code, ERROR_NONE, "%s", told_memory);
    cr_assert_str_eq(scenario.path, path);
    (void)unlink(path);
    (void)rmdir(home);
}

Test(scenario_files, a_mebibyte_of_anything_ends_in_a_few_lines)
{
    static char noise[SCENARIO_BYTES_MAX];
    static const char *const pieces[] = {"a: b\n", "[",  "{",  "- ", "\"",
                                         "x",      "? ", ": ", "\n", "'"};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        size_t step = strlen(pieces[i]);
        for (size_t at = 0; at + step <= sizeof noise; at += step) {
            memcpy(noise + at, pieces[i], step);
        }
        const struct parsed *parsed = parse_bytes(noise, sizeof noise / step * step);
        cr_assert(result_failed(parsed->result));
        cr_assert_lt(strlen(parsed->told), 20000);
        cr_assert_gt(strlen(parsed->told), 10);
    }
}

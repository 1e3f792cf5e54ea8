/* test_adapter_look.c: what a library was seen to do, read off the commands that it sent. */
#include "cli/adapter_look.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { REFUSED = 40 }; /* more than values are kept */

static struct look look;
static char folder[] = "/tmp/picklock-look-XXXXXX";

static FILE *wire_begin(void)
{
    char path[sizeof folder + 16];
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/wire.log", folder);
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file);
    return file;
}

static void wire_end(FILE *file, enum look_story story)
{
    char path[sizeof folder + 16];
    cr_assert_eq(fclose(file), 0);
    look_wire(&look, folder, story);
    (void)snprintf(path, sizeof path, "%s/wire.log", folder);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(rmdir(folder), 0);
}

/* Of a lock that is granted with VALUE a, and then refused again and again, each time with
 * a value of its own: what it sends of them, and what its script does. */
static void write_refused(FILE *file)
{
    fprintf(file, "sent\t100\t1\t1\tacquire\tSET\tr0\ta\tNX\n");
    fprintf(file, "said\t101\t1\t{\"id\":1,\"type\":\"ok\",\"value\":\"a\"}\n");
    fprintf(file, "sent\t102\t1\t1\tacquire\tEVALSHA\tf\tr0\ta\n");
    for (int i = 0; i < REFUSED; i++) {
        /* Which of two threads sent it is not always known. */
        fprintf(file, "sent\t%d\t%d\t1\tacquire\tSET\tr0\trefused-%d\tNX\n", 200 + i, 1 + i % 2, i);
        fprintf(file, "sent\t%d\t1\t1\tacquire\tEVALSHA\tf\tr0\trefused-%d\n", 200 + i, i);
        fprintf(file, "inside\t%d\t1\t1\tacquire\tget\tr0\trefused-%d\n", 200 + i, i);
    }
}

Test(adapter_look, values_of_refused_acquires_are_folded)
{
    FILE *file = wire_begin();
    write_refused(file);
    wire_end(file, LOOK_THREADS);
    cr_assert_eq(look.shape_count[LOOK_ACQUIRE], (size_t)2);
    const struct look_shape *set = &look.shapes[LOOK_ACQUIRE][0];
    const struct look_shape *script = &look.shapes[LOOK_ACQUIRE][1];
    cr_assert_str_eq(set->words, "SET r0 VALUE NX");
    cr_assert_eq(set->count, (size_t)(1 + REFUSED / 2));
    cr_assert_str_eq(script->words, "EVALSHA f r0 VALUE");
    cr_assert_str_eq(script->inside, "get r0 VALUE");
    cr_assert_eq(script->count, (size_t)(1 + REFUSED));
}

/* As Redisson's fair lock sends the time of each call, and a sorted set has ends as scores. */
Test(adapter_look, times_of_day_are_folded)
{
    FILE *file = wire_begin();
    for (int i = 0; i < 3; i++) {
        fprintf(file, "sent\t%d\t1\t1\tacquire\tEVAL\tf\tr0\t17958645683%d\t1000\n", i + 1, 63 + i);
        fprintf(file, "inside\t%d\t1\t1\tacquire\tzadd\tr0\t1795864568.3%d\tm\n", i + 1, i);
    }
    wire_end(file, LOOK_ALONE);
    cr_assert_eq(look.shape_count[LOOK_ACQUIRE], (size_t)1);
    cr_assert_str_eq(look.shapes[LOOK_ACQUIRE][0].words, "EVAL f r0 TIME 1000");
    cr_assert_str_eq(look.shapes[LOOK_ACQUIRE][0].inside, "zadd r0 TIME m");
    cr_assert_eq(look.shapes[LOOK_ACQUIRE][0].count, (size_t)3);
}

/* A holder that is a member of a sorted set: its key has no value that could be read. */
Test(adapter_look, values_of_grants_are_read_from_answers_where_the_keys_show_none)
{
    enum { GRANTS = 3 };
    static struct history_event events[2 * GRANTS];
    for (size_t i = 0; i < GRANTS; i++) {
        struct history_event *set = &events[2 * i];
        struct history_event *granted = &events[2 * i + 1];
        set->kind = HISTORY_NODE;
        set->f = HISTORY_KEY_SET;
        granted->kind = HISTORY_OP;
        granted->f = HISTORY_ACQUIRE;
        granted->type = HISTORY_OK;
        granted->flags = HISTORY_HAS_VALUE;
        granted->value.bytes[0] = (uint8_t)i;
    }
    struct loaded loaded = {.events = events, .count = 2 * GRANTS};
    look_history(&look, &loaded, LOOK_ALONE);
    cr_assert_eq(look.grant_values, (size_t)0, "none was reported: those are made up");
    look.value_count = 1;
    look_history(&look, &loaded, LOOK_ALONE);
    cr_assert_eq(look.grant_values, (size_t)GRANTS);
}

/* test_adapter_look.c: what a library was seen to do, read off the commands that it sent. */
#include "cli/adapter_look.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { REFUSED = 40 }; /* more than values are kept */

static struct look look;
static char folder[] = "/tmp/picklock-look-XXXXXX";

/* wire.log of a lock that is granted with VALUE a, and then refused again and again, each time with
 * a value of its own: what it sends of them, and what its script does. */
static void write_wire(void)
{
    char path[sizeof folder + 16];
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/wire.log", folder);
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file);
    fprintf(file, "sent\t100\t1\t1\tacquire\tSET\tr0\ta\tNX\n");
    fprintf(file, "said\t101\t1\t{\"id\":1,\"type\":\"ok\",\"value\":\"a\"}\n");
    fprintf(file, "sent\t102\t1\t1\tacquire\tEVALSHA\tf\tr0\ta\n");
    for (int i = 0; i < REFUSED; i++) {
        /* Which of two threads sent it is not always known. */
        fprintf(file, "sent\t%d\t%d\t1\tacquire\tSET\tr0\trefused-%d\tNX\n", 200 + i, 1 + i % 2, i);
        fprintf(file, "sent\t%d\t1\t1\tacquire\tEVALSHA\tf\tr0\trefused-%d\n", 200 + i, i);
        fprintf(file, "inside\t%d\t1\t1\tacquire\tget\tr0\trefused-%d\n", 200 + i, i);
    }
    cr_assert_eq(fclose(file), 0);
}

Test(adapter_look, values_of_refused_acquires_are_folded)
{
    write_wire();
    look_wire(&look, folder, LOOK_THREADS);
    cr_assert_eq(look.shape_count[LOOK_ACQUIRE], (size_t)2);
    const struct look_shape *set = &look.shapes[LOOK_ACQUIRE][0];
    const struct look_shape *script = &look.shapes[LOOK_ACQUIRE][1];
    cr_assert_str_eq(set->words, "SET r0 VALUE NX");
    cr_assert_eq(set->count, (size_t)(1 + REFUSED / 2));
    cr_assert_str_eq(script->words, "EVALSHA f r0 VALUE");
    cr_assert_str_eq(script->inside, "get r0 VALUE");
    cr_assert_eq(script->count, (size_t)(1 + REFUSED));
    char path[sizeof folder + 16];
    (void)snprintf(path, sizeof path, "%s/wire.log", folder);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(rmdir(folder), 0);
}

/* beside.c: one uncontended cycle of our driver beside the same one of another client, in turns. */
#include "bench/beside.h"

#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

enum { ROUNDS = 21 };

static struct {
    uv_loop_t loop;
    struct lock_links *links;
    uint32_t answers;
    struct lock_reply reply;
} driver;

static void on_replied(void *context, const struct lock_answer *answer)
{
    (void)context;
    driver.reply = answer->reply;
    driver.answers += answer->pushed ? 0 : 1;
}

static void on_broken(void *context, uint32_t node_index)
{
    (void)context;
    (void)node_index;
    (void)fprintf(stderr, "bench: the server hung up\n");
    exit(3);
}

void beside_open(const struct connection_kind *kind, const struct servers *servers)
{
    char address[32];
    char memory[WHY_BYTES] = "";
    struct text why = text_over(memory, sizeof memory);
    const char *addresses[] = {address};
    (void)snprintf(address, sizeof address, "127.0.0.1:%d", servers->nodes[0].port);
    ASSERT(uv_loop_init(&driver.loop) == 0);
    struct lock_links_options options = {.loop = &driver.loop,
                                         .addresses = addresses,
                                         .node_count = 1,
                                         .kind = kind,
                                         .replied = on_replied,
                                         .broken = on_broken};
    bench_must(lock_links_open(&options, &driver.links, &why), &why);
    while (!lock_links_up(driver.links, 0)) {
        uv_run(&driver.loop, UV_RUN_ONCE);
    }
}

bool beside_try(const struct lock_command *command, int64_t *number)
{
    uint32_t before = driver.answers;
    lock_links_send(driver.links, 0, &(struct lock_request){"ours", 4, 0, command});
    while (driver.answers == before) {
        uv_run(&driver.loop, UV_RUN_ONCE);
    }
    *number = driver.reply.number;
    return driver.reply.type == LOCK_REPLY_YES || driver.reply.type == LOCK_REPLY_NUMBER;
}

int64_t beside_do(const struct lock_command *command)
{
    int64_t number;
    if (!beside_try(command, &number)) {
        (void)fprintf(stderr, "bench: the server did not do what it was asked in time\n");
        exit(3);
    }
    return number;
}

void beside_close(void)
{
    lock_links_close(driver.links, NULL, NULL);
    uv_run(&driver.loop, UV_RUN_DEFAULT);
    ASSERT(uv_loop_close(&driver.loop) == 0);
}

double beside_slice(void (*cycle)(void))
{
    int64_t start_ns = bench_now_ns();
    for (int i = 0; i < BESIDE_CYCLES; i++) {
        cycle();
    }
    return (double)(bench_now_ns() - start_ns) / 1e3 / BESIDE_CYCLES;
}

void beside_measure(const char *name, void (*our_cycle)(void), double (*their_slice)(void))
{
    double ours[ROUNDS];
    double ratios[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        double theirs = their_slice();
        ours[round] = beside_slice(our_cycle);
        ratios[round] = ours[round] / theirs;
    }
    printf("%s_uncontended_us %.1f us\n", name, bench_median(ours, ROUNDS));
    printf("%s_uncontended_ratio %.3f ratio\n", name, bench_median(ratios, ROUNDS));
    (void)fflush(stdout);
}

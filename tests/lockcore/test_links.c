/* test_links.c: links against real redis-servers: replies, scripts, breaks, reconnects. */
#include "lockcore/drivers/links.h"

#include "base/duration.h"
#include "lockcore/redis/command.h"
#include "tests/lockcore/servers.h"

#include <uv.h>

enum { NODES = 2, ANSWERS_MAX = 4096 };

struct scene {
    struct servers servers;
    uv_loop_t loop;
    uv_timer_t limit;
    struct lock_links *links;
    uint32_t answer_count;
    struct lock_answer answers[ANSWERS_MAX];
    uint32_t broken_count[NODES];
    bool timed_out;
};

static void on_replied(void *context, const struct lock_answer *answer)
{
    struct scene *scene = context;
    cr_assert(scene->answer_count < ANSWERS_MAX);
    scene->answers[scene->answer_count++] = *answer;
}

static void on_broken(void *context, uint32_t node_index)
{
    struct scene *scene = context;
    scene->broken_count[node_index]++;
}

static void on_limit(uv_timer_t *timer)
{
    struct scene *scene = timer->data;
    scene->timed_out = true;
}

static struct scene *scene_open(void)
{
    static struct scene scene;
    memset(&scene, 0, sizeof scene);
    servers_start(&scene.servers, NODES);
    cr_assert_eq(uv_loop_init(&scene.loop), 0);
    cr_assert_eq(uv_timer_init(&scene.loop, &scene.limit), 0);
    scene.limit.data = &scene;
    uv_timer_start(&scene.limit, on_limit, 20000, 0);
    struct lock_links_options options = {
        .loop = &scene.loop,
        .addresses = scene.servers.address,
        .node_count = NODES,
        .context = &scene,
        .replied = on_replied,
        .broken = on_broken,
    };
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    cr_assert(!result_failed(lock_links_open(&options, &scene.links, &why)), "%s", why.data);
    return &scene;
}

static void on_closed(void *data)
{
    *(bool *)data = true;
}

static void scene_close(struct scene *scene)
{
    bool closed = false;
    lock_links_close(scene->links, on_closed, &closed);
    uv_close((uv_handle_t *)&scene->limit, NULL);
    uv_run(&scene->loop, UV_RUN_DEFAULT);
    cr_assert(closed);
    cr_assert_eq(uv_loop_close(&scene->loop), 0);
    servers_stop(&scene->servers);
}

static void send_kind(struct scene *scene, uint32_t node_index, enum redis_command kind,
                      enum lock_command_form form, uint64_t tag)
{
    const struct lock_command command = {
        .kind = kind, .form = form, .value = {.bytes = {1, 2, 3}}, .ttl_ms = 60000, .number = 7};
    lock_links_send(scene->links, node_index,
                    &(struct lock_request){"door", strlen("door"), tag, &command});
}

/* Run the loop until `count` answers have come. */
static void run_until_answers(struct scene *scene, uint32_t count)
{
    while (scene->answer_count < count) {
        cr_assert(!scene->timed_out, "%u of %u answers", scene->answer_count, count);
        uv_run(&scene->loop, UV_RUN_ONCE);
    }
}

static const struct lock_reply *ask(struct scene *scene, enum redis_command kind,
                                    enum lock_command_form form)
{
    uint32_t count = scene->answer_count;
    send_kind(scene, 0, kind, form, count);
    run_until_answers(scene, count + 1);
    cr_assert_eq(scene->answers[count].tag, count);
    cr_assert_eq(scene->answers[count].command.kind, (uint32_t)kind);
    return &scene->answers[count].reply;
}

Test(lock_links, every_command_is_answered_as_its_header_says)
{
    struct scene *scene = scene_open();
    cr_assert_eq(ask(scene, REDIS_SET, LOCK_FORM_SHORT)->type, LOCK_REPLY_YES);
    cr_assert_eq(ask(scene, REDIS_SET, LOCK_FORM_SHORT)->type, LOCK_REPLY_NO);
    cr_assert_eq(ask(scene, REDIS_SETNX, LOCK_FORM_SHORT)->type, LOCK_REPLY_NO);
    cr_assert_eq(ask(scene, REDIS_EXPIRE, LOCK_FORM_SHORT)->type, LOCK_REPLY_YES);
    const enum redis_command scripts[] = {REDIS_COMPARE_EXPIRE, REDIS_SET_EXPIRE,
                                          REDIS_COMPARE_DELETE};
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(ask(scene, scripts[i], LOCK_FORM_SHORT)->type, LOCK_REPLY_LONG_FORM);
        const struct lock_reply *reply = ask(scene, scripts[i], LOCK_FORM_LONG);
        cr_assert_eq(reply->type, LOCK_REPLY_YES);
        enum lock_reply_type again = i == 2 ? LOCK_REPLY_NO : LOCK_REPLY_YES; /* it is gone */
        cr_assert_eq(ask(scene, scripts[i], LOCK_FORM_SHORT)->type, again);
    }
    cr_assert_eq(ask(scene, REDIS_DELETE, LOCK_FORM_SHORT)->type, LOCK_REPLY_NO);
    cr_assert_eq(ask(scene, REDIS_SETNX, LOCK_FORM_SHORT)->type, LOCK_REPLY_YES);
    scene_close(scene);
}

Test(lock_links, a_node_counts_fences_from_its_clock_and_never_back)
{
    struct scene *scene = scene_open();
    int64_t clock_us = (int64_t)time(NULL) * 1000000;
    int64_t first = ask(scene, REDIS_SET_FENCE, LOCK_FORM_LONG)->number;
    cr_assert(first >= clock_us);
    cr_assert_eq(ask(scene, REDIS_SET_FENCE, LOCK_FORM_LONG)->type, LOCK_REPLY_NO);
    cr_assert_eq(ask(scene, REDIS_RAISE_FENCE, LOCK_FORM_LONG)->number, first);
    cr_assert_eq(ask(scene, REDIS_COMPARE_DELETE, LOCK_FORM_LONG)->type, LOCK_REPLY_YES);
    cr_assert(ask(scene, REDIS_SET_FENCE, LOCK_FORM_SHORT)->number > first);
    scene_close(scene);
}

Test(lock_links, a_pipeline_keeps_its_order)
{
    struct scene *scene = scene_open();
    for (uint32_t i = 0; i < 2000; i++) {
        send_kind(scene, 0, i % 2 == 0 ? REDIS_SETNX : REDIS_DELETE, LOCK_FORM_SHORT, i);
    }
    run_until_answers(scene, 2000);
    for (uint32_t i = 0; i < 2000; i++) {
        cr_assert_eq(scene->answers[i].tag, i);
        cr_assert_eq(scene->answers[i].reply.type, LOCK_REPLY_YES);
    }
    scene_close(scene);
}

Test(lock_links, a_killed_node_is_told_as_broken_and_found_again_when_it_is_back)
{
    struct scene *scene = scene_open();
    cr_assert_eq(ask(scene, REDIS_SET, LOCK_FORM_SHORT)->type, LOCK_REPLY_YES);
    server_kill(&scene->servers, 0);
    send_kind(scene, 0, REDIS_SET, LOCK_FORM_SHORT, 1);
    while (scene->broken_count[0] == 0) {
        cr_assert(!scene->timed_out);
        uv_run(&scene->loop, UV_RUN_ONCE);
    }
    cr_assert(!lock_links_up(scene->links, 0));
    uint32_t broken_count = scene->broken_count[0];
    send_kind(scene, 0, REDIS_SET, LOCK_FORM_SHORT, 1);
    send_kind(scene, 0, REDIS_SET, LOCK_FORM_SHORT, 1);
    cr_assert_eq(scene->broken_count[0], broken_count, "no callback comes from inside a send");
    while (scene->broken_count[0] == broken_count) {
        cr_assert(!scene->timed_out);
        uv_run(&scene->loop, UV_RUN_ONCE);
    }
    cr_assert_eq(scene->broken_count[1], 0);
    unlink(scene->servers.path[0]);
    server_start(&scene->servers, 0);
    while (!lock_links_up(scene->links, 0)) {
        cr_assert(!scene->timed_out);
        uv_run(&scene->loop, UV_RUN_ONCE);
    }
    cr_assert_eq(ask(scene, REDIS_SET, LOCK_FORM_SHORT)->type, LOCK_REPLY_YES);
    scene_close(scene);
}

Test(lock_links, what_has_arrived_is_drained_without_waiting)
{
    struct scene *scene = scene_open();
    cr_assert_eq(ask(scene, REDIS_SET, LOCK_FORM_SHORT)->type, LOCK_REPLY_YES);
    send_kind(scene, 0, REDIS_SET, LOCK_FORM_SHORT, 1);
    lock_links_flush(scene->links);
    while (scene->answer_count < 2) { /* the loop never runs: only the drain reads */
        lock_links_drain(scene->links);
    }
    cr_assert_eq(scene->answers[1].reply.type, LOCK_REPLY_NO);
    scene_close(scene);
}

Test(lock_links, a_wrong_address_is_refused_with_a_sentence)
{
    const char *const words[] = {"localhost", "localhost:0", "localhost:65536", ":6379", "", "x:y"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        uv_loop_t loop;
        cr_assert_eq(uv_loop_init(&loop), 0);
        struct lock_links_options options = {.loop = &loop,
                                             .addresses = &words[i],
                                             .node_count = 1,
                                             .replied = on_replied,
                                             .broken = on_broken};
        char memory[WHY_BYTES];
        struct text why = text_over(memory, sizeof memory);
        struct lock_links *links;
        struct result result = lock_links_open(&options, &links, &why);
        cr_assert_eq(result.code, ERROR_USAGE, "%s", words[i]);
        cr_assert(strstr(why.data, "host:port") != NULL);
        cr_assert_eq(uv_loop_close(&loop), 0);
    }
}

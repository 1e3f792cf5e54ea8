/* test_locks.c: many locks over one set of links, and the calls that wait, on real redis-servers.
 */
#include "lockcore/drivers/locks.h"

#include "base/duration.h"
#include "lockcore/algorithms.h"
#include "lockcore/drivers/blocking.h"
#include "lockcore/drivers/loop.h"
#include "tests/lockcore/servers.h"

enum { NODES = 5, CONTENDERS = 20 };

struct contender {
    struct scene *scene;
    struct redis_lock *lock;
    struct lock_effect told; /* the newest */
    uint32_t granted;
    uint32_t released;
    uint32_t lost;
    uint32_t rounds_left; /* acquire and release by itself so often */
};

struct scene {
    struct servers servers;
    uv_loop_t loop;
    uv_timer_t limit;
    bool timed_out;
    struct redis_locks *locks;
    struct contender contenders[CONTENDERS];
    bool many_resources;
    uint32_t holders;
    int64_t fence_last;
};

static void on_limit(uv_timer_t *timer)
{
    struct scene *scene = timer->data;
    scene->timed_out = true;
}

static struct scene *scene_open(const char *algorithm, const struct lock_config *config)
{
    static struct scene scene;
    memset(&scene, 0, sizeof scene);
    servers_start(&scene.servers, NODES);
    cr_assert_eq(uv_loop_init(&scene.loop), 0);
    cr_assert_eq(uv_timer_init(&scene.loop, &scene.limit), 0);
    scene.limit.data = &scene;
    uv_timer_start(&scene.limit, on_limit, 30000, 0);
    struct redis_locks_options options = {&scene.loop, scene.servers.address, *config};
    cr_assert(lock_algorithm_find(algorithm, &options.config.algorithm));
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    cr_assert(!result_failed(redis_locks_open(&options, &scene.locks, &why)), "%s", why.data);
    return &scene;
}

static void on_closed(void *data)
{
    *(bool *)data = true;
}

static void scene_close(struct scene *scene)
{
    bool closed = false;
    redis_locks_close(scene->locks, on_closed, &closed);
    uv_close((uv_handle_t *)&scene->limit, NULL);
    while (uv_run(&scene->loop, UV_RUN_DEFAULT) != 0) {
        /* uv_stop, called outside of a turn, ends the next one early */
    }
    cr_assert(closed);
    cr_assert_eq(uv_loop_close(&scene->loop), 0);
    servers_stop(&scene->servers);
}

static void turn(struct scene *scene)
{
    cr_assert(!scene->timed_out);
    uv_run(&scene->loop, UV_RUN_ONCE);
}

static void on_told(void *context, struct redis_lock *lock, const struct lock_effect *told)
{
    struct contender *contender = context;
    struct scene *scene = contender->scene;
    contender->told = *told;
    uv_stop(&scene->loop); /* the turn under way is not to wait any more */
    if (told->told == LOCK_TOLD_GRANTED) {
        contender->granted++;
        scene->holders++;
        cr_assert(scene->holders == 1 || scene->many_resources, "two hold one resource");
        cr_assert(told->fence == 0 || told->fence > scene->fence_last);
        scene->fence_last = told->fence;
        if (contender->rounds_left > 0) {
            scene->holders--;
            redis_lock_release(lock);
        }
    } else if (told->told == LOCK_TOLD_RELEASED || told->told == LOCK_TOLD_UNKNOWN) {
        contender->released++;
        contender->rounds_left--;
        if (contender->rounds_left > 0) {
            redis_lock_acquire(lock);
        }
    } else if (told->told == LOCK_TOLD_REFUSED) {
        redis_lock_acquire(lock);
    } else if (told->told == LOCK_TOLD_LOST) {
        contender->lost++;
    }
}

static void contender_open(struct scene *scene, uint32_t index, const char *resource)
{
    struct contender *contender = &scene->contenders[index];
    contender->scene = scene;
    contender->lock = redis_lock_open(
        scene->locks, &(struct redis_lock_options){resource, strlen(resource), on_told, contender});
    cr_assert(contender->lock != NULL);
}

static struct lock_config quick_config(void)
{
    struct lock_config config = redis_locks_config(NODES);
    config.retry_delay_ns = NS_PER_MS;
    config.retry_jitter_ns = 5 * NS_PER_MS;
    config.node_timeout_ns = 500 * NS_PER_MS;
    return config;
}

static void contend(struct scene *scene, uint32_t count, uint32_t rounds)
{
    for (uint32_t i = 0; i < count; i++) {
        scene->contenders[i].rounds_left = rounds;
        redis_lock_acquire(scene->contenders[i].lock);
    }
    for (uint32_t i = 0; i < count; i++) {
        while (scene->contenders[i].rounds_left > 0) {
            turn(scene);
        }
    }
}

Test(locks, twenty_contenders_exclude_each_other_and_all_get_their_turns)
{
    struct lock_config config = quick_config();
    struct scene *scene = scene_open("redlock", &config);
    for (uint32_t i = 0; i < CONTENDERS; i++) {
        contender_open(scene, i, "door");
    }
    contend(scene, CONTENDERS, 5);
    for (uint32_t i = 0; i < CONTENDERS; i++) {
        cr_assert_eq(scene->contenders[i].granted, 5);
        redis_lock_close(scene->contenders[i].lock);
    }
    while (redis_locks_busy(scene->locks) > 0) {
        turn(scene);
    }
    scene_close(scene);
}

Test(locks, grants_go_on_with_a_minority_killed_and_with_the_scripts_flushed)
{
    struct lock_config config = quick_config();
    config.node_timeout_ns = 100 * NS_PER_MS;
    config.ttl_ns = NS_PER_S;
    struct scene *scene = scene_open("fenced_redlock", &config);
    for (uint32_t i = 0; i < 3; i++) {
        contender_open(scene, i, "door");
    }
    contend(scene, 3, 3);
    server_kill(&scene->servers, 1);
    server_kill(&scene->servers, 4);
    contend(scene, 3, 3);
    unlink(scene->servers.path[1]);
    server_start(&scene->servers, 1); /* with neither keys nor scripts */
    contend(scene, 3, 3);
    scene_close(scene);
}

Test(locks, a_stopped_minority_delays_nobody_and_is_released_later)
{
    struct lock_config config = quick_config();
    config.node_timeout_ns = 50 * NS_PER_MS;
    struct scene *scene = scene_open("redlock", &config);
    contender_open(scene, 0, "door");
    contend(scene, 1, 1);
    kill(scene->servers.pid[0], SIGSTOP);
    kill(scene->servers.pid[3], SIGSTOP);
    contend(scene, 1, 3);
    cr_assert(redis_locks_busy(scene->locks) > 0, "two nodes have not answered the releases");
    redis_lock_close(scene->contenders[0].lock);
    kill(scene->servers.pid[0], SIGCONT);
    kill(scene->servers.pid[3], SIGCONT);
    while (redis_locks_busy(scene->locks) > 0) {
        turn(scene);
    }
    scene_close(scene);
}

Test(locks, a_holder_is_told_when_its_lease_runs_out_and_after_an_extension_later)
{
    struct lock_config config = quick_config();
    config.ttl_ns = 600 * NS_PER_MS;
    struct scene *scene = scene_open("redlock", &config);
    contender_open(scene, 0, "door");
    struct contender *contender = &scene->contenders[0];
    redis_lock_acquire(contender->lock);
    while (contender->granted == 0) {
        turn(scene);
    }
    int64_t until_ns = contender->told.until_ns;
    redis_lock_extend(contender->lock);
    while (contender->told.told != LOCK_TOLD_EXTENDED) {
        turn(scene);
    }
    cr_assert(contender->told.until_ns > until_ns);
    until_ns = contender->told.until_ns;
    while (contender->lost == 0) {
        turn(scene);
    }
    cr_assert((int64_t)uv_hrtime() >= until_ns);
    redis_lock_extend(contender->lock);
    cr_assert_eq(contender->told.told, LOCK_TOLD_NOT_EXTENDED);
    scene_close(scene);
}

static void wait_until(int64_t time_ns)
{
    while ((int64_t)uv_hrtime() < time_ns) {
        servers_pause();
    }
}

Test(locks, replies_that_are_here_count_although_the_node_timeout_has_passed)
{
    struct lock_config config = quick_config();
    config.node_timeout_ns = 30 * NS_PER_MS;
    config.retry_count = 0;
    struct scene *scene = scene_open("redlock", &config);
    contender_open(scene, 0, "door");
    while (redis_locks_up(scene->locks) < NODES) {
        turn(scene);
    }
    for (int i = 0; i < NODES; i++) {
        kill(scene->servers.pid[i], SIGSTOP);
    }
    int64_t start_ns = (int64_t)uv_hrtime();
    redis_lock_acquire(scene->contenders[0].lock);
    uv_run(&scene->loop, UV_RUN_NOWAIT); /* the commands leave, nobody answers */
    for (int i = 0; i < NODES; i++) {
        kill(scene->servers.pid[i], SIGCONT);
        server_ping(&scene->servers, i); /* it has answered all that came before */
    }
    wait_until(start_ns + 10 * config.node_timeout_ns); /* as a client that was stopped */
    while (scene->contenders[0].granted == 0) {
        cr_assert_neq(scene->contenders[0].told.told, LOCK_TOLD_REFUSED);
        turn(scene);
    }
    cr_assert(scene->contenders[0].told.validity_ns < config.ttl_ns - 10 * config.node_timeout_ns);
    scene_close(scene);
}

Test(locks, many_resources_are_locked_at_once)
{
    struct lock_config config = quick_config();
    struct scene *scene = scene_open("redlock", &config);
    scene->many_resources = true;
    char name[32];
    for (uint32_t i = 0; i < CONTENDERS; i++) {
        (void)snprintf(name, sizeof name, "door %u", i);
        contender_open(scene, i, name);
        scene->contenders[i].rounds_left = 0;
        redis_lock_acquire(scene->contenders[i].lock);
    }
    for (uint32_t i = 0; i < CONTENDERS; i++) {
        while (scene->contenders[i].granted == 0) {
            turn(scene);
        }
        cr_assert_eq(redis_lock_state(scene->contenders[i].lock), LOCK_STATE_HELD);
    }
    cr_assert_eq(redis_locks_busy(scene->locks), CONTENDERS);
    scene_close(scene); /* held or not */
}

Test(locks, calls_that_wait_lock_extend_and_release)
{
    static struct servers servers;
    servers_start(&servers, 3);
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct lock_config config = redis_locks_config(3);
    config.retry_count = 1;
    config.retry_delay_ns = NS_PER_MS;
    struct blocking_locks *locks;
    cr_assert(!result_failed(blocking_open(servers.address, &config, &locks, &why)), "%s",
              why.data);
    struct blocking_lease lease;
    struct blocking_lease other;
    cr_assert_eq(blocking_acquire(locks, "door", &lease), LOCK_TOLD_GRANTED);
    cr_assert_eq(blocking_acquire(locks, "door", &other), LOCK_TOLD_REFUSED);
    cr_assert_eq(other.reason, LOCK_REASON_NO_QUORUM);
    cr_assert_eq(blocking_release(&other), LOCK_TOLD_NOT_HELD);
    cr_assert_eq(blocking_acquire(locks, "window", &other), LOCK_TOLD_GRANTED);
    int64_t until_ns = lease.until_ns;
    cr_assert_eq(blocking_extend(&lease), LOCK_TOLD_EXTENDED);
    cr_assert(lease.until_ns > until_ns);
    cr_assert(blocking_left_ns(&lease) > 9 * NS_PER_S);
    cr_assert_eq(blocking_release(&lease), LOCK_TOLD_RELEASED);
    cr_assert_eq(blocking_left_ns(&lease), 0);
    cr_assert_eq(blocking_extend(&lease), LOCK_TOLD_NOT_EXTENDED);
    cr_assert_eq(blocking_acquire(locks, "door", &lease), LOCK_TOLD_GRANTED);
    for (uint32_t i = 0; i <= config.extend_count; i++) { /* the last is refused inside the call */
        bool allowed = i < config.extend_count;
        cr_assert_eq(blocking_extend(&lease),
                     allowed ? LOCK_TOLD_EXTENDED : LOCK_TOLD_NOT_EXTENDED);
    }
    blocking_close(locks);
    servers_stop(&servers);
}

Test(locks, too_few_nodes_or_an_impossible_configuration_are_said_in_a_sentence)
{
    static struct servers servers;
    servers_start(&servers, 3);
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct lock_config config = redis_locks_config(3);
    struct blocking_locks *locks;
    server_kill(&servers, 0);
    server_kill(&servers, 2);
    struct result result = blocking_open(servers.address, &config, &locks, &why);
    cr_assert_eq(result.code, ERROR_ENVIRONMENT);
    cr_assert_str_eq(why.data, "lock: 1 of 3 nodes can be reached, and 2 are needed");
    text_clear(&why);
    config.node_timeout_ns = config.ttl_ns;
    cr_assert_eq(blocking_open(servers.address, &config, &locks, &why).code, ERROR_USAGE);
    cr_assert(strstr(why.data, "node timeout") != NULL);
    config = redis_locks_config(3);
    text_clear(&why);
    cr_assert(lock_algorithm_find("single", &config.algorithm));
    cr_assert_eq(blocking_open(servers.address, &config, &locks, &why).code, ERROR_USAGE);
    cr_assert_str_eq(why.data, "lock: single takes 1 to 1 nodes, not 3");
    servers_stop(&servers);
}

/* locks.c: steps many locks over one set of links, with their timers and their randomness. */
#include "lockcore/drivers/locks.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/duration.h"
#include "base/machine_clock.h"
#include "lockcore/algorithms.h"
#include "lockcore/drivers/loop.h"
#include "lockcore/drivers/wakes.h"

#include <string.h>
#include <sys/random.h>

enum {
    CHUNK_LOCKS = 64, /* locks in one piece of memory, so that a lock never moves */
    CHUNKS_MAX = 65536,
    RANDOM_WORDS_MAX = 512, /* drawn from the operating system at once */
    TELLS_MAX = 2,          /* of one step: NOT_EXTENDED and LOST */
};

struct redis_lock {
    struct redis_locks *locks;
    struct redis_lock_options options; /* resource is owned */
    uint32_t index;
    uint32_t generation; /* counts the uses of this memory: an answer to an older one is dropped */
    bool open;           /* the application has it */
    bool used;           /* open, or still releasing */
    int64_t wake_ns;     /* wanted */
    int64_t queued_ns;   /* of its entry in the heap that counts; TIME_NEVER if none */
    struct lock lock;
};

struct redis_locks {
    struct redis_locks_options options;
    struct lock_links *links;
    uv_timer_t timer;
    int64_t armed_ns; /* when the timer fires; TIME_NEVER if it is not started */
    struct wakes wakes;
    struct redis_lock **chunks; /* owned, as are the chunks */
    uint32_t lock_count;        /* ever made */
    uint32_t *unused;           /* owned stack of indices that can be used again */
    uint32_t unused_count;
    uint32_t words_left;
    uint64_t words[RANDOM_WORDS_MAX];
    struct lock_effects effects; /* of the step under way */
    uint32_t handles_open;
    bool closing;
    void (*closed)(void *data);
    void *closed_data;
};

static uint64_t random_take(struct redis_locks *locks)
{
    if (locks->words_left == 0) {
        size_t have = 0;
        while (have < sizeof locks->words) {
            ssize_t got = getrandom((char *)locks->words + have, sizeof locks->words - have, 0);
            have += got > 0 ? (size_t)got : 0;
        }
        locks->words_left = RANDOM_WORDS_MAX;
    }
    return locks->words[--locks->words_left];
}

static struct redis_lock *lock_at(const struct redis_locks *locks, uint32_t index)
{
    ASSERT(index < locks->lock_count);
    return &locks->chunks[index / CHUNK_LOCKS][index % CHUNK_LOCKS];
}

static void lock_reuse(struct redis_lock *lock)
{
    struct redis_locks *locks = lock->locks;
    ASSERT(lock->used && !lock->open);
    lock->used = false;
    lock->generation++;
    memory_release((char *)lock->options.resource);
    lock->options.resource = NULL;
    locks->unused[locks->unused_count++] = lock->index;
}

/* ---- timers ---- */

static void on_timer(uv_timer_t *timer);

static void timer_arm(struct redis_locks *locks, int64_t now_ns)
{
    if (locks->wakes.count == 0 || locks->closing) {
        return;
    }
    int64_t at_ns = locks->wakes.heap[0].at_ns;
    if (at_ns >= locks->armed_ns) {
        return; /* the timer fires before; it is armed again then */
    }
    int64_t delay_ns = at_ns > now_ns ? at_ns - now_ns : 0;
    locks->armed_ns = at_ns;
    uv_update_time(locks->options.loop);
    int code = uv_timer_start(&locks->timer, on_timer,
                              (uint64_t)((delay_ns + NS_PER_MS - 1) / NS_PER_MS), 0);
    ASSERT(code == 0);
}

static void lock_queue(struct redis_lock *lock)
{
    if (lock->wake_ns < lock->queued_ns) {
        bool pushed = wakes_push(&lock->locks->wakes, (struct wake){lock->wake_ns, lock});
        ASSERT(pushed); /* without its timers a lock could promise what has ended */
        lock->queued_ns = lock->wake_ns;
    }
}

/* ---- steps ---- */

static void lock_send_effect(struct redis_lock *lock, const struct lock_effect *effect)
{
    const struct lock_request request = {
        .resource = lock->options.resource,
        .resource_bytes = lock->options.resource_bytes,
        .tag = (uint64_t)lock->index << 32 | lock->generation,
        .command = &effect->command,
    };
    lock_links_send(lock->locks->links, effect->node_index, &request);
}

/* Step and carry out. What is told comes last: the application may ask for more at once, which
 * steps again and overwrites the effects. */
static void lock_feed(struct redis_lock *lock, struct lock_event *event)
{
    struct redis_locks *locks = lock->locks;
    event->now_ns = monotonic_ns();
    event->wall_ns = 0; /* no sound algorithm looks at it */
    uint32_t words = LOCK_RANDOM_WORDS;
    if (event->type == LOCK_EVENT_REPLY || event->type == LOCK_EVENT_BROKEN) {
        uint32_t most = lock_algorithm_at(lock->lock.config.algorithm)->reply_words;
        words = lock->lock.state <= LOCK_STATE_WAITING ? most : 0; /* no holder draws anything */
    }
    for (uint32_t i = LOCK_RANDOM_WORDS - words; i < LOCK_RANDOM_WORDS; i++) {
        event->random[i] = random_take(locks);
    }
    lock_step(&lock->lock, event, &locks->effects);
    struct lock_effect tells[TELLS_MAX];
    uint32_t tell_count = 0;
    for (uint32_t i = 0; i < locks->effects.count; i++) {
        const struct lock_effect *effect = &locks->effects.list[i];
        switch ((enum lock_effect_type)effect->type) {
        case LOCK_EFFECT_SEND:
            lock_send_effect(lock, effect);
            break;
        case LOCK_EFFECT_WAKE:
            lock->wake_ns = effect->at_ns;
            lock_queue(lock);
            timer_arm(locks, event->now_ns);
            break;
        case LOCK_EFFECT_TELL:
            ASSERT(tell_count < TELLS_MAX);
            tells[tell_count++] = *effect;
            break;
        }
    }
    uint32_t generation = lock->generation;
    for (uint32_t i = 0; i < tell_count && !locks->closing; i++) {
        lock->options.told(lock->options.context, lock, &tells[i]);
    }
    if (lock->used && !lock->open && lock->generation == generation && lock_at_rest(&lock->lock)) {
        lock_reuse(lock);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct redis_locks *locks = timer->data;
    locks->armed_ns = TIME_NEVER;
    lock_links_drain(locks->links); /* what is already here must not count as missing */
    int64_t now_ns = monotonic_ns();
    while (!locks->closing && locks->wakes.count > 0 && locks->wakes.heap[0].at_ns <= now_ns) {
        struct wake wake = wakes_pop(&locks->wakes);
        struct redis_lock *lock = wake.who;
        if (wake.at_ns != lock->queued_ns) {
            continue; /* a later entry that an earlier one has replaced */
        }
        lock->queued_ns = TIME_NEVER;
        if (lock->used && lock->wake_ns <= now_ns) {
            lock->wake_ns = TIME_NEVER;
            lock_feed(lock, &(struct lock_event){.type = LOCK_EVENT_TIMER});
        } else if (lock->used && lock->wake_ns != TIME_NEVER) {
            lock_queue(lock);
        }
    }
    timer_arm(locks, now_ns);
}

static void on_replied(void *context, const struct lock_answer *answer)
{
    struct redis_locks *locks = context;
    struct redis_lock *lock = lock_at(locks, (uint32_t)(answer->tag >> 32));
    if (!lock->used || lock->generation != (uint32_t)answer->tag) {
        return; /* it was given back meanwhile */
    }
    struct lock_event event;
    event.type = answer->pushed ? LOCK_EVENT_PUSH : LOCK_EVENT_REPLY;
    event.node_index = (uint8_t)answer->node_index;
    event.reply = answer->reply;
    event.command = answer->command;
    memset(event.random, 0, sizeof event.random);
    lock_feed(lock, &event);
}

static void on_broken(void *context, uint32_t node_index)
{
    struct redis_locks *locks = context;
    for (uint32_t i = 0; i < locks->lock_count && !locks->closing; i++) {
        struct redis_lock *lock = lock_at(locks, i);
        if (lock->used && lock->lock.pending != 0) {
            lock_feed(lock, &(struct lock_event){.type = LOCK_EVENT_BROKEN,
                                                 .node_index = (uint8_t)node_index});
        }
    }
}

/* ---- locks ---- */

struct lock_config redis_locks_config(uint32_t node_count)
{
    ASSERT(node_count >= 1 && node_count <= LOCK_NODES_MAX);
    struct lock_config config = {
        .node_count = (uint16_t)node_count,
        .retry_count = 3,
        .extend_count = 100,
        .ttl_ns = 10 * NS_PER_S,
        .node_timeout_ns = 50 * NS_PER_MS,
        .drift_ppm = 10000,
        .retry_delay_ns = 200 * NS_PER_MS,
        .retry_jitter_ns = 200 * NS_PER_MS,
    };
    bool found = lock_algorithm_find("redlock", &config.algorithm);
    ASSERT(found);
    return config;
}

/* One more chunk of locks, all of them unused. */
static bool chunk_add(struct redis_locks *locks)
{
    uint32_t chunk_count = locks->lock_count / CHUNK_LOCKS;
    if (chunk_count == CHUNKS_MAX) {
        return false;
    }
    struct redis_lock **chunks = memory_resize(locks->chunks, (chunk_count + 1) * sizeof *chunks);
    if (chunks == NULL) {
        return false;
    }
    locks->chunks = chunks;
    size_t indices = (size_t)(chunk_count + 1) * CHUNK_LOCKS;
    uint32_t *unused = memory_resize(locks->unused, indices * sizeof *unused);
    if (unused == NULL) {
        return false;
    }
    locks->unused = unused;
    struct redis_lock *chunk = memory_resize(NULL, CHUNK_LOCKS * sizeof *chunk);
    if (chunk == NULL) {
        return false;
    }
    memset(chunk, 0, CHUNK_LOCKS * sizeof *chunk);
    chunks[chunk_count] = chunk;
    for (uint32_t i = 0; i < CHUNK_LOCKS; i++) {
        chunk[i].locks = locks;
        chunk[i].index = locks->lock_count + i;
        chunk[i].queued_ns = TIME_NEVER;
        locks->unused[locks->unused_count++] = locks->lock_count + CHUNK_LOCKS - 1 - i;
    }
    locks->lock_count += CHUNK_LOCKS;
    return true;
}

struct redis_lock *redis_lock_open(struct redis_locks *locks,
                                   const struct redis_lock_options *options)
{
    ASSERT(!locks->closing);
    ASSERT(options->told != NULL);
    if (locks->unused_count == 0 && !chunk_add(locks)) {
        return NULL;
    }
    char *resource = memory_resize(NULL, options->resource_bytes + 1);
    if (resource == NULL) {
        return NULL;
    }
    memcpy(resource, options->resource, options->resource_bytes);
    resource[options->resource_bytes] = '\0';
    struct redis_lock *lock = lock_at(locks, locks->unused[--locks->unused_count]);
    lock->options = *options;
    lock->options.resource = resource;
    lock->open = true;
    lock->used = true;
    lock->wake_ns = TIME_NEVER;
    lock_init(&lock->lock, &locks->options.config);
    return lock;
}

static void ask(struct redis_lock *lock, enum lock_event_type type)
{
    ASSERT(lock->open);
    lock_feed(lock, &(struct lock_event){.type = (uint8_t)type});
}

void redis_lock_acquire(struct redis_lock *lock)
{
    ask(lock, LOCK_EVENT_ACQUIRE);
}

void redis_lock_extend(struct redis_lock *lock)
{
    ask(lock, LOCK_EVENT_EXTEND);
}

void redis_lock_release(struct redis_lock *lock)
{
    ask(lock, LOCK_EVENT_RELEASE);
}

enum lock_state redis_lock_state(const struct redis_lock *lock)
{
    return (enum lock_state)lock->lock.state;
}

void redis_lock_close(struct redis_lock *lock)
{
    ASSERT(lock->open);
    ASSERT(lock->lock.state == LOCK_STATE_IDLE);
    lock->open = false;
    if (lock_at_rest(&lock->lock)) {
        lock_reuse(lock);
    }
}

uint32_t redis_locks_up(const struct redis_locks *locks)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < locks->options.config.node_count; i++) {
        count += lock_links_up(locks->links, i) ? 1 : 0;
    }
    return count;
}

uint32_t redis_locks_busy(const struct redis_locks *locks)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < locks->lock_count; i++) {
        const struct redis_lock *lock = lock_at(locks, i);
        count += lock->used && !lock_at_rest(&lock->lock) ? 1 : 0;
    }
    return count;
}

/* ---- opening and closing ---- */

static struct result config_check(const struct lock_config *config, struct text *why)
{
    const struct lock_algorithm *algorithm = lock_algorithm_at(config->algorithm);
    uint32_t replicas = config->replica_count;
    uint32_t votes = config->node_count > replicas ? lock_votes(config) : 0;
    if (votes < algorithm->nodes_min || votes > algorithm->nodes_max) {
        text_add(why, "lock: %s takes %u to %u nodes, not %u", algorithm->name,
                 algorithm->nodes_min, algorithm->nodes_max, votes);
        return result_error(ERROR_USAGE);
    }
    bool waits = config->wait_count > 0 && config->wait_count <= replicas &&
                 config->wait_ns < config->node_timeout_ns;
    if ((replicas > 0 && votes != 1) || config->wait_ns < 0 || (algorithm->waits && !waits)) {
        text_add(why,
                 "lock: replicas are all nodes but one, and %s waits for at most so many of "
                 "them, for less than the node timeout",
                 algorithm->name);
        return result_error(ERROR_USAGE);
    }
    bool sound = config->node_timeout_ns > 0 && config->node_timeout_ns < config->ttl_ns &&
                 config->ttl_ns <= DURATION_NS_MAX && config->drift_ppm >= 0 &&
                 config->drift_ppm <= 1000000 && config->retry_delay_ns >= 0 &&
                 config->retry_delay_ns <= DURATION_NS_MAX && config->retry_jitter_ns >= 0 &&
                 config->retry_jitter_ns <= DURATION_NS_MAX;
    if (!sound) {
        text_add(why, "lock: times must be positive and at most 10 years, the node timeout shorter "
                      "than the ttl, the drift at most 1000000 ppm");
        return result_error(ERROR_USAGE);
    }
    return RESULT_OK;
}

static void memory_give_back(struct redis_locks *locks)
{
    for (uint32_t i = 0; i < locks->lock_count; i++) {
        memory_release((char *)lock_at(locks, i)->options.resource);
    }
    for (uint32_t i = 0; i < locks->lock_count / CHUNK_LOCKS; i++) {
        memory_release(locks->chunks[i]);
    }
    memory_release(locks->chunks);
    memory_release(locks->unused);
    wakes_release(&locks->wakes);
    memory_release(locks);
}

struct result redis_locks_open(const struct redis_locks_options *options, struct redis_locks **out,
                               struct text *why)
{
    TRY(config_check(&options->config, why));
    struct redis_locks *locks = memory_resize(NULL, sizeof *locks);
    if (locks == NULL) {
        text_add(why, "lock: out of memory");
        return result_error(ERROR_IO);
    }
    memset(locks, 0, sizeof *locks);
    locks->options = *options;
    locks->armed_ns = TIME_NEVER;
    struct lock_links_options links = {
        .loop = options->loop,
        .addresses = options->addresses,
        .node_count = options->config.node_count,
        .context = locks,
        .replied = on_replied,
        .broken = on_broken,
    };
    struct result result = lock_links_open(&links, &locks->links, why);
    if (result_failed(result)) {
        memory_release(locks);
        return result;
    }
    int code = uv_timer_init(options->loop, &locks->timer);
    ASSERT(code == 0); /* libuv: always */
    locks->timer.data = locks;
    *out = locks;
    return RESULT_OK;
}

static void part_closed(void *data)
{
    struct redis_locks *locks = data;
    locks->handles_open--;
    if (locks->handles_open > 0) {
        return;
    }
    void (*closed)(void *data) = locks->closed;
    void *closed_data = locks->closed_data;
    memory_give_back(locks);
    if (closed != NULL) {
        closed(closed_data);
    }
}

static void on_timer_closed(uv_handle_t *handle)
{
    part_closed(handle->data);
}

void redis_locks_close(struct redis_locks *locks, void (*closed)(void *data), void *data)
{
    ASSERT(!locks->closing);
    locks->closing = true;
    locks->closed = closed;
    locks->closed_data = data;
    locks->handles_open = 2;
    lock_links_close(locks->links, part_closed, locks);
    uv_close((uv_handle_t *)&locks->timer, on_timer_closed);
}

/* test_keys.c: what passes the proxies tells what a real server holds, and who did it. */
#include "lockcore/redis/command.h"
#include "tests/real/links.h"

#include "base/random.h"

static void begin_with_clock(void)
{
    links_make(true);
}

TestSuite(keys, .init = begin_with_clock, .fini = links_end, .timeout = 60);

/* The newest event; fails if there is none. */
static const struct history_event *newest(void)
{
    cr_assert_gt(links.event_count, 0);
    return &links.events[links.event_count - 1];
}

static void value_of(const char *text, struct history_value *value)
{
    keys_value(text, strlen(text), value);
}

static bool value_is(const struct history_value *value, const char *text)
{
    struct history_value expected;
    value_of(text, &expected);
    return history_value_equal(value, &expected);
}

static void ask(int fd, const char *line, const char *reply)
{
    links_send(fd, line);
    links_expect(fd, reply);
}

/* Send words as they are, whatever bytes they hold. */
static void send_words(int fd, const struct redis_words *words)
{
    char bytes[4096];
    int at = snprintf(bytes, sizeof bytes, "*%d\r\n", words->count);
    for (int i = 0; i < words->count; i++) {
        at += snprintf(bytes + at, sizeof bytes - (size_t)at, "$%zu\r\n%.*s\r\n", words->bytes[i],
                       (int)words->bytes[i], words->word[i]);
    }
    cr_assert_eq(send(fd, bytes, (size_t)at, MSG_NOSIGNAL), at);
}

static void send_lock_command(int fd, uint8_t kind, uint8_t form, uint8_t value)
{
    struct lock_command command = {.kind = kind, .form = form, .ttl_ms = 60000, .number = 7};
    char scratch[REDIS_SCRATCH_BYTES];
    struct redis_words words;
    memset(command.value.bytes, value, sizeof command.value.bytes);
    redis_words(&command, "r0", 2, scratch, &words);
    send_words(fd, &words);
}

Test(keys, a_grant_a_refusal_and_a_release_are_told_apart)
{
    int fd = links_connect(0);
    int other = links_connect(1);
    ask(fd, "SET r0 mine NX PX 60000", "+OK");
    cr_assert_eq(newest()->f, HISTORY_KEY_SET);
    cr_assert_eq(newest()->process, 0);
    cr_assert(value_is(&newest()->value, "mine"));
    cr_assert_geq(newest()->until_ns, newest()->time_ns + 60 * NS_PER_S);
    ask(other, "SET r0 other NX PX 60000", "$-1");
    cr_assert_eq(newest()->f, HISTORY_KEY_REFUSED);
    cr_assert_eq(newest()->process, 1);
    cr_assert(value_is(&newest()->value, "other"));
    cr_assert(value_is(&newest()->owner, "mine"));
    ask(fd, "DEL r0", ":1");
    cr_assert_eq(newest()->f, HISTORY_KEY_DELETED);
    cr_assert_eq(newest()->cause, CAUSE_RELEASED);
    close(fd);
    close(other);
}

Test(keys, a_plain_deletion_of_anothers_key_is_foreign)
{
    int fd = links_connect(0);
    int other = links_connect(1);
    ask(fd, "SET r0 mine NX PX 60000", "+OK");
    ask(other, "DEL r0", ":1");
    cr_assert_eq(newest()->f, HISTORY_KEY_DELETED);
    cr_assert_eq(newest()->cause, CAUSE_FOREIGN);
    cr_assert_eq(newest()->process, 1);
    cr_assert_str_eq(newest()->command, redis_dialect.rows[REDIS_DELETE].name);
    cr_assert(value_is(&newest()->owner, "mine"));
    ask(fd, "DEL r0", ":0");
    cr_assert_eq(newest()->f, HISTORY_KEY_KEPT);
    close(fd);
    close(other);
}

Test(keys, our_own_scripts_are_known_by_hash_and_by_text)
{
    int fd = links_connect(0);
    send_lock_command(fd, REDIS_SET, LOCK_FORM_SHORT, 1);
    links_expect(fd, "+OK");
    uint32_t before = links.event_count;
    send_lock_command(fd, REDIS_COMPARE_EXPIRE, LOCK_FORM_SHORT, 1);
    char refusal[128];
    cr_assert_gt(links_receive(fd, refusal, sizeof refusal), 0);
    cr_assert_eq(strncmp(refusal, "-NOSCRIPT", 9), 0);
    cr_assert_eq(links.event_count, before, "nothing was applied");
    send_lock_command(fd, REDIS_COMPARE_EXPIRE, LOCK_FORM_LONG, 1);
    links_expect(fd, ":1");
    cr_assert_eq(newest()->f, HISTORY_KEY_EXTENDED);
    send_lock_command(fd, REDIS_COMPARE_EXPIRE, LOCK_FORM_SHORT, 2);
    links_expect(fd, ":0");
    cr_assert_eq(newest()->f, HISTORY_KEY_KEPT);
    cr_assert_eq(newest()->owner.bytes[0], 1);
    cr_assert_eq(newest()->value.bytes[0], 2);
    send_lock_command(fd, REDIS_COMPARE_DELETE, LOCK_FORM_LONG, 1);
    links_expect(fd, ":1");
    cr_assert_eq(newest()->f, HISTORY_KEY_DELETED);
    cr_assert_str_eq(newest()->command, redis_dialect.rows[REDIS_COMPARE_DELETE].name);
    send_lock_command(fd, REDIS_SET_FENCE, LOCK_FORM_LONG, 3);
    char reply[64];
    cr_assert_gt(links_receive(fd, reply, sizeof reply), 0);
    cr_assert_eq(newest()->f, HISTORY_KEY_SET);
    cr_assert_eq(newest()->value.bytes[0], 3);
    close(fd);
}

/* The scripts of npm redlock 4.2.0, in short. */
static const char *const foreign_acquire =
    "for i, key in ipairs(KEYS) do if redis.call(\"exists\", key) == 1 then return 0 end end "
    "for i, key in ipairs(KEYS) do redis.call(\"set\", key, ARGV[1], \"PX\", ARGV[2]) end "
    "return #KEYS";
static const char *const foreign_extend =
    "for i, key in ipairs(KEYS) do if redis.call('get', key) ~= ARGV[1] then return 0 end end "
    "for i, key in ipairs(KEYS) do redis.call('set', key, ARGV[1], 'PX', ARGV[2]) end "
    "return #KEYS";
static const char *const foreign_release =
    "local n = 0 for i, key in ipairs(KEYS) do if redis.call('get', key) == ARGV[1] then "
    "redis.pcall('del', key) n = n + 1 end end return n";

static void eval(int fd, const char *verb, const char *script, const char *value)
{
    struct redis_words words = {
        .count = 6,
        .word = {verb, script, "1", "r0", value, "60000"},
        .bytes = {strlen(verb), strlen(script), 1, 2, strlen(value), 5},
    };
    send_words(fd, &words);
}

Test(keys, foreign_scripts_are_known_by_what_they_call)
{
    int fd = links_connect(0);
    int other = links_connect(1);
    char sha[64];
    eval(fd, "EVAL", foreign_acquire, "abc");
    links_expect(fd, ":1");
    cr_assert_eq(newest()->f, HISTORY_KEY_SET);
    eval(other, "EVAL", foreign_acquire, "xyz");
    links_expect(other, ":0");
    cr_assert_eq(newest()->f, HISTORY_KEY_REFUSED);
    eval(fd, "EVAL", foreign_extend, "abc");
    links_expect(fd, ":1");
    cr_assert_eq(newest()->f, HISTORY_KEY_EXTENDED);
    struct redis_words load = {.count = 3,
                               .word = {"SCRIPT", "LOAD", foreign_release},
                               .bytes = {6, 4, strlen(foreign_release)}};
    send_words(fd, &load);
    links_expect(fd, "$40");
    cr_assert_eq(links_receive(fd, sha, 42), 42);
    sha[40] = '\0';
    /* Nothing is known of this script yet: what its client asked for tells what it is for. */
    keys_asked(links.keys,
               &(struct keys_request){.client = 1, .f = HISTORY_RELEASE, .resource = 0});
    eval(other, "EVALSHA", sha, "xyz");
    links_expect(other, ":0");
    cr_assert_eq(newest()->f, HISTORY_KEY_KEPT);
    eval(fd, "EVALSHA", sha, "abc");
    links_expect(fd, ":1");
    cr_assert_eq(newest()->f, HISTORY_KEY_DELETED);
    cr_assert_eq(newest()->cause, CAUSE_RELEASED);
    close(fd);
    close(other);
}

static void wait_events(uint32_t count)
{
    while (links.event_count < count) {
        links_turn();
    }
}

Test(keys, the_end_of_a_ttl_is_reported_when_it_comes)
{
    int fd = links_connect(0);
    ask(fd, "SET r0 v PX 20", "+OK");
    int64_t until_ns = newest()->until_ns;
    wait_events(2);
    cr_assert_eq(newest()->f, HISTORY_KEY_EXPIRED);
    cr_assert_eq(newest()->cause, CAUSE_TTL);
    cr_assert_eq(newest()->time_ns, until_ns);
    cr_assert(value_is(&newest()->owner, "v"));
    close(fd);
}

static void node_clock_jump(int64_t jump_ns)
{
    node_clock_set(&links.node, jump_ns, 1000000);
    keys_clock_changed(links.keys, &(struct keys_clock_change){.fault = 4,
                                                               .true_ns = loop_now_ns(),
                                                               .jump_ns = jump_ns,
                                                               .rate_ppm = 1000000});
}

/* Give an order to the server itself, past the proxies. */
static void order(const char *const *words)
{
    struct admin_reply reply;
    LINKS_MUST(node_order(&links.node, words, &reply, &links_why));
}

Test(keys, a_node_that_comes_back_is_asked_what_it_still_holds)
{
    int fd = links_connect(0);
    ask(fd, "SET r0 v PX 60000", "+OK");
    ask(fd, "SET r1 w PX 60000", "+OK");
    struct keys_return back = {.address = node_address(&links.node),
                               .cause = CAUSE_RESTART,
                               .fault = 2,
                               .lost_ns = loop_now_ns()};
    keys_gone(links.keys, &back, false);
    order((const char *[]){"DEL", "r0", NULL});
    LINKS_MUST(keys_watch_again(links.keys, &back, &links_why));
    cr_assert_eq(back.lost, 1);
    const struct history_event *lost = &links.events[links.event_count - 2];
    cr_assert_eq(lost->f, HISTORY_KEY_LOST);
    cr_assert_eq(lost->resource, 0);
    cr_assert_eq(lost->cause, CAUSE_RESTART);
    cr_assert_eq(lost->fault, 2);
    cr_assert_eq(newest()->f, HISTORY_KEY_BACK);
    cr_assert_eq(newest()->resource, 1);
    cr_assert(value_is(&newest()->owner, "w"));
    close(fd);
}

Test(keys, a_node_that_forgets_loses_its_keys_at_once)
{
    int fd = links_connect(0);
    ask(fd, "SET r0 v PX 60000", "+OK");
    struct keys_return gone = {.cause = CAUSE_RESTART, .fault = 2, .lost_ns = loop_now_ns()};
    keys_gone(links.keys, &gone, true);
    cr_assert_eq(gone.lost, 1);
    cr_assert_eq(newest()->f, HISTORY_KEY_LOST);
    cr_assert_eq(newest()->time_ns, gone.lost_ns - links.start_ns);
    close(fd);
}

Test(keys, a_refusal_of_the_node_is_an_error_and_no_change)
{
    int fd = links_connect(0);
    struct admin_reply reply;
    LINKS_MUST(node_order(&links.node, (const char *[]){"CONFIG", "SET", "maxmemory", "1", NULL},
                          &reply, &links_why));
    char line[128];
    links_send(fd, "SET r0 v NX PX 60000");
    cr_assert_gt(links_receive(fd, line, sizeof line), 0);
    cr_assert_eq(strncmp(line, "-OOM", 4), 0);
    cr_assert_eq(newest()->f, HISTORY_NODE_ERROR);
    cr_assert_eq(newest()->process, 0);
    cr_assert_leq(newest()->sent_ns, newest()->time_ns);
    cr_assert_eq(newest()->flags & (HISTORY_HAS_SENT | HISTORY_HAS_REPLIED),
                 HISTORY_HAS_SENT | HISTORY_HAS_REPLIED);
    close(fd);
}

Test(keys, a_command_of_a_client_that_died_is_seen)
{
    int fd = links_connect(0);
    links_send(fd, "SET r0 v NX PX 60000");
    close(fd);
    wait_events(1);
    cr_assert_eq(newest()->f, HISTORY_KEY_SET);
    cr_assert(links_node_has("r0"));
}

/* A reply passes when all that the node did before has been told. */
static uint64_t settled;

static void settle(void)
{
    settled++;
    int fd = links_connect(0);
    ask(fd, "PING", "+PONG");
    close(fd);
}

/* ---- random commands against the server's own word ---- */

/* A random command about a random key; two clients, each with its own values. */
static void draw_command(struct random_stream *random, int32_t client, char line[128])
{
    static const char *const ttls[] = {"3", "30", "60000", "90000"};
    uint64_t key = random_below(random, 3);
    uint64_t value = 10 * (uint64_t)client + random_below(random, 3);
    const char *ttl = ttls[random_below(random, 4)];
    char name[8];
    char own[24];
    (void)snprintf(name, sizeof name, "r%u", (unsigned)key);
    (void)snprintf(own, sizeof own, "v%u", (unsigned)value);
    /* Words that stand for the key, the value and the ttl. */
    static const char *const forms[] = {"SET K V NX PX T",
                                        "SETNX K V",
                                        "GET K",
                                        "SET K V PX T",
                                        "SET K V XX PX T",
                                        "PSETEX K T V",
                                        "PEXPIRE K T",
                                        "DEL K",
                                        "UNLINK K r1",
                                        "SET K V",
                                        "EXPIRE K 60",
                                        "DEL K r2",
                                        "PEXPIRE K 0",
                                        "SET K V KEEPTTL",
                                        "PERSIST K",
                                        "GETSET K V",
                                        "MSET K V r1 V",
                                        "RENAME K r0",
                                        "EXPIREAT K 1",
                                        "FLUSHDB",
                                        "GETDEL K",
                                        "GETEX K PX T",
                                        "COPY K r2 REPLACE"};
    const char *form = forms[random_below(random, sizeof forms / sizeof forms[0])];
    struct text text = text_over(line, 128);
    for (size_t i = 0; form[i] != '\0'; i++) {
        bool alone = (i == 0 || form[i - 1] == ' ') && (form[i + 1] == ' ' || form[i + 1] == '\0');
        const char *word = !alone           ? NULL
                           : form[i] == 'K' ? name
                           : form[i] == 'V' ? own
                           : form[i] == 'T' ? ttl
                                            : NULL;
        text_add_bytes(&text, word != NULL ? word : &form[i], word != NULL ? strlen(word) : 1);
    }
}

/* A script's words: compare-delete, compare-expire or acquire, ours and foreign ones. */
static void send_script(int fd, struct random_stream *random, int32_t client)
{
    const char *scripts[] = {foreign_acquire,
                             foreign_extend,
                             foreign_release,
                             redis_script(REDIS_COMPARE_DELETE),
                             redis_script(REDIS_COMPARE_EXPIRE),
                             redis_script(REDIS_SET_EXPIRE)};
    const char *script = scripts[random_below(random, 6)];
    const char *key = links_names[random_below(random, 3)];
    char value[16];
    (void)snprintf(value, sizeof value, "v%llu",
                   (unsigned long long)(10 * (uint64_t)client + random_below(random, 3)));
    struct redis_words words = {
        .count = 6,
        .word = {"EVAL", script, "1", key, value, "60000"},
        .bytes = {4, strlen(script), 1, 2, strlen(value), 5},
    };
    send_words(fd, &words);
}

/* Everything sent was answered and seen. */
static void drain(uint64_t commands)
{
    while (proxy_counts(links.proxy).replies < commands + settled ||
           proxy_signs(links.proxy, 0).waits || proxy_signs(links.proxy, 1).waits) {
        links_turn();
    }
}

static void compare_key(uint32_t resource, uint64_t seed)
{
    struct admin_reply value;
    struct admin_reply ttl;
    struct keys_view view;
    const char *name = links_names[resource];
    int64_t before_ns = loop_now_ns();
    LINKS_MUST(node_order(&links.node, (const char *[]){"GET", name, NULL}, &value, &links_why));
    LINKS_MUST(node_order(&links.node, (const char *[]){"PTTL", name, NULL}, &ttl, &links_why));
    int64_t after_ns = loop_now_ns();
    keys_look(links.keys, 0, resource, before_ns, &view);
    bool there = value.items[0].data != NULL;
    bool perhaps = view.present && view.earliest_ns <= after_ns;
    cr_assert(there == view.present || perhaps, "seed %llu: %s is %s", (unsigned long long)seed,
              name, there ? "there" : "gone");
    if (!there || !view.present || perhaps) {
        return;
    }
    struct history_value expected;
    keys_value(value.items[0].data, value.items[0].bytes, &expected);
    cr_assert(history_value_equal(&view.value, &expected), "seed %llu: value of %s",
              (unsigned long long)seed, name);
    int64_t left_ms = ttl.items[0].integer;
    if (left_ms < 0) {
        cr_assert_eq(view.latest_ns, TIME_NEVER, "seed %llu", (unsigned long long)seed);
        return;
    }
    cr_assert_leq(before_ns + (left_ms - 1) * NS_PER_MS, view.latest_ns, "seed %llu",
                  (unsigned long long)seed);
    cr_assert_geq(after_ns + (left_ms + 1) * NS_PER_MS, view.earliest_ns, "seed %llu",
                  (unsigned long long)seed);
}

/* The view never had to be corrected: no key went without a cause that was seen. */
static void no_surprises(uint64_t seed)
{
    for (uint32_t i = 0; i < links.event_count; i++) {
        const struct history_event *event = &links.events[i];
        cr_assert_not(event->f == HISTORY_KEY_LOST && event->cause == CAUSE_NONE, "seed %llu",
                      (unsigned long long)seed);
    }
    links.event_count = 0;
}

static uint64_t test_seed(void)
{
    const char *given = getenv("PICKLOCK_TEST_SEED");
    return given != NULL ? strtoull(given, NULL, 10) : (uint64_t)loop_now_ns();
}

/*
 * A key whose time is up is still in the server's memory until someone looks: a clock that steps
 * back then brings it to life again. Make the server look, and stay away from ends that are near.
 */
static bool jump_is_clear(void)
{
    struct admin_reply reply;
    bool clear = true;
    int64_t now_ns = loop_now_ns();
    for (uint32_t resource = 0; resource < 3; resource++) {
        struct keys_view view;
        keys_look(links.keys, 0, resource, now_ns, &view);
        clear = clear && (!view.present || view.earliest_ns > now_ns + NS_PER_S);
        LINKS_MUST(node_order(&links.node, (const char *[]){"GET", links_names[resource], NULL},
                              &reply, &links_why));
    }
    settle(); /* what it found gone by that has been told */
    return clear;
}

/* What two clients send at once has an order that only the server knows: it tells. */
Test(keys, the_view_equals_the_server_after_random_commands)
{
    uint64_t seed = test_seed();
    struct random_stream random = random_stream("keys", seed);
    int fds[LINKS_CLIENTS] = {links_connect(0), links_connect(1)};
    uint64_t commands = 0;
    for (int round = 0; round < 400; round++) {
        uint64_t count = 1 + random_below(&random, 12);
        for (uint64_t i = 0; i < count; i++) {
            int32_t client = (int32_t)random_below(&random, LINKS_CLIENTS);
            char line[128];
            if (random_below(&random, 3) == 0) {
                send_script(fds[client], &random, client);
            } else {
                draw_command(&random, client, line);
                links_send(fds[client], line);
            }
        }
        commands += count;
        drain(commands);
        if (random_below(&random, 10) == 0 && jump_is_clear()) {
            node_clock_jump((int64_t)random_below(&random, 80) * NS_PER_S - 20 * NS_PER_S);
        }
        for (uint32_t resource = 0; resource < 3; resource++) {
            compare_key(resource, seed);
        }
        char rest[8192];
        for (int i = 0; i < LINKS_CLIENTS; i++) {
            (void)recv(fds[i], rest, sizeof rest, MSG_DONTWAIT);
        }
    }
    no_surprises(seed);
    close(fds[0]);
    close(fds[1]);
}

/* A program whose value is no text reports it in hex. */
Test(keys, value_of_20_bytes_is_what_its_hex_digits_say)
{
    static const char raw[] = "\xfc\xb4"
                              "C\xda\xd3\xff\xe9"
                              "1`\xb0_\xc5\x9c\xdf\xfb\xd6{4 \xbe";
    struct history_value seen;
    struct history_value reported;
    keys_value(raw, sizeof raw - 1, &seen);
    keys_value("fcb443dad3ffe93160b05fc59cdffbd67b3420be", 40, &reported);
    cr_assert(history_value_equal(&seen, &reported));
    keys_value("01234567890123456789", 20, &reported);
    cr_assert(!history_value_equal(&seen, &reported));
}

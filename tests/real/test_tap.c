/* test_tap.c: locks of all shapes, as a real server tells of them: nothing is read off a script. */
#include "tests/real/tap.h"

TestSuite(tap, .init = tap_begin_learning, .fini = links_end, .timeout = 60);

/* ---- hashes ---------------------------------------------------------------------------------- */

/* A re-entrant lock in a hash, the way Redisson does it, in Lua of ours. */
static const char *const hash_acquire =
    "if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then "
    "redis.call('hincrby', KEYS[1], ARGV[2], 1) redis.call('pexpire', KEYS[1], ARGV[1]) "
    "return nil end return redis.call('pttl', KEYS[1])";
static const char *const hash_renew =
    "if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then "
    "redis.call('pexpire', KEYS[1], ARGV[1]) return 1 end return 0";
static const char *const hash_release =
    "local latch = redis.call('get', KEYS[3]) if latch ~= false then return tonumber(latch) end "
    "if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end "
    "local left = redis.call('hincrby', KEYS[1], ARGV[3], -1) "
    "if left > 0 then redis.call('pexpire', KEYS[1], ARGV[2]) "
    "redis.call('set', KEYS[3], 0, 'px', ARGV[4]) return 0 end "
    "redis.call('del', KEYS[1]) redis.call('publish', KEYS[2], ARGV[1]) "
    "redis.call('set', KEYS[3], 1, 'px', ARGV[4]) return 1";

static void hash_release_by(int fd, const char *owner, const char *latch, const char *reply)
{
    ASK(fd, reply, "EVAL", hash_release, "3", "r0", "channel:{r0}", latch, "0", "60000", owner,
        "10000");
}

Test(tap, a_lock_in_a_hash_with_a_watchdog_and_a_latch_is_followed)
{
    int fd = links_connect(0);
    int other = links_connect(1);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "$-1", "EVAL", hash_acquire, "1", "r0", "60000", "me:1");
    saw(HISTORY_KEY_SET, 0);
    cr_assert_eq(newest()->ttl_ns, 60 * NS_PER_S);
    value_is(&newest()->value, "me:1");
    cr_assert_eq(links.deed.did, KEYS_DID_SET);
    cr_assert(links.deed.holds);
    told(0, HISTORY_ACQUIRE, HISTORY_OK, "me:1");
    asks(1, HISTORY_ACQUIRE);
    send_list(other, (const char *[]){"EVAL", hash_acquire, "1", "r0", "60000", "you:1", NULL});
    char left[32];
    cr_assert_gt(links_receive(other, left, sizeof left), 0);
    saw(HISTORY_KEY_REFUSED, 1);
    cr_assert_eq(links.deed.did, KEYS_DID_REFUSED);
    cr_assert_not(links.deed.holds);
    ASK(fd, ":1", "EVAL", hash_renew, "1", "r0", "90000", "me:1"); /* nobody asked for it */
    saw(HISTORY_KEY_EXTENDED, 0);
    cr_assert_eq(newest()->cause, CAUSE_NONE);
    cr_assert_eq(newest()->ttl_ns, 90 * NS_PER_S);
    ASK(fd, "$-1", "EVAL", hash_acquire, "1", "r0", "60000", "me:1"); /* held twice */
    saw(HISTORY_KEY_EXTENDED, 0);
    asks(0, HISTORY_RELEASE);
    hash_release_by(fd, "me:1", "latch:{r0}:1", ":0");
    saw(HISTORY_KEY_EXTENDED, 0);
    hash_release_by(fd, "me:1", "latch:{r0}:2", ":1");
    saw(HISTORY_KEY_DELETED, 0);
    cr_assert_eq(newest()->cause, CAUSE_RELEASED);
    cr_assert_eq(links.role, ROLE_DELETE);
    close(fd);
    close(other);
}

/* Its count of grants comes to be before the lock does, and never goes. */
static const char *const fenced_acquire =
    "if redis.call('exists', KEYS[1]) == 0 then redis.call('incr', KEYS[2]) "
    "redis.call('hset', KEYS[1], ARGV[2], 1) redis.call('pexpire', KEYS[1], ARGV[1]) "
    "return {redis.call('get', KEYS[2])} end return {-1}";

Test(tap, a_count_of_grants_beside_the_lock_is_not_the_lock)
{
    int fd = links_connect(0);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "*1", "EVAL", fenced_acquire, "2", "r0", "token:{r0}", "60000", "me:1");
    links_expect(fd, "$1");
    links_expect(fd, "1");
    saw(HISTORY_KEY_SET, 0);
    cr_assert(newest()->flags & HISTORY_HAS_UNTIL);
    told(0, HISTORY_ACQUIRE, HISTORY_OK, "me:1");
    asks(0, HISTORY_RELEASE);
    ASK(fd, ":1", "DEL", "r0");
    saw(HISTORY_KEY_DELETED, 0);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "*1", "EVAL", fenced_acquire, "2", "r0", "token:{r0}", "60000", "me:2");
    saw(HISTORY_KEY_SET, 0);
    cr_assert_str_eq(keys_unwatched(links.keys), "");
    close(fd);
}

/* ---- scripts whose words mislead ------------------------------------------------------------- */

Test(tap, the_ttl_is_the_one_that_was_set_whatever_other_numbers_there_are)
{
    static const char *const acquire =
        "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3]) then return "
        "redis.status_reply('OK') end if redis.call('getrange', KEYS[1], 0, ARGV[2] - 1) == "
        "string.sub(ARGV[1], 1, ARGV[2]) then return redis.call('pexpire', KEYS[1], ARGV[3]) end";
    int fd = links_connect(0);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "+OK", "EVAL", acquire, "1", "lock:r0", "abcdefghijklmnopqrstuv", "22", "45000");
    saw(HISTORY_KEY_SET, 0);
    cr_assert_eq(newest()->ttl_ns, 45 * NS_PER_S);
    close(fd);
}

Test(tap, a_read_is_no_extension_and_a_set_of_the_same_value_is)
{
    int fd = links_connect(0);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "+OK", "SET", "r0", "mine", "NX", "PX", "60000");
    saw(HISTORY_KEY_SET, 0);
    told(0, HISTORY_ACQUIRE, HISTORY_OK, "mine");
    asks(0, HISTORY_EXTEND);
    ASK(fd, "$4", "GET", "r0");
    links_expect(fd, "mine");
    cr_assert_eq(links.deed.did, 0);
    ASK(fd, "+OK", "SET", "r0", "mine", "XX", "PX", "80000");
    saw(HISTORY_KEY_EXTENDED, 0);
    cr_assert_eq(newest()->ttl_ns, 80 * NS_PER_S);
    cr_assert_eq(links.role, ROLE_EXTEND);
    close(fd);
}

Test(tap, a_deletion_that_answers_0_is_a_deletion)
{
    static const char *const release =
        "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) return 0 end "
        "return 1";
    int fd = links_connect(0);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "+OK", "SET", "r0", "mine", "NX", "PX", "60000");
    saw(HISTORY_KEY_SET, 0);
    asks(0, HISTORY_RELEASE);
    ASK(fd, ":0", "EVAL", release, "1", "r0", "mine");
    saw(HISTORY_KEY_DELETED, 0);
    cr_assert_eq(newest()->cause, CAUSE_RELEASED);
    cr_assert_eq(links.deed.did, KEYS_DID_DELETE);
    ASK(fd, ":1", "EVAL", release, "1", "r0", "mine");
    saw(HISTORY_KEY_KEPT, 0);
    value_is(&newest()->value, "mine");
    close(fd);
}

Test(tap, a_script_that_somebody_else_taught_the_node_is_seen)
{
    static const char *const text = "return redis.call('del', KEYS[1])";
    int fd = links_connect(0);
    struct admin_reply sha;
    char hex[41];
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "+OK", "SET", "r0", "mine", "NX", "PX", "60000");
    saw(HISTORY_KEY_SET, 0);
    LINKS_MUST(
        node_order(&links.node, (const char *[]){"SCRIPT", "LOAD", text, NULL}, &sha, &links_why));
    (void)snprintf(hex, sizeof hex, "%.40s", sha.items[0].data);
    ASK(fd, ":1", "EVALSHA", hex, "1", "r0");
    saw(HISTORY_KEY_DELETED, 0);
    close(fd);
}

Test(tap, a_script_is_taken_for_what_it_was_seen_to_do)
{
    static const char *const set = "return redis.call('set', KEYS[1], ARGV[1], 'PX', 60000, 'NX')";
    int fd = links_connect(0);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "+OK", "EVAL", set, "1", "r0", "mine");
    cr_assert_eq(links.arrivals, 1);
    told(0, HISTORY_ACQUIRE, HISTORY_OK, "mine");
    ASK(fd, "$-1", "EVAL", set, "1", "r0", "mine"); /* nobody asked: it is known by now */
    cr_assert_eq(links.arrivals, 2);
    cr_assert_eq(links.deed.did, KEYS_DID_REFUSED);
    close(fd);
}

/* A fault that waits for a set meets the first one, too. */
Test(tap, a_command_that_fills_or_moves_a_key_is_taken_for_what_was_asked_for)
{
    int fd = links_connect(0);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, ":1", "HSETNX", "r0", "owner", "mine");
    cr_assert_eq(links.role, ROLE_SET);
    ASK(fd, ":1", "PEXPIRE", "r0", "60000");
    ASK(fd, ":1", "INCR", "fence"); /* counts nothing that is known to be a lock */
    cr_assert_eq(links.role, ROLE_OTHER);
    told(0, HISTORY_ACQUIRE, HISTORY_OK, "mine");
    asks(0, HISTORY_RELEASE);
    ASK(fd, ":1", "HDEL", "r0", "owner");
    cr_assert_eq(links.role, ROLE_DELETE);
    told(0, HISTORY_RELEASE, HISTORY_OK, NULL);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, ":1", "HSET", "queue", "mine", "1"); /* the lock is known by now */
    cr_assert_eq(links.role, ROLE_OTHER);
    ASK(fd, "+OK", "SET", "draft", "mine", "PX", "50000");
    ASK(fd, ":1", "RENAMENX", "draft", "r0");
    cr_assert_eq(links.role, ROLE_SET);
    close(fd);
}

/* ---- other shapes ---------------------------------------------------------------------------- */

/* Whose a hash is, in the shapes that libraries give it. "me" is what the library reports. */
static const struct {
    const char *about;
    const char *const words[12]; /* NULL ends */
} hash_shapes[] = {
    {"a field beside a count, by a script",
     {"EVAL", "return redis.call('hincrby', KEYS[1], ARGV[1], 1)", "1", "r0", "me"}},
    {"a field beside a count", {"HINCRBY", "r0", "me", "1"}},
    {"the value of a field that the script names",
     {"EVAL", "return redis.call('hset', KEYS[1], 'owner', ARGV[1], 'count', 1)", "1", "r0", "me"}},
    {"the value of a field that the program names",
     {"EVAL", "return redis.call('hset', KEYS[1], ARGV[2], 1, ARGV[1], ARGV[3])", "1", "r0",
      "holder", "count", "me"}},
    {"the value of a field, behind others",
     {"HSET", "r0", "count", "1", "since", "1795878492", "owner", "me"}},
    {"a field, written behind what the lock is",
     {"EVAL",
      "redis.call('hset', KEYS[1], 'mode', 'write') return redis.call('hincrby', KEYS[1], ARGV[1], "
      "1)",
      "1", "r0", "me"}},
    {"a long field before a short value", {"HSET", "r0", "0f8fad5b-d9cb-469f-a165", "write"}},
};

Test(tap, the_owner_of_a_hash_is_the_name_or_the_value_of_a_field)
{
    for (size_t i = 0; i < sizeof hash_shapes / sizeof hash_shapes[0]; i++) {
        const char *const *words = hash_shapes[i].words;
        const char *owner = strcmp(words[1], "r0") == 0 && strlen(words[2]) > 16 ? words[2] : "me";
        struct history_value value;
        int fd = links_connect(0);
        asks(0, HISTORY_ACQUIRE);
        char reply[16];
        send_list(fd, words);
        cr_assert_gt(links_receive(fd, reply, sizeof reply), 0);
        keys_value(owner, strlen(owner), &value);
        cr_assert(newest()->flags & HISTORY_HAS_VALUE, "%s", hash_shapes[i].about);
        cr_assert(history_value_equal(&newest()->value, &value), "%s", hash_shapes[i].about);
        ASK(fd, ":1", "DEL", "r0");
        close(fd);
    }
}

Test(tap, another_owner_in_the_field_that_says_it_is_another_set)
{
    int fd = links_connect(0);
    int other = links_connect(1);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, ":2", "HSET", "r0", "owner", "me", "count", "1");
    saw(HISTORY_KEY_SET, 0);
    ASK(fd, ":0", "HSET", "r0", "count", "2");
    saw(HISTORY_KEY_TOUCHED, 0);
    asks(1, HISTORY_ACQUIRE);
    ASK(other, ":0", "HSET", "r0", "owner", "you");
    saw(HISTORY_KEY_SET, 1);
    close(other);
    close(fd);
}

Test(tap, a_counter_is_held_above_0)
{
    int fd = links_connect(0);
    int other = links_connect(1);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, ":1", "INCR", "sem:r0");
    saw(HISTORY_KEY_SET, 0);
    ASK(fd, ":1", "PEXPIRE", "sem:r0", "60000");
    saw(HISTORY_KEY_EXTENDED, 0);
    told(0, HISTORY_ACQUIRE, HISTORY_OK, NULL);
    asks(1, HISTORY_ACQUIRE);
    ASK(other, ":2", "INCR", "sem:r0");
    saw(HISTORY_KEY_TOUCHED, 1);
    ASK(other, ":1", "DECR", "sem:r0");
    saw(HISTORY_KEY_TOUCHED, 1);
    told(1, HISTORY_ACQUIRE, HISTORY_FAIL, NULL);
    asks(0, HISTORY_RELEASE);
    ASK(fd, ":0", "DECR", "sem:r0");
    saw(HISTORY_KEY_DELETED, 0);
    asks(1, HISTORY_ACQUIRE);
    ASK(other, ":1", "INCR", "sem:r0");
    saw(HISTORY_KEY_SET, 1);
    close(fd);
    close(other);
}

/* Another may take an entry out that is over by a time that only the library knows. */
Test(tap, nobody_is_accused_of_taking_entries_out_of_a_sorted_set)
{
    int fd = links_connect(0);
    int other = links_connect(1);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, ":1", "ZADD", "r0", "1", "mine");
    saw(HISTORY_KEY_SET, 0);
    asks(1, HISTORY_ACQUIRE);
    ASK(other, ":1", "ZREMRANGEBYSCORE", "r0", "0", "5");
    saw(HISTORY_KEY_DELETED, HISTORY_NOBODY);
    cr_assert_eq(newest()->cause, CAUSE_NONE);
    ASK(other, ":1", "ZADD", "r0", "9", "yours");
    saw(HISTORY_KEY_SET, 1);
    close(fd);
    close(other);
}

Test(tap, a_list_that_is_pushed_and_popped_is_followed)
{
    int fd = links_connect(0);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, ":1", "RPUSH", "r0", "mine");
    saw(HISTORY_KEY_SET, 0);
    ASK(fd, "$4", "LPOP", "r0");
    saw(HISTORY_KEY_DELETED, 0);
    close(fd);
}

Test(tap, a_grant_that_no_key_stands_for_is_not_understood)
{
    int fd = links_connect(0);
    order((const char *[]){"RPUSH", "free:r0", "token", NULL});
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "$5", "LPOP", "free:r0");
    links_expect(fd, "token");
    told(0, HISTORY_ACQUIRE, HISTORY_OK, "token");
    cr_assert_neq(strlen(keys_unwatched(links.keys)), 0);
    close(fd);
}

/* Scores may be the ends of leases: the key needs none. */
Test(tap, a_sorted_set_without_an_end_is_not_understood)
{
    int fd = links_connect(0);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, ":1", "ZADD", "r0", "1", "mine");
    ASK(fd, ":1", "PEXPIRE", "r0", "60000");
    told(0, HISTORY_ACQUIRE, HISTORY_OK, "mine");
    cr_assert_str_eq(keys_unwatched(links.keys), "");
    ASK(fd, ":1", "PERSIST", "r0");
    told(0, HISTORY_ACQUIRE, HISTORY_OK, "mine");
    cr_assert_neq(strlen(keys_unwatched(links.keys)), 0);
    close(fd);
}

Test(tap, a_grant_for_which_nothing_was_done_is_not_excused)
{
    asks(0, HISTORY_ACQUIRE);
    told(0, HISTORY_ACQUIRE, HISTORY_OK, "lie");
    cr_assert_str_eq(keys_unwatched(links.keys), "");
}

Test(tap, a_key_that_is_moved_or_copied_into_place_is_there)
{
    int fd = links_connect(0);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "+OK", "SET", "r0", "first", "PX", "60000");
    saw(HISTORY_KEY_SET, 0);
    told(0, HISTORY_ACQUIRE, HISTORY_OK, "first");
    ASK(fd, ":1", "DEL", "r0");
    saw(HISTORY_KEY_DELETED, 0);
    ASK(fd, "+OK", "SET", "draft", "mine", "PX", "50000");
    ASK(fd, ":1", "RENAMENX", "draft", "r0");
    saw(HISTORY_KEY_SET, 0);
    value_is(&newest()->value, "mine");
    cr_assert(newest()->flags & HISTORY_HAS_UNTIL);
    ASK(fd, "+OK", "RENAME", "r0", "away");
    saw(HISTORY_KEY_DELETED, 0);
    close(fd);
}

Test(tap, ends_are_given_moved_and_taken)
{
    int fd = links_connect(0);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, ":1", "SETNX", "r0", "mine");
    saw(HISTORY_KEY_SET, 0);
    cr_assert_not(newest()->flags & HISTORY_HAS_TTL);
    ASK(fd, ":1", "EXPIRE", "r0", "60");
    saw(HISTORY_KEY_EXTENDED, 0);
    cr_assert_eq(newest()->ttl_ns, 60 * NS_PER_S);
    ASK(fd, "+OK", "SET", "r0", "mine", "KEEPTTL");
    saw(HISTORY_KEY_TOUCHED, 0);
    ASK(fd, ":1", "PERSIST", "r0");
    saw(HISTORY_KEY_EXTENDED, 0);
    cr_assert_not(newest()->flags & HISTORY_HAS_UNTIL);
    ASK(fd, ":1", "PEXPIRE", "r0", "0"); /* shows as a deletion, or as an expiry in Valkey */
    saw(HISTORY_KEY_DELETED, 0);
    close(fd);
}

/* ---- transactions, databases, functions ------------------------------------------------------ */

Test(tap, a_transaction_is_one_command)
{
    int fd = links_connect(0);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "+OK", "MULTI");
    ASK(fd, "+QUEUED", "SETNX", "r0", "mine");
    ASK(fd, "+QUEUED", "PEXPIRE", "r0", "60000");
    cr_assert_eq(links.event_count, 0);
    cr_assert_eq(links.arrivals, 0);
    ASK(fd, "*2", "EXEC");
    saw(HISTORY_KEY_SET, 0);
    cr_assert_eq(newest()->ttl_ns, 60 * NS_PER_S);
    cr_assert_eq(links.arrivals, 1, "EXEC is what sets");
    cr_assert_eq(links.role, ROLE_SET);
    cr_assert_eq(links.deed.did, KEYS_DID_SET);
    close(fd);
}

Test(tap, a_pipelined_transaction_between_others_is_one_command)
{
    int fd = links_connect(0);
    asks(0, HISTORY_ACQUIRE);
    links_send(fd, "SET r0 a NX PX 60000\r\nMULTI\r\nDEL r0\r\nSET r0 a NX PX 60000\r\nEXEC\r\n"
                   "SET r0 a NX PX 60000");
    links_expect(fd, "+OK");
    links_expect(fd, "+OK");
    links_expect(fd, "+QUEUED");
    links_expect(fd, "+QUEUED");
    links_expect(fd, "*2");
    links_expect(fd, ":1");
    links_expect(fd, "+OK");
    links_expect(fd, "$-1");
    cr_assert_eq(links.event_count, 3);
    cr_assert_eq(links.events[0].f, HISTORY_KEY_SET);
    cr_assert_eq(links.events[1].f, HISTORY_KEY_EXTENDED, "the same value again");
    cr_assert_eq(links.events[2].f, HISTORY_KEY_REFUSED);
    close(fd);
}

Test(tap, keys_of_another_database_are_told_apart)
{
    int fd = links_connect(0);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "+OK", "SELECT", "3");
    ASK(fd, "+OK", "SET", "r0", "mine", "NX", "PX", "60000");
    saw(HISTORY_KEY_SET, 0);
    told(0, HISTORY_ACQUIRE, HISTORY_OK, "mine");
    order((const char *[]){"DEL", "r0", NULL}); /* of database 0: another key */
    ASK(fd, ":1", "PEXPIRE", "r0", "70000");
    saw(HISTORY_KEY_EXTENDED, 0);
    ASK(fd, ":1", "DEL", "r0");
    saw(HISTORY_KEY_DELETED, 0);
    close(fd);
}

Test(tap, a_function_is_followed_where_the_server_has_them)
{
    static const char *const library =
        "#!lua name=lock\nredis.register_function('take', function(keys, args) return "
        "redis.call('set', keys[1], args[1], 'NX', 'PX', args[2]) end)";
    struct admin_reply reply;
    LINKS_MUST(node_ask(&links.node, (const char *[]){"FUNCTION", "LOAD", library, NULL}, &reply,
                        &links_why));
    if (reply.type == '-') {
        return; /* before 7.0 */
    }
    int fd = links_connect(0);
    asks(0, HISTORY_ACQUIRE);
    ASK(fd, "+OK", "FCALL", "take", "1", "r0", "mine", "60000");
    saw(HISTORY_KEY_SET, 0);
    cr_assert_eq(newest()->ttl_ns, 60 * NS_PER_S);
    ASK(fd, "$-1", "FCALL", "take", "1", "r0", "mine", "60000");
    saw(HISTORY_KEY_REFUSED, 0);
    close(fd);
}

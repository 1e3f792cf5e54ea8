/* test_linear_verdicts.c: small histories whose verdict docs/LINEARIZABLE.md gives. */
#include "tests/checker/notation.h"

struct line {
    enum linear_model model;
    enum verdict verdict;
    const char *history;
};

static void expect_all(const struct line *lines, size_t count, struct linear_options options)
{
    for (size_t i = 0; i < count; i++) {
        struct linear_options own = options;
        own.model = (uint8_t)lines[i].model;
        struct linear_result result = notation_judge(&own, lines[i].history);
        cr_expect_eq(result.verdict, lines[i].verdict, "%s: \"%s\" is %s, not %s (%s, limit %d)",
                     linear_model_name(lines[i].model), lines[i].history,
                     verdict_name((enum verdict)result.verdict), verdict_name(lines[i].verdict),
                     linear_reason_sentence((enum linear_reason)result.reason), result.limit);
    }
}

#define EXPECT_ALL(lines, ...)                                                                     \
    do {                                                                                           \
        struct linear_options options = linear_options_default(LINEAR_OWNER);                      \
        options.bytes_max = (size_t)1 << 28;                                                       \
        __VA_ARGS__;                                                                               \
        expect_all(lines, sizeof(lines) / sizeof(lines)[0], options);                              \
    } while (0)

/* A value may be learned at the end of an acquire; a process is known from its invoke on. */
Test(linear_verdicts, a_process_that_never_asked_cannot_release)
{
    static const struct line lines[] = {
        {LINEAR_OWNER, VERDICT_FAIL, "a1:0-3 r4:1-2"},
        {LINEAR_FENCED, VERDICT_FAIL, "a1:0-3#1 r4:1-2"},
        {LINEAR_SEMAPHORE, VERDICT_FAIL, "a1:0-3 r4:1-2"},
        {LINEAR_LEASE, VERDICT_FAIL, "a1:0-3 r4:1-2"},
        {LINEAR_OWNER, VERDICT_FAIL, "a2:0-1 r2:2-3 r2:4-5 a1:5-6"},
        {LINEAR_FENCED, VERDICT_FAIL, "a2:0-1 r2:2-3 r2:4-5 a1:5-6"},
        {LINEAR_SEMAPHORE, VERDICT_FAIL, "a2:0-1 r2:2-3 r2:4-5 a1:5-6"},
        {LINEAR_LEASE, VERDICT_FAIL, "a2:0-1 r2:2-3 r2:4-5 a1:5-6"},
        {LINEAR_OWNER, VERDICT_FAIL, "a1:0-3:i a2:4-5 r3:6-7"},
        {LINEAR_OWNER, VERDICT_PASS, "a1:0-3:i a2:4-5 r2:6-7 r1:8-9"},
        {LINEAR_OWNER, VERDICT_PASS, "a1:0-1 r1:1-2 a2:2-3"},
    };
    EXPECT_ALL(lines, (void)0);
}

/* A name that only the end tells may be any acquire's that is under way, but one at a time. */
Test(linear_verdicts, a_release_needs_an_acquire_that_turns_out_to_be_its)
{
    static const struct line lines[] = {
        {LINEAR_OWNER, VERDICT_FAIL, "a1:0-9+y r2.x:4-5"},
        {LINEAR_OWNER, VERDICT_PASS, "a1:0-9+x r2.x:4-5"},
        {LINEAR_OWNER, VERDICT_FAIL, "a1:0-1+x r1.x:2-3 a2:4-9+y r1.x:5-6"},
        {LINEAR_FENCED, VERDICT_FAIL, "a1:0-1+x r1.x:2-3 a2:4-9+y r1.x:5-6"},
        {LINEAR_SEMAPHORE, VERDICT_FAIL, "a1:0-1+x r1.x:2-3 a2:4-9+y r1.x:5-6"},
        {LINEAR_OWNER, VERDICT_FAIL, "a1:0-1+x r1.x:2-3 a2:4-9:f r1.x:5-6"},
        {LINEAR_OWNER, VERDICT_FAIL, "a1:0-1+@x r1@x:2-3 a2:4-9+@y r1@x:5-6"},
        {LINEAR_OWNER, VERDICT_PASS, "a1:0-1+@x r1@x:2-3 a2:4-9+@x r1@x:5-6"},
        {LINEAR_OWNER, VERDICT_PASS, "a1:4-10+x r2.x:6-7 a3.y:8-9"},
        {LINEAR_SEMAPHORE, VERDICT_PASS, "a1:4-10+x r2.x:6-7 a3.y:8-9"},
        {LINEAR_FENCED, VERDICT_PASS, "a1:4-10+x#1 r2.x:6-7 a3.y:8-9#2"},
        {LINEAR_OWNER, VERDICT_PASS, "a1:0-1+x r1.x:2-3 a2:4-9:i r1.x:5-6"},
        {LINEAR_OWNER, VERDICT_PASS, "a2:0-1:i r1.x:5-6"},
        {LINEAR_OWNER, VERDICT_FAIL, "a2:7-8:i r1.x:5-6 a3:4-9+y"},
        {LINEAR_OWNER, VERDICT_PASS, "a2:4-8:i r1.x:5-6 o3:9-9=-"},
        {LINEAR_OWNER, VERDICT_FAIL, "a2:4-8:i a1.y:0-3 r3.x:5-6"},
        {LINEAR_SEMAPHORE, VERDICT_PASS, "a2:4-8:i r1.x:5-6"},
        {LINEAR_LEASE, VERDICT_PASS, "a2:4-8:i r1.x:5-6"},
    };
    EXPECT_ALL(lines, (void)0);
}

/* Values, and owners where holds are told apart by them: only the end may name one. */
Test(linear_verdicts, an_owner_may_be_named_by_the_end_of_an_acquire)
{
    static const struct line lines[] = {
        {LINEAR_REENTRANT, VERDICT_PASS, "a1:0-1+@x r1@x:3-4"},
        {LINEAR_REENTRANT_FENCED, VERDICT_PASS, "a1:0-1+@x#1 r1@x:3-4"},
        {LINEAR_REENTRANT, VERDICT_PASS, "a1:0-1+@x a1:2-3+@x r1@x:4-5 r1@x:6-7"},
        {LINEAR_REENTRANT, VERDICT_FAIL, "a1:0-1+@x a1:2-3+@x r1@x:4-5 r1@x:6-7 r1@x:8-9"},
        {LINEAR_REENTRANT, VERDICT_FAIL, "a1:0-1+@x a2:2-3+@y"},
        {LINEAR_REENTRANT, VERDICT_PASS, "a1:0-9+@x r2@x:4-5"},
        {LINEAR_REENTRANT_FENCED, VERDICT_PASS, "a1@x:0-1#1 a2:0-9+@x#1 r1@x:2-3"},
        {LINEAR_REENTRANT, VERDICT_PASS, "a1:0-9:f a1:10-11 r1:12-13"},
        {LINEAR_REENTRANT, VERDICT_PASS, "a2:0-1:i r1@x:5-6"},
        {LINEAR_OWNER, VERDICT_PASS, "a1.v:0-1+@x r1@x:3-4"},
        {LINEAR_OWNER, VERDICT_FAIL, "a1:0-1+@x a2:2-3+@y"},
        {LINEAR_SEMAPHORE, VERDICT_PASS, "a1:0-1+@x r1@x:3-4"},
    };
    EXPECT_ALL(lines, options.by_owner = true);
}

/* An acquire of unknown outcome that never told a name may be anybody's, whatever shows the holder.
 */
Test(linear_verdicts, an_acquire_that_named_nobody_explains_a_holder)
{
    static const struct line lines[] = {
        {LINEAR_LEASE_EXACT, VERDICT_PASS, "a1:1-6:i r2.x:1-7"},
        {LINEAR_LEASE_EXACT, VERDICT_PASS, "a1:1-6:i e2.x:1-7"},
        {LINEAR_LEASE_EXACT, VERDICT_FAIL, "a1:8-9:i e2.x:1-7"},
        {LINEAR_LEASE_EXACT, VERDICT_FAIL, "a1:1-6:i r2.x:1-7 r2.x:8-9"},
        {LINEAR_LEASE_REFRESHED, VERDICT_PASS, "a3:0-1:i e4.y:2-2"},
        {LINEAR_LEASE, VERDICT_PASS, "a1@x:0-8/4 r1@x:10-11 a1@x:12-13 r1@x:15-16 a2:0-1:i"},
        {LINEAR_OWNER, VERDICT_PASS, "a1:0-1:i o2:2-3=x r1.x:4-5:f"},
        {LINEAR_OWNER, VERDICT_FAIL, "a1:3-4:i o2:0-2=x"},
        {LINEAR_OWNER, VERDICT_PASS, "r1.x:2-4:i a1:6-8:i o1:13-15=* o1:16-16=-"},
        {LINEAR_SEMAPHORE, VERDICT_PASS, "a4:0-1:i r1.x:0-1:f o3:1-2=x"},
        {LINEAR_REENTRANT, VERDICT_PASS, "o2:0-2=* a2@x:4-9 a1:1-5:i"},
        {LINEAR_FENCED, VERDICT_FAIL, "a1:0-1:i r1.x:2-3 r1.x:4-5"},
    };
    EXPECT_ALL(lines, options.ttl_ns = 10);
}

/* The owner goes on after an unknown outcome, so this is not told as events arrive. */
Test(linear_verdicts, fences_of_a_reentrant_lock_never_fall)
{
    static const struct line lines[] = {
        {LINEAR_REENTRANT_FENCED, VERDICT_FAIL, "a1:0-1#5 r1:2-3:i a1:4-5#4"},
        {LINEAR_REENTRANT_FENCED, VERDICT_PASS, "a1:0-1#5 r1:2-3:i a1:4-5#5"},
        {LINEAR_REENTRANT_FENCED, VERDICT_PASS, "a1:0-1#5 r1:2-3:i a1:4-5 r1:6-7:i a1:8-9#6"},
        {LINEAR_REENTRANT_FENCED, VERDICT_PASS, "a1:0-1:i a2:2-6#5 r2:7-8 a1:4-6#4 r1:4-6"},
        {LINEAR_REENTRANT_FENCED, VERDICT_FAIL, "a1:0-1:i a2:2-4#5 r2:4-4 a1:5-6#4 r1:6-7"},
    };
    EXPECT_ALL(lines, (void)0);
}

/* Of two acquires of one value the release may be of the one whose end tells it later. */
Test(linear_verdicts, a_release_may_be_of_an_acquire_that_is_named_later)
{
    static const struct line lines[] = {
        {LINEAR_OWNER, VERDICT_PASS, "a2.x:0-1:i a1:0-4+x r2.x:2-2 a2.y:2-2"},
        {LINEAR_OWNER, VERDICT_PASS, "a2.x:0-3:f a1:0-4+x r2.x:1-2 a3.y:3-3"},
        {LINEAR_FENCED, VERDICT_PASS, "a2.x:0-1:i a1:0-4+x#1 r2.x:2-2 a2.y:2-2#2"},
        {LINEAR_SEMAPHORE, VERDICT_PASS, "a2.x:0-1:i a1:0-4+x r2.x:2-2 a2.y:2-2"},
        {LINEAR_OWNER, VERDICT_FAIL, "a2.x:0-1:i a1:0-4+x r2.x:2-2 a2.y:2-2 a3.z:5-6"},
    };
    EXPECT_ALL(lines, (void)0);
}

/* An owner that holds again is judged like any other. */
Test(linear_verdicts, exact_leases_of_one_owner_follow_each_other)
{
    static const struct line lines[] = {
        {LINEAR_LEASE_EXACT, VERDICT_PASS, "a1:0-1 r1:2-3 a1:4-5 r1:6-7"},
        {LINEAR_LEASE_EXACT, VERDICT_FAIL, "a1:0-1 r1:2-3 r1:4-5"},
        {LINEAR_LEASE_EXACT, VERDICT_FAIL, "a1:0-1 a2:4-5 r1:6-7"},
        {LINEAR_LEASE_EXACT, VERDICT_PASS, "a1:0-1 a2:100-101 a1:300-301"},
        {LINEAR_LEASE_EXACT, VERDICT_FAIL, "a1:0-1 r1:200-201"},
        {LINEAR_LEASE_EXACT, VERDICT_PASS, "a1:0-1 e1:90-91 r1:180-181"},
        {LINEAR_LEASE_EXACT, VERDICT_PASS, "a1:0-1 e1:90-91:i r1:180-181"},
        {LINEAR_LEASE_EXACT, VERDICT_FAIL, "a1:0-1 e1:90-91 a2:150-151"},
    };
    EXPECT_ALL(lines, (options.ttl_ns = 100, options.drift_ns = 10));
    static const struct line strong[] = {
        {LINEAR_LEASE_EXACT, VERDICT_PASS, "a1:0-1 a2:50-51:f"},
        {LINEAR_LEASE_EXACT, VERDICT_PASS, "a1:0-1 a2:110-111:f"},
        {LINEAR_LEASE_EXACT, VERDICT_FAIL, "a1:0-1 a2:112-113:f"},
    };
    EXPECT_ALL(strong, (options.ttl_ns = 100, options.drift_ns = 10,
                        options.refused_acquire = LINEAR_REFUSED_HELD));
}

/* Of whom no more is heard, what he can still have done is all that counts: each of it once. */
Test(linear_verdicts, exact_leases_of_who_is_gone_last_as_his_unknown_operations_let_them)
{
    static const struct line lines[] = {
        {LINEAR_LEASE_EXACT, VERDICT_PASS, "a1.x:0-1 e1.x:50-51:i a2.y:60-61:f a2.z:180-181:f"},
        {LINEAR_LEASE_EXACT, VERDICT_FAIL, "a1.x:0-1 e1.x:50-51:i a2.y:60-61:f a2.z:210-211:f"},
        {LINEAR_LEASE_EXACT, VERDICT_PASS,
         "a1.x:0-1 e1.x:50-51:i e1.x:52-53:i a2.y:60-61:f a2.z:210-211:f"},
        {LINEAR_LEASE_EXACT, VERDICT_FAIL,
         "a1.x:0-1 e1.x:50-51:i e1.x:52-53:i a2.y:60-61:f a2.z:310-311:f"},
        {LINEAR_LEASE_EXACT, VERDICT_PASS, "a1.x:0-1 r1.x:2-3:i a2.y:10-11:f a3.z:20-21"},
        {LINEAR_LEASE_EXACT, VERDICT_FAIL, "a1.x:0-1 e1.x:2-3:i a2.y:10-11:f a3.z:20-21"},
        {LINEAR_LEASE_EXACT, VERDICT_PASS,
         "a1.x:0-1:i r1.x:2-3:i a2.y:10-11 r2.y:12-13 a3.z:20-21:f a5.v:30-31"},
        {LINEAR_LEASE_EXACT, VERDICT_FAIL,
         "a1.x:0-1:i e1.x:2-3:i a2.y:10-11 r2.y:12-13 a3.z:20-21:f a5.v:30-31"},
        {LINEAR_LEASE_EXACT, VERDICT_FAIL,
         "a1.x:0-1:i r1.x:2-3:i a2.y:10-11 r2.y:12-13 a3.z:20-21:f a5.v:30-31 r5.v:32-33 "
         "a3.t:50-51:f"},
        {LINEAR_LEASE_EXACT, VERDICT_PASS,
         "a1.x:0-1:i r1.x:2-3:i a4.w:0-1:i a2.y:10-11 r2.y:12-13 a3.z:20-21:f a5.v:30-31 "
         "r5.v:32-33 a3.t:50-51:f"},
    };
    EXPECT_ALL(lines, (options.ttl_ns = 100, options.refused_acquire = LINEAR_REFUSED_HELD));
}

/* The promised end follows from the request, of an acquire of unknown outcome as well. */
Test(linear_verdicts, a_lease_ends_when_its_promise_does)
{
    static const struct line lines[] = {
        {LINEAR_LEASE, VERDICT_PASS, "a1.x:0-5:i a2.y:200-201 r1.x:210-211"},
        {LINEAR_LEASE, VERDICT_PASS, "a1.x:0-5 a2.y:200-201 r1.x:210-211"},
        {LINEAR_LEASE, VERDICT_PASS, "a1.x:0-5 r1.x:200-201 r1.x:210-211"},
        {LINEAR_LEASE, VERDICT_FAIL, "a1.x:0-5 r1.x:20-21 r1.x:30-31"},
        {LINEAR_LEASE, VERDICT_PASS, "a1.x:0-150 a2.y:140-141"},
        {LINEAR_LEASE, VERDICT_PASS, "a1.x:0-100 a2.y:100-101"},
        {LINEAR_LEASE, VERDICT_FAIL, "a1.x:0-5 a2.y:99-99"},
        {LINEAR_LEASE, VERDICT_PASS, "a1.x:0-5 a2.y:99-100"},
    };
    EXPECT_ALL(lines, options.ttl_ns = 100);
    static const struct line strong[] = {
        {LINEAR_LEASE, VERDICT_PASS, "a1.x:0-5:i a2.y:10-11:f a3.z:200-201"},
        {LINEAR_LEASE, VERDICT_FAIL, "a1.x:0-5 a2.y:150-151:f"},
        {LINEAR_LEASE, VERDICT_FAIL, "a1.x:0-5:i a2.y:10-11:f a3.z:20-21"},
    };
    EXPECT_ALL(strong, (options.ttl_ns = 100, options.refused_acquire = LINEAR_REFUSED_HELD));
}

/* Leases that expire silently, and of which only a refresh tells that they are held. */
Test(linear_verdicts, a_refresh_proves_a_hold)
{
    static const struct line lines[] = {
        {LINEAR_LEASE_REFRESHED, VERDICT_PASS, "a1:0-1 a2:2-3"},
        {LINEAR_LEASE_REFRESHED, VERDICT_FAIL, "a1:0-1 a2:2-3 e1:4-5"},
        {LINEAR_LEASE_REFRESHED, VERDICT_FAIL, "a1:0-1 a2:2-3 r1:4-5"},
        {LINEAR_LEASE_REFRESHED, VERDICT_PASS, "a1:0-1 e1:2-3 a2:4-5 e2:6-7 r2:8-9"},
        {LINEAR_LEASE_REFRESHED, VERDICT_FAIL, "a1:0-1/50 a2:2-3"},
        {LINEAR_LEASE_REFRESHED, VERDICT_PASS, "a1:0-1/50 a2:50-51"},
        {LINEAR_LEASE_REFRESHED, VERDICT_FAIL, "a1:0-1/50 e1:40-41/90 a2:60-61"},
        {LINEAR_LEASE_REFRESHED, VERDICT_PASS, "a1:0-1 a2:2-3:i e1:4-5 a2:6-7"},
    };
    EXPECT_ALL(lines, (void)0);
}

Test(linear_verdicts, tokens_grow)
{
    static const struct line lines[] = {
        {LINEAR_TOKENS, VERDICT_PASS, "a1:0-1#1 a2:2-3#2 a1:4-5#9"},
        {LINEAR_TOKENS, VERDICT_FAIL, "a1:0-1#2 a2:2-3#1"},
        {LINEAR_TOKENS, VERDICT_FAIL, "a1:0-1#2 a2:0-3#2"},
        {LINEAR_TOKENS, VERDICT_PASS, "a1:0-2#2 a2:2-3#1"},
        {LINEAR_TOKENS, VERDICT_PASS, "a1:0-1#2 a2:2-3 a3:4-5:f a4:6-7#3"},
        {LINEAR_TOKENS, VERDICT_FAIL, "a1:0-9#5 a2:1-2#7 a3:3-4#6"},
    };
    EXPECT_ALL(lines, (void)0);
}

Test(linear_verdicts, who_holds_to_the_full_depth_is_refused_rightly)
{
    static const struct line lines[] = {
        {LINEAR_REENTRANT, VERDICT_PASS, "a1:0-1 a1:2-3:f"},
        {LINEAR_REENTRANT_FENCED, VERDICT_PASS, "a1:0-1 a1:2-3:f"},
        {LINEAR_REENTRANT, VERDICT_FAIL, "a1:0-1 r1:2-3 a1:4-5:f"},
    };
    EXPECT_ALL(lines, (options.depth_max = 1, options.refused_acquire = LINEAR_REFUSED_HELD));
    static const struct line deeper[] = {
        {LINEAR_REENTRANT, VERDICT_FAIL, "a1:0-1 a1:2-3:f"},
        {LINEAR_REENTRANT, VERDICT_PASS, "a1:0-1 a1:2-3 a1:4-5:f"},
        {LINEAR_REENTRANT, VERDICT_PASS, "a1:0-1 a1:2-3:i a1:4-5:f"},
    };
    EXPECT_ALL(deeper, (options.depth_max = 2, options.refused_acquire = LINEAR_REFUSED_HELD));
}

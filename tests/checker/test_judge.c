/* test_judge.c: the judge is one flat block, follows to its limits, and never passes beyond them.
 */
#include "checker/ledger/ledger.h"
#include "tests/checker/story.h"

#define PAUSED_HOLDER                                                                              \
    HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000) ENTER(11, 1)                    \
        FAULT_OF_CLIENT(20, 1, "pause", "start", 1) ENDED(1005, 1, "expired", "a", "ttl")          \
            ENDED(1005, 2, "expired", "a", "ttl") ENDED(1005, 3, "expired", "a", "ttl")            \
                ASK(1100, 2) SET3(1101, 2, "b", 2101) GRANT(1105, 2, "b", 2090) ENTER(1106, 2)     \
                    FAULT_OF_CLIENT(2000, 1, "pause", "end", 1) LEAVE(2001, 1) FREE(2002, 1)       \
                        FREED(2003, 1) LEAVE(2010, 2)

static struct story story;

/* A judge in memory of its own. */
static struct judge *judge_new(void)
{
    void *memory = memory_resize(NULL, judge_bytes(&story.header, JUDGE_ALL));
    cr_assert_not_null(memory);
    return judge_init(memory, &story.header, JUDGE_ALL);
}

#define DECLARED(what)                                                                             \
    "{'format':'picklock-history','version':1,'nodes':5,'clients':2,'ttl':1000000000,"             \
    "'declared':true,'declares':[" what "]}\n"

Test(judge, of_an_empty_history_every_check_is_skipped_and_says_why)
{
    for (size_t i = 0; i < check_count(); i++) {
        const char *name = check_at(i)->name;
        struct check_result result = judge_lines(name, HEADER);
        if (check_at(i)->required) {
            assert_verdict(result, VERDICT_UNKNOWN);
            continue;
        }
        char expected[256];
        (void)snprintf(expected, sizeof expected, "%s: %s", name, check_at(i)->nothing);
        assert_verdict(result, VERDICT_SKIPPED);
        cr_assert_not(result.inapplicable);
        cr_assert_str_eq(headline(name, HEADER), expected);
    }
}

Test(judge, what_a_lock_does_not_declare_is_skipped_for_that_reason)
{
    cr_assert(judge_lines("validity", DECLARED("")).inapplicable);
    cr_assert(judge_lines("fence_order", DECLARED("'validity'")).inapplicable);
    cr_assert(judge_lines("loss_notice", DECLARED("'validity'")).inapplicable);
    cr_assert_not(judge_lines("exclusion", DECLARED("")).inapplicable);
    cr_assert_not(judge_lines("validity", DECLARED("'validity'")).inapplicable);
    cr_assert_not(judge_lines("validity", HEADER).inapplicable, "nothing was declared");
    cr_assert_str_eq(headline("fence_order", DECLARED("")),
                     "fence_order: the lock declares no fence");
}

/* What is seen counts, whatever was declared. */
Test(judge, what_is_seen_is_judged_although_it_was_not_declared)
{
    struct check_result result =
        judge_lines("fence_order", DECLARED("") ASK(1, 1) GRANT_FENCE(2, 1, 7));
    assert_verdict(result, VERDICT_PASS);
    cr_assert_not(result.inapplicable);
}

/* Whose header does not say how many nodes there are. */
Test(judge, what_nodes_tell_is_passed_over_where_their_number_is_not_known)
{
    static const char lines[] =
        "{'format':'picklock-history','version':1,'clients':2,'ttl':1000000000}\n" ASK(1, 1)
            SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 900)
                ON(20, 9, "extended") ",'process':2,'owner':'a'}\n" EXTEND(30, 1)
                    EXTENDED(31, 1, 950) DELETED_BLINDLY(40, 2, 2, "a")
                        ENDED(50, 1, "expired", "a", "ttl") FREE(60, 1) FREED(61, 1)
                            KEPT(62, 3, 1, "a") HEALED_AT(70) RUN_ENDS(3000);
    for (size_t i = 0; i < check_count(); i++) {
        struct check_result result = judge_lines(check_at(i)->name, lines);
        cr_assert_neq(result.verdict, VERDICT_FAIL, "%s", check_at(i)->name);
    }
}

/* More resources than are followed where the header counts none. */
Test(judge, what_is_behind_the_last_resource_that_is_followed_is_never_a_pass)
{
    story_read(&story, HEADER ASK(1, 1) ASK(1, 2) GRANT(2, 1, "a", 900) REFUSE(3, 2) ASK(4, 2)
                           SET3(5, 2, "b", 1005) GRANT(6, 2, "b", 900) EXTEND(7, 2)
                               EXTENDED(8, 2, 990) ENTER(9, 2) LOST(10, 2) LEAVE(11, 2) FREE(12, 2)
                                   DELETED3(13, 2, "b") FREED(14, 2) RUN_ENDS(900));
    for (size_t i = 4; i + 1 < story.count; i++) {
        story.events[i].resource = UINT32_C(4000000);
    }
    for (size_t i = 0; i < check_count(); i++) {
        struct check_result result = story_judge(&story, check_at(i)->name);
        cr_assert_neq(result.verdict, VERDICT_FAIL, "%s", check_at(i)->name);
        cr_assert(!check_at(i)->follows || result.verdict != VERDICT_PASS, "%s", check_at(i)->name);
    }
}

#define UNWATCHED                                                                                  \
    "{'format':'picklock-history','version':1,'nodes':5,'clients':2,'ttl':1000000000,"             \
    "'unwatched':'node 2 refuses MONITOR'}\n"

Test(judge, where_no_node_can_be_watched_what_judges_keys_is_unknown)
{
    for (size_t i = 0; i < check_count(); i++) {
        const struct check *check = check_at(i);
        struct check_result result = judge_lines(
            check->name, UNWATCHED ASK(1, 1) GRANT(2, 1, "a", 900) FREE(5, 1) FREED(6, 1));
        if (check->keyed) {
            char expected[128];
            (void)snprintf(expected, sizeof expected,
                           "%s: no node told what became of its keys: node 2 refuses MONITOR",
                           check->name);
            assert_verdict(result, VERDICT_UNKNOWN);
            cr_assert_str_eq(headline(check->name, UNWATCHED), expected);
        } else {
            cr_assert_neq(result.reason, CHECK_REASON_UNWATCHED);
        }
    }
    assert_verdict(judge_lines("exclusion", UNWATCHED ASK(1, 1) GRANT(2, 1, "a", 900)),
                   VERDICT_PASS);
}

/* What was told before it turned out that it was not understood counts for nothing. */
Test(judge, keys_that_were_not_understood_accuse_nobody)
{
    const char *lines =
        UNWATCHED ASK(1, 1) SET(1, 1, 1, "b", 900) GRANT(2, 1, "a", 900) FREE(5, 1) FREED(6, 1);
    for (size_t i = 0; i < check_count(); i++) {
        if (check_at(i)->keyed) {
            assert_verdict(judge_lines(check_at(i)->name, lines), VERDICT_UNKNOWN);
        }
    }
}

Test(judge, a_promise_that_was_over_is_one_whether_keys_were_understood_or_not)
{
    assert_fails(judge_lines("validity", UNWATCHED ASK(1, 1) GRANT(20, 1, "a", 10)), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
}

Test(judge, where_keys_were_not_understood_an_eviction_excuses)
{
    struct check_result result = judge_lines(
        "exclusion", UNWATCHED ASK(1, 1) SET(1, 1, 1, "b", 900) GRANT(2, 1, "a", 900)
                         FAULT_OF_NODE(3, 1, "evict", "start", 1) ASK(4, 2) GRANT(5, 2, "c", 900));
    assert_verdict(result, VERDICT_FAIL);
    cr_assert_neq(result.blame, BLAME_LIBRARY);
}

/* Each client has a key of its own: whatever stood for the first grant was to be there for a ttl.
 */
Test(judge, where_keys_were_not_understood_two_grants_within_a_ttl_are_of_the_library)
{
#define TWO_GRANTS(declared, ms)                                                                   \
    "{'format':'picklock-history','version':1,'nodes':5,'clients':2,'ttl':1000000000,"             \
    "'unwatched':'any of several keys may be the lock'" declared "}\n" ASK(1, 1)                   \
        GRANT_OPEN(2, 1, "a") ASK(4, 2) GRANT_OPEN(ms, 2, "c")
    assert_fails(judge_lines("exclusion", TWO_GRANTS(",'declared':true", 1000)), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
    /* A ttl and more later; and a history of which nobody knows what was done to the nodes. */
    cr_assert_neq(judge_lines("exclusion", TWO_GRANTS(",'declared':true", 1001)).blame,
                  BLAME_LIBRARY);
    assert_fails(judge_lines("exclusion", TWO_GRANTS("", 1000)), BLAME_NONE, ASSUMPTION_NONE);
}

/* One client that holds more leases at once than are followed of it. */
static const char *beyond_the_limits(void)
{
    static char lines[STORY_BYTES_MAX];
    struct text text = text_over(lines, sizeof lines);
    text_add(&text, "{'format':'picklock-history','version':1}\n");
    for (int i = 0; i <= LEDGER_CLAIMS; i++) {
        text_add(&text, "{'time':%d,'process':1,'type':'invoke','f':'acquire','resource':'s%d'}\n",
                 2 * i, i);
        text_add(&text, "{'time':%d,'process':1,'type':'ok','f':'acquire','resource':'s%d'}\n",
                 2 * i + 1, i);
    }
    return lines;
}

Test(judge, no_check_passes_what_it_could_not_follow)
{
    story_read(&story, beyond_the_limits());
    for (size_t i = 0; i < check_count(); i++) {
        struct check_result result = story_judge(&story, check_at(i)->name);
        assert_verdict(result, VERDICT_UNKNOWN);
        cr_assert_eq(result.reason, CHECK_REASON_LIMIT, "%s", check_at(i)->name);
    }
}

Test(judge, copy_goes_on_as_the_original_does_from_every_event_on)
{
    story_read(&story, PAUSED_HOLDER);
    size_t bytes = judge_bytes(&story.header, JUDGE_ALL);
    struct judge *whole = judge_new();
    struct judge *copy = judge_new();
    struct judge *other = judge_new();
    for (size_t cut = 0; cut <= story.count; cut++) {
        judge_init(whole, &story.header, JUDGE_ALL);
        for (size_t i = 0; i < story.count; i++) {
            if (i == cut) {
                memcpy(copy, whole, bytes);
            }
            judge_event(whole, &story.events[i]);
        }
        if (cut == story.count) {
            memcpy(copy, whole, bytes);
        }
        memcpy(other, copy, bytes);
        for (size_t i = cut; i < story.count; i++) {
            judge_event(other, &story.events[i]);
        }
        judge_finish(whole);
        judge_finish(other);
        cr_assert_eq(memcmp(whole, other, bytes), 0, "cut at event %zu", cut);
        judge_init(other, &story.header, JUDGE_ALL);
    }
    memory_release(whole);
    memory_release(copy);
    memory_release(other);
}

Test(judge, failure_shows_while_the_run_goes_on)
{
    story_read(&story, PAUSED_HOLDER);
    struct judge *judge = judge_new();
    size_t at = 0;
    while (at < story.count && !judge_failed(judge)) {
        judge_event(judge, &story.events[at++]);
    }
    cr_assert(judge_failed(judge));
    cr_assert_eq(story.events[at - 1].time_ns, (int64_t)2001000000);
    memory_release(judge);
}

Test(judge, check_that_is_left_out_judges_nothing)
{
    story_read(&story, PAUSED_HOLDER);
    uint64_t only = judge_bit("exclusion");
    void *memory = memory_resize(NULL, judge_bytes(&story.header, only));
    struct judge *judge = judge_init(memory, &story.header, only);
    for (size_t i = 0; i < story.count; i++) {
        judge_event(judge, &story.events[i]);
    }
    judge_finish(judge);
    for (size_t i = 0; i < check_count(); i++) {
        bool is_it = strcmp(check_at(i)->name, "exclusion") == 0;
        cr_assert_eq(judge_result(judge, i)->verdict, is_it ? VERDICT_PASS : VERDICT_SKIPPED);
    }
    memory_release(judge);
}

Test(judge, worse_verdict_wins)
{
    cr_assert_eq(verdict_worse(VERDICT_FAIL, VERDICT_UNKNOWN), VERDICT_FAIL);
    cr_assert_eq(verdict_worse(VERDICT_PASS, VERDICT_UNKNOWN), VERDICT_UNKNOWN);
    cr_assert_eq(verdict_worse(VERDICT_SKIPPED, VERDICT_PASS), VERDICT_PASS);
}

Test(judge, names_find_their_check)
{
    for (size_t i = 0; i < check_count(); i++) {
        cr_assert_eq(check_find(check_at(i)->name), check_at(i));
        cr_assert_eq(judge_bit(check_at(i)->name), UINT64_C(1) << i);
    }
    cr_assert_null(check_find("luck"));
    cr_assert_eq(judge_bit("luck"), (uint64_t)0);
}

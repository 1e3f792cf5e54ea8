/* test_ownership.c: nobody deletes or extends a key that another owns. */
#include "tests/checker/story.h"

Test(ownership, deleting_and_extending_ones_own_key_passes)
{
    struct check_result result = judge_lines(
        "ownership",
        HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000)
            ON(500, 1, "extended") ",'process':1,'value':'a','owner':'a'}\n" DELETED3(600, 1, "a"));
    assert_verdict(result, VERDICT_PASS);
    cr_assert_eq(result.judged, (uint64_t)4);
}

Test(ownership, plain_delete_of_anothers_key_fails)
{
    struct check_result result =
        judge_lines("ownership", HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000)
                                     DELETED_BLINDLY(100, 2, 2, "a"));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_evidence(result, 2, 5);
}

Test(ownership, plain_delete_of_ones_own_key_harms_nobody)
{
    assert_verdict(judge_lines("ownership", HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005)
                                                ON(9, 1, "deleted") ",'process':1,'owner':'a'}\n"),
                   VERDICT_PASS);
}

Test(ownership, extending_anothers_key_fails)
{
    assert_fails(judge_lines("ownership", HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005)
                                              ON(100, 1, "extended") ",'process':2,'owner':'a'}\n"),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
}

Test(ownership, key_whose_set_was_not_seen_is_judged_by_the_values)
{
    assert_verdict(
        judge_lines("ownership",
                    HEADER ON(9, 1, "deleted") ",'process':1,'owner':'a','value':'b'}\n"),
        VERDICT_FAIL);
    assert_verdict(
        judge_lines("ownership",
                    HEADER ON(9, 1, "deleted") ",'process':1,'owner':'a','value':'a'}\n"),
        VERDICT_PASS);
}

/* Whoever recorded it may not know who sent a command. */
Test(ownership, command_of_nobody_known_is_judged_by_the_values)
{
#define OF_NOBODY(rest) HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005) ON(9, 1, "deleted") rest
    assert_verdict(judge_lines("ownership", OF_NOBODY(",'owner':'a','value':'a'}\n")),
                   VERDICT_PASS);
    assert_verdict(judge_lines("ownership", OF_NOBODY(",'owner':'a','value':'b'}\n")),
                   VERDICT_FAIL);
    assert_verdict(judge_lines("ownership", OF_NOBODY(",'owner':'a','cause':'released'}\n")),
                   VERDICT_PASS);
    assert_verdict(judge_lines("ownership", OF_NOBODY(",'owner':'a','cause':'foreign'}\n")),
                   VERDICT_FAIL);
}

Test(ownership, overwriting_anothers_key_fails)
{
    assert_verdict(judge_lines("ownership",
                               HEADER SET(5, 1, 1, "a", 1005)
                                   ON(9, 1, "set") ",'process':2,'owner':'a','value':'b'}\n"),
                   VERDICT_FAIL);
}

Test(ownership, compare_that_found_anothers_key_is_nothing_judged)
{
    assert_verdict(judge_lines("ownership", HEADER SET(5, 1, 1, "a", 1005) KEPT(9, 1, 2, "b")),
                   VERDICT_SKIPPED);
}

/* Its second attempt took the place of its first: nobody else's key was touched. */
Test(ownership, client_that_overwrites_its_own_key_accuses_nobody)
{
#define OVERWRITES(p)                                                                              \
    HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005)                                                       \
        ON(6, 1, "set") ",'process':" #p ",'value':'b','owner':'a','until':1006000000}\n"
    assert_verdict(judge_lines("ownership", OVERWRITES(1)), VERDICT_PASS);
    assert_fails(judge_lines("ownership", OVERWRITES(2)), BLAME_LIBRARY, ASSUMPTION_NONE);
}

/* Clients 1 and 2 are threads of one program, 3 and 4 of another. */
Test(ownership, of_threads_that_share_connections_the_value_tells_whose_a_command_is)
{
#define THREADS                                                                                    \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':4,'threads':2,"                  \
    "'ttl':1000000000,'bound':500000000,'declared':true,'owner':'object'}\n"
#define SET_BY_1 THREADS ASK(1, 1) SET(5, 1, 1, "a", 1005)
    assert_verdict(judge_lines("ownership", SET_BY_1 DELETED(9, 1, 2, "a")), VERDICT_PASS);
    assert_fails(judge_lines("ownership", SET_BY_1 DELETED_BLINDLY(9, 1, 2, "a")), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
    assert_fails(judge_lines("ownership", SET_BY_1 DELETED(9, 1, 3, "a")), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
}

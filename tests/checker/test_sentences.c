/* test_sentences.c: what each check says of what it found: who, what, where, and for how long. The
 * sentences that other tests read are left out. */
#include "tests/checker/story.h"

#define CLIENT_1_HOLDS ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000)
#define CLIENT_2_GETS  ASK(1100, 2) GRANT(1105, 2, "b", 2090)
#define DECLARES(words)                                                                            \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':4,'ttl':1000000000,"             \
    "'bound':500000000,'declared':true,'declares':[" words "]}\n"
#define FOR_4                                                                                      \
    "{'format':'picklock-history','version':1,'nodes':5,'clients':4,'ttl':1000000000,"             \
    "'bound':500000000}\n"

struct said {
    const char *check;
    const char *lines;
    int evidence;
    const char *sentence;
};

static const struct said said[] = {
    {"ownership", HEADER CLIENT_1_HOLDS ON(300, 2, "extended") ",'process':2,'owner':'a'}\n", 2,
     "client 2 extended client 1's key of r0 on node 2 at 300 ms"},
    {"ownership",
     HEADER SET(5, 1, 1, "a", 1005) ON(9, 3, "set") ",'process':2,'owner':'a','value':'b'}\n", 1,
     "client 2 overwrote another's key of r0 on node 3 at 9 ms"},
    {"ownership",
     HEADER SET(5, 3, 1, "a", 1005) ON(9, 3, "set") ",'process':2,'owner':'a','value':'b'}\n", 1,
     "client 2 overwrote client 1's key of r0 on node 3 at 9 ms"},
    {"ownership", HEADER ON(9, 1, "deleted") ",'process':1,'owner':'a','value':'b'}\n", 1,
     "client 1 deleted another's key of r0 on node 1 at 9 ms"},
    {"store_integrity",
     HEADER CLIENT_1_HOLDS CLIENT_2_GETS READ(1110, 2, 0) WRITE(1120, 2, 0, 1) WRITE(1501, 1, 0, 2),
     2, "client 1 read version 0 of r0 and wrote version 2, which lost version 1 of client 2"},
    {"store_integrity",
     HEADER CLIENT_1_HOLDS CLIENT_2_GETS READ(1110, 2, 0) WRITE(1120, 2, 0, 1) READ(1130, 1, 1)
         WRITE(1140, 1, 1, 2),
     2,
     "client 1 wrote version 2 of r0 under an older grant than client 2, who had written version "
     "1"},
    {"store_integrity", HEADER CLIENT_1_HOLDS WRITE(20, 1, 0, 3), 1,
     "client 1 read version 0 of r0 and wrote version 3, which lost version 2 unread"},
    {"no_leak",
     HEADER ASK(1, 1) SET(5, 2, 1, "a", 1005) REFUSE(10, 1) ENDED(1005, 2, "expired", "a", "ttl"),
     3,
     "client 1's acquire that was not granted left its key of r0 on node 2, where it stayed for 1 "
     "s, until its ttl was over"},
    {"no_leak", HEADER ASK(1, 1) SET_ENDLESS(5, 2, 1, "a") REFUSE(10, 1) RUN_ENDS(2005), 3,
     "client 1's acquire that was not granted left its key of r0 on node 2, where it stayed for 2 "
     "s, to the end of the run"},
    {"answer_consistency",
     DECLARES("") ASK(1, 1) GRANT(2, 1, "a", 900) ASK(3, 1) GRANT(4, 1, "b", 900), 2,
     "client 1 was granted it again while it held it, and the lock does not declare that it is "
     "re-entrant"},
    {"answer_consistency",
     DECLARES("'reentrant'") ASK(1, 1) GRANT(2, 1, "a", 900) ASK(3, 1) REFUSE(4, 1), 2,
     "client 1 was refused what it held, and the lock declares that it is re-entrant"},
    {"answer_consistency",
     HEADER ASK(1, 1) GRANT(2, 1, "a", 900) FREE(10, 1) FREED(11, 1) EXTEND(12, 1)
         EXTENDED(13, 1, 1000),
     2, "client 1's extension was told done behind a release that was told done"},
    {"answer_consistency", DECLARES("'validity'") ASK(1, 1) GRANT_OPEN(2, 1, "a"), 1,
     "client 1's grant promises no end, and the lock declares validity"},
    {"answer_consistency", DECLARES("'fence'") ASK(1, 1) GRANT(2, 1, "a", 900), 1,
     "client 1's grant has no fence, and the lock declares fences"},
    {"answer_consistency",
     DECLARES("'renew'") ASK(1, 1) SET3(5, 1, "a", 1005) GRANT_OPEN(10, 1, "a") FREE(1200, 1), 2,
     "client 1's keys were never given more time, and the lock declares that it renews: it was "
     "held "
     "for 1.19 s"},
    {"deadlock_freedom",
     HEADER HEALED_AT(1000) OP(1001, 3, "invoke", "acquire") ",'audit':true}\n" OP(
         2502, 3, "ok", "acquire") ",'audit':true}\n" RUN_ENDS(2600),
     3,
     "r0 was granted to somebody only 1.501 s after it was asked for behind the heal; ttl + bound "
     "allow 1.5 s"},
    {"deadlock_freedom",
     HEADER HEALED_AT(1000) OP(1001, 3, "invoke", "acquire") ",'audit':true}\n" RUN_ENDS(9001), 3,
     "r0 was granted to nobody in the 8 s after the heal; ttl + bound allow 1.5 s"},
    {"deadlock_freedom",
     HEADER HEALED_AT(1000) OP(1001, 3, "invoke", "acquire") ",'audit':true}\n" RUN_ENDS(2001), 0,
     "the run ended 1 s after somebody asked, too early to tell"},
    {"exclusion", FOR_4 ASK(1, 1) GRANT_OPEN(2, 1, "a") ASK(3, 2) GRANT_OPEN(4, 2, "b") RUN_ENDS(9),
     2, "client 2 was granted r0 at 4 ms while client 1 held it and had not been told otherwise"},
    {"fence_order", HEADER ASK(1, 1) ASK(2, 2) GRANT_FENCE(3, 1, 7) GRANT_FENCE(6, 2, 7), 2,
     "client 2 was granted r0 at 6 ms with the same fence, 7, as client 1"},
    {"loss_notice", HEADER CLIENT_1_HOLDS ENTER(11, 1) CLIENT_2_GETS LEAVE(1305, 1), 3,
     "client 1 was never told that it had lost r0, and went on for 200 ms after client 2 had been "
     "granted it"},
    {"exercised", FOR_4 ASK(1, 1) GRANT_OPEN(3, 1, "a") FREE(5, 1) FREED(6, 1), 0,
     "no client asked while another asked or held, so exclusion was not tried"},
    {"result_truth",
     HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005) SET(5, 2, 1, "a", 1005) GRANT(10, 1, "a", 1000), 2,
     "client 1 was granted r0 with 2 of the 3 keys that make a majority"},
    {"result_truth", HEADER CLIENT_1_HOLDS FREE(50, 1) FREED(55, 1), 2,
     "client 1's release of r0 said done, but 3 nodes still have its key"},
    {"result_truth", HEADER CLIENT_1_HOLDS FREE(50, 1) RELEASE_FAILS(55, 1), 2,
     "client 1's release of r0 said that nothing was held, but 3 nodes have its key"},
    {"result_truth",
     HEADER ASK(1, 1) SET3(5, 1, "a", 1005) REFUSE(10, 1) ENDED(1005, 1, "expired", "a", "ttl")
         ENDED(1005, 2, "expired", "a", "ttl"),
     3, "client 1 was refused r0, but a majority of nodes kept its key for another 995 ms"},
    {"result_truth",
     HEADER CLIENT_1_HOLDS ENDED(400, 1, "evicted", "a", "eviction") EXTEND(500, 1)
         SET(501, 1, 1, "a", 1505) EXTENDED(505, 1, 1490),
     2,
     "client 1 was told that its lease of r0 goes on, but only 2 of the 3 keys that make a "
     "majority "
     "had stayed; the others were gone and set anew"},
};

Test(sentences, each_finding_says_who_did_what_to_what_and_for_how_long)
{
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        char expected[512];
        (void)snprintf(expected, sizeof expected, "%s: %s", said[i].check, said[i].sentence);
        cr_expect_str_eq(headline(said[i].check, said[i].lines), expected);
        struct check_result result = judge_lines(said[i].check, said[i].lines);
        cr_expect_eq(result.evidence_count, said[i].evidence, "%s: %d events", expected,
                     result.evidence_count);
    }
}

/* test_explain.c: whole stories, as a stranger reads them. */
#include "tests/checker/story.h"

#define BARE           "{'format':'picklock-history','version':1}\n"
#define CLIENT_1_HOLDS ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000)
#define KEYS_EXPIRE                                                                                \
    ENDED(1005, 1, "expired", "a", "ttl")                                                          \
    ENDED(1005, 2, "expired", "a", "ttl") ENDED(1005, 3, "expired", "a", "ttl")
#define CLOCK_JUMPS(ms, n)                                                                         \
    FAULT_LINE(ms, 1, "clock_jump", "start")                                                       \
    ",'node':" #n ",'numbers':[11000000000,0]}\n" FAULT_LINE(                                      \
        ms, 1, "clock_jump", "effect") ",'node':" #n ",'numbers':[11000000000,11002000000]}\n"
#define PAUSE_BEGINS(ms, p)                                                                        \
    FAULT_LINE(ms, 1, "pause", "start") ",'process':" #p ",'numbers':[2000000000,0]}\n"
#define PAUSE_ENDS(ms, p)                                                                          \
    FAULT_LINE(ms, 1, "pause", "end") ",'process':" #p ",'numbers':[2000000000,0]}\n"

Test(explain, tells_of_node_clock_jump)
{
    static const char lines[] = HEADER CLIENT_1_HOLDS ENTER(11, 1) CLOCK_JUMPS(100, 3)
        ENDED_BY(101, 3, "expired", "a", "clock-jump", 1) ASK(200, 2) SET(201, 3, 2, "b", 1201)
            SET(201, 4, 2, "b", 1201) SET(201, 5, 2, "b", 1201) GRANT(205, 2, "b", 1190);
    static const char expected[] =
        "exclusion: client 2 was granted r0 at 205 ms while client 1's lease ran until "
        "1 s (795 ms of overlap).\n"
        "(evidence: definite; 1 violation of 2 judged)\n"
        "\n"
        "  Client 1 was granted r0 at 10 ms, promised until 1 s;\n"
        "    its key was set on nodes 1, 2 and 3 of 5.\n"
        "  Client 2 was granted r0 at 205 ms, promised until 1.190 s;\n"
        "    its key was set on nodes 3, 4 and 5 of 5.\n"
        "  Of client 1's keys, some were still on nodes 1 and 2; gone were:\n"
        "    node 3 at 101 ms: expired, because the node's clock jumped (fault 1: clock "
        "jump of node 3 by +11 s, at 100 ms), 904 ms early.\n"
        "\n"
        "  What happened, relative to the violation at 205 ms:\n"
        "        -204 ms  client 1 asks to acquire r0\n"
        "        -195 ms  client 1 is granted r0 until 1 s   <--\n"
        "        -194 ms  client 1 enters the section of r0\n"
        "        -105 ms  fault 1: clock jump of node 3 by +11 s begins\n"
        "        -104 ms  the key of r0 on node 3: expired (clock-jump, fault 1)\n"
        "          -5 ms  client 2 asks to acquire r0\n"
        "            now  client 2 is granted r0 until 1.190 s   <--\n"
        "\n"
        "Blame: an assumption, not the library's code. A lease lock relies on this: node "
        "clocks do not jump and run at about the same rate.\n"
        "What to do: Let the nodes slew their clocks and never step them; and guard what "
        "the lock protects.\n";
    cr_assert_str_eq(tell("exclusion", lines), expected);
}

Test(explain, tells_of_pause_after_granted)
{
    static const char lines[] =
        HEADER CLIENT_1_HOLDS ENTER(11, 1) PAUSE_BEGINS(20, 1) KEYS_EXPIRE ASK(1200, 2)
            SET3(1201, 2, "b", 2201) GRANT(1205, 2, "b", 2190) ENTER(1206, 2) PAUSE_ENDS(2000, 1);
    static const char expected[] =
        "section_exclusion: client 2 entered the section of r0 at 1.206 s while client 1 "
        "was still inside, since 11 ms.\n"
        "(evidence: definite; 1 violation of 2 judged)\n"
        "\n"
        "  Client 1 was granted r0 at 10 ms, promised until 1 s (206 ms before "
        "the violation);\n"
        "    its key was set on nodes 1, 2 and 3 of 5.\n"
        "  Client 2 was granted r0 at 1.205 s, promised until 2.190 s;\n"
        "    its key was set on nodes 1, 2 and 3 of 5.\n"
        "  Of client 1's keys, gone were:\n"
        "    nodes 1, 2 and 3 at 1.005 s: its ttl had run out on a sound clock.\n"
        "\n"
        "  What happened, relative to the violation at 1.206 s:\n"
        "       -1.205 s  client 1 asks to acquire r0\n"
        "       -1.196 s  client 1 is granted r0 until 1 s\n"
        "       -1.195 s  client 1 enters the section of r0   <--\n"
        "       -1.186 s  fault 1: pause of client 1 for 2 s begins\n"
        "        -201 ms  the keys of r0 on nodes 1, 2 and 3: expired (ttl)\n"
        "          -6 ms  client 2 asks to acquire r0\n"
        "          -1 ms  client 2 is granted r0 until 2.190 s\n"
        "            now  client 2 enters the section of r0   <--\n"
        "\n"
        "Blame: an assumption, not the library's code. A lease lock relies on this: the "
        "holder is never stopped for longer than its lease.\n"
        "What to do: Guard what the lock protects: let it refuse older fences, or other "
        "values than the last.\n";
    cr_assert_str_eq(tell("section_exclusion", lines), expected);
}

Test(explain, tells_of_plain_delete)
{
    static const char lines[] = HEADER CLIENT_1_HOLDS DELETED_BLINDLY(300, 2, 2, "a");
    static const char expected[] =
        "ownership: client 2 deleted client 1's key of r0 on node 2 at 300 ms.\n"
        "(evidence: definite; 1 violation of 1 judged)\n"
        "\n"
        "  Client 1 was granted r0 at 10 ms, promised until 1 s;\n"
        "    its key was set on nodes 1, 2 and 3 of 5.\n"
        "  Of client 1's keys, some were still on nodes 1 and 3; gone were:\n"
        "    node 2 at 300 ms: deleted by another client (client 2).\n"
        "\n"
        "  What happened, relative to the violation at 300 ms:\n"
        "        -299 ms  client 1 asks to acquire r0\n"
        "        -295 ms  client 1 sets the key of r0 on node 2   <--\n"
        "        -290 ms  client 1 is granted r0 until 1 s\n"
        "            now  client 2 deletes the key of r0 on node 2 (foreign)   <--\n"
        "\n"
        "Blame: the library. It broke its own algorithm; no fault in this run excuses it.\n"
        "What to do: report it, with this history.\n";
    cr_assert_str_eq(tell("ownership", lines), expected);
}

Test(explain, tells_of_spent_lease)
{
    static const char lines[] = HEADER ASK(1, 1) SET3(5, 1, "a", 1005) PAUSE_BEGINS(6, 1)
        KEYS_EXPIRE PAUSE_ENDS(1500, 1) GRANT(1501, 1, "a", 1000);
    static const char expected[] =
        "validity: client 1 was granted r0 at 1.501 s with a lease that had ended "
        "501 ms before.\n"
        "(evidence: definite; 1 violation of 1 judged)\n"
        "\n"
        "  Client 1 was granted r0 at 1.501 s, promised until 1 s (501 ms before "
        "the violation);\n"
        "    its key was set on nodes 1, 2 and 3 of 5.\n"
        "  Of client 1's keys, gone were:\n"
        "    nodes 1, 2 and 3 at 1.005 s: its ttl had run out on a sound clock.\n"
        "\n"
        "  What happened, relative to the violation at 1.501 s:\n"
        "         -1.5 s  client 1 asks to acquire r0\n"
        "       -1.495 s  fault 1: pause of client 1 for 2 s begins\n"
        "        -496 ms  the keys of r0 on nodes 1, 2 and 3: expired (ttl)\n"
        "          -1 ms  fault 1: pause of client 1 for 2 s ends\n"
        "            now  client 1 is granted r0 until 1 s   <--\n"
        "\n"
        "Blame: the library. It broke its own algorithm; no fault in this run excuses it.\n"
        "What to do: report it, with this history.\n";
    cr_assert_str_eq(tell("validity", lines), expected);
}

Test(explain, tells_of_lost_update)
{
    static const char lines[] = HEADER CLIENT_1_HOLDS READ(20, 1, 0) PAUSE_BEGINS(25, 1)
        KEYS_EXPIRE ASK(1100, 2) SET3(1101, 2, "b", 2101) GRANT(1105, 2, "b", 2090) READ(1110, 2, 0)
            WRITE(1120, 2, 0, 1) PAUSE_ENDS(1500, 1) WRITE(1501, 1, 0, 2);
    static const char expected[] =
        "store_integrity: client 1 read version 0 of r0 and wrote version 2, which lost "
        "version 1 of client 2.\n"
        "(evidence: definite; 1 violation of 2 judged)\n"
        "\n"
        "  Client 1 was granted r0 at 10 ms, promised until 1 s (501 ms before "
        "the violation);\n"
        "    its key was set on nodes 1, 2 and 3 of 5.\n"
        "  Client 2 was granted r0 at 1.105 s, promised until 2.090 s;\n"
        "    its key was set on nodes 1, 2 and 3 of 5.\n"
        "  Of client 1's keys, gone were:\n"
        "    nodes 1, 2 and 3 at 1.005 s: its ttl had run out on a sound clock.\n"
        "\n"
        "  What happened, relative to the violation at 1.501 s:\n"
        "         -1.5 s  client 1 asks to acquire r0\n"
        "       -1.491 s  client 1 is granted r0 until 1 s\n"
        "       -1.476 s  fault 1: pause of client 1 for 2 s begins\n"
        "        -496 ms  the keys of r0 on nodes 1, 2 and 3: expired (ttl)\n"
        "        -401 ms  client 2 asks to acquire r0\n"
        "        -396 ms  client 2 is granted r0 until 2.090 s\n"
        "        -381 ms  client 2 writes version 1 of r0, having read version 0   <--\n"
        "          -1 ms  fault 1: pause of client 1 for 2 s ends\n"
        "            now  client 1 writes version 2 of r0, having read version 0   <--\n"
        "\n"
        "Blame: an assumption, not the library's code. A lease lock relies on this: the "
        "holder is never stopped for longer than its lease.\n"
        "What to do: Guard what the lock protects: let it refuse older fences, or other "
        "values than the last.\n";
    cr_assert_str_eq(tell("store_integrity", lines), expected);
}

Test(explain, tells_of_foreign_history)
{
    static const char lines[] =
        BARE ASK(1, 1) GRANT_OPEN(10, 1, "a") ASK(20, 7) GRANT_OPEN(30, 7, "b") FREE(40, 1);
    static const char expected[] =
        "exclusion: client 7 was granted r0 at 30 ms while client 1 held it and had "
        "not been told otherwise.\n"
        "(evidence: definite; 1 violation of 2 judged)\n"
        "\n"
        "  Client 1 was granted r0 at 10 ms, without a promised end.\n"
        "  Client 7 was granted r0 at 30 ms, without a promised end.\n"
        "  The history has no node events: it cannot be told which keys stood behind the "
        "leases.\n"
        "\n"
        "  What happened, relative to the violation at 30 ms:\n"
        "         -29 ms  client 1 asks to acquire r0\n"
        "         -20 ms  client 1 is granted r0   <--\n"
        "         -10 ms  client 7 asks to acquire r0\n"
        "            now  client 7 is granted r0   <--\n"
        "\n"
        "Blame: cannot be told, because the history does not say what happened on the nodes.\n";
    cr_assert_str_eq(tell("exclusion", lines), expected);
}

Test(explain, tells_of_deadlock)
{
    static const char lines[] = HEADER ASK(1, 1) SET_ENDLESS(5, 1, 1, "a") KILLED(6, 1)
        HEALED_AT(1000) OP(1001, 3, "invoke", "acquire") ",'audit':true}\n" OP(
            9000, 3, "fail", "acquire") ",'audit':true}\n" RUN_ENDS(9001);
    static const char expected[] =
        "deadlock_freedom: r0 was granted to nobody in the 8 s after the heal; ttl + "
        "bound allow 1.5 s.\n"
        "(evidence: definite; 1 violation of 1 judged)\n"
        "\n"
        "  What happened, relative to the violation at 9.001 s:\n"
        "           -9 s  client 1 asks to acquire r0\n"
        "       -8.996 s  client 1 sets the key of r0 on node 1, without an expiry   <--\n"
        "       -8.995 s  client 1 is killed\n"
        "       -8.001 s  all faults are healed   <--\n"
        "           -8 s  the auditor asks to acquire r0   <--\n"
        "          -1 ms  the auditor's acquire of r0: refused\n"
        "            now  the run ends   <--\n"
        "\n"
        "Blame: the library. It broke its own algorithm; no fault in this run excuses it.\n"
        "What to do: report it, with this history.\n";
    cr_assert_str_eq(tell("deadlock_freedom", lines), expected);
}

Test(explain, tells_of_no_majority)
{
    static const char lines[] =
        HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005) SET(5, 2, 1, "a", 1005) GRANT(10, 1, "a", 1000);
    static const char expected[] =
        "result_truth: client 1 was granted r0 with 2 of the 3 keys that make a majority.\n"
        "(evidence: definite; 1 violation of 1 judged)\n"
        "\n"
        "  Client 1 was granted r0 at 10 ms, promised until 1 s;\n"
        "    its key was set on nodes 1 and 2 of 5, which is no majority.\n"
        "  Of client 1's keys, all were still there.\n"
        "\n"
        "  What happened, relative to the violation at 10 ms:\n"
        "          -9 ms  client 1 asks to acquire r0\n"
        "          -5 ms  client 1 sets the key of r0 on node 1   <--\n"
        "            now  client 1 is granted r0 until 1 s   <--\n"
        "\n"
        "Blame: the library. It broke its own algorithm; no fault in this run excuses it.\n"
        "What to do: report it, with this history.\n";
    cr_assert_str_eq(tell("result_truth", lines), expected);
}

/* Nodes that are one service: its keys are no node's. */
static bool told_of(const char *check, const char *lines, const char *words)
{
    return strstr(tell(check, lines), words) != NULL;
}

Test(explain, keys_of_a_cluster_are_the_cluster_s)
{
#define OF_CLUSTER(more)                                                                           \
    "{'format':'picklock-history','version':1,'nodes':3,'stores':1,'clients':2,"                   \
    "'ttl':1000000000,'bound':500000000,'promises_validity':true" more "}\n" ASK(1, 1)             \
        SET(5, 1, 1, "a", 1005) GRANT(10, 1, "a", 1000) ENTER(11, 1)                               \
            DELETED_BLINDLY(300, 1, 2, "a")
    static const char cluster[] = OF_CLUSTER("");
    static const char replicas[] = OF_CLUSTER(",'replicas':2");
    cr_assert(told_of("ownership", cluster, "of r0 on the cluster at 300 ms"));
    cr_assert(told_of("ownership", cluster, "its key was set on the cluster.\n"));
    cr_assert(told_of("ownership", cluster, "client 2 deletes the key of r0 on the cluster"));
    cr_assert_not(told_of("ownership", cluster, "node 1"));
    cr_assert(told_of("ownership", replicas, "of r0 on node 1 at 300 ms"));
    cr_assert(told_of("ownership", replicas, "its key was set on node 1 of 1.\n"));
}

Test(explain, tells_of_leak)
{
    static const char lines[] = HEADER ASK(1, 1) SET(5, 4, 1, "a", 1005) REFUSE(50, 1)
        ENDED(1005, 4, "expired", "a", "ttl");
    static const char expected[] =
        "no_leak: client 1's acquire that was not granted left its key of r0 on node 4, "
        "where it stayed for 1 s, until its ttl was over.\n"
        "(evidence: definite; 1 violation of 1 judged)\n"
        "\n"
        "  What happened, relative to the violation at 1.005 s:\n"
        "       -1.004 s  client 1 asks to acquire r0\n"
        "           -1 s  client 1 sets the key of r0 on node 4   <--\n"
        "        -955 ms  client 1's acquire of r0: refused (no-quorum)   <--\n"
        "            now  the key of r0 on node 4: expired (ttl)   <--\n"
        "\n"
        "Blame: the library. It broke its own algorithm; no fault in this run excuses it.\n"
        "What to do: report it, with this history.\n";
    cr_assert_str_eq(tell("no_leak", lines), expected);
}

Test(explain, headline_of_a_grant_whose_keys_had_ended_before_names_its_client)
{
    static const char lines[] =
        HEADER ASK(1, 1) SET3(5, 1, "a", 1005) KEYS_EXPIRE GRANT(1100, 1, "a", 2000);
    cr_assert_str_eq(headline("validity", lines),
                     "validity: client 1's lease of r0 was to run for another 900 ms when only "
                     "0 of 5 nodes had its key");
}

Test(explain, headline_of_a_pass_says_how_much_was_judged)
{
    static const char lines[] = HEADER CLIENT_1_HOLDS;
    cr_assert_str_eq(headline("exclusion", lines), "exclusion: 1 judged, none violated");
}

Test(explain, headline_of_unknown_says_what_is_missing)
{
    static const char lines[] = HEADER ASK(1, 1) REFUSE(4, 1);
    cr_assert_str_eq(headline("exercised", lines),
                     "exercised: the lock was never granted, so nothing was tried");
}

#define ONE_FAULT "{'format':'picklock-history','version':1,'nodes':5,'clients':2,'faults':1}\n"

Test(explain, headline_of_a_fault_in_vain_names_it_and_says_why)
{
    static const char absent[] = ONE_FAULT CLIENT_1_HOLDS;
    cr_assert_str_eq(headline("exercised", absent),
                     "exercised: fault 1 of the scenario did not strike");
    static const char gone[] = ONE_FAULT CLIENT_1_HOLDS KILLED(20, 2)
        FAULT_OF_CLIENT(30, 1, "pause", "start", 2) FAULT_OF_CLIENT(30, 1, "pause", "end", 2);
    cr_assert_str_eq(headline("exercised", gone),
                     "exercised: fault 1: pause of client 2 struck at 30 ms, but no effect of it "
                     "was seen: client 2 was killed by then");
    static const char unseen[] = ONE_FAULT CLIENT_1_HOLDS FAULT_OF_NODE(30, 1, "evict", "start", 2)
        FAULT_OF_NODE(30, 1, "evict", "end", 2);
    cr_assert_str_eq(headline("exercised", unseen),
                     "exercised: fault 1: evict of node 2 struck at 30 ms, but no effect of it "
                     "was seen (`picklock explain evict` tells what it does, and what it does "
                     "not)");
    static const char endless[] = ONE_FAULT CLIENT_1_HOLDS FAULT_OF_NODE(30, 1, "stall", "start", 2)
        FAULT_OF_NODE(30, 1, "stall", "effect", 2);
    cr_assert_str_eq(headline("exercised", endless),
                     "exercised: fault 1: stall of node 2 never ended");
    static const char idle[] =
        ONE_FAULT FAULT_OF_NODE(1, 1, "crash", "start", 2) FAULT_OF_NODE(1, 1, "crash", "effect", 2)
            FAULT_OF_NODE(1, 1, "crash", "end", 2) CLIENT_1_HOLDS;
    cr_assert_str_eq(headline("exercised", idle),
                     "exercised: fault 1: crash of node 2 struck at 1 ms, when nobody held the "
                     "lock, asked for it or gave it back");
}

Test(explain, headline_of_a_late_notice_says_how_late)
{
    static const char lines[] =
        HEADER CLIENT_1_HOLDS ENTER(11, 1) ASK(1100, 2) GRANT(1105, 2, "b", 2090) LOST(1305, 1);
    cr_assert_str_eq(headline("loss_notice", lines),
                     "loss_notice: client 1 was told that it had lost r0 only 200 ms after "
                     "client 2 had been granted it");
}

Test(explain, headline_of_fences_names_both)
{
    static const char lines[] =
        HEADER ASK(1, 1) GRANT_FENCE(2, 1, 8) FREE(3, 1) FREED(4, 1) ASK(5, 2) GRANT_FENCE(6, 2, 7);
    cr_assert_str_eq(headline("fence_order", lines),
                     "fence_order: client 2 was granted r0 at 6 ms with fence 7 after client 1 "
                     "with fence 8");
}

Test(explain, headline_of_a_gap_says_how_long)
{
    static const char lines[] = HEADER ASK(10, 1) RUN_ENDS(1600);
    cr_assert_str_eq(headline("fault_tolerance", lines),
                     "fault_tolerance: r0 was asked for in vain for 1.59 s although a majority of "
                     "nodes was healthy; ttl + bound allow 1.5 s");
}

Test(explain, headline_without_a_legal_order_names_the_operations)
{
    static const char lines[] = HEADER CLIENT_1_HOLDS ASK(500, 2) GRANT(605, 2, "b", 1500);
    cr_assert_str_eq(headline("linearizable", lines),
                     "linearizable: no order of the operations is legal for a lock, because of "
                     "these: client 1 is granted r0 until 1 s at 10 ms; client 2 is granted "
                     "r0 until 1.500 s at 605 ms");
}

/* test_stories.c: one story for one cause, with the same numbers for the same moments. */
#include "base/duration.h"
#include "checker/story/story.h"
#include "tests/checker/story.h"

static struct story story;
static struct stories stories;

static void told(const char *lines)
{
    story_read(&story, lines);
    static struct check_result results[32];
    const struct check_result *pointers[32];
    for (size_t i = 0; i < check_count(); i++) {
        results[i] = story_judge(&story, check_at(i)->name);
        pointers[i] = &results[i];
    }
    struct explain_history history = {
        .header = &story.header, .events = story.events, .count = story.count};
    stories_tell(&history, pointers, &stories);
}

/* "1 0.010 client 1 granted: Client 1 is ...\n", a line a step; ! marks a violation. */
static const char *steps_of(const struct story_cause *cause)
{
    static char memory[8192];
    struct text text = text_over(memory, sizeof memory);
    for (int i = 0; i < cause->step_count; i++) {
        const struct story_step *step = &cause->steps[i];
        text_add(&text, "%d%s [%s] %s\n", i + 1, step->violation ? "!" : "", step->label,
                 step->sentence);
        cr_assert_eq(step->time_ns, story.events[step->event].time_ns);
        cr_assert(i == 0 || cause->steps[i - 1].event < step->event, "in order of time");
    }
    return memory;
}

static bool breaks(const struct story_cause *cause, const char *check)
{
    return (cause->checks & judge_bit(check)) != 0;
}

#define HOLDS(p, v)                                                                                \
    ASK(1, p)                                                                                      \
    SET3(5, p, v, 1005)                                                                            \
    GRANT(10, p, v, 1000)                                                                          \
    ENTER(11, p)

/* Client 2 is granted what client 1 still has, because node 3 forgot it. */
#define FORGOTTEN                                                                                  \
    HOLDS(1, "a")                                                                                  \
    FAULT_OF_NODE(100, 1, "crash", "start", 3)                                                     \
    ENDED_BY(100, 3, "key-lost", "a", "restart", 1)                                                \
    ASK(200, 2)                                                                                    \
    SET(201, 3, 2, "b", 1201)                                                                      \
    SET(201, 4, 2, "b", 1201) SET(201, 5, 2, "b", 1201) GRANT(205, 2, "b", 1190) ENTER(205, 2)

Test(stories, what_one_restart_broke_is_one_story)
{
    told(HEADER FORGOTTEN LEAVE(300, 1) LEAVE(400, 2));
    cr_assert_eq(stories.cause_count, 1u);
    const struct story_cause *cause = &stories.causes[0];
    cr_assert(breaks(cause, "exclusion"));
    cr_assert(breaks(cause, "section_exclusion"));
    cr_assert(breaks(cause, "validity"));
    cr_assert_eq(cause->blame, BLAME_ASSUMPTION);
    cr_assert_eq(cause->assumption, ASSUMPTION_PERSISTENCE);
    cr_assert_str_eq(cause->title, "Two clients were inside r0 at once: node 3 restarted and "
                                   "forgot client 1's key.");
    cr_assert_eq(cause->fault_count, 1);
    cr_assert_eq(cause->faults[0], 0);
    cr_assert_str_eq(
        steps_of(cause),
        "1 [client 1 granted, enters] Client 1 is granted r0, promised until 1 s (990 ms) and "
        "enters the section.\n"
        "2 [node 3 restarts and forgets the key] Node 3 restarts and forgets client 1's key "
        "(fault 1); the majority is broken.\n"
        "3! [both inside] Client 2 is granted r0, promised until 1.190 s (985 ms) and enters the "
        "section too: both are inside, for 95 ms.\n");
}

Test(stories, what_several_nodes_did_is_said_of_several)
{
    told(HEADER HOLDS(1, "a") FAULT_OF_NODE(100, 1, "crash", "start", 3)
             ENDED_BY(100, 2, "key-lost", "a", "restart", 1)
                 ENDED_BY(100, 3, "key-lost", "a", "restart", 1) ASK(200, 2)
                     SET(201, 2, 2, "b", 1201) SET(201, 3, 2, "b", 1201) SET(201, 4, 2, "b", 1201)
                         GRANT(205, 2, "b", 1190) ENTER(205, 2) LEAVE(300, 1) LEAVE(400, 2));
    cr_assert_eq(stories.cause_count, 1u);
    cr_assert_neq(strstr(steps_of(&stories.causes[0]),
                         "[nodes 2 and 3 restart and forget the keys] Nodes 2 and 3 restart and "
                         "forget client 1's keys"),
                  NULL, "%s", steps_of(&stories.causes[0]));
}

Test(stories, the_box_stands_where_both_were_inside)
{
    told(HEADER FORGOTTEN LEAVE(300, 1) LEAVE(400, 2));
    const struct story_box *box = &stories.causes[0].box;
    cr_assert_eq(box->process[0], 0);
    cr_assert_eq(box->process[1], 1);
    cr_assert_eq(box->from_ns, 205 * NS_PER_MS);
    cr_assert_eq(box->to_ns, 300 * NS_PER_MS);
    cr_assert_str_eq(box->label, "both inside 95 ms");
    cr_assert_leq(stories.causes[0].from_ns, 10 * NS_PER_MS);
    cr_assert_geq(stories.causes[0].to_ns, 205 * NS_PER_MS);
}

Test(stories, a_step_knows_its_place_in_the_picture)
{
    told(HEADER FORGOTTEN WRITE(210, 2, 0, 1) WRITE(220, 1, 0, 2) LEAVE(300, 1));
    const struct story_cause *cause = &stories.causes[0];
    cr_assert_eq(cause->step_count, 4);
    cr_assert_eq(cause->steps[0].process, 0);
    cr_assert_eq(cause->steps[1].nodes, UINT64_C(1) << 2);
    cr_assert_eq(cause->steps[1].process, HISTORY_NOBODY);
    cr_assert_eq(cause->steps[2].process, 1);
    cr_assert(cause->steps[3].store);
    cr_assert(breaks(cause, "store_integrity"));
    cr_assert_str_eq(cause->title, "Two clients were inside r0 at once, and an update was lost: "
                                   "node 3 restarted and forgot client 1's key.");
}

Test(stories, a_guard_that_held_is_said_and_not_advised)
{
    told("{'format':'picklock-history','version':1,'nodes':5,'clients':2,'ttl':1000000000,"
         "'promises_validity':true,'fence_check':true}\n" FORGOTTEN OP(
             210, 1, "invoke",
             "write") "}\n" OP(211, 1, "fail", "write") ",'cause':'stale-fence'}\n" LEAVE(300, 1));
    const struct story_cause *cause = &stories.causes[0];
    cr_assert(cause->guard_held);
    cr_assert_not_null(strstr(cause->title, "but the guarded store refused the late one"));
    cr_assert_not_null(strstr(cause->advice, "The guard held"));
    cr_assert_null(strstr(cause->advice, "guard what"));
    const struct story_step *last = &cause->steps[cause->step_count - 1u];
    cr_assert(last->store);
    cr_assert_not(last->violation);
}

Test(stories, the_pause_of_the_late_one_is_the_cause_not_that_of_the_other)
{
    told(HEADER HOLDS(1, "a") FAULT_OF_CLIENT(20, 1, "pause", "start", 1)
             FAULT_OF_CLIENT(30, 2, "pause", "start", 2) FAULT_OF_CLIENT(40, 2, "pause", "end", 2)
                 ENDED(1005, 1, "expired", "a", "ttl") ENDED(1005, 2, "expired", "a", "ttl")
                     ENDED(1005, 3, "expired", "a", "ttl") ASK(1200, 2) SET3(1201, 2, "b", 2201)
                         GRANT(1205, 2, "b", 2190) ENTER(1206, 2)
                             FAULT_OF_CLIENT(2020, 1, "pause", "end", 1) LEAVE(2100, 1));
    const struct story_cause *cause = &stories.causes[0];
    cr_assert_eq(cause->assumption, ASSUMPTION_CLIENT_PAUSE);
    cr_assert_str_eq(cause->title, "Two clients were inside r0 at once: client 1 was paused for "
                                   "2 s, past the end of its lease.");
    cr_assert_str_eq(
        steps_of(cause),
        "1 [client 1 granted, enters, paused] Client 1 is granted r0, promised until 1 s (990 "
        "ms), enters the section and is paused for 2 s (fault 1).\n"
        "2 [client 1's keys expire] Client 1's keys on nodes 1, 2 and 3 expire: their time is "
        "up; the majority is broken.\n"
        "3! [both inside] Client 2 is granted r0, promised until 2.190 s (985 ms) and enters the "
        "section too: both are inside, for 894 ms.\n");
}

Test(stories, two_restarts_at_other_times_are_two_causes)
{
    told(
        "{'format':'picklock-history','version':1,'nodes':5,'clients':3,'resources':2,"
        "'ttl':1000000000,'promises_validity':true}\n" HOLDS(1, "a") FAULT_OF_NODE(
            100, 1, "crash", "start", 3) ENDED_BY(100, 3, "key-lost", "a", "restart", 1)
            LEAVE(150, 1) FREE(150, 1) FREED(151, 1) DELETED(151, 1, 1, "a") DELETED(151, 2, 1, "a")
                AT(300) "'process':3,'type':'invoke','f':'acquire','resource':'r1'}"
                        "\n" AT(
                            301) "'kind':'node','node':1,'f':'set','resource':'r1'"
                                 ",'process':3,'value':'c','until':1301000000}"
                                 "\n" AT(
                                     301) "'kind':'node','node':2,'f':'set','"
                                          "resource':'r1','process':3,'value':"
                                          "'c','until':1301000000}\n" AT(
                                              301) "'kind':'node','node':4,'f':'set','resource':'"
                                                   "r1','process':3,'value':'c','until':1301000000}"
                                                   "\n" AT(302) "'process':3,'type':'ok','"
                                                                "f':'acquire','resource':'"
                                                                "r1','value':'c','until':"
                                                                "1290000000}\n" AT(
                                                                    303) "'pr"
                                                                         "oce"
                                                                         "ss'"
                                                                         ":3,"
                                                                         "'ty"
                                                                         "pe'"
                                                                         ":'"
                                                                         "inv"
                                                                         "oke"
                                                                         "','"
                                                                         "f':"
                                                                         "'re"
                                                                         "lea"
                                                                         "se'"
                                                                         ",'"
                                                                         "res"
                                                                         "our"
                                                                         "ce'"
                                                                         ":'"
                                                                         "r1'"
                                                                         "}"
                                                                         "\n" AT(
                                                                             303) "'process':3,'"
                                                                                  "type':'ok','f':'"
                                                                                  "release','"
                                                                                  "resource':'r1'}"
                                                                                  "\n");
    /* The first lease outlived its keys; the second client's release left keys behind. */
    cr_assert_geq(stories.cause_count, 2u);
    cr_assert_eq(stories.causes[0].blame, BLAME_LIBRARY);
    cr_assert_eq(stories.causes[1].blame, BLAME_ASSUMPTION);
    cr_assert(breaks(&stories.causes[1], "validity"));
    cr_assert_eq(stories.causes[0].checks & stories.causes[1].checks, 0u);
}

Test(stories, a_dead_lease_is_what_the_lock_did)
{
    told(HEADER ASK(1, 1) SET3(5, 1, "a", 1005) ENDED(1005, 1, "expired", "a", "ttl")
             ENDED(1005, 2, "expired", "a", "ttl") ENDED(1005, 3, "expired", "a", "ttl")
                 ASK(1100, 2) SET3(1101, 2, "b", 2101) GRANT(1105, 2, "b", 2090) ENTER(1105, 2)
                     GRANT(1150, 1, "a", 1000) ENTER(1150, 1) LEAVE(1300, 2));
    const struct story_cause *cause = &stories.causes[0];
    cr_assert_eq(cause->blame, BLAME_LIBRARY);
    cr_assert_str_eq(cause->title, "Two clients were inside r0 at once: the lock granted client "
                                   "1 a lease that had ended 150 ms earlier.");
    cr_assert_str_eq(cause->advice, "Report it, with this history.");
    const char *steps = steps_of(cause);
    cr_assert_not_null(strstr(steps, "[dead lease, both inside] Client 1 is granted r0 with a "
                                     "lease that had ended 150 ms before and enters the section "
                                     "too: both are inside, for 150 ms."));
}

Test(stories, what_has_no_second_client_is_told_from_its_evidence)
{
    told(HEADER ASK(1, 2) SET(2, 2, 2, "b", 1502) REFUSE(100, 2)
             ENDED(1502, 2, "expired", "b", "ttl") RUN_ENDS(1600));
    cr_assert_eq(stories.cause_count, 1u);
    const struct story_cause *cause = &stories.causes[0];
    cr_assert_str_eq(cause->title, "Client 2 was refused r0, and left its key on node 2.");
    cr_assert_eq(cause->box.node, 1);
    cr_assert_str_eq(cause->box.label, "key left behind 1.5 s");
    cr_assert_eq(cause->step_count, 3);
    cr_assert(cause->steps[2].violation);
}

/* ---- faults that stood in the way ---- */

#define FAULT_WITH(ms, k, kind, f, more) FAULT_LINE(ms, k, kind, f) "," more "}\n"
#define KEPT_BY_NODES                                                                              \
    ENDED(1005, 1, "expired", "a", "ttl")                                                          \
    ENDED(1005, 2, "expired", "a", "ttl") ENDED(1005, 3, "expired", "a", "ttl")

static bool tells(const char *sentence)
{
    return stories.cause_count > 0 && strstr(steps_of(&stories.causes[0]), sentence) != NULL;
}

/* Client 1's release says done, and nodes 1, 2 and 3 keep its key. */
static void told_of_release(const char *faults, const char *later)
{
    char lines[8192];
    (void)snprintf(lines, sizeof lines, "%s%s%s%s",
                   HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 990), faults,
                   FREE(50, 1) FREED(60, 1), later);
    told(lines);
    cr_assert(breaks(&stories.causes[0], "result_truth"));
    cr_assert_eq(stories.causes[0].blame, BLAME_LIBRARY);
}

Test(stories, replies_that_were_lost_are_one_step)
{
    told(HEADER ASK(1, 1) SET3(5, 1, "a", 1005)
             FAULT_WITH(6, 1, "lose_reply", "start", "'process':1,'node':1")
                 FAULT_WITH(6, 1, "lose_reply", "effect", "'process':1,'node':1")
                     FAULT_WITH(6, 1, "lose_reply", "end", "'process':1,'node':1")
                         FAULT_WITH(7, 2, "lose_reply", "start", "'process':1,'node':3")
                             FAULT_WITH(7, 2, "lose_reply", "effect", "'process':1,'node':3")
                                 FAULT_WITH(7, 2, "lose_reply", "end", "'process':1,'node':3")
                                     REFUSE(10, 1) KEPT_BY_NODES RUN_ENDS(1100));
    cr_assert(tells("[client 1: reply lost] What nodes 1 and 3 reply to client 1 is lost (faults 1 "
                    "and 2)."));
    cr_assert_eq(stories.causes[0].fault_count, 2);
}

Test(stories, a_link_that_mattered_is_named)
{
    told_of_release(
        FAULT_WITH(20, 1, "latency", "start", "'process':1,'nodes':[1,2],'numbers':[150000000,0]"),
        FAULT_WITH(70, 1, "latency", "effect", "'process':1"));
    cr_assert(tells("The link between client 1 and nodes 1 and 2 is slower by 150 ms (fault 1)."));
    told_of_release(
        FAULT_WITH(20, 1, "delay_command", "start", "'process':1,'node':2,'numbers':[200000000,0]")
            FAULT_WITH(20, 1, "delay_command", "effect", "'process':1,'node':2"),
        "");
    cr_assert(tells("What client 1 sends to node 2 is held back for 200 ms (fault 1)."));
    told_of_release(FAULT_WITH(20, 1, "partition", "start", "'process':1,'nodes':[1,2,3]")
                        FAULT_WITH(20, 1, "partition", "effect", "'process':1"),
                    "");
    cr_assert(tells("The link between client 1 and nodes 1, 2 and 3 is cut (fault 1)."));
}

Test(stories, a_cut_between_nodes_is_named_with_both_its_ends)
{
    told_of_release(FAULT_WITH(20, 1, "partition", "start", "'nodes':[3,4,5],'peers':[1,2]")
                        FAULT_WITH(20, 1, "partition", "effect", "'numbers':[0,6]"),
                    "");
    cr_assert(
        tells("[nodes 3, 4 and 5: partition] The links between nodes 1 and 2 and nodes 3, 4 and "
              "5 are cut (fault 1)."));
    cr_assert_eq(stories.causes[0].steps[1].nodes, 31);
    told_of_release(
        FAULT_WITH(20, 1, "latency", "start", "'node':2,'peers':[1],'numbers':[150000000,0]")
            FAULT_WITH(20, 2, "latency", "start", "'node':3,'peers':[2],'numbers':[90000000,0]"),
        FAULT_WITH(70, 1, "latency", "effect", "'numbers':[0,6]")
            FAULT_WITH(70, 2, "latency", "effect", "'numbers':[0,6]"));
    cr_assert(tells("The link between node 1 and node 2 is slower by 150 ms (fault 1)."));
    cr_assert(tells("The link between node 2 and node 3 is slower by 90 ms (fault 2)."));
    told_of_release(FAULT_WITH(20, 1, "partition", "start", "'nodes':[3,4,5],'peers':[1,2]"), "");
    cr_assert_eq(stories.causes[0].fault_count, 0);
}

Test(stories, what_was_so_before_anybody_asked_is_told_when_it_was_asked)
{
    told("{'format':'picklock-history','version':1,'nodes':5,'clients':2,'ttl':1000000000,"
         "'promises_validity':true}\n" FAULT_WITH(1, 1, "refuse_writes", "start", "'nodes':[4,5]")
             ASK(2, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 990)
                 FAULT_WITH(11, 1, "refuse_writes", "effect", "'node':4") FREE(50, 1) FREED(60, 1));
    cr_assert(tells("1 [nodes 4 and 5: writes refused] Nodes 4 and 5 refuse writes (fault 1)."));
    cr_assert_eq(stories.causes[0].steps[0].time_ns, 2 * NS_PER_MS);
    cr_assert_eq(stories.causes[0].steps[0].nodes, UINT64_C(3) << 3);
}

Test(stories, a_fault_that_struck_nobody_or_another_is_not_named)
{
    told_of_release(FAULT_WITH(20, 1, "partition", "start", "'process':1,'nodes':[1,2,3]"), "");
    cr_assert_eq(stories.causes[0].fault_count, 0);
    told_of_release(FAULT_WITH(20, 1, "partition", "start", "'process':2,'nodes':[1,2,3]")
                        FAULT_WITH(20, 1, "partition", "effect", "'process':2"),
                    "");
    cr_assert_eq(stories.causes[0].fault_count, 0);
    told_of_release(FAULT_WITH(20, 1, "pause", "start", "'process':1")
                        FAULT_WITH(30, 1, "pause", "effect", "'process':1")
                            FAULT_WITH(30, 1, "pause", "end", "'process':1"),
                    "");
    cr_assert_eq(stories.causes[0].fault_count, 0, "it was over when the client asked");
}

Test(stories, a_restart_behind_a_fence_that_fell_is_named)
{
    told("{'format':'picklock-history','version':1,'nodes':5,'clients':2,'ttl':1000000000}\n" ASK(
        1, 1) GRANT_FENCE(10, 1, 7) FREE(20, 1) FREED(21, 1)
             FAULT_WITH(30, 1, "crash", "start", "'node':3") FAULT_WITH(31, 1, "crash", "effect",
                                                                        "'node':3")
                 FAULT_WITH(40, 1, "crash", "end", "'node':3") ASK(50, 2) GRANT_FENCE(60, 2, 5));
    cr_assert(breaks(&stories.causes[0], "fence_order"));
    cr_assert_eq(stories.causes[0].blame, BLAME_ASSUMPTION);
    cr_assert(tells("[node 3: crashed] Node 3 crashes (fault 1)."));
}

Test(stories, a_guard_that_stands_is_not_advised_for_a_single_check)
{
    static const char late[] =
        ",'nodes':5,'clients':2,'ttl':1000000000,'promises_validity':true}\n" HOLDS(1, "a")
            FAULT_OF_CLIENT(20, 1, "pause", "start", 1) ENDED(1005, 1, "expired", "a", "ttl")
                ENDED(1005, 2, "expired", "a", "ttl") ENDED(1005, 3, "expired", "a", "ttl")
                    ASK(1200, 2) SET3(1201, 2, "b", 2201) GRANT(1205, 2, "b", 2190) ENTER(1206, 2);
    static const char head[] = "{'format':'picklock-history','version':1";
    static const char refused[] = OP(1300, 1, "invoke", "write") "}\n" OP(
        1301, 1, "fail", "write") ",'cause':'other-value'}\n";
    char lines[8192];
    (void)snprintf(lines, sizeof lines, "%s%s", head, late);
    cr_assert_not_null(strstr(tell("section_exclusion", lines), "let it refuse older fences"));
    (void)snprintf(lines, sizeof lines, "%s,'fence_check':true%s", head, late);
    const char *guarded = tell("section_exclusion", lines);
    cr_assert_null(strstr(guarded, "let it refuse older fences"));
    cr_assert_not_null(strstr(guarded, "The store is guarded: keep it so"));
    (void)snprintf(lines, sizeof lines, "%s,'value_check':true%s%s", head, late, refused);
    cr_assert_not_null(strstr(tell("section_exclusion", lines), "the guard of the store held"));
}

Test(stories, a_history_without_violation_has_none)
{
    told(HEADER HOLDS(1, "a") LEAVE(20, 1) FREE(20, 1) DELETED3(21, 1, "a") FREED(22, 1));
    cr_assert_eq(stories.cause_count, 0u);
    cr_assert_null(stories_cause_of(&stories, 0));
}

/* Whose key went, and how, has no part in what a lock counts on its own. */
Test(stories, fences_out_of_order_tell_the_fences)
{
#define COUNTED(one, other)                                                                        \
    HEADER ASK(1, 1) SET3(2, 1, "a", 1002) GRANT_FENCE(3, 1, one) FREE(10, 1) DELETED3(11, 1, "a") \
        FREED(12, 1) ASK(20, 2) SET3(21, 2, "b", 1021) GRANT_FENCE(22, 2, other)
    told(COUNTED(8, 7));
    cr_assert_str_eq(stories.causes[0].title, "Client 2 got fence 7 after client 1 had got 8.");
    cr_assert(strstr(steps_of(&stories.causes[0]), ", fence 8"));
    cr_assert(strstr(steps_of(&stories.causes[0]), ", fence 7"));
    told(COUNTED(8, 8));
    cr_assert_str_eq(stories.causes[0].title,
                     "Client 2 got fence 8 after client 1 had got the same.");
}

Test(stories, a_pattern_is_the_same_for_other_numbers)
{
    char memory[2][STORY_SENTENCE_BYTES];
    struct story_cause cause = {0};
    for (int i = 0; i < 2; i++) {
        struct text title = text_over(cause.title, sizeof cause.title);
        struct text pattern = text_over(memory[i], sizeof memory[i]);
        text_add(&title, "Client %d was paused for %s, past its lease of r0.", i + 1,
                 i == 0 ? "58.63 ms" : "2 s");
        story_pattern(&cause, &pattern);
    }
    cr_assert_str_eq(memory[0], "Client # was paused for #, past its lease of r#.");
    cr_assert_str_eq(memory[0], memory[1]);
}

Test(stories, a_story_longer_than_its_steps_keeps_its_violations)
{
    /* Each node loses its key by a fault of its own: more moments than steps. */
    told("{'format':'picklock-history','version':1,'nodes':15,'clients':2,'ttl':1000000000,"
         "'promises_validity':true}\n" ASK(1, 1) SET3(2, 1, "a", 1005) SET(3, 4, 1, "a", 1005)
             SET(3, 5, 1, "a", 1005) SET(3, 6, 1, "a", 1005) SET(3, 7, 1, "a", 1005)
                 SET(3, 8, 1, "a", 1005) SET(3, 9, 1, "a", 1005) GRANT(10, 1, "a", 1000)
                     ENTER(11, 1) ENDED_BY(20, 1, "key-lost", "a", "restart", 1)
                         ENDED_BY(30, 2, "key-lost", "a", "restart", 2) ENDED_BY(40, 3, "key-lost",
                                                                                 "a", "restart", 3)
                             ENDED_BY(50, 4, "key-lost", "a", "restart", 4)
                                 ENDED_BY(60, 5, "key-lost", "a", "restart", 5)
                                     ENDED_BY(70, 6, "key-lost", "a", "restart", 6)
                                         ENDED_BY(80, 7, "key-lost", "a", "restart", 7)
                                             ENDED_BY(90, 8, "key-lost", "a", "restart", 8)
                                                 ASK(95, 2) GRANT_OPEN(100, 2, "b") ENTER(101, 2));
    const struct story_cause *cause = &stories.causes[0];
    cr_assert_eq(cause->step_count, STORY_STEPS_MAX);
    cr_assert(cause->steps[STORY_STEPS_MAX - 1].violation);
}

#define ONE_NODE(more)                                                                             \
    "{'format':'picklock-history','version':1,'nodes':1,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'promises_validity':true" more "}\n"

Test(stories, of_one_node_no_majority_is_told_and_what_was_set_over_was_overwritten)
{
    told(ONE_NODE("") ASK(1, 1) SET(5, 1, 1, "a", 1005) GRANT(10, 1, "a", 990) ENTER(11, 1)
             ASK(100, 2) SET(105, 1, 2, "b", 1105) GRANT(110, 2, "b", 1090) ENTER(111, 2)
                 LEAVE(300, 1) LEAVE(400, 2));
    const struct story_cause *cause = &stories.causes[0];
    cr_assert_eq(stories.cause_count, 1u);
    cr_assert_eq(cause->blame, BLAME_LIBRARY);
    const char *steps = steps_of(cause);
    cr_assert_neq(strstr(steps, "[key overwritten by another] Client 2 overwrites client 1's key "
                                "on node 1.\n"),
                  NULL, "%s", steps);
    cr_assert_eq(strstr(steps, "majority"), NULL, "%s", steps);
}

Test(stories, a_lock_that_promises_nothing_is_not_said_to_have_promised)
{
    told("{'format':'picklock-history','version':1,'nodes':1,'clients':2,'ttl':1000000000,"
         "'declared':true,'declares':['renew','notice']}\n" ASK(1, 1) SET(5, 1, 1, "a", 1005)
             GRANT_OPEN(10, 1, "a") ENTER(11, 1) ENDED(1005, 1, "expired", "a", "ttl") ASK(1100, 2)
                 SET(1102, 1, 2, "b", 2102) GRANT_OPEN(1105, 2, "b") ENTER(1106, 2) LEAVE(1305, 1));
    cr_assert_str_eq(stories.causes[0].title,
                     "Two clients were inside r0 at once: client 1 held it still when its key was "
                     "gone.");
}

Test(stories, a_grant_with_nothing_on_the_only_node_is_one_without_a_key)
{
    told(ONE_NODE("") ASK(1, 1) GRANT(10, 1, "a", 990) ENTER(11, 1) ASK(100, 2) SET(
        105, 1, 2, "b", 1105) GRANT(110, 2, "b", 1090) ENTER(111, 2) LEAVE(300, 1) LEAVE(400, 2));
    const char *steps = steps_of(&stories.causes[0]);
    cr_assert_neq(strstr(steps, "with no key"), NULL, "%s", steps);
    cr_assert_eq(strstr(steps, "majority"), NULL, "%s", steps);
    cr_assert_eq(strstr(stories.causes[0].title, "majority"), NULL, "%s", stories.causes[0].title);
}

Test(stories, where_servers_do_not_tell_the_story_says_so_and_where_to_run_it)
{
    told(ONE_NODE(",'library':'lockcore 0.1.0','unwatched':'it does not tell'") ASK(1, 1)
             GRANT(10, 1, "a", 990) ENTER(11, 1) ASK(100, 2) GRANT(110, 2, "b", 1090) ENTER(111, 2)
                 LEAVE(300, 1) LEAVE(400, 2));
    char memory[STORY_SENTENCE_BYTES];
    struct text why = text_over(memory, sizeof memory);
    story_blame_why(&stories.causes[0], &story.header, &why);
    cr_assert_eq(stories.causes[0].blame, BLAME_NONE);
    cr_assert_str_eq(memory, "The history does not say what happened on the nodes: it does not "
                             "tell.");
    cr_assert_neq(strstr(stories.causes[0].advice, "in the simulator"), NULL);
}

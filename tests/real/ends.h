/* ends.h: when the lock's key is over, as it was told and by the server's own word, for tests. */
#ifndef TESTS_REAL_ENDS_H
#define TESTS_REAL_ENDS_H

#include "tests/real/tap.h"

static inline struct keys_view look(void)
{
    struct keys_view view;
    keys_look(links.keys, 0, 0, loop_now_ns(), &view);
    return view;
}

/* When the server's key is over, by its own word, give or take the ms of its clock and ours. */
static inline int64_t ends_ns(int64_t *slack_ns)
{
    struct admin_reply reply;
    int64_t before_ns = loop_now_ns();
    LINKS_MUST(node_order(&links.node, (const char *[]){"PTTL", "r0", NULL}, &reply, &links_why));
    *slack_ns = loop_now_ns() - before_ns + 2 * NS_PER_MS;
    return before_ns + reply.items[0].integer * NS_PER_MS;
}

static inline void view_holds(void)
{
    struct keys_view view = look();
    int64_t slack_ns;
    int64_t end_ns = ends_ns(&slack_ns);
    cr_assert(view.present);
    cr_assert_leq(view.earliest_ns, end_ns + slack_ns, "%lld ms late",
                  (long long)((view.earliest_ns - end_ns) / NS_PER_MS));
    cr_assert_geq(view.latest_ns, end_ns - slack_ns, "%lld ms early",
                  (long long)((end_ns - view.latest_ns) / NS_PER_MS));
}

#endif

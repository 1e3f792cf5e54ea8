/* test_etcd_differential.c: the model of an etcd cluster against a real one: same requests, same
 * answers; restarts, killed leaders and leases that end included. */
#include "tests/sim/etcd_rig.h"

static struct rig rig;

/* Longer than a test. */
#define LONG_MS 3600000

static void gone(void)
{
    rig_close(&rig);
}

/* What is written waits for a disk, which nothing here may skip: of five, four only look. */
static struct rig_step step_draw(struct random_stream *random, uint64_t touched, bool grants)
{
    static const enum etcd_command all[] = {ETCD_GRANT, ETCD_ENQUEUE, ETCD_ENQUEUE, ETCD_PUT,
                                            ETCD_REVOKE};
    const enum etcd_command *writes = grants ? all : all + 1;
    uint64_t writes_count = sizeof all / sizeof all[0] - (grants ? 0 : 1);
    uint32_t lease = (uint32_t)random_below(random, RIG_LEASES);
    bool placed = rig.place_of[lease] != 0 && (touched >> lease & 1) == 0;
    enum etcd_command kind = random_below(random, 5) == 0
                                 ? writes[random_below(random, writes_count)]
                             : placed ? ETCD_OLDER
                                      : ETCD_KEEP_ALIVE;
    struct rig_step step = rig_step_of(lease, kind, LONG_MS + (int64_t)random_below(random, 3000));
    step.command.number = kind == ETCD_OLDER ? rig.place_of[lease] : 0;
    return step;
}

/* Whoever looks knows its place, so by an answer of a batch before. */
static bool batches_agree(struct random_stream *random, uint32_t commands, bool grants)
{
    bool same = true;
    for (uint32_t at = 0; at < commands && same; at += RIG_BATCH_MAX) {
        struct rig_step steps[RIG_BATCH_MAX];
        uint64_t touched = 0;
        for (uint32_t i = 0; i < RIG_BATCH_MAX; i++) {
            steps[i] = step_draw(random, touched, grants);
            touched |= UINT64_C(1) << steps[i].lease;
        }
        same = rig_ask(&rig, steps, RIG_BATCH_MAX);
    }
    return same;
}

_Static_assert(RIG_LEASES <= 64, "a bit for each");

/*
 * A killed etcd 3.4 does anew what came behind the last change of a key on its disk, as a lease's
 * grant does not count for one (etcd#11935, in 3.5): a put that it refused is done now, if its
 * lease was granted behind it and is on the disk. So a change is on the disk before the kill, and
 * what is done anew has no grant.
 */
static void kill_behind_a_change(struct random_stream *random)
{
    struct rig_step grant = rig_step_of(0, ETCD_GRANT, LONG_MS);
    struct rig_step put = rig_step_of(0, ETCD_PUT, 0);
    RIG_AGREE(&rig, grant);
    RIG_AGREE(&rig, put);
    cr_assert_eq(rig.reply.type, LOCK_REPLY_NUMBER);
    rig_commit(&rig, 0);
    cr_assert(batches_agree(random, 2 * RIG_BATCH_MAX, false), "%s", rig.difference);
    rig_kill(&rig, 0, 0);
}

Test(etcd_differential, agrees_through_restarts, .fini = gone, .timeout = 300)
{
    struct random_stream random = random_stream("etcd differential", 1);
    rig_open(&rig, 1);
    for (int i = 0; i < 4; i++) {
        cr_assert(batches_agree(&random, 5500, true), "%s", rig.difference);
        kill_behind_a_change(&random);
    }
    cr_assert_gt(rig.commands, 20000);
    (void)fprintf(stderr, "%" PRIu64 " commands\n", rig.commands);
}

/* Where the rule above comes from: an etcd before 3.5 and its model part here. */
Test(etcd_differential, a_refused_put_comes_back_before_3_5, .fini = gone, .timeout = 300)
{
    struct rig_step put = rig_step_of(1, ETCD_PUT, 0);
    struct rig_step grant = rig_step_of(1, ETCD_GRANT, LONG_MS);
    struct rig_step grant_other = rig_step_of(2, ETCD_GRANT, LONG_MS);
    struct rig_step put_other = rig_step_of(2, ETCD_PUT, 0);
    rig_open(&rig, 1);
    bool mended = rig_version(&rig) >= 305;
    RIG_AGREE(&rig, put);
    cr_assert_eq(rig.reply.type, LOCK_REPLY_NO);
    RIG_AGREE(&rig, grant);
    RIG_AGREE(&rig, grant_other);
    rig_commit(&rig, 0);
    rig_kill(&rig, 0, 0);
    cr_assert_eq(rig_ask(&rig, &put_other, 1), mended, "%s", rig.difference);
}

Test(etcd_differential, notices_a_wrong_rule, .fini = gone, .timeout = 300)
{
    struct random_stream random = random_stream("etcd differential", 2);
    rig_open(&rig, 1);
    rig.wrong_order = true;
    cr_assert_not(batches_agree(&random, 500, true));
}

/* One waits behind the other; both live for so long, and the first for as long as it is kept. */
static void two_in_a_queue(int64_t ttl_ms)
{
    for (uint32_t lease = 0; lease < 2 * CLUSTER_LEASES; lease += CLUSTER_LEASES) {
        struct rig_step grant = rig_step_of(lease, ETCD_GRANT, ttl_ms);
        struct rig_step enqueue = rig_step_of(lease, ETCD_ENQUEUE, 0);
        RIG_AGREE(&rig, grant);
        RIG_AGREE(&rig, enqueue);
    }
}

static void nap_until(int64_t ns)
{
    int64_t left_ns = ns - loop_now_ns();
    rig_nap(left_ns > 0 ? left_ns : 0);
}

/* The second is not kept: long after its end it is gone, and the first is not. */
Test(etcd_differential, agrees_on_leases_that_end, .fini = gone, .timeout = 300)
{
    rig_open(&rig, 1);
    int64_t late_ns = 0;
    two_in_a_queue(2000);
    int64_t begun_ns = loop_now_ns();
    for (int64_t at_ns = begun_ns; at_ns < begun_ns + 4500 * NS_PER_MS; at_ns += 300 * NS_PER_MS) {
        struct rig_step keep = rig_step_of(0, ETCD_KEEP_ALIVE, 0);
        nap_until(at_ns);
        int64_t behind_ns = loop_now_ns() - at_ns;
        late_ns = behind_ns > late_ns ? behind_ns : late_ns;
        if (late_ns > NS_PER_S) {
            cr_skip_test("this machine stood still for a second");
        }
        RIG_AGREE(&rig, keep);
    }
    struct rig_step lost = rig_step_of(CLUSTER_LEASES, ETCD_KEEP_ALIVE, 0);
    struct rig_step holds = rig_step_of(0, ETCD_ENQUEUE, 0);
    RIG_AGREE(&rig, lost);
    cr_assert_eq(rig.reply.type, LOCK_REPLY_NO);
    RIG_AGREE(&rig, holds);
    cr_assert_eq(rig.reply.type, LOCK_REPLY_NUMBER);
}

/* "Promote": its successor gives every lease its whole ttl anew, and ends it then. */
Test(etcd_differential, agrees_when_leaders_are_killed, .fini = gone, .timeout = 300)
{
    struct random_stream random = random_stream("etcd differential", 3);
    rig_open(&rig, 3);
    cr_assert(batches_agree(&random, 500, true), "%s", rig.difference);
    for (uint32_t lease = 0; lease < RIG_LEASES; lease++) {
        struct rig_step revoke = rig_step_of(lease, ETCD_REVOKE, 0);
        RIG_AGREE(&rig, revoke);
    }
    two_in_a_queue(3000);
    int64_t begun_ns = loop_now_ns();
    nap_until(begun_ns + 2000 * NS_PER_MS);
    rig_kill(&rig, rig_leader(&rig), rig_cluster(&rig)->leader);
    int64_t killed_ns = loop_now_ns();
    if (killed_ns > begun_ns + 3400 * NS_PER_MS) {
        cr_skip_test("this machine needed more than a second to start a member");
    }
    nap_until(begun_ns + 4000 * NS_PER_MS); /* over, had nobody been killed */
    if (loop_now_ns() > begun_ns + 4700 * NS_PER_MS) {
        cr_skip_test("this machine stood still");
    }
    struct rig_step holds = rig_step_of(0, ETCD_ENQUEUE, 0);
    RIG_AGREE(&rig, holds);
    cr_assert_eq(rig.reply.type, LOCK_REPLY_NUMBER);
    nap_until(killed_ns + 6000 * NS_PER_MS);
    RIG_AGREE(&rig, holds);
    cr_assert_eq(rig.reply.type, LOCK_REPLY_NO);
}

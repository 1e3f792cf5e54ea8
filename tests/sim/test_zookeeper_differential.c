/* test_zookeeper_differential.c: the model of a ZooKeeper ensemble against a real one of three:
 * same questions from many sessions at once, same answers, same watches; killed members, killed
 * leaders, sessions that move and that end included. */
#include "tests/sim/zookeeper_events.h"

static struct rig rig;

enum { BATCH_STEPS = 60 };

static void gone(void)
{
    if (rig.members.count > 0) {
        rig_close(&rig);
    }
}

/* What a row may ask for: of the znodes that were there when all was quiet. */
struct drawing {
    uint32_t creates; /* that the row's memory in the model has room for */
    uint32_t writes;  /* ... that may be under way */
    int64_t there[RIG_RESOURCES * RIG_CLIENTS * ENSEMBLE_ZNODES];
    uint32_t there_count;
};

static void drawing_begin(struct drawing *drawing, uint32_t of)
{
    struct ensemble_client *clients = ensemble_clients_of(rig_ensemble(&rig), rig_resource(of));
    memset(drawing, 0, sizeof *drawing);
    drawing->creates = ENSEMBLE_ZNODES;
    drawing->writes = ENSEMBLE_REQUESTS;
    for (uint32_t client = 0; client < RIG_CLIENTS; client++) {
        for (uint32_t i = 0; i < ENSEMBLE_ZNODES; i++) {
            const struct ensemble_znode *znode = &clients[client].znodes[i];
            if (znode->created != 0 && znode->deleted == 0) {
                drawing->there[drawing->there_count++] = znode->place;
                drawing->creates -= client == of % RIG_CLIENTS;
            }
        }
    }
}

/* Of five znodes that are asked for one may be gone since long. */
static void step_aim(struct random_stream *random, const struct drawing *drawing, uint32_t of,
                     struct rig_step *step)
{
    int64_t created = ensemble_clients_of(rig_ensemble(&rig), rig_resource(of))->created;
    bool there = drawing->there_count > 0 && random_below(random, 5) > 0;
    if (there) {
        step->number = drawing->there[random_below(random, drawing->there_count)];
    } else if (created > 0) {
        step->number = 1 + (int64_t)random_below(random, (uint64_t)created);
    }
    step->value = rig.znodes[rig_resource(of)][step->number].value;
}

static struct rig_step step_draw(struct random_stream *random, struct drawing *drawing, uint32_t of)
{
    static const enum zookeeper_command reads[] = {
        ZOOKEEPER_PING,   ZOOKEEPER_EXISTS, ZOOKEEPER_EXISTS,        ZOOKEEPER_CHILDREN,
        ZOOKEEPER_EXISTS, ZOOKEEPER_EXISTS, ZOOKEEPER_CHILDREN_WATCH};
    struct rig_step step = {.kind = reads[random_below(random, sizeof reads / sizeof reads[0])]};
    if (drawing->writes > 0 && random_below(random, 6) == 0) {
        step.kind = random_below(random, 2) == 0 ? ZOOKEEPER_DELETE : ZOOKEEPER_CREATE;
    }
    if (step.kind == ZOOKEEPER_CREATE && drawing->creates == 0) {
        step.kind = ZOOKEEPER_DELETE;
    }
    if (step.kind == ZOOKEEPER_CREATE) {
        step.value = rig_value(&rig);
        drawing->creates--;
    } else {
        step_aim(random, drawing, of, &step);
    }
    bool nobody =
        step.number == 0 && (step.kind == ZOOKEEPER_EXISTS || step.kind == ZOOKEEPER_DELETE);
    step.kind = nobody ? ZOOKEEPER_PING : step.kind;
    drawing->writes -= step.kind == ZOOKEEPER_CREATE || step.kind == ZOOKEEPER_DELETE;
    return step;
}

/* Of all rows at once; false: they differ, as rig.difference says. */
static bool batches_agree(struct random_stream *random, uint32_t batches)
{
    for (uint32_t batch = 0; batch < batches && !rig.failed; batch++) {
        for (uint32_t of = 0; of < RIG_ROWS; of++) {
            struct drawing drawing;
            drawing_begin(&drawing, of);
            for (uint32_t i = 0; i < BATCH_STEPS && rig_has_session(&rig, of); i++) {
                struct rig_step step = step_draw(random, &drawing, of);
                client_ask(&rig.rows[of].client, &step);
            }
        }
        rig_gather(&rig);
        rig_settle(&rig);
    }
    return !rig.failed;
}

static void member_killed(struct random_stream *random, uint32_t node)
{
    AGREE(rig_kill(&rig, node));
    AGREE(rig_attach_all(&rig, UINT64_C(7) & ~(UINT64_C(1) << node)));
    AGREE(batches_agree(random, 4));
    AGREE(rig_start(&rig, node));
    AGREE(rig_attach_all(&rig, 7));
    AGREE(batches_agree(random, 4));
}

/* Any znode of its lock. */
static void session_moved(uint32_t of)
{
    struct drawing drawing;
    drawing_begin(&drawing, of);
    cr_assert_gt(drawing.there_count, 0);
    AGREE(rig_move(&rig, of, drawing.there[0]));
}

static void leader_killed_while_sessions_end(struct random_stream *random)
{
    uint32_t leader = rig_ensemble(&rig)->leader;
    AGREE(rig_mortals_begin(&rig));
    AGREE(rig_kill(&rig, leader));
    AGREE(rig_attach_all(&rig, UINT64_C(7) & ~(UINT64_C(1) << leader)));
    AGREE(rig_mortals_end(&rig));
    AGREE(batches_agree(random, 2));
    AGREE(rig_start(&rig, leader));
    AGREE(rig_attach_all(&rig, 7));
}

static void leader_killed_under_way(struct random_stream *random)
{
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        struct drawing drawing;
        drawing_begin(&drawing, of);
        for (uint32_t i = 0; i < BATCH_STEPS && rig_has_session(&rig, of); i++) {
            struct rig_step step = {.kind = ZOOKEEPER_PING};
            if (i % 4 == 0 && drawing.creates > 0) {
                step = (struct rig_step){.kind = ZOOKEEPER_CREATE, .value = rig_value(&rig)};
                drawing.creates--;
            }
            client_ask(&rig.rows[of].client, &step);
        }
    }
    AGREE(rig_kill_under_way(&rig));
    AGREE(rig_attach_all(&rig, 7));
    AGREE(batches_agree(random, 4));
}

static void open_or_skip(void)
{
    members_need(SERVER_KIND_zookeeper, "zookeeper_differential");
    AGREE(rig_open(&rig));
}

Test(zookeeper_differential, agrees, .fini = gone, .timeout = 300)
{
    uint64_t seed = 1;
    struct random_stream random = random_stream("zookeeper differential", seed);
    (void)fprintf(stderr, "seed %" PRIu64 "\n", seed);
    open_or_skip();
    AGREE(batches_agree(&random, 8));
    AGREE(rig_mortals_begin(&rig));
    AGREE(rig_mortals_end(&rig));
    for (uint32_t of = 0; of < RIG_NODES_MAX; of++) {
        session_moved(of);
    }
    member_killed(&random, 0);
    member_killed(&random, rig_ensemble(&rig)->leader);
    leader_killed_while_sessions_end(&random);
    for (uint32_t node = 0; node < RIG_NODES_MAX; node++) {
        AGREE(rig_jump(&rig, node, (node == 1 ? -2 : 1) * 3600 * NS_PER_S));
        AGREE(batches_agree(&random, 3));
    }
    leader_killed_under_way(&random);
    cr_assert_gt(rig.commands, 20000);
    cr_assert_gt(rig.watches, 500);
    cr_assert_eq(rig.expired, 6);
    (void)fprintf(stderr,
                  "%" PRIu64 " commands, %" PRIu64 " watches, %" PRIu64 " sessions ended, %" PRIu64
                  " writes carried out and not answered\n",
                  rig.commands, rig.watches, rig.expired, rig.unheard);
}

Test(zookeeper_differential, notices_a_wrong_rule, .fini = gone, .timeout = 300)
{
    struct random_stream random = random_stream("zookeeper differential", 2);
    open_or_skip();
    rig.twice = true;
    cr_assert_not(batches_agree(&random, 4));
}

/* test_sql_differential.c: the model of a database against a real PostgreSQL: same statements from
 * several sessions at once, same clocks, same answers, same table; restarts, power cuts and ended
 * sessions included. */
#include "tests/sim/sql_events.h"

#include <signal.h>

static struct rig rig;

#define WALL_NS (1800000000 * NS_PER_S)

/* Compare sequences from `seed` on; a difference is shrunk, printed and fails the test. */
static void agree(uint64_t seed, uint32_t sequences)
{
    static struct steps steps;
    static char memory[1 << 16];
    struct text text = text_over(memory, sizeof memory);
    (void)fprintf(stderr, "seeds %lu to %lu\n", (unsigned long)seed,
                  (unsigned long)seed + sequences - 1);
    for (uint64_t i = seed; i < seed + sequences; i++) {
        steps_draw(&steps, i, WALL_NS, rig.power);
        if (rig_run(&rig, &steps, WALL_NS, i)) {
            continue;
        }
        (void)fprintf(stderr, "seed %lu: %s; shrinking\n", (unsigned long)i, rig.difference);
        rig_shrink(&rig, &steps, WALL_NS, i);
        for (uint32_t k = 0; k < steps.count; k++) {
            step_print(&steps.list[k], &text);
        }
        cr_assert_fail("seed %lu, shrunk to %u steps: %s\n%s", (unsigned long)i, steps.count,
                       rig.difference, text.data);
    }
    (void)fprintf(stderr, "%lu commands, %lu beside another session's, %lu never answered\n",
                  (unsigned long)rig.commands, (unsigned long)rig.at_once,
                  (unsigned long)rig.struck);
}

static void gone(void)
{
    rig_close(&rig);
}

Test(sql_differential, agrees, .fini = gone, .timeout = 600)
{
    rig_open(&rig, false);
    agree(1000, 54);
    cr_assert_gt(rig.commands, 20000);
    cr_assert_gt(rig.at_once, 10000);
}

Test(sql_differential, agrees_when_the_power_is_cut, .fini = gone, .timeout = 600)
{
    rig_open(&rig, true);
    agree(2000, 3);
}

Test(sql_differential, notices_a_wrong_end_and_shrinks_it, .fini = gone, .timeout = 600)
{
    static struct steps steps;
    uint64_t seed = 1;
    rig_open(&rig, false);
    rig.wrong_end = true;
    for (;; seed++) {
        cr_assert_lt(seed, 100, "it must be noticed");
        steps_draw(&steps, seed, WALL_NS, false);
        if (!rig_run(&rig, &steps, WALL_NS, seed)) {
            break;
        }
    }
    rig_shrink(&rig, &steps, WALL_NS, seed);
    cr_assert_leq(steps.count, 3, "an insert, a jump, a look: here are %u", steps.count);
}

static struct step ask(enum sql_statement kind, int owner)
{
    struct step step = {.kind = STEP_COMMAND, .command = {.kind = kind, .ttl_ms = 1000}};
    memset(&step.command.value, owner, sizeof step.command.value);
    return step;
}

/* Ask, and wait until the database says that the question waits for a row. */
static void ask_and_be_kept(uint32_t of, const struct step *step, int64_t waiting)
{
    session_ask(&rig.sessions[of], step);
    session_write(&rig.sessions[of]);
    for (int i = 0; rig_number(&rig, "SELECT count(*) FROM pg_locks WHERE NOT granted") < waiting;
         i++) {
        cr_assert_lt(i, 10000, "it waits");
    }
}

static int64_t answer(uint32_t of)
{
    struct session *session = &rig.sessions[of];
    cr_assert(session_read(session));
    struct lock_reply reply = session->replies[session->answered - 1];
    return reply.type == LOCK_REPLY_NUMBER ? reply.number : -(int64_t)reply.type;
}

/*
 * Two ask for a row that somebody else has just written and takes back. The first of them stands
 * still behind whatever it has drawn by then; the other comes, and goes.
 */
Test(sql_differential, a_fence_is_drawn_when_the_row_is_ours, .fini = gone, .timeout = 60)
{
    char memory[64];
    struct text nothing = text_over(memory, sizeof memory);
    struct step inserts[] = {ask(SQL_INSERT, 1), ask(SQL_INSERT, 2)};
    struct step deletes = ask(SQL_DELETE, 2);
    char statement[128];
    rig_open(&rig, false);
    rig_reset(&rig, WALL_NS);
    (void)snprintf(statement, sizeof statement,
                   "SELECT pid FROM pg_stat_activity WHERE client_port = %d",
                   session_port(&rig.sessions[0]));
    pid_t first = (pid_t)rig_number(&rig, statement);
    rig_query(&rig, "BEGIN", &nothing);
    rig_query(&rig, "INSERT INTO locks SELECT 'r0', '', now()", &nothing);
    ask_and_be_kept(0, &inserts[0], 1);
    cr_assert_eq(kill(first, SIGSTOP), 0);
    ask_and_be_kept(1, &inserts[1], 2);
    rig_query(&rig, "ROLLBACK", &nothing);
    int64_t other = answer(1);
    session_ask(&rig.sessions[1], &deletes);
    session_write(&rig.sessions[1]);
    cr_assert_eq(answer(1), -(int64_t)LOCK_REPLY_YES);
    cr_assert_eq(kill(first, SIGCONT), 0);
    cr_assert_gt(answer(0), other, "who comes later has the greater fence");
}

/* Files of a database that are only read are links to those of the template: nothing may write
 * there. The cache is a new one, beside the run's folder: links do not leave a file system. */
Test(sql_differential, a_server_leaves_what_it_shares_as_it_was, .fini = gone, .timeout = 120)
{
    static const char look[] = "linked=$(find '%.200s' -type f -links +1 | wc -l)\n"
                               "[ \"$linked\" -gt 200 ] || echo \"only $linked are shared\"\n"
                               "find '%.200s' -type f -links +1 -newer '%.200s' | head -n 5\n";
    static struct steps steps;
    char data[SERVER_PATH_BYTES + 16];
    char hba[SERVER_PATH_BYTES + 32];
    char script[2048];
    char said[512] = "";
    struct place cache;
    place_make(&cache);
    cr_assert_eq(setenv("XDG_CACHE_HOME", cache.path, 1), 0);
    rig_open(&rig, false);
    steps_draw(&steps, 3000, WALL_NS, false);
    cr_assert(rig_run(&rig, &steps, WALL_NS, 3000));
    node_crash(&rig.node);
    (void)snprintf(data, sizeof data, "%.500s/data", rig.node.server.directory);
    (void)snprintf(hba, sizeof hba, "%s/pg_hba.conf", data);
    (void)snprintf(script, sizeof script, look, data, data, hba);
    FILE *shell = popen(script, "re");
    cr_assert_not_null(shell);
    size_t bytes = fread(said, 1, sizeof said - 1, shell);
    (void)pclose(shell);
    place_remove(&cache);
    cr_assert_eq(bytes, 0, "%s", said);
}

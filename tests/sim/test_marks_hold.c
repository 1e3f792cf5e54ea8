/* test_marks_hold.c: bars drawn from the marks are the ledger's, after every event of any run. */
#include "checker/report/marks.h"
#include "tests/sim/sim_fixture.h"

static struct fixture fixture;

enum { CLIENTS = 5, RESOURCES = 2, NODES = 5, SEEDS = 40 };

struct bar {
    bool open;
    int64_t until_ns;
    int32_t process;
};

static struct bar leases[CLIENTS][RESOURCES];
static struct bar sections[CLIENTS];
static struct bar waits[CLIENTS];
static struct bar keys[NODES][RESOURCES];

/* All that whoever draws does with a mark. */
static void draw(const struct mark *mark)
{
    struct bar *bar = NULL;
    switch ((enum mark_bar)mark->bar) {
    case MARK_LEASE:
        bar = &leases[mark->process][mark->resource];
        break;
    case MARK_SECTION:
        bar = &sections[mark->process];
        break;
    case MARK_WAIT:
        bar = &waits[mark->process];
        break;
    case MARK_KEY:
        bar = &keys[mark->node][mark->resource];
        break;
    case MARK_BARS:
        break;
    }
    cr_assert_not_null(bar);
    bool opens = mark->turn == MARK_OPEN;
    cr_assert(mark->bar == MARK_LEASE || opens != bar->open, "opened once, closed once");
    bar->open = mark->turn != MARK_CLOSE;
    bar->until_ns = mark->until_ns;
    bar->process = opens ? mark->process : bar->process;
}

static void compare_client(const struct ledger *ledger, int32_t client)
{
    const struct ledger_process *process = ledger_process(ledger, client);
    cr_assert_eq(sections[client].open, process->inside);
    cr_assert_eq(waits[client].open, process->open && !process->dead);
    for (uint32_t resource = 0; resource < RESOURCES; resource++) {
        const struct ledger_claim *claim = ledger_grant(ledger, client, resource);
        const struct bar *bar = &leases[client][resource];
        bool drawn = bar->open && bar->until_ns > ledger->now_ns;
        bool runs = claim != NULL && ledger_running(ledger, claim);
        cr_assert_eq(drawn, runs, "client %d, r%u at %lld", client, resource,
                     (long long)ledger->now_ns);
        cr_assert(!runs || bar->until_ns == claim->until_ns);
    }
}

static void compare(const struct ledger *ledger)
{
    for (int32_t client = 0; client < CLIENTS; client++) {
        if (ledger_process(ledger, client)->process != HISTORY_NOBODY) {
            compare_client(ledger, client);
        }
    }
    for (int32_t node = 0; node < NODES; node++) {
        for (uint32_t resource = 0; resource < RESOURCES; resource++) {
            const struct ledger_key *key = ledger_key_at(ledger, node, resource);
            cr_assert_eq(keys[node][resource].open, key->present);
            cr_assert(!key->present || keys[node][resource].process == key->process);
        }
    }
}

Test(marks_hold, bars_are_the_ledgers_after_every_event, .timeout = 60)
{
    fixture_open(
        &fixture,
        HEAD("algorithm: fenced_redlock, ttl: 2s",
             "everysec") "clients: {count: 4, resources: 2, sections: 4, hold: 300ms, writes: 2, "
                         "extend_every: 100ms}\nduration: 20s\n"
                         "faults: {random: {kinds: [pause, kill, slow, clock_jump, clock_rate, "
                         "crash, "
                         "power_loss, shutdown, stall, refuse_writes, script_flush, evict, "
                         "failover, "
                         "latency, partition, lose_reply, delay_command], count: 8}}\n" TAIL,
        1);
    uint64_t marks_seen = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct history_header header;
        fixture_again(&fixture, seed);
        fixture_finish(&fixture);
        plan_header(&fixture.plan, "sim", &header);
        struct marker *marker = marker_open(&header);
        memset(leases, 0, sizeof leases);
        memset(sections, 0, sizeof sections);
        memset(waits, 0, sizeof waits);
        memset(keys, 0, sizeof keys);
        for (uint64_t i = 0; i < fixture.count; i++) {
            struct marks marks;
            marker_step(marker, &fixture.events[i], &marks);
            for (uint32_t k = 0; k < marks.count; k++) {
                draw(&marks.list[k]);
            }
            marks_seen += marks.count;
            compare(marker_ledger(marker));
        }
        marker_close(marker);
    }
    cr_assert_gt(marks_seen, 10000u);
    fixture_close(&fixture);
}

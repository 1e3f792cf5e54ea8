/*
 * sql_rig.h: the model of a database and a real PostgreSQL, side by side, clocks stopped.
 *
 * Several sessions ask at once; there must be an order of their questions in which the model gives
 * the answers that the database gave, and has the table that it has.
 */
#ifndef TESTS_SIM_SQL_RIG_H
#define TESTS_SIM_SQL_RIG_H

#include "harness/real/node/node.h"
#include "servers/kinds.h"
#include "servers/sql/real/admin.h"
#include "servers/sql/rows.h"
#include "tests/real/place.h"
#include "tests/sim/rig_door.h"
#include "tests/sim/sql_sessions.h"

#include <inttypes.h>
#include <time.h>

enum { TABLE_BYTES = 1024, TABLE_TEXT_BYTES = 1024, ORDER_DEPTH = STEPS_MAX + 1 };

struct rig {
    struct place place;
    struct node node;
    bool power;
    bool wrong_end; /* plant a wrong rule in the model: at its end a row is not over yet */
    int64_t wall_ns;
    uint64_t commands;
    uint64_t at_once; /* of these, how many while another session's were under way */
    uint64_t struck;  /* ... how many were never answered */
    struct session sessions[SESSIONS];
    struct server_node clocks;
    struct server_door door; /* of the model */
    struct lock_reply reply; /* what it answered last */
    char difference[2 * TABLE_TEXT_BYTES];
    _Alignas(16) char model[TABLE_BYTES];
};

static inline struct sql_table *rig_table(char *model)
{
    return (struct sql_table *)(void *)model;
}

#define RIG_MUST(rig, call)                                                                        \
    do {                                                                                           \
        char rig_memory[WHY_BYTES] = "";                                                           \
        struct text why = text_over(rig_memory, sizeof rig_memory);                                \
        cr_assert(!result_failed(call), "%s", rig_memory);                                         \
    } while (0)

/* ---- the model ------------------------------------------------------------------------------- */

static inline void door_arm(struct server_door *door, uint32_t wake, int64_t true_ns)
{
    (void)door;
    (void)wake;
    (void)true_ns;
}

static inline void door_answer(struct server_door *door, const struct server_ask *ask,
                               struct lock_reply reply, uint64_t event)
{
    struct rig *rig = (struct rig *)(void *)((char *)door - offsetof(struct rig, door));
    (void)ask;
    (void)event;
    rig->reply = reply;
}

static inline void rig_model_init(struct rig *rig)
{
    struct server_shape shape = {
        .dialect = &sql_dialect, .node_count = 1, .resource_count = RESOURCES};
    cr_assert_leq(sql_rows.bytes(&shape), (size_t)TABLE_BYTES);
    sql_rows.init(rig->model, &shape);
    rig->door = (struct server_door){
        .nodes = &rig->clocks, .record = door_record, .arm = door_arm, .answer = door_answer};
}

static inline struct lock_reply rig_model_ask(struct rig *rig, char *model, uint32_t of,
                                              const struct step *step)
{
    struct server_ask ask = {.client = of, .resource = step->resource, .command = step->command};
    sql_rows.ask(model, &ask, &rig->door);
    struct sql_row *row = &rig_table(model)->rows[step->resource];
    if (rig->wrong_end && step->command.kind == SQL_INSERT &&
        rig->reply.type == LOCK_REPLY_NUMBER) {
        row->until_ms++;
    }
    return rig->reply;
}

static inline void rig_model_stop(struct rig *rig, char *model, enum server_stop how)
{
    struct server_turn turn = {.node = 0};
    (void)sql_rows.stop(model, &turn, how, 0, &rig->door);
    sql_rows.start(model, &turn, &rig->door);
}

/* A session has ended, and its advisory locks with it. */
static inline void rig_model_end(struct rig *rig, char *model, uint32_t of)
{
    struct server_caller caller = {.client = of};
    sql_rows.hung_up(model, &caller, &rig->door);
}

/* How many of them are held. */
static inline int rig_model_locks(char *model)
{
    const struct sql_table *table = rig_table(model);
    const struct sql_held *held = (const struct sql_held *)(const void *)&table->rows[RESOURCES];
    int count = 0;
    for (uint32_t i = 0; i < RESOURCES; i++) {
        count += held[i].count > 0;
    }
    return count;
}

/* As the database prints its own. */
static inline void rig_model_print(char *model, struct text *text)
{
    const struct sql_table *table = rig_table(model);
    char owner[LOCK_VALUE_HEX_BYTES + 1] = "";
    text_clear(text);
    for (uint32_t i = 0; i < RESOURCES; i++) {
        if (table->rows[i].present) {
            lock_value_print(&table->rows[i].owner, owner);
            text_add(text, "r%u %.*s %" PRId64 ", ", i, LOCK_VALUE_HEX_BYTES, owner,
                     table->rows[i].until_ms);
        }
    }
    text_add(text, "%d locks", rig_model_locks(model));
}

/* ---- the database ---------------------------------------------------------------------------- */

static inline void rig_query(struct rig *rig, const char *statement, struct text *answer)
{
    RIG_MUST(rig, admin_query(&rig->node.server, statement, answer, &why));
}

static inline int64_t rig_number(struct rig *rig, const char *statement)
{
    char memory[64];
    struct text answer = text_over(memory, sizeof memory);
    rig_query(rig, statement, &answer);
    return strtoll(answer.data, NULL, 10);
}

/* Its rows, how many advisory locks are held, and what its sequence gave last. */
static inline int64_t rig_read(struct rig *rig, struct text *rows)
{
    rig_query(rig,
              "SELECT (SELECT coalesce(string_agg(name || ' ' || owner || ' ' ||"
              " floor(extract(epoch FROM until) * 1000)::bigint, ', ' ORDER BY name) || ', ', '')"
              " FROM locks) || (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')"
              " || ' locks#' || (SELECT CASE WHEN is_called THEN last_value ELSE 0 END"
              " FROM fences)",
              rows);
    char *fences = strchr(rows->data, '#');
    cr_assert_not_null(fences);
    *fences = '\0';
    return strtoll(fences + 1, NULL, 10);
}

/* Start; a server that is killed from outside while it starts (a crowded machine) is started
 * again, one that refuses to start is refused each time. */
static inline void rig_up(struct rig *rig)
{
    char memory[WHY_BYTES] = "";
    struct text why = text_over(memory, sizeof memory);
    for (int attempt = 0; attempt < 3; attempt++) {
        bool ready = false;
        struct result result = node_start(&rig->node, &why);
        while (!result_failed(result) && !ready) {
            result = node_ready(&rig->node, &ready, &why);
        }
        if (ready) {
            for (int i = 0; i < SESSIONS; i++) {
                session_close(&rig->sessions[i]);
                session_open(&rig->sessions[i], rig->node.port);
            }
            return;
        }
    }
    cr_assert_fail("%s", memory);
}

/* Stop both clocks at exactly this time. */
static inline void rig_set_clock(struct rig *rig, int64_t wall_ns)
{
    node_clock_set(&rig->node, 0, 0);
    node_clock_set(&rig->node, wall_ns - atomic_load(&rig->node.clock->base_shown_ns), 0);
    cr_assert_eq(atomic_load(&rig->node.clock->base_shown_ns), wall_ns);
    rig->wall_ns = wall_ns;
    rig->clocks.wall = (struct clock){0, wall_ns, 0};
}

static inline void rig_open(struct rig *rig, bool power)
{
    memset(rig, 0, sizeof *rig);
    rig->power = power;
    place_make(&rig->place);
    struct node_options options = {.kind = SERVER_KIND_sql,
                                   .node_count = 1,
                                   .fake_clock = true,
                                   .track_fsync = power,
                                   .run_directory = rig->place.path};
    RIG_MUST(rig, node_init(&rig->node, &options, &why));
    rig_up(rig);
    rig_model_init(rig);
}

static inline void rig_close(struct rig *rig)
{
    for (int i = 0; i < SESSIONS; i++) {
        session_close(&rig->sessions[i]);
    }
    node_release(&rig->node);
    place_remove(&rig->place);
}

/* ---- one order ------------------------------------------------------------------------------- */

/* Where a search for an order stands: so many questions of each session are behind it. */
struct order {
    uint32_t at[SESSIONS];
    uint32_t tried;           /* sessions */
    int64_t fence[RESOURCES]; /* that was given last with each row */
    _Alignas(16) char model[TABLE_BYTES];
};

/* What the database holds now, as far as it can be seen. */
struct rig_seen {
    char rows[TABLE_TEXT_BYTES];
    int64_t fences;
    int64_t slack;  /* so many numbers the sequence may have given up that nobody got */
    uint32_t ended; /* and this session (+ 1) was ended behind the last question; 0: none was */
    bool stopped;   /* ... and the server was stopped behind the last question, ... */
    enum server_stop how;
};

/* All that was answered is behind it, and the tables are the same: the model takes it. */
static inline bool order_ends(struct rig *rig, const struct order *order,
                              const struct rig_seen *seen)
{
    char memory[TABLE_TEXT_BYTES];
    struct text text = text_over(memory, sizeof memory);
    _Alignas(16) char model[TABLE_BYTES];
    struct sql_table *table = rig_table(model);
    for (int i = 0; i < SESSIONS; i++) {
        if (order->at[i] < rig->sessions[i].answered) {
            return false;
        }
    }
    memcpy(model, order->model, sizeof model);
    if (seen->ended > 0) {
        rig_model_end(rig, model, seen->ended - 1);
    }
    if (seen->stopped) {
        rig_model_stop(rig, model, seen->how);
    }
    rig_model_print(model, &text);
    if (strcmp(text.data, seen->rows) != 0 || seen->fences < table->fences ||
        seen->fences > table->fences + seen->slack) {
        (void)snprintf(rig->difference, sizeof rig->difference,
                       "the database has %.900s fence %" PRId64 ", the model %.900s fence %" PRId64,
                       seen->rows, seen->fences, text.data, table->fences);
        return false;
    }
    while (table->fences < seen->fences) {
        (void)sql_next_fence(table, 0);
    }
    memcpy(rig->model, model, sizeof model);
    return true;
}

/*
 * Of several rows at once fences may be drawn in another order than these change hands: what one
 * session has drawn counts before others see what it wrote. With each row they grow.
 */
static inline bool order_fence(struct order *order, uint32_t resource, int64_t fence)
{
    bool grows = fence > order->fence[resource];
    order->fence[resource] = fence;
    return grows;
}

/* The next question of a session, in the model; false: it answers otherwise. */
static inline bool order_goes(struct rig *rig, struct order *order, uint32_t of)
{
    const struct session *session = &rig->sessions[of];
    uint32_t at = order->at[of]++;
    const struct step *step = &session->steps[at];
    struct lock_reply told = session->replies[at];
    struct lock_reply reply = rig_model_ask(rig, order->model, of, step);
    bool fence = reply.type == LOCK_REPLY_NUMBER && step->command.kind != SQL_CLOCK;
    if (at >= session->answered) {
        return true;
    }
    if (told.type == reply.type &&
        (fence ? order_fence(order, step->resource, told.number) : told.number == reply.number)) {
        return true;
    }
    (void)snprintf(rig->difference, sizeof rig->difference,
                   "%s r%u owner %d: the database answers %d %" PRId64 ", the model %d %" PRId64,
                   sql_dialect.rows[step->command.kind].name, step->resource,
                   step->command.value.bytes[0], told.type, told.number, reply.type, reply.number);
    return false;
}

/* Depth first; false: there is none. */
static inline bool rig_order(struct rig *rig, const struct rig_seen *seen)
{
    static struct order orders[ORDER_DEPTH];
    uint32_t depth = 0;
    memset(&orders[0], 0, sizeof orders[0]);
    memcpy(orders[0].model, rig->model, sizeof rig->model);
    for (int i = 0; i < RESOURCES; i++) {
        orders[0].fence[i] = rig_table(rig->model)->fences;
    }
    for (;;) {
        struct order *order = &orders[depth];
        if (order->tried == 0 && order_ends(rig, order, seen)) {
            return true;
        }
        if (order->tried == SESSIONS) {
            if (depth == 0) {
                return false;
            }
            depth--;
            continue;
        }
        uint32_t of = order->tried++;
        if (order->at[of] < rig->sessions[of].asked) {
            orders[depth + 1] = *order;
            orders[depth + 1].tried = 0;
            depth += order_goes(rig, &orders[depth + 1], of);
        }
    }
}

/* No fence was given twice, or is beyond the last; with the rows' own order that is all of them. */
static inline bool rig_fences_once(struct rig *rig, int64_t last)
{
    static int64_t given[SESSIONS * STEPS_MAX];
    uint32_t count = 0;
    for (int i = 0; i < SESSIONS; i++) {
        const struct session *session = &rig->sessions[i];
        for (uint32_t k = 0; k < session->answered; k++) {
            if (session->replies[k].type != LOCK_REPLY_NUMBER ||
                session->steps[k].command.kind == SQL_CLOCK) {
                continue;
            }
            bool once = session->replies[k].number <= last;
            for (uint32_t j = 0; j < count; j++) {
                once = once && given[j] != session->replies[k].number;
            }
            if (!once) {
                (void)snprintf(rig->difference, sizeof rig->difference,
                               "fence %" PRId64 " of %" PRId64 " twice", session->replies[k].number,
                               last);
                return false;
            }
            given[count++] = session->replies[k].number;
        }
    }
    return true;
}

/* Compare what was asked since the last time. */
static inline bool rig_compare(struct rig *rig, struct rig_seen seen)
{
    uint32_t several = 0;
    struct text rows = text_over(seen.rows, sizeof seen.rows);
    seen.fences = rig_read(rig, &rows);
    bool same = rig_fences_once(rig, seen.fences) && rig_order(rig, &seen);
    for (int i = 0; i < SESSIONS; i++) {
        several += rig->sessions[i].asked > 0;
    }
    for (int i = 0; i < SESSIONS; i++) {
        struct session *session = &rig->sessions[i];
        rig->commands += session->asked;
        rig->at_once += several > 1 ? session->asked : 0;
        rig->struck += session->asked - session->answered;
        session_forget(session);
    }
    return same;
}

/* Send what is asked, wait for the answers and compare. */
static inline bool rig_wait(struct rig *rig)
{
    for (int i = 0; i < SESSIONS; i++) {
        session_write(&rig->sessions[i]);
    }
    for (int i = 0; i < SESSIONS; i++) {
        cr_assert(session_read(&rig->sessions[i]), "a session ended by itself");
    }
    return rig_compare(rig, (struct rig_seen){.slack = 0});
}

#endif

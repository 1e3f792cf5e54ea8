/* rows.c: a database as locks see it: its statements, its sequence, its crashes. */
#include "servers/sql/rows.h"

#include "lockcore/sql/command.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

/* How far ahead the sequence writes into its log, so that not each of its numbers must. */
enum { SEQUENCE_LOGGED_AHEAD = 32 };

static size_t table_bytes(const struct server_shape *shape)
{
    return sizeof(struct sql_table) + shape->resource_count * sizeof(struct sql_row) +
           shape->replica_writes_max * sizeof(struct sql_write) +
           shape->resource_count * sizeof(struct sql_held);
}

static uint32_t table_wakes(const struct server_shape *shape)
{
    return shape->resource_count;
}

static void table_init(void *state, const struct server_shape *shape)
{
    struct sql_table *table = state;
    memset(table, 0, table_bytes(shape));
    table->dialect = shape->dialect;
    table->resource_count = shape->resource_count;
    table->writes_max = shape->replica_writes_max;
    table->sessions.pooled = shape->pooler == POOLER_TRANSACTION;
    table->sessions.resource_count = shape->resource_count;
}

/* The advisory locks, which are no rows. */
static struct sql_held *held_of(struct sql_table *table)
{
    struct sql_write *writes = (struct sql_write *)(void *)&table->rows[table->resource_count];
    return (struct sql_held *)(void *)&writes[table->writes_max];
}

/* Where the nth write of all is remembered. */
static struct sql_write *write_at(struct sql_table *table, uint64_t nth)
{
    struct sql_write *writes = (struct sql_write *)(void *)&table->rows[table->resource_count];
    ASSERT(table->writes_max > 0);
    return &writes[nth % table->writes_max];
}

/* The first moment of the database's clock that is not before the row's end. */
static int64_t row_end_ns(const struct sql_row *row)
{
    return row->until_ms * NS_PER_MS;
}

static int64_t clock_ms(const struct server_door *door)
{
    return clock_local(&door->nodes[0].wall, door->true_ns) / NS_PER_MS;
}

static void row_arm(struct sql_table *table, uint32_t resource, struct server_door *door)
{
    const struct sql_row *row = &table->rows[resource];
    int64_t true_ns = TIME_NEVER;
    if (row->present && !row->told_over) {
        true_ns = clock_true(&door->nodes[0].wall, row_end_ns(row));
        true_ns = true_ns < door->true_ns ? door->true_ns : true_ns;
    }
    door->arm(door, resource, true_ns);
}

/* Its time is up by the database's clock: whoever asks next may have it. */
static void row_over(struct sql_table *table, uint32_t resource, struct server_door *door)
{
    struct sql_row *row = &table->rows[resource];
    const struct server_node *node = &door->nodes[0];
    struct history_event event = server_key_event(HISTORY_KEY_EXPIRED, 0, resource);
    memcpy(event.owner.bytes, row->owner.bytes, sizeof event.owner.bytes);
    event.flags |= HISTORY_HAS_OWNER;
    int64_t off_ns = door->true_ns - row->sound_ns;
    event.cause = CAUSE_TTL;
    if (off_ns < -2 * NS_PER_MS || off_ns > 2 * NS_PER_MS) {
        bool jumped = node->jump_fault != HISTORY_NO_FAULT;
        event.cause = jumped ? CAUSE_CLOCK_JUMP : CAUSE_CLOCK_RATE;
        event.fault = jumped ? node->jump_fault : node->rate_fault;
    }
    row->told_over = true;
    door->arm(door, resource, TIME_NEVER);
    (void)door->record(door, &event);
}

static void table_wake(void *state, uint32_t wake, struct server_door *door)
{
    struct sql_table *table = state;
    ASSERT(table->rows[wake].present && !table->rows[wake].told_over);
    row_over(table, wake, door);
}

static void table_bent(void *state, uint32_t node, struct server_door *door)
{
    struct sql_table *table = state;
    (void)node;
    for (uint32_t i = 0; i < table->resource_count; i++) {
        row_arm(table, i, door);
    }
}

/* ---- statements ------------------------------------------------------------------------------ */

/* One statement at its row. */
struct call {
    struct sql_table *table;
    struct sql_row *row;
    const struct server_ask *ask;
    struct server_door *door;
    int64_t now_ms; /* by the database's clock, or the time that the statement brings */
    bool ours;
};

static void done(const struct call *call, enum history_f f, struct lock_reply reply,
                 const struct sql_row *before)
{
    const struct server_ask *ask = call->ask;
    struct history_event event = server_key_event(f, 0, ask->resource);
    event.process = (int32_t)ask->client;
    memcpy(event.command, lock_dialect_row(call->table->dialect, ask->command.kind)->name,
           sizeof event.command);
    event.sent_ns = ask->sent_ns;
    memcpy(event.value.bytes, ask->command.value.bytes, sizeof event.value.bytes);
    event.flags |= HISTORY_HAS_SENT | HISTORY_HAS_VALUE;
    if (before->present && !before->told_over) {
        memcpy(event.owner.bytes, before->owner.bytes, sizeof event.owner.bytes);
        event.flags |= HISTORY_HAS_OWNER;
    }
    if (f == HISTORY_KEY_SET || f == HISTORY_KEY_EXTENDED) {
        event.until_ns = clock_true(&call->door->nodes[0].wall, row_end_ns(call->row));
        event.ttl_ns = ask->command.ttl_ms * NS_PER_MS;
        event.flags |= HISTORY_HAS_UNTIL | HISTORY_HAS_TTL;
    }
    if (f == HISTORY_KEY_DELETED) {
        event.cause = call->ours ? CAUSE_RELEASED : CAUSE_FOREIGN;
    }
    if (reply.type == LOCK_REPLY_NUMBER) {
        event.fence = reply.number;
        event.flags |= HISTORY_HAS_FENCE;
    }
    call->door->answer(call->door, ask, reply, call->door->record(call->door, &event));
}

/* A replica is never behind by more writes than are remembered. */
static void remember(const struct call *call)
{
    struct sql_table *table = call->table;
    if (table->writes_max > 0) {
        *write_at(table, table->writes++) = (struct sql_write){
            call->door->true_ns, table->fences_logged, call->ask->resource, *call->row};
    }
}

static void row_write(const struct call *call)
{
    const struct lock_command *command = &call->ask->command;
    struct sql_row *row = call->row;
    remember(call);
    row->present = true;
    row->told_over = false;
    row->owner = command->value;
    row->until_ms = call->now_ms + command->ttl_ms;
    row->sound_ns = call->door->true_ns + (row->until_ms - clock_ms(call->door)) * NS_PER_MS;
    row_arm(call->table, call->ask->resource, call->door);
}

int64_t sql_next_fence(struct sql_table *table, int64_t true_ns)
{
    table->fences++;
    if (table->fences > table->fences_logged) {
        table->fences_known = table->fences_logged;
        table->fences_ns = true_ns;
        table->fences_logged = table->fences + SEQUENCE_LOGGED_AHEAD;
    }
    return table->fences;
}

/* The fence is drawn when the row is ours already. */
static void insert(const struct call *call)
{
    struct sql_row before = *call->row;
    if (before.present && before.until_ms > call->now_ms) {
        done(call, HISTORY_KEY_REFUSED, (struct lock_reply){.type = LOCK_REPLY_NO}, &before);
        return;
    }
    row_write(call);
    struct lock_reply reply = {.type = LOCK_REPLY_NUMBER,
                               .number = sql_next_fence(call->table, call->door->true_ns)};
    done(call, HISTORY_KEY_SET, reply, &before);
}

static void update(const struct call *call)
{
    struct sql_row before = *call->row;
    if (!call->ours || before.until_ms <= call->now_ms) {
        done(call, HISTORY_KEY_KEPT, (struct lock_reply){.type = LOCK_REPLY_NO}, &before);
        return;
    }
    row_write(call);
    done(call, HISTORY_KEY_EXTENDED, (struct lock_reply){.type = LOCK_REPLY_YES}, &before);
}

/* Nobody's key goes with a row that is over. */
static void remove_row(const struct call *call, bool allowed)
{
    struct sql_row before = *call->row;
    if (!allowed) {
        done(call, HISTORY_KEY_KEPT, (struct lock_reply){.type = LOCK_REPLY_NO}, &before);
        return;
    }
    remember(call);
    memset(call->row, 0, sizeof *call->row);
    row_arm(call->table, call->ask->resource, call->door);
    done(call, before.told_over ? HISTORY_KEY_KEPT : HISTORY_KEY_DELETED,
         (struct lock_reply){.type = LOCK_REPLY_YES}, &before);
}

/* One of the session's, which touches no row. */
static void session_ask(struct sql_table *table, const struct server_ask *ask,
                        struct server_door *door)
{
    struct sql_call call = {&table->sessions, &held_of(table)[ask->resource], ask, door, 0};
    if (ask->command.kind == SQL_UNLOCK) {
        sql_session_unlock(&call);
        return;
    }
    if (ask->command.kind == SQL_TRY_LOCK_FENCE && sql_session_may(&call)) {
        call.fence = sql_next_fence(table, door->true_ns);
    }
    sql_session_try(&call);
}

static void table_hung_up(void *state, const struct server_caller *caller, struct server_door *door)
{
    struct sql_table *table = state;
    sql_session_over(&table->sessions, held_of(table), caller, door);
}

static void table_ask(void *state, const struct server_ask *ask, struct server_door *door)
{
    struct sql_table *table = state;
    struct sql_row *row = &table->rows[ask->resource];
    enum sql_statement kind = (enum sql_statement)ask->command.kind;
    bool brings = kind == SQL_INSERT_AT || kind == SQL_UPDATE_AT;
    bool ours = row->present && memcmp(&row->owner, &ask->command.value, sizeof row->owner) == 0;
    struct call call = {table, row, ask, door, brings ? ask->command.number : clock_ms(door), ours};
    if (row->present && !row->told_over && clock_ms(door) >= row->until_ms) {
        row_over(table, ask->resource, door);
    }
    switch (kind) {
    case SQL_INSERT:
    case SQL_INSERT_AT:
        insert(&call);
        return;
    case SQL_UPDATE:
    case SQL_UPDATE_AT:
        update(&call);
        return;
    case SQL_DELETE:
        remove_row(&call, ours && row->until_ms > call.now_ms);
        return;
    case SQL_DELETE_ANY:
        remove_row(&call, row->present);
        return;
    case SQL_CLOCK:
        door->answer(door, ask,
                     (struct lock_reply){.type = LOCK_REPLY_NUMBER, .number = clock_ms(door)},
                     SERVER_NO_EVENT);
        return;
    case SQL_TRY_LOCK:
    case SQL_TRY_LOCK_FENCE:
    case SQL_UNLOCK:
        session_ask(table, ask, door);
        return;
    case SQL_NONE:
    case SQL_STATEMENTS:
        break;
    }
    UNREACHABLE();
}

/* ---- the process ----------------------------------------------------------------------------- */

static uint32_t table_unsynced(void *state, uint32_t node, struct server_door *door)
{
    (void)state;
    (void)node;
    (void)door;
    return 0;
}

static uint32_t table_stop(void *state, const struct server_turn *turn, enum server_stop how,
                           uint32_t kept, struct server_door *door)
{
    struct sql_table *table = state;
    (void)kept;
    if (how != SERVER_STOP_CLEAN) {
        table->fences = table->fences_logged; /* it goes on from there: its log knows no better */
    }
    table->fences_logged = table->fences;
    return sql_sessions_over(&table->sessions, held_of(table), turn, door);
}

static void table_start(void *state, const struct server_turn *turn, struct server_door *door)
{
    (void)state;
    (void)turn;
    (void)door;
}

static void row_turned(const struct server_turn *turn, enum history_f f, uint32_t resource,
                       const struct sql_row *row, struct server_door *door)
{
    struct history_event event = server_key_event(f, turn->node, resource);
    event.fault = turn->fault;
    event.cause = turn->cause;
    memcpy(event.owner.bytes, row->owner.bytes, sizeof event.owner.bytes);
    event.flags |= HISTORY_HAS_OWNER;
    if (f == HISTORY_KEY_BACK) {
        event.until_ns = clock_true(&door->nodes[0].wall, row_end_ns(row));
        event.flags |= HISTORY_HAS_UNTIL;
    }
    (void)door->record(door, &event);
}

static bool row_held(const struct sql_row *row)
{
    return row->present && !row->told_over;
}

/* Takes back, of one row, what the replica does not have; true: somebody's lock went with it. */
static bool row_promote(struct sql_table *table, const struct server_turn *turn, uint32_t resource,
                        uint64_t known, struct server_door *door)
{
    struct sql_row *row = &table->rows[resource];
    struct sql_row before = *row;
    for (uint64_t i = table->writes; i > known; i--) {
        const struct sql_write *write = write_at(table, i - 1);
        *row = write->resource == resource ? write->before : *row;
    }
    bool same = row_held(&before) == row_held(row) && before.until_ms == row->until_ms &&
                memcmp(&before.owner, &row->owner, sizeof before.owner) == 0;
    if (same) {
        return false;
    }
    if (row_held(&before)) {
        row_turned(turn, HISTORY_KEY_LOST, resource, &before, door);
    }
    if (row_held(row)) {
        row_turned(turn, HISTORY_KEY_BACK, resource, row, door);
    }
    return row_held(&before);
}

static uint32_t table_promote(void *state, const struct server_turn *turn, int64_t lag_ns,
                              struct server_door *door)
{
    struct sql_table *table = state;
    uint64_t oldest = table->writes > table->writes_max ? table->writes - table->writes_max : 0;
    uint64_t known = table->writes;
    uint32_t lost = sql_sessions_over(&table->sessions, held_of(table), turn, door);
    while (known > oldest && write_at(table, known - 1)->true_ns > door->true_ns - lag_ns) {
        known--;
        table->fences_logged = write_at(table, known)->fences_logged;
    }
    /* An advisory lock writes no row, and its fence is as late as these. */
    if (table->fences_ns > door->true_ns - lag_ns && table->fences_known < table->fences_logged) {
        table->fences_logged = table->fences_known;
    }
    for (uint32_t i = 0; i < table->resource_count; i++) {
        lost += row_promote(table, turn, i, known, door);
    }
    table->fences = table->fences_logged;
    table->writes = 0;
    return lost;
}

const struct server_model sql_rows = {
    .bytes = table_bytes,
    .wakes = table_wakes,
    .init = table_init,
    .ask = table_ask,
    .wake = table_wake,
    .hung_up = table_hung_up,
    .bent = table_bent,
    .unsynced = table_unsynced,
    .stop = table_stop,
    .start = table_start,
    .promote = table_promote,
};

/* store_integrity.c: was a stale write accepted, or an update lost? */
#include "checker/check.h"
#include "checker/explain/explain_words.h"
#include "checker/verdict.h"

#include <inttypes.h>

enum store_reason { LOST_UPDATE = 1, STALE_WRITE };

/*
 * The store numbers its versions, so the order of writes is known whatever the order of their
 * answers. An update is lost when a write overwrites a version that its writer has not read. A
 * write is stale when it comes under an older grant, after one under a newer grant; a store that
 * checks the unique value lets in whoever read last, so there only lost updates count (antirez
 * 2016).
 */
enum { WRITES_KEPT = 8 };

struct store_write {
    int64_t version;
    int64_t fence;
    uint64_t order; /* of the writer's grant; 0: none known */
    int64_t asked_ns;
    int64_t granted_ns;
    uint64_t index;
    int32_t process;
};

struct store_cell {
    uint32_t count;
    struct store_write newest; /* the first write under the newest grant */
    struct store_write last;   /* the highest version */
    struct store_write kept[WRITES_KEPT];
};

struct store_integrity {
    struct check_result result;
    bool value_check;
    uint32_t resource_count;
    struct store_cell cells[];
};

static size_t store_bytes(const struct history_header *header)
{
    return sizeof(struct store_integrity) +
           ledger_resource_count(header) * sizeof(struct store_cell);
}

static void store_init(void *state, const struct history_header *header)
{
    struct store_integrity *store = state;
    memset(state, 0, store_bytes(header));
    store->value_check = header->value_check;
    store->resource_count = ledger_resource_count(header);
}

/* The other's grant may be forgotten by now; that the writer was late is told without it. */
static struct blamed blame_writes(const struct ledger *ledger, const struct store_write *other,
                                  const struct history_event *event)
{
    const struct ledger_claim *own = ledger_grant(ledger, event->process, event->resource);
    bool forgotten = other == NULL || ledger_grant(ledger, other->process, event->resource) == NULL;
    if (!forgotten) {
        return blame_meeting(ledger, other->process, event->process, event->resource);
    }
    bool late = own != NULL && (other == NULL || ledger_lease_end_ns(own) <= other->granted_ns);
    return late ? blame_late(ledger, own) : (struct blamed){BLAME_NONE, ASSUMPTION_NONE};
}

/*
 * Whoever has the smaller fence asked only when the other had been granted its own: what made
 * fences go backwards let this write in. Of two that asked at one time either fence may be the
 * larger.
 */
static bool fences_fell(const struct ledger *ledger, const struct store_write *other,
                        const struct history_event *event)
{
    const struct ledger_claim *own = ledger_grant(ledger, event->process, event->resource);
    if (other == NULL || own == NULL || other->fence <= 0 || own->fence <= 0) {
        return false;
    }
    return other->fence > own->fence ? other->granted_ns <= own->acquire_ns
                                     : own->granted_ns <= other->asked_ns;
}

static void store_violated(struct store_integrity *store, const struct ledger *ledger,
                           const struct store_write *other, const struct history_event *event,
                           enum store_reason reason)
{
    bool threads = other != NULL && other->process != event->process &&
                   ledger_same_owner(ledger, other->process, event->process);
    if (threads) {
        return; /* of one owner: the lock does not stand between them */
    }
    struct finding finding = {
        .reason = (uint8_t)reason,
        .evidence = {event->index, event->index},
        .evidence_count = 1,
        .blamed = blame_writes(ledger, other, event),
        .number = {event->version, event->basis},
    };
    if (reason == STALE_WRITE && fences_fell(ledger, other, event)) {
        finding.blamed = blame_counters(ledger);
        finding.evidence[finding.evidence_count++] = other->index;
    } else if (other != NULL) {
        struct finding_cast cast = {other->process, event->process, event->resource};
        finding.rest = rest_gone_on(rest_of_meeting(ledger, &cast, finding.blamed), event->time_ns);
        finding.evidence[finding.evidence_count++] = other->index;
    }
    check_fail(&store->result, ledger, &finding);
}

/* The write that made the version which `event` has overwritten unread, or the one that was read
 * and is lost since; NULL if it was not seen. */
static const struct store_write *overwritten(const struct store_cell *cell,
                                             const struct history_event *event)
{
    const struct store_write *found = NULL;
    bool ahead = event->basis >= event->version;
    for (uint32_t i = 0; i < WRITES_KEPT && i < cell->count; i++) {
        const struct store_write *write = &cell->kept[i];
        bool unread = write->version > event->basis && write->version < event->version;
        bool is_lost = ahead ? write->version == event->basis : unread;
        if (is_lost && (found == NULL || write->version > found->version)) {
            found = write;
        }
    }
    return found;
}

static bool newer(const struct store_write *a, const struct store_write *b)
{
    if (a->fence > 0 && b->fence > 0) {
        return a->fence > b->fence;
    }
    return a->granted_ns != b->granted_ns ? a->granted_ns > b->granted_ns : a->order > b->order;
}

static void judge_order(struct store_integrity *store, const struct ledger *ledger,
                        const struct store_write *write, const struct history_event *event)
{
    struct store_cell *cell = &store->cells[event->resource];
    bool after_newer = newer(&cell->newest, write) && write->version > cell->newest.version;
    bool before_older =
        newer(write, &cell->last) && write->version < cell->last.version && cell->last.order > 0;
    if (after_newer) {
        store_violated(store, ledger, &cell->newest, event, STALE_WRITE);
    } else if (before_older) {
        store_violated(store, ledger, &cell->last, event, STALE_WRITE);
    }
}

static void store_step(void *state, const struct ledger *ledger, const struct history_event *event)
{
    struct store_integrity *store = state;
    if (event->f != HISTORY_WRITE || event->type != HISTORY_OK ||
        event->resource >= store->resource_count) {
        return;
    }
    struct store_cell *cell = &store->cells[event->resource];
    const struct ledger_claim *claim = ledger_grant(ledger, event->process, event->resource);
    struct store_write write = {
        .version = event->version,
        .fence = claim == NULL ? 0 : claim->fence,
        .order = claim == NULL ? 0 : claim->order,
        .asked_ns = claim == NULL ? 0 : claim->acquire_ns,
        .granted_ns = claim == NULL ? 0 : claim->granted_ns,
        .index = event->index,
        .process = event->process,
    };
    store->result.judged++;
    if (event->basis != event->version - 1) {
        store_violated(store, ledger, overwritten(cell, event), event, LOST_UPDATE);
    } else if (!store->value_check && write.order > 0) {
        judge_order(store, ledger, &write, event);
    }
    cell->kept[cell->count++ % WRITES_KEPT] = write;
    if (write.order > 0 && (cell->newest.order == 0 || newer(&write, &cell->newest))) {
        cell->newest = write;
    }
    if (write.version > cell->last.version) {
        cell->last = write;
    }
}

static void store_finish(void *state, const struct ledger *ledger)
{
    (void)ledger;
    check_conclude(state);
}

static void say_store(const struct telling *telling)
{
    struct text *text = telling->text;
    const struct history_event *one = telling_evidence(telling, 0);
    const struct history_event *two = telling_evidence(telling, 1);
    bool first_is_it = one->version == telling->result->number[0];
    const struct history_event *write = two == NULL || first_is_it ? one : two;
    const struct history_event *other = write == one ? two : one;
    put_client(telling, write->process);
    if (telling->result->reason == STALE_WRITE && other != NULL) {
        bool fenced = (write->flags & other->flags & HISTORY_HAS_FENCE) != 0;
        text_add(text, " wrote version %" PRId64 " of ", write->version);
        put_resource(telling, write->resource);
        if (fenced && other->fence > write->fence) {
            text_add(text, " with fence %" PRId64 ", a smaller one than ", write->fence);
        } else {
            text_add(text, " under an older grant than ");
        }
        put_client(telling, other->process);
        text_add(text, ", who had written version %" PRId64, other->version);
        return;
    }
    text_add(text, " read version %" PRId64 " of ", write->basis);
    put_resource(telling, write->resource);
    text_add(text, " and wrote version %" PRId64 ", which lost ", write->version);
    if (other != NULL) {
        text_add(text, "version %" PRId64 " of ", other->version);
        put_client(telling, other->process);
    } else {
        text_add(text, "version %" PRId64 " unread", write->version - 1);
    }
}

static void effect_store(const struct telling *telling)
{
    bool stale = telling->result->reason == STALE_WRITE;
    text_add(telling->text, stale ? "a stale write was accepted" : "an update was lost");
}

const struct check check_store_integrity = {
    .name = "store_integrity",
    .question = "Was a stale write accepted, or an update lost?",
    .nothing = "nobody wrote to a guarded store",
    .wants = CHECK_BIT(HISTORY_WRITE),
    .follows = true,
    .bytes = store_bytes,
    .init = store_init,
    .step = store_step,
    .finish = store_finish,
    .say = say_store,
    .effect = effect_store,
    .over = "late write",
    .part = PART_DAMAGE,
    .weight = 2,
};

/* judge.c: runs the ledger and all checks over one history. */
#include "checker/judge.h"

#include "base/assert.h"
#include "checker/ledger/ledger_valid.h"
#include "checker/verdict.h"

enum { JUDGE_CHECKS_MAX = 32, ALIGNMENT = 16 };

_Static_assert(HISTORY_FS <= 64, "a bit for each f in check.wants");

struct judge {
    uint64_t checks;       /* bit i: check i of the table runs */
    uint64_t inapplicable; /* ... but does not apply to a lock that declares what this one does */
    bool finished;
    bool unwatched;                      /* what nodes tell of their keys does not count */
    bool ensemble;                       /* ... and they are one service together */
    uint32_t wanting[HISTORY_FS];        /* bit i: check i wants events of this f */
    uint32_t state_at[JUDGE_CHECKS_MAX]; /* offsets from the judge's first byte */
    uint32_t ledger_at;
    uint32_t bytes;
    struct check_result left_out;
};

static size_t rounded(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

static bool judge_runs(uint64_t checks, size_t index)
{
    return (checks >> index & 1) != 0;
}

size_t judge_bytes(const struct history_header *header, uint64_t checks)
{
    ASSERT(check_count() <= JUDGE_CHECKS_MAX);
    size_t bytes = rounded(sizeof(struct judge)) + rounded(ledger_bytes(header));
    for (size_t i = 0; i < check_count(); i++) {
        bytes += judge_runs(checks, i) ? rounded(check_at(i)->bytes(header)) : 0;
    }
    return bytes;
}

static struct ledger *judge_ledger(const struct judge *judge)
{
    return (void *)((char *)(uintptr_t)judge + judge->ledger_at);
}

static void *judge_state(const struct judge *judge, size_t index)
{
    return (char *)(uintptr_t)judge + judge->state_at[index];
}

static void judge_dispatch(struct judge *judge, size_t index)
{
    for (uint64_t left = check_at(index)->wants; left != 0; left &= left - 1) {
        judge->wanting[__builtin_ctzll(left)] |= UINT32_C(1) << index;
    }
}

struct judge *judge_init(void *memory, const struct history_header *header, uint64_t checks)
{
    struct judge *judge = memory;
    ASSERT((uintptr_t)memory % ALIGNMENT == 0);
    memset(judge, 0, sizeof *judge);
    judge->checks = checks;
    judge->unwatched = header->unwatched[0] != '\0';
    judge->ensemble = judge->unwatched && header->store_count == 1 && header->node_count > 1;
    size_t at = rounded(sizeof *judge);
    judge->ledger_at = (uint32_t)at;
    at += rounded(ledger_bytes(header));
    ledger_init(judge_ledger(judge), header);
    for (size_t i = 0; i < check_count(); i++) {
        if (judge_runs(checks, i)) {
            judge->state_at[i] = (uint32_t)at;
            at += rounded(check_at(i)->bytes(header));
            check_at(i)->init(judge_state(judge, i), header);
            judge->inapplicable |= (uint64_t)check_inapplicable(check_at(i), header) << i;
            judge_dispatch(judge, i);
        }
    }
    ASSERT(at <= UINT32_MAX);
    judge->bytes = (uint32_t)at;
    return judge;
}

/* What was found a moment ago may have been our own lateness, which is told behind it. */
static void judge_late(struct judge *judge)
{
    for (size_t i = 0; i < check_count(); i++) {
        if (judge_runs(judge->checks, i)) {
            check_doubt(judge_state(judge, i), judge_ledger(judge));
        }
    }
}

void judge_event(struct judge *judge, const struct history_event *event)
{
    ASSERT(!judge->finished);
    ASSERT(event->f < HISTORY_FS);
    if (judge->unwatched && event->kind == HISTORY_NODE) {
        return; /* told before it turned out that it was not understood */
    }
    struct ledger *ledger = judge_ledger(judge);
    ledger_step(ledger, event);
    if (event->kind == HISTORY_LATE) {
        judge_late(judge);
    }
    for (uint32_t left = judge->wanting[event->f]; left != 0; left &= left - 1) {
        size_t index = (size_t)__builtin_ctz(left);
        check_at(index)->step(judge_state(judge, index), ledger, event);
    }
}

/* What the history cannot tell, whatever this check found in it. */
static void judge_doubt(const struct judge *judge, size_t index, struct check_result *result)
{
    const struct check *check = check_at(index);
    bool open = result->verdict == VERDICT_PASS || result->verdict == VERDICT_SKIPPED;
    result->inapplicable =
        result->verdict == VERDICT_SKIPPED && (judge->inapplicable >> index & 1) != 0;
    if (check->served && judge->ensemble && result->verdict == VERDICT_FAIL) {
        *result = (struct check_result){.judged = result->judged};
        check_unknown(result, CHECK_REASON_UNWATCHED, 0);
        return;
    }
    if (!open || result->inapplicable) {
        return;
    }
    if (check->keyed && judge->unwatched) {
        result->verdict = VERDICT_UNKNOWN;
        result->reason = CHECK_REASON_UNWATCHED;
    } else if (check->follows && judge_ledger(judge)->overflow) {
        result->verdict = VERDICT_UNKNOWN;
        result->reason = CHECK_REASON_LIMIT;
    }
}

void judge_finish(struct judge *judge)
{
    ASSERT(!judge->finished);
    judge->finished = true;
    const struct ledger *ledger = judge_ledger(judge);
    for (size_t i = 0; i < check_count(); i++) {
        if (!judge_runs(judge->checks, i)) {
            continue;
        }
        struct check_result *result = judge_state(judge, i);
        check_at(i)->finish(result, ledger);
        judge_doubt(judge, i, result);
        check_assert_valid(result);
    }
}

const struct check_result *judge_result(const struct judge *judge, size_t index)
{
    ASSERT(index < check_count());
    return judge_runs(judge->checks, index) ? check_result(judge_state(judge, index))
                                            : &judge->left_out;
}

bool judge_failed(const struct judge *judge)
{
    for (size_t i = 0; i < check_count(); i++) {
        if (judge_result(judge, i)->verdict == VERDICT_FAIL) {
            return true;
        }
    }
    return false;
}

void judge_assert_valid(const struct judge *judge)
{
    ledger_assert_valid(judge_ledger(judge));
    for (size_t i = 0; i < check_count(); i++) {
        check_assert_valid(judge_result(judge, i));
    }
}

uint64_t judge_bit(const char *check_name)
{
    for (size_t i = 0; i < check_count(); i++) {
        if (strcmp(check_at(i)->name, check_name) == 0) {
            return UINT64_C(1) << i;
        }
    }
    return 0;
}

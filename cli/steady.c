/* steady.c: one seed of the simulator has one result. */
#include "cli/steady.h"

#include "base/arena.h"
#include "base/assert.h"
#include "cli/hash.h"

#include <inttypes.h>
#include <string.h>

struct steady {
    uint64_t seed_first;
    uint64_t seeds;
    uint64_t seen[]; /* a hash of what each seed came to; 0: not yet */
};

bool steady_same(const struct run_report *one, const struct run_report *other)
{
    return one->status == other->status && one->events == other->events &&
           one->virtual_ns == other->virtual_ns &&
           memcmp(one->verdicts, other->verdicts, sizeof one->verdicts) == 0 &&
           memcmp(one->blames, other->blames, sizeof one->blames) == 0;
}

static void accuse(struct run_report *report, const char *what)
{
    char memory[RUN_SENTENCES_BYTES];
    struct text text = text_over(memory, sizeof memory);
    text_add(&text,
             "a bug of picklock, please report it: two runs of seed %" PRIu64
             " in the simulator %s; neither says anything of the lock\n",
             report->seed, what);
    struct run_report accused = {.status = RUN_ERROR,
                                 .error = ERROR_ENVIRONMENT,
                                 .kept = report->kept,
                                 .run = report->run,
                                 .seed = report->seed,
                                 .events = report->events,
                                 .history_hash = report->history_hash,
                                 .virtual_ns = report->virtual_ns,
                                 .wall_ns = report->wall_ns};
    memcpy(accused.library, report->library, sizeof accused.library);
    memcpy(accused.sentences, memory, text.length + 1);
    *report = accused;
}

void steady_accuse(struct run_report *report, const struct run_report *other)
{
    char memory[WHY_BYTES];
    struct text what = text_over(memory, sizeof memory);
    ASSERT(!steady_same(report, other));
    text_add(&what, "differ");
    for (size_t i = 0; i < check_count(); i++) {
        if (report->verdicts[i] != other->verdicts[i]) {
            text_add(&what, ", %s is %s and %s", check_at(i)->name,
                     verdict_name((enum verdict)report->verdicts[i]),
                     verdict_name((enum verdict)other->verdicts[i]));
        }
    }
    if (report->events != other->events) {
        text_add(&what, ", one has %" PRIu64 " events and one %" PRIu64, report->events,
                 other->events);
    }
    accuse(report, what.data);
}

struct steady *steady_open(uint64_t seed_first, uint64_t seeds)
{
    struct steady *steady = memory_resize(NULL, sizeof *steady + seeds * sizeof steady->seen[0]);
    if (steady == NULL) {
        return NULL;
    }
    steady->seed_first = seed_first;
    steady->seeds = seeds;
    steady_forget(steady);
    return steady;
}

void steady_check(struct steady *steady, struct run_report *report)
{
    uint64_t at = report->seed - steady->seed_first;
    ASSERT(at < steady->seeds);
    if (report->status > RUN_UNKNOWN) {
        return; /* it came to nothing */
    }
    uint64_t hash =
        hash_bytes(report->status, (const char *)report->verdicts, sizeof report->verdicts);
    hash = hash_bytes(hash, (const char *)report->blames, sizeof report->blames);
    hash = hash_bytes(hash, (const char *)&report->events, sizeof report->events);
    hash = hash_bytes(hash, (const char *)&report->virtual_ns, sizeof report->virtual_ns);
    hash += hash == 0 ? 1 : 0;
    if (steady->seen[at] == 0) {
        steady->seen[at] = hash;
    } else if (steady->seen[at] != hash) {
        accuse(report, "came out differently");
    }
}

void steady_forget(struct steady *steady)
{
    memset(steady->seen, 0, steady->seeds * sizeof steady->seen[0]);
}

void steady_close(struct steady *steady)
{
    memory_release(steady);
}

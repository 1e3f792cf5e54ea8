/* story_clients.c: what two clients were granted, and what stopped, bent or delayed them. */
#include "base/assert.h"
#include "checker/story/story_cast.h"
#include "checker/story/story_drafts.h"

#include <inttypes.h>

struct draft *story_draft_of(struct story_cast *cast, struct drafts *drafts, uint64_t index,
                             int32_t process)
{
    struct draft *draft = drafts_add(drafts, story_event(cast, index));
    draft->process = process;
    put_client_first(story_into(cast, &draft->subject), process);
    put_client(story_into(cast, &draft->actor), process);
    return draft;
}

/* ---- grants ---------------------------------------------------------------------------------- */

void story_tell_grant(struct story_cast *cast, struct drafts *drafts,
                      const struct ledger_claim *claim)
{
    const struct history_event *grant = story_event(cast, claim->granted_index);
    struct draft *draft = story_draft_of(cast, drafts, grant->index, claim->process);
    struct text *text = &draft->predicate;
    bool promised = (grant->flags & HISTORY_HAS_UNTIL) != 0;
    text_add(text, "is granted ");
    put_resource(story_into(cast, text), claim->resource);
    if (promised && grant->until_ns <= grant->time_ns) {
        draft->violation = true;
        text_add(text, " with a lease that had ended ");
        duration_print_short(grant->time_ns - grant->until_ns, text);
        text_add(text, " before");
        text_add(&draft->label, "dead lease");
    } else if (promised) {
        text_add(text, ", promised until ");
        moment_print(grant->until_ns, text);
        text_add(text, " (");
        duration_print_short(grant->until_ns - grant->time_ns, text);
        text_add(text, ")");
        text_add(&draft->label, "granted");
    } else {
        text_add(text, ", without a promised end");
        text_add(&draft->label, "granted");
    }
    int32_t set = ledger_bits(claim->set);
    if (ledger_watched(cast->ledger, claim) && set < cast->ledger->quorum) {
        if (cast->cause->blame == BLAME_LIBRARY) {
            draft->violation = true;
            text_clear(&draft->label);
            text_add(&draft->label, cast->ledger->quorum > 1 ? "no majority" : "no key");
        }
        text_add(text, ", with ");
        put_quorum(text, set, cast->ledger->quorum);
    }
    bool about_fences = cast->history->header->fence_check ||
                        (check_at(cast->lead->check)->needs & CHECK_BIT(DECLARES_FENCE)) != 0;
    if (claim->fence != 0 && about_fences) {
        text_add(text, ", fence %" PRId64, claim->fence);
    }
}

/* ---- faults ---------------------------------------------------------------------------------- */

void story_add_fault(struct story_cause *cause, int32_t fault)
{
    for (uint8_t i = 0; i < cause->fault_count; i++) {
        if (cause->faults[i] == fault) {
            return;
        }
    }
    if (fault != HISTORY_NO_FAULT && cause->fault_count < STORY_FAULTS_MAX) {
        cause->faults[cause->fault_count++] = (int16_t)fault;
    }
}

/* How long a fault lasted; TIME_NEVER if it did not end. */
static int64_t fault_length_ns(const struct story_cast *cast, const struct history_event *start)
{
    for (uint64_t i = start->index + 1; i < cast->history->count; i++) {
        const struct history_event *event = story_event(cast, i);
        if (event->kind == HISTORY_FAULT && event->f == HISTORY_FAULT_END &&
            event->fault == start->fault) {
            return event->time_ns - start->time_ns;
        }
    }
    return TIME_NEVER;
}

static void tell_fault_on_client(struct story_cast *cast, struct drafts *drafts, int32_t fault,
                                 int32_t process)
{
    const struct history_event *start = telling_fault(&cast->telling, fault);
    if (start == NULL) {
        return;
    }
    struct draft *draft = story_draft_of(cast, drafts, start->index, process);
    struct text *text = &draft->predicate;
    int64_t length_ns = fault_length_ns(cast, start);
    if (start->fault_kind == FAULT_PAUSE) {
        text_add(text, "is paused");
        if (length_ns != TIME_NEVER) {
            text_add(text, " for ");
            duration_print_short(length_ns, text);
        }
        text_add(&draft->label, "paused");
    } else if (start->fault_kind == FAULT_SLOW) {
        text_add(text, "is slow by ");
        duration_print_short(start->number[0], text);
        text_add(text, " a step");
        text_add(&draft->label, "slow");
    } else if (start->fault_kind == FAULT_CLOCK_RATE) {
        text_add(text, "'s clock runs at %g times the true rate", (double)start->number[0] / 1e6);
        text_add(&draft->label, "clock runs wrong");
    } else {
        text_clear(&draft->subject);
        text_clear(&draft->actor);
        draft->process = HISTORY_NOBODY;
        put_fault(story_into(cast, &draft->subject), start);
        text_add(text, "begins");
        text_add(&draft->label, "%s", fault_kind_name((enum fault_kind)start->fault_kind));
    }
    if (draft->actor.length > 0) {
        text_add(text, " (fault %" PRId32 ")", fault + 1);
    }
    story_add_fault(cast->cause, fault);
}

static uint64_t kinds_that_matter(const struct story_cast *cast, const struct ledger_claim *claim)
{
    bool dead = claim->until_ns <= claim->granted_ns;
    switch ((enum assumption)cast->cause->assumption) {
    case ASSUMPTION_CLIENT_PAUSE:
        return story_late(claim, cast->cause->at_ns) ? STORY_STOPS : 0;
    case ASSUMPTION_CLIENT_CLOCK:
        return STORY_BENDS;
    case ASSUMPTION_DELAY:
        return STORY_DELAYS;
    case ASSUMPTION_NONE:
        return dead ? STORY_STOPS | STORY_DELAYS : 0;
    case ASSUMPTION_NODE_CLOCK:
    case ASSUMPTION_PERSISTENCE:
    case ASSUMPTION_LEADER:
    case ASSUMPTION_SESSION:
    case ASSUMPTION_OWN_SESSION:
    case ASSUMPTION_CONSENSUS:
    case ASSUMPTION_REPLICATION:
    case ASSUMPTION_MEMORY:
    case ASSUMPTION_SECTION:
        return 0;
    }
    UNREACHABLE();
}

/* What stopped, bent or delayed either of the two, from its request on. */
void story_tell_faults(struct story_cast *cast, struct drafts *drafts)
{
    const struct ledger_claim *claims[2] = {cast->older, cast->younger};
    for (int i = 0; i < 2; i++) {
        if (claims[i] == NULL) {
            continue;
        }
        int64_t between_ns[2] = {claims[i]->first_set_ns, cast->cause->at_ns};
        int32_t fault = story_fault_on_client(cast->ledger, claims[i]->process,
                                              kinds_that_matter(cast, claims[i]), between_ns);
        if (fault != HISTORY_NO_FAULT) {
            tell_fault_on_client(cast, drafts, fault, claims[i]->process);
        }
    }
}

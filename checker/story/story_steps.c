/* story_steps.c: what led to a violation, moment by moment, and where to look at it. */
#include "base/assert.h"
#include "checker/story/story_cast.h"
#include "checker/story/story_drafts.h"

#include <inttypes.h>
#include <string.h>

#define STORY_MOMENT_NS INT64_C(1000000) /* the least that a picture shows */

static bool broke(const struct story_cast *cast, const char *check)
{
    for (size_t i = 0; i < check_count(); i++) {
        if (strcmp(check_at(i)->name, check) == 0) {
            return (cast->cause->checks >> i & 1) != 0;
        }
    }
    return false;
}

static const struct check_result *result_of(const struct story_cast *cast, const char *check)
{
    for (size_t i = 0; i < check_count(); i++) {
        if (strcmp(check_at(i)->name, check) == 0) {
            return cast->results[i];
        }
    }
    return NULL;
}

/* ---- a meeting ------------------------------------------------------------------------------- */

/* When a client left the section that it was in at an event, or died in it; the end if never. */
static int64_t leaves_ns(const struct story_cast *cast, int32_t process, uint64_t from)
{
    for (uint64_t i = from + 1; i < cast->history->count; i++) {
        const struct history_event *event = story_event(cast, i);
        if (event->process == process &&
            ((event->kind == HISTORY_SECTION && event->f == HISTORY_LEAVE) ||
             event->f == HISTORY_CLIENT_KILLED)) {
            return event->time_ns;
        }
    }
    return story_event(cast, cast->history->count - 1)->time_ns;
}

static void box_over_clients(struct story_cast *cast, int64_t from_ns, int64_t to_ns)
{
    struct story_box *box = &cast->cause->box;
    box->process[0] = cast->lead->clients[0];
    box->process[1] = cast->lead->clients[1];
    box->from_ns = from_ns;
    box->to_ns = to_ns;
}

static void tell_entry(struct story_cast *cast, struct drafts *drafts, uint64_t index,
                       int64_t both_ns)
{
    const struct history_event *enter = story_event(cast, index);
    struct draft *draft = story_draft_of(cast, drafts, index, enter->process);
    text_add(&draft->predicate, "enters the section");
    text_add(&draft->label, both_ns < 0 ? "enters" : "both inside");
    if (both_ns >= 0) {
        draft->violation = true;
        text_add(&draft->predicate, " too: both are inside, for ");
        duration_print_short(both_ns, &draft->predicate);
    }
}

static void tell_entries(struct story_cast *cast, struct drafts *drafts)
{
    const struct check_result *result = result_of(cast, "section_exclusion");
    if (broke(cast, "section_exclusion") && result->evidence_count == 2) {
        const struct history_event *one = story_event(cast, result->evidence[0]);
        const struct history_event *two = story_event(cast, result->evidence[1]);
        int64_t ends[2] = {leaves_ns(cast, one->process, two->index),
                           leaves_ns(cast, two->process, two->index)};
        int64_t end_ns = ends[0] < ends[1] ? ends[0] : ends[1];
        tell_entry(cast, drafts, one->index, -1);
        tell_entry(cast, drafts, two->index, end_ns - two->time_ns);
        box_over_clients(cast, two->time_ns, end_ns);
        return;
    }
    for (int i = 0; i < 2; i++) {
        const struct ledger_process *process = ledger_process(cast->ledger, cast->lead->clients[i]);
        if (process != NULL && process->inside &&
            process->inside_resource == cast->cause->resource) {
            tell_entry(cast, drafts, process->inside_index, -1);
        }
    }
}

/* Two promises at once: the younger grant is what must not be. */
static void tell_promises(struct story_cast *cast, struct drafts *drafts)
{
    const struct check_result *lead = cast->lead->result;
    uint64_t index = lead->evidence[lead->evidence_count - 1u];
    int64_t from_ns = story_event(cast, index)->time_ns;
    bool promised = strcmp(check_at(cast->lead->check)->name, "exclusion") == 0;
    int64_t length_ns = promised && lead->number[0] > 0 ? lead->number[0] : 0;
    for (size_t i = 0; i < drafts->count; i++) {
        struct draft *draft = &drafts->list[i];
        if (draft->event == index && draft->process != HISTORY_NOBODY) {
            draft->violation = true;
            text_add(&draft->predicate, promised ? ": both are promised it" : ": both hold it");
            text_clear(&draft->label);
            text_add(&draft->label, promised ? "both promised" : "both hold it");
            if (length_ns > 0) {
                text_add(&draft->predicate, ", for ");
                duration_print_short(length_ns, &draft->predicate);
            }
        }
    }
    int64_t last_ns = story_event(cast, cast->history->count - 1)->time_ns;
    int64_t end_ns = cast->older == NULL ? from_ns : ledger_lease_end_ns(cast->older);
    end_ns = end_ns == TIME_NEVER || end_ns < from_ns ? last_ns : end_ns;
    box_over_clients(cast, from_ns, length_ns > 0 ? from_ns + length_ns : end_ns);
}

/* ---- the guarded store ----------------------------------------------------------------------- */

static void tell_damage(struct story_cast *cast, struct drafts *drafts)
{
    const struct check_result *result = result_of(cast, "store_integrity");
    const struct history_event *write = NULL;
    const struct history_event *other = NULL;
    for (uint32_t i = 0; i < result->evidence_count; i++) {
        const struct history_event *event = story_event(cast, result->evidence[i]);
        bool it = event->version == result->number[0] && write == NULL;
        write = it ? event : write;
        other = it ? other : event;
    }
    if (write == NULL) {
        return;
    }
    drafts_drop(drafts, write->index);
    struct draft *draft = story_draft_of(cast, drafts, write->index, write->process);
    struct text *text = &draft->predicate;
    bool lost = write->basis != write->version - 1;
    bool fenced = other != NULL && (write->flags & other->flags & HISTORY_HAS_FENCE) != 0;
    draft->store = true;
    draft->violation = true;
    text_add(text, "writes version %" PRId64, write->version);
    if (lost && other != NULL) {
        text_add(text, " over ");
        put_client(story_into(cast, text), other->process);
        text_add(text, "'s version %" PRId64 ": that update is lost", other->version);
    } else if (lost) {
        text_add(text, " over version %" PRId64 " unread: that update is lost", write->version - 1);
    } else if (fenced && other->fence > write->fence) {
        text_add(text, " with fence %" PRId64 " after ", write->fence);
        put_client(story_into(cast, text), other->process);
        text_add(text, "'s %" PRId64 ": the store accepts a stale write", other->fence);
    } else {
        text_add(text, " under its older grant: the store accepts a stale write");
    }
    text_add(&draft->label, lost ? "update lost" : "stale write accepted");
}

/* The first late request that the store refused, if one of the two sent it. */
static void tell_refusal(struct story_cast *cast, struct drafts *drafts)
{
    for (uint64_t i = cast->cause->event; i < cast->history->count; i++) {
        const struct history_event *event = story_event(cast, i);
        bool theirs =
            event->process == cast->lead->clients[0] || event->process == cast->lead->clients[1];
        if (!telling_refused(event) || !theirs || event->resource != cast->cause->resource) {
            continue;
        }
        struct draft *draft = drafts_add(drafts, event);
        draft->store = true;
        text_add(&draft->subject, "The store");
        text_add(&draft->predicate, "refuses ");
        put_client(story_into(cast, &draft->predicate), event->process);
        text_add(&draft->predicate, "'s %s (%s): no damage is done",
                 history_f_name((enum history_f)event->f),
                 history_cause_name((enum history_cause)event->cause));
        text_add(&draft->label, "the store refuses");
        cast->cause->guard_held = true;
        return;
    }
}

/* ---- all else -------------------------------------------------------------------------------- */

/* What stands over an event in the picture. */
static const char *short_word(const struct history_event *event)
{
    static const char *const asks[] = {[HISTORY_ACQUIRE] = "asks",
                                       [HISTORY_EXTEND] = "asks for more time",
                                       [HISTORY_RELEASE] = "releases"};
    static const char *const done[] = {[HISTORY_ACQUIRE] = "granted",
                                       [HISTORY_EXTEND] = "given more time",
                                       [HISTORY_RELEASE] = "released"};
    bool known = event->kind == HISTORY_OP && event->f <= HISTORY_RELEASE;
    if (known && event->type == HISTORY_INVOKE) {
        return asks[event->f];
    }
    if (known && event->type == HISTORY_OK) {
        return done[event->f];
    }
    if (event->kind == HISTORY_OP && event->type != HISTORY_OK) {
        return event->type == HISTORY_FAIL ? "refused" : "outcome unknown";
    }
    static const char *const others[HISTORY_FS] = {
        [HISTORY_KEY_SET] = "key set",           [HISTORY_KEY_EXPIRED] = "key expires",
        [HISTORY_KEY_EXTENDED] = "key extended", [HISTORY_KEY_DELETED] = "key deleted",
        [HISTORY_HEALED] = "all faults healed",  [HISTORY_RUN_END] = "the run ends",
    };
    return others[event->f] != NULL ? others[event->f] : history_f_name((enum history_f)event->f);
}

/* A piece of evidence in the words that every event has. */
static void tell_event(struct story_cast *cast, struct drafts *drafts, uint64_t index,
                       bool violation)
{
    const struct history_event *event = story_event(cast, index);
    for (size_t i = 0; i < drafts->count; i++) {
        if (drafts->list[i].event == index) {
            drafts->list[i].violation = drafts->list[i].violation || violation;
            return;
        }
    }
    struct draft *draft = drafts_add(drafts, event);
    bool of_node = event->kind == HISTORY_NODE;
    draft->violation = violation;
    put_event(story_into(cast, &draft->subject), event);
    draft->process = of_node ? HISTORY_NOBODY : event->process;
    draft->nodes = of_node ? UINT64_C(1) << event->node : 0;
    if (of_node) {
        put_keepers(&draft->actor, cast->history->header, draft->nodes);
        text_add(&draft->actor, ":");
    } else if (event->process != HISTORY_NOBODY) {
        put_client(story_into(cast, &draft->actor), event->process);
    }
    text_add(&draft->label, "%s", short_word(event));
}

static bool is_told(const struct drafts *drafts, const struct check_result *result)
{
    for (size_t i = 0; i < drafts->count; i++) {
        const struct draft *draft = &drafts->list[i];
        for (uint32_t k = 0; k < result->evidence_count; k++) {
            if (draft->violation && draft->event == result->evidence[k]) {
                return true;
            }
        }
        if (draft->violation && draft->nodes != 0) {
            return true; /* a key that another deleted: the ends of keys tell it better */
        }
    }
    return false;
}

/* The lock's own doing behind a meeting: "client 1 released r0, but its keys stayed". */
static void tell_explanations(struct story_cast *cast, struct drafts *drafts)
{
    for (size_t i = 0; i < check_count(); i++) {
        const struct check *check = check_at(i);
        const struct check_result *result = cast->results[i];
        if (i == cast->lead->check || !story_explains(cast, i) || is_told(drafts, result)) {
            continue;
        }
        struct telling telling = telling_of(cast->history, check, result, NULL);
        const struct history_event *event = telling_operation(&telling);
        if (event->kind != HISTORY_OP) {
            event = telling_evidence(&telling, result->evidence_count - 1u);
        }
        struct draft *draft = drafts_add(drafts, event);
        bool of_node = event->kind == HISTORY_NODE;
        draft->violation = true;
        draft->process = of_node ? HISTORY_NOBODY : event->process;
        draft->nodes = of_node ? UINT64_C(1) << event->node : 0;
        story_put_effect(cast, i, &draft->subject);
        text_add(&draft->label, "%s", check->over != NULL ? check->over : check->name);
    }
}

static void label_box(struct story_cast *cast)
{
    const struct check *check = check_at(cast->lead->check);
    struct story_box *box = &cast->cause->box;
    struct text label = text_over(box->label, sizeof box->label);
    const char *over = check->over != NULL ? check->over : "";
    if (check->span != NULL) {
        int64_t between_ns[2];
        over = check->span(&cast->telling, between_ns);
        box->from_ns = between_ns[0];
        box->to_ns = between_ns[1];
    }
    text_add(&label, "%s", over);
    if (check->lasts && box->to_ns > box->from_ns) {
        text_add(&label, " ");
        duration_print_short(box->to_ns - box->from_ns, &label);
    }
}

static bool is_evidence(const struct story_cast *cast, uint64_t index)
{
    const struct check_result *result = cast->lead->result;
    for (uint32_t i = 0; i < result->evidence_count; i++) {
        if (result->evidence[i] == index) {
            return true;
        }
    }
    return false;
}

static bool is_end_of_key(const struct history_event *event)
{
    return event->f == HISTORY_KEY_EXPIRED || event->f == HISTORY_KEY_LOST ||
           event->f == HISTORY_KEY_EVICTED || event->f == HISTORY_KEY_DELETED;
}

/* The grants among the evidence, and how the keys behind them went, in the words for those. */
static void tell_claims(struct story_cast *cast, struct drafts *drafts)
{
    const struct ledger_claim *claims[2] = {cast->older, cast->younger};
    for (int i = 0; i < 2; i++) {
        if (claims[i] != NULL && is_evidence(cast, claims[i]->granted_index)) {
            story_tell_grant(cast, drafts, claims[i]);
            story_tell_ends(cast, drafts, claims[i], cast->lead->last + 1);
        }
    }
}

/* What has no two clients in it: from the first piece of evidence to the last. */
static void tell_evidence(struct story_cast *cast, struct drafts *drafts)
{
    const struct check_result *result = cast->lead->result;
    struct story_box *box = &cast->cause->box;
    tell_claims(cast, drafts);
    bool told = drafts->count > 0;
    for (uint32_t i = 0; i < result->evidence_count; i++) {
        if (!told || !is_end_of_key(story_event(cast, result->evidence[i]))) {
            tell_event(cast, drafts, result->evidence[i], i + 1u == result->evidence_count);
        }
    }
    const struct history_event *first = story_event(cast, result->evidence[0]);
    box->from_ns = first->time_ns;
    box->to_ns = story_event(cast, cast->lead->last)->time_ns;
    if (first->kind == HISTORY_NODE) {
        box->node = first->node;
    } else {
        box->process[0] = cast->lead->clients[0];
        box->process[1] = cast->lead->clients[0];
    }
    label_box(cast);
}

/* When the client of the first step asked for what it was granted. */
static int64_t asked_ns(const struct story_cast *cast)
{
    const struct story_step *first = &cast->cause->steps[0];
    const struct history_event *told = story_event(cast, first->event);
    for (uint64_t i = first->event; i > 0 && told->kind == HISTORY_OP; i--) {
        const struct history_event *event = story_event(cast, i - 1);
        if (event->kind == HISTORY_OP && event->type == HISTORY_INVOKE &&
            event->process == told->process) {
            return event->time_ns;
        }
    }
    return first->time_ns;
}

/* From the first step, and what was asked before it, to the last, and some of what it came to. */
static void look_at(struct story_cast *cast)
{
    struct story_cause *cause = cast->cause;
    const struct story_box *box = &cause->box;
    int64_t first_ns = cause->steps[0].time_ns;
    int64_t last_ns = cause->steps[cause->step_count - 1u].time_ns;
    int64_t shown_ns = box->from_ns + (box->from_ns - first_ns) * 35 / 100;
    int64_t length_ns;
    shown_ns = box->to_ns < shown_ns ? box->to_ns : shown_ns;
    cause->to_ns = shown_ns > last_ns ? shown_ns : last_ns;
    if (cause->to_ns - first_ns < STORY_MOMENT_NS) {
        cause->to_ns = first_ns + STORY_MOMENT_NS; /* of less nobody sees anything */
    }
    length_ns = cause->to_ns - first_ns;
    int64_t asked = asked_ns(cast);
    cause->from_ns = first_ns - asked < length_ns ? asked : first_ns;
}

/* Two clients that had it at once: their grants, how the first one's keys went, both entries. */
static void tell_meeting(struct story_cast *cast, struct drafts *drafts)
{
    if (cast->older != NULL) {
        bool kept = cast->younger == NULL || !ledger_watched(cast->ledger, cast->older);
        uint64_t before = kept ? cast->cause->event : cast->younger->fresh_index;
        story_tell_grant(cast, drafts, cast->older);
        story_tell_ends(cast, drafts, cast->older, before);
    }
    if (cast->younger != NULL) {
        story_tell_grant(cast, drafts, cast->younger);
        if (cast->younger->until_ns <= cast->younger->granted_ns) {
            story_tell_ends(cast, drafts, cast->younger, cast->younger->granted_index);
        }
    }
    tell_entries(cast, drafts);
    if (!broke(cast, "section_exclusion")) {
        tell_promises(cast, drafts);
    }
    label_box(cast);
}

void story_steps(struct story_cast *cast)
{
    static struct drafts drafts;
    struct story_cause *cause = cast->cause;
    bool meeting = check_at(cast->lead->check)->part == PART_MEETING;
    drafts.count = 0;
    cause->box =
        (struct story_box){.process = {HISTORY_NOBODY, HISTORY_NOBODY}, .node = HISTORY_NO_NODE};
    story_add_fault(cause, cast->lead->fault);
    if (meeting) {
        tell_meeting(cast, &drafts);
    } else {
        tell_evidence(cast, &drafts);
    }
    story_tell_faults(cast, &drafts);
    if (broke(cast, "store_integrity")) {
        tell_damage(cast, &drafts);
    } else if (meeting) {
        tell_refusal(cast, &drafts);
    }
    tell_explanations(cast, &drafts);
    story_tell_ways(cast, &drafts);
    drafts_finish(&drafts, cause);
    look_at(cast);
}

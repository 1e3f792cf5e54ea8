/* story_words.c: what it comes to in one sentence, whom to blame, and what to do. */
#include "base/assert.h"
#include "checker/story/story_cast.h"

#include <inttypes.h>
#include <string.h>

/* ---- the title ------------------------------------------------------------------------------- */

/* The best check of a part among those that the cause broke; check_count() if there is none. */
static size_t best_of(const struct story_cast *cast, enum check_part part)
{
    size_t best = check_count();
    for (size_t i = 0; i < check_count(); i++) {
        const struct check *check = check_at(i);
        bool fits = (cast->cause->checks >> i & 1) != 0 && check->part == part;
        if (fits && (best == check_count() || check->weight > check_at(best)->weight)) {
            best = i;
        }
    }
    return best;
}

void story_put_effect(const struct story_cast *cast, size_t index, struct text *text)
{
    const struct check *check = check_at(index);
    struct telling telling = telling_of(cast->history, check, cast->results[index], text);
    if (check->effect != NULL) {
        check->effect(&telling);
    } else {
        check->say(&telling);
    }
}

bool story_explains(const struct story_cast *cast, size_t check)
{
    enum { REASONS = 8 * sizeof check_at(check)->explains };
    const struct check_result *result = cast->results[check];
    if ((cast->cause->checks >> check & 1) == 0 || result->blame != BLAME_LIBRARY ||
        result->reason >= REASONS || (check_at(check)->explains >> result->reason & 1) == 0) {
        return false;
    }
    if (check_at(check)->part == PART_DAMAGE && check_at(cast->lead->check)->part != PART_DAMAGE) {
        return false; /* damage is what a meeting leads to, and may lead to more damage */
    }
    /* What was done behind it has not led to it, though it is of the same kind. */
    return result->evidence[result->evidence_count - 1u] <= cast->lead->last;
}

static size_t best_explanation(const struct story_cast *cast)
{
    size_t best = check_count();
    for (size_t i = 0; i < check_count(); i++) {
        bool better = best == check_count() || check_at(i)->weight > check_at(best)->weight;
        best = i != cast->lead->check && story_explains(cast, i) && better ? i : best;
    }
    return best;
}

/* The one of the two whose lease was over, or was to be: the older if both. */
static const struct ledger_claim *late_claim(const struct story_cast *cast)
{
    const struct ledger_claim *younger = cast->younger;
    bool older_late = cast->older != NULL && ledger_lease_end_ns(cast->older) <= cast->cause->at_ns;
    bool younger_late = younger != NULL && ledger_lease_end_ns(younger) <= cast->cause->at_ns;
    return older_late || !younger_late ? cast->older : younger;
}

/* The fault of one of these kinds that the story tells of. */
static const struct history_event *fault_start(const struct story_cast *cast, uint64_t kinds)
{
    for (uint8_t i = 0; i < cast->cause->fault_count; i++) {
        const struct history_event *start = telling_fault(&cast->telling, cast->cause->faults[i]);
        if (start != NULL && (kinds >> start->fault_kind & 1) != 0) {
            return start;
        }
    }
    return NULL;
}

static bool put_stop(struct story_cast *cast, struct text *text)
{
    const struct history_event *start = fault_start(cast, STORY_STOPS);
    const struct ledger_claim *late = late_claim(cast);
    if (start == NULL || late == NULL) {
        return false;
    }
    bool paused = start->fault_kind == FAULT_PAUSE;
    put_client(story_into(cast, text), late->process);
    text_add(text, paused ? " was paused" : " was slow");
    for (uint64_t i = start->index; paused && i < cast->history->count; i++) {
        const struct history_event *event = story_event(cast, i);
        if (event->f == HISTORY_FAULT_END && event->fault == start->fault) {
            text_add(text, " for ");
            duration_print_short(event->time_ns - start->time_ns, text);
            break;
        }
    }
    text_add(text, late->until_ns == TIME_NEVER ? "" : ", past the end of its lease");
    return true;
}

static bool put_bend(struct story_cast *cast, struct text *text)
{
    const struct history_event *start = fault_start(cast, STORY_BENDS);
    if (start == NULL) {
        return false;
    }
    int32_t process = start->process;
    process = process == HISTORY_NOBODY && cast->older != NULL ? cast->older->process : process;
    put_client(story_into(cast, text), process);
    text_add(text, "'s clock ran at %g times the true rate, so that it trusted its lease too long",
             (double)start->number[0] / 1e6);
    return true;
}

static bool put_overtime(struct story_cast *cast, struct text *text)
{
    const struct ledger_claim *late = late_claim(cast);
    if (late == NULL) {
        return false;
    }
    put_client(story_into(cast, text), late->process);
    text_add(text, " stayed inside when its lease was over");
    return true;
}

static bool put_delay(struct story_cast *cast, struct text *text)
{
    const struct history_event *start = fault_start(cast, STORY_DELAYS);
    if (start == NULL) {
        return false;
    }
    put_fault(story_into(cast, text), start);
    text_add(text, " made requests late");
    return true;
}

/* What the lock did wrong where no check has a word for it: its keys tell. */
static bool put_lock_fault(struct story_cast *cast, struct text *text)
{
    const struct ledger *ledger = cast->ledger;
    const struct ledger_claim *claims[2] = {cast->younger, cast->older};
    for (int i = 0; i < 2; i++) {
        if (claims[i] != NULL && ledger_watched(ledger, claims[i]) &&
            ledger_bits(claims[i]->set) < ledger->quorum) {
            put_client(story_into(cast, text), claims[i]->process);
            text_add(text, " had ");
            put_quorum(text, ledger_bits(claims[i]->set), ledger->quorum);
            return true;
        }
    }
    bool outlived = cast->older != NULL && ledger_watched(ledger, cast->older) &&
                    ledger_bits(cast->older->present) < ledger->quorum &&
                    ledger_lease_end_ns(cast->older) > cast->cause->at_ns;
    if (outlived) {
        put_client(story_into(cast, text), cast->older->process);
        text_add(text, "%s",
                 cast->older->until_ns == TIME_NEVER
                     ? (ledger->node_count == 1 ? " held it still when its key was gone"
                                                : " held it still when its keys were gone")
                     : " was promised more time than its keys had");
    }
    return outlived;
}

/* A key in the way that nothing will ever take away. */
static bool put_endless_key(struct story_cast *cast, struct text *text)
{
    const struct check_result *result = cast->lead->result;
    for (uint32_t i = 0; i < result->evidence_count; i++) {
        const struct history_event *event = story_event(cast, result->evidence[i]);
        if (event->f == HISTORY_KEY_SET && (event->flags & HISTORY_HAS_UNTIL) == 0) {
            put_client(story_into(cast, text), event->process);
            text_add(text, " set a key that never expires");
            return true;
        }
    }
    return false;
}

static bool put_cause_by_lock(struct story_cast *cast, uint64_t before, struct text *text)
{
    size_t explanation = best_explanation(cast);
    bool tells_itself = story_explains(cast, cast->lead->check);
    if (cast->cause->blame != BLAME_LIBRARY || tells_itself) {
        return false;
    }
    if (explanation != check_count()) {
        story_put_effect(cast, explanation, text);
        return true;
    }
    if (check_at(cast->lead->check)->part == PART_WAITING) {
        return put_endless_key(cast, text);
    }
    return (cast->older != NULL && story_put_loss(cast, cast->older, before, text)) ||
           put_lock_fault(cast, text);
}

/* Why, as a clause; false if nobody can tell, or the effect says it already. */
static bool put_cause(struct story_cast *cast, struct text *text)
{
    bool meeting = check_at(cast->lead->check)->part >= PART_DAMAGE && cast->younger != NULL;
    uint64_t before = meeting ? cast->younger->fresh_index : cast->lead->last + 1;
    switch ((enum assumption)cast->cause->assumption) {
    case ASSUMPTION_CLIENT_PAUSE:
        return put_stop(cast, text);
    case ASSUMPTION_CLIENT_CLOCK:
        return put_bend(cast, text);
    case ASSUMPTION_SECTION:
        return put_overtime(cast, text);
    case ASSUMPTION_DELAY:
        return put_delay(cast, text);
    case ASSUMPTION_NODE_CLOCK:
    case ASSUMPTION_PERSISTENCE:
    case ASSUMPTION_LEADER:
    case ASSUMPTION_SESSION:
    case ASSUMPTION_OWN_SESSION:
    case ASSUMPTION_CONSENSUS:
    case ASSUMPTION_REPLICATION:
    case ASSUMPTION_MEMORY:
        return cast->older != NULL && story_put_loss(cast, cast->older, before, text);
    case ASSUMPTION_NONE:
        return put_cause_by_lock(cast, before, text);
    }
    UNREACHABLE();
}

void story_title(struct story_cast *cast)
{
    struct story_cause *cause = cast->cause;
    struct text title = text_over(cause->title, sizeof cause->title);
    char memory[STORY_SENTENCE_BYTES];
    struct text why = text_over(memory, sizeof memory);
    story_put_effect(cast, cause->lead, &title);
    size_t damage = best_of(cast, PART_DAMAGE);
    if (damage != check_count() && damage != cause->lead) {
        text_add(&title, ", and ");
        story_put_effect(cast, damage, &title);
    } else if (cause->guard_held) {
        text_add(&title, ", but the guarded store refused the late one");
    }
    if (put_cause(cast, &why)) {
        text_add(&title, ": %s", why.data);
    }
    text_add(&title, ".");
    if (cause->title[0] >= 'a' && cause->title[0] <= 'z') {
        cause->title[0] = (char)(cause->title[0] - 'a' + 'A');
    }
}

/* ---- blame and advice ------------------------------------------------------------------------ */

const char *story_blame_words(const struct story_cause *cause)
{
    static const char *const words[] = {
        [BLAME_NONE] = "Blame cannot be told",
        [BLAME_LIBRARY] = "The library is to blame",
        [BLAME_ASSUMPTION] = "No bug of the library: an assumption broke",
        [BLAME_DEPLOYMENT] = "The deployment is to blame",
    };
    ASSERT(cause->blame < sizeof words / sizeof words[0]);
    return words[cause->blame];
}

void story_blame_why(const struct story_cause *cause, const struct history_header *header,
                     struct text *text)
{
    const char *sentence = assumption_sentence((enum assumption)cause->assumption);
    switch ((enum blame)cause->blame) {
    case BLAME_LIBRARY:
        text_add(text, "It broke its own algorithm; no fault in this run excuses it.");
        return;
    case BLAME_ASSUMPTION:
        text_add(text, "A lease lock relies on this: %s.", sentence);
        return;
    case BLAME_DEPLOYMENT:
        text_add(text, "The nodes must be set up so that this holds: %s.", sentence);
        return;
    case BLAME_NONE:
        text_add(text, "The history does not say what happened on the nodes: %s.",
                 header->unwatched[0] != '\0' ? header->unwatched : "record it");
        return;
    }
    UNREACHABLE();
}

void story_advice(struct story_cast *cast)
{
    struct story_cause *cause = cast->cause;
    const struct history_header *header = cast->history->header;
    struct text advice = text_over(cause->advice, sizeof cause->advice);
    bool guarded = header->fence_check || header->value_check;
    if (cause->blame == BLAME_LIBRARY) {
        text_add(&advice, "Report it, with this history.");
    } else if (cause->blame != BLAME_NONE) {
        enum guard guard = guarded ? GUARD_ON : GUARD_NONE;
        put_advice(&advice, (enum assumption)cause->assumption,
                   cause->guard_held ? GUARD_HELD : guard);
    } else if (header->unwatched[0] != '\0' && strncmp(header->library, "lockcore ", 9) == 0) {
        text_add(&advice, "Run the scenario in the simulator, where the nodes tell.");
    }
}

/* The bytes of a number with its unit, such as "58.63 ms"; 0: there is none here. */
static size_t number_length(const char *at)
{
    static const char *const units[] = {" s", " ms", " us", " ns"};
    size_t length = strspn(at, "0123456789");
    if (length == 0) {
        return 0;
    }
    if (at[length] == '.' && at[length + 1] >= '0' && at[length + 1] <= '9') {
        length += 1 + strspn(at + length + 1, "0123456789");
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t bytes = strlen(units[i]);
        bool unit = strncmp(at + length, units[i], bytes) == 0;
        if (unit && (at[length + bytes] == '\0' || strchr(" ,.:;)", at[length + bytes]) != NULL)) {
            return length + bytes;
        }
    }
    return length;
}

void story_pattern_of(const char *title, struct text *text)
{
    for (const char *at = title; *at != '\0';) {
        size_t length = number_length(at);
        text_add_bytes(text, length > 0 ? "#" : at, 1);
        at += length > 0 ? length : 1;
    }
}

void story_pattern(const struct story_cause *cause, struct text *text)
{
    story_pattern_of(cause->title, text);
}

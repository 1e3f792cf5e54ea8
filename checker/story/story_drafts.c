/* story_drafts.c: collects, sorts and joins the steps of a story. */
#include "checker/story/story_drafts.h"

#include "base/assert.h"

#include <string.h>

/* Two doings of one actor are one moment if they are nearer than this part of the story's length.
 */
enum { MOMENT_PART = 80 };

static void draft_texts(struct draft *draft)
{
    draft->subject.data = draft->subject_memory;
    draft->predicate.data = draft->predicate_memory;
    draft->actor.data = draft->actor_memory;
    draft->label.data = draft->label_memory;
}

struct draft *drafts_add(struct drafts *drafts, const struct history_event *event)
{
    static struct draft spare; /* takes what no story has room for */
    struct draft *draft = drafts->count < DRAFTS_MAX ? &drafts->list[drafts->count++] : &spare;
    memset(draft, 0, sizeof *draft);
    draft->event = event->index;
    draft->time_ns = event->time_ns;
    draft->process = HISTORY_NOBODY;
    draft->subject = text_over(draft->subject_memory, sizeof draft->subject_memory);
    draft->predicate = text_over(draft->predicate_memory, sizeof draft->predicate_memory);
    draft->actor = text_over(draft->actor_memory, sizeof draft->actor_memory);
    draft->label = text_over(draft->label_memory, sizeof draft->label_memory);
    return draft;
}

void drafts_drop(struct drafts *drafts, uint64_t event)
{
    size_t kept = 0;
    for (size_t i = 0; i < drafts->count; i++) {
        if (drafts->list[i].event != event) {
            drafts->list[kept] = drafts->list[i];
            draft_texts(&drafts->list[kept++]);
        }
    }
    drafts->count = kept;
}

static void drafts_sort(struct drafts *drafts)
{
    for (size_t i = 1; i < drafts->count; i++) {
        struct draft moving = drafts->list[i];
        size_t at = i;
        while (at > 0 && drafts->list[at - 1].event > moving.event) {
            drafts->list[at] = drafts->list[at - 1];
            at--;
        }
        drafts->list[at] = moving;
    }
    for (size_t i = 0; i < drafts->count; i++) {
        draft_texts(&drafts->list[i]);
    }
}

static bool can_be_joined(const struct draft *draft)
{
    return draft->process != HISTORY_NOBODY && !draft->store && draft->nodes == 0 &&
           draft->predicate.length > 0 && draft->predicate.data[0] != '\'';
}

static bool one_moment(const struct draft *a, const struct draft *b, int64_t length_ns)
{
    return can_be_joined(a) && can_be_joined(b) && a->process == b->process &&
           strcmp(a->subject.data, b->subject.data) == 0 &&
           b->time_ns - a->time_ns <= length_ns / MOMENT_PART;
}

/* "does this" and "does that"; with a third, a comma takes the place of the first "and". */
static void draft_join_predicate(struct draft *to, const struct draft *from)
{
    if (to->and_at > 0) {
        char memory[DRAFT_PREDICATE_BYTES];
        struct text tail = text_over(memory, sizeof memory);
        text_add(&tail, "%s", to->predicate.data + to->and_at + strlen(" and"));
        to->predicate.length = to->and_at;
        text_add(&to->predicate, ",%s", tail.data);
    }
    to->and_at = to->predicate.length;
    text_add(&to->predicate, " and %s", from->predicate.data);
}

/* What is a violation keeps its own label: it is what the eye looks for. */
static void draft_join(struct draft *to, const struct draft *from)
{
    draft_join_predicate(to, from);
    if (from->violation && !to->violation) {
        text_clear(&to->label);
        text_add(&to->label, "%s", from->label.data);
    } else if (from->violation || !to->violation) {
        text_add(&to->label, ", %s", from->label.data);
    }
    to->violation = to->violation || from->violation;
}

/* The last draft kept that `next` is one moment with: others may stand between them. */
static struct draft *same_moment(struct drafts *drafts, size_t kept, const struct draft *next,
                                 int64_t length_ns)
{
    for (size_t i = kept; i > 0; i--) {
        if (one_moment(&drafts->list[i - 1], next, length_ns)) {
            return &drafts->list[i - 1];
        }
    }
    return NULL;
}

static void drafts_join(struct drafts *drafts)
{
    if (drafts->count == 0) {
        return;
    }
    int64_t length_ns = drafts->list[drafts->count - 1].time_ns - drafts->list[0].time_ns;
    size_t kept = 1;
    for (size_t i = 1; i < drafts->count; i++) {
        struct draft *same = same_moment(drafts, kept, &drafts->list[i], length_ns);
        if (same != NULL) {
            draft_join(same, &drafts->list[i]);
            continue;
        }
        if (kept != i) {
            drafts->list[kept] = drafts->list[i];
            draft_texts(&drafts->list[kept]);
        }
        kept++;
    }
    drafts->count = kept;
}

static void draft_print(const struct draft *draft, struct story_step *step)
{
    *step = (struct story_step){.event = draft->event,
                                .time_ns = draft->time_ns,
                                .violation = draft->violation,
                                .store = draft->store,
                                .process = draft->process,
                                .nodes = draft->nodes};
    struct text sentence = text_over(step->sentence, sizeof step->sentence);
    struct text label = text_over(step->label, sizeof step->label);
    bool apart = draft->predicate.length > 0 && draft->predicate.data[0] != '\'';
    text_add(&sentence, "%s%s%s.", draft->subject.data, apart ? " " : "", draft->predicate.data);
    if (!draft->violation && draft->actor.length > 0) {
        text_add(&label, "%s ", draft->actor.data);
    }
    text_add(&label, "%s", draft->label.data);
    if (step->sentence[0] >= 'a' && step->sentence[0] <= 'z') {
        step->sentence[0] = (char)(step->sentence[0] - 'a' + 'A');
    }
}

void drafts_finish(struct drafts *drafts, struct story_cause *cause)
{
    drafts_sort(drafts);
    drafts_join(drafts);
    cause->step_count = 0;
    bool violated = false;
    for (size_t i = 0; i < drafts->count; i++) {
        violated = violated || drafts->list[i].violation;
    }
    if (!violated && drafts->count > 0) {
        drafts->list[drafts->count - 1].violation = true;
    }
    size_t left_out = drafts->count > STORY_STEPS_MAX ? drafts->count - STORY_STEPS_MAX : 0;
    for (size_t i = 0; i < drafts->count; i++) {
        /* What led to it is told from its end. */
        if (left_out > 0 && !drafts->list[i].violation) {
            left_out--;
        } else if (cause->step_count < STORY_STEPS_MAX) {
            draft_print(&drafts->list[i], &cause->steps[cause->step_count++]);
        }
    }
}

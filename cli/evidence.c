/* evidence.c: what was found, as plain data and as JSON. */
#include "cli/evidence.h"

#include "base/assert.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void evidence_take(const struct stories *stories, size_t check, const struct check_result *result,
                   struct evidence *evidence)
{
    memset(evidence, 0, sizeof *evidence);
    if (result->verdict != VERDICT_FAIL) {
        return;
    }
    const struct story_cause *cause = stories_cause_of(stories, check);
    evidence->blame = result->blame;
    evidence->assumption = result->assumption;
    evidence->grade = result->grade;
    evidence->cause = cause == NULL ? 0 : (uint8_t)(1 + (cause - stories->causes));
    evidence->count = result->evidence_count;
    memcpy(evidence->events, result->evidence, sizeof evidence->events);
}

uint32_t evidence_take_causes(const struct stories *stories, struct evidence_cause *causes)
{
    uint32_t count =
        stories->cause_count < EVIDENCE_CAUSES_MAX ? stories->cause_count : EVIDENCE_CAUSES_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const struct story_cause *told = &stories->causes[i];
        struct evidence_cause *cause = &causes[i];
        struct text title = text_over(cause->title, sizeof cause->title);
        struct text advice = text_over(cause->advice, sizeof cause->advice);
        cause->checks = (uint32_t)told->checks;
        cause->blame = told->blame;
        cause->assumption = told->assumption;
        cause->lead = (uint8_t)told->lead;
        text_add(&title, "%s", told->title);
        text_add(&advice, "%s", told->advice);
    }
    return count;
}

static void blame_json(uint8_t blame, uint8_t assumption, struct text *text)
{
    text_add(text, ",\"blame\":\"%s\"", blame_name((enum blame)blame));
    if (assumption != ASSUMPTION_NONE) {
        text_add(text, ",\"assumption\":");
        text_add_json(text, assumption_sentence((enum assumption)assumption));
    }
}

void evidence_json(const struct evidence *evidence, struct text *text)
{
    blame_json(evidence->blame, evidence->assumption, text);
    text_add(text, ",\"grade\":\"%s\",\"evidence\":[", grade_name((enum grade)evidence->grade));
    for (uint8_t i = 0; i < evidence->count; i++) {
        text_add(text, "%s%" PRIu64, i == 0 ? "" : ",", evidence->events[i]);
    }
    text_add(text, "]");
    if (evidence->cause != 0) {
        text_add(text, ",\"cause\":%d", evidence->cause);
    }
}

void evidence_cause_json(const struct evidence_cause *cause, uint32_t number, struct text *text)
{
    const char *comma = "";
    text_add(text, "\"cause\":%" PRIu32 ",\"title\":", number);
    text_add_json(text, cause->title);
    blame_json(cause->blame, cause->assumption, text);
    text_add(text, ",\"advice\":");
    text_add_json(text, cause->advice);
    text_add(text, ",\"lead\":\"%s\",\"checks\":[", check_at(cause->lead)->name);
    for (size_t i = 0; i < check_count(); i++) {
        if ((cause->checks >> i & 1) != 0) {
            text_add(text, "%s\"%s\"", comma, check_at(i)->name);
            comma = ",";
        }
    }
    text_add(text, "]");
}

/* report_json.c: one run as a line of JSON, for whoever reads results by program. */
#include "cli/report_json.h"

#include "base/assert.h"
#include "cli/report_formats.h"

#include <inttypes.h>
#include <string.h>

enum { SKIPPED_BYTES = 256, PART_BYTES = 4096, WORD_BYTES = 32 };

static void text_add_json_field(struct text *text, const char *name, const char *value)
{
    text_add(text, ",\"%s\":", name);
    text_add_json(text, value);
}

/* Why this check could not say. */
static void open_print(const struct run_report *run, const char *check, struct text *text)
{
    char memory[RUN_OPEN_BYTES];
    struct text why = text_over(memory, sizeof memory);
    size_t name_bytes = strlen(check);
    for (const char *line = run->open; *line != '\0'; line += strcspn(line, "\n") + 1) {
        if (strncmp(line, check, name_bytes) == 0 && line[name_bytes] == ':') {
            line += name_bytes + 2;
            text_add_bytes(&why, line, strcspn(line, "\n"));
            break;
        }
    }
    text_add_json_field(text, "why", why.data);
}

/* {"exclusion":{"verdict":"fail","blame":"library","evidence":[9,30],"unmet":true},...} */
static void checks_print(const struct run_report *run, struct text *text)
{
    const char *comma = "";
    char memory[SKIPPED_BYTES];
    text_add(text, "{");
    for (size_t i = 0; i < check_count() && run->status <= RUN_UNKNOWN; i++) {
        text_add(text, "%s\"%s\":{\"verdict\":\"%s\"", comma, check_at(i)->name,
                 verdict_name((enum verdict)run->verdicts[i]));
        if (run->verdicts[i] == VERDICT_FAIL) {
            evidence_json(&run->found.evidence[i], text);
        } else if (run->verdicts[i] == VERDICT_SKIPPED) {
            struct text why = text_over(memory, sizeof memory);
            report_skipped(run, i, &why);
            text_add_json_field(text, "why", why.data);
        } else if (run->verdicts[i] == VERDICT_UNKNOWN) {
            open_print(run, check_at(i)->name, text);
        }
        text_add(text, "%s}", (run->unmet >> i & 1u) != 0 ? ",\"unmet\":true" : "");
        comma = ",";
    }
    text_add(text, "}");
}

static void causes_print(const struct run_report *run, struct text *text)
{
    text_add(text, ",\"causes\":[");
    for (uint32_t i = 0; i < run->found.cause_count; i++) {
        text_add(text, i == 0 ? "{" : ",{");
        evidence_cause_json(&run->found.causes[i], i + 1, text);
        text_add(text, "}");
    }
    text_add(text, "]");
}

void report_line(const struct report *report, const struct report_group *group,
                 const struct run_report *run, struct text *line)
{
    char memory[PART_BYTES];
    struct text rerun = text_over(memory, sizeof memory);
    text_add(line, "{\"schema\":1,\"type\":\"run\"");
    text_add_json_field(line, "scenario", group->scenario->name);
    text_add(line, ",\"content\":\"%016" PRIx64 "\"", group->content);
    text_add_json_field(line, "path", group->scenario->path);
    text_add_json_field(line, "world", group->world);
    text_add_json_field(line, "status", run_status_name((enum run_status)run->status));
    text_add(line,
             ",\"seed\":%" PRIu64 ",\"run\":%" PRIu64 ",\"events\":%" PRIu64
             ",\"virtual_ns\":%" PRId64,
             run->seed, run->run, run->events, run->virtual_ns);
    if (run->late_tries > 0) {
        text_add(line, ",\"late_tries\":%" PRIu64, run->late_tries);
    }
    text_add_json_field(line, "library", run->library);
    text_add(line, ",\"checks\":");
    checks_print(run, line);
    causes_print(run, line);
    text_add_json_field(line, "why", run->sentences);
    report_rerun(report, group, run, "picklock", &rerun);
    text_add_json_field(line, "rerun", rerun.data);
    ASSERT(!line->cut && !rerun.cut);
}

void report_line_kept(const struct report *report, const struct report_group *group,
                      const struct run_report *run, struct text *line)
{
    char memory[PART_BYTES];
    struct text folder = text_over(memory, sizeof memory);
    if (run->kept) {
        text_add(line, ",\"hash\":\"%016" PRIx64 "\"", run->history_hash);
        report_folder(report, group, run, &folder);
        text_add_json_field(line, "folder", folder.data);
    }
}

void report_line_end(const struct run_report *run, bool timing, struct text *line)
{
    if (timing) {
        text_add(line, ",\"wall_ns\":%" PRId64, run->wall_ns);
    }
    text_add(line, "}\n");
}

static bool word_find(const char *word, const char *(*name)(int number), int count, uint8_t *number)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(name(i), word) == 0) {
            *number = (uint8_t)i;
            return true;
        }
    }
    return false;
}

static const char *verdict_word(int number)
{
    return verdict_name((enum verdict)number);
}

static const char *blame_word(int number)
{
    return blame_name((enum blame)number);
}

static const char *check_word(int number)
{
    return check_at((size_t)number)->name;
}

bool report_checks_read(const struct json *json, int32_t checks, struct run_report *run)
{
    char word[WORD_BYTES];
    if (checks < 0) {
        return false;
    }
    for (size_t i = 0; i < check_count(); i++) {
        run->verdicts[i] = VERDICT_SKIPPED;
        int32_t one = json_find(json, checks, check_at(i)->name);
        if (one < 0) {
            continue; /* a run that could not be done says nothing; older ones knew fewer checks */
        }
        if (!json_text(json, one, "verdict", word, sizeof word) ||
            !word_find(word, verdict_word, VERDICT_UNKNOWN + 1, &run->verdicts[i])) {
            return false;
        }
        if (json_text(json, one, "blame", word, sizeof word) &&
            !word_find(word, blame_word, BLAME_DEPLOYMENT + 1, &run->blames[i])) {
            return false;
        }
        run->violations |= (run->verdicts[i] == VERDICT_FAIL ? 1u : 0u) << i;
        run->unmet |= (json_find(json, one, "unmet") >= 0 ? 1u : 0u) << i;
    }
    return true;
}

static void cause_read(const struct json *json, int32_t place, struct evidence_cause *cause)
{
    char word[WORD_BYTES];
    memset(cause, 0, sizeof *cause);
    (void)json_text(json, place, "title", cause->title, sizeof cause->title);
    (void)json_text(json, place, "advice", cause->advice, sizeof cause->advice);
    if (json_text(json, place, "blame", word, sizeof word)) {
        (void)word_find(word, blame_word, BLAME_DEPLOYMENT + 1, &cause->blame);
    }
    if (json_text(json, place, "lead", word, sizeof word)) {
        (void)word_find(word, check_word, (int)check_count(), &cause->lead);
    }
}

void report_causes_read(const struct json *json, int32_t causes, struct run_report *run)
{
    for (int32_t one = causes < 0 ? -1 : json_first(json, causes);
         one >= 0 && run->found.cause_count < EVIDENCE_CAUSES_MAX; one = json_next(json, one)) {
        cause_read(json, one, &run->found.causes[run->found.cause_count++]);
    }
}

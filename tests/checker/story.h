/*
 * story.h: histories written as short JSON lines in a test, and what a check says of them.
 *
 *     struct story story = story_of(LINES("{...}", "{...}"));
 *     struct check_result result = story_judge(&story, "exclusion");
 *
 * Line i of the text is event i. The index, and "resource":"r0" where every event has it, may be
 * left out: see story_of.
 */
#ifndef TESTS_CHECKER_STORY_H
#define TESTS_CHECKER_STORY_H

#include "base/arena.h"
#include "checker/explain/explain.h"
#include "checker/judge.h"
#include "history/reader.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STORY_EVENTS_MAX = 256, STORY_BYTES_MAX = 64 * 1024, STORY_STATE_BYTES = 64 << 20 };

struct story {
    struct history_header header;
    struct history_event events[STORY_EVENTS_MAX];
    size_t count;
};

/* Five nodes, two clients, ttl 1 s, bound 500 ms, promised ends. */
#define STORY_HEADER                                                                               \
    "{\"format\":\"picklock-history\",\"version\":1,\"nodes\":5,\"clients\":2,"                    \
    "\"ttl\":1000000000,\"bound\":500000000,\"promises_validity\":true}"

/* One event in short: STORY words are quoted with ' instead of ". */
static inline void story_unquote(char *text)
{
    for (char *at = text; *at != '\0'; at++) {
        *at = *at == '\'' ? '"' : *at;
    }
}

/* Read a history: `lines` with ' for ", its first line a header. */
static inline void story_read(struct story *story, const char *lines)
{
    char text[STORY_BYTES_MAX];
    cr_assert_lt(strlen(lines), sizeof text);
    (void)snprintf(text, sizeof text, "%s", lines);
    story_unquote(text);
    int file = memfd_create("story", 0);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct history_reader *reader = NULL;
    cr_assert(!result_failed(history_reader_open(path, NULL, &reader, &why)), "%s", memory);
    story->header = *history_reader_header(reader);
    story->count = 0;
    bool more = true;
    while (more) {
        cr_assert_lt(story->count, (size_t)STORY_EVENTS_MAX);
        struct result read = history_reader_next(reader, &story->events[story->count], &more, &why);
        cr_assert(!result_failed(read), "%s", memory);
        story->count += more ? 1 : 0;
    }
    history_reader_close(reader);
    cr_assert_eq(close(file), 0);
}

static inline struct check_result story_judge(const struct story *story, const char *check)
{
    uint64_t bit = judge_bit(check);
    cr_assert_neq(bit, (uint64_t)0, "no check is called %s", check);
    size_t bytes = judge_bytes(&story->header, bit);
    void *memory = memory_resize(NULL, bytes);
    cr_assert_not_null(memory);
    struct judge *judge = judge_init(memory, &story->header, bit);
    for (size_t i = 0; i < story->count; i++) {
        judge_event(judge, &story->events[i]);
        judge_assert_valid(judge);
    }
    judge_finish(judge);
    judge_assert_valid(judge);
    struct check_result result = *judge_result(judge, (size_t)__builtin_ctzll(bit));
    cr_assert_eq(judge_failed(judge), result.verdict == VERDICT_FAIL);
    memory_release(memory);
    return result;
}

/* Judge a history in one line. */
static inline struct check_result judge_lines(const char *check, const char *lines)
{
    static struct story story;
    story_read(&story, lines);
    return story_judge(&story, check);
}

static inline struct explain_history story_history(const struct story *story)
{
    return (struct explain_history){
        .header = &story->header, .events = story->events, .count = story->count};
}

/* The story that a check tells of a history. */
static inline const char *tell(const char *check, const char *lines)
{
    static struct story story;
    static char memory[8192];
    story_read(&story, lines);
    struct check_result result = story_judge(&story, check);
    struct explain_history history = story_history(&story);
    struct text text = text_over(memory, sizeof memory);
    explain_story(&history, check_find(check), &result, &text);
    cr_assert_not(text.cut);
    return memory;
}

/* Its headline alone: what went wrong, or what is missing. */
static inline const char *headline(const char *check, const char *lines)
{
    static struct story story;
    static char memory[1024];
    story_read(&story, lines);
    struct check_result result = story_judge(&story, check);
    struct explain_history history = story_history(&story);
    struct text text = text_over(memory, sizeof memory);
    explain_headline(&history, check_find(check), &result, &text);
    cr_assert_not(text.cut);
    return memory;
}

/* Short forms of the events of one resource; times in milliseconds, ends in milliseconds. */
#define HEADER               STORY_HEADER "\n"
#define AT(ms)               "{'time':" #ms "000000,"
#define OP(ms, p, t, f)      AT(ms) "'process':" #p ",'type':'" t "','f':'" f "','resource':'r0'"
#define ASK(ms, p)           OP(ms, p, "invoke", "acquire") "}\n"
#define GRANT(ms, p, v, end) OP(ms, p, "ok", "acquire") ",'value':'" v "','until':" #end "000000}\n"
#define GRANT_OPEN(ms, p, v) OP(ms, p, "ok", "acquire") ",'value':'" v "'}\n"
#define REFUSE(ms, p)        OP(ms, p, "fail", "acquire") ",'cause':'no-quorum'}\n"
#define FREE(ms, p)          OP(ms, p, "invoke", "release") "}\n"
#define FREED(ms, p)         OP(ms, p, "ok", "release") "}\n"
#define EXTEND(ms, p)        OP(ms, p, "invoke", "extend") "}\n"
#define EXTENDED(ms, p, end) OP(ms, p, "ok", "extend") ",'until':" #end "000000}\n"
#define WITH(ms, kind, p, f) AT(ms) "'kind':'" kind "','process':" #p ",'f':'" f "','resource':'r0'"
#define ENTER(ms, p)         WITH(ms, "section", p, "enter") "}\n"
#define LEAVE(ms, p)         WITH(ms, "section", p, "leave") "}\n"
#define LOST(ms, p)          WITH(ms, "notice", p, "lost") "}\n"
#define MOVED(ms, p, end)    WITH(ms, "lease", p, "moved") ",'until':" #end "000000}\n"
#define KILLED(ms, p)        AT(ms) "'kind':'client','process':" #p ",'f':'killed'}\n"
#define ON(ms, n, f)         AT(ms) "'kind':'node','node':" #n ",'f':'" f "','resource':'r0'"
#define SET(ms, n, p, v, end)                                                                      \
    ON(ms, n, "set") ",'process':" #p ",'value':'" v "','until':" #end "000000}\n"
#define SET_ENDLESS(ms, n, p, v) ON(ms, n, "set") ",'process':" #p ",'value':'" v "'}\n"
#define DELETED(ms, n, p, v)                                                                       \
    ON(ms, n, "deleted") ",'process':" #p ",'value':'" v "','owner':'" v "','cause':'released'}\n"
#define DELETED_BLINDLY(ms, n, p, owner)                                                           \
    ON(ms, n, "deleted") ",'process':" #p ",'owner':'" owner "','cause':'foreign'}\n"
#define ENDED(ms, n, f, owner, cause) ON(ms, n, f) ",'owner':'" owner "','cause':'" cause "'}\n"
#define ENDED_BY(ms, n, f, owner, cause, k)                                                        \
    ON(ms, n, f) ",'owner':'" owner "','cause':'" cause "','fault':" #k "}\n"
#define FAULT_LINE(ms, k, kind, f)                                                                 \
    AT(ms) "'kind':'fault','fault':" #k ",'f':'" f "','fault_kind':'" kind "'"
#define FAULT_OF_CLIENT(ms, k, kind, f, p) FAULT_LINE(ms, k, kind, f) ",'process':" #p "}\n"
#define FAULT_OF_NODE(ms, k, kind, f, n)   FAULT_LINE(ms, k, kind, f) ",'node':" #n "}\n"
#define READ(ms, p, version)                                                                       \
    OP(ms, p, "invoke", "read") "}\n" OP(ms, p, "ok", "read") ",'version':" #version "}\n"
#define WRITE(ms, p, the_basis, the_version)                                                       \
    OP(ms, p, "invoke", "write")                                                                   \
    ",'basis':" #the_basis "}\n" OP(ms, p, "ok", "write") ",'basis':" #the_basis                   \
                                                          ",'version':" #the_version "}\n"
#define GRANT_FENCE(ms, p, the_fence) OP(ms, p, "ok", "acquire") ",'fence':" #the_fence "}\n"
#define KEPT(ms, n, p, v)             ON(ms, n, "kept") ",'process':" #p ",'value':'" v "'}\n"
#define RELEASE_FAILS(ms, p)          OP(ms, p, "fail", "release") ",'cause':'not-holding'}\n"
#define UNKNOWN(ms, p, f)             OP(ms, p, "info", f) ",'cause':'timeout'}\n"
#define STOOD_STILL(ms, cause, length)                                                             \
    AT(ms)                                                                                         \
    "'kind':'late','f':'stood-still','cause':'" cause "','numbers':[" #length "000000,0]}"         \
    "\n"
#define STOOD_STILL_OF(ms, p, length)                                                              \
    AT(ms)                                                                                         \
    "'kind':'late','process':" #p ",'f':'stood-still','cause':'scheduler','numbers':[" #length     \
    "000000,0]}\n"
#define STARTED(ms, n, length)                                                                     \
    AT(ms)                                                                                         \
    "'kind':'late','node':" #n ",'f':'stood-still','cause':'start','numbers':[" #length            \
    "000000," #length "000000]}\n"
#define GRANT_BETWEEN(ms, p, v, least, end)                                                        \
    OP(ms, p, "ok", "acquire")                                                                     \
    ",'value':'" v "','until':" #end "000000,'until_least':" #least "000000}\n"
#define HEALED_AT(ms) AT(ms) "'kind':'phase','f':'healed'}\n"
#define RUN_ENDS(ms)  AT(ms) "'kind':'phase','f':'run-end','cause':'all-done'}\n"

/* All of a majority: nodes 1, 2 and 3. */
#define SET3(ms, p, v, end) SET(ms, 1, p, v, end) SET(ms, 2, p, v, end) SET(ms, 3, p, v, end)
#define DELETED3(ms, p, v)  DELETED(ms, 1, p, v) DELETED(ms, 2, p, v) DELETED(ms, 3, p, v)

#define assert_fails(result, the_blame, the_assumption)                                            \
    do {                                                                                           \
        cr_assert_eq((result).verdict, VERDICT_FAIL, "verdict %s",                                 \
                     verdict_name((enum verdict)(result).verdict));                                \
        cr_assert_eq((result).grade, GRADE_DEFINITE);                                              \
        cr_assert_eq((result).blame, the_blame, "blame %s",                                        \
                     blame_name((enum blame)(result).blame));                                      \
        cr_assert_eq((result).assumption, the_assumption, "assumption \"%s\"",                     \
                     assumption_sentence((enum assumption)(result).assumption));                   \
    } while (0)

#define assert_verdict(result, the_verdict)                                                        \
    cr_assert_eq((result).verdict, the_verdict, "verdict %s, reason %d",                           \
                 verdict_name((enum verdict)(result).verdict), (result).reason)

#define assert_evidence(result, first, second)                                                     \
    do {                                                                                           \
        cr_assert_eq((result).evidence_count, 2);                                                  \
        cr_assert_eq((result).evidence[0], (uint64_t)(first));                                     \
        cr_assert_eq((result).evidence[1], (uint64_t)(second));                                    \
    } while (0)

#endif

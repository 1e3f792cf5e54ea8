/* test_html.c: the page is one whole file, names the evidence, and stays within its bound. */
#include "checker/report/html.h"
#include "tests/checker/story.h"

static struct story story;
static char page_memory[HTML_BYTES_MAX];

static const char *page_of(const char *lines)
{
    story_read(&story, lines);
    static struct check_result results[32];
    const struct check_result *pointers[32];
    for (size_t i = 0; i < check_count(); i++) {
        results[i] = story_judge(&story, check_at(i)->name);
        pointers[i] = &results[i];
    }
    struct explain_history history = {
        .header = &story.header, .events = story.events, .count = story.count};
    struct html_page page = {
        .history = &history, .results = pointers, .result_count = check_count()};
    struct text text = text_over(page_memory, sizeof page_memory);
    html_print(&page, &text);
    cr_assert_not(text.cut);
    return page_memory;
}

static void shows(const char *page, const char *wanted)
{
    cr_assert_not_null(strstr(page, wanted), "the page lacks %s", wanted);
}

static size_t count_of(const char *page, const char *word)
{
    size_t count = 0;
    for (const char *at = strstr(page, word); at != NULL; at = strstr(at + 1, word)) {
        count++;
    }
    return count;
}

#define OVERLAP                                                                                    \
    ASK(1, 1)                                                                                      \
    SET3(5, 1, "a", 1005)                                                                          \
    GRANT(10, 1, "a", 1000)                                                                        \
    ENTER(11, 1)                                                                                   \
    FAULT_OF_NODE(100, 1, "clock_jump", "start", 3)                                                \
    ENDED_BY(101, 3, "expired", "a", "clock-jump", 1)                                              \
    ASK(200, 2)                                                                                    \
    SET(201, 3, 2, "b", 1201)                                                                      \
    SET(201, 4, 2, "b", 1201) SET(201, 5, 2, "b", 1201) GRANT(205, 2, "b", 1190)

Test(html, page_is_whole_and_needs_nothing_else)
{
    const char *page = page_of(HEADER OVERLAP);
    cr_assert_eq(strncmp(page, "<!DOCTYPE html>", 15), 0);
    cr_assert_str_eq(page + strlen(page) - 15, "</body></html>\n");
    cr_assert_null(strstr(page, "http"));
    cr_assert_null(strstr(page, "src="));
    cr_assert_eq(count_of(page, "<rect"), count_of(page, "</rect>"));
    cr_assert_eq(count_of(page, "<svg"), (size_t)1);
}

Test(html, page_shows_lanes_leases_keys_faults_and_evidence)
{
    const char *page = page_of(HEADER OVERLAP);
    shows(page, ">client 1</text>");
    shows(page, ">client 2</text>");
    shows(page, ">node 5</text>");
    shows(page, "<title>lease\n0.010000 s to");
    shows(page, "<title>section\n0.011000 s to");
    shows(page, "<title>key of client 1, then expired\n");
    shows(page, "<title>fault 1: clock_jump</title>");
    shows(page, "<title>evidence: event 4</title>");
    shows(page, "client 2 was granted r0 at 205 ms while client 1's lease");
}

Test(html, names_are_shown_and_not_obeyed)
{
    const char *page = page_of("{'format':'picklock-history','version':1,"
                               "'scenario':'<script>alert(1)</script>'}\n" ASK(1, 1));
    cr_assert_null(strstr(page, "<script>alert"));
    shows(page, "&lt;script&gt;alert(1)&lt;/script&gt;");
}

Test(html, empty_history_has_a_page)
{
    shows(page_of(HEADER), "0 events");
}

Test(html, what_is_left_out_is_said_and_the_page_keeps_its_bound)
{
    enum { EVENTS = 3 * HTML_EVENTS_MAX };
    static struct history_event events[EVENTS];
    static struct history_header header = {.node_count = 5, .client_count = 100};
    static struct check_result none;
    for (size_t i = 0; i < EVENTS; i++) {
        events[i] = (struct history_event){.index = i,
                                           .time_ns = (int64_t)i * 1000000,
                                           .kind = HISTORY_OP,
                                           .type = i % 2 == 0 ? HISTORY_INVOKE : HISTORY_OK,
                                           .f = HISTORY_ACQUIRE,
                                           .process = (int32_t)(i / 2 % 100)};
    }
    struct explain_history history = {.header = &header, .events = events, .count = EVENTS};
    const struct check_result *results[32];
    for (size_t i = 0; i < check_count(); i++) {
        results[i] = &none;
    }
    struct html_page page = {
        .history = &history, .results = results, .result_count = check_count()};
    struct text text = text_over(page_memory, sizeof page_memory);
    html_print(&page, &text);
    cr_assert_not(text.cut);
    shows(page_memory, "Events 0 to 5999 of 18000 are drawn.");
    shows(page_memory, "More than 24 clients asked");
}

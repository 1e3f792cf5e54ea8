/* test_page.c: the page is one whole file that needs nothing else, and says what was found. */
#include "base/arena.h"
#include "checker/report/page.h"
#include "checker/report/page_files.h"
#include "checker/report/sha256.h"
#include "tests/checker/story.h"

static struct story story;
static struct sheet sheet = {.bytes_max = REPORT_BYTES_MAX};
static struct page_expectation expected[32];

static const char *page_of_story(bool expecting)
{
    static struct check_result results[32];
    static struct stories stories;
    const struct check_result *pointers[32];
    for (size_t i = 0; i < check_count(); i++) {
        results[i] = story_judge(&story, check_at(i)->name);
        pointers[i] = &results[i];
        expected[i] =
            (struct page_expectation){.verdict = i == 0 ? "pass" : "", .blame = "", .met = i != 0};
    }
    struct explain_history history = {
        .header = &story.header, .events = story.events, .count = story.count};
    stories_tell(&history, pointers, &stories);
    struct page page = {.history = &history,
                        .results = pointers,
                        .result_count = check_count(),
                        .stories = &stories,
                        .expected = expecting ? expected : NULL,
                        .rerun = expecting ? "picklock run 'a<b>.yaml' --seed 1" : NULL};
    sheet_release(&sheet);
    page_print(&page, &sheet);
    sheet_add_bytes(&sheet, "", 1);
    cr_assert_not(sheet.cut);
    return sheet.data;
}

static const char *page_of(const char *lines)
{
    story_read(&story, lines);
    return page_of_story(false);
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

Test(page, is_whole_and_needs_nothing_else)
{
    const char *page = page_of(HEADER OVERLAP);
    cr_assert_eq(strncmp(page, "<!DOCTYPE html>", 15), 0);
    cr_assert_str_eq(page + strlen(page) - 15, "</body></html>\n");
    cr_assert_null(strstr(page, "http:"));
    cr_assert_null(strstr(page, "https:"));
    cr_assert_null(strstr(page, "src="));
    cr_assert_null(strstr(page, "@import"));
    cr_assert_eq(count_of(page, "<details"), count_of(page, "</details>"));
    cr_assert_eq(count_of(page, "<script"), count_of(page, "</script>"));
}

Test(page, may_run_no_script_but_its_own)
{
    uint8_t digest[SHA256_BYTES];
    struct sheet hash = sheet_empty(REPORT_BYTES_MAX);
    const char *page = page_of(HEADER OVERLAP);
    const char *script = strstr(page, "<script>");
    cr_assert_not_null(script);
    const char *end = strstr(script, "</script>");
    cr_assert_not_null(end);
    script += strlen("<script>");
    sha256(script, (size_t)(end - script), digest);
    sheet_add_text(&hash, "script-src 'sha256-");
    encode_base64(&hash, digest, sizeof digest);
    sheet_add_bytes(&hash, "'", 2);
    shows(page, hash.data);
    shows(page, "default-src 'none'");
    sheet_release(&hash);
}

Test(page, says_the_finding_first_with_blame_and_what_to_do)
{
    const char *page = page_of(HEADER OVERLAP);
    shows(page, "<h1>Two clients were promised r0 at the same time: ");
    shows(page, "No bug of the library: an assumption broke");
    shows(page, "<b>What to do:</b> Let the nodes slew their clocks");
    shows(page, "<dt>exclusion</dt><dd>client 2 was granted r0 at 205\xe2\x80\xafms while");
    cr_assert_lt(strstr(page, "<h1>"), strstr(page, "id=\"ln\""));
}

Test(page, says_what_was_expected_and_the_command_that_runs_it_again)
{
    story_read(&story, HEADER OVERLAP);
    const char *page = page_of_story(true);
    shows(page, ">not expected</span>");
    shows(page, "<th scope=\"row\">exclusion</th><td>pass</td>");
    shows(page, "&#10007; differs");
    shows(page, "must not fail");
    shows(page, "<code id=\"cmd\">picklock run &#39;a&lt;b&gt;.yaml&#39; --seed 1</code>");
}

Test(page, names_are_shown_and_not_obeyed)
{
    const char *page =
        page_of("{'format':'picklock-history','version':1,'scenario':'<script>alert(1)</script>',"
                "'algorithm':'\\u202eevil\\u001b[2J'}\n" ASK(1, 1));
    cr_assert_null(strstr(page, "<script>alert"));
    shows(page, "&lt;script&gt;alert(1)&lt;/script&gt;");
    shows(page, "\\u202eevil\\x1b[2J");
    cr_assert_null(strchr(page, '\x1b'));
}

Test(page, embedded_names_cannot_end_the_data)
{
    struct sheet json = sheet_empty(REPORT_BYTES_MAX);
    encode_json(&json, "</script>\"\\\n\xff\xf0\x9f\x98\x80");
    sheet_add_bytes(&json, "", 1);
    cr_assert_str_eq(json.data,
                     "\"\\u003c/script\\u003e\\u0022\\u005c\\u000a\\ufffd\\ud83d\\ude00\"");
    sheet_release(&json);
}

Test(page, an_empty_history_has_a_page)
{
    const char *page = page_of(HEADER);
    shows(page, "0 events");
    shows(page, "not all could be decided");
}

Test(page, numbers_are_as_short_as_they_can_be)
{
    static const unsigned char wanted[] = {0x00, 0x7f, 0x80, 0x01, 0x01, 0x00, 0x02, 0xff, 0x01};
    struct sheet bytes = sheet_empty(REPORT_BYTES_MAX);
    encode_varint(&bytes, 0);
    encode_varint(&bytes, 127);
    encode_varint(&bytes, 128);
    encode_zigzag(&bytes, -1);
    encode_zigzag(&bytes, 0);
    encode_zigzag(&bytes, 1);
    encode_zigzag(&bytes, -128);
    cr_assert_eq(bytes.length, sizeof wanted);
    cr_assert_eq(memcmp(bytes.data, wanted, sizeof wanted), 0);
    sheet_release(&bytes);
}

/* FIPS 180-4: the two examples, and lengths around a block's end against a known answer. */
Test(page, hashes_as_the_standard_says)
{
    static const uint8_t abc[4] = {0xba, 0x78, 0x16, 0xbf};
    static const uint8_t two_blocks[4] = {0x24, 0x8d, 0x6a, 0x61};
    static const uint8_t none[4] = {0xe3, 0xb0, 0xc4, 0x42};
    const char *long_words = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    uint8_t digest[SHA256_BYTES];
    sha256("abc", 3, digest);
    cr_assert_eq(memcmp(digest, abc, sizeof abc), 0);
    sha256(long_words, strlen(long_words), digest);
    cr_assert_eq(memcmp(digest, two_blocks, sizeof two_blocks), 0);
    sha256("", 0, digest);
    cr_assert_eq(memcmp(digest, none, sizeof none), 0);
}

Test(page, pairs_are_thirteen_bits_and_harmless)
{
    struct sheet text = sheet_empty(REPORT_BYTES_MAX);
    unsigned char all[256];
    for (size_t i = 0; i < sizeof all; i++) {
        all[i] = (unsigned char)i;
    }
    encode_pairs(&text, "\xff\xff", 2);
    sheet_add_bytes(&text, "", 1);
    cr_assert_str_eq(text.data, "~#!*"); /* 8191 = 90 * 91 + 1, and 7 of the bits that are left */
    sheet_release(&text);
    encode_pairs(&text, all, sizeof all);
    cr_assert_eq(text.length, 2 * ((8 * sizeof all + 12) / 13));
    for (size_t i = 0; i < text.length; i++) {
        cr_assert_null(strchr("<&\" ", text.data[i]));
    }
    sheet_release(&text);
}

Test(page, base64_pads_its_end)
{
    struct sheet text = sheet_empty(REPORT_BYTES_MAX);
    encode_base64(&text, "f", 1);
    encode_base64(&text, "fo", 2);
    encode_base64(&text, "foo", 3);
    sheet_add_bytes(&text, "", 1);
    cr_assert_str_eq(text.data, "Zg==Zm8=Zm9v");
    sheet_release(&text);
}

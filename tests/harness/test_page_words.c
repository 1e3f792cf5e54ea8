/* test_page_words.c: the words of a page are those of the tables that number them, in their order.
 */
#include <criterion/criterion.h>

#include "harness/scenario.h"
#include "servers/server.h"

#include <stdio.h>
#include <string.h>

enum { SCRIPT_BYTES = 64 * 1024 };

static char script[SCRIPT_BYTES];

static void script_read(void)
{
    FILE *file = fopen("checker/report/script/words.js", "re");
    cr_assert_not_null(file);
    size_t bytes = fread(script, 1, sizeof script - 1, file);
    cr_assert(bytes > 0 && bytes < sizeof script - 1);
    script[bytes] = '\0';
    (void)fclose(file);
}

#define WORD(number, word) ", '" word "'"

Test(page_words, refusals_and_modes_stand_in_their_order)
{
    script_read();
    static const char refusals[] = NODE_ERROR_MAP(WORD);
    static const char modes[] = PARTITION_MODE_MAP(WORD);
    char wanted[256];
    snprintf(wanted, sizeof wanted, "REFUSALS = [%s]", refusals + 2);
    cr_assert_not_null(strstr(script, wanted), "%s", wanted);
    snprintf(wanted, sizeof wanted, "MODES = [%s]", modes + 2);
    cr_assert_not_null(strstr(script, wanted), "%s", wanted);
}

Test(page_words, every_fault_has_one)
{
    script_read();
    const char *words = strstr(script, "FAULT_WORDS = {");
    cr_assert_not_null(words);
    *strchr(words, '}') = '\0';
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "%s: '", fault_kind_name((enum fault_kind)kind));
        cr_assert(kind == FAULT_NONE || strstr(words, wanted) != NULL, "%s", wanted);
    }
}

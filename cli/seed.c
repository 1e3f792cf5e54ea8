/* seed.c: seeds on the command line. */
#include "cli/seed.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool number_parse(const char *word, uint64_t *number)
{
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)word[0])) {
        return false;
    }
    *number = strtoull(word, &end, 10);
    return *end == '\0' && errno == 0;
}

bool seed_parse(const char *word, uint64_t *seed)
{
    if (number_parse(word, seed)) {
        return true;
    }
    size_t digits = strspn(word, "0123456789abcdefABCDEF");
    bool too_large = strspn(word, "0123456789") == digits && digits < 40;
    if (word[digits] != '\0' || digits < 7 || digits > 40 || too_large) {
        return false;
    }
    char head[17];
    (void)snprintf(head, sizeof head, "%.16s", word);
    *seed = strtoull(head, NULL, 16);
    return true;
}

bool seed_range_parse(const char *word, uint64_t *first, uint64_t *last)
{
    char head[32];
    const char *dots = strstr(word, "..");
    if (dots == NULL || (size_t)(dots - word) >= sizeof head) {
        return false;
    }
    (void)snprintf(head, sizeof head, "%.*s", (int)(dots - word), word);
    return number_parse(head, first) && number_parse(dots + 2, last) && *first <= *last;
}

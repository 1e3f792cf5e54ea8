/* scenario_value.c: one value of a scenario file, as its key in the table wants it. */
#include "harness/scenario_reader.h"

#include "base/assert.h"
#include "base/duration.h"

#include <inttypes.h>
#include <string.h>

static const char *kind_name(enum document_kind kind)
{
    switch (kind) {
    case DOCUMENT_WORD:
        return "a single value";
    case DOCUMENT_LIST:
        return "a list";
    case DOCUMENT_MAP:
        return "a map of keys";
    }
    UNREACHABLE();
}

bool part_is(struct problems *problems, const struct document *part, enum document_kind kind,
             const char *name)
{
    if (part->refused) {
        return false;
    }
    if (part->kind == (uint8_t)kind) {
        return true;
    }
    const char *found = part->kind == DOCUMENT_WORD && part->word[0] == '\0'
                            ? "nothing"
                            : kind_name((enum document_kind)part->kind);
    problem_say(problems, part->place, "%s must be %s; here is %s", name, kind_name(kind), found);
    return false;
}

/* FAULT_NONE has a name for histories, none for files. */
static bool word_is_hidden(const struct key_word *words, const struct key_word *word)
{
    return words == fault_kind_words && word->value == FAULT_NONE;
}

/* What users of other tools call it, if `words` has what they mean. */
static const char *familiar_hint(const char *word, const struct key_word *words)
{
    for (const struct familiar_word *familiar = familiar_words; familiar->word != NULL;
         familiar++) {
        size_t length = strcspn(familiar->hint, " :");
        if (strcmp(familiar->word, word) != 0) {
            continue;
        }
        for (const struct key_word *meant = words; meant->name != NULL; meant++) {
            if (strlen(meant->name) == length &&
                strncmp(meant->name, familiar->hint, length) == 0) {
                return familiar->hint;
            }
        }
    }
    return NULL;
}

void word_refuse(struct problems *problems, struct place place, const char *noun, const char *word,
                 const struct key_word *words)
{
    struct guess guess = guess_for(word);
    struct text *text = problem_add(problems, place);
    text_add(text, "unknown %s \"%.40s\"", noun, word);
    for (const struct key_word *candidate = words; candidate->name != NULL; candidate++) {
        if (!word_is_hidden(words, candidate)) {
            guess_offer(&guess, candidate->name);
        }
    }
    const char *hint = familiar_hint(word, words);
    guess.best = hint == NULL ? guess.best : hint;
    guess_print(&guess, text);
    if (guess.best != NULL) {
        return;
    }
    const char *separator = "; expected ";
    for (const struct key_word *candidate = words; candidate->name != NULL; candidate++) {
        if (!word_is_hidden(words, candidate)) {
            text_add(text, "%s%s", separator, candidate->name);
            separator = ", ";
        }
    }
}

bool scenario_is_name(const char *word, size_t bytes)
{
    size_t good = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
    return bytes > 0 && bytes < SCENARIO_NAME_BYTES && good >= bytes;
}

bool value_parse_text(struct problems *problems, const struct scenario_key *key,
                      const struct document *part, char *memory)
{
    if (!part_is(problems, part, DOCUMENT_WORD, key->path)) {
        return false;
    }
    size_t length = strlen(part->word);
    if (length > (size_t)key->max) {
        problem_say(problems, part->place, "%s is longer than %" PRId64 " bytes", key->path,
                    key->max);
        return false;
    }
    if (key->type == KEY_NAME && !scenario_is_name(part->word, length)) {
        problem_say(problems, part->word_place, "%s must be " SCENARIO_NAME_IS, key->path);
        return false;
    }
    memcpy(memory, part->word, length + 1);
    return true;
}

/* Digits of a number that is at most INT64_MAX / 10; false if there is none or it is larger. */
static bool digits_parse(const char **at, int64_t *number)
{
    const char *start = *at;
    *number = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        if (*number > INT64_MAX / 100) {
            return false;
        }
        *number = *number * 10 + (**at - '0');
    }
    return *at > start;
}

/* "1.25" -> 1250000; `rest` is what stands behind the number. */
static bool millionths_parse(const char *word, int64_t *millionths, const char **rest)
{
    const char *at = word;
    int64_t whole = 0;
    if (!digits_parse(&at, &whole) || whole > INT64_MAX / 10000000) {
        return false;
    }
    int64_t fraction = 0;
    if (*at == '.') {
        at++;
        const char *start = at;
        int64_t weight = 100000;
        for (; *at >= '0' && *at <= '9'; at++, weight /= 10) {
            fraction += weight * (*at - '0');
        }
        if (at == start || at - start > 6) {
            return false;
        }
    }
    *millionths = whole * 1000000 + fraction;
    *rest = at;
    return true;
}

static bool count_parse(struct problems *problems, const struct scenario_key *key,
                        const struct document *part, int64_t *value)
{
    const char *at = part->word + (part->word[0] == '-' ? 1 : 0);
    bool digits = digits_parse(&at, value);
    if (!digits && at > part->word && *at >= '0' && *at <= '9') {
        *value = INT64_MAX; /* far beyond every range */
        at += strspn(at, "0123456789");
        digits = true;
    }
    if (!digits || *at != '\0') {
        problem_say(problems, part->place, "%s must be a whole number; here is \"%.40s\"",
                    key->path, part->word);
        return false;
    }
    *value = part->word[0] == '-' ? -*value : *value;
    return true;
}

static bool duration_value_parse(struct problems *problems, const struct scenario_key *key,
                                 const struct document *part, int64_t *value)
{
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct result result = duration_parse(part->word, value, &why);
    if (!result_failed(result)) {
        return true;
    }
    problem_say(problems, part->place, "%s: %s", key->path, why.data);
    return false;
}

static bool ratio_parse(struct problems *problems, const struct scenario_key *key,
                        const struct document *part, int64_t *value)
{
    const char *rest = "";
    bool percent = key->type == KEY_PERCENT;
    bool good = millionths_parse(part->word, value, &rest);
    if (good && percent && strcmp(rest, "%") == 0) {
        *value /= 100;
        return true;
    }
    if (good && !percent && *rest == '\0') {
        return true;
    }
    problem_say(problems, part->place, "%s: \"%.40s\" is not %s", key->path, part->word,
                percent ? "a percentage such as 1% or 0.5%"
                        : "a factor such as 1.01 or 0.5, with at most six digits behind the point");
    return false;
}

static bool flag_parse(struct problems *problems, const struct scenario_key *key,
                       const struct document *part, int64_t *value)
{
    static const struct key_word truths[] = {{"true", 1}, {"false", 0}, {NULL, 0}};
    const struct key_word *truth = key_word_find(truths, part->word);
    if (truth == NULL) {
        problem_say(problems, part->place, "%s must be true or false; here is \"%.40s\"", key->path,
                    part->word);
        return false;
    }
    *value = truth->value;
    return true;
}

static bool range_check(struct problems *problems, const struct scenario_key *key,
                        const struct document *part, int64_t value)
{
    if (value >= key->min && value <= key->max) {
        return true;
    }
    struct text *text = problem_add(problems, part->place);
    text_add(text, "%s must be ", key->path);
    key_range_print(key, text);
    text_add(text, "; here is %.40s", part->word);
    return false;
}

static bool words_parse(struct problems *problems, const struct scenario_key *key,
                        const struct document *part, int64_t *value)
{
    if (!part_is(problems, part, DOCUMENT_LIST, key->path)) {
        return false;
    }
    const char *noun = key->words == fault_kind_words ? "fault" : "need";
    bool good = true;
    *value = 0;
    for (const struct document *child = part->child; child != NULL; child = child->next) {
        if (!part_is(problems, child, DOCUMENT_WORD,
                     key->words == fault_kind_words ? "a kind of fault" : "a need")) {
            good = false;
            continue;
        }
        const struct key_word *word = key_word_find(key->words, child->word);
        if (word == NULL || (key->words == fault_kind_words && word->value == FAULT_NONE)) {
            word_refuse(problems, child->place, noun, child->word, key->words);
            good = false;
            continue;
        }
        *value |= (int64_t)1 << word->value;
    }
    if (good && *value == 0) {
        problem_say(problems, part->place, "%s is empty", key->path);
        good = false;
    }
    return good;
}

static bool word_parse(struct problems *problems, const struct scenario_key *key,
                       const struct document *part, int64_t *value)
{
    const struct key_word *word = key_word_find(key->words, part->word);
    bool nothing = word != NULL && key->words == fault_kind_words && word->value == FAULT_NONE;
    if (word == NULL || nothing) {
        const char *noun = key->words == fault_kind_words ? "fault" : key_last_part(key);
        word_refuse(problems, part->place, noun, part->word, key->words);
        return false;
    }
    *value = word->value;
    return true;
}

static bool number_parse(struct problems *problems, const struct scenario_key *key,
                         const struct document *part, int64_t *value)
{
    switch ((enum key_type)key->type) {
    case KEY_VERSION:
    case KEY_COUNT:
        return count_parse(problems, key, part, value) && range_check(problems, key, part, *value);
    case KEY_DURATION:
        return duration_value_parse(problems, key, part, value) &&
               range_check(problems, key, part, *value);
    case KEY_PERCENT:
    case KEY_FACTOR:
        return ratio_parse(problems, key, part, value) && range_check(problems, key, part, *value);
    case KEY_FLAG:
        return flag_parse(problems, key, part, value);
    case KEY_WORD:
        return word_parse(problems, key, part, value);
    case KEY_MAP:
    case KEY_NAME:
    case KEY_TEXT:
    case KEY_WORDS:
    case KEY_ALGORITHM:
    case KEY_FAULTS:
    case KEY_EXPECT:
    case KEY_TRIGGER:
    case KEY_TARGET:
        break;
    }
    UNREACHABLE();
}

bool value_parse(struct problems *problems, const struct scenario_key *key,
                 const struct document *part, void *base)
{
    int64_t value = 0;
    bool good = key->type == KEY_WORDS ? words_parse(problems, key, part, &value)
                                       : part_is(problems, part, DOCUMENT_WORD, key->path) &&
                                             number_parse(problems, key, part, &value);
    if (good && key->bytes > 0) {
        key_set(key, base, value);
    }
    return good;
}

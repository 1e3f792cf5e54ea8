/* guess.c: which preset reads a foreign history, told by its first lines. */
#include "history/guess.h"

#include "base/arena.h"
#include "base/assert.h"
#include "history/edn.h"
#include "history/jsonl.h"

#include <string.h>
#include <sys/stat.h>

enum { GUESS_BYTES = 64 * 1024, GUESS_OPERATIONS = 256, GUESS_VALUE_BYTES = 48 };

/* What the first operations on locks have. */
struct guess {
    struct datum_parse parse;
    struct datum data[DATUM_COUNT_MAX];
    char values[GUESS_OPERATIONS][GUESS_VALUE_BYTES]; /* of acquires */
    uint32_t value_count;
    uint32_t operations;
    uint32_t pairs;    /* of them with a value of two */
    uint32_t releases; /* of a value that an acquire had */
    bool usual;        /* an owner, a fence: the usual names say all there is */
    bool keyed;        /* ... or the lock's name */
    bool strange;      /* a word for f that etcd's and Hazelcast's tests do not have */
    bool unpaired;     /* a value that names no acquire of its own */
    bool etcd;
    bool hazelcast;
    bool atlasdb;
};

static bool is_word(const struct datum *data, int32_t at, const char *word)
{
    return at >= 0 && data[at].first < 0 && data[at].text != NULL &&
           data[at].bytes == strlen(word) && memcmp(data[at].text, word, data[at].bytes) == 0;
}

static int32_t entry(const struct datum *data, int32_t map, const char *key)
{
    int32_t at = datum_find(data, map, key, strlen(key));
    return at >= 0 && data[at].type == DATUM_NIL ? -1 : at;
}

/* A value that could name an acquire: seen before, or not. */
static bool value_known(const struct guess *guess, const char *text)
{
    for (uint32_t i = 0; i < guess->value_count; i++) {
        if (strcmp(guess->values[i], text) == 0) {
            return true;
        }
    }
    return false;
}

/* An operation was invoked: does its value name the acquire that it is, or gives back? */
static void guess_value(struct guess *guess, int32_t value, bool acquires)
{
    char text[GUESS_VALUE_BYTES];
    const struct datum *data = guess->data;
    bool scalar = value >= 0 && data[value].text != NULL && data[value].first < 0;
    if (!scalar || data[value].bytes >= sizeof text) {
        guess->unpaired = true;
        return;
    }
    (void)datum_text(&data[value], text, sizeof text);
    bool known = value_known(guess, text);
    guess->unpaired = guess->unpaired || known == acquires;
    guess->releases += !acquires && known ? 1 : 0;
    if (acquires && guess->value_count < GUESS_OPERATIONS) {
        memcpy(guess->values[guess->value_count++], text, sizeof text);
    }
}

static void guess_end(struct guess *guess, int32_t value, int32_t type, bool acquires)
{
    static const char token[] = "LockRefreshToken";
    const struct datum *data = guess->data;
    int32_t error = entry(data, 0, "error");
    error = error >= 0 && data[error].type == DATUM_LIST ? data[error].first : error;
    bool failed = is_word(data, type, "fail");
    bool says = is_word(data, error, acquires ? "already-held" : "not-held");
    guess->etcd = guess->etcd || (failed && says);
    if (!acquires || !is_word(data, type, "ok") || value < 0) {
        return;
    }
    bool fenced = entry(data, value, "fence") >= 0 || entry(data, value, "uid") >= 0;
    guess->hazelcast = guess->hazelcast || (fenced && entry(data, value, "client") >= 0);
    guess->atlasdb = guess->atlasdb ||
                     (is_word(data, entry(data, 0, "f"), "lock") &&
                      data[value].type == DATUM_STRING && data[value].bytes >= sizeof token - 1 &&
                      memcmp(data[value].text, token, sizeof token - 1) == 0);
}

static void guess_operation(struct guess *guess)
{
    const struct datum *data = guess->data;
    int32_t f = entry(data, 0, "f"), type = entry(data, 0, "type"), value = entry(data, 0, "value");
    bool acquires = is_word(data, f, "acquire") || is_word(data, f, "lock");
    bool releases = is_word(data, f, "release") || is_word(data, f, "unlock");
    int32_t process = entry(data, 0, "process");
    if (process < 0 || data[process].type != DATUM_INTEGER) {
        return; /* a nemesis */
    }
    guess->strange =
        guess->strange || !(is_word(data, f, "acquire") || is_word(data, f, "release"));
    guess->usual = guess->usual || entry(data, 0, "owner") >= 0 || entry(data, 0, "kind") >= 0 ||
                   entry(data, 0, "fence") >= 0 || entry(data, 0, "until") >= 0;
    guess->keyed = guess->keyed || entry(data, 0, "resource") >= 0 || entry(data, 0, "key") >= 0 ||
                   entry(data, 0, "lock") >= 0 || entry(data, 0, "name") >= 0;
    if (!acquires && !releases) {
        return;
    }
    guess->operations++;
    int32_t first = value >= 0 && data[value].type == DATUM_LIST ? data[value].first : -1;
    bool two = first >= 0 && data[first].text != NULL && data[first].type != DATUM_NIL &&
               data[first].next >= 0 && data[data[first].next].next < 0;
    guess->pairs += two ? 1 : 0;
    if (is_word(data, type, "invoke")) {
        guess_value(guess, value, acquires);
    } else {
        guess_end(guess, value, type, acquires);
    }
}

/* Read maps as long as they are whole. */
static void guess_read(struct guess *guess, const char *at, const char *end)
{
    enum datum_notation notation = guess->parse.notation;
    guess->parse.data = guess->data;
    at = datum_skip(notation, at, end);
    at += at < end && (*at == '[' || *at == '(') ? 1 : 0;
    while (at < end && guess->operations < GUESS_OPERATIONS) {
        at = datum_skip(notation, at, end);
        at += at < end && *at == ',' ? 1 : 0;
        if (datum_read(&guess->parse, at, end) != DATUM_READ || guess->data[0].type != DATUM_MAP) {
            return;
        }
        guess_operation(guess);
        at = guess->parse.at;
    }
}

/* The preset that the operations speak of, or NULL. */
static const char *guess_preset(const struct guess *guess)
{
    bool plain = guess->usual || guess->keyed;
    bool valued = guess->value_count > 1 && guess->releases > 0 && !guess->unpaired;
    return guess->hazelcast && !guess->strange                               ? "hazelcast"
           : guess->atlasdb && !plain                                        ? "atlasdb"
           : guess->etcd && !guess->strange && !plain && !valued             ? "etcd"
           : guess->pairs > 1 && guess->pairs == guess->operations && !plain ? "independent"
           : valued && !guess->usual                                         ? "valued"
                                                                             : NULL;
}

/* The first bytes of a file that is not picklock's own; false: nothing to guess by. */
static bool guess_input(struct guess *guess, struct history_input *input)
{
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    bool more = true;
    while (more && input->end - input->begin < GUESS_BYTES) {
        if (result_failed(history_input_fill(input, &more, &why))) {
            return false;
        }
    }
    const char *text = input->data + input->begin;
    size_t bytes = input->end - input->begin;
    if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3; /* a byte order mark */
        bytes -= 3;
    }
    size_t mark = strlen(HISTORY_EDN_MARK);
    if (bytes == 0 || history_jsonl.detect(text, bytes) ||
        (bytes >= mark && memcmp(text, HISTORY_EDN_MARK, mark) == 0)) {
        return false;
    }
    bool edn = history_edn.detect(text, bytes);
    guess->parse.notation = edn ? DATUM_EDN : DATUM_JSON;
    if (edn || history_json.detect(text, bytes)) {
        guess_read(guess, text, text + bytes);
    }
    return true;
}

bool history_map_guess(const char *path, struct history_map *map)
{
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct stat status;
    struct history_input input = {0};
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) {
        return false;
    }
    struct guess *guess = memory_resize(NULL, sizeof *guess);
    if (guess == NULL) {
        return false;
    }
    memset(guess, 0, sizeof *guess);
    const char *preset = NULL;
    if (!result_failed(history_input_open(&input, path, &why))) {
        input.bytes_max = (size_t)4 * GUESS_BYTES;
        preset = guess_input(guess, &input) ? guess_preset(guess) : NULL;
    }
    history_input_close(&input);
    memory_release(guess);
    if (preset == NULL) {
        return false;
    }
    struct result parsed = history_map_parse(preset, map, &why);
    ASSERT(!result_failed(parsed));
    return true;
}

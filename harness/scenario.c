/* scenario.c: reads a scenario file: walks its tree along the table of keys. */
#include "harness/scenario.h"

#include "base/assert.h"
#include "base/duration.h"
#include "harness/scenario_reader.h"
#include "lockcore/algorithms.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    KEYS_MAX = 64,
    OPEN_MAPS_MAX = 16, /* maps that wait to be walked; each stands once in the table */
};

struct scenario_walk {
    struct problems problems;
    const struct scenario_checks *checks;
    struct scenario *scenario;
    const struct document *places[KEYS_MAX]; /* of scenario_keys[i]; NULL if it is left out */
    const struct document *open[OPEN_MAPS_MAX];
    const char *open_path[OPEN_MAPS_MAX];
    size_t open_count;
};

static const struct document *walk_place(const struct scenario_walk *walk, const char *path)
{
    for (size_t i = 0; i < scenario_key_count; i++) {
        if (strcmp(scenario_keys[i].path, path) == 0) {
            return walk->places[i];
        }
    }
    UNREACHABLE();
}

static void walk_refuse_key(struct scenario_walk *walk, const struct document *part,
                            const char *parent)
{
    struct guess guess = guess_for(part->key);
    const struct scenario_key *elsewhere = NULL;
    for (size_t i = 0; i < scenario_key_count; i++) {
        const char *last = key_last_part(&scenario_keys[i]);
        if (key_is_child(&scenario_keys[i], parent)) {
            guess_offer(&guess, last);
        } else if (strcmp(last, part->key) == 0 && elsewhere == NULL) {
            elsewhere = &scenario_keys[i];
        }
    }
    struct text *text = problem_add(&walk->problems, part->key_place);
    text_add(text, "unknown key \"%.40s\"%s%s", part->key, parent[0] == '\0' ? "" : " in ", parent);
    if (elsewhere != NULL) {
        text_add(text, "; did you mean \"%s\"?", elsewhere->path);
    } else {
        guess_print(&guess, text);
    }
}

static void walk_open(struct scenario_walk *walk, const struct document *part, const char *path)
{
    ASSERT(walk->open_count < OPEN_MAPS_MAX);
    walk->open[walk->open_count] = part;
    walk->open_path[walk->open_count] = path;
    walk->open_count++;
}

static void walk_algorithm(struct scenario_walk *walk, const struct document *part)
{
    struct scenario *scenario = walk->scenario;
    if (!part_is(&walk->problems, part, DOCUMENT_WORD, "lock.algorithm")) {
        return;
    }
    if (strlen(part->word) < sizeof scenario->algorithm &&
        lock_algorithm_find(part->word, &scenario->lock.algorithm)) {
        memcpy(scenario->algorithm, part->word, strlen(part->word) + 1);
        return;
    }
    struct guess guess = guess_for(part->word);
    struct text *text = problem_add(&walk->problems, part->place);
    text_add(text, "unknown algorithm \"%.40s\"", part->word);
    for (size_t i = 0; i < lock_algorithm_count(); i++) {
        guess_offer(&guess, lock_algorithm_at((lock_algorithm_index)i)->name);
    }
    guess_print(&guess, text);
    if (guess.best == NULL) {
        text_add(text, "; `picklock list` shows all of them");
    }
}

static void walk_faults_or_random(struct scenario_walk *walk, const struct document *part)
{
    if (part->kind == DOCUMENT_MAP && !part->refused) {
        walk_open(walk, part, "faults");
        return;
    }
    if (part->kind == DOCUMENT_WORD && part->word[0] != '\0') {
        problem_say(&walk->problems, part->place, "faults must be a list, or {random: ...}");
        return;
    }
    /* The list itself is read at the end, when the numbers of clients and nodes are known. */
    (void)part_is(&walk->problems, part, DOCUMENT_LIST, "faults");
}

static char *walk_text_field(struct scenario *scenario, const char *path)
{
    if (strcmp(path, "name") == 0) {
        return scenario->name;
    }
    if (strcmp(path, "about") == 0) {
        return scenario->about;
    }
    ASSERT(strcmp(path, "source") == 0);
    return scenario->source;
}

static void walk_value(struct scenario_walk *walk, const struct scenario_key *key,
                       const struct document *part)
{
    switch ((enum key_type)key->type) {
    case KEY_MAP:
        if (part_is(&walk->problems, part, DOCUMENT_MAP, key->path)) {
            walk_open(walk, part, key->path);
        }
        return;
    case KEY_NAME:
    case KEY_TEXT:
        (void)value_parse_text(&walk->problems, key, part,
                               walk_text_field(walk->scenario, key->path));
        return;
    case KEY_ALGORITHM:
        walk_algorithm(walk, part);
        return;
    case KEY_FAULTS:
        walk_faults_or_random(walk, part);
        return;
    case KEY_EXPECT:
        (void)part_is(&walk->problems, part, DOCUMENT_MAP, key->path);
        return;
    case KEY_VERSION:
    case KEY_COUNT:
    case KEY_DURATION:
    case KEY_PERCENT:
    case KEY_FACTOR:
    case KEY_FLAG:
    case KEY_WORD:
    case KEY_WORDS:
        (void)value_parse(&walk->problems, key, part, walk->scenario);
        return;
    case KEY_TRIGGER:
    case KEY_TARGET:
        break;
    }
    UNREACHABLE();
}

static void walk_map(struct scenario_walk *walk, const struct document *map, const char *parent)
{
    for (const struct document *part = map->child; part != NULL; part = part->next) {
        size_t i = 0;
        while (i < scenario_key_count &&
               !(key_is_child(&scenario_keys[i], parent) &&
                 strcmp(key_last_part(&scenario_keys[i]), part->key) == 0)) {
            i++;
        }
        if (i == scenario_key_count) {
            walk_refuse_key(walk, part, parent);
        } else if (walk->places[i] == NULL) {
            walk->places[i] = part;
            walk_value(walk, &scenario_keys[i], part);
        } /* else it stands here twice, which was told */
    }
}

/* The map that a key would stand in; NULL if it is left out. */
static const struct document *walk_parent(const struct scenario_walk *walk,
                                          const struct document *root,
                                          const struct scenario_key *key)
{
    for (size_t i = 0; i < scenario_key_count; i++) {
        if (key_is_child(key, scenario_keys[i].path)) {
            const struct document *part = walk->places[i];
            return part != NULL && part->kind == DOCUMENT_MAP ? part : NULL;
        }
    }
    return root;
}

static void walk_missing(struct scenario_walk *walk, const struct document *root)
{
    for (size_t i = 0; i < scenario_key_count; i++) {
        const struct scenario_key *key = &scenario_keys[i];
        const struct document *parent = walk_parent(walk, root, key);
        if (key->missing == NULL && walk->places[i] == NULL && parent != NULL && !parent->refused) {
            problem_say(&walk->problems, parent->place, "\"%s\" is missing: %s", key->path,
                        key->doc);
        }
    }
}

static void walk_fallbacks(struct scenario_walk *walk)
{
    struct scenario *scenario = walk->scenario;
    if (scenario->algorithm[0] != '\0' && walk_place(walk, "nodes.count") == NULL) {
        const struct lock_algorithm *algorithm = lock_algorithm_at(scenario->lock.algorithm);
        int32_t replicas = (int32_t)scenario->lock.replica_count;
        if (replicas > 0 || scenario->node_count > algorithm->nodes_max) {
            scenario->node_count = replicas > 0 ? replicas + 1 : algorithm->nodes_max;
        }
    }
    if (scenario->algorithm[0] != '\0' && walk_place(walk, "nodes.kind") == NULL) {
        const struct lock_algorithm *algorithm = lock_algorithm_at(scenario->lock.algorithm);
        scenario->node_kind = (uint8_t)server_kind_of(algorithm->dialect);
    }
    scenario->lock.node_count = (uint8_t)scenario->node_count;
    scenario->random.present = walk_place(walk, "faults.random") != NULL;
    if (!scenario->random.present) {
        memset(&scenario->random, 0, sizeof scenario->random);
    } else if (walk_place(walk, "faults.random.to") == NULL) {
        scenario->random.to_ns = scenario->duration_ns;
    }
}

static void walk_faults(struct scenario_walk *walk)
{
    struct scenario *scenario = walk->scenario;
    const struct document *list = walk_place(walk, "faults");
    if (list == NULL || list->kind != DOCUMENT_LIST) {
        return;
    }
    for (const struct document *part = list->child; part != NULL; part = part->next) {
        if (scenario->fault_count == SCENARIO_FAULTS_MAX) {
            problem_say(&walk->problems, part->place, "more than %d faults", SCENARIO_FAULTS_MAX);
            return;
        }
        fault_parse(&walk->problems, part, scenario, &scenario->faults[scenario->fault_count++]);
    }
}

static const struct key_word verdict_words[] = {{"pass", 0},    {"fail", 0}, {"unknown", 0},
                                                {"skipped", 0}, {"any", 0},  {NULL, 0}};
static const struct key_word blame_words[] = {
    {"library", 0}, {"assumption", 0}, {"deployment", 0}, {NULL, 0}};

/* Copy a word that must be one of `words`. */
static void expect_word(struct scenario_walk *walk, const struct document *part, const char *noun,
                        const struct key_word *words, char *memory)
{
    if (!part_is(&walk->problems, part, DOCUMENT_WORD, noun)) {
        return;
    }
    const struct key_word *word = key_word_find(words, part->word);
    if (word == NULL) {
        word_refuse(&walk->problems, part->place, noun, part->word, words);
        return;
    }
    memcpy(memory, word->name, strlen(word->name) + 1);
}

static void expect_verdict(struct scenario_walk *walk, const struct document *part,
                           struct expectation *expect)
{
    const struct document *blame = NULL;
    const struct document *verdict = part->kind == DOCUMENT_MAP ? NULL : part;
    for (const struct document *child = part->child; child != NULL; child = child->next) {
        if (child->key != NULL && strcmp(child->key, "verdict") == 0) {
            verdict = child;
        } else if (child->key != NULL && strcmp(child->key, "blame") == 0) {
            blame = child;
        } else if (child->key != NULL) {
            problem_say(&walk->problems, child->key_place,
                        "unknown key \"%.40s\" in expect; there are verdict and blame", child->key);
        }
    }
    if (verdict == NULL) {
        problem_say(&walk->problems, part->place,
                    "\"verdict\" is missing: pass, fail, unknown or any");
        return;
    }
    expect_word(walk, verdict, "verdict", verdict_words, expect->verdict);
    if (blame != NULL) {
        expect_word(walk, blame, "blame", blame_words, expect->blame);
        if (expect->verdict[0] != '\0' && strcmp(expect->verdict, "fail") != 0) {
            problem_say(&walk->problems, blame->key_place, "only a fail has somebody to blame");
        }
    }
}

static void expect_check(struct scenario_walk *walk, const struct document *part)
{
    const struct scenario_checks *checks = walk->checks;
    if (checks == NULL) {
        return;
    }
    struct guess guess = guess_for(part->key);
    for (size_t i = 0; i < checks->count; i++) {
        if (strcmp(checks->names[i], part->key) == 0) {
            return;
        }
        guess_offer(&guess, checks->names[i]);
    }
    struct text *text = problem_add(&walk->problems, part->key_place);
    text_add(text, "unknown check \"%.40s\"", part->key);
    guess_print(&guess, text);
    for (size_t i = 0; guess.best == NULL && i < checks->count; i++) {
        text_add(text, "%s %s", i == 0 ? "; expected" : ",", checks->names[i]);
    }
}

static void walk_expects(struct scenario_walk *walk)
{
    struct scenario *scenario = walk->scenario;
    const struct document *map = walk_place(walk, "expect");
    if (map == NULL || map->kind != DOCUMENT_MAP) {
        return;
    }
    scenario->expect_line = map->key_place.line;
    if (map->child == NULL) {
        problem_say(&walk->problems, map->place,
                    "expect is empty: a scenario must expect something");
    }
    for (const struct document *part = map->child; part != NULL; part = part->next) {
        if (scenario->expect_count == SCENARIO_EXPECTS_MAX) {
            problem_say(&walk->problems, part->key_place, "more than %d expectations",
                        SCENARIO_EXPECTS_MAX);
            return;
        }
        struct expectation *expect = &scenario->expects[scenario->expect_count++];
        expect->line = part->key_place.line;
        expect->column = part->key_place.column;
        expect_check(walk, part);
        if (strlen(part->key) >= sizeof expect->check) {
            problem_say(&walk->problems, part->key_place, "a check's name is shorter");
            continue;
        }
        memcpy(expect->check, part->key, strlen(part->key) + 1);
        if (!part->refused) {
            expect_verdict(walk, part, expect);
        }
    }
}

static void walk_run(struct scenario_walk *walk, const struct document *root)
{
    ASSERT(scenario_key_count <= KEYS_MAX);
    if (!part_is(&walk->problems, root, DOCUMENT_MAP, "a scenario")) {
        return;
    }
    walk_open(walk, root, "");
    while (walk->open_count > 0) {
        walk->open_count--;
        walk_map(walk, walk->open[walk->open_count], walk->open_path[walk->open_count]);
    }
    walk_missing(walk, root);
    walk_fallbacks(walk);
    walk_faults(walk);
    walk_expects(walk);
    scenario_check(&walk->problems, walk->places, walk->scenario);
}

struct result scenario_parse(const struct scenario_source *source, struct arena *arena,
                             struct scenario *scenario, struct text *errors)
{
    struct scenario_walk walk = {.checks = source->checks, .scenario = scenario};
    enum error_code code = ERROR_NONE;
    problems_init(&walk.problems, source->path, source->bytes, source->length);
    memset(scenario, 0, sizeof *scenario);
    keys_set_fallbacks(scenario_keys, scenario_key_count, scenario);
    struct text path = text_over(scenario->path, sizeof scenario->path);
    text_add(&path, "%s", source->path);
    const struct document *root = NULL;
    if (source->length > SCENARIO_BYTES_MAX) {
        problem_say(&walk.problems, (struct place){0, 0}, "larger than %d bytes, so no scenario",
                    SCENARIO_BYTES_MAX);
        code = ERROR_LIMIT;
    } else {
        root = document_parse(&walk.problems, arena, &code);
    }
    if (root != NULL) {
        walk_run(&walk, root);
    } else if (walk.problems.total == 0) {
        problem_say(&walk.problems, (struct place){0, 0},
                    "empty; a scenario begins with \"version: 1\" (`picklock init` writes one)");
        code = ERROR_SCHEMA;
    }
    if (walk.problems.total == 0) {
        return RESULT_OK;
    }
    problems_print(&walk.problems, errors);
    return result_error(code == ERROR_NONE ? ERROR_SCHEMA : code);
}

static struct result file_refuse(const char *path, const char *why, enum error_code code,
                                 struct text *errors)
{
    text_add(errors, "%s: %s\n", path, why);
    return result_error(code);
}

/* Open a regular file that is not too large. */
static struct result file_open(const char *path, int *file, size_t *length, struct text *errors)
{
    *file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*file < 0) {
        enum error_code code = errno == EACCES || errno == EMFILE ? ERROR_IO : ERROR_USAGE;
        return file_refuse(path, strerror(errno), code, errors);
    }
    struct stat about;
    if (fstat(*file, &about) != 0) {
        return file_refuse(path, strerror(errno), ERROR_IO, errors);
    }
    if (S_ISDIR(about.st_mode)) {
        return file_refuse(path, "a directory, not a scenario file", ERROR_USAGE, errors);
    }
    if (!S_ISREG(about.st_mode)) {
        return file_refuse(path, "not a regular file", ERROR_USAGE, errors);
    }
    if (about.st_size > SCENARIO_BYTES_MAX) {
        return file_refuse(path, "larger than 1 MiB, so no scenario", ERROR_LIMIT, errors);
    }
    *length = (size_t)about.st_size;
    return RESULT_OK;
}

static struct result file_read(int file, const char *path, char *bytes, size_t *length,
                               struct text *errors)
{
    size_t used = 0;
    while (used < *length) {
        ssize_t got = read(file, bytes + used, *length - used);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return file_refuse(path, strerror(errno), ERROR_IO, errors);
        }
        if (got == 0) {
            break; /* it was made shorter meanwhile */
        }
        used += (size_t)got;
    }
    *length = used;
    return RESULT_OK;
}

struct result scenario_read(const char *path, const struct scenario_checks *checks,
                            struct arena *arena, struct scenario *scenario, struct text *errors)
{
    int file = -1;
    size_t length = 0;
    struct scenario_source source = {.path = path, .checks = checks};
    struct result result = file_open(path, &file, &length, errors);
    if (!result_failed(result)) {
        char *bytes = arena_take(arena, length + 1);
        source.bytes = bytes;
        result = bytes == NULL ? file_refuse(path, "not enough memory", ERROR_LIMIT, errors)
                               : file_read(file, path, bytes, &length, errors);
    }
    if (file >= 0) {
        (void)close(file);
    }
    TRY(result);
    source.length = length;
    return scenario_parse(&source, arena, scenario, errors);
}

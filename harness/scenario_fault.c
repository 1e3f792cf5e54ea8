/* scenario_fault.c: one fault of a scenario file: its keys, its target and its two ends. */
#include "harness/scenario_reader.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

enum { FAULT_TAKES_BYTES = 256 };

struct fault_reading {
    struct problems *problems;
    const struct scenario *scenario;
    struct fault *fault;
    struct fault_places places;
    bool bad; /* a part of it was told: what follows from it is not */
};

static const struct document *fault_part(const struct fault_reading *reading, enum fault_key key)
{
    return reading->places.keys[key];
}

static void fault_refuse_key(struct fault_reading *reading, const struct document *part)
{
    struct guess guess = guess_for(part->key);
    struct text *text = problem_add(reading->problems, part->key_place);
    if (part->key[0] >= '0' && part->key[0] <= '9') {
        text_add(text, "unknown key \"%.40s\"; quote a list of nodes: \"nodes 1,3\"", part->key);
        return;
    }
    text_add(text, "unknown key \"%.40s\" in a fault", part->key);
    for (size_t i = 0; i < FAULT_KEYS; i++) {
        guess_offer(&guess, fault_keys[i].path);
    }
    for (const struct familiar_word *word = familiar_words; word->word != NULL; word++) {
        if (guess.best == NULL && strcmp(word->word, part->key) == 0) {
            guess.best = word->hint;
        }
    }
    guess_print(&guess, text);
}

/* Find each key and parse those that are single values. */
static void fault_parse_keys(struct fault_reading *reading, const struct document *map)
{
    for (const struct document *part = map->child; part != NULL; part = part->next) {
        size_t k = 0;
        while (k < FAULT_KEYS && strcmp(fault_keys[k].path, part->key) != 0) {
            k++;
        }
        if (k == FAULT_KEYS) {
            fault_refuse_key(reading, part);
            continue;
        }
        reading->places.keys[k] = part;
        bool phrase = fault_keys[k].type == KEY_TRIGGER || fault_keys[k].type == KEY_TARGET;
        if (!phrase && !value_parse(reading->problems, &fault_keys[k], part, reading->fault)) {
            reading->bad = true;
        }
    }
}

static const char *fault_word(const struct fault *fault)
{
    return fault_kind_words[fault->kind].name;
}

/* `from` may name the client of a command trigger, also where the kind itself has no `from`. */
static uint32_t fault_keys_allowed(const struct fault_reading *reading)
{
    enum fault_kind kind = (enum fault_kind)reading->fault->kind;
    uint32_t allowed = fault_rule_of(kind).allowed | 1u << FAULT_KEY_AT | 1u << FAULT_KEY_ON |
                       1u << FAULT_KEY_NTH | 1u << FAULT_KEY_AFTER | 1u << FAULT_KEY_DO;
    uint8_t start = reading->fault->start.kind;
    if (start == TRIGGER_COMMAND || start == TRIGGER_ARRIVAL) {
        allowed |= 1u << FAULT_KEY_FROM;
    }
    if (fault_trait_of(kind)->life == FAULT_LASTS) {
        allowed |= 1u << FAULT_KEY_FOR | 1u << FAULT_KEY_UNTIL | 1u << FAULT_KEY_UNTIL_NTH;
    }
    return allowed;
}

/* A key that a kind does not have: which ones it has, beside when it strikes. */
static void fault_refuse_alien(struct fault_reading *reading, uint32_t key)
{
    enum fault_kind kind = (enum fault_kind)reading->fault->kind;
    bool ends = key == FAULT_KEY_FOR || key == FAULT_KEY_UNTIL || key == FAULT_KEY_UNTIL_NTH;
    char memory[FAULT_TAKES_BYTES];
    struct text takes = text_over(memory, sizeof memory);
    for (uint32_t k = 0; k < FAULT_KEYS && !ends; k++) {
        if ((fault_rule_of(kind).allowed >> k & 1) != 0) {
            text_add(&takes, "%s%s", takes.length == 0 ? "; it takes " : ", ", fault_keys[k].path);
        }
    }
    problem_say(reading->problems, reading->places.keys[key]->key_place,
                "\"%s\" does not belong to %s%s%s", fault_keys[key].path,
                fault_word(reading->fault), ends ? ", which happens once" : "", takes.data);
    reading->bad = true;
}

static void fault_check_keys(struct fault_reading *reading)
{
    struct fault_rule rule = fault_rule_of((enum fault_kind)reading->fault->kind);
    const char *word = fault_word(reading->fault);
    uint32_t allowed = fault_keys_allowed(reading);
    for (uint32_t k = 0; k < FAULT_KEYS; k++) {
        const struct document *part = reading->places.keys[k];
        if (part != NULL && (allowed >> k & 1) == 0) {
            fault_refuse_alien(reading, k);
        }
        if (part == NULL && (rule.required >> k & 1) != 0) {
            problem_say(reading->problems, reading->places.map->place, "%s needs \"%s\": %s", word,
                        fault_keys[k].path, fault_keys[k].doc);
            reading->bad = true;
        }
    }
}

static void fault_parse_start(struct fault_reading *reading)
{
    const struct document *at = fault_part(reading, FAULT_KEY_AT);
    const struct document *on = fault_part(reading, FAULT_KEY_ON);
    const struct document *nth = fault_part(reading, FAULT_KEY_NTH);
    const struct document *after = fault_part(reading, FAULT_KEY_AFTER);
    struct fault *fault = reading->fault;
    if ((at == NULL) == (on == NULL)) {
        problem_say(reading->problems, reading->places.map->place,
                    at == NULL ? "a fault needs \"at\" (a time) or \"on\" (an event)"
                               : "a fault begins \"at\" a time or \"on\" an event, not both");
        reading->bad = true;
        return;
    }
    if (at != NULL) {
        fault->start.kind = TRIGGER_TIME;
        if (fault->start.at_ns >= reading->scenario->duration_ns) {
            struct text *text = problem_add(reading->problems, at->place);
            text_add(text, "%.40s is after the end: the duration is ", at->word);
            duration_print(reading->scenario->duration_ns, text);
        }
        if (nth != NULL) {
            problem_say(reading->problems, nth->key_place,
                        "\"nth\" counts events; a time comes once");
            reading->bad = true;
        }
        if (after != NULL) {
            problem_say(reading->problems, after->key_place,
                        "\"after\" counts from an event; \"at\" says when by itself");
            reading->bad = true;
        }
        return;
    }
    if (!trigger_parse(reading->problems, on, reading->scenario, &fault->start)) {
        reading->bad = true;
    }
}

static void fault_parse_end(struct fault_reading *reading)
{
    const struct document *length = fault_part(reading, FAULT_KEY_FOR);
    const struct document *until = fault_part(reading, FAULT_KEY_UNTIL);
    const struct document *nth = fault_part(reading, FAULT_KEY_UNTIL_NTH);
    if (length != NULL && until != NULL) {
        problem_say(reading->problems, until->key_place,
                    "a fault lasts \"for\" a time or \"until\" an event, not both");
        reading->bad = true;
    }
    if (nth != NULL && until == NULL) {
        problem_say(reading->problems, nth->key_place, "\"until_nth\" needs \"until\"");
        reading->bad = true;
    }
    if (until != NULL) {
        int64_t ns = 0;
        char memory[WHY_BYTES];
        struct text why = text_over(memory, sizeof memory);
        if (until->kind == DOCUMENT_WORD &&
            !result_failed(duration_parse(until->word, &ns, &why))) {
            problem_say(reading->problems, until->place,
                        "\"until\" takes an event, such as client 1 after_granted; a length of "
                        "time is written \"for: %.40s\"",
                        until->word);
            reading->bad = true;
        } else if (!trigger_parse(reading->problems, until, reading->scenario,
                                  &reading->fault->until)) {
            reading->bad = true;
        }
    }
}

/* Parse `target`, `from` or `to`, which must name what `strikes` says: FAULT_ON_... */
static bool fault_parse_target(struct fault_reading *reading, enum fault_key key, uint32_t strikes,
                               struct target *target)
{
    const struct document *part = fault_part(reading, key);
    if (!target_parse(reading->problems, part, reading->scenario, target)) {
        reading->bad = true;
        return false;
    }
    uint32_t named = target->node_mask != 0 ? FAULT_ON_NODE : FAULT_ON_CLIENT;
    if ((named & strikes) == 0) {
        const char *wanted = (strikes & FAULT_ON_NODE) != 0 ? "nodes" : "clients";
        problem_say(reading->problems, part->place, "\"%s\" of %s takes %s; here is %.40s",
                    part->key, fault_word(reading->fault), wanted, part->word);
        reading->bad = true;
        return false;
    }
    return true;
}

static bool trigger_is_command(const struct trigger *trigger)
{
    return trigger->kind == TRIGGER_COMMAND || trigger->kind == TRIGGER_ARRIVAL;
}

/* `from` beside `on: node 3 set` names the client whose commands are counted. */
static void fault_parse_sender(struct fault_reading *reading)
{
    struct fault *fault = reading->fault;
    struct target target;
    const struct document *from = fault_part(reading, FAULT_KEY_FROM);
    if (!fault_parse_target(reading, FAULT_KEY_FROM, FAULT_ON_CLIENT, &target)) {
        return;
    }
    if (target.client_first != target.client_last) {
        problem_say(reading->problems, from->place,
                    "\"from\" beside \"on\" takes one client; here is %.40s", from->word);
        reading->bad = true;
        return;
    }
    if (fault->start.client != SCENARIO_ANY && fault->start.client != target.client_first) {
        problem_say(reading->problems, from->place, "\"on\" names another client");
        reading->bad = true;
        return;
    }
    fault->start.client = target.client_first;
}

/* `from: nodes 1-2`: the links between them and those of `to`, which is all the others. */
static void fault_parse_peers(struct fault_reading *reading, const struct target *from)
{
    struct fault *fault = reading->fault;
    const struct document *part = fault_part(reading, FAULT_KEY_FROM);
    const struct document *to = fault_part(reading, FAULT_KEY_TO);
    const struct server_kind *kind = server_kind_at(reading->scenario->node_kind);
    uint32_t all = nodes_all(reading->scenario->node_count);
    fault->client_first = -1;
    fault->client_last = -1;
    fault->peer_mask = from->node_mask;
    fault->node_mask = to == NULL ? all & ~from->node_mask : fault->node_mask;
    bool both = (fault->node_mask & fault->peer_mask) != 0;
    if (!server_kind_talks(kind, reading->scenario->lock.replica_count)) {
        problem_say(reading->problems, part->place,
                    "%s servers do not speak to each other: \"from\" of %s takes clients; here is "
                    "%.40s",
                    kind->name, fault_word(fault), part->word);
    } else if (both || fault->node_mask == 0) {
        problem_say(reading->problems, both ? to->place : part->place,
                    both ? "no node has a link to itself: \"from\" and \"to\" name one of them both"
                         : "no node is left at the other end; say in \"to\" which");
    } else {
        return;
    }
    fault->peer_mask = 0;
    reading->bad = true;
}

/* Ends of links: as `from` and `to` say, else as named in `on`, else all. */
static void fault_parse_links(struct fault_reading *reading)
{
    struct fault *fault = reading->fault;
    int32_t client_count = reading->scenario->client_count;
    bool counts = fault_is((enum fault_kind)fault->kind, FAULT_OF_COMMAND) &&
                  trigger_is_command(&fault->start);
    bool of_commands = fault_is((enum fault_kind)fault->kind, FAULT_OF_COMMAND);
    struct target from = {-1, -1, 0};
    struct target target;
    if (counts && fault_part(reading, FAULT_KEY_FROM) != NULL) {
        fault_parse_sender(reading);
    }
    bool named = fault->shape == SHAPE_LINKS && fault->start.client != SCENARIO_ANY;
    fault->client_first = named ? fault->start.client : 0;
    fault->client_last = named ? fault->start.client : client_count - 1;
    if (!counts && fault_part(reading, FAULT_KEY_FROM) != NULL &&
        fault_parse_target(reading, FAULT_KEY_FROM,
                           FAULT_ON_CLIENT | (of_commands ? 0 : FAULT_ON_NODE), &from) &&
        from.node_mask == 0) {
        fault->client_first = from.client_first;
        fault->client_last = from.client_last;
    }
    named = fault->shape == SHAPE_LINKS && fault->start.node != SCENARIO_ANY;
    fault->node_mask = named ? 1u << fault->start.node : nodes_all(reading->scenario->node_count);
    if (fault_part(reading, FAULT_KEY_TO) != NULL &&
        fault_parse_target(reading, FAULT_KEY_TO, FAULT_ON_NODE, &target)) {
        if (counts && fault->start.node != SCENARIO_ANY && target.node_mask != fault->node_mask) {
            problem_say(reading->problems, fault_part(reading, FAULT_KEY_TO)->place,
                        "\"on\" names another node");
            reading->bad = true;
        }
        fault->node_mask = target.node_mask;
    }
    if (from.node_mask != 0) {
        fault_parse_peers(reading, &from);
    }
}

static void fault_parse_shape(struct fault_reading *reading)
{
    if (reading->fault->shape == SHAPE_LINKS) {
        return;
    }
    static const enum fault_key ends[] = {FAULT_KEY_FROM, FAULT_KEY_TO};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        const struct document *part = fault_part(reading, ends[i]);
        if (part != NULL) {
            problem_say(reading->problems, part->key_place,
                        "\"%s\" does not go with \"shape\", which names the links itself",
                        part->key);
            reading->bad = true;
        }
    }
}

/* `command` is the one named in `on`, where one is. */
static void fault_parse_role(struct fault_reading *reading)
{
    struct fault *fault = reading->fault;
    if (!fault_is((enum fault_kind)fault->kind, FAULT_OF_COMMAND)) {
        return;
    }
    bool named = trigger_is_command(&fault->start);
    const struct document *part = fault_part(reading, FAULT_KEY_COMMAND);
    if (named && part != NULL && fault->role != fault->start.role) {
        problem_say(reading->problems, part->place, "\"on\" names another command");
        reading->bad = true;
    }
    fault->role = named ? fault->start.role : fault->role;
    if (named && fault->kind == FAULT_DELAY_COMMAND && fault->start.kind == TRIGGER_COMMAND) {
        problem_say(reading->problems, fault_part(reading, FAULT_KEY_ON)->place,
                    "the command has reached the node by then; write \"before\": node 3 before "
                    "set");
        reading->bad = true;
    }
    if (named && fault->kind == FAULT_LOSE_REPLY && fault->start.kind == TRIGGER_ARRIVAL) {
        problem_say(reading->problems, fault_part(reading, FAULT_KEY_ON)->place,
                    "there is no reply by then; write it without \"before\": node 3 set");
        reading->bad = true;
    }
    bool ends = fault_part(reading, FAULT_KEY_FOR) != NULL || fault->until.kind != TRIGGER_NEVER;
    if (named && !ends && fault->after_ns > 0) {
        problem_say(reading->problems, fault_part(reading, FAULT_KEY_AFTER)->place,
                    "the command of \"on\" has passed by then; say in \"for\" or \"until\" how "
                    "long those behind it are struck");
        reading->bad = true;
    }
    if (named && !ends) {
        fault->for_ns = 0;
    }
}

/* Clients or nodes: as `target` says, else the one named in `on`. */
static void fault_parse_struck(struct fault_reading *reading)
{
    struct fault *fault = reading->fault;
    uint32_t strikes = fault_trait_of((enum fault_kind)fault->kind)->nature;
    if (fault_part(reading, FAULT_KEY_FROM) != NULL) {
        fault_parse_sender(reading);
    }
    struct target target = {-1, -1, 0};
    if (fault_part(reading, FAULT_KEY_TARGET) != NULL) {
        if (!fault_parse_target(reading, FAULT_KEY_TARGET, strikes, &target)) {
            return;
        }
    } else if ((strikes & FAULT_ON_NODE) != 0 && fault->start.node != SCENARIO_ANY) {
        target.node_mask = 1u << fault->start.node;
    } else if ((strikes & FAULT_ON_CLIENT) != 0 && fault->start.client != SCENARIO_ANY) {
        target.client_first = fault->start.client;
        target.client_last = fault->start.client;
    } else if (!reading->bad) {
        problem_say(reading->problems, reading->places.map->place,
                    "%s needs \"target\", such as target: %s", fault_word(fault),
                    (strikes & FAULT_ON_CLIENT) != 0 ? "client 2" : "node 3");
        reading->bad = true;
    }
    fault->client_first = target.client_first;
    fault->client_last = target.client_last;
    fault->node_mask = target.node_mask;
}

void fault_parse(struct problems *problems, const struct document *part,
                 const struct scenario *scenario, struct fault *fault)
{
    struct fault_reading reading = {.problems = problems, .scenario = scenario, .fault = fault};
    memset(fault, 0, sizeof *fault);
    keys_set_fallbacks(fault_keys, FAULT_KEYS, fault);
    fault->client_first = -1;
    fault->client_last = -1;
    fault->start.client = SCENARIO_ANY;
    fault->start.node = SCENARIO_ANY;
    fault->until.client = SCENARIO_ANY;
    fault->until.node = SCENARIO_ANY;
    fault->line = part->place.line;
    fault->column = part->place.column;
    reading.places.map = part;
    if (!part_is(problems, part, DOCUMENT_MAP, "a fault")) {
        return;
    }
    fault_parse_keys(&reading, part);
    if (fault_part(&reading, FAULT_KEY_DO) == NULL) {
        problem_say(problems, part->place, "a fault needs \"do\": its kind, such as do: pause");
    }
    fault_parse_start(&reading);
    fault_parse_end(&reading);
    if (fault->kind == FAULT_NONE) {
        return;
    }
    fault_check_keys(&reading);
    const struct fault_trait *trait = fault_trait_of((enum fault_kind)fault->kind);
    if (trait->life != FAULT_LASTS) {
        fault->for_ns = 0;
    }
    if ((trait->nature & FAULT_ON_LINK) != 0) {
        fault_parse_shape(&reading);
        fault_parse_links(&reading);
        fault_parse_role(&reading);
    } else {
        fault_parse_struck(&reading);
    }
    if (!reading.bad) {
        fault_check(problems, &reading.places, scenario, fault);
    }
}

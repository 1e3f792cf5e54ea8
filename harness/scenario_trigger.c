/* scenario_trigger.c: the small phrases of faults: "client 1 after_granted", "nodes 1-3". */
#include "harness/scenario_reader.h"

#include "base/assert.h"

#include <inttypes.h>
#include <string.h>

enum {
    PHRASE_BYTES = 160,
    PHRASE_WORDS_MAX = 8,
};

/* A phrase cut into words at its spaces, each with its place in the file. */
struct phrase {
    struct problems *problems;
    const struct document *part;
    char memory[PHRASE_BYTES];
    const char *word[PHRASE_WORDS_MAX + 1]; /* NULL behind the last one */
    struct place place[PHRASE_WORDS_MAX + 1];
    uint32_t count;
    uint32_t next; /* the word that is looked at */
};

static bool phrase_init(struct phrase *phrase, struct problems *problems,
                        const struct document *part)
{
    memset(phrase, 0, sizeof *phrase);
    phrase->problems = problems;
    phrase->part = part;
    size_t length = strlen(part->word);
    if (length >= sizeof phrase->memory) {
        problem_say(problems, part->place, "%s: longer than %d bytes", part->key, PHRASE_BYTES - 1);
        return false;
    }
    memcpy(phrase->memory, part->word, length + 1);
    bool inside = false;
    for (size_t i = 0; i < length; i++) {
        if (phrase->memory[i] == ' ') {
            phrase->memory[i] = '\0';
            inside = false;
        } else if (!inside && phrase->count == PHRASE_WORDS_MAX) {
            problem_say(problems, part->place, "%s: more than %d words", part->key,
                        PHRASE_WORDS_MAX);
            return false;
        } else if (!inside) {
            phrase->word[phrase->count] = &phrase->memory[i];
            phrase->place[phrase->count] = part->word_place;
            phrase->place[phrase->count].column += part->one_line ? (uint32_t)i : 0;
            phrase->count++;
            inside = true;
        }
    }
    phrase->place[phrase->count] = part->place;
    return true;
}

static const char *phrase_word(const struct phrase *phrase)
{
    return phrase->next < phrase->count ? phrase->word[phrase->next] : "";
}

static struct place phrase_place(const struct phrase *phrase)
{
    return phrase->place[phrase->next];
}

static bool phrase_take(struct phrase *phrase, const char *word)
{
    if (strcmp(phrase_word(phrase), word) != 0) {
        return false;
    }
    phrase->next++;
    return true;
}

static bool phrase_refuse(struct phrase *phrase, const char *wanted)
{
    problem_say(phrase->problems, phrase_place(phrase), "%s: %s%.40s%s; expected %s",
                phrase->part->key, phrase->next < phrase->count ? "\"" : "the end",
                phrase_word(phrase), phrase->next < phrase->count ? "\"" : "", wanted);
    return false;
}

static bool phrase_end(struct phrase *phrase)
{
    return phrase->next == phrase->count || phrase_refuse(phrase, "nothing more");
}

/* A number in [1, max] at *at, counted from 1. `noun`: "client", "node". */
static bool number_take(struct phrase *phrase, const char **at, const char *noun, int32_t max,
                        int32_t *number)
{
    int64_t value = 0;
    const char *start = *at;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        value = value > INT32_MAX ? value : value * 10 + (**at - '0');
    }
    if (*at == start) {
        return phrase_refuse(phrase, "a number, such as 3 or 1-3");
    }
    if (value < 1 || value > max) {
        problem_say(phrase->problems, phrase_place(phrase), "%s: there is no %s %.*s, only 1 to %d",
                    phrase->part->key, noun, (int)(*at - start < 20 ? *at - start : 20), start,
                    max);
        return false;
    }
    *number = (int32_t)value;
    return true;
}

/* "3" or "2-5"; stops at a comma or the end of the word. */
static bool range_take(struct phrase *phrase, const char **at, const char *noun, int32_t max,
                       int32_t range[2])
{
    if (!number_take(phrase, at, noun, max, &range[0])) {
        return false;
    }
    range[1] = range[0];
    if (**at == '-') {
        (*at)++;
        if (!number_take(phrase, at, noun, max, &range[1])) {
            return false;
        }
    }
    if (**at != '\0' && **at != ',') {
        return phrase_refuse(phrase, "a number, such as 3 or 1-3");
    }
    if (range[1] < range[0]) {
        problem_say(phrase->problems, phrase_place(phrase), "%s: %d-%d runs backwards",
                    phrase->part->key, range[0], range[1]);
        return false;
    }
    return true;
}

uint32_t nodes_all(int32_t node_count)
{
    ASSERT(node_count > 0);
    ASSERT(node_count <= LOCK_NODES_MAX);
    return (1u << node_count) - 1;
}

static bool target_parse_clients(struct phrase *phrase, int32_t client_count, struct target *target)
{
    int32_t range[2] = {1, client_count};
    if (phrase->next < phrase->count) {
        const char *at = phrase_word(phrase);
        if (!range_take(phrase, &at, "client", client_count, range)) {
            return false;
        }
        if (*at != '\0') {
            return phrase_refuse(phrase, "one range of clients, such as 2-5");
        }
        phrase->next++;
    }
    target->client_first = range[0] - 1;
    target->client_last = range[1] - 1;
    return true;
}

static bool target_parse_nodes(struct phrase *phrase, int32_t node_count, struct target *target)
{
    if (phrase->next == phrase->count) {
        target->node_mask = nodes_all(node_count);
        return true;
    }
    const char *at = phrase_word(phrase);
    bool more = true;
    while (more) {
        int32_t range[2];
        if (!range_take(phrase, &at, "node", node_count, range)) {
            return false;
        }
        target->node_mask |= nodes_all(range[1]) & ~((1u << (range[0] - 1)) - 1);
        more = *at == ',';
        at += more ? 1 : 0;
    }
    phrase->next++;
    return true;
}

bool target_parse(struct problems *problems, const struct document *part,
                  const struct scenario *scenario, struct target *target)
{
    *target = (struct target){-1, -1, 0};
    struct phrase phrase;
    if (!part_is(problems, part, DOCUMENT_WORD, part->key) ||
        !phrase_init(&phrase, problems, part)) {
        return false;
    }
    bool singular =
        strcmp(phrase_word(&phrase), "client") == 0 || strcmp(phrase_word(&phrase), "node") == 0;
    if (singular && phrase.count == 1) {
        phrase.next++;
        return phrase_refuse(&phrase, "a number, such as 3 or 1-3");
    }
    if (phrase_take(&phrase, "client") || phrase_take(&phrase, "clients")) {
        return target_parse_clients(&phrase, scenario->client_count, target) && phrase_end(&phrase);
    }
    if (phrase_take(&phrase, "node") || phrase_take(&phrase, "nodes")) {
        return target_parse_nodes(&phrase, scenario->node_count, target) && phrase_end(&phrase);
    }
    return phrase_refuse(&phrase, "client 2, client 2-5, clients, node 3, nodes 1-3 or nodes");
}

/* "client 2" or "any client" behind what was taken already. */
static bool number_parse_one(struct phrase *phrase, const char *noun, int32_t max, int32_t *index)
{
    const char *at = phrase_word(phrase);
    int32_t number = 0;
    if (!number_take(phrase, &at, noun, max, &number)) {
        return false;
    }
    if (*at != '\0') {
        return phrase_refuse(phrase, "one number");
    }
    phrase->next++;
    *index = number - 1;
    return true;
}

static bool trigger_parse_probe(struct phrase *phrase, struct trigger *trigger)
{
    const struct key_word *point = key_word_find(probe_words, phrase_word(phrase));
    if (point == NULL) {
        if (phrase->next == phrase->count) {
            return phrase_refuse(phrase, "a probe point, such as after_granted");
        }
        word_refuse(phrase->problems, phrase_place(phrase), "probe point", phrase_word(phrase),
                    probe_words);
        return false;
    }
    phrase->next++;
    trigger->kind = TRIGGER_PROBE;
    trigger->point = point->value;
    return phrase_end(phrase);
}

static bool trigger_parse_command(struct phrase *phrase, const struct scenario *scenario,
                                  struct trigger *trigger)
{
    trigger->kind = phrase_take(phrase, "before") ? TRIGGER_ARRIVAL : TRIGGER_COMMAND;
    const struct key_word *role = key_word_find(role_words, phrase_word(phrase));
    if (role == NULL) {
        if (phrase->next == phrase->count) {
            return phrase_refuse(phrase, "set, extend, delete, other or command");
        }
        word_refuse(phrase->problems, phrase_place(phrase), "command", phrase_word(phrase),
                    role_words);
        return false;
    }
    phrase->next++;
    trigger->role = role->value;
    trigger->client = SCENARIO_ANY;
    if (phrase_take(phrase, "from") &&
        !(phrase_take(phrase, "client")
              ? number_parse_one(phrase, "client", scenario->client_count, &trigger->client)
              : phrase_refuse(phrase, "client 1"))) {
        return false;
    }
    return phrase_end(phrase);
}

bool trigger_parse(struct problems *problems, const struct document *part,
                   const struct scenario *scenario, struct trigger *trigger)
{
    struct phrase phrase;
    if (!part_is(problems, part, DOCUMENT_WORD, part->key) ||
        !phrase_init(&phrase, problems, part)) {
        return false;
    }
    bool any = phrase_take(&phrase, "any");
    trigger->client = SCENARIO_ANY;
    trigger->node = SCENARIO_ANY;
    if (phrase_take(&phrase, "client")) {
        return (any ||
                number_parse_one(&phrase, "client", scenario->client_count, &trigger->client)) &&
               trigger_parse_probe(&phrase, trigger);
    }
    if (phrase_take(&phrase, "node")) {
        return (any || number_parse_one(&phrase, "node", scenario->node_count, &trigger->node)) &&
               trigger_parse_command(&phrase, scenario, trigger);
    }
    return phrase_refuse(&phrase, "an event, such as client 1 after_granted or node 3 before set");
}

void trigger_print(const struct trigger *trigger, struct text *text)
{
    if (trigger->kind == TRIGGER_PROBE) {
        if (trigger->client == SCENARIO_ANY) {
            text_add(text, "any client");
        } else {
            text_add(text, "client %d", trigger->client + 1);
        }
        text_add(text, " %s", probe_point_name((enum probe_point)trigger->point));
        return;
    }
    ASSERT(trigger->kind == TRIGGER_COMMAND || trigger->kind == TRIGGER_ARRIVAL);
    if (trigger->node == SCENARIO_ANY) {
        text_add(text, "any node");
    } else {
        text_add(text, "node %d", trigger->node + 1);
    }
    text_add(text, "%s %s", trigger->kind == TRIGGER_ARRIVAL ? " before" : "",
             command_role_name((enum command_role)trigger->role));
    if (trigger->client != SCENARIO_ANY) {
        text_add(text, " from client %d", trigger->client + 1);
    }
}

void target_print_clients(int32_t first, int32_t last, int32_t client_count, struct text *text)
{
    if (first == 0 && last == client_count - 1) {
        text_add(text, "clients");
    } else if (first == last) {
        text_add(text, "client %d", first + 1);
    } else {
        text_add(text, "client %d-%d", first + 1, last + 1);
    }
}

void target_print_nodes(uint32_t mask, int32_t node_count, struct text *text)
{
    if (mask == nodes_all(node_count)) {
        text_add(text, "nodes");
        return;
    }
    bool one = (mask & (mask - 1)) == 0;
    text_add(text, one ? "node" : "\"nodes");
    const char *separator = " ";
    for (int32_t i = 0; i < node_count; i++) {
        int32_t last = i;
        while (last < node_count && (mask >> last & 1) != 0) {
            last++;
        }
        if (last > i) {
            text_add(text, "%s%d", separator, i + 1);
            if (last > i + 1) {
                text_add(text, "-%d", last);
            }
            separator = ",";
            i = last;
        }
    }
    text_add(text, one ? "" : "\"");
}

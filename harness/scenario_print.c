/* scenario_print.c: a scenario as a file again, in one canonical form. */
#include "harness/scenario.h"

#include "base/assert.h"
#include "base/duration.h"
#include "harness/scenario_reader.h"

#include <string.h>

/* The next character of a UTF-8 string. */
static uint32_t utf8_take(const unsigned char **at)
{
    uint32_t first = *(*at)++;
    uint32_t more = first < 0xc0 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    uint32_t character = more == 0 ? first : first & (0x3fu >> more);
    for (uint32_t i = 0; i < more && **at != 0; i++) {
        character = character << 6 | (*(*at)++ & 0x3fu);
    }
    return character;
}

/* Print in double quotes; what YAML would fold or refuse is escaped. */
static void text_print_quoted(const char *string, struct text *text)
{
    const unsigned char *at = (const unsigned char *)string;
    text_add(text, "\"");
    while (*at != 0) {
        const unsigned char *start = at;
        uint32_t character = utf8_take(&at);
        bool special = (character >= 0x7f && character < 0xa0) || character == 0x2028 ||
                       character == 0x2029 || character == 0xfeff || character >= 0xfffe;
        if (character == '"' || character == '\\') {
            text_add(text, "\\%c", (char)character);
        } else if (character == '\n') {
            text_add(text, "\\n");
        } else if (character < 0x20) {
            text_add(text, "\\x%02x", character);
        } else if (special) {
            text_add(text, "\\U%08x", character);
        } else {
            text_add_bytes(text, (const char *)start, (size_t)(at - start));
        }
    }
    text_add(text, "\"\n");
}

/* Print `PARENT: {key: value, ...}` with the keys that are kept as numbers. */
static void map_print(const struct scenario *scenario, const char *parent, struct text *text)
{
    const char *separator = "";
    for (size_t i = 0; i < scenario_key_count; i++) {
        const struct scenario_key *key = &scenario_keys[i];
        if (key_is_child(key, parent) && key->bytes > 0) {
            text_add(text, "%s%s: ", separator, key_last_part(key));
            key_value_print(key, key_get(key, scenario), text);
            separator = ", ";
        }
    }
}

static void fault_separate(struct text *text, const char *key)
{
    bool first = text->data[text->length - 1] == '{';
    text_add(text, "%s%s: ", first ? "" : ", ", key);
}

static void fault_value_print(const struct fault *fault, enum fault_key k, struct text *text)
{
    fault_separate(text, fault_keys[k].path);
    key_value_print(&fault_keys[k], key_get(&fault_keys[k], fault), text);
}

static void fault_trigger_print(const struct trigger *trigger, enum fault_key k, enum fault_key nth,
                                struct text *text)
{
    fault_separate(text, fault_keys[k].path);
    trigger_print(trigger, text);
    if (trigger->nth > 1) {
        fault_separate(text, fault_keys[nth].path);
        text_add(text, "%u", trigger->nth);
    }
}

static bool fault_counts_commands(const struct fault *fault)
{
    return fault_is((enum fault_kind)fault->kind, FAULT_OF_COMMAND) &&
           (fault->start.kind == TRIGGER_COMMAND || fault->start.kind == TRIGGER_ARRIVAL);
}

static void fault_target_print(const struct scenario *scenario, const struct fault *fault,
                               struct text *text)
{
    if (!fault_is((enum fault_kind)fault->kind, FAULT_ON_LINK)) {
        fault_separate(text, "target");
        if (fault->node_mask != 0) {
            target_print_nodes(fault->node_mask, scenario->node_count, text);
        } else {
            target_print_clients(fault->client_first, fault->client_last, scenario->client_count,
                                 text);
        }
        return;
    }
    if (fault->shape != SHAPE_LINKS) {
        fault_value_print(fault, FAULT_KEY_SHAPE, text);
        return;
    }
    if (fault_counts_commands(fault)) {
        return; /* `on` says it all */
    }
    fault_separate(text, "from");
    if (fault->peer_mask != 0) {
        target_print_nodes(fault->peer_mask, scenario->node_count, text);
    } else {
        target_print_clients(fault->client_first, fault->client_last, scenario->client_count, text);
    }
    fault_separate(text, "to");
    target_print_nodes(fault->node_mask, scenario->node_count, text);
}

static void fault_end_print(const struct fault *fault, struct text *text)
{
    if (fault->until.kind != TRIGGER_NEVER) {
        fault_trigger_print(&fault->until, FAULT_KEY_UNTIL, FAULT_KEY_UNTIL_NTH, text);
        return;
    }
    bool lasts = fault_trait_of((enum fault_kind)fault->kind)->life == FAULT_LASTS;
    bool by_rule = !lasts || (fault_counts_commands(fault) && fault->for_ns == 0);
    if (!by_rule && fault->for_ns != TIME_NEVER) {
        fault_value_print(fault, FAULT_KEY_FOR, text);
    }
}

void fault_print(const struct scenario *scenario, const struct fault *fault, struct text *text)
{
    static const enum fault_key values[] = {
        FAULT_KEY_COMMAND, FAULT_KEY_DIRECTION, FAULT_KEY_MODE,  FAULT_KEY_ERROR,  FAULT_KEY_BY,
        FAULT_KEY_RATE,    FAULT_KEY_LAG,       FAULT_KEY_DELAY, FAULT_KEY_JITTER,
    };
    struct fault_rule rule = fault_rule_of((enum fault_kind)fault->kind);
    text_add(text, "{");
    if (fault->start.kind == TRIGGER_TIME) {
        fault_value_print(fault, FAULT_KEY_AT, text);
    } else {
        fault_trigger_print(&fault->start, FAULT_KEY_ON, FAULT_KEY_NTH, text);
    }
    if (fault->after_ns > 0) {
        fault_value_print(fault, FAULT_KEY_AFTER, text);
    }
    fault_value_print(fault, FAULT_KEY_DO, text);
    fault_target_print(scenario, fault, text);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        bool takes = (rule.allowed >> values[i] & 1) != 0;
        bool said = values[i] == FAULT_KEY_COMMAND && fault_counts_commands(fault);
        if (takes && !said) {
            fault_value_print(fault, values[i], text);
        }
    }
    fault_end_print(fault, text);
    text_add(text, "}");
}

static void expects_print(const struct scenario *scenario, struct text *text)
{
    text_add(text, "expect:\n");
    for (size_t i = 0; i < scenario->expect_count; i++) {
        const struct expectation *expect = &scenario->expects[i];
        if (expect->blame[0] == '\0') {
            text_add(text, "  %s: %s\n", expect->check, expect->verdict);
        } else {
            text_add(text, "  %s: {verdict: %s, blame: %s}\n", expect->check, expect->verdict,
                     expect->blame);
        }
    }
}

/* A line of words of the top, where there are any. */
static void words_print(const struct scenario *scenario, const char *path, struct text *text)
{
    const struct scenario_key *key = &scenario_keys[scenario_key_index(path)];
    if (key_get(key, scenario) != 0) {
        text_add(text, "%s: ", path);
        key_value_print(key, key_get(key, scenario), text);
        text_add(text, "\n");
    }
}

void scenario_print(const struct scenario *scenario, struct text *text)
{
    text_add(text, "version: 1\nname: %s\nabout: ", scenario->name);
    text_print_quoted(scenario->about, text);
    text_add(text, "source: ");
    text_print_quoted(scenario->source, text);
    words_print(scenario, "needs", text);
    words_print(scenario, "lacks", text);
    text_add(text, "lock: {algorithm: %s, ", scenario->algorithm);
    map_print(scenario, "lock", text);
    text_add(text, ", retry: {");
    map_print(scenario, "lock.retry", text);
    text_add(text, "}, extend: {");
    map_print(scenario, "lock.extend", text);
    text_add(text, "}}\nnodes: {");
    map_print(scenario, "nodes", text);
    text_add(text, "}\nclients: {");
    map_print(scenario, "clients", text);
    text_add(text, "}\nstore: {");
    map_print(scenario, "store", text);
    text_add(text, "}\nduration: ");
    duration_print(scenario->duration_ns, text);
    text_add(text, "\nbound: ");
    duration_print(scenario->bound_ns, text);
    if (scenario->random.present) {
        text_add(text, "\nfaults:\n  random: {");
        map_print(scenario, "faults.random", text);
        text_add(text, "}\n");
    } else {
        text_add(text, scenario->fault_count == 0 ? "\nfaults: []\n" : "\nfaults:\n");
    }
    for (size_t i = 0; i < scenario->fault_count; i++) {
        text_add(text, "  - ");
        fault_print(scenario, &scenario->faults[i], text);
        text_add(text, "\n");
    }
    expects_print(scenario, text);
}

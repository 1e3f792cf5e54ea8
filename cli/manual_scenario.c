/* manual_scenario.c: picklock-scenario(5), from the table of keys that the parser uses. */
#include "cli/manual.h"

#include "cli/mdoc.h"

#include "checker/check.h"
#include "harness/scenario_table.h"
#include "lockcore/algorithms.h"

#include <stdio.h>

enum { KEY_TEXT_BYTES = 2048 };

static const char example[] = "version: 1\n"
                              "name: pause-after-granted\n"
                              "about: The holder stops for longer than its ttl, then writes.\n"
                              "lock: {algorithm: redlock, ttl: 1s, node_timeout: 50ms}\n"
                              "nodes: {count: 5}\n"
                              "clients: {count: 2, sections: 1, hold: 100ms, writes: 2}\n"
                              "faults:\n"
                              "  - {on: \"client 1 after_granted\", do: pause, for: 2s}\n"
                              "expect:\n"
                              "  exclusion: pass\n"
                              "  section_exclusion: {verdict: fail, blame: assumption}\n"
                              "  store_integrity: any\n";

static void print_key(const struct scenario_key *key)
{
    char memory[KEY_TEXT_BYTES];
    struct text text = text_over(memory, sizeof memory);
    mdoc_item(key->path);
    text_add(&text, "%s. Type: %s; may be: ", key->doc, key_type_name((enum key_type)key->type));
    key_range_print(key, &text);
    if (key->missing == NULL) {
        text_add(&text, "; required.");
    } else {
        text_add(&text, "; left out: %s.", key->missing);
    }
    mdoc_text(text.data);
}

static void print_rule(enum fault_kind kind)
{
    const struct fault_trait *trait = fault_trait_of(kind);
    struct fault_rule rule = fault_rule_of(kind);
    char memory[KEY_TEXT_BYTES];
    struct text text = text_over(memory, sizeof memory);
    const char *comma = "";
    mdoc_item(fault_kind_name(kind));
    text_add(&text, "Strikes");
    static const char *const struck[] = {"clients", "nodes", "links"};
    for (size_t i = 0; i < sizeof struck / sizeof struck[0]; i++) {
        if ((trait->nature >> i & 1u) != 0) {
            text_add(&text, "%s %s", comma, struck[i]);
            comma = " or";
        }
    }
    text_add(&text, trait->life == FAULT_LASTS ? "; lasts" : "; happens once");
    for (int required = 1; required >= 0; required--) {
        uint32_t keys = required == 1 ? rule.required : rule.allowed & ~rule.required;
        comma = required == 1 ? "; needs " : "; takes ";
        for (size_t i = 0; i < FAULT_KEYS; i++) {
            if ((keys >> i & 1u) != 0) {
                text_add(&text, "%s`%s`", comma, fault_keys[i].path);
                comma = ", ";
            }
        }
    }
    text_add(&text, ".");
    mdoc_text(text.data);
}

static void print_keys(void)
{
    mdoc_list_begin();
    for (size_t i = 0; i < scenario_key_count; i++) {
        print_key(&scenario_keys[i]);
    }
    mdoc_list_end();
}

static void print_faults(void)
{
    mdoc_text("A fault has a beginning (`at` a time, or `on` an event), a kind (`do`), a target, "
              "and where it lasts an end.");
    mdoc_subsection("Keys of a fault");
    mdoc_list_begin();
    for (size_t i = 0; i < FAULT_KEYS; i++) {
        print_key(&fault_keys[i]);
    }
    mdoc_list_end();
    mdoc_subsection("Kinds of faults");
    mdoc_list_begin();
    for (int kind = FAULT_NONE + 1; kind < FAULT_KINDS; kind++) {
        print_rule((enum fault_kind)kind);
    }
    mdoc_list_end();
    mdoc_subsection("Probe points");
    mdoc_text("Where a fault of a client can begin, as in `client 1 after_granted`:");
    for (int point = 0; point < PROBE_POINTS; point++) {
        printf("%s%s\n", probe_point_name((enum probe_point)point),
               point + 1 < PROBE_POINTS ? "," : ".");
    }
}

static void print_checks(void)
{
    mdoc_text("Each check has one of the verdicts `pass`, `fail`, `unknown` or `any`, or "
              "`{verdict: fail, blame: library}`; blame is `library`, `assumption` or "
              "`deployment`. A check that is not named must not fail.");
    mdoc_list_begin();
    for (size_t i = 0; i < check_count(); i++) {
        mdoc_item(check_at(i)->name);
        mdoc_text(check_at(i)->question);
    }
    mdoc_list_end();
}

void manual_scenario(void)
{
    mdoc_begin("PICKLOCK-SCENARIO", 5, "picklock-scenario", "files that say what befalls a lock");
    mdoc_section("DESCRIPTION");
    mdoc_text("A scenario is one YAML file: the set-up, the faults, and the verdict that is "
              "expected of each check. Durations have units (`250ms`, `1.5s`, `2m`); a bare "
              "number is an error. Clients and nodes are counted from 1. Unknown keys, keys that "
              "stand twice and impossible targets are all told in one go, with their place: "
              "`picklock lint` does so without running anything.");
    mdoc_section("KEYS");
    print_keys();
    mdoc_section("FAULTS");
    print_faults();
    mdoc_section("EXPECTATIONS");
    print_checks();
    mdoc_section("ALGORITHMS");
    mdoc_list_begin();
    for (size_t i = 0; i < lock_algorithm_count(); i++) {
        mdoc_item(lock_algorithm_at((lock_algorithm_index)i)->name);
        mdoc_text(lock_algorithm_at((lock_algorithm_index)i)->about);
    }
    mdoc_list_end();
    mdoc_section("EXAMPLES");
    mdoc_display(example);
    mdoc_section("SEE ALSO");
    printf(".Xr picklock 1 ,\n.Xr picklock-history 5\n");
}

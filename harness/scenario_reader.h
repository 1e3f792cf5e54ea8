/*
 * scenario_reader.h: what the parts of the scenario parser share.
 *
 *     scenario.c          walks the tree along the table
 *     scenario_value.c    one value of any type
 *     scenario_fault.c    one fault
 *     scenario_trigger.c  "client 1 after_granted", "nodes 1-3"
 *     scenario_check.c    what cannot be right although each part is
 */
#ifndef HARNESS_SCENARIO_READER_H
#define HARNESS_SCENARIO_READER_H

#include "harness/scenario_document.h"
#include "harness/scenario_table.h"

/* Where each part of a fault stands; NULL where it does not. */
struct fault_places {
    const struct document *map;
    const struct document *keys[FAULT_KEYS];
};

/*
 * Parse one value as its key wants it and keep it in `base`. Types without a field of their own
 * (names, faults, targets ...) are not for this function. False if a problem was told.
 */
bool value_parse(struct problems *problems, const struct scenario_key *key,
                 const struct document *part, void *base);

/* Copy a word into `memory` of `bytes_max` bytes; false if it is no word or too long. */
bool value_parse_text(struct problems *problems, const struct scenario_key *key,
                      const struct document *part, char *memory);

/* Whether the part is of the kind that is wanted; else it tells so. */
bool part_is(struct problems *problems, const struct document *part, enum document_kind kind,
             const char *name);

/* Tell that `word` is none of `words`, which are called `noun` together. */
void word_refuse(struct problems *problems, struct place place, const char *noun, const char *word,
                 const struct key_word *words);

/* Parse "client 1 after_granted", "node 3 before set from client 1". */
bool trigger_parse(struct problems *problems, const struct document *part,
                   const struct scenario *scenario, struct trigger *trigger);
void trigger_print(const struct trigger *trigger, struct text *text);

/* What a target names: clients first..last, or nodes; -1..-1 and 0 where it names none. */
struct target {
    int32_t client_first;
    int32_t client_last;
    uint32_t node_mask;
};

/* Parse "client 2-5", "nodes 1-3,5", "clients", "nodes". */
bool target_parse(struct problems *problems, const struct document *part,
                  const struct scenario *scenario, struct target *target);
void target_print_clients(int32_t first, int32_t last, int32_t client_count, struct text *text);
void target_print_nodes(uint32_t mask, int32_t node_count, struct text *text);

/* Bits of all nodes. */
uint32_t nodes_all(int32_t node_count);

void fault_parse(struct problems *problems, const struct document *part,
                 const struct scenario *scenario, struct fault *fault);

/* Tell of a fault that is well formed but can never strike. */
void fault_check(struct problems *problems, const struct fault_places *places,
                 const struct scenario *scenario, const struct fault *fault);

/* Tell of settings that do not go together. `places[i]` belongs to scenario_keys[i]. */
void scenario_check(struct problems *problems, const struct document *const *places,
                    const struct scenario *scenario);

#endif

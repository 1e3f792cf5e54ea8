/*
 * sweep_cases.h: one fault at each point of a lock's own protocol, each as a scenario.
 *
 *     dry run  --sweep_look()-->  points  --sweep_case()-->  case 0, 1, 2 ...  --> text of a file
 *
 * A point is a command of the holder at a node: its first set, its first extend ..., as they were
 * seen; before and after it. Nodes that are asked at the same time are alike: one of them stands
 * for each, then a majority of them, then all. Where one is asked after the other, each is its own.
 */
#ifndef CLI_SWEEP_CASES_H
#define CLI_SWEEP_CASES_H

#include "cli/files.h"
#include "cli/loaded.h"
#include "harness/scenario_needs.h"
#include "servers/server.h"

enum { SWEEP_NODES_MAX = 7, SWEEP_CASES_MAX = FILES_SCENARIOS_MAX };

/* What was seen of a lock in a run in which nothing went wrong. */
struct sweep_protocol {
    const char *algorithm; /* as scenarios name it */
    const struct server_kind *kind;
    int32_t nodes;
    bool extends;
    bool renews;      /* by itself */
    int64_t renew_ns; /* from one of its renewals to the next; 0: it was not seen to */
    bool in_turn;     /* a node is asked when the one before it has answered */
    int32_t order[SWEEP_NODES_MAX];
    uint32_t commands[ROLE_OTHER]; /* of the holder at one node, by role */
};

/* One scenario. */
struct sweep_case {
    size_t strike; /* row of the table of what can be done */
    bool at_probe; /* the holder strikes itself at `point`; else at a command */
    uint8_t point; /* enum probe_point */
    uint8_t role;  /* enum command_role */
    uint32_t nth;
    bool before;
    bool stays;     /* the holder stays until what was promised or renewed last is over */
    uint32_t nodes; /* bit n: where it strikes */
    char set[16];   /* "one", "most", "all", or the number of a node */
};

struct sweep_cases {
    size_t count;
    struct sweep_case list[SWEEP_CASES_MAX];
};

/* The scenario of the dry run. */
void sweep_base(const struct sweep_protocol *protocol, struct text *text);

/* Learn the protocol from the run of sweep_base. False if the lock was not even granted. */
bool sweep_look(const struct loaded *loaded, struct sweep_protocol *protocol);

/* Every single fault at every point. */
void sweep_list(const struct sweep_protocol *protocol, struct sweep_cases *cases);

/* The name of a case, which says what it is. */
void sweep_name(const struct sweep_case *one, struct text *text);

/* The scenario file of a case, up to what is expected. */
void sweep_print(const struct sweep_protocol *protocol, const struct sweep_case *one,
                 struct text *text);

/* What can be done: a row of the table at the end. */
size_t sweep_strike_count(void);
const char *sweep_strike_about(size_t strike);

#endif

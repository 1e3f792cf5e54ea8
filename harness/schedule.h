/*
 * schedule.h: when each fault of a plan begins and ends, as a step.
 *
 *     probe passed, command seen, time come  -->  schedule_*()  -->  actions: begin, end fault k
 *
 * Both worlds ask it at every probe passing and command; they carry the actions out, in order,
 * before the client or the command goes on. All state is in the caller's memory, without
 * pointers. A fault with neither an end nor an `until` (for_ns 0: kill, evict, ...) begins and ends
 * in one list.
 */
#ifndef HARNESS_SCHEDULE_H
#define HARNESS_SCHEDULE_H

#include "harness/scenario.h"

enum schedule_action_type { SCHEDULE_BEGIN, SCHEDULE_END };

struct schedule_action {
    uint8_t type;   /* enum schedule_action_type */
    uint8_t fault;  /* index into the plan's faults */
    int32_t client; /* the client whose passing pulled the trigger, or SCENARIO_ANY */
    int32_t node;   /* the node of the command that pulled it, or SCENARIO_ANY */
};

struct schedule_actions {
    uint32_t count;
    bool changed; /* what is watched and what is due next are others now */
    struct schedule_action list[2 * SCENARIO_FAULTS_MAX];
};

enum schedule_state {
    SCHEDULE_WAITING,
    SCHEDULE_DUE, /* its event has happened: it begins `after` that */
    SCHEDULE_ACTIVE,
    SCHEDULE_ENDED,
};

/* Whose passing or command pulled a trigger. */
struct schedule_cause {
    int32_t client; /* or SCENARIO_ANY */
    int32_t node;   /* or SCENARIO_ANY */
};

struct schedule {
    uint32_t count;                       /* faults */
    uint8_t state[SCENARIO_FAULTS_MAX];   /* enum schedule_state */
    uint32_t passes[SCENARIO_FAULTS_MAX]; /* of the trigger that is waited for */
    int64_t end_ns[SCENARIO_FAULTS_MAX];  /* ACTIVE, by time: when it ends; TIME_NEVER if open */
    int64_t due_ns[SCENARIO_FAULTS_MAX];  /* DUE: when it begins */
    struct schedule_cause causes[SCENARIO_FAULTS_MAX]; /* DUE: of its event */
    int64_t next_ns;         /* earliest time trigger; TIME_NEVER if none */
    uint32_t probes_watched; /* bit p: some trigger still waits for probe p */
    bool commands_watched;   /* some trigger still waits for a command */
};

void schedule_init(struct schedule *schedule, const struct plan *plan);

/* A client passes a probe point. */
struct schedule_pass {
    uint8_t point; /* enum probe_point */
    int32_t client;
    int64_t true_ns;
};

void schedule_probe(struct schedule *schedule, const struct plan *plan,
                    const struct schedule_pass *pass, struct schedule_actions *actions);

/* A command is about to reach a node (TRIGGER_ARRIVAL) or was applied (TRIGGER_COMMAND). */
struct schedule_sight {
    uint8_t moment; /* TRIGGER_ARRIVAL or TRIGGER_COMMAND */
    uint8_t role;   /* enum command_role */
    int32_t client;
    int32_t node;
    int64_t true_ns;
};

void schedule_command(struct schedule *schedule, const struct plan *plan,
                      const struct schedule_sight *sight, struct schedule_actions *actions);

/* Time has come to schedule->next_ns. */
void schedule_time(struct schedule *schedule, const struct plan *plan, int64_t true_ns,
                   struct schedule_actions *actions);

/* End every active fault; those that still wait will never begin. */
void schedule_heal(struct schedule *schedule, const struct plan *plan, int64_t true_ns,
                   struct schedule_actions *actions);

#endif

/*
 * client_inner.h: what the files of client.h share; nobody else includes it.
 *
 *     client.c           acquires, releases, and which step comes next
 *     client_section.c   what it does with what it holds: reads, writes, asks for more time
 *     client_say.c       effects and records
 */
#ifndef HARNESS_CLIENT_INNER_H
#define HARNESS_CLIENT_INNER_H

#include "harness/client.h"

/* One call of client_step: what it knows and where its effects go. */
struct client_call {
    struct client *client;
    const struct client_program *program;
    const struct client_event *event;
    struct client_effects *effects;
};

/* ---- client_say.c ---- */

/* The grant that the step is about. */
struct client_hold *client_at(const struct client_call *call);
struct client_effect *client_effect(struct client_call *call, enum client_effect_type type);
struct history_event *client_record(struct client_call *call, enum history_kind kind,
                                    enum history_type type, enum history_f f);
/* A record about the grant that the client holds: with its value and fence. */
struct history_event *client_record_held(struct client_call *call, enum history_kind kind,
                                         enum history_type type, enum history_f f);
void client_go(struct client_call *call, enum client_state state);
void client_probe(struct client_call *call, enum client_state state, enum probe_point point);
void client_wake(struct client_call *call, int64_t at_ns);
void client_ask(struct client_call *call, enum client_state state, enum history_f f);
/* The end that the lock promised, if it did. */
void client_promise(struct history_event *record, const struct client_event *event);
enum history_type client_outcome_type(enum client_outcome outcome);

/* ---- client_section.c ---- */

/* Whether it was told that something that it holds may be lost, and no more. */
bool client_in_jeopardy(const struct client *client);
/* In the section with nothing outstanding: do what is due, or wait for it. */
void client_hold(struct client_call *call);
void client_write(struct client_call *call);
void client_store(struct client_call *call);
void client_extend(struct client_call *call);
void client_told_extend(struct client_call *call);
void client_extended(struct client_call *call);
/* All that it wants is held. */
void client_enter(struct client_call *call);

/* ---- client.c ---- */

/* Ask for the next one. */
void client_acquire(struct client_call *call);
/* Give back what was granted last: `times` times, which is a mistake where it is more than one. */
void client_give_back(struct client_call *call, int32_t times);

#endif

/*
 * notation.h: histories of a lock in one line.
 *
 *     a1.x:0-3   process 1 acquires with value x, from 0 to 3, and is granted it
 *     r4:1-2:i   process 4 releases, names nobody, and the outcome is unknown (f: it failed)
 *     a1:0-3/120#7   the grant is promised until 120, and has the fence 7
 *     a1@o:0-3   ... by the owner o
 *     a1:0-3+x   ... with value x, which only the end tells (+@x: the owner)
 *     e1.x:4-5/90    an extension; u: with ":u" nothing ever came back
 *     o2:0-1=x   an observation: held by x (=*: by somebody, =-: by nobody)
 */
#ifndef TESTS_CHECKER_NOTATION_H
#define TESTS_CHECKER_NOTATION_H

#include "checker/linear/linear.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { NOTATION_EVENTS_MAX = 128 };

struct notation {
    struct history_event events[NOTATION_EVENTS_MAX];
    int count;
};

static inline const char *notation_name(const char *at, struct history_value *name)
{
    size_t bytes = strspn(at, "abcdefghijklmnopqrstuvwxyz");
    *name = (struct history_value){{0}};
    memcpy(name->bytes, at, bytes < sizeof name->bytes ? bytes : sizeof name->bytes);
    return at + bytes;
}

/* What stands behind the times: outcome, promised end, fence, what was seen. */
static inline const char *notation_end(const char *at, struct history_event *end, bool *open)
{
    while (*at != '\0' && *at != ' ') {
        char sign = *at++;
        char *rest = NULL;
        if (sign == ':') {
            end->type = *at == 'i' ? HISTORY_INFO : *at == 'f' ? HISTORY_FAIL : HISTORY_OK;
            *open = *at == 'u';
            at++;
        } else if (sign == '/') {
            end->until_ns = strtoll(at, &rest, 10);
            end->flags |= HISTORY_HAS_UNTIL;
            at = rest;
        } else if (sign == '#') {
            end->fence = strtoll(at, &rest, 10);
            at = rest;
        } else if (sign == '+') {
            bool owner = *at == '@';
            at = notation_name(owner ? at + 1 : at, owner ? &end->owner : &end->value);
            end->flags |= owner ? HISTORY_HAS_OWNER : HISTORY_HAS_VALUE;
        } else {
            cr_assert_eq(sign, '=', "what is \"%c\"?", sign);
            end->version = *at != '-';
            end->flags = 0;
            if (*at == '-' || *at == '*') {
                at++;
            } else {
                end->flags = HISTORY_HAS_VALUE;
                at = notation_name(at, &end->value);
            }
        }
    }
    return at;
}

/* One operation; its two events are put behind the others. */
static inline const char *notation_operation(const char *at, struct notation *notation)
{
    struct history_event call = {.kind = HISTORY_OP, .type = HISTORY_INVOKE};
    char *rest = NULL;
    call.f = (uint8_t)(*at == 'a'   ? HISTORY_ACQUIRE
                       : *at == 'r' ? HISTORY_RELEASE
                       : *at == 'e' ? HISTORY_EXTEND
                                    : HISTORY_OBSERVE);
    call.process = (int32_t)strtol(at + 1, &rest, 10);
    at = rest;
    if (*at == '.') {
        at = notation_name(at + 1, &call.value);
        call.flags |= HISTORY_HAS_VALUE;
    } else if (*at == '@') {
        at = notation_name(at + 1, &call.owner);
        call.flags |= HISTORY_HAS_OWNER;
    }
    struct history_event end = call;
    bool open = false;
    end.type = HISTORY_OK;
    call.time_ns = strtoll(at + 1, &rest, 10);
    end.time_ns = strtoll(rest + 1, &rest, 10);
    at = notation_end(rest, &end, &open);
    cr_assert_leq(notation->count + 2, (int)NOTATION_EVENTS_MAX);
    notation->events[notation->count++] = call;
    if (!open) {
        notation->events[notation->count++] = end;
    }
    return at;
}

/* Stable, by time: a process's own events keep their order. */
static inline void notation_sort(struct notation *notation)
{
    for (int i = 1; i < notation->count; i++) {
        struct history_event event = notation->events[i];
        int at = i;
        while (at > 0 && notation->events[at - 1].time_ns > event.time_ns) {
            notation->events[at] = notation->events[at - 1];
            at--;
        }
        notation->events[at] = event;
    }
    for (int i = 0; i < notation->count; i++) {
        notation->events[i].index = (uint64_t)i;
    }
}

static inline void notation_read(const char *line, struct notation *notation)
{
    *notation = (struct notation){.count = 0};
    for (const char *at = line; *at != '\0';) {
        at = *at == ' ' ? at + 1 : notation_operation(at, notation);
    }
    notation_sort(notation);
}

/* As a file is judged: as events arrive, and once more with all operations kept if need be. */
static inline struct linear_result notation_judge(const struct linear_options *options,
                                                  const char *line)
{
    struct notation notation;
    struct linear_options tried = *options;
    notation_read(line, &notation);
    for (;;) {
        struct linear *linear = linear_open(&tried);
        for (int i = 0; i < notation.count; i++) {
            linear_event(linear, &notation.events[i]);
        }
        linear_finish(linear);
        struct linear_result result = *linear_result(linear);
        linear_close(linear);
        if (!result.again || tried.log_bytes_max > 0) {
            return result;
        }
        tried.log_bytes_max = (size_t)1 << 24;
    }
}

#endif

/* doctor.h: what this machine offers to the real world, and how to get what is missing. */
#ifndef HARNESS_REAL_DOCTOR_H
#define HARNESS_REAL_DOCTOR_H

#include "servers/server.h"

#include "base/result.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

enum { DOCTOR_TEXT_BYTES = 256 };

struct doctor_line {
    const char *what; /* "redis-server" */
    bool there;
    bool broken;                    /* it is there, and does not do what it must */
    bool slow;                      /* it is there, and did not answer in time: nobody knows */
    bool needed;                    /* without it the real world does not run */
    char found[DOCTOR_TEXT_BYTES];  /* what was seen: a version, a path, or what is wrong */
    char remedy[DOCTOR_TEXT_BYTES]; /* "apt-get install redis-server"; "" where there is nothing
                                       to do */
};

/* The table, and a row for each kind of server beside Redis: look at row `index` < doctor_count().
 * Each look takes some milliseconds, and seconds where something is slow. */
size_t doctor_count(void);
void doctor_look(size_t index, struct doctor_line *line);

/* Is the program at this path a server of that kind, which has a launch, and new enough? It is
 * asked for its version; `why` names the path and what it is instead. */
MUST_USE struct result doctor_is_server(const struct server_kind *kind, const char *path,
                                        struct text *why);

#endif

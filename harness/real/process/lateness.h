/*
 * lateness.h: how long we ourselves stood still, as a step: clocks in, findings out.
 *
 *     every millisecond: lateness_read(&clocks); lateness_look(&lateness, &clocks, found)
 *
 * Whoever stamps times must know when it could not. The loop looks at its clocks once a beat; a
 * look that comes late was kept from coming: by a stop, by our own work, by a scheduler that gave
 * the processor to others. Between two looks it cannot be told when, so a finding covers all of
 * the time between them.
 *
 * Clocks are given, so that a suspended machine can be tested without one. A process other than
 * ours is judged by what its threads waited for a processor (lateness_waited).
 *
 * Who is given a grace to do something in is given a processor for as long: see lateness_grace.
 */
#ifndef HARNESS_REAL_LATENESS_H
#define HARNESS_REAL_LATENESS_H

#include "history/event.h"

#include <sys/types.h>

enum {
    LATENESS_BEAT_NS = 1000000,    /* a look should come so often */
    LATENESS_STOP_NS = 1000000000, /* we were stopped, or as good as */
    LATENESS_FOUND_MAX = 3,
    LATENESS_GRACE_LOOK_NS = 50000000, /* how often who has a grace should be looked at */
};

struct lateness_clocks {
    int64_t mono_ns;   /* true time: stands while the machine is suspended */
    int64_t boot_ns;   /* the same, and goes on meanwhile */
    int64_t wall_ns;   /* what nodes count a key's life by */
    int64_t waited_ns; /* this process, in all, for a processor; -1: nobody tells */
    bool apart;        /* something came between reading one and the next: no more than mono_ns
                          is to be trusted */
};

struct lateness_found {
    uint8_t cause;     /* enum history_cause, of lateness */
    int64_t time_ns;   /* of the look */
    int64_t length_ns; /* it was in the time so long before */
    int64_t amount_ns; /* and took so long; of a clock step: by how much, which may be negative */
};

struct lateness {
    bool begun;
    struct lateness_clocks last;
    int64_t ahead_ns;  /* boot less mono */
    int64_t offset_ns; /* wall less boot */
    int64_t lost_ns;   /* all that was found of ourselves and was a stop, not a busy machine */
};

/* Gives how many of `found` were found. */
uint32_t lateness_look(struct lateness *lateness, const struct lateness_clocks *now,
                       struct lateness_found found[LATENESS_FOUND_MAX]);

void lateness_read(struct lateness_clocks *clocks);

/* What all threads of a process waited for a processor, ns in all; -1: it is gone. */
int64_t lateness_waited(pid_t pid);
/* The same of its first thread alone: the one that serves, in a redis-server. */
int64_t lateness_waited_main(pid_t pid);
/*
 * What a process waits for that has no processor, or that the kernel keeps: one that it has
 * started, or that one of those has, which is ready to run, or runs; itself in a call of the
 * kernel that no signal ends, such as a fork; 0: none. How long a child waits it only tells when
 * it has run, and then it may be gone.
 */
pid_t lateness_held_up(pid_t pid);
/* The same of itself alone: a server that writes to a disk. */
pid_t lateness_held_up_main(pid_t pid);
/* What all threads of a process ran, ns in all; 0 if it is gone. */
int64_t lateness_ran(pid_t pid);

/* What some processes did until now: their threads, taken together. */
struct lateness_sight {
    int64_t ran_ns;
    int64_t waited_ns; /* for a processor; what it waits for now is added when it has one */
    bool ready;        /* one of them has a processor or waits for one, or for a disk */
};

/* Add what is seen of one of them. */
void lateness_see(pid_t pid, struct lateness_sight *sight);

/* A grace: only that time of it is used up in which they, and we who look, could do anything. */
struct lateness_grace {
    int64_t left_ns;
    int64_t bound_ns; /* over at this time, whatever is left */
    int64_t last_ns;  /* of the last look */
    struct lateness_sight last;
};

void lateness_grace_begin(struct lateness_grace *grace, int64_t now_ns, int64_t length_ns,
                          const struct lateness_sight *sight);
/* Look again; true: it is over. */
bool lateness_grace_look(struct lateness_grace *grace, int64_t now_ns,
                         const struct lateness_sight *sight);

#endif

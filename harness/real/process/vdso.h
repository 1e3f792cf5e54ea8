/*
 * vdso.h: the wall clock of a program that goes round libc: Go, and what is linked statically.
 *
 *     if (vdso_is_asked(pid)) { vdso_install(&vdso, pid, why); }
 *     vdso_set(&vdso, &clock, why);
 *
 * Such programs read the time through the pages that the kernel maps into every process ([vdso]),
 * where nothing can be preloaded. Those pages are a process's own as soon as they are written to
 * (/proc/PID/mem): the functions for the wall clock are replaced by some that ask the kernel and
 * then put the moment on another line. Monotonic clocks stay as they are, as with the preload.
 *
 * Every call stops the process for some 100 us, so that no thread is inside what is written. x86-64
 * only; elsewhere vdso_install refuses with a sentence.
 */
#ifndef HARNESS_REAL_VDSO_H
#define HARNESS_REAL_VDSO_H

#include "base/clock.h"
#include "base/result.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct vdso {
    pid_t pid; /* 0: not installed */
    uint64_t begin;
    uint64_t end;
    uint64_t line; /* where the numbers of the clock stand */
};

/* Does this program read its clocks there itself? */
bool vdso_is_asked(pid_t pid);

/* Replace the functions; the clock is sound. The process must run, and be our child. */
MUST_USE struct result vdso_install(struct vdso *vdso, pid_t pid, struct text *why);

/* From now on the wall clock is this one; its true time is the machine's wall clock. */
MUST_USE struct result vdso_set(const struct vdso *vdso, const struct clock *clock,
                                struct text *why);

#endif

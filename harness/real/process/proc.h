/*
 * proc.h: what /proc says of a process. One that is not there, or not ours to look at, says
 * nothing: no call fails.
 */
#ifndef HARNESS_REAL_PROC_H
#define HARNESS_REAL_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Fields of /proc/PID/stat that are numbers, as proc(5) counts them. */
enum proc_field {
    PROC_FIELD_PARENT = 4,
    PROC_FIELD_GROUP = 5,
    PROC_FIELD_SESSION = 6,
    PROC_FIELD_START = 22,
};

/* /proc/PID/`file` into `bytes`, cut to `room` - 1 and ended with a 0. Gives how many there are. */
size_t proc_read(pid_t pid, const char *file, char *bytes, size_t room);

/* The letter of its state: 'R', 'S', 'D', 'T', 'Z', ..., or 0. */
char proc_state(pid_t pid);

/* A field that is a number, or 0. */
long long proc_field(pid_t pid, enum proc_field field);

/* Of a variable in the environment that a process was started with. */
enum proc_variable {
    PROC_VARIABLE_UNSET,
    PROC_VARIABLE_SET,
    PROC_NO_ENVIRONMENT, /* empty, as it is of a process that is about to become another program */
};

/* One reading of its environment; `value` is set where the variable `name` is. */
enum proc_variable proc_variable(pid_t pid, const char *name, char *value, size_t value_bytes);

/* The same of one thread: /proc/PID/task/TID/`file`. A process's first thread has its number. */
size_t proc_read_thread(pid_t thread, const char *file, char *bytes, size_t room);

/* The letter of its state. */
char proc_state_thread(pid_t thread);

/* Call `each` for every thread of it. False: there is no such process. */
bool proc_threads(pid_t pid, void (*each)(pid_t thread, void *data), void *data);

/* Call `each` for every process but the first one of the machine, and us. */
void proc_processes(void (*each)(pid_t pid, void *data), void *data);

#endif

/* proc.c: what /proc says of a process. */
#include "harness/real/process/proc.h"

#include "base/assert.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line of /proc/PID/stat, and as much of an environment as the kernel's limit for one string. */
enum { PROC_STAT_BYTES = 1024, PROC_ENVIRONMENT_BYTES = 1 << 18 };

static size_t read_whole(const char *path, char *bytes, size_t room)
{
    size_t filled = 0;
    ssize_t got = 0;
    ASSERT(room > 0);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && filled < room - 1 &&
           (got = read(fd, bytes + filled, room - 1 - filled)) > 0) {
        filled += (size_t)got;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    bytes[filled] = '\0';
    return filled;
}

size_t proc_read(pid_t pid, const char *file, char *bytes, size_t room)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    return read_whole(path, bytes, room);
}

size_t proc_read_thread(pid_t thread, const char *file, char *bytes, size_t room)
{
    char path[80];
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)thread, (int)thread, file);
    return read_whole(path, bytes, room);
}

/* The name stands in parentheses and may hold any byte: field 3 follows the last one. */
static const char *stat_behind_name(char *line)
{
    const char *end = strrchr(line, ')');
    return end != NULL && end[1] == ' ' ? end + 2 : NULL;
}

char proc_state(pid_t pid)
{
    char line[PROC_STAT_BYTES];
    (void)proc_read(pid, "stat", line, sizeof line);
    const char *state = stat_behind_name(line);
    return state != NULL ? *state : 0;
}

char proc_state_thread(pid_t thread)
{
    char line[PROC_STAT_BYTES];
    (void)proc_read_thread(thread, "stat", line, sizeof line);
    const char *state = stat_behind_name(line);
    return state != NULL ? *state : 0;
}

long long proc_field(pid_t pid, enum proc_field field)
{
    char line[PROC_STAT_BYTES];
    (void)proc_read(pid, "stat", line, sizeof line);
    const char *at = stat_behind_name(line);
    for (int i = 3; at != NULL && i < (int)field; i++) {
        at = strchr(at, ' ');
        at = at != NULL ? at + 1 : NULL;
    }
    return at != NULL ? strtoll(at, NULL, 10) : 0;
}

enum proc_variable proc_variable(pid_t pid, const char *name, char *value, size_t value_bytes)
{
    static char environment[PROC_ENVIRONMENT_BYTES];
    size_t name_bytes = strlen(name);
    size_t bytes = proc_read(pid, "environ", environment, sizeof environment);
    for (size_t at = 0; at < bytes; at += strlen(environment + at) + 1) {
        const char *entry = environment + at;
        if (strncmp(entry, name, name_bytes) == 0 && entry[name_bytes] == '=') {
            (void)snprintf(value, value_bytes, "%s", entry + name_bytes + 1);
            return PROC_VARIABLE_SET;
        }
    }
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    bool ours_to_look_at = access(path, R_OK) == 0;
    return bytes == 0 && ours_to_look_at ? PROC_NO_ENVIRONMENT : PROC_VARIABLE_UNSET;
}

/* Call `each` for the numbers that a directory is full of. False: there is none. */
static bool each_number(const char *path, void (*each)(pid_t number, void *data), void *data)
{
    DIR *directory = opendir(path);
    struct dirent *entry = directory != NULL ? readdir(directory) : NULL;
    for (; entry != NULL; entry = readdir(directory)) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') {
            each((pid_t)strtol(entry->d_name, NULL, 10), data);
        }
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    return directory != NULL;
}

bool proc_threads(pid_t pid, void (*each)(pid_t thread, void *data), void *data)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    return each_number(path, each, data);
}

struct others {
    void (*each)(pid_t pid, void *data);
    void *data;
};

static void others_each(pid_t pid, void *data)
{
    const struct others *others = data;
    if (pid > 1 && pid != getpid()) {
        others->each(pid, others->data);
    }
}

void proc_processes(void (*each)(pid_t pid, void *data), void *data)
{
    struct others others = {each, data};
    (void)each_number("/proc", others_each, &others);
}

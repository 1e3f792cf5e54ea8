/* doctor.c: what this machine offers to the real world. */
#include "harness/real/process/doctor.h"

#include "base/assert.h"
#include "base/duration.h"
#include "harness/real/node/node.h"
#include "harness/real/node/shims.h"
#include "harness/real/process/guard.h"
#include "harness/real/process/loop.h"
#include "servers/kinds.h"
#include "servers/redis/real/secure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DOCTOR_PATIENCE_SECONDS = 5, DOCTOR_FILES_MIN = 1024, DOCTOR_REDIS_MIN = 5 };

enum doctor_answer { DOCTOR_ANSWERED, DOCTOR_MISSING, DOCTOR_SILENT, DOCTOR_FAILED };

/* What `timeout` and the shell say by their exit codes. */
enum { EXIT_TIMED_OUT = 124, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127, EXIT_KILLED = 137 };

/*
 * The first line that a program prints, within some seconds. The words are ours. All that it prints
 * is read: one that says more would die of a closed pipe, and seem to fail.
 */
static enum doctor_answer doctor_ask(const char *command, char *line, size_t line_bytes)
{
    char bounded[DOCTOR_TEXT_BYTES];
    (void)snprintf(bounded, sizeof bounded, "timeout -k 1 %d %s 2>/dev/null </dev/null",
                   DOCTOR_PATIENCE_SECONDS, command);
    FILE *pipe = popen(bounded, "re");
    if (pipe == NULL) {
        return DOCTOR_FAILED;
    }
    bool read = fgets(line, (int)line_bytes, pipe) != NULL;
    line[read ? strcspn(line, "\n") : 0] = 0;
    char rest[DOCTOR_TEXT_BYTES];
    while (fread(rest, 1, sizeof rest, pipe) > 0) { /* until its end, or `timeout` ends it */
    }
    int status = pclose(pipe);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_KILLED;
    switch (code) {
    case 0:
        return read ? DOCTOR_ANSWERED : DOCTOR_FAILED;
    case EXIT_NOT_FOUND:
        return DOCTOR_MISSING;
    case EXIT_TIMED_OUT:
    case EXIT_KILLED:
        return DOCTOR_SILENT;
    default:
        return DOCTOR_FAILED;
    }
}

/* `shown` is the command as its user knows it. */
static void doctor_answered(enum doctor_answer answer, const char *shown, const char *package,
                            struct doctor_line *line)
{
    line->there = answer == DOCTOR_ANSWERED;
    line->broken = answer == DOCTOR_FAILED;
    line->slow = answer == DOCTOR_SILENT;
    if (answer == DOCTOR_MISSING) {
        (void)snprintf(line->found, sizeof line->found, "not found");
        (void)snprintf(line->remedy, sizeof line->remedy, "apt-get install %s", package);
    } else if (answer == DOCTOR_SILENT) {
        (void)snprintf(line->found, sizeof line->found, "`%.150s` does not answer within %d s",
                       shown, DOCTOR_PATIENCE_SECONDS);
    } else if (answer == DOCTOR_FAILED) {
        (void)snprintf(line->found, sizeof line->found, "`%.150s` is there and fails", shown);
    }
    if (line->slow) {
        (void)snprintf(line->remedy, sizeof line->remedy,
                       "look again when less runs here; if it hangs: apt-get install --reinstall "
                       "%s",
                       package);
    } else if (line->broken) {
        (void)snprintf(line->remedy, sizeof line->remedy, "apt-get install --reinstall %s",
                       package);
    }
}

static void doctor_program(const char *command, const char *package, struct doctor_line *line)
{
    enum doctor_answer answer = doctor_ask(command, line->found, sizeof line->found);
    doctor_answered(answer, command, package, line);
}

/* "Redis server v=7.0.15 ...". Failover needs REPLICAOF, which came with 5. */
static void doctor_redis(struct doctor_line *line)
{
    doctor_program("redis-server --version", "redis-server", line);
    const char *version = strstr(line->found, "v=");
    if (line->there && (version == NULL || strtol(version + 2, NULL, 10) < DOCTOR_REDIS_MIN)) {
        char told[DOCTOR_TEXT_BYTES / 2];
        (void)snprintf(told, sizeof told, "%.100s", line->found);
        line->there = false;
        line->broken = true;
        (void)snprintf(line->found, sizeof line->found, "%s: must be %d or newer", told,
                       DOCTOR_REDIS_MIN);
        (void)snprintf(line->remedy, sizeof line->remedy,
                       "install a newer one, and put it first "
                       "on the PATH");
    }
}

static void doctor_node_js(struct doctor_line *line)
{
    doctor_program("node --version", "nodejs npm", line);
}

static void doctor_tls(struct doctor_line *line)
{
    struct text found = text_over(line->found, sizeof line->found);
    line->there = secure_there(&found);
}

static void doctor_kernel(struct doctor_line *line)
{
    struct utsname name;
    line->there = uname(&name) == 0;
    (void)snprintf(line->found, sizeof line->found, "%.100s %.100s", name.sysname, name.release);
}

static void doctor_files(struct doctor_line *line)
{
    struct rlimit limit = {0, 0};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    line->there = limit.rlim_cur >= DOCTOR_FILES_MIN;
    (void)snprintf(line->found, sizeof line->found, "%llu open files a process",
                   (unsigned long long)limit.rlim_cur);
    if (!line->there) {
        (void)snprintf(line->remedy, sizeof line->remedy, "ulimit -n %d", DOCTOR_FILES_MIN);
    }
}

static void doctor_shim(const char *name, struct doctor_line *line)
{
    struct text why = text_over(line->found, sizeof line->found);
    char path[DOCTOR_TEXT_BYTES];
    line->there = !result_failed(shim_find(name, path, sizeof path, &why));
    if (line->there) {
        text_add(&why, "%s", path);
    } else {
        (void)snprintf(line->remedy, sizeof line->remedy, "make, or make install");
    }
}

static void doctor_clock_shim(struct doctor_line *line)
{
    doctor_shim("clock", line);
}

static void doctor_fsync_shim(struct doctor_line *line)
{
    doctor_shim("fsync", line);
}

/* `slow` says that it did not answer in time. */
static struct result doctor_run_server(struct node *node, const char *directory, bool *slow,
                                       struct text *why)
{
    const struct node_options options = {.kind = SERVER_KIND_redis,
                                         .fsync = FSYNC_ALWAYS,
                                         .fake_clock = true,
                                         .track_fsync = true,
                                         .run_directory = directory};
    int64_t deadline_ns = loop_now_ns() + DOCTOR_PATIENCE_SECONDS * NS_PER_S;
    int64_t offset_ns = 0;
    bool ready = false;
    TRY(node_init(node, &options, why));
    TRY(node_start(node, why));
    while (!ready && loop_now_ns() < deadline_ns) {
        TRY(node_ready(node, &ready, why));
        (void)nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
    }
    if (!ready) {
        *slow = true;
        text_add(why, "a redis-server does not answer within %d s", DOCTOR_PATIENCE_SECONDS);
        return result_error(ERROR_ENVIRONMENT);
    }
    node_clock_set(node, 11 * NS_PER_S, CLOCK_PAGE_PPM);
    TRY(node_clock_offset(node, &offset_ns, why));
    text_add(why, "port %d, clock moved by ", node->port);
    duration_print_rounded(offset_ns, why);
    if (offset_ns < 10 * NS_PER_S) {
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

/* The proof: a server on a free port, with both shims, whose clock jumps. */
static void doctor_server(struct doctor_line *line)
{
    char directory[] = "/tmp/picklock-doctor-XXXXXX";
    struct node node;
    struct text why = text_over(line->found, sizeof line->found);
    memset(&node, 0, sizeof node);
    node.port_fd = -1;
    if (mkdtemp(directory) == NULL) {
        text_add(&why, "/tmp: %s", strerror(errno));
        return;
    }
    line->there = !result_failed(doctor_run_server(&node, directory, &line->slow, &why));
    line->broken = !line->there && !line->slow;
    node_release(&node);
    guard_remove_tree(directory);
}

struct doctor_row {
    const char *what;
    bool needed;
    void (*look)(struct doctor_line *line);
};

static const struct doctor_row doctor_rows[] = {
    {"kernel", true, doctor_kernel},
    {"redis-server", true, doctor_redis},
    {"clock shim", true, doctor_clock_shim},
    {"fsync shim", true, doctor_fsync_shim},
    {"server under both shims", true, doctor_server},
    {"open files", true, doctor_files},
    {"node (for adapters of node-redlock)", false, doctor_node_js},
    {"TLS to bare nodes", false, doctor_tls},
};

enum { DOCTOR_ROWS = sizeof doctor_rows / sizeof doctor_rows[0] };

/* Kinds that the real world has, beside Redis. */
static const struct server_kind *doctor_kind(size_t number)
{
    for (size_t i = 0; i < server_kind_count(); i++) {
        const struct server_kind *kind = server_kind_at(i);
        bool counts = kind->launch != NULL && i != SERVER_KIND_redis;
        if (counts && number-- == 0) {
            return kind;
        }
    }
    return NULL;
}

size_t doctor_count(void)
{
    size_t kinds = 0;
    while (doctor_kind(kinds) != NULL) {
        kinds++;
    }
    return DOCTOR_ROWS + kinds;
}

/* "etcd Version: 3.4.23": 304; 0: it says no version of such a server. */
static unsigned long version_read(const struct server_launch *launch, const char *said)
{
    const char *words = strstr(said, launch->version_words);
    char *end = NULL;
    if (words == NULL) {
        return 0;
    }
    unsigned long major = strtoul(words + strlen(launch->version_words), &end, 10);
    unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return major > 0 && major < 1000 && minor < 100 ? major * 100 + minor : 0;
}

/* A path may have any character in it. */
static enum doctor_answer doctor_ask_version(const char *path, char *said, size_t bytes)
{
    (void)setenv("PICKLOCK_DOCTOR", path, 1);
    return doctor_ask("\"$PICKLOCK_DOCTOR\" --version", said, bytes);
}

struct result doctor_is_server(const struct server_kind *kind, const char *path, struct text *why)
{
    const struct server_launch *launch = kind->launch;
    char said[DOCTOR_TEXT_BYTES / 2] = "";
    struct stat status;
    bool file = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    if (!file || access(path, X_OK) != 0) {
        text_add(why, "%s is %s; a program for %s servers is expected (%s)", path,
                 file ? "not executable" : "no file", kind->name, launch->program);
        return result_error(ERROR_USAGE);
    }
    enum doctor_answer answer = doctor_ask_version(path, said, sizeof said);
    if (answer == DOCTOR_SILENT) {
        text_add(why, "%s does not say its --version within %d s", path, DOCTOR_PATIENCE_SECONDS);
        return result_error(ERROR_ENVIRONMENT);
    }
    unsigned long version = answer == DOCTOR_ANSWERED ? version_read(launch, said) : 0;
    if (version == 0) {
        text_add(why,
                 "%s is no %s: asked for its --version it says \"%s\", and \"%s...\" is "
                 "expected",
                 path, launch->program, said, launch->version_words);
        return result_error(ERROR_USAGE);
    }
    if (version < launch->version_min) {
        text_add(why, "%s is %s %lu.%lu, which is not supported: %u.%u or newer is needed", path,
                 launch->program, version / 100, version % 100, launch->version_min / 100,
                 launch->version_min % 100);
        return result_error(ERROR_USAGE);
    }
    return RESULT_OK;
}

/* What it says of itself, and whether that is enough. */
static void doctor_version(const struct server_kind *kind, const char *said,
                           struct doctor_line *line)
{
    const struct server_launch *launch = kind->launch;
    line->there = version_read(launch, said) >= launch->version_min;
    if (line->there) {
        (void)snprintf(line->found, sizeof line->found, "%.60s, for %s locks", said, kind->name);
        return;
    }
    line->broken = true;
    (void)snprintf(line->found, sizeof line->found, "%.100s: must be %u.%u or newer", said,
                   launch->version_min / 100, launch->version_min % 100);
    (void)snprintf(line->remedy, sizeof line->remedy,
                   "install a newer one, and put it first "
                   "on the PATH");
}

/* A kind of server beside Redis: all that its locks need in the real world. */
static void doctor_launch(const struct server_kind *kind, struct doctor_line *line)
{
    const struct server_launch *launch = kind->launch;
    char path[SERVER_PATH_BYTES];
    char shown[SERVER_PATH_BYTES];
    char said[DOCTOR_TEXT_BYTES / 2];
    char memory[DOCTOR_TEXT_BYTES / 2];
    struct text what = text_over(memory, sizeof memory);
    struct text remedy = text_over(line->remedy, sizeof line->remedy);
    line->what = launch->program;
    if (server_launch_lacks(launch, &what, &remedy)) {
        (void)snprintf(line->found, sizeof line->found, "%s: %s locks are skipped", what.data,
                       kind->name);
        return;
    }
    line->there = true;
    (void)snprintf(line->found, sizeof line->found, "for %s locks", kind->name);
    if (launch->version_words == NULL || !server_launch_find(launch, path, sizeof path)) {
        return;
    }
    (void)snprintf(shown, sizeof shown, "%.100s --version", launch->program);
    enum doctor_answer answer = doctor_ask_version(path, said, sizeof said);
    if (answer == DOCTOR_ANSWERED) {
        doctor_version(kind, said, line);
    } else if (launch->package != NULL) {
        doctor_answered(answer, shown, launch->package, line);
    } else {
        doctor_answered(answer, shown, "", line);
        (void)snprintf(line->remedy, sizeof line->remedy, "%s", launch->remedy);
    }
}

void doctor_look(size_t index, struct doctor_line *line)
{
    ASSERT(index < doctor_count());
    memset(line, 0, sizeof *line);
    if (index < DOCTOR_ROWS) {
        line->what = doctor_rows[index].what;
        line->needed = doctor_rows[index].needed;
        doctor_rows[index].look(line);
        return;
    }
    doctor_launch(doctor_kind(index - DOCTOR_ROWS), line);
}

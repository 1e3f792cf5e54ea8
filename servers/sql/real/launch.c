/* launch.c: PostgreSQL servers as processes. */
#include "base/assert.h"
#include "base/machine_clock.h"
#include "servers/sql/real/admin.h"
#include "servers/sql/real/pooler.h"
#include "servers/sql/real/real.h"
#include "servers/sql/real/replica.h"
#include "servers/sql/real/statements.h"

#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Debian keeps each version's programs in a folder of its own, off the PATH. */
#define LAUNCH_FOLDERS "/usr/lib/postgresql/*/bin/postgres"

static bool sql_find(char *path, size_t bytes)
{
    glob_t found;
    long newest = 0;
    if (server_program_find("postgres", path, bytes)) {
        return true;
    }
    if (glob(LAUNCH_FOLDERS, GLOB_NOSORT, NULL, &found) != 0) {
        return false;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *program = found.gl_pathv[i];
        long version = strtol(program + strcspn(LAUNCH_FOLDERS, "*"), NULL, 10);
        if (version > newest && strlen(program) < bytes && access(program, X_OK) == 0) {
            newest = version;
            (void)snprintf(path, bytes, "%s", program);
        }
    }
    globfree(&found);
    return newest > 0;
}

/* What a password is kept as, before it is one. */
#define ZEROS "00000000000000000000000000000000"

/* A database on which no other is made; one blank line ends a statement. */
#define FURNISH_SMALL                                                                              \
    "DROP SCHEMA information_schema CASCADE;\n\n"                                                  \
    "UPDATE pg_database SET datistemplate = false;\n\n"                                            \
    "DROP DATABASE template0;\n\n"                                                                 \
    "DROP DATABASE template1;\n\n"                                                                 \
    "VACUUM FREEZE;\n\n"

static void data_path(const struct server_process *process, char path[SERVER_PATH_BYTES + 16])
{
    (void)snprintf(path, SERVER_PATH_BYTES + 16, "%.500s/data", process->directory);
}

/*
 * Making a database takes a second: it is made once for each version of the server and kept in the
 * user's cache. It is a small one: no database but its own, and nothing is left in it to be written
 * by who only reads (VACUUM FREEZE). So each server shares its files by hard links; what is listed
 * in its `written` is copied. A role's password stands in one of these, in place of zeros, since a
 * server that is started to set it takes longer than all else. A replica is made from the same
 * template, and so begins where that begins which it follows. $1: where it goes, $2: the server's
 * program, $3: the tables, $4: how a client is known, $5: the cache, $6: whom it follows, or
 * nothing; a password is read.
 */
static const char furnish_script[] =
    "set -eu\n"
    "umask 077\n"
    "data=$1 bin=$(dirname \"$(readlink -f \"$2\")\") cache=$5/picklock zeros=md5" ZEROS "\n"
    "version=$(\"$2\" --version)\n"
    "version=${version#*) }\n"
    "exec 2>&1\n"
    "[ -d \"$cache\" ] || mkdir \"$cache\" 2>/dev/null && [ -w \"$cache\" ] ||"
    " cache=${data%/*/*}\n"
    "template=$cache/postgresql-${version%% *}-3\n"
    "if [ ! -f \"$template/PG_VERSION\" ]; then\n"
    "    new=$template.new.$$\n"
    "    find \"$cache\" -maxdepth 1 -name '*.new.*' -mmin +10 -exec rm -rf {} +\n"
    "    sums=$(\"$bin/initdb\" --help | grep -o -e --no-data-checksums || :)\n"
    "    \"$bin/initdb\" -D \"$new\" -U picklock -A trust --no-sync --locale=C -E UTF8"
    " --wal-segsize=1 $sums </dev/null\n"
    "    printf '%s' \"$3\" \"ALTER ROLE picklock PASSWORD '$zeros';\n\n" FURNISH_SMALL "\" |"
    " \"$2\" --single -D \"$new\" -c fsync=off -c max_worker_processes=0"
    " -c max_wal_senders=0 -j postgres\n"
    "    wal=$(\"$bin/pg_controldata\" \"$new\" | sed -n 's/^Latest.*REDO WAL file: *//p')\n"
    "    [ -f \"$new/pg_wal/$wal\" ]\n"
    "    find \"$new\" -type f \\( -name '*_fsm' -o -name '*_vm' -o -path '*/pg_wal/*'"
    " ! -name \"$wal\" \\) -delete\n"
    "    (cd \"$new\"\n"
    "    find . -type f ! -path './base/*' ! -path './global/*' >written\n"
    "    find base -type f -name '[1-9][0-9][0-9][0-9][0-9]*' >>written\n"
    "    echo global/pg_control >>written\n"
    "    grep -l -r -a \"$zeros\" global >>written)\n"
    "    mv -T \"$new\" \"$template\" 2>/dev/null || rm -rf \"$new\"\n"
    "fi\n"
    "cp -al \"$template\" \"$data\" 2>/dev/null ||"
    " { rm -rf \"$data\"; cp -a --reflink=auto \"$template\" \"$data\"; }\n"
    "(cd \"$template\"; xargs cp -a --parents --remove-destination -t \"$data\" <written)\n"
    "printf 'host all,replication all all %s\\nlocal all all trust\\n' \"$4\""
    " >\"$data/pg_hba.conf\"\n"
    "password=\n"
    "[ \"$4\" = trust ] || {\n"
    "    read -r password\n"
    "    hash=$(printf '%spicklock' \"$password\" | md5sum)\n"
    "    printf 's/%s/md5%.32s/' \"$zeros\" \"$hash\" |"
    " LC_ALL=C sed -i -f /dev/stdin \"$data/$(tail -n 1 \"$data/written\")\"\n"
    "}\n"
    "[ -z \"$6\" ] || {\n"
    "    printf \"primary_conninfo = '%s%s'\\n\" \"$6\" \"${password:+ password=$password}\""
    " >\"$data/postgresql.auto.conf\"\n"
    "    : >\"$data/standby.signal\"\n"
    "}\n";

static void sql_furnish(const struct server_process *process, struct server_words *words,
                        struct text *input)
{
    char data[SERVER_PATH_BYTES + 16];
    char program[SERVER_PATH_BYTES] = "postgres";
    char cache[SERVER_PATH_BYTES];
    const char *password = process->address.password;
    data_path(process, data);
    (void)server_launch_find(&sql_launch, program, sizeof program);
    server_word(words, "/bin/sh");
    server_word(words, "-c");
    server_word(words, "%s", furnish_script);
    server_word(words, "picklock-furnish");
    server_word(words, "%s", data);
    server_word(words, "%s", process->program != NULL ? process->program : program);
    server_word(words, "%s", statements_table);
    server_word(words, password != NULL ? "password" : "trust");
    server_cache(cache);
    server_word(words, "%s", cache);
    replica_word(process, words);
    if (password != NULL) {
        text_add(input, "%s\n", password);
    }
}

/* Whoever wrote it is dead: a number that somebody else was given since must not hold it up. */
static struct result sql_prepare(struct server_process *process, struct text *why)
{
    char path[SERVER_PATH_BYTES + 32];
    (void)why;
    (void)snprintf(path, sizeof path, "%.500s/data/postmaster.pid", process->directory);
    (void)unlink(path);
    return RESULT_OK;
}

/* Behind a pooler it is found by a socket in its folder, else by its port alone. */
static void sql_where(const struct server_process *process, struct server_words *words)
{
    char ip_memory[16];
    struct text ip = text_over(ip_memory, sizeof ip_memory);
    bool pooled = process->pooler != POOLER_NONE;
    address_print_ip(process->address, &ip);
    server_word(words, "-c");
    server_word(words, "listen_addresses=%s", pooled ? "" : ip.data);
    server_word(words, "-c");
    server_word(words, "unix_socket_directories=%s", pooled ? "." : "");
}

static void sql_words(const struct server_process *process, struct server_words *words)
{
    char data[SERVER_PATH_BYTES + 16];
    data_path(process, data);
    static const char *const settings[] = {
        "shared_buffers=2MB",
        "max_connections=200",
        "max_worker_processes=0",
        "max_logical_replication_workers=0",
        "autovacuum=off",
        "dynamic_shared_memory_type=mmap", /* in its directory: nothing stays behind */
        "log_checkpoints=off",
        "full_page_writes=off", /* no power cut tears a page here */
    };
    server_word(words, "-D");
    server_word(words, "%s", data);
    server_word(words, "-p");
    server_word(words, "%u", process->address.port);
    sql_where(process, words);
    server_word(words, "-c");
    /* A kill loses nothing that was written. */
    server_word(words, process->power_cut ? "fsync=on" : "fsync=off");
    replica_words(process, words);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        server_word(words, "-c");
        server_word(words, "%s", settings[i]);
    }
}

/* It says so in a file. To ask it would start a process each time, which it refuses until then. */
static bool says_ready(const struct server_process *process)
{
    enum { STATUS_LINE = 8 };
    char path[SERVER_PATH_BYTES + 32];
    char line[256] = "";
    (void)snprintf(path, sizeof path, "%.500s/data/postmaster.pid", process->directory);
    FILE *file = fopen(path, "re");
    int lines = 0;
    while (file != NULL && lines < STATUS_LINE && fgets(line, sizeof line, file) != NULL) {
        lines++;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return lines == STATUS_LINE &&
           (strncmp(line, "ready", 5) == 0 || strncmp(line, "standby", 7) == 0);
}

static bool sql_alive(struct server_process *process)
{
    return says_ready(process) && admin_ready(process);
}

/* "Fast": SIGTERM would wait until all clients have gone. */
static void sql_shut_down(struct server_process *process)
{
    char path[SERVER_PATH_BYTES + 32];
    int pid = 0;
    (void)snprintf(path, sizeof path, "%.500s/data/postmaster.pid", process->directory);
    FILE *file = fopen(path, "re");
    if (file != NULL && fscanf(file, "%d", &pid) == 1 && pid > 1) {
        (void)kill(pid, SIGINT);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

static struct result sql_clock_offset(struct server_process *process, int64_t *offset_ns,
                                      struct text *why)
{
    char memory[64];
    struct text answer = text_over(memory, sizeof memory);
    int64_t before_ns = realtime_ns();
    TRY(admin_query(process, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
                    &answer, why));
    int64_t middle_ns = before_ns + (realtime_ns() - before_ns) / 2;
    *offset_ns = strtoll(answer.data, NULL, 10) * 1000 - middle_ns;
    return RESULT_OK;
}

static struct result sql_held(struct server_process *process, const char *resource,
                              struct server_held *held, struct text *why)
{
    char memory[128];
    char statement[SERVER_PATH_BYTES + 256];
    struct text answer = text_over(memory, sizeof memory);
    ASSERT(strchr(resource, '\'') == NULL);
    (void)snprintf(statement, sizeof statement,
                   "SELECT owner || ' ' || floor(extract(epoch FROM until) * 1000)::bigint"
                   " FROM locks WHERE name = '%.500s'",
                   resource);
    *held = (struct server_held){.present = false};
    TRY(admin_query(process, statement, &answer, why));
    held->present = answer.length > LOCK_VALUE_HEX_BYTES &&
                    lock_value_parse(answer.data, LOCK_VALUE_HEX_BYTES, &held->owner);
    held->until_ms = held->present ? strtoll(answer.data + LOCK_VALUE_HEX_BYTES, NULL, 10) : 0;
    return RESULT_OK;
}

static struct result sql_version(struct server_process *process, struct text *name,
                                 struct text *why)
{
    char memory[64];
    struct text answer = text_over(memory, sizeof memory);
    TRY(admin_query(process, "SHOW server_version", &answer, why));
    text_add(name, "postgresql %.*s", (int)strcspn(answer.data, " "), answer.data);
    return RESULT_OK;
}

const struct server_launch sql_launch = {
    .program = "postgres",
    .package = "postgresql",
    .find = sql_find,
    .lacks = libpq_lacks,
    .version_words = "postgres (PostgreSQL) ",
    .version_min = 905, /* ON CONFLICT */
    .unprivileged = true,
    .shared_memory = true,
    .family = true,
    .durable = true,
    .password = true,
    .replica = &sql_replica,
    .furnish = sql_furnish,
    .prepare = sql_prepare,
    .before = pooler_before,
    .pooler = "pgbouncer",
    .pooler_package = "pgbouncer",
    .words = sql_words,
    .alive = sql_alive,
    .shut_down = sql_shut_down,
    .log_folder = "data/pg_wal",
    .clock_offset = sql_clock_offset,
    .held = sql_held,
    .version = sql_version,
};

/*
 * pooler.c: pgbouncer before a PostgreSQL server.
 *
 *     client --> pgbouncer, at the node's port --> postgres, by a socket in its folder
 *
 * Both are one node: the pooler is a child of the server, and is struck and ends with it. By
 * transaction it has one session of the server's for all its clients, so that whose statements meet
 * in one does not hang on how busy the machine is.
 */
#include "servers/sql/real/pooler.h"

#include "base/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* $1: where its files are; then the server's own words. The parent's death is its end, too. */
static const char start_script[] = "cd \"$1\"\n"
                                   "setpriv --pdeathsig KILL pgbouncer -q pooler.ini &\n"
                                   "shift\n"
                                   "exec \"$@\"\n";

enum { POOLER_TEXT_BYTES = 2048 };

static struct result file_write(const char *path, const struct text *text, struct text *why)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
    bool fine = fd >= 0 && write(fd, text->data, text->length) == (ssize_t)text->length;
    fine = (fd < 0 || close(fd) == 0) && fine;
    if (!fine) {
        text_add(why, "cannot write %s: %s", path, strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    /* Whoever may go into every folder reads it there, also where nobody runs the server. */
    return RESULT_OK;
}

static void settings_add(const struct server_process *process, struct text *text)
{
    char ip_memory[16];
    struct text ip = text_over(ip_memory, sizeof ip_memory);
    bool by_transaction = process->pooler == POOLER_TRANSACTION;
    address_print_ip(process->address, &ip);
    /* Its folder's own name may be too long for a socket's. */
    text_add(text, "[databases]\npostgres = host=/proc/self/cwd/data port=%u user=picklock\n",
             process->address.port);
    text_add(text, "[pgbouncer]\nlisten_addr = %s\nlisten_port = %u\n", ip.data,
             process->address.port);
    text_add(text, "unix_socket_dir =\nso_reuseport = 0\n");
    text_add(text, "auth_type = %s\nauth_file = users.txt\n",
             process->address.password != NULL ? "plain" : "any");
    text_add(text, "pool_mode = %s\ndefault_pool_size = %d\n",
             by_transaction ? "transaction" : "session", by_transaction ? 1 : 150);
    text_add(text, "max_client_conn = 500\nignore_startup_parameters = options\n");
    text_add(text, "log_connections = 0\nlog_disconnections = 0\nlog_stats = 0\n");
}

struct result pooler_before(const struct server_process *process, struct server_words *words,
                            struct text *why)
{
    char memory[POOLER_TEXT_BYTES];
    char path[SERVER_PATH_BYTES + 16];
    struct text text = text_over(memory, sizeof memory);
    const char *password = process->address.password;
    if (process->pooler == POOLER_NONE) {
        return RESULT_OK;
    }
    settings_add(process, &text);
    (void)snprintf(path, sizeof path, "%.500s/pooler.ini", process->directory);
    TRY(file_write(path, &text, why));
    text_clear(&text);
    text_add(&text, "\"picklock\" \"%s\"\n", password != NULL ? password : "");
    (void)snprintf(path, sizeof path, "%.500s/users.txt", process->directory);
    TRY(file_write(path, &text, why));
    server_word(words, "/bin/sh");
    server_word(words, "-c");
    server_word(words, "%s", start_script);
    server_word(words, "picklock-pooler");
    server_word(words, "%s", process->directory);
    return RESULT_OK;
}

/* replica.c: a PostgreSQL server that follows another, and takes its place. */
#include "servers/sql/real/replica.h"

#include "servers/sql/real/admin.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { REPLICA_LOOKS = 10000, REPLICA_NAP_NS = 500000 };

void replica_word(const struct server_process *process, struct server_words *words)
{
    char ip_memory[16];
    struct text ip = text_over(ip_memory, sizeof ip_memory);
    if (!process->follows) {
        server_word(words, "%s", "");
        return;
    }
    address_print_ip(process->at, &ip);
    server_word(words, "host=%s port=%u user=picklock sslmode=disable gssencmode=disable", ip.data,
                process->at.port);
}

void replica_words(const struct server_process *process, struct server_words *words)
{
    bool copied = process->follows || process->followed;
    server_word(words, "-c");
    server_word(words, copied ? "wal_level=replica" : "wal_level=minimal");
    server_word(words, "-c");
    server_word(words, "max_wal_senders=%d", copied ? 4 : 0);
    server_word(words, "-c");
    server_word(words, "wal_retrieve_retry_interval=50ms");
}

static struct result replica_in_step(struct server_process *replica,
                                     struct server_process *followed, bool *in_step,
                                     struct text *why)
{
    char where_memory[64];
    char answer_memory[64];
    char statement[256];
    struct text where = text_over(where_memory, sizeof where_memory);
    struct text answer = text_over(answer_memory, sizeof answer_memory);
    TRY(admin_query(followed, "SELECT pg_current_wal_lsn()", &where, why));
    (void)snprintf(statement, sizeof statement,
                   "SELECT pg_last_wal_replay_lsn() >= '%.40s'::pg_lsn"
                   " AND EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming')",
                   where.data);
    TRY(admin_query(replica, statement, &answer, why));
    *in_step = strcmp(answer.data, "t") == 0;
    return RESULT_OK;
}

/* It has read to the end of what it was sent when the process that receives it is gone. */
static struct result replica_read_on(struct server_process *replica, struct text *why)
{
    for (int i = 0; i < REPLICA_LOOKS; i++) {
        char memory[64];
        struct text answer = text_over(memory, sizeof memory);
        TRY(admin_query(replica, "SELECT count(*) FROM pg_stat_wal_receiver", &answer, why));
        if (strcmp(answer.data, "0") == 0) {
            return RESULT_OK;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = REPLICA_NAP_NS}, NULL);
    }
    text_add(why, "the replica of node %u still receives from a server that is gone",
             replica->index + 1);
    return result_error(ERROR_ENVIRONMENT);
}

static struct result replica_promote(struct server_process *replica, struct text *why)
{
    char memory[64];
    struct text answer = text_over(memory, sizeof memory);
    TRY(replica_read_on(replica, why));
    TRY(admin_query(replica, "SELECT pg_promote(true, 60)", &answer, why));
    if (strcmp(answer.data, "t") != 0) {
        text_add(why, "the replica of node %u is not promoted", replica->index + 1);
        return result_error(ERROR_ENVIRONMENT);
    }
    /* It is looked at like one that starts: from its greeting on. */
    (void)close(replica->talk_fd);
    replica->talk_fd = -1;
    replica->talk_awaited = 0;
    return RESULT_OK;
}

const struct server_replica sql_replica = {
    .in_step = replica_in_step,
    .promote = replica_promote,
};

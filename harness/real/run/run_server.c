/* run_server.c: what servers the nodes run. */
#include "harness/real/run/run.h"

#include <stdio.h>
#include <string.h>

/* The line "NAME:VALUE" of an INFO answer; false: there is none. */
static bool info_line(const struct admin_item *info, const char *name, char *value, size_t bytes)
{
    size_t length = strlen(name);
    const char *at = info->data;
    const char *end = info->data + info->bytes;
    while (at != NULL && at < end) {
        const char *line_end = memchr(at, '\r', (size_t)(end - at));
        size_t line_bytes = (size_t)((line_end != NULL ? line_end : end) - at);
        if (line_bytes > length && memcmp(at, name, length) == 0 && at[length] == ':') {
            (void)snprintf(value, bytes, "%.*s", (int)(line_bytes - length - 1), at + length + 1);
            return true;
        }
        at = line_end != NULL ? line_end + 2 : NULL;
    }
    return false;
}

/* "redis 7.0.15", "valkey 8.1.1". A server that does not say is of an unknown kind. */
static struct result server_of(struct site *site, char name[HISTORY_NAME_BYTES], struct text *why)
{
    struct admin_reply reply;
    char version[32];
    TRY(site_ask(site, (const char *[]){"INFO", "server", NULL}, &reply, why));
    name[0] = '\0';
    if (reply.type == '$' && info_line(&reply.items[0], "valkey_version", version, 32)) {
        (void)snprintf(name, HISTORY_NAME_BYTES, "valkey %s", version);
    } else if (reply.type == '$' && info_line(&reply.items[0], "redis_version", version, 32)) {
        (void)snprintf(name, HISTORY_NAME_BYTES, "redis %s", version);
    }
    return RESULT_OK;
}

struct result run_servers_look(struct run *run, struct text *why)
{
    for (int32_t i = 0; i < run->node_count; i++) {
        char name[HISTORY_NAME_BYTES];
        TRY(server_of(&run->nodes[i].site, name, why));
        if (i == 0) {
            (void)snprintf(run->header->server, sizeof run->header->server, "%s", name);
        } else if (strcmp(name, run->header->server) != 0) {
            text_add(why, "node 1 runs %s, but node %d runs %s: give all nodes the same server",
                     run->header->server, i + 1, name);
            return result_error(ERROR_ENVIRONMENT);
        }
    }
    return RESULT_OK;
}

/* run_server.c: what servers the nodes run. */
#include "harness/real/run/run.h"

#include <stdio.h>
#include <string.h>

struct result run_servers_look(struct run *run, struct text *why)
{
    for (int32_t i = 0; i < run->node_count; i++) {
        struct site *site = &run->nodes[i].site;
        char memory[HISTORY_NAME_BYTES] = "";
        struct text name = text_over(memory, sizeof memory);
        if (site->launch->version == NULL) {
            return RESULT_OK;
        }
        TRY(site->launch->version(&site->server, &name, why));
        if (i == 0) {
            (void)snprintf(run->header->server, sizeof run->header->server, "%s", memory);
        } else if (strcmp(memory, run->header->server) != 0) {
            text_add(why, "node 1 runs %s, but node %d runs %s: give all nodes the same server",
                     run->header->server, i + 1, memory);
            return result_error(ERROR_ENVIRONMENT);
        }
    }
    return RESULT_OK;
}

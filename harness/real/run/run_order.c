/* run_order.c: faults that are an order to the server: refuse writes, evict, flush scripts. */
#include "harness/real/run/run.h"

#include "base/assert.h"
#include "lockcore/redis/command.h"

#include <stdio.h>
#include <string.h>

/* Give an order that must be obeyed. */
static bool run_order(struct run *run, int32_t node, const char *const *words,
                      struct admin_reply *reply)
{
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    run_order_sent(run, node);
    struct result given = site_order(&run->nodes[node].site, words, reply, &text);
    run_order_done(run, node);
    if (result_failed(given)) {
        run_fail(run, given, text.data);
        return false;
    }
    return true;
}

/*
 * OOM: no memory is left for writes. READONLY: it becomes the replica of a master that is away, as
 * the old master does after a failover that its clients have not heard of.
 */
static void run_order_configure(struct run *run, uint32_t k, int32_t node, bool refuse)
{
    struct admin_reply reply;
    char port[16];
    char ip_memory[16];
    struct text ip = text_over(ip_memory, sizeof ip_memory);
    address_print_ip(run->nowhere, &ip);
    (void)snprintf(port, sizeof port, "%u", run->nowhere.port);
    switch ((enum node_error)run_fault_at(run, k)->error) {
    case NODE_ERROR_OOM: /* one at a time: before 7.0 CONFIG SET takes no more */
        if (run_order(run, node,
                      (const char *[]){"CONFIG", "SET", "maxmemory-policy", "noeviction", NULL},
                      &reply)) {
            (void)run_order(
                run, node, (const char *[]){"CONFIG", "SET", "maxmemory", refuse ? "1" : "0", NULL},
                &reply);
        }
        return;
    case NODE_ERROR_READONLY:
        (void)run_order(
            run, node,
            (const char *[]){"REPLICAOF", refuse ? ip.data : "NO", refuse ? port : "ONE", NULL},
            &reply);
        return;
    case NODE_ERROR_LOADING:
    case NODE_ERROR_WRONGTYPE:
    case NODE_ERROR_GARBLED:
        run_loading_set(run, k, node, refuse);
        return;
    case NODE_ERRORS:
        break;
    }
    UNREACHABLE();
}

/* Does it refuse a write now? Tried with a key that no lock uses. */
static bool run_order_refuses(struct run *run, int32_t node)
{
    struct admin_reply reply;
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    struct result asked =
        site_ask(&run->nodes[node].site,
                 (const char *[]){"SET", "picklock:probe", "1", "PX", "1", NULL}, &reply, &text);
    if (result_failed(asked)) {
        run_fail(run, asked, text.data);
        return false;
    }
    return reply.type == '-';
}

void run_order_refuse(struct run *run, uint32_t k, int32_t node)
{
    struct run_node *target = &run->nodes[node];
    target->refuse_fault = (int32_t)k;
    if (target->site.state != NODE_UP) {
        return; /* when it is back */
    }
    run_order_configure(run, k, node, true);
    if (run_loading_answers(run_fault_at(run, k)) || run_order_refuses(run, node)) {
        run_fault_show(run, k, node, 1);
    } else if (!run->over) {
        run_fail(run, result_error(ERROR_ENVIRONMENT),
                 "a node was told to refuse writes and does not");
    }
}

void run_order_accept(struct run *run, uint32_t k, int32_t node)
{
    struct run_node *target = &run->nodes[node];
    target->refuse_fault = HISTORY_NO_FAULT;
    if (target->site.state == NODE_UP) {
        run_order_configure(run, k, node, false);
    }
}

/* Delete a key by the harness's own hand; false: the run is over. */
static bool run_order_delete(struct run *run, int32_t node, const struct keys_names *names,
                             uint32_t index, int64_t *deleted)
{
    struct admin_reply reply;
    char database[16];
    char name[KEYS_NAME_BYTES_MAX + 1];
    (void)snprintf(database, sizeof database, "%d", names->database[index]);
    (void)snprintf(name, sizeof name, "%.*s", (int)names->name[index].bytes,
                   names->name[index].data);
    if (!run_order(run, node, (const char *[]){"SELECT", database, NULL}, &reply) ||
        !run_order(run, node, (const char *[]){"DEL", name, NULL}, &reply)) {
        return false;
    }
    *deleted += reply.items[0].integer > 0 ? 1 : 0;
    return true;
}

/* The node tells of the deletions itself: it is told only whose doing they are. */
void run_order_evict(struct run *run, uint32_t k, int32_t node)
{
    int64_t evicted = 0;
    int32_t count = run->plan->scenario.resource_count;
    keys_evicting(run->keys, node, (int32_t)k);
    for (int32_t i = 0; i < count && run->nodes[node].site.state == NODE_UP; i++) {
        struct keys_names names;
        keys_names_of(run->keys, node, (uint32_t)i, &names);
        for (uint32_t j = 0; j < names.count; j++) {
            if (!run_order_delete(run, node, &names, j, &evicted)) {
                return;
            }
        }
    }
    if (evicted > 0) {
        run_fault_show(run, k, node, evicted);
    }
}

void run_order_flush_scripts(struct run *run, uint32_t k, int32_t node)
{
    struct admin_reply reply;
    if (run->nodes[node].site.state != NODE_UP ||
        !run_order(run, node, (const char *[]){"SCRIPT", "FLUSH", NULL}, &reply)) {
        return;
    }
    const char *sha = redis_script_sha(REDIS_COMPARE_DELETE);
    if (run_order(run, node, (const char *[]){"SCRIPT", "EXISTS", sha, NULL}, &reply)) {
        run_fault_show(run, k, node, reply.count == 1 && reply.items[0].integer == 0);
    }
}

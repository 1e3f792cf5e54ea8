/* run_check.c: whether a plan can be run here at all: before anything is started. */
#include "harness/real/run/run.h"

#include "servers/kinds.h"

#include <sys/resource.h>

enum { RUN_PAIRS_MAX = 2048, RUN_FILES_BESIDE = 40 };

/* What a run was seen to take (Pss): a client's process, a server, and a proxy between the two. */
enum { CLIENT_KIBIBYTES = 200, NODE_KIBIBYTES = 4096, PAIR_KIBIBYTES = 16 };

/*
 * Take as many descriptors as we may. A listener and two ends for each pair of a client and a node,
 * one more while a connection follows another; a few for each client and node; and the rest. With
 * less a proxy could not connect, and a client would take a healthy node for one that is down.
 */
static struct result run_check_files(const struct run *run, struct text *why)
{
    rlim_t clients = (rlim_t)run->client_count + 1;
    rlim_t nodes = (rlim_t)run->node_count;
    bool talk = run_talks(run);
    rlim_t between = talk ? 4 * nodes * nodes * SERVER_PEER_PORTS_MAX : 0;
    rlim_t needed = 4 * clients * nodes + 4 * clients + 4 * nodes + between + RUN_FILES_BESIDE;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return RESULT_OK;
    }
    if (limit.rlim_max < needed) {
        text_add(why,
                 "%d client%s on %d node%s need %llu open files, but this process may have %llu; "
                 "raise the limit (ulimit -Hn), or use --world sim",
                 run->client_count, run->client_count == 1 ? "" : "s", run->node_count,
                 run->node_count == 1 ? "" : "s", (unsigned long long)needed,
                 (unsigned long long)limit.rlim_max);
        return result_error(ERROR_ENVIRONMENT);
    }
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    return RESULT_OK;
}

/* Has the real world such servers, and can they be done what the plan does? */
static struct result run_check_kind(const struct run *run, struct text *why)
{
    const struct server_kind *kind = server_kind_at(run->plan->scenario.node_kind);
    if (kind->launch == NULL) {
        text_add(why, "%s servers are in the simulator only; use --world sim", kind->name);
        return result_error(ERROR_SCHEMA);
    }
    if (run->options->adapter != NULL && run->plan->scenario.node_kind != SERVER_KIND_redis) {
        text_add(why, "a library behind an adapter speaks to redis-servers, and these are %s",
                 kind->name);
        return result_error(ERROR_SCHEMA);
    }
    if (run_follows(run) && run->options->cluster != NULL) {
        text_add(why, "nodes.replicas is for nodes that picklock starts itself, without --cluster");
        return result_error(ERROR_SCHEMA);
    }
    for (uint32_t k = 0; k < run->plan->scenario.fault_count; k++) {
        const struct fault *fault = run_fault_at(run, k);
        enum fault_kind what = (enum fault_kind)fault->kind;
        if (fault->peer_mask != 0 && !run_talks(run)) {
            text_add(why, "fault %u: real %s servers do not speak to each other", k + 1,
                     kind->name);
            return result_error(ERROR_SCHEMA);
        }
        if (fault->node_mask != 0 && !server_launch_has(kind->launch, what)) {
            text_add(why, "fault %u: ", k + 1);
            server_launch_explain(kind, what, why);
            return result_error(ERROR_SCHEMA);
        }
        if (what == FAULT_FAILOVER && run->plan->scenario.pooler != POOLER_NONE) {
            text_add(why,
                     "fault %u: no replica can follow a real server through a pooler; use "
                     "--world sim",
                     k + 1);
            return result_error(ERROR_SCHEMA);
        }
    }
    return RESULT_OK;
}

static struct result run_check_size(const struct run *run, struct text *why)
{
    int32_t pairs = (run->client_count + 1) * run->node_count;
    if (pairs > RUN_PAIRS_MAX) {
        double kibibytes = (double)run->client_count * CLIENT_KIBIBYTES +
                           (double)run->node_count * NODE_KIBIBYTES +
                           (double)pairs * PAIR_KIBIBYTES;
        text_add(why,
                 "%d clients on %d node%s are too many for one machine: they would take %.1f GiB "
                 "of memory and %d ports, and the real world runs at most %d; use --world sim",
                 run->client_count, run->node_count, run->node_count == 1 ? "" : "s",
                 kibibytes * 1024 / (double)GIBIBYTE, pairs, RUN_PAIRS_MAX / run->node_count - 1);
        return result_error(ERROR_ENVIRONMENT);
    }
    return run_check_files(run, why);
}

struct result run_check(const struct run *run, struct text *why)
{
    TRY(run_check_kind(run, why));
    return run_check_size(run, why);
}

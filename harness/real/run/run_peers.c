/* run_peers.c: nodes that speak to each other, and the proxies between them. */
#include "harness/real/run/run.h"

bool run_talks(const struct run *run)
{
    const struct server_kind *kind = server_kind_at(run->plan->scenario.node_kind);
    bool nobody_follows = kind->replicates && run->plan->scenario.lock.replica_count == 0;
    return kind->launch->peers != NULL && !nobody_follows;
}

static const struct server_peers *run_peers_of(const struct run *run)
{
    const struct server_launch *launch = run->nodes[0].site.launch;
    return run_is_watched(run) ? launch->sentinel_peers : launch->peers;
}

static uint32_t run_peer_ports(const struct run *run)
{
    const struct server_peers *peers = run_peers_of(run);
    return peers->ports > 0 ? peers->ports : 1;
}

/* Tell a node where it finds the others. */
static struct result run_peers_tell(struct run *run, int32_t node, struct text *why)
{
    size_t nodes = (size_t)run->node_count;
    uint32_t ports = run_peer_ports(run);
    uint16_t *found = arena_take(&run->arena, ports * nodes * sizeof *found);
    if (found == NULL) {
        text_add(why, "no memory for %d nodes", run->node_count);
        return result_error(ERROR_LIMIT);
    }
    for (uint32_t port = 0; port < ports; port++) {
        const uint16_t *doors = proxy_doors(run->between, port);
        for (size_t other = 0; other < nodes; other++) {
            found[port * nodes + other] = doors[(size_t)node * nodes + other];
        }
    }
    run->nodes[node].site.node.server.peers = found;
    run->sentinels[node].site.node.server.peers = found;
    return RESULT_OK;
}

struct result run_peers_start(struct run *run, struct text *why)
{
    if (!run_talks(run)) {
        return RESULT_OK;
    }
    size_t nodes = (size_t)run->node_count;
    uint32_t ports = run_peer_ports(run);
    run->peer_ports = arena_take(&run->arena, ports * nodes * sizeof *run->peer_ports);
    if (run->peer_ports == NULL) {
        text_add(why, "no memory for %d nodes", run->node_count);
        return result_error(ERROR_LIMIT);
    }
    for (size_t i = 0; i < ports * nodes; i++) {
        run->peer_ports[i] = run_is_watched(run) && i >= nodes
                                 ? run->sentinels[i % nodes].site.address.port
                                 : run->nodes[i % nodes].site.node.peer_port[i / nodes];
    }
    struct proxy_options options = {
        .client_count = (int32_t)(ports * nodes),
        .node_count = run->node_count,
        .kind = run->plan->scenario.node_kind,
        .peer_ports = run->peer_ports,
        .peers = run_peers_of(run),
        .seed = run->plan->seed,
    };
    TRY(proxy_start(&run->loop, &options, &run->between, why));
    for (int32_t i = 0; i < run->node_count; i++) {
        TRY(run_peers_tell(run, i, why));
        TRY(site_start(&run->nodes[i].site, why));
    }
    return RESULT_OK;
}

void run_peers_turn(struct run *run)
{
    if (run->between != NULL) {
        (void)uv_run(&run->loop, UV_RUN_NOWAIT);
    }
}

void run_peers_touched(const struct run *run, const struct fault *fault, uint8_t *links)
{
    int32_t nodes = run->node_count;
    for (int32_t i = 0; i < (int32_t)run_peer_ports(run) * nodes * nodes; i++) {
        int32_t from = i / nodes % nodes;
        int32_t to = i % nodes;
        links[i] = from == to ? FAULT_WAY_NONE : (uint8_t)fault_way_between(fault, from, to);
    }
}

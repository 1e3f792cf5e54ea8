/* node.c: `picklock node`: the agent that looks after one node of a cluster. */
#include "cli/command.h"

#include "harness/cluster.h"
#include "harness/real/agent/agent.h"
#include "harness/real/agent/seal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node_command {
    const char *listen;
    const char *secret;
    const char *data;
    const char *server;
    const char *probe;
    bool make;
};

static const struct argp_option node_option_table[] = {
    {"listen", 'l', "HOST:PORT", 0, "listen there, and nowhere else; its servers do as well", 0},
    {"secret", 's', "FILE", 0, "the secret that it shares with the harness: 16 bytes or more", 0},
    {"data", 'd', "DIR", 0, "where its servers keep their data (default $TMPDIR, or /tmp)", 0},
    {"redis-server", 'r', "PATH", 0, "the server that it runs (default: redis-server)", 0},
    {"make-secret", 'm', NULL, 0, "make that file first, if it is not there", 0},
    {"probe", 'p', "HOST:PORT", 0, "ask whether an agent is there, and end with 0 or 3", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t node_option(int key, char *arg, struct argp_state *state)
{
    struct node_command *options = state->input;
    switch (key) {
    case 'l':
        options->listen = arg;
        return 0;
    case 's':
        options->secret = arg;
        return 0;
    case 'd':
        options->data = arg;
        return 0;
    case 'r':
        options->server = arg;
        return 0;
    case 'm':
        options->make = true;
        return 0;
    case 'p':
        options->probe = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp node_argp = {
    node_option_table,
    node_option,
    NULL,
    "Look after the redis-server of one node, as a harness with the same secret orders: start it, "
    "kill it, stop it, set its clock, cut its power. `picklock run` with a file of nodes gives "
    "them.",
    NULL,
    NULL,
    NULL};

static struct result node_probe(const struct node_command *options, struct text *why)
{
    static struct cluster cluster;
    cluster.count = 1;
    TRY(cluster_resolve(options->probe, CLUSTER_PORT, &cluster.nodes[0], why));
    return cluster_lost(&cluster, why) ? result_error(ERROR_ENVIRONMENT) : RESULT_OK;
}

static struct result node_serve(const struct node_command *options, struct text *why)
{
    static struct cluster_secret secret;
    struct cluster_node place;
    if (options->listen == NULL || options->secret == NULL) {
        text_add(why, "node: --listen HOST:PORT and --secret FILE are needed");
        return result_error(ERROR_USAGE);
    }
    if (options->make) {
        TRY(seal_make_secret(options->secret, why));
    }
    TRY(seal_read_secret(options->secret, &secret, why));
    TRY(cluster_resolve(options->listen, CLUSTER_PORT, &place, why));
    const char *temporary = getenv("TMPDIR");
    struct agent_options agent = {
        .address = {.ip = place.ip, .port = place.port},
        .data_directory = options->data != NULL ? options->data
                          : temporary != NULL   ? temporary
                                                : "/tmp",
        .server = options->server,
        .secret = &secret,
    };
    return agent_serve(&agent, why);
}

int command_node(int argc, char **argv)
{
    struct node_command options;
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    memset(&options, 0, sizeof options);
    command_parse(&node_argp, argc, argv, &options);
    struct result result =
        options.probe != NULL ? node_probe(&options, &why) : node_serve(&options, &why);
    return result_failed(result) ? command_fail(result, &why) : EXIT_MET;
}

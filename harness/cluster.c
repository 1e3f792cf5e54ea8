/* cluster.c: a file that names nodes, and what a scenario needs of them. */
#include "harness/cluster.h"

#include "base/arena.h"
#include "base/assert.h"
#include "harness/real/agent/seal.h"
#include "harness/scenario_document.h"
#include "servers/kinds.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    CLUSTER_FILE_BYTES_MAX = 64 << 10,
    CLUSTER_ARENA_BYTES = 8 << 20,
    CLUSTER_PATH_BYTES = 2048
};

struct result cluster_resolve(const char *name, uint16_t port, struct cluster_node *node,
                              struct text *why)
{
    char host[CLUSTER_NAME_BYTES];
    struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    (void)snprintf(node->name, sizeof node->name, "%s", name);
    (void)snprintf(host, sizeof host, "%s", name);
    char *colon = strrchr(host, ':');
    node->port = port;
    if (colon != NULL) {
        char *end;
        unsigned long number = strtoul(colon + 1, &end, 10);
        if (end == colon + 1 || *end != '\0' || number == 0 || number > UINT16_MAX) {
            text_add(why, "\"%s\" has no port behind its colon", name);
            return result_error(ERROR_SCHEMA);
        }
        node->port = (uint16_t)number;
        *colon = '\0';
    }
    int error = host[0] != '\0' ? getaddrinfo(host, NULL, &wanted, &found) : EAI_NONAME;
    if (error != 0) {
        text_add(why, "\"%s\" has no IPv4 address: %s", name, gai_strerror(error));
        return result_error(ERROR_ENVIRONMENT);
    }
    node->ip = ((const struct sockaddr_in *)(const void *)found->ai_addr)->sin_addr.s_addr;
    freeaddrinfo(found);
    return RESULT_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* What is read of the file before its names are looked up. */
struct cluster_reading {
    struct problems problems;
    const struct document *words[LOCK_NODES_MAX];
    const struct document *secret;
};

static const struct document *child_of(const struct document *map, const char *key)
{
    for (const struct document *part = map->child; part != NULL; part = part->next) {
        if (strcmp(part->key, key) == 0) {
            return part;
        }
    }
    return NULL;
}

static void refuse_others(struct cluster_reading *reading, const struct document *map,
                          const char *first, const char *second)
{
    for (const struct document *part = map->child; part != NULL; part = part->next) {
        if (strcmp(part->key, first) != 0 && strcmp(part->key, second) != 0) {
            problem_say(&reading->problems, part->key_place,
                        "unknown key \"%s\"; there are \"%s\" and \"%s\"", part->key, first,
                        second);
        }
    }
}

/* One node: {agent: NAME} or {redis: NAME}. */
static void read_node(struct cluster_reading *reading, const struct document *part,
                      struct cluster *cluster)
{
    struct problems *problems = &reading->problems;
    if (cluster->count == LOCK_NODES_MAX) {
        problem_say(problems, part->place, "more than %d nodes", LOCK_NODES_MAX);
        return;
    }
    if (part->kind != DOCUMENT_MAP || part->child == NULL || part->child->next != NULL) {
        problem_say(problems, part->place,
                    "a node is \"agent: HOST:PORT\" or \"redis: HOST:PORT\"");
        return;
    }
    refuse_others(reading, part, "agent", "redis");
    const struct document *word = part->child;
    struct cluster_node *node = &cluster->nodes[cluster->count];
    node->bare = strcmp(word->key, "redis") == 0;
    if (word->kind != DOCUMENT_WORD || word->word[0] == '\0' ||
        strlen(word->word) >= CLUSTER_NAME_BYTES) {
        problem_say(problems, word->place, "a name and a port are wanted, such as node1:%d",
                    node->bare ? CLUSTER_REDIS_PORT : CLUSTER_PORT);
    } else if (strncmp(word->word, "rediss://", 9) == 0) {
        problem_say(problems, word->place,
                    "TLS: hiredis 0.14 has none (it came with hiredis 1.0): let a tunnel such as "
                    "stunnel speak it, and name the tunnel's end here");
    }
    reading->words[cluster->count++] = word;
}

static void read_root(struct cluster_reading *reading, const struct document *root,
                      struct cluster *cluster)
{
    struct problems *problems = &reading->problems;
    bool agents = false;
    if (root->kind != DOCUMENT_MAP) {
        problem_say(problems, root->place, "\"nodes:\" is wanted, a list");
        return;
    }
    refuse_others(reading, root, "nodes", "secret");
    const struct document *nodes = child_of(root, "nodes");
    if (nodes == NULL || nodes->kind != DOCUMENT_LIST || nodes->child == NULL) {
        problem_say(problems, nodes != NULL ? nodes->place : root->place,
                    "\"nodes:\" is wanted, a list of at least one");
        return;
    }
    for (const struct document *part = nodes->child; part != NULL; part = part->next) {
        read_node(reading, part, cluster);
    }
    for (int32_t i = 0; i < cluster->count; i++) {
        agents = agents || !cluster->nodes[i].bare;
    }
    reading->secret = child_of(root, "secret");
    if (agents && (reading->secret == NULL || reading->secret->kind != DOCUMENT_WORD)) {
        problem_say(problems, root->place,
                    "agents have a secret: \"secret: FILE\" names the file that holds it");
    }
}

static struct result read_names(const struct cluster_reading *reading, struct cluster *cluster,
                                struct text *why)
{
    for (int32_t i = 0; i < cluster->count; i++) {
        struct cluster_node *node = &cluster->nodes[i];
        const char *name = reading->words[i]->word;
        name += strncmp(name, "redis://", 8) == 0 ? 8 : 0;
        TRY(cluster_resolve(name, node->bare ? CLUSTER_REDIS_PORT : CLUSTER_PORT, node, why));
        for (int32_t j = 0; j < i; j++) {
            if (cluster->nodes[j].ip == node->ip && cluster->nodes[j].port == node->port) {
                text_add(why, "\"%s\" and \"%s\" are one and the same", cluster->nodes[j].name,
                         node->name);
                return result_error(ERROR_SCHEMA);
            }
        }
    }
    return RESULT_OK;
}

/* A path that is not absolute is meant from the file that says it. */
static struct result read_secret(const char *path, const struct document *part,
                                 struct cluster *cluster, struct text *why)
{
    char memory[CLUSTER_PATH_BYTES];
    struct text secret = text_over(memory, sizeof memory);
    const char *slash = strrchr(path, '/');
    if (part == NULL) {
        return RESULT_OK;
    }
    if (part->word[0] != '/' && slash != NULL) {
        text_add(&secret, "%.*s/", (int)(slash - path), path);
    }
    text_add(&secret, "%s", part->word);
    return seal_read_secret(secret.data, &cluster->secret, why);
}

static struct result read_bytes(const char *path, const char *bytes, size_t length,
                                struct cluster *cluster, struct text *why)
{
    static struct cluster_reading reading;
    enum error_code code = ERROR_NONE;
    struct arena arena = arena_empty(CLUSTER_ARENA_BYTES);
    memset(&reading, 0, sizeof reading);
    problems_init(&reading.problems, path, bytes, length);
    const struct document *root = document_parse(&reading.problems, &arena, &code);
    if (root != NULL) {
        read_root(&reading, root, cluster);
    } else if (reading.problems.total == 0) {
        problem_say(&reading.problems, (struct place){0, 0}, "it is empty");
    }
    struct result result = RESULT_OK;
    if (reading.problems.total > 0) {
        problems_print(&reading.problems, why);
        result = result_error(code == ERROR_NONE ? ERROR_SCHEMA : code);
    } else {
        result = read_secret(path, reading.secret, cluster, why);
        if (!result_failed(result)) {
            result = read_names(&reading, cluster, why);
        }
    }
    arena_release(&arena);
    return result;
}

struct result cluster_read(const char *path, struct cluster *cluster, struct text *why)
{
    static char bytes[CLUSTER_FILE_BYTES_MAX];
    memset(cluster, 0, sizeof *cluster);
    FILE *file = fopen(path, "re");
    size_t length = file != NULL ? fread(bytes, 1, sizeof bytes, file) : 0;
    bool fine = file != NULL && ferror(file) == 0 && length < sizeof bytes;
    int error = errno;
    if (file != NULL) {
        (void)fclose(file);
    }
    if (!fine) {
        text_add(why, "%s: %s", path,
                 length == sizeof bytes ? "too large for a list of nodes" : strerror(error));
        return result_error(ERROR_USAGE);
    }
    return read_bytes(path, bytes, length, cluster, why);
}

/* ---- what a scenario needs ------------------------------------------------------------------- */

struct result cluster_fits(const struct cluster *cluster, const struct scenario *scenario,
                           struct text *why)
{
    if (scenario->node_count > cluster->count) {
        text_add(why, "%s: it wants %d nodes, and the cluster has %d", scenario->path,
                 scenario->node_count, cluster->count);
        return result_error(ERROR_SCHEMA);
    }
    if (scenario->node_kind != SERVER_KIND_redis) {
        text_add(why, "%s: its nodes are %s, and those of a cluster are redis-servers",
                 scenario->path, server_kind_at(scenario->node_kind)->name);
        return result_error(ERROR_SCHEMA);
    }
    for (int32_t i = 0; i < scenario->node_count; i++) {
        if (!cluster->nodes[i].bare) {
            continue;
        }
        if (scenario->random.present) {
            text_add(why,
                     "%s: its faults are drawn, and node %d (%s) is a bare server, to which "
                     "nothing may be done: it needs an agent",
                     scenario->path, i + 1, cluster->nodes[i].name);
            return result_error(ERROR_SCHEMA);
        }
        for (size_t k = 0; k < scenario->fault_count; k++) {
            const struct fault *fault = &scenario->faults[k];
            bool links =
                fault_is((enum fault_kind)fault->kind, FAULT_ON_LINK) || fault->kind == FAULT_STALL;
            if (!links && (fault->node_mask >> i & 1) != 0) {
                text_add(why,
                         "%s: fault %zu (%s) strikes node %d (%s), a bare server: only links "
                         "and clients can be struck there; it needs an agent",
                         scenario->path, k + 1, fault_kind_name((enum fault_kind)fault->kind),
                         i + 1, cluster->nodes[i].name);
                return result_error(ERROR_SCHEMA);
            }
        }
    }
    return RESULT_OK;
}

/* cluster.c: a file that names nodes, and what a scenario needs of them. */
#include "harness/cluster.h"

#include "base/arena.h"
#include "base/assert.h"
#include "harness/real/agent/seal.h"
#include "harness/scenario_document.h"
#include "servers/kinds.h"
#include "servers/redis/real/secure.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define CLUSTER_TLS "rediss://"

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
    const struct document *tls[LOCK_NODES_MAX]; /* NULL: none */
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

static const char *const root_keys[] = {"nodes", "secret", NULL};
static const char *const node_keys[] = {"agent", "redis", "tls", NULL};
static const char *const tls_keys[] = {"ca", "cert", "key", "sni", NULL};

static void refuse_others(struct cluster_reading *reading, const struct document *map,
                          const char *const *keys)
{
    for (const struct document *part = map->child; part != NULL; part = part->next) {
        char memory[256];
        struct text there = text_over(memory, sizeof memory);
        bool known = false;
        for (size_t i = 0; keys[i] != NULL; i++) {
            const char *before = i == 0 ? "" : keys[i + 1] != NULL ? ", " : " and ";
            text_add(&there, "%s\"%s\"", before, keys[i]);
            known = known || strcmp(part->key, keys[i]) == 0;
        }
        if (!known) {
            problem_say(&reading->problems, part->key_place, "unknown key \"%s\"; there are %s",
                        part->key, there.data);
        }
    }
}

/* {ca: FILE, cert: FILE, key: FILE, sni: NAME}: the first has to be, the next two together. */
static void read_tls(struct cluster_reading *reading, const struct document *tls)
{
    struct problems *problems = &reading->problems;
    if (tls->kind != DOCUMENT_MAP || child_of(tls, "ca") == NULL) {
        problem_say(problems, tls->place,
                    "\"tls: {ca: FILE}\" names the certificates that are believed");
        return;
    }
    refuse_others(reading, tls, tls_keys);
    for (const struct document *part = tls->child; part != NULL; part = part->next) {
        bool name = strcmp(part->key, "sni") == 0;
        size_t most = name ? SECURE_NAME_BYTES : SECURE_PATH_BYTES;
        if (part->kind != DOCUMENT_WORD || part->word[0] == '\0' || strlen(part->word) >= most) {
            problem_say(problems, part->place, "\"%s:\" names a %s", part->key,
                        name ? "host" : "file");
        }
    }
    if ((child_of(tls, "cert") == NULL) != (child_of(tls, "key") == NULL)) {
        problem_say(problems, tls->place, "\"cert:\" and \"key:\" belong together");
    }
}

static void read_secured(struct cluster_reading *reading, const struct document *word,
                         const struct document *tls)
{
    char memory[128];
    struct text there = text_over(memory, sizeof memory);
    struct place place = tls != NULL ? tls->place : word->place;
    if (strcmp(word->key, "agent") == 0) {
        problem_say(&reading->problems, place, "an agent has a secret, and speaks no TLS");
    } else if (!secure_known()) {
        (void)secure_there(&there);
        problem_say(
            &reading->problems, place,
            "TLS: %s: let a tunnel such as stunnel speak it, and name the tunnel's end here",
            there.data);
    } else if (tls == NULL) {
        problem_say(&reading->problems, place,
                    "TLS wants to know whom to believe: \"tls: {ca: FILE}\" beside \"redis:\"");
    } else {
        read_tls(reading, tls);
    }
}

/* One node: {agent: NAME}, {redis: NAME} or {redis: NAME, tls: {...}}. */
static void read_node(struct cluster_reading *reading, const struct document *part,
                      struct cluster *cluster)
{
    struct problems *problems = &reading->problems;
    if (cluster->count == LOCK_NODES_MAX) {
        problem_say(problems, part->place, "more than %d nodes", LOCK_NODES_MAX);
        return;
    }
    const struct document *agent = part->kind == DOCUMENT_MAP ? child_of(part, "agent") : NULL;
    const struct document *redis = part->kind == DOCUMENT_MAP ? child_of(part, "redis") : NULL;
    const struct document *tls = part->kind == DOCUMENT_MAP ? child_of(part, "tls") : NULL;
    if (part->kind == DOCUMENT_MAP) {
        refuse_others(reading, part, node_keys);
    }
    if ((agent == NULL) == (redis == NULL)) {
        problem_say(problems, part->place,
                    "a node is \"agent: HOST:PORT\" or \"redis: HOST:PORT\"");
        return;
    }
    const struct document *word = agent != NULL ? agent : redis;
    struct cluster_node *node = &cluster->nodes[cluster->count];
    node->bare = word == redis;
    if (word->kind != DOCUMENT_WORD || word->word[0] == '\0' ||
        strlen(word->word) >= CLUSTER_NAME_BYTES) {
        problem_say(problems, word->place, "a name and a port are wanted, such as node1:%d",
                    node->bare ? CLUSTER_REDIS_PORT : CLUSTER_PORT);
    } else if (tls != NULL || strncmp(word->word, CLUSTER_TLS, strlen(CLUSTER_TLS)) == 0) {
        read_secured(reading, word, tls);
    }
    reading->tls[cluster->count] = tls;
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
    refuse_others(reading, root, root_keys);
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
        static const char *const schemes[] = {"redis://", CLUSTER_TLS};
        for (size_t k = 0; k < sizeof schemes / sizeof schemes[0]; k++) {
            size_t length = strlen(schemes[k]);
            name += strncmp(name, schemes[k], length) == 0 ? length : 0;
        }
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
static void read_path(const char *path, const struct document *part, char *read, size_t bytes)
{
    struct text text = text_over(read, bytes);
    const char *slash = strrchr(path, '/');
    if (part != NULL && part->word[0] != '/' && slash != NULL) {
        text_add(&text, "%.*s/", (int)(slash - path), path);
    }
    text_add(&text, "%s", part != NULL ? part->word : "");
}

static struct result read_secret(const char *path, const struct document *part,
                                 struct cluster *cluster, struct text *why)
{
    char secret[CLUSTER_PATH_BYTES];
    if (part == NULL) {
        return RESULT_OK;
    }
    read_path(path, part, secret, sizeof secret);
    return seal_read_secret(secret, &cluster->secret, why);
}

static struct result read_certificates(const char *path, const struct cluster_reading *reading,
                                       struct cluster *cluster, struct text *why)
{
    for (int32_t i = 0; i < cluster->count; i++) {
        const struct document *tls = reading->tls[i];
        struct secure_files files = {.ca = ""};
        if (tls == NULL) {
            continue;
        }
        read_path(path, child_of(tls, "ca"), files.ca, sizeof files.ca);
        read_path(path, child_of(tls, "cert"), files.cert, sizeof files.cert);
        read_path(path, child_of(tls, "key"), files.key, sizeof files.key);
        const struct document *sni = child_of(tls, "sni");
        (void)snprintf(files.sni, sizeof files.sni, "%s", sni != NULL ? sni->word : "");
        TRY(secure_prepare(&files, &cluster->nodes[i].secure, why));
    }
    return RESULT_OK;
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
            result = read_certificates(path, &reading, cluster, why);
        }
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

/* scenario_check.c: what cannot be right although each part of it is well formed. */
#include "harness/scenario_reader.h"

#include "base/assert.h"
#include "base/duration.h"
#include "lockcore/algorithms.h"

#include <inttypes.h>
#include <string.h>

/* How often one client can pass a point at most; INT64_MAX where nobody can say. */
static int64_t point_passes_max(const struct scenario *scenario, enum probe_point point)
{
    int64_t sections = scenario->sections;
    switch (point) {
    case PROBE_AFTER_GRANTED:
    case PROBE_BEFORE_RELEASE:
    case PROBE_AFTER_RELEASE:
        /* Whoever wants several gives back a part of them each time that he is refused. */
        return scenario->at_once > 1 ? INT64_MAX : sections * (1 + scenario->again);
    case PROBE_BEFORE_WRITE:
    case PROBE_AFTER_WRITE:
        return sections * scenario->writes;
    case PROBE_BEFORE_EXTEND:
    case PROBE_AFTER_EXTEND:
        return scenario->extend_every_ns > 0 ? INT64_MAX : 0;
    case PROBE_BEFORE_SEND:
    case PROBE_BEFORE_REPLIES:
    case PROBE_AFTER_MAJORITY:
    case PROBE_AFTER_REFUSED:
    case PROBE_POINTS:
        return INT64_MAX;
    }
    UNREACHABLE();
}

static void trigger_check(struct problems *problems, const struct document *part,
                          const struct scenario *scenario, const struct trigger *trigger)
{
    if (part == NULL) {
        return;
    }
    bool command = trigger->kind == TRIGGER_COMMAND || trigger->kind == TRIGGER_ARRIVAL;
    bool unasked = lock_algorithm_at(scenario->lock.algorithm)->extends_unasked ||
                   (scenario->needs >> DECLARES_RENEW & 1u) != 0;
    if (command && !unasked && trigger->role == ROLE_EXTEND && scenario->extend_every_ns == 0) {
        problem_say(problems, part->place,
                    "nobody ever extends: clients.extend_every is 0s, so this never happens; of a "
                    "lock that renews by itself, say needs: [renew]");
        return;
    }
    if (trigger->kind != TRIGGER_PROBE) {
        return;
    }
    enum probe_point point = (enum probe_point)trigger->point;
    int64_t passes = point_passes_max(scenario, point);
    if (passes == 0) {
        bool extend = point == PROBE_BEFORE_EXTEND || point == PROBE_AFTER_EXTEND;
        problem_say(problems, part->place, "no client ever passes %s: clients.%s",
                    probe_point_name(point), extend ? "extend_every is 0s" : "writes is 0");
        return;
    }
    int64_t clients = trigger->client == SCENARIO_ANY ? scenario->client_count : 1;
    if (passes != INT64_MAX && trigger->nth > passes * clients) {
        problem_say(problems, part->place,
                    "this happens at most %" PRId64 " times, never for the %u-th", passes * clients,
                    trigger->nth);
    }
}

/* A paused client passes nothing, and neither do the other threads of its program. */
static void until_check(struct problems *problems, const struct document *part,
                        const struct scenario *scenario, const struct fault *fault)
{
    const struct trigger *until = &fault->until;
    if (part == NULL || fault->kind != FAULT_PAUSE || until->client == SCENARIO_ANY) {
        return;
    }
    int32_t program = scenario_program(scenario, until->client);
    if (until->kind == TRIGGER_PROBE && fault->client_first >= 0 &&
        scenario_program(scenario, fault->client_first) <= program &&
        program <= scenario_program(scenario, fault->client_last)) {
        problem_say(problems, part->place,
                    "client %d is paused until then: it cannot get there itself",
                    until->client + 1);
    }
}

static void shape_check(struct problems *problems, const struct document *part,
                        const struct scenario *scenario, const struct fault *fault)
{
    int32_t quorum = (int32_t)lock_quorum((uint32_t)scenario->node_count);
    if (part == NULL) {
        return;
    }
    if (fault->shape == SHAPE_MINORITY && scenario->node_count == quorum) {
        problem_say(problems, part->place, "%d nodes have no minority", scenario->node_count);
    }
    if (fault->shape == SHAPE_BRIDGE && (scenario->node_count < 2 || scenario->client_count < 2)) {
        problem_say(problems, part->place, "a bridge needs two clients and two nodes");
    }
    if (fault->shape == SHAPE_RING && scenario->node_count == quorum) {
        problem_say(problems, part->place, "a ring of %d nodes cuts nothing", scenario->node_count);
    }
}

/* What is possible instead, of kinds, of locks or of faults: their names, parted by commas. */
static void instead(struct text *names, const char *name)
{
    text_add(names, "%s%s", names->length > 0 ? ", " : "", name);
}

static const char *kinds_that(bool (*has)(const struct server_kind *kind), struct text *names)
{
    for (size_t i = 0; i < server_kind_count(); i++) {
        if (has(server_kind_at(i))) {
            instead(names, server_kind_at(i)->name);
        }
    }
    return names->data;
}

static const char *locks_of(const struct server_kind *kind, struct text *names)
{
    for (size_t i = 0; i < lock_algorithm_count(); i++) {
        const struct lock_algorithm *algorithm = lock_algorithm_at((lock_algorithm_index)i);
        if (algorithm->dialect == kind->dialect && strchr(algorithm->name, '/') == NULL) {
            instead(names, algorithm->name);
        }
    }
    return names->data;
}

/* Those that strike nodes of this kind. */
static const char *faults_of(const struct server_kind *kind, struct text *names)
{
    for (enum fault_kind fault = 0; fault < FAULT_KINDS; fault++) {
        if (fault_is(fault, FAULT_ON_NODE) && server_kind_has(kind, fault)) {
            instead(names, fault_kind_name(fault));
        }
    }
    return names->data;
}

static bool kind_syncs(const struct server_kind *kind)
{
    return kind->syncs;
}

static bool kind_pools(const struct server_kind *kind)
{
    return kind->pools;
}

static bool kind_replicates(const struct server_kind *kind)
{
    return kind->replicates;
}

void fault_check(struct problems *problems, const struct fault_places *places,
                 const struct scenario *scenario, const struct fault *fault)
{
    trigger_check(problems, places->keys[FAULT_KEY_ON], scenario, &fault->start);
    trigger_check(problems, places->keys[FAULT_KEY_UNTIL], scenario, &fault->until);
    until_check(problems, places->keys[FAULT_KEY_UNTIL], scenario, fault);
    shape_check(problems, places->keys[FAULT_KEY_SHAPE], scenario, fault);
    const struct server_kind *kind = server_kind_at(scenario->node_kind);
    const struct document *what = places->keys[FAULT_KEY_DO];
    if (what != NULL && scenario->lock.replica_count > 0 && fault->kind == FAULT_REFUSE_WRITES &&
        fault->error == NODE_ERROR_READONLY) {
        problem_say(problems, what->place, "a node with replicas is made read-only by a failover");
    }
    if (what != NULL && scenario->sentinels.count > 0 && fault->kind == FAULT_FAILOVER) {
        problem_say(problems, what->place, "the sentinels promote, and nobody by hand");
    }
    if (what != NULL && !server_kind_has(kind, (enum fault_kind)fault->kind)) {
        char memory[WHY_BYTES];
        struct text names = text_over(memory, sizeof memory);
        problem_say(problems, what->place, "%s is nothing that can strike %s servers; what can: %s",
                    fault_kind_name((enum fault_kind)fault->kind), kind->name,
                    faults_of(kind, &names));
    }
}

static const struct document *place_of(const struct document *const *places, const char *path)
{
    return places[scenario_key_index(path)];
}

/* The place of the first of two keys that stands in the file. */
static struct place place_of_either(const struct document *const *places, const char *path,
                                    const char *other)
{
    const struct document *part = place_of(places, path);
    part = part == NULL ? place_of(places, other) : part;
    return part == NULL ? (struct place){1, 1} : part->place;
}

static void algorithm_check(struct problems *problems, const struct document *const *places,
                            const struct scenario *scenario)
{
    const struct document *part = place_of(places, "lock.algorithm");
    if (part == NULL || scenario->algorithm[0] == '\0') {
        return;
    }
    const struct lock_algorithm *algorithm = lock_algorithm_at(scenario->lock.algorithm);
    int32_t votes = scenario->lock.replica_count > 0 ? 1 : scenario->node_count;
    if (votes < algorithm->nodes_min || votes > algorithm->nodes_max) {
        problem_say(problems, place_of_either(places, "nodes.count", "lock.algorithm"),
                    "%s runs on %d to %d nodes; here are %d", algorithm->name, algorithm->nodes_min,
                    algorithm->nodes_max, scenario->node_count);
    }
    const struct server_kind *kind = server_kind_at(scenario->node_kind);
    char memory[WHY_BYTES];
    struct text names = text_over(memory, sizeof memory);
    if (kind->dialect != algorithm->dialect) {
        problem_say(problems, place_of_either(places, "nodes.kind", "lock.algorithm"),
                    "%s speaks to %s servers, and these are %s, for: %s", algorithm->name,
                    server_kind_at(server_kind_of(algorithm->dialect))->name, kind->name,
                    locks_of(kind, &names));
    }
    const struct document *fence = place_of(places, "store.fence_check");
    if (scenario->fence_check && !algorithm->fenced) {
        problem_say(problems, fence->place,
                    "%s gives no fences, so a fence check can refuse nothing; did you mean "
                    "\"value_check\" or the algorithm \"fenced_redlock\"?",
                    algorithm->name);
    }
}

static void name_check(struct problems *problems, const struct document *const *places,
                       const struct scenario *scenario)
{
    const struct document *part = place_of(places, "name");
    if (part == NULL || scenario->name[0] == '\0') {
        return;
    }
    const char *file = strrchr(scenario->path, '/');
    file = file == NULL ? scenario->path : file + 1;
    const char *dot = strrchr(file, '.');
    bool yaml = dot != NULL && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
    size_t length = yaml ? (size_t)(dot - file) : strlen(file);
    if (strlen(scenario->name) == length && strncmp(scenario->name, file, length) == 0) {
        return;
    }
    if (!scenario_is_name(file, length)) {
        problem_say(
            problems, part->place,
            "the name is the file's, and %.80s gives none: rename the file to " SCENARIO_NAME_IS
            ", such as %s.yaml",
            file, scenario->name);
    } else {
        problem_say(problems, part->place,
                    "the name is not the file's: the file is called %.80s, so its name is "
                    "\"%.*s\"",
                    file, (int)(length < 64 ? length : 64), file);
    }
}

static void random_check(struct problems *problems, const struct document *const *places,
                         const struct scenario *scenario)
{
    const struct random_faults *random = &scenario->random;
    if (!random->present) {
        return;
    }
    struct place from = place_of_either(places, "faults.random.from", "faults.random");
    struct place to = place_of_either(places, "faults.random.to", "faults.random");
    if (random->to_ns > scenario->duration_ns) {
        problem_say(problems, to, "faults.random.to is after the end of the duration");
    }
    if (random->from_ns >= random->to_ns) {
        problem_say(problems, from, "faults.random.from must come before faults.random.to");
    }
}

/* What only some libraries can do must be said to be needed. */
static void needs_check(struct problems *problems, const struct document *const *places,
                        const struct scenario *scenario)
{
    const struct {
        const char *key;
        bool asked;
        uint8_t need;
    } rows[] = {{"clients.deadline", scenario->deadline_ns > 0, DECLARES_DEADLINE},
                {"clients.cancel_after", scenario->cancel_after_ns > 0, DECLARES_CANCEL},
                {"clients.at_once", scenario->at_once > 1, DECLARES_SEVERAL},
                {"clients.threads", scenario->thread_count > 1, DECLARES_THREADS}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct document *part = place_of(places, rows[i].key);
        if (part != NULL && rows[i].asked && (scenario->needs >> rows[i].need & 1u) == 0) {
            problem_say(problems, part->place,
                        "not every lock can do this; say \"needs: [%s]\" as well",
                        history_declarations.words[rows[i].need]);
        }
    }
    const struct document *again = place_of(places, "clients.again");
    uint32_t said = (uint32_t)scenario->needs | scenario->lacks;
    if (again != NULL && scenario->again > 0 && (said >> DECLARES_REENTRANT & 1u) == 0) {
        problem_say(problems, again->place,
                    "a lock may grant this or refuse it; say \"needs: [reentrant]\" or \"lacks: "
                    "[reentrant]\" as well");
    }
    const struct document *lacks = place_of(places, "lacks");
    uint32_t both = (uint32_t)scenario->needs & scenario->lacks;
    if (lacks != NULL && both != 0) {
        problem_say(problems, lacks->place, "no lock has and lacks \"%s\"",
                    history_declarations.words[__builtin_ctz(both)]);
    }
}

/* What a client holds at once. */
static void holds_check(struct problems *problems, const struct document *const *places,
                        const struct scenario *scenario)
{
    struct place at_once = place_of_either(places, "clients.at_once", "clients.again");
    if (scenario->at_once > scenario->resource_count) {
        problem_say(problems, at_once, "%d at once of %d: say \"resources: %d\" as well",
                    scenario->at_once, scenario->resource_count, scenario->at_once);
    }
    if (scenario->at_once + scenario->again > SCENARIO_HOLDS_MAX) {
        problem_say(problems, place_of_either(places, "clients.again", "clients.at_once"),
                    "at_once and again make %d grants of one client; at most %d are followed",
                    scenario->at_once + scenario->again, SCENARIO_HOLDS_MAX);
    }
}

/* Programs have all their threads, so that what strikes one is easily said. */
static void threads_check(struct problems *problems, const struct document *const *places,
                          const struct scenario *scenario)
{
    int32_t threads = scenario->thread_count;
    if (threads > 0 && scenario->client_count % threads != 0) {
        problem_say(problems, place_of_either(places, "clients.threads", "clients.count"),
                    "%d clients do not make programs of %d threads each: say \"count: %d\"",
                    scenario->client_count, threads,
                    (scenario->client_count / threads + 1) * threads);
    }
}

/* Nodes that follow one of them, and the lock that waits for them. */
static void replicas_check(struct problems *problems, const struct document *const *places,
                           const struct scenario *scenario)
{
    const struct lock_config *lock = &scenario->lock;
    const struct document *part = place_of(places, "nodes.replicas");
    const struct server_kind *kind = server_kind_at(scenario->node_kind);
    int32_t replicas = (int32_t)lock->replica_count;
    if (part != NULL && replicas > 0 && !kind->replicates) {
        char memory[WHY_BYTES];
        struct text names = text_over(memory, sizeof memory);
        problem_say(problems, part->place,
                    "%s servers have no replicas of this sort; kinds that have: %s", kind->name,
                    kinds_that(kind_replicates, &names));
    } else if (part != NULL && replicas > 0 && scenario->node_count != replicas + 1) {
        problem_say(problems, part->place,
                    "all nodes but one are replicas: with count: %d there are %d of them",
                    scenario->node_count, scenario->node_count - 1);
    }
    if (scenario->algorithm[0] == '\0') {
        return;
    }
    const struct lock_algorithm *algorithm = lock_algorithm_at(lock->algorithm);
    const struct document *wait = place_of(places, "lock.wait");
    struct place at = place_of_either(places, "lock.wait", "lock.algorithm");
    if (!algorithm->waits && wait != NULL) {
        problem_say(problems, at, "%s does not wait for replicas; did you mean \"single-wait\"?",
                    algorithm->name);
    } else if (algorithm->waits && lock->wait_count > lock->replica_count) {
        problem_say(problems, at, "%s waits for %u replicas; \"nodes.replicas\" gives %u",
                    algorithm->name, lock->wait_count, lock->replica_count);
    } else if (algorithm->waits && lock->wait_ns >= lock->node_timeout_ns) {
        problem_say(problems, at, "lock.wait.timeout must be less than lock.node_timeout");
    }
}

/* What watches them, and promotes one by itself. */
static void sentinels_check(struct problems *problems, const struct document *const *places,
                            const struct scenario *scenario)
{
    const struct server_sentinels *sentinels = &scenario->sentinels;
    struct place at = place_of_either(places, "nodes.sentinels.count", "nodes.sentinels");
    const struct document *quorum = place_of(places, "nodes.sentinels.quorum");
    if (sentinels->count == 0) {
        if (place_of(places, "nodes.sentinels") != NULL &&
            place_of(places, "nodes.sentinels.count") == NULL) {
            problem_say(problems, at, "say how many: \"count: 3\"");
        }
        return;
    }
    if (scenario->lock.replica_count == 0) {
        problem_say(problems, at,
                    "sentinels promote replicas, and here are none: say \"replicas: "
                    "2\" as well (of redis servers)");
    } else if (sentinels->count > (uint32_t)scenario->node_count) {
        problem_say(problems, at, "each of the %u sentinels is beside a node; here are %d",
                    sentinels->count, scenario->node_count);
    }
    if (quorum != NULL && sentinels->quorum > sentinels->count) {
        problem_say(problems, quorum->place, "a quorum of %u is more than the %u sentinels",
                    sentinels->quorum, sentinels->count);
    }
}

/* Settings of nodes that not every kind has. */
static void settings_check(struct problems *problems, const struct document *const *places,
                           const struct scenario *scenario)
{
    const struct document *part = place_of(places, "nodes.pooler");
    const struct server_kind *kind = server_kind_at(scenario->node_kind);
    char memory[WHY_BYTES];
    struct text names = text_over(memory, sizeof memory);
    if (part != NULL && scenario->pooler != POOLER_NONE && !kind->pools) {
        problem_say(problems, part->place,
                    "no pooler stands before %s servers; kinds that have one: %s", kind->name,
                    kinds_that(kind_pools, &names));
    }
    const struct document *fsync = place_of(places, "nodes.fsync");
    if (fsync != NULL && scenario->fsync != FSYNC_NONE && !kind->syncs) {
        text_clear(&names);
        problem_say(problems, fsync->place,
                    "fsync is no setting of %s servers, which keep what they answered; of: %s",
                    kind->name, kinds_that(kind_syncs, &names));
    }
}

static void consensus_check(struct problems *problems, const struct document *const *places,
                            const struct scenario *scenario)
{
    const struct document *part = place_of(places, "nodes.consensus");
    const struct server_kind *kind = server_kind_at(scenario->node_kind);
    if (part != NULL && scenario->consensus == CONSENSUS_NONE && !kind->goes_without_consensus) {
        problem_say(problems, part->place, "%s servers have no other than \"majority\"",
                    kind->name);
    }
}

void scenario_check(struct problems *problems, const struct document *const *places,
                    const struct scenario *scenario)
{
    name_check(problems, places, scenario);
    algorithm_check(problems, places, scenario);
    random_check(problems, places, scenario);
    needs_check(problems, places, scenario);
    holds_check(problems, places, scenario);
    threads_check(problems, places, scenario);
    replicas_check(problems, places, scenario);
    sentinels_check(problems, places, scenario);
    settings_check(problems, places, scenario);
    consensus_check(problems, places, scenario);
    if (scenario->lock.node_timeout_ns >= scenario->lock.ttl_ns) {
        problem_say(problems, place_of_either(places, "lock.node_timeout", "lock.ttl"),
                    "lock.node_timeout must be less than lock.ttl, and should be small beside it");
    }
}

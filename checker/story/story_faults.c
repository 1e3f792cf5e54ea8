/* story_faults.c: the faults that stood in the way of what was asked. */
#include "base/assert.h"
#include "checker/story/story_cast.h"
#include "checker/story/story_drafts.h"

enum { WAYS_MAX = 4, WAY_FAULTS_MAX = 8 };

/* Faults of one kind and of one client: a fault strikes one node each, the reader sees one. Of
 * links between nodes those at both ends. */
struct way {
    const struct history_event *start; /* of the first */
    int32_t process;                   /* or HISTORY_NOBODY */
    uint64_t nodes;
    uint64_t peers; /* 0: of links with clients, or of no links */
    uint8_t kind;   /* enum fault_kind, as the ledger has it */
    uint8_t count;
    int16_t faults[WAY_FAULTS_MAX];
};

/* What the evidence of a cause was about: who asked, and from when to when. */
struct window {
    uint64_t asked; /* index of the first request */
    int64_t from_ns;
    int64_t to_ns;
};

#define KINDS_OF_LINK                                                                              \
    (CHECK_BIT(FAULT_LATENCY) | CHECK_BIT(FAULT_DELAY_COMMAND) | CHECK_BIT(FAULT_PARTITION) |      \
     CHECK_BIT(FAULT_LOSE_REPLY))
#define KINDS_OF_CLIENT (CHECK_BIT(FAULT_KILL) | CHECK_BIT(FAULT_CLOCK_JUMP))
#define KINDS_OF_NODE                                                                              \
    (CHECK_BIT(FAULT_REFUSE_WRITES) | CHECK_BIT(FAULT_STALL) | CHECK_BIT(FAULT_EVICT))

#define KINDS_OF_RESTART                                                                           \
    (CHECK_BIT(FAULT_CRASH) | CHECK_BIT(FAULT_POWER_LOSS) | CHECK_BIT(FAULT_SHUTDOWN) |            \
     CHECK_BIT(FAULT_FAILOVER))

/* The request that a client had made last when this happened; the event itself if none is known. */
static const struct history_event *request_of(const struct story_cast *cast,
                                              const struct history_event *event)
{
    for (uint64_t i = event->index + 1; i > 0; i--) {
        const struct history_event *at = story_event(cast, i - 1);
        if (at->kind == HISTORY_OP && at->type == HISTORY_INVOKE && at->process == event->process) {
            return at;
        }
    }
    return event;
}

static struct window window_of(const struct story_cast *cast)
{
    const struct check_result *result = cast->lead->result;
    const struct history_event *first = story_event(cast, result->evidence[0]);
    for (uint32_t i = 0; i < result->evidence_count; i++) {
        const struct history_event *event = story_event(cast, result->evidence[i]);
        const struct history_event *asked =
            event->process == HISTORY_NOBODY ? event : request_of(cast, event);
        first = asked->index < first->index ? asked : first;
    }
    return (struct window){
        .asked = first->index,
        .from_ns = first->time_ns,
        .to_ns = story_event(cast, cast->lead->last)->time_ns,
    };
}

/* The client among those of the evidence that a fault is about; HISTORY_NOBODY if none. */
static int32_t struck_client(const struct story_cast *cast, const struct ledger_fault *fault)
{
    const struct check_result *result = cast->lead->result;
    for (uint32_t i = 0; i < result->evidence_count; i++) {
        int32_t process = story_event(cast, result->evidence[i])->process;
        if (process != HISTORY_NOBODY && ledger_fault_on_client(fault, process)) {
            return process;
        }
    }
    return HISTORY_NOBODY;
}

/* What a fault did is often told when it is over, behind the violation. */
static bool had_effect(const struct story_cast *cast, const struct ledger_fault *fault,
                       int32_t number)
{
    for (uint64_t i = cast->lead->last; !fault->effect && i < cast->history->count; i++) {
        const struct history_event *event = story_event(cast, i);
        if (event->f == HISTORY_FAULT_EFFECT && event->fault == number) {
            return true;
        }
    }
    return fault->effect;
}

static bool is_named(const struct story_cause *cause, int32_t fault)
{
    for (uint8_t i = 0; i < cause->fault_count; i++) {
        if (cause->faults[i] == fault) {
            return true;
        }
    }
    return false;
}

/* Whether a client of the evidence was stopped while it waited for one of the answers there. */
static bool while_asking(const struct story_cast *cast, const struct ledger_fault *fault)
{
    const struct check_result *result = cast->lead->result;
    for (uint32_t i = 0; i < result->evidence_count; i++) {
        const struct history_event *event = story_event(cast, result->evidence[i]);
        bool answer = event->kind == HISTORY_OP && event->type != HISTORY_INVOKE;
        if (answer && ledger_fault_on_client(fault, event->process) &&
            fault->start_ns > request_of(cast, event)->time_ns &&
            fault->start_ns < event->time_ns) {
            return true;
        }
    }
    return false;
}

/* Of a section that was too long only what kept its client from an extension is told; of what a
 * node forgot only what made it forget. */
static uint64_t kinds_of_way(const struct story_cast *cast, const struct ledger_fault *fault)
{
    uint64_t kinds = KINDS_OF_LINK | CHECK_BIT(FAULT_REFUSE_WRITES);
    if (cast->cause->assumption == ASSUMPTION_PERSISTENCE) {
        return KINDS_OF_RESTART;
    }
    if (cast->cause->blame == BLAME_LIBRARY) {
        kinds |= KINDS_OF_CLIENT | KINDS_OF_NODE;
        kinds |= while_asking(cast, fault) ? CHECK_BIT(FAULT_PAUSE) : 0;
    }
    return kinds;
}

/* Whether a fault stood in the way, and in whose; HISTORY_NOBODY: on the nodes. */
static bool in_the_way(const struct story_cast *cast, const struct window *window,
                       const struct history_event *start, int32_t *process)
{
    int32_t number = start->fault;
    const struct ledger_fault *fault = ledger_fault_at(cast->ledger, (uint32_t)number);
    bool in_force = fault->state != FAULT_WAITING && fault->start_ns <= window->to_ns &&
                    fault->end_ns >= window->from_ns;
    bool fits = in_force && (kinds_of_way(cast, fault) >> fault->kind & 1) != 0;
    bool of_node =
        start->peers != 0 || ((KINDS_OF_NODE | KINDS_OF_RESTART) >> fault->kind & 1) != 0;
    *process = of_node ? HISTORY_NOBODY : struck_client(cast, fault);
    bool strikes = of_node || *process != HISTORY_NOBODY;
    return fits && strikes && !is_named(cast->cause, number) && had_effect(cast, fault, number);
}

/* The fault's beginning if it stood in the way. */
static const struct history_event *way_start(const struct story_cast *cast,
                                             const struct window *window, int32_t number,
                                             int32_t *process)
{
    const struct history_event *start = telling_fault(&cast->telling, number);
    bool in = start != NULL && in_the_way(cast, window, start, process);
    return in ? start : NULL;
}

static size_t ways_find(const struct story_cast *cast, const struct window *window,
                        struct way ways[WAYS_MAX])
{
    size_t count = 0;
    for (uint32_t i = 0; i < cast->ledger->fault_count; i++) {
        const struct ledger_fault *fault = ledger_fault_at(cast->ledger, i);
        int32_t process = HISTORY_NOBODY;
        const struct history_event *start = way_start(cast, window, (int32_t)i, &process);
        if (start == NULL) {
            continue;
        }
        size_t at = 0;
        while (at < count && (ways[at].kind != fault->kind || ways[at].process != process ||
                              ways[at].peers != start->peers || ways[at].count == WAY_FAULTS_MAX)) {
            at++;
        }
        if (at == WAYS_MAX) {
            break;
        }
        if (at == count) {
            ways[count++] = (struct way){
                .start = start, .process = process, .peers = start->peers, .kind = fault->kind};
        }
        struct way *way = &ways[at];
        way->start = start->index < way->start->index ? start : way->start;
        way->nodes |= start->peers != 0 ? story_nodes_named(start) : fault->nodes;
        way->faults[way->count++] = (int16_t)i;
    }
    return count;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Who is at the other end of the links: a client, or nodes. */
static void put_end_of(struct story_cast *cast, const struct way *way, struct text *text)
{
    if (way->peers != 0) {
        put_nodes(text, way->peers);
    } else {
        put_client(story_into(cast, text), way->process);
    }
}

static void put_nodes_of(const struct way *way, struct text *text)
{
    if (way->nodes == 0) {
        text_add(text, "the nodes");
    } else {
        put_nodes(text, way->nodes);
    }
}

static void put_amount_of(const struct way *way, const char *before, struct text *text)
{
    int64_t amount_ns = way->start->number[0];
    if (amount_ns != 0 && amount_ns != TIME_NEVER) {
        text_add(text, "%s", before);
        duration_print_short(amount_ns, text);
    }
}

static void put_faults_of(const struct way *way, struct text *text)
{
    text_add(text, way->count == 1 ? " (fault " : " (faults ");
    for (uint8_t i = 0; i < way->count; i++) {
        const char *before = i == 0 ? "" : i + 1 == way->count ? " and " : ", ";
        text_add(text, "%s%d", before, way->faults[i] + 1);
    }
    text_add(text, ")");
}

/* What happens on the link between the client and its nodes, or between nodes. */
static void tell_link(struct story_cast *cast, const struct way *way, struct draft *draft)
{
    struct text *text = &draft->subject;
    bool one = ledger_bits(way->nodes) == 1;
    if (way->kind == FAULT_LOSE_REPLY) {
        text_add(text, "what ");
        put_nodes_of(way, text);
        text_add(text, one ? " replies to " : " reply to ");
        put_end_of(cast, way, text);
        text_add(text, " is lost");
        text_add(&draft->label, "reply lost");
    } else if (way->kind == FAULT_DELAY_COMMAND) {
        text_add(text, "what ");
        put_end_of(cast, way, text);
        text_add(text, way->peers != 0 ? " send to " : " sends to ");
        put_nodes_of(way, text);
        text_add(text, " is held back");
        put_amount_of(way, " for ", text);
        text_add(&draft->label, "request held back");
    } else {
        bool slower = way->kind == FAULT_LATENCY;
        bool links = way->peers != 0 && ledger_bits(way->peers | way->nodes) > 2;
        text_add(text, links ? "the links between " : "the link between ");
        put_end_of(cast, way, text);
        text_add(text, " and ");
        put_nodes_of(way, text);
        text_add(text, links ? " are " : " is ");
        text_add(text, slower ? "slower" : "cut");
        if (slower) {
            put_amount_of(way, " by ", text);
        }
        text_add(&draft->label, slower ? "latency" : "partition");
    }
}

static void tell_node(const struct way *way, struct draft *draft)
{
    static const char *const does[FAULT_KINDS][3] = {
        [FAULT_REFUSE_WRITES] = {" refuses writes", " refuse writes", "writes refused"},
        [FAULT_STALL] = {" stalls", " stall", "stalled"},
        [FAULT_CRASH] = {" crashes", " crash", "crashed"},
        [FAULT_POWER_LOSS] = {" loses power", " lose power", "power lost"},
        [FAULT_SHUTDOWN] = {" shuts down", " shut down", "shut down"},
        [FAULT_FAILOVER] = {" fails over", " fail over", "failed over"},
        [FAULT_EVICT] = {" throws keys out", " throw keys out", "keys thrown out"},
    };
    const char *const *words = does[way->kind];
    ASSERT(words[0] != NULL);
    put_nodes_of(way, &draft->subject);
    text_add(&draft->subject, "%s", words[ledger_bits(way->nodes) == 1 ? 0 : 1]);
    text_add(&draft->label, "%s", words[2]);
}

static void tell_way(struct story_cast *cast, const struct way *way, struct draft *draft)
{
    struct text *text = &draft->subject;
    if (way->process == HISTORY_NOBODY) {
        put_nodes_of(way, &draft->actor);
        if (way->peers != 0) {
            tell_link(cast, way, draft);
        } else {
            tell_node(way, draft);
        }
    } else {
        put_client(story_into(cast, &draft->actor), way->process);
        if (way->kind == FAULT_KILL) {
            put_client(story_into(cast, text), way->process);
            text_add(text, " is killed");
            text_add(&draft->label, "killed");
        } else if (way->kind == FAULT_PAUSE) {
            put_client(story_into(cast, text), way->process);
            text_add(text, " is paused before it has its answer");
            text_add(&draft->label, "paused");
        } else if (way->kind == FAULT_CLOCK_JUMP) {
            put_client(story_into(cast, text), way->process);
            text_add(text, "'s clock jumps");
            put_amount_of(way, way->start->number[0] > 0 ? " by +" : " by ", text);
            text_add(&draft->label, "clock jumps");
        } else {
            tell_link(cast, way, draft);
        }
    }
    text_add(&draft->actor, ":");
    put_faults_of(way, text);
}

/* What was so before anybody asked is told when it was asked, unless that is told already. */
static uint64_t moment_of(const struct drafts *drafts, const struct window *window,
                          const struct way *way)
{
    bool before = way->start->time_ns < window->from_ns;
    for (size_t i = 0; before && i < drafts->count; i++) {
        before = drafts->list[i].event != window->asked;
    }
    return before ? window->asked : way->start->index;
}

void story_tell_ways(struct story_cast *cast, struct drafts *drafts)
{
    struct way ways[WAYS_MAX];
    const struct story_cause *cause = cast->cause;
    bool untold = cause->fault_count == 0 && (cause->assumption == ASSUMPTION_SECTION ||
                                              cause->assumption == ASSUMPTION_PERSISTENCE);
    if (cause->blame != BLAME_LIBRARY && !untold) {
        return;
    }
    struct window window = window_of(cast);
    size_t count = ways_find(cast, &window, ways);
    for (size_t i = 0; i < count; i++) {
        const struct way *way = &ways[i];
        uint64_t moment = moment_of(drafts, &window, way);
        struct draft *draft = drafts_add(drafts, story_event(cast, moment));
        draft->process = way->process;
        draft->nodes = way->process == HISTORY_NOBODY ? way->nodes | way->peers : 0;
        tell_way(cast, way, draft);
        for (uint8_t k = 0; k < way->count; k++) {
            story_add_fault(cast->cause, way->faults[k]);
        }
    }
}

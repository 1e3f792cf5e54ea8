/* members.c: who leads a ZooKeeper ensemble and who follows, while members come, go and are cut. */
#include "servers/zookeeper/ensemble.h"

#include "base/assert.h"
#include "base/duration.h"

/* All are there, and the last one leads: of equals the highest id is elected. */
void members_init(struct ensemble *ensemble)
{
    ensemble->leader = ensemble->node_count - 1;
}

static bool runs(const struct ensemble *ensemble, uint32_t node)
{
    return ((ensemble->down | ensemble->frozen) >> node & 1) == 0;
}

static bool together(const struct ensemble *ensemble, uint32_t a, uint32_t b,
                     const struct server_door *door)
{
    return runs(ensemble, a) && runs(ensemble, b) &&
           (a == b || (door->reaches(door, a, b) && door->reaches(door, b, a)));
}

/* Does it hear from its leader; does the leader hear from a majority? */
static bool in_touch(const struct ensemble *ensemble, uint32_t node, const struct server_door *door)
{
    if (ensemble->leader == ENSEMBLE_NOBODY) {
        return false;
    }
    if (node != ensemble->leader) {
        return together(ensemble, node, ensemble->leader, door);
    }
    uint32_t company = 0;
    for (uint32_t other = 0; other < ensemble->node_count; other++) {
        company += together(ensemble, node, other, door);
    }
    return company >= lock_quorum(ensemble->node_count);
}

bool members_commit(const struct ensemble *ensemble)
{
    return ensemble->leader != ENSEMBLE_NOBODY && runs(ensemble, ensemble->leader) &&
           ensemble->members[ensemble->leader].state == MEMBER_SERVES;
}

/* ---- what is committed ----------------------------------------------------------------------- */

void members_applied(struct ensemble *ensemble, uint32_t node, int64_t zxid,
                     struct server_door *door)
{
    struct ensemble_member *member = &ensemble->members[node];
    int64_t before = member->applied;
    member->applied = zxid > before ? zxid : before;
    watches_fire(ensemble, node, before, door);
}

void members_committed(struct ensemble *ensemble, uint32_t origin, struct server_door *door)
{
    ASSERT(ensemble->leader != ENSEMBLE_NOBODY);
    for (uint32_t node = 0; node < ensemble->node_count; node++) {
        if (node == ensemble->leader || node == origin ||
            ensemble->members[node].state == MEMBER_LOOKS) {
            continue;
        }
        struct server_message message = {
            .from = ensemble->leader,
            .to = node,
            .kind = WORDS_COMMIT,
            .number = {ensemble->members[node].term, ensemble->zxid},
        };
        door->send(door, &message);
    }
    members_applied(ensemble, ensemble->leader, ensemble->zxid, door);
}

/* ---- coming and going ------------------------------------------------------------------------ */

static void arm(struct ensemble *ensemble, uint32_t node, int64_t after_ns,
                struct server_door *door)
{
    bool due = after_ns != TIME_NEVER;
    ensemble->members[node].due = due;
    door->arm(door, ensemble_session_count(ensemble) + node,
              due ? door->true_ns + after_ns : TIME_NEVER);
}

/* It closes its clients' connections: what it was asked stays open, what it watched is forgotten.
 */
static void hang_up(struct ensemble *ensemble, uint32_t node, struct server_door *door)
{
    for (uint32_t i = 0; i < ensemble_session_count(ensemble); i++) {
        struct ensemble_session *session = ensemble_session_at(ensemble, i);
        struct ensemble_watch *watch = &ensemble->clients[i / ENSEMBLE_SESSIONS].watch;
        if (session->open && session->attached && session->connect.node == node) {
            session->attached = false;
            door->push(door, &session->connect, (struct lock_reply){.type = LOCK_REPLY_NO});
        }
        watch->left = watch->left && watch->ask.node != node;
    }
}

/* It follows, or leads, no longer; one that is frozen does so when it goes on. */
static void drop(struct ensemble *ensemble, uint32_t node, struct server_door *door)
{
    ensemble->members[node].state = MEMBER_LOOKS;
    ensemble->members[node].term++;
    arm(ensemble, node, TIME_NEVER, door);
    if (runs(ensemble, node)) {
        hang_up(ensemble, node, door);
    }
}

/* The leader is none any more; those whose connection to it closes know at once. */
static void leader_drop(struct ensemble *ensemble, struct server_door *door)
{
    uint32_t leader = ensemble->leader;
    bool stopped = (ensemble->down >> leader & 1) != 0;
    for (uint32_t node = 0; node < ensemble->node_count; node++) {
        bool follows = node != leader && ensemble->members[node].state != MEMBER_LOOKS;
        if (follows && (stopped || together(ensemble, node, leader, door))) {
            drop(ensemble, node, door);
        }
    }
    drop(ensemble, leader, door);
    ensemble->leader = ENSEMBLE_NOBODY;
    sessions_rearm(ensemble, door);
}

static void join(struct ensemble *ensemble, uint32_t node, struct server_door *door)
{
    struct ensemble_member *member = &ensemble->members[node];
    member->state = MEMBER_SERVES;
    member->term++;
    member->applied = ensemble->zxid;
    arm(ensemble, node, TIME_NEVER, door);
}

/* ---- elections ------------------------------------------------------------------------------- */

/* Who looks for a leader and finds a majority that does; ENSEMBLE_NOBODY: nobody. */
static uint32_t candidate(const struct ensemble *ensemble, const struct server_door *door)
{
    for (uint32_t node = ensemble->node_count; node-- > 0;) {
        uint32_t company = 0;
        for (uint32_t other = 0; other < ensemble->node_count; other++) {
            company += ensemble->members[node].state == MEMBER_LOOKS &&
                       ensemble->members[other].state == MEMBER_LOOKS &&
                       together(ensemble, node, other, door);
        }
        if (company >= lock_quorum(ensemble->node_count)) {
            return node;
        }
    }
    return ENSEMBLE_NOBODY;
}

/* An election lasts 1.5 ticks, whoever looks for a leader that is there finds it in as long. */
static int64_t election_ns(const struct ensemble *ensemble)
{
    return ensemble->tick_ns + ensemble->tick_ns / 2;
}

/* See who hears from whom: what was heard of is waited for, for a while. */
static void members_look(struct ensemble *ensemble, struct server_door *door)
{
    for (uint32_t node = 0; node < ensemble->node_count; node++) {
        struct ensemble_member *member = &ensemble->members[node];
        bool touch = in_touch(ensemble, node, door);
        if (member->state == MEMBER_SERVES && !touch) {
            member->state = MEMBER_DOUBTS;
            arm(ensemble, node, ENSEMBLE_SYNC_TICKS * ensemble->tick_ns, door);
        } else if (member->state == MEMBER_DOUBTS && touch) {
            member->state = MEMBER_SERVES;
            arm(ensemble, node, TIME_NEVER, door);
        } else if (member->state == MEMBER_LOOKS && touch != member->due) {
            arm(ensemble, node, touch ? election_ns(ensemble) : TIME_NEVER, door);
        }
    }
    bool electing =
        ensemble->leader == ENSEMBLE_NOBODY && candidate(ensemble, door) != ENSEMBLE_NOBODY;
    if (electing != ensemble->electing) {
        ensemble->electing = electing;
        door->arm(door, ensemble_session_count(ensemble) + ensemble->node_count,
                  electing ? door->true_ns + election_ns(ensemble) : TIME_NEVER);
    }
    sessions_rearm(ensemble, door);
}

void members_wake(struct ensemble *ensemble, uint32_t node, struct server_door *door)
{
    struct ensemble_member *member = &ensemble->members[node];
    bool touch = in_touch(ensemble, node, door);
    member->due = false;
    if (member->state == MEMBER_LOOKS && touch) {
        join(ensemble, node, door);
    } else if (member->state == MEMBER_DOUBTS && !touch && node == ensemble->leader) {
        leader_drop(ensemble, door);
    } else if (member->state == MEMBER_DOUBTS && !touch) {
        drop(ensemble, node, door);
    }
    members_look(ensemble, door);
}

void members_elect(struct ensemble *ensemble, struct server_door *door)
{
    uint32_t elected = candidate(ensemble, door);
    ensemble->electing = false;
    if (ensemble->leader == ENSEMBLE_NOBODY && elected != ENSEMBLE_NOBODY) {
        ensemble->leader = elected;
        for (uint32_t node = 0; node < ensemble->node_count; node++) {
            if (ensemble->members[node].state == MEMBER_LOOKS &&
                together(ensemble, node, elected, door)) {
                join(ensemble, node, door);
            }
        }
        sessions_begin_anew(ensemble, door);
    }
    members_look(ensemble, door);
}

/* ---- what the world tells -------------------------------------------------------------------- */

void ensemble_reach(void *state, struct server_door *door)
{
    members_look(state, door);
}

/* A connection between two broke: a follower that has lost its leader so knows at once. */
void ensemble_link(void *state, uint32_t a, uint32_t b, bool up, struct server_door *door)
{
    struct ensemble *ensemble = state;
    if (up || ensemble->leader == ENSEMBLE_NOBODY) {
        return;
    }
    uint32_t follower = a == ensemble->leader ? b : a;
    bool leads = a == ensemble->leader || b == ensemble->leader;
    if (leads && ensemble->members[follower].state != MEMBER_LOOKS) {
        drop(ensemble, follower, door);
    }
}

void ensemble_froze(void *state, uint32_t node, bool frozen, struct server_door *door)
{
    struct ensemble *ensemble = state;
    uint64_t bit = UINT64_C(1) << node;
    ensemble->frozen = frozen ? ensemble->frozen | bit : ensemble->frozen & ~bit;
    if (!frozen && ensemble->members[node].state == MEMBER_LOOKS) {
        hang_up(ensemble, node, door);
    }
    members_look(ensemble, door);
}

uint32_t ensemble_stop(void *state, const struct server_turn *turn, enum server_stop how,
                       uint32_t kept, struct server_door *door)
{
    struct ensemble *ensemble = state;
    (void)how;
    (void)kept;
    ensemble->down |= UINT64_C(1) << turn->node;
    if (turn->node == ensemble->leader) {
        leader_drop(ensemble, door);
    } else if (ensemble->members[turn->node].state != MEMBER_LOOKS) {
        drop(ensemble, turn->node, door);
    }
    for (uint32_t i = 0; i < ensemble_session_count(ensemble); i++) {
        struct ensemble_session *session = ensemble_session_at(ensemble, i);
        session->attached = session->attached && session->connect.node != turn->node;
    }
    members_look(ensemble, door);
    return 0;
}

void ensemble_start(void *state, const struct server_turn *turn, struct server_door *door)
{
    struct ensemble *ensemble = state;
    ensemble->down &= ~(UINT64_C(1) << turn->node);
    members_look(ensemble, door);
}

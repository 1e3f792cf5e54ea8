/* ledger_claims.c: who is who, and which claim is whose. */
#include "checker/ledger/ledger_claims.h"

#include "base/assert.h"

/* Where an uncounted process stands in the slots, or would. */
static uint32_t *slot_of(const struct ledger *ledger, int32_t process)
{
    uint32_t *slots = ledger_at(ledger, ledger->slots_at);
    uint32_t at = ((uint32_t)process * 2654435761u) % LEDGER_SLOTS;
    while (slots[at] != 0 && ledger_process_at(ledger, slots[at] - 1)->process != process) {
        at = (at + 1) % LEDGER_SLOTS;
    }
    return &slots[at];
}

uint32_t ledger_slot(const struct ledger *ledger, int32_t process)
{
    if (process < 0) {
        return ledger->process_count;
    }
    if (ledger->processes_counted) {
        return (uint32_t)process < ledger->process_count ? (uint32_t)process
                                                         : ledger->process_count;
    }
    uint32_t slot = *slot_of(ledger, process);
    return slot == 0 ? ledger->process_count : slot - 1;
}

const struct ledger_process *ledger_process(const struct ledger *ledger, int32_t process)
{
    uint32_t slot = ledger_slot(ledger, process);
    return slot == ledger->process_count ? NULL : ledger_process_at(ledger, slot);
}

uint32_t ledger_slot_take(struct ledger *ledger, int32_t process)
{
    uint32_t slot = ledger_slot(ledger, process);
    if (slot < ledger->process_count) {
        ledger_process_at(ledger, slot)->process = process;
        return slot;
    }
    if (process < 0) {
        return slot;
    }
    if (ledger->processes_counted) {
        ledger->overflow = true;
        return slot;
    }
    if (ledger->slots_used < ledger->process_count) {
        uint32_t *place = slot_of(ledger, process);
        slot = ledger->slots_used++;
        ledger_process_at(ledger, slot)->process = process;
        *place = slot + 1;
        return slot;
    }
    ledger->overflow = true;
    return slot;
}

const struct ledger_claim *ledger_find(const struct ledger *ledger,
                                       const struct history_event *event)
{
    uint32_t slot = ledger_slot(ledger, event->process);
    bool named = (event->flags & HISTORY_HAS_VALUE) != 0;
    if (slot == ledger->process_count) {
        return NULL;
    }
    for (uint32_t i = 0; i < LEDGER_CLAIMS; i++) {
        const struct ledger_claim *claim = ledger_claim_at(ledger, slot * LEDGER_CLAIMS + i);
        if (claim->state != CLAIM_FREE && claim->resource == event->resource &&
            claim->has_value == named &&
            (!named || memcmp(&claim->value, &event->value, sizeof claim->value) == 0)) {
            return claim;
        }
    }
    return NULL;
}

bool ledger_same_owner(const struct ledger *ledger, int32_t one, int32_t other)
{
    ASSERT(ledger->threads > 0);
    bool apart = ledger->ownership == OWNERSHIP_THREAD || ledger->ownership == OWNERSHIP_OBJECT;
    if (one == other || apart || one < 0 || other < 0) {
        return one == other;
    }
    return one / ledger->threads == other / ledger->threads;
}

bool ledger_watched(const struct ledger *ledger, const struct ledger_claim *claim)
{
    return ledger->node_count > 0 && ledger->has_nodes &&
           (ledger->tapped || claim->set != 0 ||
            ledger_resource_at(ledger, claim->resource)->keys_seen);
}

bool ledger_ran_out(const struct ledger *ledger, const struct ledger_claim *claim)
{
    const struct ledger_end *ends = ledger_ends(claim);
    uint64_t gone = (claim->set & ~claim->present) | claim->remade;
    int32_t left = ledger_bits(claim->set);
    for (int32_t node = 0; node < ledger->node_count; node++) {
        left -= (gone >> node & 1) != 0 && ends[node].f == HISTORY_KEY_EXPIRED ? 1 : 0;
    }
    return claim->set != 0 && left < ledger->quorum;
}

const struct ledger_claim *ledger_grant(const struct ledger *ledger, int32_t process,
                                        uint32_t resource)
{
    uint32_t slot = ledger_slot(ledger, process);
    const struct ledger_claim *newest = NULL;
    for (uint32_t i = 0; slot < ledger->process_count && i < LEDGER_CLAIMS; i++) {
        struct ledger_claim *claim = ledger_claim_at(ledger, slot * LEDGER_CLAIMS + i);
        if (claim->state == CLAIM_GRANTED && claim->resource == resource &&
            (newest == NULL || claim->order > newest->order)) {
            newest = claim;
        }
    }
    return newest;
}

const struct ledger_claim *ledger_held(const struct ledger *ledger,
                                       const struct history_event *event)
{
    const struct ledger_claim *named =
        (event->flags & HISTORY_HAS_VALUE) != 0 ? ledger_find(ledger, event) : NULL;
    bool held = named != NULL && named->state == CLAIM_GRANTED && named->over == OVER_NOT;
    return held ? named : ledger_grant(ledger, event->process, event->resource);
}

const struct ledger_claim *ledger_key_claim(const struct ledger *ledger,
                                            const struct ledger_key *key)
{
    if (key->claim == 0) {
        return NULL;
    }
    const struct ledger_claim *claim = ledger_claim_at(ledger, key->claim - 1);
    return claim->serial == key->serial ? claim : NULL;
}

const struct ledger_claim *ledger_other_holder(const struct ledger *ledger,
                                               const struct ledger_claim *claim)
{
    ASSERT(claim->resource < ledger->resource_count);
    uint32_t link = ledger_resource_at(ledger, claim->resource)->running;
    while (link != 0) {
        const struct ledger_claim *other = ledger_claim_at(ledger, link - 1);
        ASSERT(other->resource == claim->resource);
        bool mine = ledger->ownership == OWNERSHIP_OBJECT
                        ? other == claim
                        : ledger_same_owner(ledger, other->process, claim->process);
        if (!mine && ledger_running(ledger, other)) {
            return other;
        }
        link = other->next;
    }
    return NULL;
}

void ledger_running_drop(struct ledger *ledger, struct ledger_claim *claim)
{
    if (!claim->listed) {
        return;
    }
    struct ledger_resource *resource = ledger_resource_at(ledger, claim->resource);
    uint32_t *link = &resource->running;
    ASSERT(*link != 0);
    while (ledger_claim_at(ledger, *link - 1) != claim) {
        ASSERT(ledger_claim_at(ledger, *link - 1)->next != 0);
        link = &ledger_claim_at(ledger, *link - 1)->next;
    }
    *link = claim->next;
    claim->next = 0;
    claim->listed = false;
}

/* Put a lease before the others of its resource, and drop those that have run out. */
void ledger_running_add(struct ledger *ledger, struct ledger_claim *claim)
{
    struct ledger_resource *resource = ledger_resource_at(ledger, claim->resource);
    uint32_t *link = &resource->running;
    while (*link != 0) {
        struct ledger_claim *other = ledger_claim_at(ledger, *link - 1);
        if (other == claim || !ledger_running(ledger, other)) {
            *link = other->next;
            other->next = 0;
            other->listed = false;
        } else {
            link = &other->next;
        }
    }
    uint32_t index = ledger_claim_index(ledger, claim);
    claim->next = resource->running;
    ASSERT(claim->next != index + 1);
    resource->running = index + 1;
    claim->listed = true;
    ASSERT(claim->state == CLAIM_GRANTED);
}

void ledger_claim_renew(struct ledger *ledger, struct ledger_claim *claim)
{
    ASSERT(claim->state != CLAIM_FREE);
    ASSERT((claim->present & ~claim->set) == 0);
    ledger_running_drop(ledger, claim);
    claim->doubtful = claim->state == CLAIM_GRANTED && claim->over != OVER_RELEASED;
    claim->set = claim->present;
    claim->remade = 0;
    claim->told = false;
    claim->other_value = false;
    claim->over = OVER_NOT;
    claim->over_ns = TIME_NEVER;
    claim->until_ns = TIME_NEVER;
    claim->until_least_ns = TIME_NEVER;
}

/* Whether `a` is to be forgotten before `b`: one without keys first, then the one at rest longest.
 */
static bool claim_matters_less(const struct ledger_claim *a, const struct ledger_claim *b)
{
    if ((a->present == 0) != (b->present == 0)) {
        return a->present == 0;
    }
    return a->stamp < b->stamp;
}

/* A client's late requests can make many claims at once; the one that matters least is forgotten.
 */
struct ledger_claim *ledger_claim_take(struct ledger *ledger, uint32_t slot)
{
    struct ledger_claim *oldest = NULL;
    ASSERT(slot < ledger->process_count);
    for (uint32_t i = 0; i < LEDGER_CLAIMS; i++) {
        struct ledger_claim *claim = ledger_claim_at(ledger, slot * LEDGER_CLAIMS + i);
        if (claim->state == CLAIM_FREE) {
            oldest = claim;
            break;
        }
        bool held = ledger_running(ledger, claim);
        if (!held && (oldest == NULL || claim_matters_less(claim, oldest))) {
            oldest = claim;
        }
    }
    if (oldest == NULL) {
        ledger->overflow = true;
        oldest = ledger_claim_at(ledger, slot * LEDGER_CLAIMS);
    } else if (oldest->state == CLAIM_ASKED && oldest->present != 0) {
        ledger->overflow = true; /* it may yet be granted: what is judged from here on is unsure */
    }
    ledger_running_drop(ledger, oldest);
    memset(oldest, 0, ledger->claim_bytes);
    oldest->process = ledger_process_at(ledger, slot)->process;
    oldest->serial = ++ledger->claims;
    oldest->until_ns = TIME_NEVER;
    oldest->until_least_ns = TIME_NEVER;
    oldest->over_ns = TIME_NEVER;
    return oldest;
}

int32_t ledger_asker(const struct ledger *ledger, uint32_t resource)
{
    const struct ledger_process *longest = NULL;
    for (uint32_t slot = 0; slot < ledger->process_count; slot++) {
        const struct ledger_process *process = ledger_process_at(ledger, slot);
        ASSERT(process->open_index <= ledger->last_index);
        bool asks = process->open && !process->dead && process->open_f == HISTORY_ACQUIRE &&
                    process->open_resource == resource;
        if (asks && (longest == NULL || process->open_index < longest->open_index)) {
            longest = process;
        }
    }
    return longest != NULL ? longest->process : HISTORY_NOBODY;
}

bool ledger_had_key(const struct ledger *ledger, const struct ledger_claim *claim, int32_t node)
{
    uint64_t asked_index = ledger_process(ledger, claim->process)->open_index;
    const struct ledger_key *key = ledger_key_at(ledger, node, claim->resource);
    const struct ledger_claim *last = ledger_key_claim(ledger, key);
    if ((claim->present >> node & 1) != 0 || ledger_ends(claim)[node].index > asked_index) {
        return true;
    }
    if (key->present) {
        return key->process == HISTORY_NOBODY || key->process == claim->process;
    }
    return last != NULL && last->process == claim->process &&
           ledger_ends(last)[node].index > asked_index;
}

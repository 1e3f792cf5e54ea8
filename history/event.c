/* event.c: the words of a history, in both directions. */
#include "history/event.h"

#include "base/assert.h"

#include <string.h>

#define WORD(name, word) word,
#define COUNT(table)     (sizeof(table) / sizeof(table)[0])

static const char *const kind_words[] = {HISTORY_KIND_MAP(WORD)};
static const char *const type_words[] = {HISTORY_TYPE_MAP(WORD)};
static const char *const f_words[] = {HISTORY_F_MAP(WORD)};
static const char *const cause_words[] = {HISTORY_CAUSE_MAP(WORD)};
#define FAULT_WORD(name, word, nature, life, unit, keys) word,
static const char *const fault_words[] = {HISTORY_FAULT_MAP(FAULT_WORD)};
static const char *const declares_words[] = {HISTORY_DECLARES_MAP(WORD)};
static const char *const ownership_words[] = {HISTORY_OWNERSHIP_MAP(WORD)};
static const char *const links_words[] = {HISTORY_LINKS_MAP(WORD)};

_Static_assert(COUNT(kind_words) == HISTORY_KINDS, "a word for each kind");
_Static_assert(COUNT(type_words) == HISTORY_TYPES, "a word for each type");
_Static_assert(COUNT(f_words) == HISTORY_FS, "a word for each f");
_Static_assert(COUNT(cause_words) == HISTORY_CAUSES, "a word for each cause");
_Static_assert(COUNT(fault_words) == FAULT_KINDS, "a word for each kind of fault");
_Static_assert(COUNT(declares_words) == HISTORY_DECLARES, "a word for each declaration");
_Static_assert(COUNT(ownership_words) == HISTORY_OWNERSHIPS, "a word for each ownership");
_Static_assert(COUNT(links_words) == HISTORY_LINKS, "a word for each choice of links");

const struct history_vocabulary history_kinds = {kind_words, COUNT(kind_words)};
const struct history_vocabulary history_types = {type_words, COUNT(type_words)};
const struct history_vocabulary history_fs = {f_words, COUNT(f_words)};
const struct history_vocabulary history_causes = {cause_words, COUNT(cause_words)};
const struct history_vocabulary history_fault_kinds = {fault_words, COUNT(fault_words)};
const struct history_vocabulary history_declarations = {declares_words, COUNT(declares_words)};
const struct history_vocabulary history_ownerships = {ownership_words, COUNT(ownership_words)};
const struct history_vocabulary history_link_shapes = {links_words, COUNT(links_words)};

#define ON_CLIENT  FAULT_ON_CLIENT
#define ON_NODE    FAULT_ON_NODE
#define ON_LINK    FAULT_ON_LINK
#define OF_CLOCK   FAULT_OF_CLOCK
#define OF_PROCESS FAULT_OF_PROCESS
#define OF_SERVER  FAULT_OF_SERVER
#define OF_COMMAND FAULT_OF_COMMAND
#define TRAIT(kind, word, nature, life, unit, keys)                                                \
    [kind] = {nature, FAULT_##life, FAULT_UNIT_##unit, keys},

static const struct fault_trait fault_traits[FAULT_KINDS] = {HISTORY_FAULT_MAP(TRAIT)};

const struct fault_trait *fault_trait_of(enum fault_kind kind)
{
    ASSERT(kind < FAULT_KINDS);
    return &fault_traits[kind];
}

static const char *word_at(const struct history_vocabulary *vocabulary, size_t number)
{
    ASSERT(number < vocabulary->count);
    return vocabulary->words[number];
}

const char *history_kind_name(enum history_kind kind)
{
    return word_at(&history_kinds, kind);
}

const char *history_type_name(enum history_type type)
{
    return word_at(&history_types, type);
}

const char *history_f_name(enum history_f f)
{
    return word_at(&history_fs, f);
}

const char *history_cause_name(enum history_cause cause)
{
    return word_at(&history_causes, cause);
}

const char *fault_kind_name(enum fault_kind kind)
{
    return word_at(&history_fault_kinds, kind);
}

static bool word_find(const struct history_vocabulary *vocabulary, const char *word, size_t bytes,
                      size_t *found)
{
    for (size_t i = 0; i < vocabulary->count; i++) {
        const char *known = vocabulary->words[i];
        if (strlen(known) == bytes && memcmp(known, word, bytes) == 0) {
            *found = i;
            return true;
        }
    }
    return false;
}

bool history_kind_find(const char *word, size_t bytes, enum history_kind *kind)
{
    size_t found = 0;
    bool known = word_find(&history_kinds, word, bytes, &found);
    *kind = known ? (enum history_kind)found : *kind;
    return known;
}

bool history_type_find(const char *word, size_t bytes, enum history_type *type)
{
    size_t found = 0;
    bool known = word_find(&history_types, word, bytes, &found);
    *type = known ? (enum history_type)found : *type;
    return known;
}

bool history_f_find(const char *word, size_t bytes, enum history_f *f)
{
    size_t found = 0;
    bool known = word_find(&history_fs, word, bytes, &found);
    *f = known ? (enum history_f)found : *f;
    return known;
}

bool history_cause_find(const char *word, size_t bytes, enum history_cause *cause)
{
    size_t found = 0;
    bool known = word_find(&history_causes, word, bytes, &found);
    *cause = known ? (enum history_cause)found : *cause;
    return known;
}

bool fault_kind_find(const char *word, size_t bytes, enum fault_kind *kind)
{
    size_t found = 0;
    bool known = word_find(&history_fault_kinds, word, bytes, &found);
    *kind = known ? (enum fault_kind)found : *kind;
    return known;
}

bool history_links_cut(enum history_links links, int32_t node_count, int32_t client, int32_t node)
{
    ASSERT(client >= 0);
    ASSERT(node >= 0 && node < node_count);
    int32_t half = node_count / 2;
    int32_t steps = (node + node_count - client % node_count) % node_count;
    switch (links) {
    case LINKS_ALL:
        return true;
    case LINKS_RING:
        return steps > half;
    case LINKS_BRIDGE:
        return client % 2 == 0 ? node >= node_count - half : node < half;
    case HISTORY_LINKS:
        break;
    }
    UNREACHABLE();
}

bool history_fault_names_client(const struct history_event *start, int32_t client)
{
    ASSERT(start->kind == HISTORY_FAULT);
    bool several = start->clients[1] > start->clients[0];
    return start->process == client ||
           (several && start->clients[0] <= client && client <= start->clients[1]);
}

bool history_fault_names_node(const struct history_event *start, int32_t node)
{
    ASSERT(start->kind == HISTORY_FAULT);
    ASSERT(node >= 0 && node < HISTORY_NODES_MAX);
    return start->node == node || ((start->nodes | start->peers) >> node & 1) != 0;
}

enum history_kind history_f_kind(enum history_f f)
{
    switch (f) {
    case HISTORY_ACQUIRE:
    case HISTORY_EXTEND:
    case HISTORY_RELEASE:
    case HISTORY_READ:
    case HISTORY_WRITE:
    case HISTORY_OBSERVE:
        return HISTORY_OP;
    case HISTORY_ENTER:
    case HISTORY_LEAVE:
        return HISTORY_SECTION;
    case HISTORY_LOST:
        return HISTORY_NOTICE;
    case HISTORY_MOVED:
        return HISTORY_LEASE;
    case HISTORY_KEY_SET:
    case HISTORY_KEY_REFUSED:
    case HISTORY_KEY_EXTENDED:
    case HISTORY_KEY_DELETED:
    case HISTORY_KEY_KEPT:
    case HISTORY_KEY_EXPIRED:
    case HISTORY_KEY_LOST:
    case HISTORY_KEY_EVICTED:
    case HISTORY_KEY_BACK:
    case HISTORY_NODE_ERROR:
    case HISTORY_KEY_TOUCHED:
        return HISTORY_NODE;
    case HISTORY_FAULT_START:
    case HISTORY_FAULT_EFFECT:
    case HISTORY_FAULT_END:
        return HISTORY_FAULT;
    case HISTORY_CLIENT_START:
    case HISTORY_CLIENT_DONE:
    case HISTORY_CLIENT_KILLED:
    case HISTORY_VALUE_MISMATCH:
    case HISTORY_GIVEN_UP:
    case HISTORY_UNASKED:
        return HISTORY_CLIENT;
    case HISTORY_HEALED:
    case HISTORY_RUN_END:
        return HISTORY_PHASE;
    case HISTORY_STOOD_STILL:
        return HISTORY_LATE;
    case HISTORY_FS:
        break;
    }
    UNREACHABLE();
}

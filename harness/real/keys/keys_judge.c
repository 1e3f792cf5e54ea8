/* keys_judge.c: does a reply agree with the view of one key, and which event does it make. */
#include "harness/real/keys/keys_inner.h"

#include "base/assert.h"

/*
 * Whether the key was there when the command ran, somewhere between its sending and its reply. The
 * key's own end is known only to lie between earliest and latest.
 */
enum presence {
    SURELY_THERE,
    PERHAPS_THERE,
    SURELY_GONE, /* its time was up before the command, though nobody has said so yet */
    NOT_THERE,
};

static enum presence entry_presence(const struct keys_entry *entry, const struct keys_fact *fact)
{
    if (!entry->present) {
        return NOT_THERE;
    }
    if (!entry->has_ttl || fact->true_ns < entry->earliest_ns) {
        return SURELY_THERE;
    }
    return fact->command->sent_ns > entry->latest_ns ? SURELY_GONE : PERHAPS_THERE;
}

static bool entry_ours(const struct keys_entry *entry, const struct keys_fact *fact)
{
    return entry->present && fact->command->has_value &&
           history_value_equal(&entry->value, &fact->command->value);
}

static enum keys_agreement judge_gone(enum presence presence)
{
    switch (presence) {
    case NOT_THERE:
        return KEYS_AGREES;
    case SURELY_GONE:
    case PERHAPS_THERE:
        return KEYS_AGREES_EXPIRED;
    case SURELY_THERE:
        return KEYS_CONTRADICTS;
    }
    UNREACHABLE();
}

static enum keys_agreement judge_there(enum presence presence)
{
    bool gone = presence == SURELY_GONE || presence == NOT_THERE;
    return gone ? KEYS_CONTRADICTS : KEYS_AGREES;
}

enum keys_agreement keys_judge(const struct keys_entry *entry, const struct keys_fact *fact)
{
    enum presence presence = entry_presence(entry, fact);
    bool ours = entry_ours(entry, fact);
    bool counted = (fact->command->flags & KEYS_FLAG_COUNT) != 0;
    switch ((enum keys_verb)fact->command->verb) {
    case KEYS_NONE:
    case KEYS_FLUSH:
    case KEYS_SET:
        return KEYS_AGREES;
    case KEYS_SET_ABSENT:
        return fact->yes ? judge_gone(presence) : counted ? KEYS_AGREES : judge_there(presence);
    case KEYS_SET_PRESENT:
    case KEYS_EXTEND:
    case KEYS_DELETE:
        if (counted && fact->yes) {
            return KEYS_AGREES;
        }
        return fact->yes ? judge_there(presence) : judge_gone(presence);
    case KEYS_EXTEND_COMPARE:
    case KEYS_DELETE_COMPARE:
        if (counted) {
            return KEYS_AGREES;
        }
        if (fact->yes) {
            return ours ? judge_there(presence) : KEYS_CONTRADICTS;
        }
        return ours ? judge_gone(presence) : KEYS_AGREES;
    case KEYS_SET_OR_EXTEND:
        if (fact->yes) {
            return ours ? KEYS_AGREES : judge_gone(presence);
        }
        return ours ? KEYS_CONTRADICTS : judge_there(presence);
    }
    UNREACHABLE();
}

enum history_f keys_event_f(const struct keys_entry *entry, const struct keys_fact *fact)
{
    bool ours = entry_ours(entry, fact);
    switch ((enum keys_verb)fact->command->verb) {
    case KEYS_SET:
        return HISTORY_KEY_SET;
    case KEYS_SET_ABSENT:
        return fact->yes ? HISTORY_KEY_SET : HISTORY_KEY_REFUSED;
    case KEYS_SET_PRESENT:
        return !fact->yes ? HISTORY_KEY_KEPT : ours ? HISTORY_KEY_EXTENDED : HISTORY_KEY_SET;
    case KEYS_SET_OR_EXTEND:
        return !fact->yes ? HISTORY_KEY_REFUSED : ours ? HISTORY_KEY_EXTENDED : HISTORY_KEY_SET;
    case KEYS_EXTEND:
    case KEYS_EXTEND_COMPARE:
        return fact->yes && entry->present ? HISTORY_KEY_EXTENDED : HISTORY_KEY_KEPT;
    case KEYS_DELETE:
    case KEYS_DELETE_COMPARE:
        return fact->yes && entry->present ? HISTORY_KEY_DELETED : HISTORY_KEY_KEPT;
    case KEYS_NONE:
    case KEYS_FLUSH:
        break;
    }
    UNREACHABLE();
}

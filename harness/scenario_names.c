/* scenario_names.c: names of probe points and command roles, and the role of each verb. */
#include "harness/scenario.h"

#include "base/assert.h"

const char *probe_point_name(enum probe_point point)
{
    switch (point) {
#define X(name, word)                                                                              \
    case name:                                                                                     \
        return word;
        PROBE_MAP(X)
#undef X
    case PROBE_POINTS:
        break;
    }
    UNREACHABLE();
}

const char *command_role_name(enum command_role role)
{
    switch (role) {
#define X(name, word)                                                                              \
    case name:                                                                                     \
        return word;
        COMMAND_ROLE_MAP(X)
#undef X
    case COMMAND_ROLES:
        break;
    }
    UNREACHABLE();
}

enum command_role command_role_of(enum lock_verb verb)
{
    switch (verb) {
    case LOCK_VERB_SET:
    case LOCK_VERB_SET_ABSENT:
    case LOCK_VERB_SET_PRESENT:
    case LOCK_VERB_HOLD:
        return ROLE_SET;
    case LOCK_VERB_EXTEND:
    case LOCK_VERB_EXTEND_COMPARE:
    case LOCK_VERB_SET_OR_EXTEND:
    case LOCK_VERB_KEEP_SESSION:
        return ROLE_EXTEND;
    case LOCK_VERB_DELETE:
    case LOCK_VERB_DELETE_COMPARE:
    case LOCK_VERB_CLOSE_SESSION:
    case LOCK_VERB_LET_GO:
        return ROLE_DELETE;
    case LOCK_VERB_NONE:
    case LOCK_VERB_FLUSH:
    case LOCK_VERB_OPEN_SESSION:
    case LOCK_VERB_WATCH:
        return ROLE_OTHER;
    case LOCK_VERBS:
        break;
    }
    UNREACHABLE();
}

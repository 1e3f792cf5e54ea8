/* scenario_names.c: names of probe points and command roles, and what each command is. */
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

enum command_role command_role_of(enum lock_command_kind kind)
{
    switch (kind) {
    case LOCK_COMMAND_SET:
    case LOCK_COMMAND_SET_FENCE:
    case LOCK_COMMAND_SETNX:
        return ROLE_SET;
    case LOCK_COMMAND_COMPARE_EXPIRE:
    case LOCK_COMMAND_EXPIRE:
    case LOCK_COMMAND_SET_EXPIRE:
        return ROLE_EXTEND;
    case LOCK_COMMAND_COMPARE_DELETE:
    case LOCK_COMMAND_DELETE:
        return ROLE_DELETE;
    case LOCK_COMMAND_RAISE_FENCE:
        return ROLE_OTHER;
    case LOCK_COMMAND_KINDS:
        break;
    }
    UNREACHABLE();
}

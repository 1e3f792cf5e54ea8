/* algorithms.c: the table of lock algorithms. */
#include "lockcore/algorithms.h"

#include "base/assert.h"

#include <string.h>

/* A new algorithm is a file and a row. */
#define SOUND_MAP(X)                                                                               \
    X(single)                                                                                      \
    X(single_wait)                                                                                 \
    X(redlock)                                                                                     \
    X(fenced_redlock)                                                                              \
    X(chubby)                                                                                      \
    X(chubby_no_delay)                                                                             \
    X(sql)                                                                                         \
    X(advisory)                                                                                    \
    X(fenced_advisory)                                                                             \
    X(etcd)                                                                                        \
    X(zookeeper)                                                                                   \
    X(zookeeper_herd)                                                                              \
    X(fenced_lock)

/* Wrong on purpose, for judging the harness: the installed library is built without them. */
#ifdef LOCKCORE_SOUND_ONLY
#define WRONG_MAP(X)
#else
#define WRONG_MAP(X)                                                                               \
    X(wrong_no_recheck)                                                                            \
    X(wrong_timer_after_quorum)                                                                    \
    X(wrong_wall_clock)                                                                            \
    X(wrong_second_clock)                                                                          \
    X(wrong_no_drift)                                                                              \
    X(wrong_plain_delete)                                                                          \
    X(wrong_extend_any_owner)                                                                      \
    X(wrong_extend_creates)                                                                        \
    X(wrong_extend_no_recheck)                                                                     \
    X(wrong_extend_fail_unlocks)                                                                   \
    X(wrong_quorum_half)                                                                           \
    X(wrong_quorum_reachable)                                                                      \
    X(wrong_no_cleanup)                                                                            \
    X(wrong_cleanup_acquired_only)                                                                 \
    X(wrong_constant_value)                                                                        \
    X(wrong_release_ignores_error)                                                                 \
    X(wrong_fence_not_raised)                                                                      \
    X(wrong_setnx_expire)                                                                          \
    X(wrong_spins)                                                                                 \
    X(wrong_chubby_ignores_jeopardy)                                                               \
    X(wrong_chubby_lease_from_reply)                                                               \
    X(wrong_sql_release_any)                                                                       \
    X(wrong_sql_app_clock)                                                                         \
    X(wrong_sql_early_now)                                                                         \
    X(wrong_advisory_stacks)                                                                       \
    X(wrong_advisory_reconnects)                                                                   \
    X(wrong_etcd_dead_lease)                                                                       \
    X(wrong_etcd_no_deadline)                                                                      \
    X(wrong_zookeeper_found_own)                                                                   \
    X(wrong_zookeeper_delete_failed)                                                               \
    X(wrong_zookeeper_ignores_events)                                                              \
    X(wrong_hazelcast_goes_on)
#endif

#define ALGORITHM_MAP(X) SOUND_MAP(X) WRONG_MAP(X)

#define X(name) extern const struct lock_algorithm algorithm_##name;
ALGORITHM_MAP(X)
#undef X

#define X(name) &algorithm_##name,
static const struct lock_algorithm *const algorithms[] = {ALGORITHM_MAP(X)};
#undef X

size_t lock_algorithm_count(void)
{
    return sizeof algorithms / sizeof algorithms[0];
}

const struct lock_algorithm *lock_algorithm_at(lock_algorithm_index index)
{
    ASSERT(index < lock_algorithm_count());
    return algorithms[index];
}

bool lock_algorithm_find(const char *name, lock_algorithm_index *index)
{
    for (size_t i = 0; i < lock_algorithm_count(); i++) {
        if (strcmp(algorithms[i]->name, name) == 0) {
            *index = (lock_algorithm_index)i;
            return true;
        }
    }
    return false;
}

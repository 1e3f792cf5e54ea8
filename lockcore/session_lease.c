/* session_lease.c: the end of a session as its client may reckon it. */
#include "lockcore/session_step.h"

const struct session_rules *session_rules_of(const struct lock *lock)
{
    return lock_algorithm_at(lock->config.algorithm)->rules;
}

/* The client's clock and the service's may differ by the configured share; 2 ms are for rounding.
 */
static int64_t drift_ns(const struct lock_config *config, int64_t length_ns)
{
    int64_t million = 1000000;
    return length_ns / million * config->drift_ppm +
           length_ns % million * config->drift_ppm / million + 2 * NS_PER_MS;
}

int64_t session_lease_end_ns(const struct session_step *step, int64_t length_ns)
{
    int64_t from_ns = step->rules->lease_from_reply ? step->event->now_ns : step->session->sent_ns;
    return lock_time_after(from_ns, length_ns - drift_ns(&step->lock->config, length_ns));
}

int64_t session_grace_end_ns(const struct lock *lock)
{
    const struct session *session = lock_own_const(lock);
    return lock_time_after(session->lease_ns,
                           session_share_ns(&lock->config, session_rules_of(lock)->grace_percent));
}

bool session_time_went_on(const struct session_step *step)
{
    return step->event->now_ns >= step->session->sent_ns;
}

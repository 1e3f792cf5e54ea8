/* no_deadline.c: believes in its lease for as long as the cluster does not say that it is over. */
#include "lockcore/etcd/etcd.h"

static const struct session_rules rules = {ETCD_RULES, .grace_percent = 1000,
                                           .ignores_jeopardy = true};

const struct lock_algorithm algorithm_wrong_etcd_no_deadline = {
    SESSION_ALGORITHM,
    .name = "wrong/etcd-no-deadline",
    .about = "a holder whose keep-alives nobody answers goes on for ten leases",
    .source = "etcd #10811, #6127: a holder does not learn that its lease is over",
    .fenced = true,
    .dialect = &etcd_dialect,
    .rules = &rules,
};

/* reasons.h: what can go wrong, by check: check_result.reason, which explain.c words. */
#ifndef CHECKER_REASONS_H
#define CHECKER_REASONS_H

/* exclusion */
enum exclusion_reason { OVERLAP_PROMISED = 1, OVERLAP_UNTIL_TOLD };

/* section_exclusion */
enum section_reason { TWO_INSIDE = 1 };

/* store_integrity */
enum store_reason { LOST_UPDATE = 1, STALE_WRITE };

/* fence_order */
enum fence_reason { NOT_GROWING = 1, NOT_UNIQUE };

/* ownership */
enum ownership_reason { DELETED_ANOTHERS = 1, EXTENDED_ANOTHERS, OVERWROTE_ANOTHERS };

/* validity */
enum validity_reason {
    SPENT_WHEN_GRANTED = 1, /* the promised end had passed when the grant returned */
    SPENT_WHEN_EXTENDED,    /* ... when the extension returned */
    NO_MAJORITY_WHEN_GRANTED,
    NO_MAJORITY_WHEN_EXTENDED,
    MAJORITY_LOST, /* while the lease ran; number[0]: how long it still ran */
};

/* deadlock_freedom */
enum deadlock_reason {
    GRANTED_LATE = 1,
    NEVER_GRANTED,
    RUN_TOO_SHORT, /* unknown: it ended before ttl + bound were over */
};

/* fault_tolerance */
enum tolerance_reason { GRANTS_STOPPED = 1 };

/* loss_notice */
enum loss_reason {
    TOLD_LATE = 1, /* number[0]: how late */
    NEVER_TOLD,    /* it left by itself, number[0] later, or was still inside at the end */
};

/* no_leak */
enum leak_reason {
    LEFT_TO_EXPIRE = 1, /* number[0]: how long it stood in the way */
    STILL_THERE,        /* at the end, later than a ttl, or without an expiry */
};

/* result_truth */
enum truth_reason {
    GRANTED_WITHOUT_MAJORITY = 1, /* number[0]: nodes that set the key, number[1]: needed */
    RELEASED_BUT_KEPT,            /* ok, but a majority still has the key */
    NOT_RELEASED_BUT_HELD,        /* "not held", but a majority had the key all along */
    REFUSED_BUT_KEPT,             /* a majority had the key until its ttl ran out */
    EXTENDED_BUT_REMADE,          /* keys were gone and set anew; number[0]: that had stayed */
};

/* exercised */
enum exercised_reason {
    NO_GRANT = 1,
    NO_CONTENTION,
    FAULT_DID_NOT_STRIKE, /* number[0]: which, from 1 */
    FAULT_WITHOUT_EFFECT,
    FAULT_WITHOUT_END,
    FAULT_WHILE_IDLE, /* nobody held the lock, asked for it or gave it back meanwhile */
};

#endif

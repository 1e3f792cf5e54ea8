"""reentrant_bugs.py: what is wrong with each bug of reentrant.py, and where and by which check it is caught."""
BUGS = {
    "take-from-anybody": ("It is taken whoever has it.", "one-crowd", "exclusion"),
    "take-without-end": ("The hash has no end.", "one-asking-killed", "deadlock_freedom"),
    "take-in-seconds": ("The hash is asked to live a thousand times too long.", "one-asking-killed", "deadlock_freedom"),
    "give-by-anybody": ("A release counts down whoever has it.", "one-release-after-expiry", "ownership"),
    "give-never-all": ("The last release leaves the hash.", "one-contention", "result_truth"),
    "give-ends-at-zero-only": ("A release sets the count to nothing and leaves the hash.", "one-contention", "result_truth"),
    "keep-of-anybody": ("An extension does not ask whose it is.", "one-extend-after-expiry", "ownership"),
    "owner-of-nobody": ("All clients are one owner.", "one-crowd", "exclusion"),
    "owner-of-program": ("All threads of a program are one owner.", "one-threads", "exclusion"),
    "owner-other-at-release": ("A release names another owner.", "one-contention", "result_truth"),
    "refusal-counts": ("What is another's counts as a grant.", "one-crowd", "result_truth"),
    "error-grants": ("An error counts as a grant.", "one-out-of-memory", "result_truth"),
    "undo-frees-all": ("An acquire whose answer was lost is undone, and what its owner held before with it.", "one-again-lost-replies", "exclusion"),
    "cleanup-none": ("A count whose answer was lost stays.", "one-lost-set-replies", "no_leak"),
    "release-nothing": ("A release says ok and sends nothing.", "one-contention", "result_truth"),
    "release-always-ok": ("A release says ok also where nobody answered.", "one-release-refused", "result_truth"),
    "give-all-at-once": ("The first release of several frees it.", "one-again", "result_truth"),
    "key-one-for-all": ("All resources share one hash.", "one-names-apart", "fault_tolerance"),
    "keep-creates": ("An extension counts itself into a hash that is gone.", "one-extend-after-expiry", "result_truth"),
    "keep-always-ok": ("An extension says ok whatever came.", "one-extend-after-expiry", "result_truth"),
    "timeout-grants": ("No answer in time counts as a grant.", "one-held-requests", "result_truth"),
}

UNSEEN = {
    "hang": (
        "Once it holds something it waits for ever.",
        "Of one node no majority is healthy while it is silent, and when it is back its answer comes, or its connection breaks.",
    ),
}

# Not caught yet, though it could be.
MISSED = {
    "take-moves-no-end": (
        "Acquiring again does not begin a new ttl.",
        "it promises no end, and nothing says that an acquire of what is held begins one",
    ),
}

"""watchdog_bugs.py: what is wrong with each bug of watchdog.py, and where and by which check it is caught."""
BUGS = {
    "value-constant": ("All clients use one value.", "one-release-after-expiry", "ownership"),
    "value-of-client": ("All grants of a client have one value: a late release takes the next grant.", "one-release-held-again", "exclusion"),
    "asks-nobody": ("It grants and sends nothing.", "one-contention", "result_truth"),
    "refusal-counts": ("A SET NX that found a key counts as a grant.", "one-crowd", "result_truth"),
    "error-grants": ("An error counts as a grant.", "one-out-of-memory", "result_truth"),
    "cleanup-none": ("A key whose answer was lost stays.", "one-lost-set-replies", "no_leak"),
    "retry-meets-its-own-key": ("A SET is sent again after a lost reply, meets its own key, and is taken for refused.", "one-lost-set-replies", "no_leak"),
    "no-end": ("The key has no end until it is renewed.", "one-asking-killed", "deadlock_freedom"),
    "no-nx": ("The key is set, whoever has it.", "one-crowd", "ownership"),
    "unit-seconds-for-milliseconds": ("Keys are asked to live a thousand times too long.", "one-asking-killed", "deadlock_freedom"),
    "renew-by-a-tenth": ("A renewal asks for a tenth of the ttl.", "one-renewed", "exclusion"),
    "renew-any-owner": ("A renewal does not compare the value.", "one-renewal-cut", "ownership"),
    "renew-creates": ("A renewal sets a key that is gone or another's.", "one-renewal-evicted", "ownership"),
    "renew-creates-if-none": ("A renewal sets a key that is gone.", "one-renewal-alone", "loss_notice"),
    "renew-creates-behind-the-release": ("The same, on a connection of its own, where the release overtakes it.", "one-renewal-overtaken", "no_leak"),
    "renew-after-release": ("The renewal is not stopped by the release, and sets nothing free.", "one-renewal-after-release", "loss_notice"),
    "renew-again-when-answered": ("Its timer is set by the answer to a renewal, also behind the release: the next grant is told lost.", "one-renewal-crosses-release", "loss_notice"),
    "alarm-none": ("A holder that cannot renew is never told.", "one-renewal-cut", "loss_notice"),
    "alarm-too-late": ("A holder that cannot renew is told ten ttls later.", "one-renewal-cut", "loss_notice"),
    "release-nothing": ("A release says ok and sends nothing.", "one-contention", "result_truth"),
    "release-always-ok": ("A release says ok also where nobody answered.", "one-release-refused", "result_truth"),
    "release-deletes-plainly": ("A release deletes without comparing.", "one-release-after-expiry", "ownership"),
    "release-with-another-value": ("A release compares with a value that nobody set.", "one-contention", "result_truth"),
    "timeout-grants": ("No answer in time counts as a grant.", "one-held-requests", "result_truth"),
    "grant-not-looked-at-again": ("A grant is given although its ttl is over.", "one-asking-stopped", "exclusion"),
    "renew-never": ("It does not renew, and says that it does.", "one-renewed", "answer_consistency"),
    "renew-too-late": ("It renews when the key is gone already.", "one-renewed", "answer_consistency"),
    "renew-once": ("It renews once.", "one-renewed", "answer_consistency"),
    "renew-one-of-several": ("Of several locks it renews the first.", "one-several-renewed", "answer_consistency"),
    "renew-counts-from-the-reply": ("The lease is counted from the reply of a renewal.", "one-renewal-late", "loss_notice"),
    "renew-counts-from-the-reply-in-time": ("The same, where a reply counts that came in time.", "one-renewal-slow", "loss_notice"),
    "unit-whole-seconds-down": ("Keys are asked to live for whole seconds, rounded down.", "one-fraction", "ttl_truth"),
    "loss-not-told": ("A renewal that finds the key gone tells nobody: its alarm does.", "one-renewal-evicted", "loss_notice"),
    "renew-after-loss": ("A lock that is lost is still renewed.", "one-renewal-told", "loss_notice"),
    "renew-dies-at-the-first-error": ("The renewer ends with the first error.", "one-renewal-answered", "answer_consistency"),
    "error-renews": ("An error counts as a renewal.", "one-renewal-loading", "loss_notice"),
}

UNSEEN = {
    "hang-acquire": (
        "An acquire waits for its answer for ever.",
        "Of one node no majority is healthy while it is silent, and when it is back its answer comes, or its connection breaks.",
    ),
    "hang-release": (
        "A release waits for its answer for ever.",
        "As hang-acquire.",
    ),
}

# Not caught yet, though it could be.
MISSED = {}

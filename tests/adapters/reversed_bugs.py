"""reversed_bugs.py: what is wrong with each bug of reversed.py, and where and by which check it is caught."""
BUGS = {
    "take-answers-one": ("A key that was set is told as another's.", "one-contention", "result_truth"),
    "take-whoever-has-it": ("The key is set, whoever has it.", "one-crowd", "ownership"),
    "take-in-seconds": ("Keys are asked to live a thousand times too long.", "one-asking-killed", "deadlock_freedom"),
    "one-is-done": ("1 is taken for done, as other locks say it.", "one-crowd", "result_truth"),
    "anything-but-one-is-done": ("Errors and silence are taken for done.", "one-out-of-memory", "result_truth"),
    "give-whoever-has-it": ("A release does not compare.", "one-release-after-expiry", "ownership"),
    "give-inverted": ("A release deletes where the value is another's.", "one-contention", "result_truth"),
    "give-compares-the-resource": ("A release compares with the resource's name.", "one-contention", "result_truth"),
    "give-silence-is-done": ("A release without an answer says ok.", "one-release-refused", "result_truth"),
    "keep-whoever-has-it": ("An extension does not compare.", "one-extend-after-expiry", "ownership"),
    "keep-deletes": ("An extension deletes.", "one-extend", "validity"),
    "keep-gone-is-done": ("An extension of a key that is gone says ok.", "one-extend-after-expiry", "validity"),
    "validity-from-the-reply": ("The time is taken when the reply is there.", "one-slow-replies", "validity"),
    "cleanup-none": ("A key whose answer was lost stays.", "one-lost-set-replies", "no_leak"),
    "validity-not-looked-at": ("A grant is given although its validity is spent.", "one-asking-stopped", "loss_notice"),
}

UNSEEN = {
    "give-answer-turned": (
        "A release that was done says that it was not held.",
        "As release-says-fail of planted.py.",
    ),
}

# Not caught yet, though it could be.
MISSED = {}

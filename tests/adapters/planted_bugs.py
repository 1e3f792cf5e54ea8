"""planted_bugs.py: what is wrong with each bug of planted.py, and where and by which check it is caught.

A name's first word is its group. UNSEEN are those that nothing can see, with the reason.
"""
BUGS = {
    # ---- counting
    "quorum-one": ("One node's grant is enough.", "many-split", "result_truth"),
    "quorum-half": ("Half of the nodes, rounded down, are enough.", "many-split", "result_truth"),
    "quorum-all": ("Every node has to grant, so that one that is away stops the lock.", "many-minority-oom", "fault_tolerance"),
    "quorum-of-those-that-answer": ("The majority is taken of the nodes that answered.", "many-split", "result_truth"),
    "quorum-of-those-connected": ("The majority is taken of the nodes that are connected.", "many-split", "result_truth"),
    "quorum-timeouts-count": ("A node that did not answer in time counts as a grant.", "many-split-silent", "result_truth"),
    "quorum-refusals-count": ("The nil of a SET NX that found a key counts as a grant.", "many-crowd", "result_truth"),
    "quorum-first-node-twice": ("The first node's grant is counted twice.", "many-split", "result_truth"),
    "quorum-extend-one": ("An extension is done when one node extended.", "many-extend-cut", "validity"),
    "quorum-release-one": ("A release is done when one node deleted.", "many-release-refused", "result_truth"),
    # ---- values
    "value-constant": ("All clients use one value.", "many-crowd", "ownership"),
    "value-of-the-resource": ("The value is the name of the resource.", "many-crowd", "ownership"),
    "value-of-the-second": ("The value is the time in whole seconds, so that two clients share it.", "many-crowd", "ownership"),
    "value-one-bit": ("There are two values only.", "many-crowd", "ownership"),
    # ---- clean-up
    "cleanup-none": ("A failed attempt leaves its keys behind.", "many-cleaned-up", "no_leak"),
    "cleanup-not-after-the-last": ("The last attempt is not cleaned up.", "many-cleaned-up", "no_leak"),
    "cleanup-only-after-the-last": ("Attempts but the last are not cleaned up, and stand in the way of the next.", "many-cleaned-up", "no_leak"),
    "cleanup-acquired-only": ("Only nodes that said yes are cleaned up.", "many-lost-set-replies", "no_leak"),
    "cleanup-answered-only": ("Only nodes that answered are cleaned up.", "many-lost-set-replies", "no_leak"),
    "cleanup-first-majority-only": ("Only the first N/2+1 nodes are cleaned up.", "many-cleaned-up", "no_leak"),
    "cleanup-deletes-plainly": ("The clean-up deletes without comparing.", "many-crowd", "ownership"),
    "cleanup-with-another-value": ("The clean-up compares with a value that nobody set.", "many-cleaned-up", "no_leak"),
    # ---- validity
    "validity-of-the-whole-ttl": ("The promise is the whole ttl, whatever time has passed.", "many-slow-replies", "validity"),
    "validity-doubled": ("The promise is twice what the nodes were asked for.", "many-slow-replies", "validity"),
    "validity-without-drift": ("Nothing is taken off for the drift of clocks.", "many-node-clock-fast", "validity"),
    "validity-not-looked-at-again": ("A grant is given although its validity is spent.", "many-asking-stopped", "loss_notice"),
    "validity-timer-after-replies": ("The time is taken when the replies are there.", "many-slow-replies", "validity"),
    "validity-timer-at-first-reply": ("The time is taken when the first reply is there.", "many-slow-replies", "validity"),
    "validity-from-the-first-attempt": ("A retry subtracts the time that the first attempt took.", "many-slow-second-attempt", "validity"),
    # ---- clocks
    "clock-wall": ("Time is taken from the clock that can be set.", "many-client-clock-back", "validity"),
    "clock-wall-for-extensions": ("An extension takes its time from the clock that can be set.", "many-extend-clock-back", "validity"),
    "clock-of-the-processor": ("Time is the processor time of the process, which stands still while it waits.", "many-slow-replies", "validity"),
    "clock-of-whole-seconds": ("Time is counted in whole seconds.", "many-slow-replies", "validity"),
    "clock-of-the-loop": ("The time is the one at which the loop began to wait.", "many-slow-replies", "validity"),
    # ---- extension
    "extend-counts-zeros": ("An extension names another key, and each 0 counts as an extension.", "many-extend-in-between", "result_truth"),
    "extend-any-owner": ("An extension does not compare the value.", "many-extend-anothers", "ownership"),
    "extend-overwrites": ("An extension sets the key anew, whoever has it.", "many-extend-anothers", "ownership"),
    "extend-creates": ("An extension sets keys that are gone.", "many-extend-evicted", "result_truth"),
    "extend-after-the-end": ("A lease that is over is brought back to life.", "many-extend-evicted", "result_truth"),
    "extend-not-looked-at-again": ("The time that an extension took is not subtracted.", "many-extend-slow-replies", "validity"),
    "extend-failed-unlocks": ("A failed extension deletes the keys of a lease that still holds.", "many-extend-lost-replies", "validity"),
    "extend-from-the-old-end": ("An extension's promise begins at the old promise's end.", "many-extend-slow-replies", "validity"),
    "extend-adds": ("An extension adds the ttl to what the key still has.", "many-extend", "ttl_truth"),
    "extend-by-half": ("An extension asks for half of what it promises.", "many-extend", "ttl_truth"),
    # ---- release
    "release-nothing": ("A release says ok and sends nothing.", "many-crowd", "result_truth"),
    "release-one-node": ("A release deletes at the first node only.", "many-crowd", "result_truth"),
    "release-ends-at-silence": ("A release ends at the first node that gives no answer.", "many-release-without-first", "no_leak"),
    "release-majority-only": ("A release deletes at the first N/2+1 nodes only.", "many-crowd", "no_leak"),
    "release-deletes-plainly": ("A release deletes without comparing.", "many-release-after-expiry", "ownership"),
    "release-with-another-value": ("A release compares with a value that nobody set.", "many-crowd", "result_truth"),
    "release-answers-first": ("A release says ok and deletes 300 ms later.", "many-crowd", "result_truth"),
    "release-always-ok": ("A release says ok also where no node answered.", "many-release-refused", "result_truth"),
    # ---- retries
    "retry-counts-own-key": ("A retry counts the keys of earlier attempts as its own, with what is left of them.", "many-two-attempts", "validity"),
    "retry-adds-votes": ("The votes of earlier attempts are added.", "many-split", "result_truth"),
    # ---- reconnection
    "reconnect-never": ("A connection that broke is not made again.", "many-lost-set-replies", "result_truth"),
    "reconnect-to-another-node": ("A connection that broke comes back to the next node.", "many-lost-set-replies", "no_leak"),
    "reconnect-sends-again": ("A SET that got no answer is sent again on the next connection.", "many-lost-set-replies", "no_leak"),
    "reconnect-forgets-what-is-held": ("A broken connection clears what is held: its release sends nothing, and says ok.", "many-reset", "result_truth"),
    # ---- replies of earlier attempts
    "stale-grants-count": ("Late grants of an earlier attempt count for this one.", "many-late-answers", "validity"),
    "stale-extensions-count": ("Late answers to an earlier extension count for this one.", "many-extend-late-answers", "validity"),
    "stale-replies-shift": ("After a timeout each reply is taken for that of the next command.", "many-late-answers", "validity"),
    # ---- error replies
    "error-grants": ("An error counts as a grant.", "many-out-of-memory", "result_truth"),
    "error-extends": ("An error counts as an extension.", "many-extend-loading", "validity"),
    "error-releases": ("An error counts as a deletion.", "many-release-read-only", "result_truth"),
    "error-aborts": ("One node's error ends an acquire that had its majority, without cleaning up.", "many-out-of-memory", "no_leak"),
    "error-noscript-fatal": ("A node that forgot the script makes a release fail.", "many-release-script-flush", "result_truth"),
    "error-noscript-is-done": ("A node that forgot the script counts as one that deleted.", "many-release-script-flush", "result_truth"),
    # ---- fences
    "fence-not-raised": ("The fence is not written to a majority.", "many-fence-behind", "fence_order"),
    "fence-lowest": ("The lowest count of the majority is taken.", "many-fence-ahead", "fence_order"),
    "fence-deleted": ("A release deletes the counter too.", "many-crowd", "fence_order"),
    "fence-expires": ("The counter expires with the key.", "many-fence-rest", "fence_order"),
    "fence-of-the-process": ("The fence counts the grants of this process.", "many-crowd", "fence_order"),
    "fence-of-the-second": ("The fence is the time in whole seconds.", "many-crowd", "fence_order"),
    "fence-random": ("The fence is drawn.", "many-crowd", "fence_order"),
    "fence-taken-first": ("The fence is taken before the lock is asked for.", "many-fence-held", "fence_order"),
    # ---- notices
    "notice-none": ("The end of a lease is not told, though notices are declared.", "many-told", "loss_notice"),
    "notice-late": ("The end of a lease is told a ttl late.", "many-told", "loss_notice"),
    "notice-false": ("A loss is told of a lease that holds.", "many-extend", "loss_notice"),
    "notice-of-another": ("The notice names another resource.", "many-told", "loss_notice"),
    "notice-not-stopped": ("Alarms are not stopped: an extended lease is told lost at its first end.", "many-extend", "loss_notice"),
    # ---- units of time
    "unit-seconds-for-milliseconds": ("Keys are asked to live a thousand times too long.", "many-holder-killed", "fault_tolerance"),
    "unit-milliseconds-for-seconds": ("Keys are asked to live for a thousandth of the ttl.", "many-crowd", "validity"),
    "unit-whole-seconds": ("Keys are asked to live for the next whole second.", "many-holder-killed", "ttl_truth"),
    "unit-whole-seconds-down": ("Keys are asked to live for whole seconds, rounded down.", "many-fraction", "ttl_truth"),
    "unit-extend-in-seconds": ("Extended keys live a thousand times too long.", "many-extend-stopped", "fault_tolerance"),
    "unit-validity-in-microseconds": ("The validity is told a thousand times too long.", "many-outstays", "validity"),
    "unit-timeout-in-seconds": ("The node timeout is a thousand times too long.", "many-minority-frozen", "fault_tolerance"),
    "unit-retry-in-seconds": ("The delay between attempts is a thousand times too long.", "many-frozen-asked", "fault_tolerance"),
    # ---- names of keys
    "key-one-for-all-resources": ("All resources share one key.", "many-names-apart", "fault_tolerance"),
    "key-with-client": ("The key's name holds the client's number.", "many-crowd", "exclusion"),
    "key-with-attempt": ("The key's name holds the attempt's number.", "many-crowd-extends", "exclusion"),
    "key-other-for-release": ("A release names another key.", "many-crowd", "result_truth"),
    "key-other-for-cleanup": ("The clean-up names another key.", "many-cleaned-up", "no_leak"),
    "key-other-for-extend": ("An extension names another key.", "many-extend", "loss_notice"),
    # ---- scripts
    "script-setnx-then-expire": ("The key is set, and given its end by a second command.", "many-crowd", "ttl_truth"),
    "script-get-then-delete": ("A release compares in one command and deletes in another.", "many-release-held", "ownership"),
    "script-inverted": ("The script deletes where the value is another's.", "many-crowd", "result_truth"),
    "script-extend-deletes": ("An extension calls the script of the release.", "many-extend", "validity"),
    "script-no-end": ("The key is set without an end.", "many-holder-killed", "fault_tolerance"),
    "script-no-nx": ("The key is set, whoever has it.", "many-crowd", "ownership"),
    # ---- hanging
    "hang-acquire": ("An acquire waits for every node, without a timeout.", "many-minority-frozen", "fault_tolerance"),
    "hang-extend": ("An extension waits for every node, without a timeout.", "many-extend-frozen", "fault_tolerance"),
    "hang-release": ("A release waits for every node, without a timeout.", "many-minority-frozen", "fault_tolerance"),
    "hang-after-refusal": ("After a refusal the next acquire never comes back.", "many-cleaned-up", "fault_tolerance"),
    "hang-after-loss": ("After a loss the next acquire never comes back.", "many-told", "fault_tolerance"),
    # ---- lying
    "lie-grant-at-last": ("The last attempt says granted, whatever came.", "many-cleaned-up", "result_truth"),
    "lie-fail-though-granted": ("A grant is told as a refusal, and its keys stay.", "many-crowd", "result_truth"),
    "lie-extended": ("An extension says ok and sends nothing.", "many-extend", "validity"),
    "lie-not-extended": ("An extension says that the lease is lost, and asks nobody.", "many-extend", "result_truth"),
    "lie-refuse-after-first": ("After its first grant a client refuses everything without asking.", "many-alone", "fault_tolerance"),
    "lie-refuse-after-refusal": ("After its first refusal a client refuses everything without asking.", "many-crowd-extends", "fault_tolerance"),
}

UNSEEN = {
    "cleanup-not-when-spent": (
        "A majority that came too late is not cleaned up.",
        "What makes replies so late may have held up the deletion as well, and so excuses the keys; they are gone a moment later, by their ttl.",
    ),
    "release-says-fail": (
        "A release that was done says that the lock was not held.",
        "The lock is free, as it should be; whoever is told that it was not held has nothing to do, and no operation contradicts it.",
    ),
    "release-not-again": (
        "A release whose connection broke is not sent again.",
        "The deletion was lost with its connection, which is the fault's doing; the keys go by their ttl, as of any lock whose holder dies.",
    ),
    "hang-retrying": (
        "An acquire is tried again for ever.",
        "It waits, and is granted the lock when it can be; that a caller's number of attempts is kept, no check asks.",
    ),
    "lie-value": (
        "The value that is told is not the one that was set.",
        "Said for each client while it runs, and written into the history as value-mismatch: an adapter may report it wrongly as well as the library, so nobody is blamed.",
    ),
}

# Not caught yet, though it could be.
MISSED = {}

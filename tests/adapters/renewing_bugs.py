"""renewing_bugs.py: what is wrong with each bug of renewing.py, and where and by which check it is caught."""
BUGS = {
    "renew-never": ("It does not renew, and says that it does.", "many-renews", "answer_consistency"),
    "renew-too-late": ("It renews when the keys are gone already.", "many-renews", "answer_consistency"),
    "renew-first-node-only": ("It renews the key of the first node.", "many-renews", "loss_notice"),
    "renew-all": ("A renewal that misses one node ends the renewer.", "many-renews-without-one", "answer_consistency"),
    "renew-one-is-enough": ("One node's yes counts as a renewal.", "many-renewal-cut", "loss_notice"),
    "renew-waits-for-each": ("Nodes are renewed one by one, and one that is away is waited for.", "many-renews-without-one", "fault_tolerance"),
    "renew-counts-from-the-reply": ("The lease is counted from the reply of a renewal.", "many-renewal-late", "loss_notice"),
    "renew-creates": ("A renewal sets a key that is gone or another's.", "many-renewal-evicted", "ownership"),
    "renew-creates-if-none": ("A renewal sets a key that is gone.", "many-renewal-alone", "loss_notice"),
    "renew-after-release": ("The renewal is not stopped by the release.", "many-renewal-after-release", "loss_notice"),
    "renew-again-when-answered": ("Its timer is set by the answer to a renewal, also behind the release: the next grant is told lost.", "many-renewal-crosses-release", "loss_notice"),
    "renew-after-loss": ("A lock that is lost is still renewed.", "many-renewal-told", "loss_notice"),
    "loss-not-told": ("Renewals that find the keys gone tell nobody: the alarm does.", "many-renewal-evicted", "loss_notice"),
}

# What nothing can see, with the reason.
UNSEEN = {}

# Not caught yet, though it could be.
MISSED = {}

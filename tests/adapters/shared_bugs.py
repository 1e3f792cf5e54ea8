"""shared_bugs.py: what is wrong with each bug of shared.py, and where and by which check it is caught."""
BUGS = {
    "cancel-closes": ("An acquire that is given up closes the connection that all tasks share.", "one-threads-cancel", "fault_tolerance"),
    "cancel-leaves-the-reply": ("An acquire that is given up leaves its reply to whoever asks next.", "one-threads-cancel", "result_truth"),
}

UNSEEN = {}

# Not caught yet, though it could be.
MISSED = {}

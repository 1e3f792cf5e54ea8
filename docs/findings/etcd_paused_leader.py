#!/usr/bin/env python3
"""etcd_paused_leader.py [--trials N] [--leases N] [--keep DIR] ETCD [etcd's options]: three members of one program. In each trial
leases of 3 s are kept alive through a follower every 0.3 s, the leader is stopped (SIGSTOP) for 6 s and goes on (SIGCONT). No lease
may be gone a second later. Exit 0: none ever was; 1: live leases were revoked. docs/findings/ETCD.md tells why."""
import argparse
import base64
import http.client
import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

TTL, STOPPED, KEEP_EVERY, AFTER = 3, 6, 0.3, 1.2


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def text(words):
    return base64.b64encode(words.encode()).decode()


class Cluster:
    def __init__(self, program, options, folder):
        self.ports = [free_port() for _ in range(3)]
        peers = [f"http://127.0.0.1:{free_port()}" for _ in range(3)]
        everybody = ",".join(f"n{i}={peers[i]}" for i in range(3))
        self.members = []
        for i in range(3):
            url = f"http://127.0.0.1:{self.ports[i]}"
            words = [program, "--name", f"n{i}", "--data-dir", f"{folder}/n{i}", "--listen-client-urls", url,
                     "--advertise-client-urls", url, "--listen-peer-urls", peers[i], "--initial-advertise-peer-urls", peers[i],
                     "--initial-cluster", everybody, "--initial-cluster-state", "new", *options]
            log = open(f"{folder}/n{i}.log", "wb")
            self.members.append(subprocess.Popen(words, stdout=log, stderr=log))
        self.names = [self.wait(lambda i=i: self.status(i)["header"]["member_id"]) for i in range(3)]

    def end(self):
        for member in self.members:
            member.send_signal(signal.SIGCONT)
            member.kill()
            member.wait()

    def wait(self, question, patience_s=30):
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            try:
                return question()
            except (OSError, KeyError, ValueError, http.client.HTTPException):
                time.sleep(0.05)
        raise SystemExit("the cluster does not answer")

    def ask(self, member, path, body, patience_s=10):
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[member], timeout=patience_s)
        connection.request("POST", "/v3/" + path, json.dumps(body))
        return json.loads(connection.getresponse().read())

    def status(self, member):
        return self.ask(member, "maintenance/status", {}, 1)

    def leader(self, asked):
        return self.wait(lambda: self.names.index(self.status(asked)["leader"]))


def keep_alive(cluster, member, leases, done):
    while not done.wait(KEEP_EVERY):
        for lease in leases:
            try:
                cluster.ask(member, "lease/keepalive", {"ID": lease}, 1)
            except (OSError, ValueError, http.client.HTTPException):
                pass   # between two leaders nobody answers


def trial(cluster, number, lease_count):
    leader = cluster.leader(0)
    follower = (leader + 1) % 3
    leases = [cluster.ask(follower, "lease/grant", {"TTL": str(TTL)})["ID"] for _ in range(lease_count)]
    for i, lease in enumerate(leases):
        cluster.ask(follower, "kv/put", {"key": text(f"{number}/{i}"), "value": text("x"), "lease": lease})
    keys = {"key": text(f"{number}/"), "range_end": text(f"{number}0"), "count_only": True}
    done = threading.Event()
    keeper = threading.Thread(target=keep_alive, args=(cluster, follower, leases, done))
    keeper.start()
    time.sleep(0.5)
    cluster.members[leader].send_signal(signal.SIGSTOP)
    time.sleep(STOPPED)
    before = int(cluster.ask(follower, "kv/range", keys).get("count", "0"))
    successor = cluster.leader(follower)
    cluster.members[leader].send_signal(signal.SIGCONT)
    time.sleep(AFTER)
    after = int(cluster.ask(follower, "kv/range", keys).get("count", "0"))
    done.set()
    keeper.join()
    print(f"trial {number}: leader n{leader}, then n{successor}: {before} of {lease_count} keys before the resume, {after} after", flush=True)
    for lease in leases:
        cluster.ask(follower, "lease/revoke", {"ID": lease})
    return before == lease_count, before - after


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--leases", type=int, default=10)
    parser.add_argument("--keep", help="an empty folder that data and logs are left in")
    parser.add_argument("etcd")
    parser.add_argument("options", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as own:
        folder = pathlib.Path(given.keep or own)
        folder.mkdir(exist_ok=True)
        cluster = Cluster(given.etcd, given.options, folder)
        try:
            found = [trial(cluster, number + 1, given.leases) for number in range(given.trials)]
        finally:
            cluster.end()
    sound = [lost for valid, lost in found if valid]
    broken = sum(lost > 0 for lost in sound)
    print(f"{broken} of {len(sound)} resumes revoked live leases: {sum(sound)} of {len(sound) * given.leases}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

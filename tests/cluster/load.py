"""Writes and reads notes through HAProxy while members of the cluster are killed.

Usage: load.py TRY_CLUSTER NODE_KILLS
"""

import itertools
import math
import random
import subprocess
import sys
import threading
import time
from collections import Counter

from client import CallFailed, Client

USERS = ["ben", "cai", "dora", "eva"]
WRITERS = 8
READERS = 4
PAGE = 100
NODE_KILL_SECONDS = 2
NODE_KILLS_PER_LEADER_FAULT = 25
KILLS_PER_LOST_FOLDER = 5
LEADER_FAULTS = [("kill-leader", "leaders are killed"), ("hang-leader", "leaders hang")]
PHASES = ["leaders are killed", "leaders hang", "nodes are killed"]


class Outcomes:
    """Outcomes of all calls, by phase."""

    def __init__(self):
        self.lock = threading.Lock()
        self.phase = "start"
        self.acknowledged = {}
        self.times = []
        self.reads = Counter()
        self.stale_reads = Counter()
        self.failed_writes = Counter()
        self.failed_reads = Counter()
        self.reasons = Counter()
        self.slowest_read = Counter()

    def begin(self, phase):
        with self.lock:
            self.phase = phase

    def wrote(self, user, title, uri):
        with self.lock:
            self.acknowledged[user, title] = uri
            self.times.append((time.monotonic(), self.phase))

    def read(self, seconds, is_stale):
        with self.lock:
            self.reads[self.phase] += 1
            self.stale_reads[self.phase] += is_stale
            self.slowest_read[self.phase] = max(self.slowest_read[self.phase], seconds)

    def failed(self, counter, kind, error):
        with self.lock:
            counter[self.phase] += 1
            self.reasons[f"{kind} while {self.phase}: {error}"] += 1

    def longest_gap(self, phase):
        """Returns the longest time between two acknowledged writes, in seconds."""
        gaps = [
            later - earlier
            for (earlier, _), (later, of_phase) in itertools.pairwise(self.times)
            if of_phase == phase
        ]
        return max(gaps, default=0.0)


def write_notes(client, user, number, outcomes, is_over):
    for count in itertools.count():
        if is_over.is_set():
            return
        title = f"note {count} of writer {number}"
        try:
            note = client.call("notes.create", title=title, content=f"acknowledged {random.random()}")
            outcomes.wrote(user, title, note["uri"])
        except CallFailed as failure:
            outcomes.failed(outcomes.failed_writes, "write", failure)
            time.sleep(0.1)


def read_notes(client, first_note, outcomes, is_over):
    """Searches, lists and reads the note that exists from the beginning."""
    reads = itertools.cycle([
        ("notes.search", {"query": "acknowledged", "limit": 5}),
        ("knowledge.list", {"limit": 5}),
        ("notes.get", {"note_id": first_note}),
    ])
    for tool, arguments in reads:
        if is_over.is_set():
            return
        start = time.monotonic()
        try:
            client.call(tool, **arguments)
            outcomes.read(time.monotonic() - start, client.is_stale)
        except CallFailed as failure:
            outcomes.failed(outcomes.failed_reads, f"read ({tool})", failure)
        time.sleep(0.02)


def find_titles(client):
    """Returns how often each title is listed."""
    titles, offset = Counter(), 0
    while offset is not None:
        page = client.call(
            "knowledge.list", sources=["notes"], order_by="created", limit=PAGE, offset=offset
        )
        titles.update(note["title"] for note in page["results"])
        offset = page["next_offset"]
    return titles


def write_everywhere(nodes, keys, outcomes):
    """Writes for each user through each node. Returns those for which a node refuses it."""
    refused = []
    for node in nodes:
        for user, key in keys.items():
            title = f"last note through {node}"
            try:
                note = Client(node, key).call("notes.create", title=title, content="note")
                outcomes.wrote(user, title, note["uri"])
            except CallFailed as failure:
                refused.append((node, user, str(failure)))
    return refused


def check_nodes(nodes, keys, outcomes):
    """Compares the notes on every node with the acknowledged ones. Returns lost and doubled ones,
    and the users whose notes are not the same on all nodes."""
    lost, doubled, different = [], [], []
    for user, key in keys.items():
        expected = {title for owner, title in outcomes.acknowledged if owner == user}
        found = [find_titles(Client(node, key)) for node in nodes]
        if any(titles != found[0] for titles in found):
            different.append(user)
        for node, titles in zip(nodes, found):
            lost += [(node, user, title) for title in expected if title not in titles]
            doubled += [(node, user, title) for title, count in titles.items() if count > 1]
    return lost, doubled, different


def main():
    try_cluster, node_kills = sys.argv[1], int(sys.argv[2])
    # At least one leader is killed, and one hangs.
    leader_faults = max(2, math.ceil(node_kills / NODE_KILLS_PER_LEADER_FAULT))

    def run(*command):
        done = subprocess.run([try_cluster, *command], capture_output=True, text=True, timeout=400)
        if done.returncode != 0:
            sys.exit(f"try-cluster {' '.join(command)} failed: {done.stdout}{done.stderr}")
        return done.stdout.strip()

    front, *nodes = run("address").split()
    keys = {}
    for user in USERS:
        run("run", "user", "add", user)
        keys[user] = run("run", "key", "create", "--user", user, "--scope", "write").split()[-1]

    outcomes, is_over = Outcomes(), threading.Event()
    threads, first_notes = [], {}
    for user, key in keys.items():
        first_notes[user] = Client(front, key).call("notes.create", title="first", content="note")["id"]
        # A node has a copy of a library once it was asked for it.
        for node in nodes:
            Client(node, key).call("notes.search", query="note")
    for number in range(WRITERS):
        user = USERS[number % len(USERS)]
        # Half of the writers go to a node of their choice, so that two nodes write to one library.
        address = front if number < WRITERS // 2 else nodes[number % len(nodes)]
        arguments = (Client(address, keys[user]), user, number, outcomes, is_over)
        threads.append(threading.Thread(target=write_notes, args=arguments))
    for number in range(READERS):
        user = USERS[number % len(USERS)]
        arguments = (Client(front, keys[user]), first_notes[user], outcomes, is_over)
        threads.append(threading.Thread(target=read_notes, args=arguments))
    for thread in threads:
        thread.start()
    try:
        time.sleep(5)
        for round_number in range(leader_faults):
            command, phase = LEADER_FAULTS[round_number % len(LEADER_FAULTS)]
            outcomes.begin(phase)
            said = run(command).replace("\n", "; ")
            print(f"[{round_number + 1}/{leader_faults}] {said}", flush=True)
            time.sleep(3)
        outcomes.begin("nodes are killed")
        for round_number in range(node_kills):
            start = time.monotonic()
            options = ["--lose-data"] if round_number % KILLS_PER_LOST_FOLDER == 0 else []
            run("kill-node", str(random.randint(1, len(nodes))), *options)
            time.sleep(max(0, NODE_KILL_SECONDS - (time.monotonic() - start)))
        outcomes.begin("end")
        time.sleep(3)
    finally:
        is_over.set()
        for thread in threads:
            thread.join()

    refused = write_everywhere(nodes, keys, outcomes)
    lost, doubled, different = check_nodes(nodes, keys, outcomes)
    found = {
        "refused after all faults": refused,
        "lost": lost,
        "doubled": doubled,
        "not the same on all nodes": different,
    }
    for kind, problems in found.items():
        for problem in problems[:10]:
            print(f"{kind}: {problem}")
    for reason, count in outcomes.reasons.most_common(12):
        print(f"{count} x {reason}")
    print(f"leaders killed or suspended {leader_faults}, nodes killed {node_kills}")
    print(
        f"acknowledged {len(outcomes.acknowledged)}, lost {len(lost)}, doubled {len(doubled)}, "
        f"users with other notes on another node {len(different)}"
    )
    for phase in PHASES:
        print(
            f"while {phase}: at most {outcomes.longest_gap(phase):.1f} s without writes, "
            f"failed writes {outcomes.failed_writes[phase]}, "
            f"failed reads {outcomes.failed_reads[phase]} of "
            f"{outcomes.failed_reads[phase] + outcomes.reads[phase]}, "
            f"stale reads {outcomes.stale_reads[phase]}, slowest read {outcomes.slowest_read[phase]:.1f} s"
        )
    is_broken = any(found.values()) or not outcomes.acknowledged
    # A node that is killed ends the reads that it was answering, and reads wait for a leader that
    # hangs until HAProxy has noticed.
    if is_broken or outcomes.failed_reads["leaders are killed"]:
        sys.exit(1)


main()

"""Writes and reads logs through nodes that are killed, suspended and cut off, and checks the history.

Usage: check_history.py PROGRAM POSTGRES_URL FOLDER SEEDS SECONDS OUTAGE_SECONDS FIRST_SEED

A seed determines the faults and the calls of each worker, but not how they interleave.
"""

import itertools
import json
import os
import random
import socket
import sys
import threading
import time
from collections import Counter

import history as model
from client import CallFailed, Client
from history import AuditedCall, Find, History, Read, Write
from nodes import Faults, Node

NODES = 3
USERS = ["ada", "ben"]
WORKERS = 9
CALL_TIMEOUT_SECONDS = 25
# A log is not written any more after so many attempts, so that reads return all of it.
MAX_APPENDS = 30
LOGS_IN_USE = 4
PAGE = 100
SETTLE_SECONDS = 60


class Load:
    """Workers that call random nodes, and the history of their calls."""

    def __init__(self, nodes, keys, seed):
        self.nodes, self.keys, self.seed = nodes, keys, seed
        self.lock = threading.Lock()
        self.history = History(nodes=[node.name for node in nodes])
        self.logs = {user: [] for user in USERS}
        self.attempts = Counter()
        self.ids = {}
        self.failed_reads = Counter()
        self.numbers = itertools.count()

    def unique_word(self):
        """Returns a word of letters only, because digits would divide it."""
        return "".join(chr(ord("a") + int(digit)) for digit in f"{self.seed:03}{next(self.numbers):06}") + "x"

    def work(self, number, is_over):
        randomness = random.Random(f"{self.seed} {number}")
        clients = {
            (node.name, user): Client(node.address, self.keys[user], CALL_TIMEOUT_SECONDS)
            for node in self.nodes for user in USERS
        }
        while not is_over.is_set():
            node, user = randomness.choice(self.nodes), randomness.choice(USERS)
            client = clients[node.name, user]
            with self.lock:
                logs = self.logs[user][-LOGS_IN_USE:]
                writable = [log for log in logs if self.attempts[log] < MAX_APPENDS]
            action = randomness.random()
            if not logs or action < 0.03:
                self.create(client, node, user)
            elif action < 0.25 and writable:
                self.append(client, node, randomness.choice(writable))
            elif action < 0.8:
                self.read(client, node, randomness.choice(logs))
            else:
                self.find(client, node, randomness.choice(logs))
            time.sleep(randomness.uniform(0, 0.03))

    def call(self, client, node, key, tool, **arguments):
        """Calls a tool. Records that it was called and, if so, answered."""
        begin = time.monotonic()
        with self.lock:
            self.history.sent[key] += 1
        try:
            result = client.call(tool, **arguments)
            is_answered = True
            return result
        except CallFailed as failure:
            is_answered = model.is_call_answered(failure.answer)
            if failure.answer is None:
                time.sleep(0.05)
            raise
        finally:
            if is_answered:
                with self.lock:
                    self.history.answered.append(AuditedCall(key, node.name, begin, time.monotonic()))

    def write(self, client, node, log, word, tool, **arguments):
        begin, outcome, version, answer, result = time.monotonic(), model.STORED, None, "", {}
        try:
            result = self.call(client, node, (tool, word or log), tool, **arguments)
            version = result["version"]
        except CallFailed as failure:
            outcome, answer = model.outcome_of(failure.answer), str(failure)
        write = Write(node.name, begin, time.monotonic(), log, word, outcome, version, answer)
        with self.lock:
            self.history.writes.append(write)
        return result if outcome == model.STORED else None

    def create(self, client, node, user):
        log = self.unique_word()
        result = self.write(client, node, log, "", "notes.create", title=log, content="begin")
        if result is not None:
            with self.lock:
                self.ids[log] = (user, result["id"])
                self.logs[user].append(log)

    def append(self, client, node, log):
        word = self.unique_word()
        with self.lock:
            self.attempts[log] += 1
        self.write(client, node, log, word, "notes.append", note_id=self.ids[log][1], content=word)

    def read(self, client, node, log):
        begin = time.monotonic()
        try:
            version, words = self.read_log(client, node, log)
        except CallFailed as failure:
            if "not found" not in str(failure):
                with self.lock:
                    self.failed_reads[str(failure)] += 1
                return
            version, words = 0, []
        read = Read(node.name, begin, time.monotonic(), log, version, words, client.is_stale)
        with self.lock:
            self.history.reads.append(read)

    def read_log(self, client, node, log):
        """Returns the version and the words of a log."""
        note_id = self.ids[log][1]
        key = ("knowledge.get", note_id)
        note = self.call(
            client, node, key, "knowledge.get", source="notes", id=note_id, retrieval={"mode": "full"}
        )
        return note["meta"]["version"], note["content"].split()[1:]

    def find(self, client, node, log):
        begin = time.monotonic()
        try:
            found = self.call(client, node, ("notes.search", log), "notes.search", query=log)
        except CallFailed as failure:
            with self.lock:
                self.failed_reads[str(failure)] += 1
            return
        find = Find(node.name, begin, time.monotonic(), log, len(found["results"]), client.is_stale)
        with self.lock:
            self.history.finds.append(find)

    def read_end(self):
        """Reads all logs on every node, and the audit log."""
        for node, user in itertools.product(self.nodes, USERS):
            client = Client(node.address, self.keys[user], CALL_TIMEOUT_SECONDS)
            wait_until_current(client)
            offset = 0
            while offset is not None:
                page = client.call(
                    "knowledge.list", sources=["notes"], order_by="created", limit=PAGE, offset=offset
                )
                for note in page["results"]:
                    key = (node.name, note["title"])
                    self.history.titles[key] = self.history.titles.get(key, 0) + 1
                offset = page["next_offset"]
            for log, (owner, _) in self.ids.items():
                if owner == user:
                    self.history.final[node.name, log] = self.read_log(client, node, log)
        for node in self.nodes:
            self.history.kills[node.name] = node.kills
            self.history.suspensions[node.name] = node.suspensions
            self.history.deleted += node.deleted

    def read_audit(self):
        """Counts the entries of the audit log once they have arrived, or after a while."""
        for _ in range(SETTLE_SECONDS):
            self.history.audited = read_audit(self.nodes[0])
            if not any(model.check_audit(self.history)):
                break
            time.sleep(1)


def read_audit(node):
    entries = Counter()
    for entry in json.loads(node.run("audit", "--json")):
        if key := model.audited_key(entry.get("tool"), entry.get("arguments")):
            entries[key] += entry.get("count", 1)
    return entries


def wait_until_current(client):
    until = time.monotonic() + SETTLE_SECONDS
    while True:
        try:
            client.call("knowledge.list", limit=1)
            if not client.is_stale:
                return
        except CallFailed:
            if time.monotonic() > until:
                raise
        time.sleep(0.2)


def free_ports(count):
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [it.getsockname()[1] for it in taken]
    for it in taken:
        it.close()
    return ports


def run_seed(program, archive, folder, seed, seconds, outage):
    folder = os.path.join(folder, f"seed-{seed}")
    os.mkdir(folder)
    schema = f"history_{os.urandom(6).hex()}"
    nodes = [
        Node(f"n{number}", program, folder, archive, schema, port)
        for number, port in enumerate(free_ports(NODES), 1)
    ]
    keys = {}
    for user in USERS:
        nodes[0].run("user", "add", user)
        keys[user] = nodes[0].run("key", "create", "--user", user, "--scope", "write").split()[-1]
    load, is_over, faults = Load(nodes, keys, seed), threading.Event(), Faults(nodes, seed)
    threads = [threading.Thread(target=load.work, args=(number, is_over)) for number in range(WORKERS)]
    try:
        for node in nodes:
            if not node.start():
                sys.exit(f"{node.name} does not start: {open(node.log, encoding='utf-8').read()}")
        for thread in threads:
            thread.start()
        is_over.wait(3)
        if outage:
            faults.outage(outage)
        end = threading.Timer(seconds, is_over.set)
        end.start()
        faults.run(is_over)
        for thread in threads:
            thread.join()
        for node in nodes:
            node.proxy.heal()
        load.read_end()
        load.read_audit()
    finally:
        is_over.set()
        for node in nodes:
            if node.process is not None and node.process.poll() is None:
                node.process.kill()
                node.process.wait()
    return load, faults


def describe(load, faults):
    history = load.history
    outcomes = Counter(write.outcome for write in history.writes)
    marked = sum(read.is_marked for read in [*history.reads, *history.finds])
    faults = ", ".join(f"{kind} {count}" for kind, count in sorted(faults.counts.items()))
    missing, deleted = model.missing_entries(history)
    return (
        f"reads {len(history.reads) + len(history.finds)} ({marked} marked as old, "
        f"{sum(load.failed_reads.values())} failed), writes {len(history.writes)} "
        f"({', '.join(f'{outcome} {count}' for outcome, count in sorted(outcomes.items()))}), "
        f"audited {sum(history.audited.values())} of {sum(history.sent.values())} calls, {missing} answered "
        f"ones without an entry ({deleted} deleted with a folder, {missing - deleted} not kept before a "
        f"kill); {faults}"
    )


def main():
    program, archive, folder = sys.argv[1:4]
    seeds, seconds, outage, first = (int(it) for it in sys.argv[4:8])
    total, is_broken = Counter(), False
    for seed in range(first, first + seeds):
        load, faults = run_seed(program, archive, folder, seed, seconds, outage if seed == first else 0)
        violations = list(model.check(load.history))
        print(f"seed {seed}: {describe(load, faults)}", flush=True)
        for kind, details in violations[:20]:
            print(f"  {kind}: {details}", flush=True)
        for reason, count in load.failed_reads.most_common(4):
            print(f"  {count} x failed read: {reason}", flush=True)
        total.update(kind for kind, _ in violations)
        total["reads"] += len(load.history.reads) + len(load.history.finds)
        total["writes"] += len(load.history.writes)
        is_broken |= bool(violations) or not load.history.reads or not load.history.writes
    print(f"{seeds} x {seconds} s: " + ", ".join(f"{kind} {count}" for kind, count in total.items()))
    sys.exit(1 if is_broken else 0)


main()

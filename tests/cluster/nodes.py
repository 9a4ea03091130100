"""Nodes of a cluster on this machine, each with a proxy to PostgreSQL, and the faults that they have."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
import urllib.parse
from collections import Counter

from history import audited_key
from proxy import Proxy

START_SECONDS = 60
# Number of faults at the same time.
AT_ONCE = 2
SETTINGS = """
[server]
listen = "127.0.0.1:{listen}"
[archive]
url = "postgres://{user}:{password}@127.0.0.1:{port}{path}"
schema = "{schema}"
allow_plaintext = true
tls = "disable"
[auth]
mode = "multi"
[tools]
write = true
[audit]
queries = true
[limits]
requests_per_minute = 0
calls_per_tool_per_minute = 0
"""


class Node:
    """A server with a data folder, which can be killed, suspended and cut off."""

    def __init__(self, name, program, folder, archive, schema, listen):
        self.name, self.program = name, program
        self.data, self.log = os.path.join(folder, name), os.path.join(folder, f"{name}.log")
        self.settings = os.path.join(folder, f"{name}.toml")
        place = urllib.parse.urlsplit(archive)
        self.proxy = Proxy((place.hostname, place.port))
        with open(self.settings, "w", encoding="utf-8") as file:
            file.write(SETTINGS.format(
                listen=listen, user=place.username, password=place.password,
                port=self.proxy.port, path=place.path, schema=schema,
            ))
        self.address = f"http://127.0.0.1:{listen}/mcp"
        self.process = None
        # Held while the process is killed or suspended.
        self.lock = threading.Lock()
        self.kills = []
        # Times between which it was suspended, each as a pair.
        self.suspensions = []
        # Number of entries of the audit log in folders when they were deleted, by key.
        self.deleted = Counter()

    def command(self, *arguments):
        return [self.program, *arguments, "--data", self.data, "--config", self.settings]

    def run(self, *arguments):
        """Runs a command of the program, and returns its output."""
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise RuntimeError(f"{arguments}: {done.stdout}{done.stderr}")
        return done.stdout

    def start(self):
        """Starts the server, and returns when it has printed its address."""
        with open(self.log, "ab") as log:
            start = log.tell()
            self.process = subprocess.Popen(
                self.command("serve"), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            with open(self.log, "rb") as log:
                log.seek(start)
                if b"listening on" in log.read():
                    return True
            time.sleep(0.05)
        return False

    def kill(self, loses_data=False):
        begin = time.monotonic()
        self.process.kill()
        self.process.wait()
        # Calls that were answered just before may have no entry in the audit log yet.
        self.kills.append((begin, time.monotonic()))
        if loses_data:
            self.deleted += self.kept_entries()
            shutil.rmtree(self.data)

    def kept_entries(self):
        """Counts the entries of the audit log, by key, that are in the folder until PostgreSQL has them."""
        file = os.path.join(self.data, "audit-spool.db")
        if not os.path.exists(file):
            return Counter()
        kept = sqlite3.connect(file)
        rows = kept.execute("SELECT tool, arguments, count FROM entry").fetchall()
        kept.close()
        entries = Counter()
        for tool, arguments, count in rows:
            if key := audited_key(tool, arguments):
                entries[key] += count
        return entries

    def suspend(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)


class Faults:
    """Random faults of random nodes, several at once, until it is over."""

    def __init__(self, nodes, seed):
        self.nodes, self.random = nodes, random.Random(seed)
        self.counts = Counter()
        self.lock = threading.Lock()
        self.kinds = [self.kill, self.lose_data, self.stop, self.cut, self.suspend, self.swallow, self.cut_all]

    def run(self, is_over):
        threads = [threading.Thread(target=self.run_one_by_one, args=[is_over]) for _ in range(AT_ONCE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def run_one_by_one(self, is_over):
        while not is_over.is_set():
            with self.lock:
                kind, node = self.random.choice(self.kinds), self.random.choice(self.nodes)
                self.counts[kind.__name__] += 1
            kind(node, is_over)
            is_over.wait(self.random.uniform(0.2, 2))

    def kill(self, node, is_over, loses_data=False):
        with node.lock:
            node.kill(loses_data)
            is_over.wait(self.random.uniform(0, 1))
            # A node without copies does not start while its archive cannot be reached.
            while not node.start():
                time.sleep(0.2)

    def lose_data(self, node, is_over):
        self.kill(node, is_over, loses_data=True)

    def stop(self, node, is_over):
        with node.lock:
            begin = time.monotonic()
            node.suspend()
            is_over.wait(self.random.uniform(0.2, 6))
            node.resume()
            node.suspensions.append((begin, time.monotonic()))

    def cut(self, node, is_over):
        node.proxy.cut()
        is_over.wait(self.random.uniform(0.2, 6))
        node.proxy.heal()

    def cut_all(self, _, is_over):
        for node in self.nodes:
            node.proxy.cut()
        is_over.wait(self.random.uniform(0.2, 6))
        for node in self.nodes:
            node.proxy.heal()

    def outage(self, seconds):
        """Cuts all nodes off, which go on."""
        self.counts["outage"] = 1
        for node in self.nodes:
            node.proxy.cut()
        time.sleep(seconds)
        for node in self.nodes:
            node.proxy.heal()

    def suspend(self, node, is_over):
        node.proxy.suspend()
        is_over.wait(self.random.uniform(0.2, 12))
        # The other end has given up, or what was held back arrives late.
        if self.random.random() < 0.5:
            node.proxy.end_connections()
        node.proxy.heal()

    def swallow(self, node, is_over):
        node.proxy.swallow(self.random.randint(1, 4))
        is_over.wait(self.random.uniform(0.5, 3))
        node.proxy.swallow(0)

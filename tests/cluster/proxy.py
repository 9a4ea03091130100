"""A TCP proxy between a node and PostgreSQL that cuts, suspends and swallows on request."""

import socket
import threading

# Part of the statement by which a node proposes a write to a library.
WRITE_MARK = b"note_fts"


class Proxy:
    """Forwards connections to `target`. Its threads end with the process."""

    def __init__(self, target):
        self.target = target
        self.lock = threading.Lock()
        self.connections = []
        self.is_cut = False
        # Number of writes whose answers are to be lost, with their connections.
        self.to_swallow = 0
        # Cleared while nothing passes. What arrives meanwhile is delivered afterwards.
        self.is_open = threading.Event()
        self.is_open.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            if self.is_cut:
                client.close()
                continue
            try:
                server = socket.create_connection(self.target)
            except OSError:
                client.close()
                continue
            with self.lock:
                self.connections += [client, server]
            is_muted = threading.Event()
            for ends in ((client, server, is_muted, True), (server, client, is_muted, False)):
                threading.Thread(target=self.copy, args=ends, daemon=True).start()

    def copy(self, source, target, is_muted, is_request):
        try:
            while data := source.recv(65_536):
                self.is_open.wait()
                if is_request and WRITE_MARK in data:
                    self.mark_swallowed(is_muted)
                # The server has answered, so the write is stored.
                if not is_request and is_muted.is_set():
                    break
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            shut(end)

    def mark_swallowed(self, is_muted):
        with self.lock:
            if self.to_swallow > 0:
                self.to_swallow -= 1
                is_muted.set()

    def cut(self):
        """Ends all connections and refuses others."""
        self.is_cut = True
        self.end_connections()

    def suspend(self):
        """Lets nothing pass, and keeps connections open."""
        self.is_open.clear()

    def swallow(self, count):
        """Has the next writes reach PostgreSQL, and their answers be lost."""
        with self.lock:
            self.to_swallow = count

    def end_connections(self):
        with self.lock:
            ended, self.connections = self.connections, []
        for end in ended:
            shut(end)

    def heal(self):
        self.is_cut = False
        self.swallow(0)
        self.is_open.set()


def shut(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass

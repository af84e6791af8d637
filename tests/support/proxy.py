"""A TCP proxy in front of the database that knows one statement: COMMIT, and what a bad network does to it."""

import socket
import threading

from .wait import free_port

COM_QUERY = 3
# How a COMMIT may go wrong.
BEFORE = "before"  # dropped: the server never sees it, both connections end
DURING = "during"  # the server has it, its answer is swallowed, the client's connection ends
LATE = "late"      # the client's connection ends first, the server gets the COMMIT a little later
AFTER = "after"    # answered, and then the connection ends
LATE_S = 0.3


class Proxy:
    """arm(mode, count) cuts the next COMMITs; refuse(True) turns away new connections, as a dead network does."""

    def __init__(self, target_port):
        self.target_port, self.port = target_port, free_port()
        self._guard = threading.Lock()
        self._mode, self._left, self._refuse = None, 0, False
        self.refuse_after_cut = False
        self.cuts = 0
        self._pairs = set()
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", self.port))
        self._listener.listen(128)
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, mode, count=1):
        with self._guard:
            self._mode, self._left = mode, count

    def refuse(self, refuse):
        self._refuse = refuse

    def close(self):
        self._listener.close()
        for pair in list(self._pairs):
            _end(*pair)

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._refuse:
                client.close()
                continue
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            server = socket.create_connection(("127.0.0.1", self.target_port), 5)
            server.settimeout(None)
        except OSError:
            client.close()
            return
        for side in (client, server):
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pair = (client, server)
        self._pairs.add(pair)
        swallow = threading.Event()
        threading.Thread(target=_pump, args=(server, client, swallow), daemon=True).start()
        try:
            self._from_client(client, server, swallow)
        except OSError:
            pass
        _end(client, server)
        self._pairs.discard(pair)

    def _from_client(self, client, server, swallow):
        """Packet by packet, so that a COMMIT is known before it goes on."""
        while True:
            head = _exactly(client, 4)
            packet = _exactly(client, int.from_bytes(head[:3], "little"))
            mode = self._draw(head, packet)
            if mode is None:
                server.sendall(head + packet)
                continue
            self._cut(mode, head + packet, (client, server), swallow)
            return

    def _draw(self, head, packet):
        is_commit = head[3] == 0 and packet[:1] == bytes([COM_QUERY]) and _statement(packet)[:6].upper() == b"COMMIT"
        with self._guard:
            if not is_commit or not self._left:
                return None
            self._left -= 1
            self.cuts += 1
            self._refuse = self._refuse or self.refuse_after_cut
            return self._mode

    def _cut(self, mode, data, pair, swallow):
        client, server = pair
        if mode == AFTER:
            server.sendall(data)
            client.settimeout(0.2)
            try:
                client.recv(1, socket.MSG_PEEK)  # the answer is on its way; the client's next word, or a moment, ends it
            except TimeoutError:
                pass
            return
        if mode == DURING:
            swallow.set()
            server.sendall(data)
            _half_close(server)
            swallow_done = threading.Event()
            swallow_done.wait(0.05)
        if mode == LATE:
            swallow.set()
            _end(client)
            threading.Event().wait(LATE_S)
            server.sendall(data)
            _half_close(server)
            threading.Event().wait(LATE_S)


def _statement(packet):
    """The text of a COM_QUERY; MySQL's library says before it that there are no attributes, in one set."""
    return packet[3:] if packet[1:3] == b"\x00\x01" else packet[1:]


def _pump(source, sink, swallow):
    try:
        while data := source.recv(65536):
            if not swallow.is_set():
                sink.sendall(data)
    except OSError:
        pass
    if not swallow.is_set():
        _end(sink)


def _exactly(source, count):
    data = b""
    while len(data) < count:
        chunk = source.recv(count - len(data))
        if not chunk:
            raise ConnectionError
        data += chunk
    return data


def _half_close(side):
    try:
        side.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def _end(*sides):
    for side in sides:
        try:
            side.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        side.close()

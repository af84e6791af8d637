"""A reader of server-sent events: a thread that takes what comes, as raw as a client of HTTP/1.1 or 1.0 would."""

import json
import socket
import threading

from .wait import eventually


class Event:
    """One event: its name, id (None without one) and data."""

    def __init__(self, lines):
        fields = {}
        for line in lines:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        self.event, self.id, self.retry = fields.get("event"), fields.get("id"), fields.get("retry")
        self.data = json.loads(fields["data"]) if "data" in fields else None

    def __repr__(self):
        return f"<{self.event} {self.id} {self.data}>"


class Stream:
    """GET of a path; events, comments and the end as they came. The reply's head is read before this returns."""

    def __init__(self, port, path, headers=(), version="1.1", method="GET", receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(30)
        self.socket.connect(("127.0.0.1", port))
        lines = "".join(f"{name}: {value}\r\n" for name, value in dict(headers).items())
        self.socket.sendall(f"{method} {path} HTTP/{version}\r\nHost: 127.0.0.1\r\n{lines}\r\n".encode())
        self._bytes = b""
        while b"\r\n\r\n" not in self._bytes:
            self._more()
        head, self._bytes = self._bytes.split(b"\r\n\r\n", 1)
        first, *rest = head.decode().split("\r\n")
        self.status = int(first.split(" ")[1])
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
        self.events, self.comments, self.retry = [], [], None
        self.ended, self.clean = False, False  # clean: the reply's own end came before that of the connection
        self._text = b""

    def _more(self):
        got = self.socket.recv(65536)
        if not got:
            raise ConnectionError("closed by the server")
        self._bytes += got

    def read(self):
        """Begins to read."""
        threading.Thread(target=self._run, daemon=True).start()
        return self

    def _run(self):
        chunked = self.headers.get("transfer-encoding") == "chunked"
        self.socket.settimeout(None)
        try:
            while self._take_chunk() if chunked else self._take_all():
                self._split()
                self._more()
        except OSError:
            self.clean = self.clean or not chunked
        self._split()
        self.ended = True

    def _take_all(self):
        self._text, self._bytes = self._text + self._bytes, b""
        return True

    def _take_chunk(self):
        """Whole chunks to text; False at the last one."""
        while b"\r\n" in self._bytes:
            size, rest = self._bytes.split(b"\r\n", 1)
            count = int(size, 16)
            if len(rest) < count + 2:
                break
            if count == 0:
                self.clean = True
                return False
            self._text, self._bytes = self._text + rest[:count], rest[count + 2:]
        return True

    def _split(self):
        while b"\n\n" in self._text:
            block, self._text = self._text.split(b"\n\n", 1)
            lines = block.decode().split("\n")
            if lines[0].startswith(":"):
                self.comments.append(lines[0])
                continue
            event = Event(lines)
            self.retry = event.retry or self.retry
            if event.event:
                self.events.append(event)

    def names(self):
        return [event.event for event in list(self.events)]

    def until(self, count, timeout_s=5.0):
        """The events once there are so many."""
        eventually(lambda: len(self.events) >= count or self.ended, timeout_s, f"{count} events ({self.events})")
        return list(self.events)

    def find(self, name, timeout_s=5.0, **holder):
        """The first event of this name whose holder has these values."""
        def look():
            for event in list(self.events):
                told = (event.data or {}).get("holder") or {}
                if event.event == name and all(told.get(key) == value for key, value in holder.items()):
                    return event
            return None
        return eventually(look, timeout_s, f"{name} {holder} ({self.events})")

    def close(self):
        self.socket.close()

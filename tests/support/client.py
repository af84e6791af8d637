"""A keep-alive HTTP/1.1 client that sends what it is told, byte for byte where a test wants that."""

import json
import select
import socket


class Reply:
    """Status, headers (first of each name, lower case), body."""

    def __init__(self, status, lines, body):
        self.status, self.lines, self.body = status, lines, body
        self.headers = {}
        for name, value in lines:
            self.headers.setdefault(name.lower(), value)

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """Error code of a problem document, None for anything else."""
        return self.json.get("code") if self.headers.get("content-type", "").startswith("application/problem") else None

    def __repr__(self):
        return f"<{self.status} {self.body[:300]!r}>"


class Unanswered(ConnectionError):
    """The request was sent, at least in part, and the connection ended before a whole answer came."""


class Http:
    """One connection at a time; a connection the server closed between two requests is opened anew."""

    def __init__(self, port, host="127.0.0.1", timeout_s=30.0, headers=()):
        self.port, self.host, self.timeout_s = port, host, timeout_s
        self.default_headers = list(headers)
        self._socket, self._buffer = None, b""

    def close(self):
        if self._socket:
            self._socket.close()
        self._socket, self._buffer = None, b""

    def _connect(self):
        if self._socket and select.select([self._socket], [], [], 0)[0]:
            self.close()
        if not self._socket:
            self._socket = socket.create_connection((self.host, self.port), self.timeout_s)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def request(self, method, path, body=None, headers=(), content_type="application/json"):
        """headers: pairs or a dict. A body that is not bytes is written as JSON; content_type None sends none."""
        lines = list(headers.items() if isinstance(headers, dict) else headers)
        names = {name.lower() for name, _ in lines}
        lines += [(n, v) for n, v in self.default_headers if n.lower() not in names]
        if "host" not in names:
            lines.append(("Host", f"127.0.0.1:{self.port}"))
        if body is not None:
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
            lines.append(("Content-Length", str(len(body))))
            if content_type and "content-type" not in names:
                lines.append(("Content-Type", content_type))
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in lines) + "\r\n"
        return self.exchange(head.encode("latin-1") + (body or b""), method)

    def exchange(self, data, method="GET"):
        """Raw bytes out, one reply in."""
        self._connect()
        try:
            self._send(data)
            return self._receive(method)
        except (OSError, ValueError) as error:
            self.close()
            raise Unanswered(str(error)) from error

    def _send(self, data):
        try:
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a server that refuses early may still have answered

    def _fill(self):
        chunk = self._socket.recv(65536)
        if not chunk:
            raise ConnectionError("closed by the server")
        self._buffer += chunk

    def _take(self, count):
        while len(self._buffer) < count:
            self._fill()
        data, self._buffer = self._buffer[:count], self._buffer[count:]
        return data

    def _take_line(self):
        while b"\r\n" not in self._buffer:
            self._fill()
        line, self._buffer = self._buffer.split(b"\r\n", 1)
        return line.decode("latin-1")

    def _receive(self, method):
        status = 100
        while status == 100:
            status = int(self._take_line().split(" ", 2)[1])
            lines = []
            while line := self._take_line():
                name, value = line.split(":", 1)
                lines.append((name, value.strip()))
        reply = Reply(status, lines, b"")
        if method != "HEAD" and status not in (204, 304):
            reply.body = self._receive_body(reply.headers)
        if reply.headers.get("connection", "").lower() == "close":
            self.close()
        return reply

    def _receive_body(self, headers):
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = b""
            while size := int(self._take_line(), 16):
                body += self._take(size)
                self._take_line()
            self._take_line()
            return body
        if "content-length" in headers:
            return self._take(int(headers["content-length"]))
        body = self._buffer
        while chunk := self._socket.recv(65536):
            body += chunk
        self._buffer = b""
        return body

    def get(self, path, **kw):
        return self.request("GET", path, **kw)

    def post(self, path, body=None, **kw):
        return self.request("POST", path, body, **kw)

    def put(self, path, body=None, **kw):
        return self.request("PUT", path, body, **kw)

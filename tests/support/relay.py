"""A TCP relay that can stop forwarding, as a cut network does, and can be pointed at another server."""

import socket
import threading

from .wait import free_port


class Relay:
    """cut(): nothing goes on, either way, and nobody is told; what was on its way arrives after heal(). retarget():
    connections end, the next ones go to the other port."""

    def __init__(self, target_port):
        self.target_port, self.port = target_port, free_port()
        self._flows = threading.Event()
        self._flows.set()
        self._sides, self._guard = set(), threading.Lock()
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", self.port))
        self._listener.listen(128)
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        self._flows.clear()

    def heal(self):
        self._flows.set()

    def retarget(self, port):
        self.target_port = port
        self._end_all()

    def close(self):
        self._listener.close()
        self.heal()
        self._end_all()

    def _end_all(self):
        with self._guard:
            for side in self._sides:
                _shut(side, socket.SHUT_RDWR)

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        self._flows.wait()
        try:
            server = socket.create_connection(("127.0.0.1", self.target_port), 5)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        pair = (client, server)
        with self._guard:
            self._sides.update(pair)
        for side in pair:
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        back = threading.Thread(target=self._pump, args=(server, client), daemon=True)
        back.start()
        self._pump(client, server)
        back.join()
        with self._guard:
            self._sides.difference_update(pair)
        for side in pair:
            side.close()

    def _pump(self, source, sink):
        """Bytes, and then the end, in their order."""
        try:
            while data := source.recv(65536):
                self._flows.wait()
                sink.sendall(data)
        except OSError:
            _shut(source, socket.SHUT_RDWR)
        self._flows.wait()
        _shut(sink, socket.SHUT_WR)


def _shut(side, how):
    try:
        side.shutdown(how)
    except OSError:
        pass

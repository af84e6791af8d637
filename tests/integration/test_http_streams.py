"""Replies that go on, by the HTTP layer itself: tests/support/http_echo.c streams blocks, or nothing."""

import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support.case import main  # pylint: disable=wrong-import-position
from support.events import Stream
from support.wait import accepts, eventually
from test_http_limits import HOST, Echo

BLOCK = 8192
BLOCKS_MANY = 4000  # 32 MB: more than the kernel takes for a reader that does not read


class StreamCase(Echo):
    IDLE_S = 1
    ARGS = ["", str(IDLE_S)]

    def stream(self, blocks, **kw):
        one = Stream(self.port, f"/v1/stream/{blocks}", **kw)
        self.addCleanup(one.close)
        return one

    def until_parked(self, count):
        eventually(lambda: self.stats()["parked"] == count, 5, f"{count} streams")

    def metric(self, name):
        page = self.get("/metrics").body.decode()
        return next(float(line.split()[-1]) for line in page.splitlines() if line.startswith(name + " "))


class Written(StreamCase):

    def test_blocks__when_read__then_all_of_them_and_an_end_in_order(self):
        for version in ("1.1", "1.0"):
            one = self.stream(50, version=version).read()
            eventually(lambda one=one: one.ended, 10, "the end")
            self.assertTrue(one.clean)
            self.assertEqual(len(one._text), 50 * BLOCK)  # pylint: disable=protected-access
        self.until_parked(0)

    def test_connection__when_a_stream_has_ended__then_serves_the_next_request(self):
        raw = self.connect()
        for _ in range(2):
            raw.send("GET /v1/stream/3 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            raw.reply()
            while b"0\r\n\r\n" not in raw.rest:
                raw._more()  # pylint: disable=protected-access
            raw.rest = b""
        raw.send("GET /v1/now HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertEqual(raw.reply().status, 200)

    def test_idle__then_comments_and_no_time_limit(self):
        one = self.stream(0).read()  # what is idle for the time limit of other replies
        eventually(lambda: len(one.comments) >= 3 + 5 * self.IDLE_S, 10, "comments beyond the limit of other replies")
        self.assertFalse(one.ended)
        one.close()
        self.until_parked(0)

    def test_large_headers__when_a_reply_fits__then_a_stream_does(self):
        largest = 0
        for size in range(5000, 8000, 100):
            padding = {"X-Padding": "p" * size}
            try:
                if self.get("/v1/now", headers=HOST + f"X-Padding: {padding['X-Padding']}\r\n").status != 200:
                    break
            except EOFError:
                break
            one = self.stream(1, headers=padding).read()
            eventually(lambda one=one: one.ended, 5, f"the end, {size} bytes of headers")
            self.assertEqual(len(one._text), BLOCK)  # pylint: disable=protected-access
            largest = size
        self.assertGreater(largest, 5000)


class Left(StreamCase):

    def test_hang_up__when_idle_or_busy__then_the_writer_is_told(self):
        for blocks in (0, BLOCKS_MANY):
            one = self.stream(blocks)
            self.until_parked(1)
            one.close()
            self.until_parked(0)
        self.assertEqual(self.stats()["gone"], 2)

    def test_slow_reader__when_too_much_waits__then_cut_off_and_nobody_else_waits(self):
        slow = self.stream(BLOCKS_MANY, receive_buffer=4096)
        other = self.stream(200).read()
        eventually(lambda: other.ended, 10, "the other reader")
        self.assertTrue(other.clean)
        self.until_parked(0)
        self.assertEqual(self.metric("lockstock_http_streams_cut_total"), 1)
        slow.read()
        eventually(lambda: slow.ended, 10, "the end of the slow one")
        self.assertFalse(slow.clean)

    def test_quiesced__then_streams_go_on_until_they_end(self):
        one = self.stream(500).read()
        self.process.popen.send_signal(signal.SIGUSR1)
        eventually(lambda: one.ended, 10, "the end")
        self.assertTrue(one.clean)

    def test_stop__when_streams_are_open__then_they_are_cut_and_the_writers_told(self):
        self.stream(0)
        self.stream(BLOCKS_MANY, receive_buffer=4096)
        self.until_parked(2)
        self.process.popen.send_signal(signal.SIGTERM)
        eventually(lambda: not accepts(self.port), 5, "the signal is seen; the next one ends it at once")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""A hostile server: it gives a real server's replies up to a point, and from there on does what the test chooses.

    with HostileServer(server, "replies", endless_line) as hostile:
        ...                                             # the client works at hostile.url

A place is where on a connection the evil begins. An evil is what is done to the connection's socket from there on.
"""

from __future__ import annotations

import random
import socket
import ssl
import time
from typing import Callable, Dict, Iterator, List, Optional

from .broken import BrokenServer
from .certificates import Certificate
from .faults import Command
from .resp import FrameReader
from .server import RedisServer

# Acts on a connection in place of the right reply, which it gets, too. When it returns, the connection is closed.
Evil = Callable[["Victim", bytes], None]

# The command of a connection in place of whose reply the evil begins.
PLACES: Dict[str, Callable[[Command], bool]] = {
    "greeting": lambda command: True,
    "replies": lambda command: command.word in ("EVALSHA", "EVAL"),
    "subscription": lambda command: command.word == "SUBSCRIBE",
}

# Instead of the TLS handshake, on the bare socket.
HANDSHAKE = "handshake"

_CHUNK = 65_536


class Victim:
    """A client's connection, as an evil sees it."""

    def __init__(self, server: HostileServer, connection: socket.socket) -> None:
        self._server = server
        self.socket = connection
        self.number = server.next_number()

    def send(self, data: bytes) -> None:
        """Send all of it, however long the client takes to read it."""
        self.socket.sendall(data)

    def for_ever(self, data: bytes) -> None:
        """Send the same until the client hangs up."""
        data = data * max(1, _CHUNK // len(data))
        while True:
            self.socket.sendall(data)

    def drip(self, data: bytes, pause: float) -> None:
        """Send byte by byte."""
        for byte in data:
            self.socket.sendall(bytes([byte]))
            time.sleep(pause)

    def listen(self) -> None:
        """Read what comes, and send nothing, until the client hangs up."""
        while self.socket.recv(_CHUNK):
            pass

    def answer_each(self, reply: Callable[[int], bytes]) -> None:
        """Answer each command from now on with what a function returns for its number."""
        reader, count = FrameReader(commands=True), 0
        while True:
            data = self.socket.recv(_CHUNK)
            if not data:
                return
            for _ in reader.feed(data):
                self.socket.sendall(reply(count))
                count += 1


class HostileServer(BrokenServer):
    """Passes commands on to a real server until a connection comes to the place of the evil. With a certificate clients
    reach it by TLS, which also encrypts what the evil sends."""

    def __init__(self, server: RedisServer, place: str, evil: Evil, own: Optional[Certificate] = None) -> None:
        self._server, self._evil = server, evil
        self._begins = PLACES.get(place)
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if own else None
        if self._tls and own:
            self._tls.load_cert_chain(own.file, own.key)
        self._numbers = iter(range(1_000_000_000))
        self.struck = 0
        super().__init__()

    def next_number(self) -> int:
        """The number of the next connection that an evil acts on."""
        with self._lock:
            return next(self._numbers)

    @property
    def url(self) -> str:
        """Its address."""
        return f"rediss://127.0.0.1:{self.port}/0" if self._tls else super().url

    def serve(self, connection: socket.socket) -> None:
        """Talk to one client, with a connection to the real server behind it."""
        if self._begins is None:
            self.struck += 1
            self._evil(Victim(self, connection), b"+OK\r\n")
        elif self._tls:
            with self._tls.wrap_socket(connection, server_side=True) as encrypted:
                self._hang_up_with(encrypted)
                self._serve_plainly(encrypted)
        else:
            self._serve_plainly(connection)

    def _serve_plainly(self, connection: socket.socket) -> None:
        with socket.create_connection(self._server.address) as upstream:
            self._hang_up_with(upstream)
            self._talk(connection, upstream)

    def _talk(self, client: socket.socket, upstream: socket.socket) -> None:
        """Pass on one command at a time, so that it is known to which command a reply belongs."""
        commands, replies = FrameReader(commands=True), FrameReader()
        while True:
            data = client.recv(_CHUNK)
            if not data:
                return
            for frame in commands.feed(data):
                upstream.sendall(frame.raw)
                reply = next(self._replies(upstream, replies))
                if self._begins and self._begins(Command(frame.value, frame.raw)):
                    self.struck += 1
                    self._evil(Victim(self, client), reply)
                    return
                client.sendall(reply)

    @staticmethod
    def _replies(upstream: socket.socket, reader: FrameReader) -> Iterator[bytes]:
        while True:
            data = upstream.recv(_CHUNK)
            if not data:
                raise ConnectionResetError("the real server is gone")
            yield from (frame.raw for frame in reader.feed(data))


# -------------------------------------------------------------------------------------------------------- the evils --


def garbage(victim: Victim, reply: bytes) -> None:
    """Bytes that are no protocol, different on each connection."""
    victim.send(random.Random(victim.number).getrandbits(8 * 300).to_bytes(300, "big"))
    victim.listen()


def endless_garbage(victim: Victim, reply: bytes) -> None:
    """The same without end."""
    victim.for_ever(random.Random(victim.number).getrandbits(8 * 3000).to_bytes(3000, "big"))


def endless_line(victim: Victim, reply: bytes) -> None:
    """A status whose line does not end."""
    victim.send(b"+")
    victim.for_ever(b"x")


def endless_error(victim: Victim, reply: bytes) -> None:
    """An error of a mebibyte, again and again."""
    victim.for_ever(b"-ERR " + b"x" * 1_048_576 + b"\r\n")


def endless_bulk(victim: Victim, reply: bytes) -> None:
    """A string of 2 GiB, as announced."""
    victim.send(b"$2147483647\r\n")
    victim.for_ever(b"x")


def huge_announcement(victim: Victim, reply: bytes) -> None:
    """A string of 2 GiB that does not come."""
    victim.send(b"$2147483647\r\nx")
    victim.listen()


def huge_array(victim: Victim, reply: bytes) -> None:
    """An array of two thousand million elements."""
    victim.send(b"*2147483647\r\n")
    victim.for_ever(b":1\r\n")


def deep_array(victim: Victim, reply: bytes) -> None:
    """Arrays in arrays without end."""
    victim.for_ever(b"*1\r\n")


def flood(victim: Victim, reply: bytes) -> None:
    """The right reply, again and again."""
    victim.for_ever(reply)


def surplus(victim: Victim, reply: bytes) -> None:
    """The right reply, twice, and one more to each command that follows."""
    victim.send(reply * 2)
    victim.answer_each(lambda number: reply * 2)


def drip(victim: Victim, reply: bytes) -> None:
    """A string that comes byte by byte, for an hour."""
    victim.drip(b"$100000\r\n" + b"x" * 100_000, 0.03)


def half(victim: Victim, reply: bytes) -> None:
    """Half of the right reply, and silence."""
    victim.send(reply[: len(reply) // 2])
    victim.listen()


def closing(victim: Victim, reply: bytes) -> None:
    """Hangs up within the reply: after 0 bytes on the first connection, after 1 on the next, and so on."""
    victim.send(reply[: victim.number % len(reply)])


def newer_protocol(victim: Victim, reply: bytes) -> None:
    """Types that RESP3 has and RESP2 has not."""
    words = [b"%1\r\n+a\r\n:1\r\n", b"#t\r\n", b"_\r\n", b",1.5\r\n", b"(12345678901234567890\r\n", b"~1\r\n:1\r\n",
             b">2\r\n+message\r\n+a\r\n", b"=5\r\ntxt:a\r\n", b"|1\r\n+a\r\n:1\r\n:1\r\n"]
    victim.send(words[victim.number % len(words)])
    victim.answer_each(lambda number: words[(victim.number + number + 1) % len(words)])


WRONG = [b"+OK\r\n", b"+7\r\n", b":-5\r\n", b":9223372036854775807\r\n", b":-9223372036854775808\r\n", b"$-1\r\n",
         b"*-1\r\n", b"*0\r\n", b"$0\r\n\r\n", b"$20\r\n99999999999999999999\r\n", b"-ERR no\r\n", b"-\r\n", b"+\r\n",
         b"*1\r\n$-1\r\n", b"*2\r\n:1\r\n:-1\r\n", b"*2\r\n:99\r\n$1\r\na\r\n", b"*3\r\n$7\r\nmessage\r\n:1\r\n$-1\r\n",
         b"*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n", b"*3\r\n:-1\r\n-ERR\r\n*0\r\n", b"-NOSCRIPT no\r\n", b"-BUSY no\r\n"]


def wrong_types(victim: Victim, reply: bytes) -> None:
    """Well-formed replies that do not fit their commands."""
    victim.send(WRONG[victim.number % len(WRONG)])
    victim.answer_each(lambda number: WRONG[(victim.number + number + 1) % len(WRONG)])


def message_flood(victim: Victim, reply: bytes) -> None:
    """Messages of the channel without pause, as from a busy publisher; at another place a flood of arrays."""
    parts = reply.split(b"\r\n")
    channel = b"\r\n".join(parts[3:5]) if len(parts) > 5 else b"$1\r\na"
    victim.send(reply)
    victim.for_ever(b"*3\r\n$7\r\nmessage\r\n" + channel + b"\r\n$1\r\n0\r\n")


EVILS: List[Evil] = [garbage, endless_garbage, endless_line, endless_error, endless_bulk, huge_announcement, huge_array,
                     deep_array, flood, surplus, drip, half, closing, newer_protocol, wrong_types, message_flood]

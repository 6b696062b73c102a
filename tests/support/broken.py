# SPDX-License-Identifier: Apache-2.0
"""Servers that are not Redis, or that misbehave in one plain way.

ScriptedServer fakes states that a real server cannot be brought to quickly. To fake single replies of a real server,
use Proxy.answer().
"""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from types import TracebackType
from typing import Callable, Iterator, List, Mapping, Optional, Sequence, Type, TypeVar, Union

from .faults import Command
from .ports import listen_anywhere
from .resp import ErrorReply, FrameReader, ProtocolError, Value, encode_reply

Server = TypeVar("Server", bound="BrokenServer")
Replies = Union[Sequence[Value], Callable[[Command], Value]]


class BrokenServer:
    """Listens on a port of its own and serves each connection on a thread until closed."""

    def __init__(self) -> None:
        self._listener, self.port = listen_anywhere()
        self._lock = threading.Lock()
        self._connections: List[socket.socket] = []
        self._threads: List[threading.Thread] = []
        self.accepted = 0
        self._closed = False
        self._start(self._accept)

    @property
    def url(self) -> str:
        """redis:// address, although no Redis answers there."""
        return f"redis://127.0.0.1:{self.port}/0"

    def serve(self, connection: socket.socket) -> None:
        """Talk to one client; the connection is closed afterwards."""
        raise NotImplementedError

    def _start(self, function: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=function, args=arguments, name="e2e-broken-server", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if self._closed:
                    connection.close()
                    return
                self.accepted += 1
                self._connections.append(connection)
                self._start(self._serve, connection)

    def _hang_up_with(self, connection: socket.socket) -> None:
        """Register a connection that the server opened itself, so that close() ends it, too."""
        with self._lock:
            if self._closed:
                raise ConnectionAbortedError("the server is closed")
            self._connections.append(connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            self.serve(connection)
        except (OSError, ProtocolError):
            pass
        finally:
            connection.close()

    def close(self) -> None:
        """Close everything and wait for the threads."""
        with self._lock:
            self._closed = True
            for connection in [self._listener, *self._connections]:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        for thread in self._threads:
            thread.join(5.0)
        self._listener.close()

    def __enter__(self: Server) -> Server:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()


class HttpServer(BrokenServer):
    """Answers whatever it receives with 400 Bad Request, as a web server does."""

    def serve(self, connection: socket.socket) -> None:
        if connection.recv(65_536):
            page = b"<html><body>Bad Request</body></html>"
            head = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nContent-Length: %d\r\n" % len(page)
            connection.sendall(head + b"Connection: close\r\n\r\n" + page)


class SilentServer(BrokenServer):
    """Accepts, reads, and never answers."""

    def serve(self, connection: socket.socket) -> None:
        while connection.recv(65_536):
            pass


class GarbageServer(BrokenServer):
    """Answers everything that it receives with the same bytes. By default they are of no protocol."""

    def __init__(self, garbage: bytes = b"\x00\xff\r\n\x16\x03\x01 no protocol \x80\r\n") -> None:
        self._garbage = garbage
        super().__init__()

    def serve(self, connection: socket.socket) -> None:
        while connection.recv(65_536):
            connection.sendall(self._garbage)


class ScriptedServer(BrokenServer):
    """Speaks RESP and answers as scripted.

    `replies` is a function of the command, or a list: the commands of all connections take its elements in order, and
    the last one repeats. `by_word` has replies by the command's first word, and comes before `replies`. `greeting` is
    sent at once on each connection, which is then closed, as Redis does beyond maxclients. `commands` records what was
    received.
    """

    def __init__(
        self,
        replies: Replies = ("OK",),
        *,
        by_word: Optional[Mapping[str, Value]] = None,
        greeting: Optional[Value] = None,
    ) -> None:
        self._replies: Replies = replies if callable(replies) else list(replies)
        self._by_word = {word.upper(): value for word, value in (by_word or {}).items()}
        self._greeting = greeting
        self._used = 0
        self.commands: List[Command] = []
        super().__init__()

    @classmethod
    def full(cls) -> ScriptedServer:
        """A server that has reached its maxclients."""
        return cls(greeting=ErrorReply("ERR max number of clients reached"))

    def serve(self, connection: socket.socket) -> None:
        if self._greeting is not None:
            connection.sendall(encode_reply(self._greeting))
            return
        reader = FrameReader(commands=True)
        while True:
            data = connection.recv(65_536)
            if not data:
                return
            for frame in reader.feed(data):
                connection.sendall(encode_reply(self._answer(Command(frame.value, frame.raw))))

    def _answer(self, command: Command) -> Value:
        with self._lock:
            self.commands.append(command)
            if command.word in self._by_word:
                return self._by_word[command.word]
            if callable(self._replies):
                return self._replies(command)
            reply = self._replies[min(self._used, len(self._replies) - 1)]
            self._used += 1
            return reply


@contextmanager
def closed_port() -> Iterator[int]:
    """A port that refuses connections, and that nobody else can take meanwhile."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as bound:
        bound.bind(("127.0.0.1", 0))
        yield int(bound.getsockname()[1])


class SynBlackHole:
    """A port where connecting gets no answer: a listener that never accepts and whose queue is full."""

    def __init__(self) -> None:
        self._listener, self.port = listen_anywhere(backlog=0)
        self._fillers: List[socket.socket] = []
        for _ in range(16):
            filler = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            self._fillers.append(filler)
            filler.settimeout(0.05)
            try:
                filler.connect(("127.0.0.1", self.port))
            except socket.timeout:
                return
        self.close()
        raise RuntimeError("this system accepts connections beyond a full listen queue, so SYNs cannot be lost here")

    @property
    def url(self) -> str:
        """redis:// address of the black hole."""
        return f"redis://127.0.0.1:{self.port}/0"

    def close(self) -> None:
        """Close the port."""
        for connection in [*self._fillers, self._listener]:
            connection.close()

    def __enter__(self) -> SynBlackHole:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

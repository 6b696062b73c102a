# SPDX-License-Identifier: Apache-2.0
"""Reads the replication streams of servers, and says at which replication offset each lock was written.

Redis numbers the bytes of a replication stream. A server that is promoted starts a new history. INFO then has the id of
the history that it followed (master_replid2), and the first offset of it that it has not applied (second_repl_offset).
So the new master has a write exactly if the write ends below that offset. A replica applies commands and transactions
as a whole, so an offset never cuts one apart.

A reader asks for a stream by PSYNC, as a replica does, on the unix socket. Sentinels do not take it for a replica, as
it has no address. It acknowledges nothing, so WAIT does not count it. It reads a new master's stream from the offset of
the promotion on, so nothing is missed between two masters.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import redis

from .resp import FrameReader, encode_command
from .server import RedisServer
from .waiting import wait_until

_PERIOD = 0.02
# A replica that is silent for 60 s is disconnected.
_SPEAK = 1.0
_READ = 10.0
_NOTHING = "REPLCONF", "ACK", "0"


@dataclass(frozen=True)
class Promotion:
    """A server became master: its history `replid` continues `parent` behind the offset `cut`. The first has no
    parent."""

    replid: str
    parent: str
    cut: int
    port: int = 0


@dataclass(frozen=True)
class Write:
    """What a stream says of a key: its owner (empty if the command does not say it), the end of the lease in ms of the
    server's time (0 if the command does not say it), and the offset of the last byte of the command, or of its
    transaction."""

    replid: str
    offset: int
    key: str
    owner: str
    until: int = 0


@dataclass
class Streams:
    """All that was read."""

    promotions: List[Promotion]
    writes: List[Write]
    last: str  # the history of the master at the end

    def write_down(self, path: Path) -> None:
        """Write one JSON object a line."""
        lines = [json.dumps(vars(each)) for each in (*self.promotions, *self.writes)]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


class Stream:
    """Parses the bytes of one history, from an offset on."""

    def __init__(self, replid: str, offset: int) -> None:
        self.replid = replid
        self.offset = offset
        self._frames = FrameReader(commands=True)
        self._transaction: Optional[List[Tuple[str, str, int]]] = None

    def feed(self, data: bytes) -> List[Write]:
        """The writes that are complete with these bytes."""
        found: List[Write] = []
        for frame in self._frames.feed(data):
            self.offset += len(frame.raw)
            words = [bytes(word).decode("utf-8", "replace") for word in frame.value]
            command = words[0].upper()
            if command == "MULTI":
                self._transaction = []
            elif command == "EXEC":
                found += [Write(self.replid, self.offset, *each) for each in self._transaction or ()]
                self._transaction = None
            elif self._transaction is not None:
                self._transaction += _parse(command, words)
            else:
                found += [Write(self.replid, self.offset, *each) for each in _parse(command, words)]
        return found


def _parse(command: str, words: Sequence[str]) -> List[Tuple[str, str, int]]:
    """Key, owner and end of the lease, for commands that acquire and extend locks with one holder. Servers send ends of
    leases as absolute times."""
    if command in ("HSET", "HSETNX"):
        return [(words[1], words[2], 0)]
    if command == "SET":
        options = [word.upper() for word in words]
        return [(words[1], words[2], int(words[options.index("PXAT") + 1]) if "PXAT" in options else 0)]
    if command == "PEXPIREAT":
        return [(words[1], "", int(words[2]))]
    return []


@dataclass
class Received:
    """The bytes of a history behind an offset. They are parsed at the end: a slow reader would lose what a
    server has not sent yet when it is killed."""

    replid: str
    begin: int
    data: bytearray = field(default_factory=bytearray)

    @property
    def end(self) -> int:
        """The offset of the last byte."""
        return self.begin + len(self.data)


class _Reader(threading.Thread):
    """Follows one server whenever it is a master: the first one, and those that were replicas a moment ago. A server
    that has just started may also say that it is a master, until it gets a master of its own; it is not followed."""

    def __init__(self, server: RedisServer, known: Dict[str, Promotion], stopping: threading.Event) -> None:
        super().__init__(name=f"replication-{server.port}", daemon=True)
        self.received: List[Received] = []
        self.following: Optional[Received] = None
        self._server, self._known, self._stopping = server, known, stopping

    def run(self) -> None:
        client = self._server.client(unix_socket_path=self._server.unix_path)
        replica = ""  # the run of the server that was a replica last
        while not self._stopping.wait(_PERIOD):
            try:
                found: Any = client.info()
                if found["role"] != "master":
                    replica = str(found["run_id"])
                elif replica == found["run_id"] or not self._known:
                    self._follow(found)
            except (redis.RedisError, OSError):
                continue  # the server is down, or a new master that has closed all connections
            finally:
                self.following = None

    def _follow(self, found: Dict[str, Any]) -> None:
        """Reads one history until the server ends the connection, which it does when it is demoted."""
        promoted = int(found["second_repl_offset"]) > 0
        made = Promotion(
            str(found["master_replid"]),
            str(found["master_replid2"]) if promoted else "",
            int(found["second_repl_offset" if promoted else "master_repl_offset"]) - int(promoted),
            self._server.port,
        )
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_SPEAK)
            connection.connect(self._server.unix_path)
            connection.sendall(encode_command("PSYNC", made.parent or made.replid, made.cut + 1))
            answer, rest = _line(connection)
            if not answer.startswith(b"+CONTINUE"):
                raise ConnectionError(f"the server on port {self._server.port} answers {answer!r}")
            self._known[made.replid] = made
            self.following = received = Received(made.replid, made.cut)
            self.received.append(received)
            self._read(connection, received, rest)

    def _read(self, connection: socket.socket, received: Received, data: bytes) -> None:
        spoke = time.monotonic()
        while not self._stopping.is_set():
            received.data += data
            try:
                data = connection.recv(1 << 16)
                if not data:
                    return
            except socket.timeout:
                data = b""
            if time.monotonic() - spoke > _SPEAK:
                connection.sendall(encode_command(*_NOTHING))
                spoke = time.monotonic()


def _line(connection: socket.socket) -> Tuple[bytes, bytes]:
    """The first line that is received, and the bytes received behind it."""
    data = b""
    while b"\r\n" not in data:
        more = connection.recv(1 << 16)
        if not more:
            raise ConnectionError("the server closed the connection before it answered")
        data += more
    line, _, rest = data.partition(b"\r\n")
    return line, rest


class ReplicationObserver:
    """Reads the streams of all masters among some servers, from its creation until finish()."""

    def __init__(self, servers: Sequence[RedisServer]) -> None:
        self._servers = servers
        self._known: Dict[str, Promotion] = {}
        self._stopping = threading.Event()
        self._readers = [_Reader(server, self._known, self._stopping) for server in servers]
        for reader in self._readers:
            reader.start()
        wait_until(lambda: any(reader.following for reader in self._readers), 30.0)

    def has_all_of(self, master: RedisServer) -> bool:
        """Whether everything was read that a master has written so far."""
        found: Any = master.admin.info("replication")
        received = self._following(master)
        return bool(received and received.replid == str(found["master_replid"])
                    and received.end >= int(found["master_repl_offset"]))

    def _following(self, server: RedisServer) -> Optional[Received]:
        return self._readers[list(self._servers).index(server)].following

    def finish(self, master: RedisServer) -> Streams:
        """Waits until all was read that the last master has written, and returns all that was read."""
        wait_until(lambda: self.has_all_of(master), _READ)
        last = self._following(master)
        assert last is not None
        self.stop()
        writes: List[Write] = []
        for reader in self._readers:
            for received in reader.received:
                writes += Stream(received.replid, received.begin).feed(bytes(received.data))
        return Streams(list(self._known.values()), writes, last.replid)

    def stop(self) -> None:
        """Ends the reading."""
        self._stopping.set()
        for reader in self._readers:
            reader.join()

    def __enter__(self) -> ReplicationObserver:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

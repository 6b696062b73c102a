# SPDX-License-Identifier: Apache-2.0
"""Records by MONITOR what a server executes, in the server's order.

A script call comes before the calls made inside it, which have `lua` set and name their caller. MONITOR does not show
administrative commands (CONFIG, CLIENT KILL, AUTH, ...).
"""

from __future__ import annotations

import re
import socket
import threading
import time
import uuid
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Callable, Iterable, List, Optional, Type, Union

from .resp import encode_command
from .server import RedisServer

_LINE = re.compile(rb'\+(\d+)\.(\d{6}) \[(\d+) (.*?)\] (".*)', re.DOTALL)
_ARGUMENT = re.compile(rb'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
_CONTROL = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b"}
_SYNC_PREFIX = b"e2e-monitor-sync-"
_UNSHARDED = {"SSUBSCRIBE": "SUBSCRIBE", "SUNSUBSCRIBE": "UNSUBSCRIBE", "SPUBLISH": "PUBLISH"}


@dataclass(frozen=True)
class Entry:
    """One executed command. `caller` is the script call that made a `lua` command."""

    time_us: int
    database: int
    client: str
    arguments: List[bytes]
    lua: bool
    caller: Optional[Entry]

    @property
    def command(self) -> str:
        """The command's first word in upper case."""
        return self.arguments[0].decode("utf-8", "replace").upper()


class Entries(List[Entry]):
    """Recorded commands in the server's order; the filters return the same kind of list."""

    def top_level(self) -> Entries:
        """Only what clients sent, without the calls made inside scripts."""
        return Entries(entry for entry in self if not entry.lua)

    def by_client(self, address: Union[str, int]) -> Entries:
        """Only what came from one client, named as "host:port" or by its port; its scripts' calls count as its own."""
        wanted = f"127.0.0.1:{address}" if isinstance(address, int) else address
        return Entries(entry for entry in self if (entry.caller or entry).client == wanted)

    def by_command(self, *commands: str) -> Entries:
        """Only these commands, named by their first word."""
        wanted = {command.upper() for command in commands}
        return Entries(entry for entry in self if entry.command in wanted)

    def about(self, name: str) -> Entries:
        """Only those with an argument that contains a name."""
        return Entries(entry for entry in self if any(name.encode() in argument for argument in entry.arguments))

    def commands(self) -> List[str]:
        """The first words, in order."""
        return [entry.command for entry in self]

    def verbs(self) -> List[str]:
        """The first words, in order. Commands of sharded channels count as the others: SPUBLISH as PUBLISH."""
        return [_UNSHARDED.get(entry.command, entry.command) for entry in self]


class Monitor:
    """Records what `server` executes from the moment the constructor returns until close()."""

    def __init__(self, server: RedisServer) -> None:
        self._echo = server.client(unix_socket_path=server.unix_path, client_name="e2e-monitor")
        self._echo.ping()
        self._changed = threading.Condition()
        self._entries: List[Entry] = []
        self._ended = False
        self._script: Optional[Entry] = None
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(5.0)
        self._socket.connect(server.unix_path)
        words = [["AUTH", server.password]] if server.password else []
        self._lines = self._socket.makefile("rb")
        for command in [*words, ["MONITOR"]]:
            self._socket.sendall(encode_command(*command))
            answer = self._lines.readline()
            if answer != b"+OK\r\n":
                raise RuntimeError(f"the server answered {answer!r} to {command[0]}")
        self._socket.settimeout(None)
        self._thread = threading.Thread(target=self._record, name="e2e-monitor", daemon=True)
        self._thread.start()

    def _record(self) -> None:
        try:
            for line in self._lines:
                found = _LINE.match(line)
                if found is not None:
                    self._append(found)
        except OSError:
            pass
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _append(self, found: re.Match[bytes]) -> None:
        seconds, microseconds, database, client, rest = found.groups()
        lua = client == b"lua"
        entry = Entry(
            time_us=int(seconds) * 1_000_000 + int(microseconds),
            database=int(database),
            client=client.decode("utf-8", "replace"),
            arguments=[_unescape(argument) for argument in _ARGUMENT.findall(rest)],
            lua=lua,
            caller=self._script if lua else None,
        )
        if not lua:
            self._script = entry
        with self._changed:
            self._entries.append(entry)
            self._changed.notify_all()

    def sync(self, timeout: float = 5.0) -> None:
        """Return when everything that was sent to the server before this call has been recorded.

        The second echo covers commands whose reply nobody waited for: the server reads them from their sockets at the
        latest in the round of its event loop in which it answers the first echo.
        """
        for _ in range(2):
            text = _SYNC_PREFIX + uuid.uuid4().hex.encode()
            start = len(self._entries)
            self._echo.echo(text)
            self._await(partial(self._has_echo, text, start), timeout, "the echo of sync()")

    def _has_echo(self, text: bytes, start: int) -> bool:
        return any(text in entry.arguments for entry in self._entries[start:])

    def mark(self) -> int:
        """A point in the record, after everything sent so far."""
        self.sync()
        return len(self._entries)

    def since(self, mark: int = 0) -> Entries:
        """Everything recorded after `mark` (0: from the beginning), up to everything sent before this call."""
        self.sync()
        return _visible(self._entries[mark:])

    def top_level(self, mark: int = 0) -> Entries:
        """since(mark) without the calls made inside scripts."""
        return self.since(mark).top_level()

    def wait_for(self, predicate: Callable[[Entry], bool], mark: int = 0, timeout: float = 5.0) -> Entry:
        """Wait for the first command after `mark` for which `predicate` is true, and return it."""

        def first() -> Optional[Entry]:
            return next((entry for entry in _visible(self._entries[mark:]) if predicate(entry)), None)

        self._await(lambda: first() is not None, timeout, "a certain command")
        entry = first()
        assert entry is not None
        return entry

    def _await(self, condition: Callable[[], bool], timeout: float, what: str) -> None:
        deadline = time.monotonic() + timeout
        with self._changed:
            while not condition():
                remaining = deadline - time.monotonic()
                if self._ended:
                    raise AssertionError(f"the monitored connection ended while waiting for {what}")
                if remaining <= 0:
                    last = [entry.arguments for entry in _visible(self._entries[-10:])]
                    raise AssertionError(f"waited {timeout} s in vain for {what}; last commands seen: {last}")
                self._changed.wait(remaining)

    def close(self) -> None:
        """Stop recording."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._thread.join()
        self._lines.close()
        self._socket.close()
        self._echo.close()

    def __enter__(self) -> Monitor:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()


def _visible(entries: Iterable[Entry]) -> Entries:
    return Entries(entry for entry in entries if not entry.arguments[-1].startswith(_SYNC_PREFIX))


def _unescape(text: bytes) -> bytes:
    def byte(found: re.Match[bytes]) -> bytes:
        code = found.group(1)
        return bytes.fromhex(code[1:].decode()) if len(code) == 3 else _CONTROL.get(code, code)

    return _ESCAPE.sub(byte, text)

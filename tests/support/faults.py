# SPDX-License-Identifier: Apache-2.0
"""Faults as tests place them: which command a fault strikes, and what became of that command.

What each fault does to a connection is in fault_kinds.py; Proxy has one method to place each.
"""

from __future__ import annotations

import hashlib
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Callable, List, Optional, Union

from .resp import ErrorReply, Value

if TYPE_CHECKING:
    from .link import Link
    from .proxy import Connection, Proxy


@dataclass(frozen=True)
class Command:
    """One command as the client sent it; `raw` are its bytes on the wire."""

    arguments: List[bytes]
    raw: bytes

    @property
    def word(self) -> str:
        """The first word in upper case; empty for an empty line."""
        return self.arguments[0].decode("utf-8", "replace").upper() if self.arguments else ""

    def __str__(self) -> str:
        return " ".join(argument.decode("utf-8", "backslashreplace") for argument in self.arguments)


Predicate = Callable[[Command], bool]
Match = Union[None, str, bytes, Predicate]
ReplyPredicate = Callable[[Value], bool]


class Script:
    """Matches the calls of one server-side script, sent as EVALSHA or as EVAL."""

    def __init__(self, name: str, text: Union[str, bytes], sha1: Optional[str] = None) -> None:
        self.name = name
        self.text = text.encode() if isinstance(text, str) else text
        self.sha1 = (sha1 or hashlib.sha1(self.text).hexdigest()).lower()

    def __call__(self, command: Command) -> bool:
        if len(command.arguments) < 2:
            return False
        if command.word in ("EVALSHA", "EVALSHA_RO"):
            return command.arguments[1].lower() == self.sha1.encode()
        return command.word in ("EVAL", "EVAL_RO") and command.arguments[1] == self.text

    def __repr__(self) -> str:
        return f"script {self.name}"


def containing(part: Union[str, bytes], word: Optional[str] = None) -> Predicate:
    """Matches commands with these bytes in any argument; with `word`, only commands of that first word."""
    wanted = part.encode() if isinstance(part, str) else part

    def matches(command: Command) -> bool:
        if word is not None and command.word != word.upper():
            return False
        return any(wanted in argument for argument in command.arguments)

    return matches


def as_predicate(match: Match) -> Predicate:
    """None matches every command, str the leading words ("EVALSHA", "CLIENT KILL"), bytes any part of an argument."""
    if match is None:
        return lambda command: True
    if isinstance(match, bytes):
        return containing(match)
    if isinstance(match, str):
        words = [word.encode() for word in match.upper().split()]
        return lambda command: [argument.upper() for argument in command.arguments[: len(words)]] == words
    return match


def executed(reply: Value) -> bool:
    """False for NOSCRIPT: the server ran nothing, and the client is to send the script's text."""
    return not (isinstance(reply, ErrorReply) and reply.word == "NOSCRIPT")


@dataclass(frozen=True)
class Outcome:
    """What the server did with a command: `reply` with its value, or `eof` when the connection ended without one."""

    kind: str
    value: Value = None


class Hit:
    """One stroke of a fault. `command` is None where a condition met bytes from the server."""

    def __init__(
        self, fault: Fault, connection: Connection, command: Optional[Command], outcome: Optional[Outcome]
    ) -> None:
        self.fault = fault
        self.connection = connection
        self.command = command
        self.time = time.monotonic()
        self.outcome = outcome

    def quiesce(self, outcome: Outcome) -> None:
        """Record what the server did with the command. Called on the proxy's thread."""
        self.fault.quiesce(self, outcome)

    def __repr__(self) -> str:
        return f"<hit of {self.fault.kind}: {str(self.command)[:100]}, {self.outcome}>"


@dataclass
class Target:
    """Which commands a fault strikes: of those that match, on one connection or on all, `times` from the nth on."""

    match: Match = None
    nth: int = 1
    times: Optional[int] = 1
    connection: Optional[Connection] = None
    predicate: Predicate = field(init=False)

    def __post_init__(self) -> None:
        if self.nth < 1:
            raise ValueError(f"nth is {self.nth}; expected 1 or more")
        if self.times is not None and self.times < 1:
            raise ValueError(f"times is {self.times}; expected 1 or more, or None for every match")
        self.predicate = as_predicate(self.match)

    def concerns(self, connection: Connection) -> bool:
        """Whether the fault may strike on this connection."""
        return self.connection is None or self.connection is connection


class Fault:
    """A fault placed at a proxy. It is hit each time it strikes; release() ends it, and what it keeps flows on."""

    kind = "fault"

    def __init__(self, proxy: Proxy, target: Target) -> None:
        self._proxy = proxy
        self.target = target
        self.released = False
        self.hits: List[Hit] = []
        self._matches = 0
        self._changed = threading.Condition()

    # ------------------------------------------------------------------------------------------- the test's side --

    @property
    def hit(self) -> bool:
        """Whether it has struck."""
        return bool(self.hits)

    @property
    def outcome(self) -> Optional[Outcome]:
        """What the server did with the command that was struck first, as far as known yet."""
        return self.hits[0].outcome if self.hits else None

    def wait_hit(self, timeout: float = 5.0, count: int = 1) -> Hit:
        """Wait until it has struck `count` times, and return the last of these hits."""
        with self._changed:
            self._changed.wait_for(lambda: len(self.hits) >= count, timeout)
        if len(self.hits) < count:
            raise AssertionError(
                f"the fault {self!r} struck {len(self.hits)} of {count} times in {timeout} s;"
                f" last commands at the proxy: {self._proxy.last_words()}"
            )
        return self.hits[count - 1]

    def wait_outcome(self, timeout: float = 5.0) -> Outcome:
        """Wait until it is known what the server did with the command that was struck first."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.outcome is not None, timeout):
                raise AssertionError(f"no outcome of {self!r} in {timeout} s; hits: {self.hits}")
            outcome = self.outcome
            assert outcome is not None
            return outcome

    def release(self) -> None:
        """End the fault; returns when what it kept back has been passed on. Releasing twice does nothing."""
        self._proxy.run(self.release_now)

    def let_arrive(self) -> None:
        """Release it; returns when the server has answered what was struck first."""
        self.release()
        outcome = self.wait_outcome()
        assert outcome.kind == "reply", f"{self!r}: {outcome}"

    def __repr__(self) -> str:
        match = self.target.match
        name = getattr(match, "__qualname__", None) or repr(match)
        return f"<{self.kind} at {name}>"

    # ------------------------------------------------------------------------------------------ the proxy's side --

    def release_now(self) -> None:
        """release(), for the proxy's thread."""
        if not self.released:
            self.released = True
            self.let_go()

    def let_go(self) -> None:
        """Pass on what this fault keeps; most keep nothing."""

    def due(self, link: Link, command: Command) -> bool:
        """Count a command if it matches; return whether to strike it."""
        target = self.target
        if self.released or not target.concerns(link.connection) or not target.predicate(command):
            return False
        self._matches += 1
        return self._matches >= target.nth and (target.times is None or len(self.hits) < target.times)

    def note(self, link: Link, command: Optional[Command], outcome: Optional[Outcome] = None) -> Hit:
        """Record a hit, and wake those that wait for it."""
        made = Hit(self, link.connection, command, outcome)
        with self._changed:
            self.hits.append(made)
            self._changed.notify_all()
        return made

    def quiesce(self, hit: Hit, outcome: Outcome) -> None:
        """Record what the server did with a struck command. Later outcomes are ignored."""
        with self._changed:
            if hit.outcome is None:
                hit.outcome = outcome
            self._changed.notify_all()

# SPDX-License-Identifier: Apache-2.0
"""The backends of the worker in Python: redlatch, Redisson, or a lock that lies.

A backend makes takers, one for each turn, by the turn's shape. A taker makes one acquire and its release.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Dict, List, Protocol, Sequence, Tuple


@dataclass
class Turn:
    """A line of the plan. Times are in ms, `hold` and `gap` in microseconds."""

    id: str
    kind: str
    shape: str
    word: str
    options: Dict[str, int]
    name: str
    wait: int
    lease: int
    hold: int
    gap: int
    levels: int
    # The kinds of members of multi locks that are no mutexes: the word, and whether they are reentrant.
    members: Dict[str, Tuple[str, bool]]


def members_of(turn: Turn) -> List[Tuple[str, int]]:
    """Returns the names that a turn's name consists of, and the numbers of their servers: "one+other@2"."""
    members = [member.partition("@") for member in turn.name.split("+")]
    return [(name, int(server or 0)) for name, _, server in members]


def group_of(turn: Turn) -> Tuple[str, List[str]]:
    """Returns the group and its values that a turn's name consists of: "group/a+group/b"."""
    members = [member.split("/") for member in turn.name.split("+")]
    return members[0][0], [value for _, value in members]


class Refused(Exception):
    """An acquire that failed. It may have succeeded on the server."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Taker(Protocol):
    """One acquire."""

    n: int  # permits; 1 for a lock

    def take(self, requested: int) -> None:
        """Acquires, or raises Refused. `requested` is a moment before the call."""

    def facts(self) -> Dict[str, Any]:
        """Returns what identifies the grant: token, owner, permits."""

    def safe(self, now: int) -> int:
        """Returns for how many nanoseconds from `now`, a moment just passed, the holder is sure of the hold."""

    def again(self) -> bool:
        """Acquires one more level. Returns False if the hold was found lost."""

    def leave_inner(self) -> None:
        """Releases all levels but one."""

    def give(self) -> str:
        """Releases. Returns "ok", or a status."""


class Latch(Protocol):
    """A count-down latch. Its waits are made by a taker. Calls raise Refused if they fail."""

    def try_set_count(self, count: int) -> bool:
        """Closes the latch. Returns False if it is closed already."""

    def count_down(self) -> None:
        """Counts down by one."""


class Once:
    """A taker of something that cannot be re-entered."""

    def again(self) -> bool:
        """Does nothing, since there are no further levels."""
        return True

    def leave_inner(self) -> None:
        """Does nothing."""


class Backend(Protocol):
    """A client."""

    def taker(self, turn: Turn) -> Taker:
        """Returns the taker for a turn."""

    def latch(self, turn: Turn) -> Latch:
        """Returns the latch of a turn."""

    def remains(self) -> Dict[str, int]:
        """Returns how many holds and waits its clients have after all work: held, waiters."""

    def close(self) -> None:
        """Closes the clients."""


class Liar:
    """A backend whose acquires all succeed at once."""

    def __init__(self, lease_ms: int) -> None:
        self._lease = lease_ms * 1_000_000

    def taker(self, turn: Turn) -> Taker:
        """As in Backend."""
        return LyingTaker(turn, self._lease)

    def latch(self, turn: Turn) -> Latch:
        """As in Backend."""
        return LyingLatch()

    def remains(self) -> Dict[str, int]:
        """There is nothing to report."""
        return {}

    def close(self) -> None:
        """There is nothing to close."""


class LyingLatch:
    """A latch whose calls all succeed."""

    def try_set_count(self, count: int) -> bool:
        """Claims to have closed the latch."""
        return True

    def count_down(self) -> None:
        """Claims to have counted down."""


class LyingTaker:
    """A taker whose acquires all succeed."""

    _token = 1_000_000_000

    def __init__(self, turn: Turn, lease: int) -> None:
        self.n = 1 if turn.shape in ("lock", "latch") else turn.levels
        self._lease = turn.lease * 1_000_000 if turn.lease > 0 else lease

    def take(self, requested: int) -> None:
        """Claims to be granted."""
        self._until = requested + self._lease

    def facts(self) -> Dict[str, Any]:
        """Returns tokens that do not rise, and ids that are not unique."""
        return {"token": self._token, "owner": "liar", "ids": ["liar"] * self.n}

    def safe(self, now: int) -> int:
        """Returns the time until the lease would end."""
        return max(0, self._until - now)

    def again(self) -> bool:
        """Claims to be granted."""
        return True

    def leave_inner(self) -> None:
        """There is nothing to release."""

    def give(self) -> str:
        """There is nothing to release."""
        time.sleep(0)
        return "ok"


def open_backend(language: str, urls: Sequence[str], lease_ms: int, command_timeout_ms: int) -> Backend:
    """Returns a backend of a language, with a client for each server."""
    if language == "liar":
        return Liar(lease_ms)
    if language == "java":
        from . import theirs

        return theirs.Theirs(urls, lease_ms, command_timeout_ms)
    import redlatch

    from . import ours

    if language == "python":
        return ours.Ours(redlatch, urls, lease_ms, command_timeout_ms)
    from support.tasks import Tasks

    return ours.Ours(Tasks(language), urls, lease_ms, command_timeout_ms)

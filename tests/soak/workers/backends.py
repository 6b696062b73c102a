# SPDX-License-Identifier: Apache-2.0
"""What the worker in Python takes: by redlatch, by Redisson, or by a lock that lies.

A backend makes takers, one for each turn, by the turn's shape; a taker takes one thing, and gives it back.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Dict, List, Protocol, Sequence, Tuple


@dataclass
class Turn:
    """A line of the plan; times in ms, `hold` and `gap` in microseconds."""

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
    # What members of multi locks are, if they are no mutexes: words, and whether they re-enter.
    members: Dict[str, Tuple[str, bool]]


def members_of(turn: Turn) -> List[Tuple[str, int]]:
    """The names that a turn's name stands for, and the numbers of their servers: "one+other@2"."""
    members = [member.partition("@") for member in turn.name.split("+")]
    return [(name, int(server or 0)) for name, _, server in members]


def group_of(turn: Turn) -> Tuple[str, List[str]]:
    """The group and its values that a turn's name stands for: "group/a+group/b"."""
    members = [member.split("/") for member in turn.name.split("+")]
    return members[0][0], [value for _, value in members]


class Refused(Exception):
    """An acquire that failed, whatever its outcome may be on the server."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Taker(Protocol):
    """One acquire."""

    n: int  # permits; 1 of a lock

    def take(self, requested: int) -> None:
        """Acquires, or raises Refused; `requested` is a moment before."""

    def facts(self) -> Dict[str, Any]:
        """What the grant is known by: token, owner, permits."""

    def safe(self, now: int) -> int:
        """For how many nanoseconds from `now`, a moment just passed, the holder is sure of it."""

    def again(self) -> bool:
        """Takes one level more; False if the hold was found lost."""

    def leave_inner(self) -> None:
        """Gives back all levels but one."""

    def give(self) -> str:
        """Gives it back; "ok", or a status."""


class Latch(Protocol):
    """A count-down latch; its waits are a taker's. Calls raise Refused when they fail."""

    def try_set_count(self, count: int) -> bool:
        """Closes it; False if it is closed."""

    def count_down(self) -> None:
        """By one."""


class Once:
    """A taker of what has no levels."""

    def again(self) -> bool:
        """There is no going in again."""
        return True

    def leave_inner(self) -> None:
        """So there is nothing to leave."""


class Backend(Protocol):
    """A client."""

    def taker(self, turn: Turn) -> Taker:
        """What will take for a turn."""

    def latch(self, turn: Turn) -> Latch:
        """The latch of a turn."""

    def remains(self) -> Dict[str, int]:
        """Holds and waits that its clients still have after all work: held, waiters."""

    def close(self) -> None:
        """Ends the clients."""


class Liar:
    """A lock that is always granted, at once."""

    def __init__(self, lease_ms: int) -> None:
        self._lease = lease_ms * 1_000_000

    def taker(self, turn: Turn) -> Taker:
        """As Backend says."""
        return LyingTaker(turn, self._lease)

    def latch(self, turn: Turn) -> Latch:
        """As Backend says."""
        return LyingLatch()

    def remains(self) -> Dict[str, int]:
        """Nothing is held."""
        return {}

    def close(self) -> None:
        """There is nothing to end."""


class LyingLatch:
    """Says yes."""

    def try_set_count(self, count: int) -> bool:
        """It was open, and is closed now."""
        return True

    def count_down(self) -> None:
        """Done."""


class LyingTaker:
    """Says yes."""

    _token = 1_000_000_000

    def __init__(self, turn: Turn, lease: int) -> None:
        self.n = 1 if turn.shape in ("lock", "latch") else turn.levels
        self._lease = turn.lease * 1_000_000 if turn.lease > 0 else lease

    def take(self, requested: int) -> None:
        """Granted."""
        self._until = requested + self._lease

    def facts(self) -> Dict[str, Any]:
        """Tokens that do not rise, ids that are no names."""
        return {"token": self._token, "owner": "liar", "ids": ["liar"] * self.n}

    def safe(self, now: int) -> int:
        """The whole lease."""
        return max(0, self._until - now)

    def again(self) -> bool:
        """Granted, too."""
        return True

    def leave_inner(self) -> None:
        """Nothing was taken."""

    def give(self) -> str:
        """Nothing is given back."""
        time.sleep(0)
        return "ok"


def open_backend(language: str, urls: Sequence[str], lease_ms: int, command_timeout_ms: int) -> Backend:
    """Clients of a language, one for each server."""
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

# SPDX-License-Identifier: Apache-2.0
"""Takers that use redlatch in Python: in threads, or in tasks of an event loop, one for each thread."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Optional, Sequence

import redlatch

from .backends import Latch, Once, Refused, Taker, Turn, group_of, members_of

# More nanoseconds than any run lasts.
ENDLESS = 1_000_000_000_000_000

# Seconds within which commands in progress end.
_RESOLVED = 4.0

# redlatch, or an object that makes its calls in tasks.
_library: Any = redlatch

# A client for each server.
Clients = Sequence[redlatch.Client]


class Ours:
    """Clients of redlatch."""

    def __init__(self, library: Any, urls: Sequence[str], lease_ms: int, command_timeout_ms: int) -> None:
        global _library
        _library = library
        # A server may be down when a process is started in place of a killed one, so clients are lazy.
        seconds = command_timeout_ms / 1000
        lease = lease_ms / 1000
        self._clients = [
            library.connect(url, watchdog_lease=lease, fair_timeout=lease, command_timeout=seconds, lazy=True)
            for url in urls
        ]

    def taker(self, turn: Turn) -> Taker:
        """As in Backend."""
        return SHAPES[turn.shape](self._clients, turn)

    def latch(self, turn: Turn) -> Latch:
        """As in Backend."""
        return LatchTaker(self._clients, turn)

    def remains(self) -> Dict[str, int]:
        """As in Backend. Waits until commands in progress have ended."""
        deadline = time.monotonic() + _RESOLVED
        while True:
            stats = [client.stats() for client in self._clients]
            remains = {gauge: sum(each[gauge] for each in stats) for gauge in ("held", "waiters")}
            if not any(remains.values()) or time.monotonic() > deadline:
                return remains
            time.sleep(0.05)

    def close(self) -> None:
        """Closes the clients, which have no holds."""
        for client in self._clients:
            client.close()


class LockTaker:
    """A lock of any kind."""

    def __init__(self, clients: Clients, turn: Turn) -> None:
        self.n = 1
        self._turn = turn
        self._inner = 0
        self._hold: Optional[redlatch.Hold] = None
        self._lock = self._make(clients, turn)

    @staticmethod
    def _make(clients: Clients, turn: Turn) -> redlatch.Lock:
        options = {option: bool(value) for option, value in turn.options.items()}
        return lock_of(clients[0], turn.word, turn.name, **options)

    def take(self, requested: int) -> None:
        """As in Taker."""
        lease = self._turn.lease / 1000 if self._turn.lease > 0 else -1
        refuse(lambda: self._lock.acquire(timeout=seconds(self._turn.wait), lease=lease))
        self._hold = self._lock.held()

    def facts(self) -> Dict[str, Any]:
        """As in Taker."""
        assert self._hold is not None
        return {"token": self._hold.token or 0, "owner": self._hold.owner}

    def safe(self, now: int) -> int:
        """As in Taker."""
        assert self._hold is not None
        return int(self._hold.remaining() * 1e9)

    def again(self) -> bool:
        """As in Taker."""
        try:
            self._lock.acquire(blocking=False, lease=self._turn.lease / 1000 if self._turn.lease > 0 else -1)
        except redlatch.LockLostError:
            return False
        except redlatch.RedlatchError:
            return True  # refused, or unknown: there is no further level
        self._inner += 1
        return True

    def leave_inner(self) -> None:
        """As in Taker."""
        for _ in range(self._inner):
            outcome(self._lock.release)

    def give(self) -> str:
        """As in Taker."""
        return outcome(self._lock.release)


class MultiTaker(LockTaker):
    """Several locks at once, every other time in the opposite order."""

    @staticmethod
    def _make(clients: Clients, turn: Turn) -> redlatch.Lock:
        members = members_of(turn)[:: -1 if turn.gap % 2 else 1]
        locks: List[redlatch.Lock] = []
        for name, server in members:
            word, reentrant = turn.members.get(name, ("lock", True))
            locks.append(lock_of(clients[server], word, name, **({} if reentrant else {"reentrant": False})))
        lock: redlatch.Lock = _library.multi_lock(*locks)
        return lock


class RedLockTaker(LockTaker):
    """A RedLock on all servers."""

    @staticmethod
    def _make(clients: Clients, turn: Turn) -> redlatch.Lock:
        lock: redlatch.Lock = _library.redlock(*(client.lock(turn.name) for client in clients))
        return lock


class GroupTaker(LockTaker):
    """Values of a group lock."""

    @staticmethod
    def _make(clients: Clients, turn: Turn) -> redlatch.Lock:
        group, values = group_of(turn)
        lock: redlatch.Lock = clients[0].group_lock(group, values)
        return lock


class SemaphoreTaker(Once):
    """Permits that nobody owns."""

    def __init__(self, clients: Clients, turn: Turn) -> None:
        self.n = turn.levels
        self._turn = turn
        self._semaphore = getattr(clients[0], turn.word)(turn.name)
        self._permits: List[redlatch.Permit] = []
        # The first turn creates the semaphore. If its call fails, another turn does it.
        outcome(lambda: self._semaphore.try_set_permits(turn.options["permits"]))

    def take(self, requested: int) -> None:
        """As in Taker."""
        refuse(lambda: self._semaphore.acquire(self.n, timeout=seconds(self._turn.wait)))

    def facts(self) -> Dict[str, Any]:
        """As in Taker."""
        return {}

    def safe(self, now: int) -> int:
        """As in Taker. Only a release ends the hold."""
        return ENDLESS

    def give(self) -> str:
        """As in Taker."""
        return outcome(lambda: self._semaphore.release(self.n))


class PermitTaker(SemaphoreTaker):
    """Permits with ids."""

    def take(self, requested: int) -> None:
        """As in Taker."""
        wait, lease = seconds(self._turn.wait), seconds(self._turn.lease)
        self._permits = refuse(lambda: self._semaphore.acquire_many(self.n, timeout=wait, lease=lease) or False)

    def facts(self) -> Dict[str, Any]:
        """As in Taker."""
        return {"ids": [permit.id for permit in self._permits]}

    def safe(self, now: int) -> int:
        """As in Taker."""
        return int(min(permit.remaining() for permit in self._permits) * 1e9)

    def give(self) -> str:
        """As in Taker."""
        outcomes = [outcome(permit.release) for permit in self._permits]
        return next((each for each in outcomes if each != "ok"), "ok")


class LatchTaker(Once):
    """A wait for a latch, and the other calls on it."""

    def __init__(self, clients: Clients, turn: Turn) -> None:
        self.n = 1
        self._turn = turn
        self._latch: redlatch.Latch = clients[0].latch(turn.name)

    def try_set_count(self, count: int) -> bool:
        """As in Latch."""
        return bool(call(lambda: self._latch.try_set_count(count)))

    def count_down(self) -> None:
        """As in Latch."""
        call(self._latch.count_down)

    def take(self, requested: int) -> None:
        """As in Taker."""
        refuse(lambda: self._latch.wait(seconds(self._turn.wait)))

    def facts(self) -> Dict[str, Any]:
        """As in Taker."""
        return {}

    def safe(self, now: int) -> int:
        """As in Taker. A wait that was let through is no hold."""
        return 0

    def give(self) -> str:
        """As in Taker."""
        return "ok"


def lock_of(client: redlatch.Client, word: str, name: str, **options: bool) -> redlatch.Lock:
    """Returns a lock made by a method of a client. If `word` has a dot, returns the attribute behind it."""
    maker, _, side = word.partition(".")
    made = getattr(client, maker)(name, **options)
    lock: redlatch.Lock = getattr(made, side) if side else made
    return lock


def seconds(milliseconds: int) -> Optional[float]:
    """Converts milliseconds of a plan to seconds. Returns None for -1."""
    return None if milliseconds < 0 else milliseconds / 1000


def call(made: Callable[[], Any]) -> Any:
    """Returns what a call returns. Raises Refused if it fails."""
    try:
        return made()
    except redlatch.RedlatchError as error:
        time.sleep(0.02)  # an immediate retry would fail, too
        raise Refused(error.status_name) from error


def refuse(made: Callable[[], Any]) -> Any:
    """As call(). Raises Refused also if the call returns False."""
    value = call(made)
    if value is False:
        raise Refused("timeout")
    return value


def outcome(made: Callable[[], object]) -> str:
    """Returns how a call ended."""
    try:
        made()
    except redlatch.RedlatchError as error:
        return error.status_name
    return "ok"


SHAPES: Dict[str, Callable[[Clients, Turn], Taker]] = {
    "lock": LockTaker,
    "multi": MultiTaker,
    "redlock": RedLockTaker,
    "group": GroupTaker,
    "semaphore": SemaphoreTaker,
    "permits": PermitTaker,
    "latch": LatchTaker,
}

# SPDX-License-Identifier: Apache-2.0
"""Takers that use the real Redisson, in a Java process of its own (tests/interop/redisson).

Redisson does not tell its holders for how long their holds are safe. But a lease begins on the server after it was
requested. So a holder counts as sure from its grant until one lease after its request.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from support.peers import PeerError
from support.redisson import Redisson, RedissonClient, RedissonObject, ms

from .backends import Latch, Once, Refused, Taker, Turn, group_of, members_of
from .sweeper import Sweeper

_TIMEOUT = 60.0
_UNLOCKS = 20
# More nanoseconds than any run lasts.
ENDLESS = 1_000_000_000_000_000
_NOT_HELD = "IllegalMonitorStateException"


class Theirs:
    """Redisson clients, one for each server. Each worker has a Java thread, and takes a new one after an error: a
    command of the old thread may still be on its way, or its position may be left in a queue, and in Redisson both
    belong to the thread."""

    def __init__(self, urls: Sequence[str], lease_ms: int, command_timeout_ms: int) -> None:
        self.lease_ms = lease_ms
        self._java = Redisson()
        self._own = threading.local()
        self.sweeper = Sweeper(urls[0])
        options = {
            "lockWatchdogTimeout": lease_ms,
            "fairLockWaitTimeout": lease_ms,
            "timeout": command_timeout_ms,
            "retryAttempts": 2,
            "retryDelay": 100,
        }
        self.clients = [self._connect(url, options) for url in urls]
        self.client = self.clients[0]

    def _connect(self, url: str, options: Dict[str, int]) -> RedissonClient:
        while True:
            try:
                return self._java.connect(url, **options)
            except PeerError:
                time.sleep(0.1)  # the server may be down at the moment

    @property
    def thread(self) -> int:
        """Returns the Java thread of this worker."""
        if not hasattr(self._own, "number"):
            self.leave_thread()
        return int(self._own.number)

    def leave_thread(self) -> None:
        """Takes a new Java thread."""
        self._own.number = self._java.thread()
        self._own.owner = self.client.owner(self._own.number)  # on the first server

    @property
    def owner(self) -> str:
        """Returns the field under which that thread holds locks."""
        return str(self._own.owner)

    def taker(self, turn: Turn) -> Taker:
        """As in Backend."""
        return SHAPES[turn.shape](self, turn)

    def latch(self, turn: Turn) -> Latch:
        """As in Backend."""
        return LatchTaker(self, turn)

    def make(self, on: RedissonObject, call: str, *arguments: Any) -> Any:
        """Makes a call in this worker's thread. Raises Refused if it fails."""
        try:
            return on.start(self.thread, call, *arguments).result(_TIMEOUT)
        except PeerError as error:
            self.leave_thread()
            raise Refused(error.kind) from error

    def remains(self) -> Dict[str, int]:
        """As in Backend. Redisson does not tell."""
        return {}

    def close(self) -> None:
        """Ends the Java process."""
        self.sweeper.stop()
        for client in self.clients:
            client.close()
        self._java.close()


class LockTaker:
    """An RLock of any kind."""

    def __init__(self, backend: Theirs, turn: Turn) -> None:
        self.n = 1
        self._backend = backend
        self._turn = turn
        self._thread = backend.thread
        self._owner = backend.owner
        self._inner = 0
        self._unsure = False  # about the number of levels
        self._until = 0
        self._token = 0
        self._lock = self._make(backend, turn)

    def _make(self, backend: Theirs, turn: Turn) -> RedissonObject:
        """Returns the lock. An object that was given a lease uses the last one also for later calls without a lease, in
        any thread (W-6). So there is a second object for calls with a lease."""
        return backend.client.object(turn.word.replace("_", " "), name=turn.name, handle=1 + (turn.lease > 0))

    def take(self, requested: int) -> None:
        """As in Taker."""
        turn = self._turn
        lease = turn.lease if turn.lease > 0 else self._backend.lease_ms
        self._until = requested + lease * 1_000_000
        call, arguments = self._call(turn)
        waiting = self._backend.sweeper.waiting
        waiting[self._owner] = turn.name
        try:
            answer = self.make(call, *arguments)
        finally:
            del waiting[self._owner]
        if answer is False or (answer is None and call.startswith("try")):
            raise Refused("timeout")
        if self._turn.word == "fenced":
            self._token = int(answer)

    @staticmethod
    def _call(turn: Turn) -> Tuple[str, List[Any]]:
        """Returns Java's method and its arguments."""
        suffix = "AndGetToken" if turn.word == "fenced" else ""
        leased = [ms(turn.lease)] if turn.lease > 0 else []
        if turn.wait < 0:
            return f"lock{suffix}", leased
        if leased or turn.wait:
            return f"tryLock{suffix}", [ms(turn.wait), *leased]
        return f"tryLock{suffix}", []

    def facts(self) -> Dict[str, Any]:
        """As in Taker."""
        return {"token": self._token, "owner": self._owner}

    def safe(self, now: int) -> int:
        """As in Taker."""
        return max(0, self._until - now)

    def again(self) -> bool:
        """As in Taker."""
        try:
            leased = [0, ms(self._turn.lease)] if self._turn.lease > 0 else []
            self._inner += bool(self.make("tryLock", *leased))
        except Refused:
            self._unsure = True
        return True

    def leave_inner(self) -> None:
        """As in Taker."""
        for _ in range(self._inner):
            try:
                self.make("unlock")
            except Refused:
                self._unsure = True

    def give(self) -> str:
        """As in Taker."""
        try:
            self.make("unlock")
        except Refused as refused:
            if refused.why != _NOT_HELD:
                self.let_go(self._lock)
            return "not_owned" if refused.why == _NOT_HELD else refused.why
        if self._unsure:
            self.let_go(self._lock)
        return "ok"

    def let_go(self, lock: RedissonObject) -> None:
        """Releases after a failed call what the thread may still hold. Redisson would renew that for as long as its
        process lives, so that nobody else would ever get it."""
        for _ in range(_UNLOCKS):
            try:
                self.make("unlock", on=lock)
            except Refused as refused:
                if refused.why == _NOT_HELD:
                    return
                time.sleep(0.2)

    def make(self, call: str, *arguments: Any, on: Optional[RedissonObject] = None) -> Any:
        """Makes a call in the thread. Raises Refused if it fails."""
        try:
            return (on or self._lock).start(self._thread, call, *arguments).result(_TIMEOUT)
        except PeerError as error:
            self._backend.leave_thread()
            raise Refused(error.kind) from error


class MultiTaker(LockTaker):
    """A RedissonMultiLock. It is acquired without a lease. With a lease, the members would have another lease until all
    are acquired, and then it would set the lease of members that others hold by then, too (W-15)."""

    def __init__(self, backend: Theirs, turn: Turn) -> None:
        self._members = [
            backend.clients[server].object(turn.members.get(name, ("lock", True))[0].replace("_", " "), name=name)
            for name, server in self._places(backend, turn)
        ]
        super().__init__(backend, replace(turn, lease=-1))

    @staticmethod
    def _places(_backend: Theirs, turn: Turn) -> List[Tuple[str, int]]:
        """Returns the names of the members, and their servers."""
        return members_of(turn)

    def _make(self, backend: Theirs, turn: Turn) -> RedissonObject:
        return backend.client.multi_lock(*self._members)

    def take(self, requested: int) -> None:
        """As in Taker. After a failure some members may stay held, and be renewed."""
        try:
            super().take(requested)
        except Refused:
            self._free_members()
            raise

    def again(self) -> bool:
        """As in Taker, but without a further level. In Redisson a level that fails with an error is taken from all
        members, even from those to which it was not added. Then the hold has ended."""
        return True

    def give(self) -> str:
        """As in Taker. A RedLock does not tell which members were not released. A multi lock stops at the first one
        (W-15, W-17)."""
        try:
            self.make("unlock")
        except Refused as refused:
            self._free_members()
            return "not_owned" if refused.why == _NOT_HELD else refused.why
        self._free_members()
        return "ok"

    def _free_members(self) -> None:
        for member in self._members:
            self.let_go(member)


class RedLockTaker(MultiTaker):
    """A RedissonRedLock of all servers. It is acquired without a lease, too, since it does not check what is left of a
    lease."""

    @staticmethod
    def _places(backend: Theirs, turn: Turn) -> List[Tuple[str, int]]:
        return [(turn.name, server) for server in range(len(backend.clients))]

    def _make(self, backend: Theirs, turn: Turn) -> RedissonObject:
        return backend.client.red_lock(*self._members)


class GroupTaker(LockTaker):
    """A RedissonFasterMultiLock."""

    def _make(self, backend: Theirs, turn: Turn) -> RedissonObject:
        group, values = group_of(turn)
        return backend.client.object("group", name=group, values=values, handle=1 + (turn.lease > 0))


class SemaphoreTaker(Once):
    """An RSemaphore."""

    def __init__(self, backend: Theirs, turn: Turn) -> None:
        self.n = turn.levels
        self._backend = backend
        self._turn = turn
        self._semaphore = backend.client.object(turn.word.replace("_", " "), name=turn.name)
        try:
            self.make("trySetPermits", turn.options["permits"])
        except Refused:
            pass  # another turn does it

    def take(self, requested: int) -> None:
        """As in Taker."""
        wait = self._turn.wait
        if not self.make("tryAcquire", self.n, *([ms(wait)] if wait else [])):
            raise Refused("timeout")

    def facts(self) -> Dict[str, Any]:
        """As in Taker."""
        return {}

    def safe(self, now: int) -> int:
        """As in Taker. Only a release ends the hold."""
        return ENDLESS

    def give(self) -> str:
        """As in Taker."""
        try:
            self.make("release", self.n)
        except Refused as refused:
            return refused.why
        return "ok"

    def make(self, call: str, *arguments: Any) -> Any:
        """Makes a call in the thread. Raises Refused if it fails."""
        return self._backend.make(self._semaphore, call, *arguments)


class PermitTaker(SemaphoreTaker):
    """An RPermitExpirableSemaphore. Its permits end only if they have a lease."""

    def take(self, requested: int) -> None:
        """As in Taker."""
        turn = self._turn
        lease = turn.lease if turn.lease > 0 else self._backend.lease_ms
        self._until = requested + lease * 1_000_000
        if turn.wait < 0:
            self._ids = self.make("acquire", self.n, ms(lease))
        else:
            self._ids = self.make("tryAcquire", self.n, ms(turn.wait), ms(lease))
        if not self._ids:
            raise Refused("timeout")

    def facts(self) -> Dict[str, Any]:
        """As in Taker."""
        return {"ids": self._ids}

    def safe(self, now: int) -> int:
        """As in Taker."""
        return max(0, self._until - now)

    def give(self) -> str:
        """As in Taker."""
        try:
            self.make("release", self._ids)
        except Refused as refused:
            return refused.why
        return "ok"


class LatchTaker(Once):
    """An RCountDownLatch."""

    def __init__(self, backend: Theirs, turn: Turn) -> None:
        self.n = 1
        self._backend = backend
        self._turn = turn
        self._latch = backend.client.latch(turn.name)

    def try_set_count(self, count: int) -> bool:
        """As in Latch."""
        return bool(self._backend.make(self._latch, "trySetCount", count))

    def count_down(self) -> None:
        """As in Latch."""
        self._backend.make(self._latch, "countDown")

    def take(self, requested: int) -> None:
        """As in Taker."""
        if not self._backend.make(self._latch, "await", ms(self._turn.wait)):
            raise Refused("timeout")

    def facts(self) -> Dict[str, Any]:
        """As in Taker."""
        return {}

    def safe(self, now: int) -> int:
        """As in Taker. A wait that was let through is no hold."""
        return 0

    def give(self) -> str:
        """As in Taker."""
        return "ok"


SHAPES: Dict[str, Callable[[Theirs, Turn], Taker]] = {
    "lock": LockTaker,
    "multi": MultiTaker,
    "redlock": RedLockTaker,
    "group": GroupTaker,
    "semaphore": SemaphoreTaker,
    "permits": PermitTaker,
    "latch": LatchTaker,
}

# SPDX-License-Identifier: Apache-2.0
"""The two sides of a scenario behind one interface: a thread with a lock, of redlatch or of Redisson.

Each party is a thread of its own, as both libraries let threads own locks. Times are seconds.
"""

from __future__ import annotations

import queue
import threading
import time
from typing import Any, Callable, List, Optional, Protocol

import redlatch
from support import Monitor, RedisServer, wait_until
from support.peers import TIMEOUT, PeerError
from support.redisson import OLDER, OnThread, Redisson, RedissonObject, ms

# Seconds between what a message takes, which is milliseconds, and the look that comes after 5 s without one. What the
# middle one of a run may take is in conftest.py.
WOKEN = 2.0


class NotHeld(Exception):
    """A release of what the party does not hold, or holds no more."""


class AlreadyHeld(Exception):
    """An acquire by who holds a lock that is not reentrant."""


class Attempt(Protocol):
    """An acquire under way."""

    @property
    def ended_at(self) -> float:
        """When it ended, by time.monotonic()."""

    @property
    def done(self) -> bool:
        """Whether it has ended."""

    def result(self, timeout: float = TIMEOUT) -> Any:
        """Whether the lock was obtained; raises what the acquire raised."""


class Party(Protocol):
    """A thread with a lock."""

    def start(self, wait: Optional[float] = None, lease: Optional[float] = None) -> Attempt:
        """Begin to acquire: wait for ever, or so long; with the watchdog, or a lease."""

    def acquire(self, wait: Optional[float] = None, lease: Optional[float] = None) -> bool:
        """Acquire; AlreadyHeld if the party holds the lock and may not acquire it again."""

    def release(self) -> None:
        """Release one level; NotHeld if there is none."""

    def held(self) -> bool:
        """Whether the party holds the lock."""

    def hold_count(self) -> int:
        """How many levels the party has to release."""

    def locked(self) -> bool:
        """Whether anybody holds the lock."""

    def force_release(self) -> bool:
        """Take the lock away from whoever has it; whether anybody had."""


class Task:
    """A call made by the thread of one of our parties."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._value: Any = None
        self._error: Optional[BaseException] = None
        self._ended = threading.Event()
        self.ended_at = 0.0

    def run(self) -> None:
        """Make the call."""
        try:
            self._value = self._call()
        except BaseException as error:
            self._error = error
        self.ended_at = time.monotonic()
        self._ended.set()

    @property
    def done(self) -> bool:
        """Whether the call has returned or raised."""
        return self._ended.is_set()

    def result(self, timeout: float = TIMEOUT) -> Any:
        """What the call returned; raises what it raised."""
        assert self._ended.wait(timeout), f"our call is not done within {timeout} s"
        if self._error is not None:
            raise self._error
        return self._value


class OurParty:
    """A thread with a lock of redlatch."""

    def __init__(self, lock: redlatch.Lock) -> None:
        self.lock = lock
        self._tasks: queue.Queue[Optional[Task]] = queue.Queue()
        self._thread = threading.Thread(target=self._work, name="interop-ours", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        for task in iter(self._tasks.get, None):
            task.run()

    def submit(self, call: Callable[[], Any]) -> Task:
        """Let the thread make a call, after its earlier ones."""
        task = Task(call)
        self._tasks.put(task)
        return task

    def start(self, wait: Optional[float] = None, lease: Optional[float] = None) -> Task:
        """As Party says."""
        return self.submit(lambda: self.lock.acquire(timeout=wait, lease=lease))

    def acquire(self, wait: Optional[float] = None, lease: Optional[float] = None) -> bool:
        """As Party says."""
        try:
            return bool(self.start(wait, lease).result())
        except redlatch.AlreadyHeldError as error:
            raise AlreadyHeld(str(error)) from error

    def release(self) -> None:
        """As Party says."""
        try:
            self.submit(self.lock.release).result()
        except (redlatch.NotOwnedError, redlatch.LockLostError) as error:
            raise NotHeld(str(error)) from error

    def held(self) -> bool:
        """As Party says."""
        return bool(self.submit(self.lock.owned).result())

    def hold_count(self) -> int:
        """As Party says."""
        return int(self.submit(self.lock.hold_count).result())

    def locked(self) -> bool:
        """As Party says."""
        return self.lock.state().locked

    def force_release(self) -> bool:
        """As Party says."""
        return self.lock.force_release()

    def close(self) -> None:
        """End the thread, whose waits have ended."""
        self._tasks.put(None)
        self._thread.join(5.0)
        assert not self._thread.is_alive(), "a party of ours still waits at the end of its test"


class TheirParty:
    """A Java thread with a lock of Redisson."""

    def __init__(self, java: Redisson, lock: RedissonObject) -> None:
        self.java = java
        self.thread = java.thread()
        self.lock: OnThread = lock.on(self.thread)

    def start(self, wait: Optional[float] = None, lease: Optional[float] = None) -> Attempt:
        """As Party says."""
        if wait is None:
            return _Granted(self.lock.start("lock", *([] if lease is None else [ms(lease * 1000)])))
        if lease is None:
            return self.lock.start("tryLock", *([ms(wait * 1000)] if wait else []))
        return self.lock.start("tryLock", ms(wait * 1000), ms(lease * 1000))

    def acquire(self, wait: Optional[float] = None, lease: Optional[float] = None) -> bool:
        """As Party says."""
        try:
            return bool(self.start(wait, lease).result())
        except PeerError as error:
            if error.kind != "IllegalMonitorStateException":
                raise
            raise AlreadyHeld(error.message) from error

    def release(self) -> None:
        """As Party says."""
        try:
            self.lock.unlock()
        except PeerError as error:
            if error.kind != "IllegalMonitorStateException":
                raise
            raise NotHeld(error.message) from error

    def wait_asleep(self) -> None:
        """Until its thread waits for a message. A writer's release wakes as many of Redisson's as sleep at that moment:
        one that is only about to sleeps for the rest of the lease.
        """
        wait_until(lambda: self.java.sleeps(self.thread), message="a thread of Redisson's to sleep")

    def held(self) -> bool:
        """As Party says."""
        return bool(self.lock.isHeldByCurrentThread())

    def hold_count(self) -> int:
        """As Party says."""
        return int(self.lock.getHoldCount())

    def locked(self) -> bool:
        """As Party says."""
        return bool(self.lock.isLocked())

    def force_release(self) -> bool:
        """As Party says."""
        return bool(self.lock.forceUnlock())


class _Granted:
    """lock() of Java, which returns nothing when it has the lock."""

    def __init__(self, pending: Any) -> None:
        self._pending = pending

    @property
    def ended_at(self) -> float:
        """When the answer came."""
        return float(self._pending.ended_at)

    @property
    def done(self) -> bool:
        """Whether the call has ended."""
        return bool(self._pending.done)

    def result(self, timeout: float = TIMEOUT) -> bool:
        """True; PeerError if the call failed."""
        self._pending.result(timeout)
        return True


def wait_free(servers: List[RedisServer], name: str) -> None:
    """What one of the servers was late with is given back behind a call."""
    wait_until(lambda: not any(server.admin.exists(name) for server in servers), message="all to be free")


def wait_clean(server: RedisServer) -> None:
    """No key is left. Redisson deletes its note about a release behind the call; an older one lets it expire."""
    left: Callable[[], Any] = (lambda: lock_keys(server)) if OLDER else server.admin.keys
    wait_until(lambda: left() == [], message=lambda: f"no key to be left: {left()}")


def lock_keys(server: RedisServer) -> List[str]:
    """All keys but Redisson's notes about releases, which it deletes behind the call."""
    found: Any = server.admin.keys()
    return sorted(key.decode() for key in found if not key.startswith(b"redisson_unlock_latch:"))


def wait_parked(monitor: Monitor, mark: int, name: str, rechecks: bool = True, listening: bool = False) -> int:
    """Wait until somebody has subscribed for `name`, unless it is listening already, and, if it looks then, asked once
    more after that; a mark behind it."""

    def parked() -> bool:
        words = monitor.top_level(mark).about(name).verbs()
        after = words[words.index("SUBSCRIBE") :] if "SUBSCRIBE" in words else words if listening else []
        return bool(after) and (not rechecks or "EVALSHA" in after)

    wait_until(parked, message=f"a waiter for {name} to park")
    return monitor.mark()

# SPDX-License-Identifier: Apache-2.0
"""The two sides of a scenario behind one interface: a thread with a lock, of redlatch or of Redisson.

Each party is a thread of its own, because in both libraries threads own locks. Times are in seconds.
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

# Seconds within which a message must have woken a waiter. A message takes milliseconds; without one, a waiter rechecks
# after 5 s. The limit for the median of a run is in conftest.py.
WOKEN = 2.0


class NotHeld(Exception):
    """Raised by a release of a lock that the party does not hold, or holds no more."""


class AlreadyHeld(Exception):
    """Raised by an acquire of a non-reentrant lock that the party holds."""


class Attempt(Protocol):
    """An acquire in progress."""

    @property
    def ended_at(self) -> float:
        """The time of its end, by time.monotonic()."""

    @property
    def done(self) -> bool:
        """Whether it has ended."""

    def result(self, timeout: float = TIMEOUT) -> Any:
        """Returns whether the lock was granted; raises what the acquire raised."""


class Party(Protocol):
    """A thread with a lock."""

    def start(self, wait: Optional[float] = None, lease: Optional[float] = None) -> Attempt:
        """Begins an acquire. `wait` None waits forever; `lease` None uses the watchdog."""

    def acquire(self, wait: Optional[float] = None, lease: Optional[float] = None) -> bool:
        """Acquires. Raises AlreadyHeld if the party holds the lock and may not acquire it again."""

    def release(self) -> None:
        """Releases once. Raises NotHeld if the party does not hold the lock."""

    def held(self) -> bool:
        """Returns whether the party holds the lock."""

    def hold_count(self) -> int:
        """Returns the party's hold count."""

    def locked(self) -> bool:
        """Returns whether anybody holds the lock."""

    def force_release(self) -> bool:
        """Takes the lock from its holder. Returns whether there was a holder."""


class Task:
    """A call on the thread of a redlatch party."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._value: Any = None
        self._error: Optional[BaseException] = None
        self._ended = threading.Event()
        self.ended_at = 0.0

    def run(self) -> None:
        """Makes the call."""
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
        """Returns what the call returned; raises what it raised."""
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
        """Lets the thread make a call, after its earlier ones."""
        task = Task(call)
        self._tasks.put(task)
        return task

    def start(self, wait: Optional[float] = None, lease: Optional[float] = None) -> Task:
        """See Party."""
        return self.submit(lambda: self.lock.acquire(timeout=wait, lease=lease))

    def acquire(self, wait: Optional[float] = None, lease: Optional[float] = None) -> bool:
        """See Party."""
        try:
            return bool(self.start(wait, lease).result())
        except redlatch.AlreadyHeldError as error:
            raise AlreadyHeld(str(error)) from error

    def release(self) -> None:
        """See Party."""
        try:
            self.submit(self.lock.release).result()
        except (redlatch.NotOwnedError, redlatch.LockLostError) as error:
            raise NotHeld(str(error)) from error

    def held(self) -> bool:
        """See Party."""
        return bool(self.submit(self.lock.owned).result())

    def hold_count(self) -> int:
        """See Party."""
        return int(self.submit(self.lock.hold_count).result())

    def locked(self) -> bool:
        """See Party."""
        return self.lock.state().locked

    def force_release(self) -> bool:
        """See Party."""
        return self.lock.force_release()

    def close(self) -> None:
        """Ends the thread, whose waits have ended."""
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
        """See Party."""
        if wait is None:
            return _Granted(self.lock.start("lock", *([] if lease is None else [ms(lease * 1000)])))
        if lease is None:
            return self.lock.start("tryLock", *([ms(wait * 1000)] if wait else []))
        return self.lock.start("tryLock", ms(wait * 1000), ms(lease * 1000))

    def acquire(self, wait: Optional[float] = None, lease: Optional[float] = None) -> bool:
        """See Party."""
        try:
            return bool(self.start(wait, lease).result())
        except PeerError as error:
            if error.kind != "IllegalMonitorStateException":
                raise
            raise AlreadyHeld(error.message) from error

    def release(self) -> None:
        """See Party."""
        try:
            self.lock.unlock()
        except PeerError as error:
            if error.kind != "IllegalMonitorStateException":
                raise
            raise NotHeld(error.message) from error

    def wait_asleep(self) -> None:
        """Waits until its thread waits for a message. A writer's release wakes the Redisson threads that sleep at that
        moment. A thread that is only about to sleep then sleeps for the rest of the lease.
        """
        wait_until(lambda: self.java.sleeps(self.thread), message="a thread of Redisson's to sleep")

    def held(self) -> bool:
        """See Party."""
        return bool(self.lock.isHeldByCurrentThread())

    def hold_count(self) -> int:
        """See Party."""
        return int(self.lock.getHoldCount())

    def locked(self) -> bool:
        """See Party."""
        return bool(self.lock.isLocked())

    def force_release(self) -> bool:
        """See Party."""
        return bool(self.lock.forceUnlock())


class _Granted:
    """A pending lock() of Java, which returns nothing when the lock is granted."""

    def __init__(self, pending: Any) -> None:
        self._pending = pending

    @property
    def ended_at(self) -> float:
        """The time of the answer."""
        return float(self._pending.ended_at)

    @property
    def done(self) -> bool:
        """Whether the call has ended."""
        return bool(self._pending.done)

    def result(self, timeout: float = TIMEOUT) -> bool:
        """Returns True; raises PeerError if the call failed."""
        self._pending.result(timeout)
        return True


def wait_free(servers: List[RedisServer], name: str) -> None:
    """Waits until all servers are free. A late grant of one server is released only after the call."""
    wait_until(lambda: not any(server.admin.exists(name) for server in servers), message="all to be free")


def wait_clean(server: RedisServer) -> None:
    """Waits until no key is left. Redisson deletes its note about a release after the call; an older version lets it
    expire."""
    left: Callable[[], Any] = (lambda: lock_keys(server)) if OLDER else server.admin.keys
    wait_until(lambda: left() == [], message=lambda: f"no key to be left: {left()}")


def lock_keys(server: RedisServer) -> List[str]:
    """Returns all keys except Redisson's notes about releases, which it deletes after the call."""
    found: Any = server.admin.keys()
    return sorted(key.decode() for key in found if not key.startswith(b"redisson_unlock_latch:"))


def wait_parked(monitor: Monitor, mark: int, name: str, rechecks: bool = True, listening: bool = False) -> int:
    """Waits until somebody has subscribed for `name`, unless it is subscribed already, and has sent a script after
    that, if waiters recheck then. Returns a mark behind these commands."""

    def parked() -> bool:
        words = monitor.top_level(mark).about(name).verbs()
        after = words[words.index("SUBSCRIBE") :] if "SUBSCRIBE" in words else words if listening else []
        return bool(after) and (not rechecks or "EVALSHA" in after)

    wait_until(parked, message=f"a waiter for {name} to park")
    return monitor.mark()

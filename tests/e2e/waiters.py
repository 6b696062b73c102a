# SPDX-License-Identifier: Apache-2.0
"""Threads that wait for locks, and holders that are not redlatch, for the tests of waiting."""

from __future__ import annotations

import threading
import time
import uuid
from typing import Callable, Optional

import redlatch
from support import Monitor, RedisServer, wait_until
from support.wire import channel, script_of, sent_by, subscribers

# In seconds: a generous bound on what takes milliseconds, well below the lease and the recheck every 5 s.
SOON = 2.0


class Waiting:
    """One acquire on a thread of its own. `before_release` is called while the lock is held."""

    def __init__(
        self,
        lock: redlatch.Lock,
        timeout: Optional[float] = None,
        before_release: Optional[Callable[[], None]] = None,
        *,
        keep: bool = False,
    ) -> None:
        self._lock = lock
        self._timeout = timeout
        self._before_release = before_release
        self._keep = keep
        self.granted: Optional[bool] = None
        self.error: Optional[BaseException] = None
        self.ended_at = 0.0
        self._leave = threading.Event()
        self._acquired = threading.Event()
        self.started_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="e2e-waiting", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.granted = self._lock.acquire(timeout=self._timeout)
            self.ended_at = time.monotonic()
            self._acquired.set()
            if self.granted:
                if self._keep:
                    self._leave.wait(60.0)
                if self._before_release is not None:
                    self._before_release()
                self._lock.release()
        except BaseException as error:
            self.error = error
        finally:
            self.ended_at = self.ended_at or time.monotonic()
            self._acquired.set()

    @property
    def done(self) -> bool:
        """Returns whether acquire() has returned or raised."""
        return self._acquired.is_set()

    def result(self, timeout: float = 10.0) -> Optional[bool]:
        """Returns what acquire() returned, or raises what it raised. The thread has ended then, unless it keeps the
        lock."""
        assert self._acquired.wait(timeout), f"the waiter is not done within {timeout} s"
        if not self._keep or not self.granted:
            self._thread.join(timeout)
        if self.error is not None:
            raise self.error
        return self.granted

    def leave(self, timeout: float = 10.0) -> None:
        """Release a lock that is kept."""
        self._leave.set()
        self._thread.join(timeout)
        assert not self._thread.is_alive(), f"the release is not done within {timeout} s"
        if self.error is not None:
            raise self.error


def hold_as_redisson(server: RedisServer, name: str, lease_ms: Optional[int] = 30_000) -> str:
    """Write the hash of a Redisson holder by hand; without a lease the key never expires. Returns the owner."""
    owner = f"{uuid.uuid4()}:1"
    with server.admin.pipeline(transaction=True) as transaction:
        transaction.hset(name, owner, "1")
        if lease_ms is not None:
            transaction.pexpire(name, lease_ms)
        transaction.execute()
    return owner


def release_as_redisson(server: RedisServer, name: str) -> float:
    """Delete the lock and publish 0, in one step as Redisson's script does. Returns the time before that."""
    released_at = time.monotonic()
    with server.admin.pipeline(transaction=True) as transaction:
        transaction.delete(name)
        transaction.publish(channel(name), "0")
        transaction.execute()
    return released_at


def wait_parked(
    server: RedisServer, monitor: Monitor, name: str, client: redlatch.Client, mark: int, script: str = "acquire"
) -> int:
    """Wait until a waiter that found the lock held has subscribed and rechecked. Returns a mark after that."""

    def parked() -> bool:
        executed = sent_by(monitor.since(mark), server, client)
        words = [script_of(entry) or entry.command for entry in executed]
        return "SUBSCRIBE" in words and script in words[words.index("SUBSCRIBE") :]

    wait_until(parked, message=f"a waiter for {name} to park")
    assert subscribers(server, name) >= 1
    return monitor.mark()

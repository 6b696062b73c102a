# SPDX-License-Identifier: Apache-2.0
"""Plain locks of other libraries, with SET NX PX and compare-and-delete, under one interface: two libraries in Go, one
in Node, and two in Python, which run in this process.

PLAIN_PEERS makes a lock by its library: PLAIN_PEERS["redsync"](url, name). MAJORITY_PEERS makes one over several
servers: MAJORITY_PEERS["redsync"](urls, name). Times are in seconds; the methods return booleans.
"""

from __future__ import annotations

import itertools
import math
import shutil
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Protocol, Sequence, Union

import redis
import redis_lock
from redis.exceptions import LockNotOwnedError
from redis.lock import Lock
from support.build_peers import BUILD
from support.peers import Peer


class PlainPeer(Protocol):
    """A handle of a lock."""

    key: str
    """Where the lock stands on the server."""

    def acquire(self, wait: float, lease: float) -> bool:
        """Acquires the lock, trying for `wait` seconds."""

    def extend(self, lease: float) -> bool:
        """Sets the lease to end `lease` seconds from now. Returns whether the lock was still held."""

    def release(self) -> bool:
        """Releases the lock. Returns whether it was still held."""

    def close(self) -> None:
        """Closes the connections. The lock stays held."""


def go_command() -> List[str]:
    """Returns the program with redsync and bsm/redislock."""
    return [str(BUILD / "go" / "peer")]


def node_command() -> List[str]:
    """Returns the program with node-redlock."""
    return [shutil.which("node") or "node", str(BUILD / "node" / "main.mjs")]


class ForeignLock:
    """A lock of a peer program, which is started for this lock."""

    _handles = itertools.count(1)

    def __init__(self, command: List[str], library: str, urls: Union[str, Sequence[str]], name: str) -> None:
        self.key = name
        self._peer = Peer(command)
        self._handle = next(self._handles)
        self._call("open", library=library, urls=[urls] if isinstance(urls, str) else list(urls), name=name)

    def _call(self, call: str, **values: Any) -> Any:
        return self._peer.send({"call": call, "handle": self._handle, **values}).result()

    def acquire(self, wait: float, lease: float) -> bool:
        """See PlainPeer. The programs try every 10 ms."""
        return bool(self._call("acquire", wait_ms=round(wait * 1000), lease_ms=round(lease * 1000)))

    def extend(self, lease: float) -> bool:
        """See PlainPeer."""
        return bool(self._call("extend", lease_ms=round(lease * 1000)))

    def release(self) -> bool:
        """See PlainPeer."""
        return bool(self._call("release"))

    def close(self) -> None:
        """Ends the program."""
        self._peer.close()


class RedisPyLock:
    """redis-py's Lock."""

    def __init__(self, url: str, name: str) -> None:
        self.key = name
        self._redis = redis.Redis.from_url(url)
        self._lock: Optional[Lock] = None

    def acquire(self, wait: float, lease: float) -> bool:
        """See PlainPeer."""
        lock = self._redis.lock(self.key, timeout=lease, sleep=0.01, thread_local=False)
        if not lock.acquire(blocking=wait > 0, blocking_timeout=wait or None):
            return False
        self._lock = lock
        return True

    def extend(self, lease: float) -> bool:
        """See PlainPeer."""
        assert self._lock is not None
        try:
            return bool(self._lock.extend(lease, replace_ttl=True))
        except LockNotOwnedError:
            return False

    def release(self) -> bool:
        """See PlainPeer."""
        assert self._lock is not None
        try:
            self._lock.release()
        except LockNotOwnedError:
            return False
        return True

    def close(self) -> None:
        """See PlainPeer."""
        self._redis.close()


class PythonRedisLock:
    """python-redis-lock's Lock. Its leases and waits are whole seconds, and it wakes waiters through a list."""

    def __init__(self, url: str, name: str) -> None:
        self.key = f"lock:{name}"
        self._name = name
        self._redis = redis.Redis.from_url(url)
        self._lock: Optional[redis_lock.Lock] = None

    def acquire(self, wait: float, lease: float) -> bool:
        """See PlainPeer."""
        lock = redis_lock.Lock(self._redis, self._name, expire=round(lease))
        if not lock.acquire(blocking=wait > 0, timeout=math.ceil(wait) or None):
            return False
        self._lock = lock
        return True

    def extend(self, lease: float) -> bool:
        """See PlainPeer."""
        assert self._lock is not None
        try:
            self._lock.extend(round(lease))
        except redis_lock.NotAcquired:
            return False
        return True

    def release(self) -> bool:
        """See PlainPeer."""
        assert self._lock is not None
        try:
            self._lock.release()
        except redis_lock.NotAcquired:
            return False
        return True

    def close(self) -> None:
        """See PlainPeer."""
        self._redis.close()


PLAIN_PEERS: Dict[str, Callable[[str, str], PlainPeer]] = {
    "redis-py": RedisPyLock,
    "python-redis-lock": PythonRedisLock,
    "redsync": partial(ForeignLock, go_command(), "redsync"),
    "bsm/redislock": partial(ForeignLock, go_command(), "redislock"),
    "node-redlock": partial(ForeignLock, node_command(), "redlock"),
}

MAJORITY_PEERS: Dict[str, Callable[[Sequence[str], str], PlainPeer]] = {
    "redsync": partial(ForeignLock, go_command(), "redsync"),
    "node-redlock": partial(ForeignLock, node_command(), "redlock"),
}

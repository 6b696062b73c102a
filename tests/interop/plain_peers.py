# SPDX-License-Identifier: Apache-2.0
"""Other people's plain locks, SET NX PX and compare-and-delete, under one interface: two libraries in Go, one in Node,
two in Python, which run in this process.

PLAIN_PEERS makes one by its name: PLAIN_PEERS["redsync"](url, name); MAJORITY_PEERS one over several servers:
MAJORITY_PEERS["redsync"](urls, name). Seconds in, booleans out.
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
    """One handle of a lock."""

    key: str
    """Where the lock stands on the server."""

    def acquire(self, wait: float, lease: float) -> bool:
        """Take the lock, trying for `wait` seconds."""

    def extend(self, lease: float) -> bool:
        """Let the lease end `lease` seconds from now; whether the lock was still held."""

    def release(self) -> bool:
        """Give the lock back; whether it was still held."""

    def close(self) -> None:
        """Close the connections; what is held is left."""


def go_command() -> List[str]:
    """The program with redsync and bsm/redislock."""
    return [str(BUILD / "go" / "peer")]


def node_command() -> List[str]:
    """The program with node-redlock."""
    return [shutil.which("node") or "node", str(BUILD / "node" / "main.mjs")]


class ForeignLock:
    """A lock of a peer program, which is started for it."""

    _handles = itertools.count(1)

    def __init__(self, command: List[str], library: str, urls: Union[str, Sequence[str]], name: str) -> None:
        self.key = name
        self._peer = Peer(command)
        self._handle = next(self._handles)
        self._call("open", library=library, urls=[urls] if isinstance(urls, str) else list(urls), name=name)

    def _call(self, call: str, **values: Any) -> Any:
        return self._peer.send({"call": call, "handle": self._handle, **values}).result()

    def acquire(self, wait: float, lease: float) -> bool:
        """As PlainPeer says; the programs try every 10 ms."""
        return bool(self._call("acquire", wait_ms=round(wait * 1000), lease_ms=round(lease * 1000)))

    def extend(self, lease: float) -> bool:
        """As PlainPeer says."""
        return bool(self._call("extend", lease_ms=round(lease * 1000)))

    def release(self) -> bool:
        """As PlainPeer says."""
        return bool(self._call("release"))

    def close(self) -> None:
        """End the program."""
        self._peer.close()


class RedisPyLock:
    """redis-py's Lock."""

    def __init__(self, url: str, name: str) -> None:
        self.key = name
        self._redis = redis.Redis.from_url(url)
        self._lock: Optional[Lock] = None

    def acquire(self, wait: float, lease: float) -> bool:
        """As PlainPeer says."""
        lock = self._redis.lock(self.key, timeout=lease, sleep=0.01, thread_local=False)
        if not lock.acquire(blocking=wait > 0, blocking_timeout=wait or None):
            return False
        self._lock = lock
        return True

    def extend(self, lease: float) -> bool:
        """As PlainPeer says."""
        assert self._lock is not None
        try:
            return bool(self._lock.extend(lease, replace_ttl=True))
        except LockNotOwnedError:
            return False

    def release(self) -> bool:
        """As PlainPeer says."""
        assert self._lock is not None
        try:
            self._lock.release()
        except LockNotOwnedError:
            return False
        return True

    def close(self) -> None:
        """As PlainPeer says."""
        self._redis.close()


class PythonRedisLock:
    """python-redis-lock's Lock, whose leases and waits are whole seconds, and which wakes waiters by a list."""

    def __init__(self, url: str, name: str) -> None:
        self.key = f"lock:{name}"
        self._name = name
        self._redis = redis.Redis.from_url(url)
        self._lock: Optional[redis_lock.Lock] = None

    def acquire(self, wait: float, lease: float) -> bool:
        """As PlainPeer says."""
        lock = redis_lock.Lock(self._redis, self._name, expire=round(lease))
        if not lock.acquire(blocking=wait > 0, timeout=math.ceil(wait) or None):
            return False
        self._lock = lock
        return True

    def extend(self, lease: float) -> bool:
        """As PlainPeer says."""
        assert self._lock is not None
        try:
            self._lock.extend(round(lease))
        except redis_lock.NotAcquired:
            return False
        return True

    def release(self) -> bool:
        """As PlainPeer says."""
        assert self._lock is not None
        try:
            self._lock.release()
        except redis_lock.NotAcquired:
            return False
        return True

    def close(self) -> None:
        """As PlainPeer says."""
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

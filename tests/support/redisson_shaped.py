# SPDX-License-Identifier: Apache-2.0
"""A peer that sends what a Redisson 4 client sends for its RLock: the foreign holder and waiter of the tests.

Commands, argument order, replies, keys, channel and waiting follow Redisson; the script texts are our own, written from
their effects. It talks to a single server through redis-py, whose connections have the name of the peer.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import random
import threading
import time
import uuid
from collections import deque
from types import TracebackType
from typing import Any, Deque, Dict, List, Optional, Tuple, Type, Union

import redis

from .server import RedisServer

Name = Union[str, bytes]

_MESSAGE = b"0"
_SUBSCRIPTION_TIMEOUT = 7.5
_REPLY_TIMEOUT_MS = 3000
_RETRY_ATTEMPTS = 4

# KEYS: lock. ARGV: lease, owner. Returns nil when the owner has the lock, else the holder's remaining milliseconds.
_ACQUIRE = """
local lock, lease, owner = KEYS[1], ARGV[1], ARGV[2]
local held_by_other = redis.call('exists', lock) == 1 and redis.call('hexists', lock, owner) == 0
if held_by_other then
    return redis.call('pttl', lock)
end
redis.call('hincrby', lock, owner, 1)
redis.call('pexpire', lock, lease)
return nil
"""

# KEYS: lock, channel, latch. ARGV: message, lease of what stays held, owner, publish command, life of the latch.
# Returns 1 released, 0 still held, nil not held by the owner.
_RELEASE = """
local lock, channel, latch = KEYS[1], KEYS[2], KEYS[3]
local message, lease, owner, publish, latch_life = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local recorded = redis.call('get', latch)
if recorded then
    return tonumber(recorded)
end
if redis.call('hexists', lock, owner) == 0 then
    return nil
end
local released = 0
if redis.call('hincrby', lock, owner, -1) > 0 then
    redis.call('pexpire', lock, lease)
else
    redis.call('del', lock)
    redis.call(publish, channel, message)
    released = 1
end
redis.call('set', latch, released, 'px', latch_life)
return released
"""

# KEYS: lock, channel. ARGV: message, publish command. Returns whether there was a lock.
_FORCE_RELEASE = """
local existed = redis.call('del', KEYS[1])
if existed == 1 then
    redis.call(ARGV[2], KEYS[2], ARGV[1])
end
return existed
"""

# KEYS: locks. ARGV: lease, the owner of each lock. Returns for each lock whether it was renewed.
_RENEW = """
local renewed = {}
for index, lock in ipairs(KEYS) do
    renewed[index] = redis.call('hexists', lock, ARGV[index + 1])
    if renewed[index] == 1 then
        redis.call('pexpire', lock, ARGV[1])
    end
end
return renewed
"""


class NotHeld(Exception):
    """What Redisson reports as IllegalMonitorStateException: the thread does not hold the lock."""


class RedissonShapedPeer:
    """One Redisson client. Calls take the Java thread's number; leases and waits are milliseconds, -1 as in Redisson.

    `client_options` go to redis-py, for instance `port=proxy.port` for a peer behind a proxy.
    """

    def __init__(self, server: RedisServer, *, watchdog_ms: int = 30_000, **client_options: Any) -> None:
        self.client_id = str(uuid.uuid4())
        self.name = f"redisson-peer-{self.client_id[:8]}"
        self.watchdog_ms = watchdog_ms
        self.messages: List[Tuple[bytes, bytes]] = []
        self.renewals: Deque[List[int]] = deque(maxlen=1000)
        self._redis: Any = server.client(client_name=self.name, **client_options)
        self._lock = threading.Lock()
        self._leases: Dict[bytes, int] = {}
        self._renewed: Dict[bytes, List[int]] = {}
        self._waiters = concurrent.futures.ThreadPoolExecutor(max_workers=16, thread_name_prefix=self.name)
        self._closing = threading.Event()
        self._watchdog: Optional[threading.Thread] = None

    # ------------------------------------------------------------------------------------------ names on the wire --

    def owner(self, thread: int = 1) -> str:
        """The lock's field for one of this client's threads."""
        return f"{self.client_id}:{thread}"

    @staticmethod
    def channel(name: Name) -> bytes:
        """The channel on which releases of a lock are published."""
        return _prefixed(b"redisson_lock__channel", _raw(name))

    # -------------------------------------------------------------------------------------------------- acquiring --

    def lock(self, name: Name, lease_ms: int = -1, *, thread: int = 1) -> None:
        """Take the lock, waiting for it without limit."""
        self._acquire(_raw(name), None, lease_ms, thread)

    def try_lock(self, name: Name, wait_ms: int = 0, lease_ms: int = -1, *, thread: int = 1) -> bool:
        """Take the lock if that succeeds within `wait_ms`; 0 tries once."""
        return self._acquire(_raw(name), wait_ms / 1000.0, lease_ms, thread)

    def start_lock(self, name: Name, lease_ms: int = -1, *, thread: int = 1) -> concurrent.futures.Future[None]:
        """lock() on another thread, for a test that goes on meanwhile."""
        return self._waiters.submit(self.lock, name, lease_ms, thread=thread)

    def _acquire(self, name: bytes, wait: Optional[float], lease_ms: int, thread: int) -> bool:
        deadline = None if wait is None else time.monotonic() + wait
        if self._attempt(name, lease_ms, thread) is None:
            return True
        if _remaining(deadline) <= 0:
            return False
        channel = self.channel(name)
        subscriber = self._redis.pubsub()
        try:
            subscriber.subscribe(channel)
            if not self._listen(subscriber, b"subscribe", min(_SUBSCRIPTION_TIMEOUT, _remaining(deadline))):
                if deadline is None:
                    raise redis.TimeoutError(f"no confirmation of the subscription to {channel!r}")
                return False
            while True:
                holder_ms = self._attempt(name, lease_ms, thread)
                if holder_ms is None:
                    return True
                remaining = _remaining(deadline)
                if remaining <= 0:
                    return False
                self._listen(
                    subscriber, b"message", min(remaining, holder_ms / 1000.0) if holder_ms >= 0 else remaining
                )
                if _remaining(deadline) <= 0:
                    return False
        finally:
            self._unsubscribe(subscriber, channel)

    def _attempt(self, name: bytes, lease_ms: int, thread: int) -> Optional[int]:
        lease = lease_ms if lease_ms > 0 else self.watchdog_ms
        holder_ms: Optional[int] = self._call(_ACQUIRE, [name], [lease, self.owner(thread)])
        if holder_ms is None:
            with self._lock:
                if lease_ms > 0:
                    self._leases[name] = lease_ms
                else:
                    self._renewed.setdefault(name, []).append(thread)
        return holder_ms

    def _listen(self, subscriber: Any, kind: bytes, timeout: float) -> bool:
        """Wait for a message of this kind. False if none came in time; ConnectionError if the peer was closed."""
        deadline = time.monotonic() + timeout
        while not self._closing.is_set():
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return False
            message = subscriber.get_message(timeout=min(remaining, 0.1))
            if message is None:
                continue
            if message["type"] == "message":
                self.messages.append((message["channel"], message["data"]))
            if message["type"] == kind.decode():
                return True
        raise redis.ConnectionError("the peer was closed while it waited")

    @staticmethod
    def _unsubscribe(subscriber: Any, channel: bytes) -> None:
        try:
            subscriber.unsubscribe(channel)
            subscriber.get_message(timeout=1.0)
        except redis.RedisError:
            pass
        subscriber.close()

    # -------------------------------------------------------------------------------------------------- releasing --

    def unlock(self, name: Name, *, thread: int = 1) -> bool:
        """Release one level. True if the lock is free now, false if it is held still; NotHeld if it was not ours."""
        raw = _raw(name)
        latch = _prefixed(b"redisson_unlock_latch", raw) + b":" + uuid.uuid4().hex.encode()
        life = (_REPLY_TIMEOUT_MS + random.randint(1000, 2000)) * _RETRY_ATTEMPTS
        with self._lock:
            lease = self._leases.get(raw, self.watchdog_ms)
        arguments = [_MESSAGE, lease, self.owner(thread), b"PUBLISH", life]
        try:
            released: Optional[int] = self._call(_RELEASE, [raw, self.channel(raw), latch], arguments)
        finally:
            self._stop_renewing(raw, thread)
        if released != 0:
            with self._lock:
                self._leases.pop(raw, None)
        self._redis.delete(latch)
        if released is None:
            raise NotHeld(f"{raw!r} is not held by {self.owner(thread)}")
        return released == 1

    def force_unlock(self, name: Name) -> bool:
        """Remove the lock, whoever holds it. True if there was one."""
        raw = _raw(name)
        with self._lock:
            self._renewed.pop(raw, None)
        return bool(self._call(_FORCE_RELEASE, [raw, self.channel(raw)], [_MESSAGE, b"PUBLISH"]))

    # ---------------------------------------------------------------------------------------------------- looking --

    def is_locked(self, name: Name) -> bool:
        """Whether anybody holds the lock."""
        return bool(self._redis.exists(_raw(name)))

    def hold_count(self, name: Name, *, thread: int = 1) -> int:
        """How many levels the thread holds."""
        count: Any = self._redis.hget(_raw(name), self.owner(thread))
        return int(count or 0)

    def remaining_ms(self, name: Name) -> int:
        """Milliseconds until the lock expires; -2 if there is none, -1 if it never does."""
        ttl: Any = self._redis.pttl(_raw(name))
        return int(ttl)

    # --------------------------------------------------------------------------------------------------- watchdog --

    def start_watchdog(self) -> None:
        """Renew the locks that were taken without a lease, each third of the watchdog's time, until close()."""
        self._watchdog = threading.Thread(target=self._renew_for_ever, name=f"{self.name}-watchdog", daemon=True)
        self._watchdog.start()

    def _renew_for_ever(self) -> None:
        while not self._closing.wait(self.watchdog_ms / 3000.0):
            with self._lock:
                first = [(name, threads[0]) for name, threads in self._renewed.items()]
            if not first:
                continue
            owners = [self.owner(thread) for _, thread in first]
            try:
                renewed: List[int] = self._call(_RENEW, [name for name, _ in first], [self.watchdog_ms, *owners])
            except redis.RedisError:
                continue
            self.renewals.append(renewed)
            for (name, thread), alive in zip(first, renewed):
                if not alive:
                    self._stop_renewing(name, thread)

    def _stop_renewing(self, name: bytes, thread: int) -> None:
        with self._lock:
            threads = self._renewed.get(name, [])
            if thread in threads:
                threads.remove(thread)
            if not threads:
                self._renewed.pop(name, None)

    # ------------------------------------------------------------------------------------------------------- ends --

    def _call(self, text: str, keys: List[bytes], arguments: List[Any]) -> Any:
        sha1 = hashlib.sha1(text.encode()).hexdigest()
        call = ["EVALSHA", sha1, len(keys), *keys, *arguments]
        try:
            return self._redis.execute_command(*call)
        except redis.exceptions.NoScriptError:
            self._redis.script_load(text)
            return self._redis.execute_command(*call)

    def close(self) -> None:
        """End all waiting and renewing, and close the connections; what is held is left to expire, as in Redisson."""
        self._closing.set()
        self._waiters.shutdown(wait=True)
        if self._watchdog is not None:
            self._watchdog.join()
        self._redis.close()
        self._redis.connection_pool.disconnect()

    def __enter__(self) -> RedissonShapedPeer:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()


def _raw(name: Name) -> bytes:
    return name if isinstance(name, bytes) else name.encode()


def _prefixed(prefix: bytes, name: bytes) -> bytes:
    return prefix + b":" + name if b"{" in name else prefix + b":{" + name + b"}"


def _remaining(deadline: Optional[float]) -> float:
    return float("inf") if deadline is None else deadline - time.monotonic()

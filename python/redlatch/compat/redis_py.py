"""Lock with the names, meanings and exceptions of redis-py's lock, and Redis, whose lock() makes it.

It is a plain lock of redlatch, so it excludes redis-py's own locks of that name and is excluded by them. A waiter gets
a message instead of polling; while redis-py's own lock is held it asks every 0.1 s. What differs:

- Without `timeout` the lock is renewed while it is held, so the key has a TTL, and the lock of a process that died is
  free after 30 s.
- `acquire(token=...)` raises UnsupportedError: the value of the key is redlatch's own.
- `sleep` only says, as in redis-py, that a wait which is shorter than it is none.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import functools
import logging
import math
import os
import threading
import weakref
from types import TracebackType
from typing import Any, Dict, NoReturn, Optional, Type, Union, cast

import redis
from redis import exceptions

from redlatch._ffi import FOREVER, RENEWED, lib
from redlatch.client import Client
from redlatch.durations import span_ms, wait_ms
from redlatch.errors import (
    LockLostError,
    NotOwnedError,
    RedlatchError,
    ServerError,
    UnreachableError,
    UnsupportedError,
)
from redlatch.holds import Hold
from redlatch.like import connect_like, pool_of
from redlatch.locks import LockState
from redlatch.owners import new_number
from redlatch.statuses import Status

__all__ = ["Lock", "Redis"]

logger = logging.getLogger("redlatch")

Number = Union[int, float]


class _Clients:
    """The redlatch client of each connection pool of redis-py: one, which lives as long as the pool."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._of_pool: weakref.WeakKeyDictionary[Any, Client] = weakref.WeakKeyDictionary()

    def of(self, given: Any) -> Client:
        """A redlatch client for what a Lock is given. It connects at its first use. When it is closed, what is held
        runs out, as it does when redis-py's client is closed."""
        if isinstance(given, Client):
            return given
        if type(given).__module__.startswith("redis.asyncio"):
            raise TypeError(f"redis is {given!r}; expected redis.Redis: this Lock blocks, and would block the loop")
        pool = pool_of(given)
        with self._guard:
            client = self._of_pool.get(pool)
            if client is None or client.closed:
                client = self._of_pool[pool] = connect_like(given, lazy=True, release_on_close=False)
        return client


_clients = _Clients()


def _begin_child() -> None:
    # The clients are the parent's, and so are their connections.
    global _clients
    _clients = _Clients()


os.register_at_fork(after_in_child=_begin_child)


class _Held:
    """What Lock.local has when all threads share it."""

    token: Optional[bytes] = None
    hold: Optional[Hold] = None


@functools.cache
def _held_by(local: Any) -> Any:
    """The class of Lock.local when each thread has its own. Its base is threading.local, which gevent may replace."""

    class HeldByThread(_Held, local):  # type: ignore[misc]
        pass

    return HeldByThread


class Lock:
    """A lock by name with redis-py's arguments and methods.

    `redis` is a client of redis-py, whose address and credentials are taken, or a redlatch.Client. Each acquire has an
    owner of its own, so no Lock is reentrant, and two Locks of one name exclude each other in one thread. A hold ends
    by release(), or when its time is over, not with the Lock object.

    Example:
        >>> import redis
        >>> from redlatch.compat.redis_py import Lock
        >>> with Lock(redis.Redis.from_url(client.url), "orders:42", timeout=10, blocking_timeout=5) as lock:
        ...     lock.owned()
        True
    """

    def __init__(
        self,
        redis: Any,
        name: Union[str, bytes],
        timeout: Optional[Number] = None,
        sleep: Number = 0.1,
        blocking: bool = True,
        blocking_timeout: Optional[Number] = None,
        thread_local: bool = True,
        raise_on_release_error: bool = True,
    ) -> None:
        """Makes a lock; nothing is sent.

        Args:
            redis: A redis-py client, its connection pool, or a redlatch.Client.
            name: The key.
            timeout: Seconds after which the lock ends by itself; None or 0 means that it is renewed until release().
            sleep: A blocking_timeout that is shorter than this tries once.
            blocking: Whether acquire() waits.
            blocking_timeout: How long; None means for ever.
            thread_local: Whether only the thread that acquired can release.
            raise_on_release_error: Whether the end of a `with` raises when the lock was lost, or logs.
        """
        self.redis = redis
        self.name = name
        self.timeout = timeout
        self.sleep = sleep
        self.blocking = blocking
        self.blocking_timeout = blocking_timeout
        self.thread_local = bool(thread_local)
        self.raise_on_release_error = raise_on_release_error
        self.local: _Held = _held_by(threading.local)() if thread_local else _Held()
        self._lease_ms()
        self._lock = _clients.of(redis).plain_lock(name)

    def acquire(
        self,
        sleep: Optional[Number] = None,
        blocking: Optional[bool] = None,
        blocking_timeout: Optional[Number] = None,
        token: Optional[Union[str, bytes]] = None,
    ) -> bool:
        """Acquires the lock; arguments that are None are those of the lock.

        Args:
            sleep: As of the lock.
            blocking: As of the lock.
            blocking_timeout: As of the lock.
            token: None; another one is an UnsupportedError.

        Returns:
            Whether the lock was obtained.
        """
        if token is not None:
            raise UnsupportedError(f"token is {token!r}; expected None: redlatch makes the value of the key itself")
        wait = _wait_ms(
            self.sleep if sleep is None else sleep,
            self.blocking if blocking is None else blocking,
            self.blocking_timeout if blocking_timeout is None else blocking_timeout,
        )
        try:
            hold = self._lock._obtain(wait, self._lease_ms(), False, new_number())
        except (UnreachableError, ServerError) as error:
            raise _translated(error) from error
        if hold is None:
            return False
        self._keep(hold)
        self._lock._client._losses.expect(hold._serial, _forget, hold)
        return True

    def release(self) -> None:
        """Releases the lock.

        Raises:
            redis.exceptions.LockError: The caller has not acquired it.
            redis.exceptions.LockNotOwnedError: The caller has lost it.
        """
        hold = self._held("release")
        self.local.token = self.local.hold = None
        try:
            hold.release()
        except (LockLostError, NotOwnedError) as error:
            self._raise_lost("release", error)
        except (UnreachableError, ServerError) as error:
            raise _translated(error) from error

    def extend(self, additional_time: Number, replace_ttl: bool = False) -> bool:
        """Adds seconds to what is left of the lock's time, or with `replace_ttl` lets it end so many seconds from now.

        Args:
            additional_time: Seconds.
            replace_ttl: Whether they replace what is left.

        Returns:
            True.

        Raises:
            redis.exceptions.LockError: The caller has not acquired it, or it has no `timeout`.
            redis.exceptions.LockNotOwnedError: The caller has lost it.
        """
        hold = self._held_for_a_time("extend")
        if replace_ttl:
            return self._extend(hold, additional_time, "extend")
        state = self._state()
        if state.owner != hold.owner or state.ttl == math.inf:
            self._raise_lost("extend", None)
        return self._extend(hold, state.ttl + additional_time, "extend")

    def reacquire(self) -> bool:
        """Lets the lock end `timeout` seconds from now.

        Returns:
            True.

        Raises:
            redis.exceptions.LockError: The caller has not acquired it, or it has no `timeout`.
            redis.exceptions.LockNotOwnedError: The caller has lost it.
        """
        return self._extend(self._held_for_a_time("reacquire"), cast(Number, self.timeout), "reacquire")

    def locked(self) -> bool:
        """Asks the server whether anybody holds the lock."""
        return bool(self._state().locked)

    def owned(self) -> bool:
        """Asks the server whether the caller holds the lock."""
        hold = self.local.hold
        return self._state().owner == hold.owner if hold is not None else False

    def __enter__(self) -> Lock:
        if not self.acquire():
            raise _lock_error(exceptions.LockError, "the lock was not obtained in time", self.name)
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        try:
            self.release()
        except exceptions.LockError as failed:
            if self.raise_on_release_error:
                raise
            logger.warning("%s", failed)

    def _lease_ms(self) -> int:
        return span_ms(self.timeout, "timeout") if self.timeout else RENEWED

    def _state(self) -> LockState:
        try:
            return self._lock.state()
        except (UnreachableError, ServerError) as error:
            raise _translated(error) from error

    def _keep(self, hold: Hold) -> None:
        self.local.token = hold.owner.encode()
        self.local.hold = hold

    def _held(self, what: str) -> Hold:
        """What the caller has acquired, to `what` it."""
        hold = self.local.hold
        if hold is None:
            message = f"cannot {what} the lock: the caller has not acquired it"
            raise _lock_error(exceptions.LockError, message, self.name)
        return hold

    def _held_for_a_time(self, what: str) -> Hold:
        hold = self._held(what)
        if self.timeout is None:
            raise _lock_error(exceptions.LockError, f"cannot {what} the lock: it has no timeout", self.name)
        return hold

    def _extend(self, hold: Hold, seconds: Number, what: str) -> bool:
        try:
            hold.extend(seconds)
        except (LockLostError, NotOwnedError) as error:
            self._raise_lost(what, error)
        except (UnreachableError, ServerError) as error:
            raise _translated(error) from error
        self._keep(hold)  # an extension whose reply was lost may have changed the owner id
        return True

    def _raise_lost(self, what: str, error: Optional[RedlatchError]) -> NoReturn:
        message = f"cannot {what} the lock: the caller no longer holds it"
        raise _lock_error(exceptions.LockNotOwnedError, message, self.name) from error


class Redis(redis.Redis):
    """redis-py's client, whose lock() makes the Lock of this module."""

    def lock(
        self,
        name: Union[str, bytes],
        timeout: Optional[Number] = None,
        sleep: Number = 0.1,
        blocking: bool = True,
        blocking_timeout: Optional[Number] = None,
        lock_class: Optional[Any] = None,
        thread_local: bool = True,
        raise_on_release_error: bool = True,
    ) -> Any:
        """Makes a lock; the arguments are those of Lock, and `lock_class` as in redis-py."""
        return (Lock if lock_class is None else lock_class)(
            self,
            name,
            timeout=timeout,
            sleep=sleep,
            blocking=blocking,
            blocking_timeout=blocking_timeout,
            thread_local=thread_local,
            raise_on_release_error=raise_on_release_error,
        )


def _forget(hold: Hold) -> None:
    """The owner of a hold that is lost acquires nothing else, and may never release it."""
    lib.redlatch_owner_end(hold._number)


_BY_STATUS: Dict[Status, Type[exceptions.RedisError]] = {
    Status.NO_REPLY: exceptions.TimeoutError,
    Status.READ_ONLY: exceptions.ReadOnlyError,
    Status.SERVER_OUT_OF_MEMORY: exceptions.OutOfMemoryError,
    Status.LOADING: exceptions.BusyLoadingError,
    Status.AUTHENTICATION: exceptions.AuthenticationError,
    Status.NO_PERMISSION: exceptions.NoPermissionError,
}


def _translated(error: Union[UnreachableError, ServerError]) -> exceptions.RedisError:
    """redis-py's exception for what the server or the network did."""
    usual = exceptions.ConnectionError if isinstance(error, UnreachableError) else exceptions.ResponseError
    return _BY_STATUS.get(error.status, usual)(str(error))


def _lock_error(kind: Any, message: str, name: Union[str, bytes]) -> exceptions.LockError:
    """An exception of redis-py, whose constructors have no types."""
    error: exceptions.LockError = kind(message, lock_name=name)
    return error


def _wait_ms(sleep: Number, blocking: bool, blocking_timeout: Optional[Number]) -> int:
    """How long an acquire waits. redis-py gives up at once where its first pause would end too late."""
    if not blocking:
        return 0
    if blocking_timeout is None:
        return FOREVER
    return 0 if blocking_timeout <= 0 or sleep > blocking_timeout else wait_ms(blocking_timeout, "blocking_timeout")

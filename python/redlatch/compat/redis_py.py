"""Lock with the names, meanings and exceptions of redis-py's lock, and Redis, whose lock() makes it.

It is a plain lock of redlatch, so it excludes redis-py's own locks of that name and is excluded by them. A waiter gets
a message instead of polling; while one of redis-py's own locks is held, it polls every 0.1 s. What differs:

- Without `timeout` the lock is renewed while it is held. So the key has a TTL, and the lock of a process that died is
  free after 30 s.
- `acquire(token=...)` raises UnsupportedError: the value of the key is redlatch's own.
- `sleep` has one effect, which redis-py's has, too: an acquire whose wait is shorter than `sleep` tries once.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
from types import TracebackType
from typing import Any, Optional, Type, Union, cast

import redis
from redis import exceptions

from redlatch import locks
from redlatch.client import Client
from redlatch.compat.redis_py_base import BaseLock, Clients, Number, forget, lock_error, translated
from redlatch.errors import LockLostError, NotOwnedError, RedlatchError, ServerError, UnreachableError
from redlatch.holds import Hold
from redlatch.like import connect_like
from redlatch.owners import new_number

__all__ = ["Lock", "Redis"]


_clients: Clients[Client] = Clients(
    lambda given: connect_like(given, lazy=True, release_on_close=False), lambda client: not client.closed
)


class Lock(BaseLock[Hold]):
    """A lock by name with redis-py's arguments and methods.

    `redis` is a client of redis-py, whose address and credentials are taken, or a redlatch.Client. Each acquire has an
    owner of its own. So no Lock is reentrant, and two Locks of one name exclude each other in one thread. A hold ends
    by release() or when its time is over, not when the Lock object is deleted.

    Example:
        >>> import redis
        >>> from redlatch.compat.redis_py import Lock
        >>> with Lock(redis.Redis.from_url(client.url), "orders:42", timeout=10, blocking_timeout=5) as lock:
        ...     lock.owned()
        True
    """

    _lock: locks.Lock

    def _new_lock(self) -> locks.Lock:
        given = self.redis
        if isinstance(given, Client):
            return given.plain_lock(self.name, on_lost=forget)
        if type(given).__module__.startswith("redis.asyncio"):
            raise TypeError(
                f"redis is {given!r}; expected redis.Redis: this Lock blocks, and would block the loop; "
                "redlatch.compat.redis_py_asyncio has one that does not"
            )
        return _clients.of(given).plain_lock(self.name, on_lost=forget)

    def acquire(
        self,
        sleep: Optional[Number] = None,
        blocking: Optional[bool] = None,
        blocking_timeout: Optional[Number] = None,
        token: Optional[Union[str, bytes]] = None,
    ) -> bool:
        """Acquires the lock; arguments that are None are those of the lock.

        Args:
            sleep: None: that of the lock.
            blocking: None: that of the lock.
            blocking_timeout: None: that of the lock.
            token: None; any other value raises an UnsupportedError.

        Returns:
            Whether the lock was obtained.

        Raises:
            redis.exceptions.LockNotOwnedError: The `timeout` was over when the server's reply came.
        """
        wait = self._wait_ms(sleep, blocking, blocking_timeout, token)
        hold: Optional[Hold] = None
        try:
            hold = self._lock._obtain(wait, self._lease_ms(), False, new_number())
            if hold is None:
                return False
            self._keep(hold)
            return True
        except LockLostError as error:
            self._raise_lost("acquire", error)
        except (UnreachableError, ServerError) as error:
            raise translated(error) from error
        except BaseException:  # Ctrl-C, perhaps after the grant
            if hold is not None:
                self._drop(hold)
                self._lock._give_back(hold)
            raise

    def release(self) -> None:
        """Releases the lock.

        Raises:
            redis.exceptions.LockError: The caller has not acquired it.
            redis.exceptions.LockNotOwnedError: The caller has lost it.
        """
        hold = self._taken()
        try:
            hold.release()
        except (LockLostError, NotOwnedError) as error:
            self._raise_lost("release", error)
        except (UnreachableError, ServerError) as error:
            raise translated(error) from error
        except BaseException as error:
            if not isinstance(error, RedlatchError) and not hold._released:  # Ctrl-C came before the release
                self._keep(hold)
            raise

    def extend(self, additional_time: Number, replace_ttl: bool = False) -> bool:
        """Adds seconds to the rest of the lock's time. With `replace_ttl` the time ends this many seconds from now
        instead.

        Args:
            additional_time: The seconds.
            replace_ttl: Whether they replace the rest of the time.

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
        hold: Optional[Hold] = self.local.hold
        return self._state().owner == hold.owner if hold is not None else False

    def __enter__(self) -> Lock:
        if not self.acquire():
            raise lock_error(exceptions.LockError, "the lock was not obtained in time", self.name)
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        hold = self.local.hold
        try:
            self.release()
        except exceptions.LockError as failed:
            self._left(failed)
        except BaseException as interrupt:
            if hold is not None and self.local.hold is hold:  # Ctrl-C came before the release
                self.__exit__(type(interrupt), interrupt, None)
            raise

    def _state(self) -> locks.LockState:
        try:
            return self._lock.state()
        except (UnreachableError, ServerError) as error:
            raise translated(error) from error

    def _extend(self, hold: Hold, seconds: Number, what: str) -> bool:
        try:
            hold.extend(seconds)
        except (LockLostError, NotOwnedError) as error:
            self._raise_lost(what, error)
        except (UnreachableError, ServerError) as error:
            raise translated(error) from error
        self._keep(hold)  # an extension whose reply was lost may have changed the owner id
        return True


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

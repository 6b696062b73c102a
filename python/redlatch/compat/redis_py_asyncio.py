"""Lock with the names, meanings and exceptions of redis.asyncio's lock, and Redis, whose lock() makes it.

It differs from redis-py's lock as the Lock of redlatch.compat.redis_py does. A task that is cancelled in acquire()
holds nothing, and a cancelled release is completed.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
from types import TracebackType
from typing import Any, Coroutine, Optional, Type, Union, cast

import redis.asyncio
from redis import exceptions

from redlatch._ffi import ffi
from redlatch.aio import locks
from redlatch.aio.client import Client
from redlatch.aio.holds import Hold
from redlatch.aio.like import connect_like
from redlatch.compat.redis_py_base import BaseLock, Clients, Number, forget, lock_error, translated
from redlatch.errors import LockLostError, NotOwnedError, ServerError, UnreachableError
from redlatch.locks import LockState
from redlatch.owners import new_number

__all__ = ["Lock", "Redis"]


def _is_usable(client: Client) -> bool:
    """Returns whether a client may be used here. It belongs to the first loop in which it is used."""
    loop = None if client.closed else client._dispatcher.loop
    return not client.closed and (loop is None or loop.runs_here())


_clients: Clients[Client] = Clients(lambda given: connect_like(given, lazy=True, release_on_close=False), _is_usable)


class Lock(BaseLock[Hold]):
    """A lock by name with the arguments and methods of redis.asyncio.lock.Lock.

    `redis` is a client of redis.asyncio, whose address and credentials are taken, or a redlatch.aio.Client. Each
    acquire has an owner of its own. So no Lock is reentrant, and two Locks of one name exclude each other in one task.
    As in redis-py, any task of the thread may release it. A hold ends by release() or when its time is over, not when
    the Lock object is deleted or a task ends.

    Example:
        >>> import redis.asyncio
        >>> from redlatch.compat.redis_py_asyncio import Lock
        >>> theirs = redis.asyncio.Redis.from_url(client.url)
        >>> async with Lock(theirs, "orders:42", timeout=10, blocking_timeout=5) as lock:
        ...     await lock.owned()
        True
    """

    _lock: locks.Lock

    def _new_lock(self) -> locks.Lock:
        given = self.redis
        if isinstance(given, Client):
            return given.plain_lock(self.name, on_lost=forget)
        if type(given).__module__.startswith("redis.") and not type(given).__module__.startswith("redis.asyncio"):
            raise TypeError(
                f"redis is {given!r}; expected redis.asyncio.Redis: redlatch.compat.redis_py has a Lock that blocks"
            )
        return _clients.of(given).plain_lock(self.name, on_lost=forget)

    async def acquire(
        self,
        blocking: Optional[bool] = None,
        blocking_timeout: Optional[Number] = None,
        token: Optional[Union[str, bytes]] = None,
    ) -> bool:
        """Acquires the lock; arguments that are None are those of the lock.

        Args:
            blocking: None: that of the lock.
            blocking_timeout: None: that of the lock.
            token: None; any other value raises an UnsupportedError.

        Returns:
            Whether the lock was obtained.

        Raises:
            redis.exceptions.LockNotOwnedError: The `timeout` was over when the server's reply came.
        """
        wait = self._wait_ms(None, blocking, blocking_timeout, token)
        number = new_number()
        try:
            call = await self._lock._obtain(number, wait, self._lease_ms())
        except LockLostError as error:
            self._raise_lost("acquire", error)
        except (UnreachableError, ServerError) as error:
            raise translated(error) from error
        if call.status:
            return False
        self._keep(Hold(self._lock, number, ffi.buffer(self._lock._standing(number))[:]))
        return True

    def release(self) -> Coroutine[Any, Any, None]:
        """Returns a coroutine that releases the lock. From the call on, even before it is awaited, the caller counts as
        one that has not acquired the lock.

        Raises:
            redis.exceptions.LockError: The caller has not acquired it; raised at once.
            redis.exceptions.LockNotOwnedError: The caller has lost it.
        """
        return self._release(self._taken())

    def extend(self, additional_time: Number, replace_ttl: bool = False) -> Coroutine[Any, Any, bool]:
        """Adds seconds to the rest of the lock's time. With `replace_ttl` the time ends this many seconds from now
        instead.

        Args:
            additional_time: The seconds.
            replace_ttl: Whether they replace the rest of the time.

        Returns:
            True; to be awaited.

        Raises:
            redis.exceptions.LockError: The caller has not acquired it, or it has no `timeout`; raised at once.
            redis.exceptions.LockNotOwnedError: The caller has lost it.
        """
        hold = self._held_for_a_time("extend")
        if replace_ttl:
            return self._extend(hold, additional_time, "extend")
        return self._add(hold, additional_time)

    def reacquire(self) -> Coroutine[Any, Any, bool]:
        """Lets the lock end `timeout` seconds from now.

        Returns:
            True; to be awaited.

        Raises:
            redis.exceptions.LockError: The caller has not acquired it, or it has no `timeout`; raised at once.
            redis.exceptions.LockNotOwnedError: The caller has lost it.
        """
        return self._extend(self._held_for_a_time("reacquire"), cast(Number, self.timeout), "reacquire")

    async def locked(self) -> bool:
        """Asks the server whether anybody holds the lock."""
        return bool((await self._state()).locked)

    async def owned(self) -> bool:
        """Asks the server whether the caller holds the lock."""
        hold: Optional[Hold] = self.local.hold
        return (await self._state()).owner == hold.owner if hold is not None else False

    async def __aenter__(self) -> Lock:
        if not await self.acquire():
            raise lock_error(exceptions.LockError, "the lock was not obtained in time", self.name)
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        try:
            await self.release()
        except exceptions.LockError as failed:
            self._left(failed)

    async def _state(self) -> LockState:
        try:
            return await self._lock.state()
        except (UnreachableError, ServerError) as error:
            raise translated(error) from error

    async def _release(self, hold: Hold) -> None:
        try:
            await hold.release()
        except (LockLostError, NotOwnedError) as error:
            self._raise_lost("release", error)
        except (UnreachableError, ServerError) as error:
            raise translated(error) from error

    async def _add(self, hold: Hold, seconds: Number) -> bool:
        state = await self._state()
        if state.owner != hold.owner or state.ttl == math.inf:
            self._raise_lost("extend", None)
        return await self._extend(hold, state.ttl + seconds, "extend")

    async def _extend(self, hold: Hold, seconds: Number, what: str) -> bool:
        try:
            await hold.extend(seconds)
        except (LockLostError, NotOwnedError) as error:
            self._raise_lost(what, error)
        except (UnreachableError, ServerError) as error:
            raise translated(error) from error
        self._keep(hold)  # an extension whose reply was lost may have changed the owner id
        return True


class Redis(redis.asyncio.Redis):
    """The client of redis.asyncio, whose lock() makes the Lock of this module."""

    def lock(
        self,
        name: Any,
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

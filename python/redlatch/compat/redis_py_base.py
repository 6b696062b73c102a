"""What the locks with redis-py's interface share: the clients, the arguments, the hold of an acquire, and redis-py's
exceptions.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import functools
import logging
import os
import threading
import weakref
from typing import Any, Callable, Dict, Generic, NoReturn, Optional, Type, TypeVar, Union

from redis import exceptions

from redlatch._ffi import FOREVER, RENEWED, lib
from redlatch.durations import span_ms, wait_ms
from redlatch.errors import RedlatchError, ServerError, UnreachableError, UnsupportedError
from redlatch.holds import BaseHold
from redlatch.like import pool_of
from redlatch.statuses import Status

logger = logging.getLogger("redlatch")

Number = Union[int, float]
AnyClient = TypeVar("AnyClient")
AnyHold = TypeVar("AnyHold", bound=BaseHold)


class Clients(Generic[AnyClient]):
    """One redlatch client for each connection pool of redis-py. It lives as long as the pool, and connects at its first
    use. When it is closed, its holds end with their leases, as when redis-py's client is closed. A forked child has
    clients of its own."""

    def __init__(self, open_like: Callable[[Any], AnyClient], is_usable: Callable[[AnyClient], bool]) -> None:
        self._open_like = open_like
        self._is_usable = is_usable
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._guard = threading.Lock()
        self._of_pool: weakref.WeakKeyDictionary[Any, AnyClient] = weakref.WeakKeyDictionary()

    def of(self, given: Any) -> AnyClient:
        """Returns the redlatch client for the redis-py client, or pool, that a Lock is given."""
        pool = getattr(given, "nodes_manager", None) or pool_of(given)
        with self._guard:
            client = self._of_pool.get(pool)
            if client is None or not self._is_usable(client):
                client = self._of_pool[pool] = self._open_like(given)
        return client


def forget(hold: BaseHold) -> None:
    """Ends the owner of a lost hold: it acquires nothing else, and may never release the hold."""
    lib.redlatch_owner_end(hold._number)


class _Held:
    """The attributes of Lock.local: the token, which is the owner id, and the hold."""

    token: Optional[bytes] = None
    hold: Any = None


@functools.cache
def _held_by(local: Any) -> Any:
    """Returns the class of Lock.local if each thread has its own. Its base is threading.local, which gevent may
    replace."""

    class HeldByThread(_Held, local):  # type: ignore[misc]
        pass

    return HeldByThread


class BaseLock(Generic[AnyHold]):
    """A lock by name with redis-py's arguments and attributes."""

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
            redis: A redis-py client, its connection pool, or a client of redlatch.
            name: The key.
            timeout: Seconds after which the lock ends by itself. None or 0: it is renewed until release().
            sleep: A blocking_timeout that is shorter than this tries once.
            blocking: Whether acquire() waits.
            blocking_timeout: How long acquire() waits. None: for ever.
            thread_local: Whether only the thread that acquired can release.
            raise_on_release_error: Whether the end of a `with` raises if the lock was lost; else it logs.
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
        self._lock: Any = self._new_lock()

    def _new_lock(self) -> Any:
        """Makes the plain lock of redlatch behind this object."""
        raise NotImplementedError

    def _lease_ms(self) -> int:
        return span_ms(self.timeout, "timeout") if self.timeout else RENEWED

    def _wait_ms(
        self, sleep: Optional[Number], blocking: Optional[bool], blocking_timeout: Optional[Number], token: Any
    ) -> int:
        """Returns how long an acquire with these arguments waits. Like redis-py, it tries once if the first pause would
        end after the deadline."""
        if token is not None:
            raise UnsupportedError(f"token is {token!r}; expected None: redlatch makes the value of the key itself")
        if not (self.blocking if blocking is None else blocking):
            return 0
        if blocking_timeout is None:
            blocking_timeout = self.blocking_timeout
        if blocking_timeout is None:
            return FOREVER
        pause = self.sleep if sleep is None else sleep
        if blocking_timeout <= 0 or pause > blocking_timeout:
            return 0
        return wait_ms(blocking_timeout, "blocking_timeout")

    def _keep(self, hold: AnyHold) -> None:
        self.local.token = hold.owner.encode()
        self.local.hold = hold

    def _drop(self, hold: AnyHold) -> None:
        """Undoes _keep(), unless another hold was kept meanwhile."""
        if self.local.hold is hold:
            self.local.token = self.local.hold = None

    def _held(self, what: str) -> AnyHold:
        """Returns the hold that the caller has acquired. `what` is what the call does with it, for the error."""
        hold: Optional[AnyHold] = self.local.hold
        if hold is None:
            message = f"cannot {what} the lock: the caller has not acquired it"
            raise lock_error(exceptions.LockError, message, self.name)
        return hold

    def _held_for_a_time(self, what: str) -> AnyHold:
        hold = self._held(what)
        if not self.timeout:
            raise lock_error(exceptions.LockError, f"cannot {what} the lock: it has no timeout", self.name)
        return hold

    def _taken(self) -> AnyHold:
        """Removes and returns the hold that the caller has acquired, for its release. It is removed even if the release
        fails."""
        hold = self._held("release")
        self.local.token = self.local.hold = None
        return hold

    def _raise_lost(self, what: str, error: Optional[RedlatchError]) -> NoReturn:
        message = f"cannot {what} the lock: the caller no longer holds it"
        raise lock_error(exceptions.LockNotOwnedError, message, self.name) from error

    def _left(self, failed: exceptions.LockError) -> None:
        """Handles a failed release at the end of a `with` block."""
        if self.raise_on_release_error:
            raise failed
        logger.warning("%s", failed)


_BY_STATUS: Dict[Status, Type[exceptions.RedisError]] = {
    Status.NO_REPLY: exceptions.TimeoutError,
    Status.READ_ONLY: exceptions.ReadOnlyError,
    Status.SERVER_OUT_OF_MEMORY: exceptions.OutOfMemoryError,
    Status.LOADING: exceptions.BusyLoadingError,
    Status.AUTHENTICATION: exceptions.AuthenticationError,
    Status.NO_PERMISSION: exceptions.NoPermissionError,
}


def translated(error: Union[UnreachableError, ServerError]) -> exceptions.RedisError:
    """Returns redis-py's exception for an error of the server or the network."""
    usual = exceptions.ConnectionError if isinstance(error, UnreachableError) else exceptions.ResponseError
    return _BY_STATUS.get(error.status, usual)(str(error))


def lock_error(kind: Any, message: str, name: Union[str, bytes]) -> exceptions.LockError:
    """Returns an exception of redis-py. This function has types, and redis-py's constructors have none."""
    error: exceptions.LockError = kind(message, lock_name=name)
    return error

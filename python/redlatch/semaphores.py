"""Semaphore: a number of permits that are taken and given back.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Optional, Type, Union

from redlatch._ffi import CData, ffi, lib
from redlatch.counts import Limited, whole
from redlatch.durations import LOCK_TIMEOUT, LockTimeout, Seconds, blocking_wait_ms, limit_ms
from redlatch.errors import LockName, LockTimeoutError, failure, left_badly
from redlatch.other_names import refuse_other_names
from redlatch.watching import WaitCall, new_status, wait_for

if TYPE_CHECKING:
    from redlatch.aio.dispatch import Call
    from redlatch.client import Client
    from redlatch.hub import HubDispatcher

_release = lib.redlatch_semaphore_release
_ACQUIRE = WaitCall(lib.redlatch_semaphore_begin_acquire, lib.redlatch_semaphore_start_acquire)


class Semaphore(Limited):
    """A semaphore, made by Client.semaphore(); Redisson's RSemaphore. It is used like threading.Semaphore.

    Permits have no owner: anybody may release them. The permits of a process that died stay taken; those of a permit
    semaphore do not. The waiters of one client are served in the order of arrival: a waiter for many permits delays
    those behind it. A semaphore that nobody has made, by try_set_permits() or `limit`, has no permits: acquire() waits
    until somebody makes it.

    `with semaphore:` takes one permit, and releases it at the end. After the semaphore's timeout it raises a
    LockTimeoutError. If nobody made the semaphore it raises a NotFoundError, unless `wait_for_creation` is True.

    Example:
        >>> gate = client.semaphore("gate", limit=2, timeout=5)
        >>> with gate:
        ...     gate.available()
        1
    """

    __slots__ = ()
    _client: Client

    def __init__(
        self,
        client: Client,
        name: LockName,
        timeout: Optional[Seconds],
        limit: Optional[int],
        wait_for_creation: bool,
    ) -> None:
        super().__init__(client, name, "semaphore", timeout, lib.REDLATCH_RENEWED, limit, wait_for_creation)

    def try_set_permits(self, permits: int, *, ttl: Optional[Seconds] = None) -> bool:
        """Makes the semaphore with this number of permits, if it does not exist.

        Args:
            permits: 0 or more.
            ttl: The seconds after which the semaphore vanishes; None means never.

        Returns:
            True if the semaphore was made; False if it existed already.

        Example:
            >>> gate = client.semaphore("gate")
            >>> gate.try_set_permits(2), gate.try_set_permits(9)
            (True, False)
        """
        return self._flag(
            lib.redlatch_semaphore_try_set_permits, whole(permits, "permits", 0), limit_ms(ttl, "ttl")
        )

    def acquire(
        self,
        permits: int = 1,
        *,
        blocking: bool = True,
        timeout: Union[Seconds, LockTimeout, None] = LOCK_TIMEOUT,
        **others: NoReturn,
    ) -> bool:
        """Takes this number of permits at once, and waits for them like threading.Semaphore.

        Args:
            permits: 0 or more.
            blocking: False tries once.
            timeout: The default is the semaphore's timeout. None or -1: for ever. 0: tries once.

        Returns:
            True if the permits were obtained, else False.

        Example:
            >>> gate = client.semaphore("gate", limit=3)
            >>> gate.acquire(2), gate.acquire(2, timeout=0.1)
            (True, False)
            >>> gate.release(2)
        """
        if others:
            refuse_other_names("acquire", others)
        count = whole(permits, "permits", 0)
        wait = blocking_wait_ms(blocking, timeout, self._wait_ms)
        try:
            if count > 0:
                self._take(self._handle, count, wait)
            else:
                self._call(lib.redlatch_semaphore_acquire, 0, wait, ffi.NULL)
        except LockTimeoutError:
            return False
        return True

    def _take(self, handle: CData, count: int, wait: int) -> None:
        status = new_status()

        def undo(dispatcher: HubDispatcher, _call: Call) -> None:
            dispatcher.give_back(lib.redlatch_semaphore_start_release, handle, count, kept=self)

        try:
            wait_for(self._client, self._name, status, _ACQUIRE, handle, count, wait, kept=self, undo=undo)
        except BaseException:
            if status[0] == 0:
                lib.redlatch_semaphore_release(handle, count)
            raise

    def release(self, permits: int = 1) -> None:
        """Adds this number of permits, and wakes waiters. Makes the semaphore if it does not exist.

        Example:
            >>> gate = client.semaphore("gate")
            >>> gate.release(2)
            >>> gate.available()
            2
        """
        self._call(lib.redlatch_semaphore_release, whole(permits, "permits", 0))

    def release_if_exists(self, permits: int = 1) -> bool:
        """Adds this number of permits if the semaphore exists.

        Returns:
            False if it does not exist.

        Example:
            >>> client.semaphore("gate").release_if_exists()
            False
        """
        return self._flag(lib.redlatch_semaphore_release_if_exists, whole(permits, "permits", 0))

    def add_permits(self, permits: int) -> None:
        """Adds permits. A negative number removes permits without waiting, even more than are available.

        Example:
            >>> gate = client.semaphore("gate")
            >>> gate.add_permits(-1)
            >>> gate.available()
            -1
        """
        self._call(lib.redlatch_semaphore_add_permits, whole(permits, "permits", None))

    def drain(self) -> int:
        """Takes all available permits.

        Returns:
            The number of permits taken. It is negative if the semaphore was in debt; this ends the debt.

        Example:
            >>> gate = client.semaphore("gate")
            >>> gate.release(3)
            >>> gate.drain(), gate.available()
            (3, 0)
        """
        number = ffi.new("int64_t *")
        try:
            self._call(lib.redlatch_semaphore_drain, number)
        except BaseException:  # Ctrl-C, when the permits were taken already
            if number[0]:
                lib.redlatch_semaphore_add_permits(self._handle, number[0])
            raise
        return int(number[0])

    def available(self) -> int:
        """Asks the server for the number of available permits: 0 if the semaphore does not exist, negative if it is in
        debt.

        Example:
            >>> client.semaphore("gate").available()
            0
        """
        return self._number(lib.redlatch_semaphore_available)

    def delete(self) -> bool:
        """Deletes the semaphore. Waiters continue to wait.

        Returns:
            False if there was none.

        Example:
            >>> client.semaphore("gate").delete()
            False
        """
        return self._flag(lib.redlatch_semaphore_delete)

    def __enter__(self) -> Semaphore:
        self._take(self._scoped_handle, 1, self._wait_ms)
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        # Nothing is called before the release, so Python, from 3.10 on, raises no KeyboardInterrupt in between.
        status: int = _release(self._handle, 1)
        if status:
            left_badly(f"the semaphore {self._name!r}", failure(status, self._name), error)

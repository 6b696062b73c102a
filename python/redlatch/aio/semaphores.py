"""Semaphore: a number of permits that tasks take and give back.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Optional, Type, Union

from redlatch._ffi import CData, lib
from redlatch.aio.counts import Awaited
from redlatch.aio.dispatch import Call
from redlatch.counts import Limited, whole
from redlatch.durations import LOCK_TIMEOUT, LockTimeout, Seconds, blocking_wait_ms, limit_ms
from redlatch.errors import LockName, RedlatchError, left_badly
from redlatch.other_names import explain_other_names

if TYPE_CHECKING:
    from redlatch.aio.client import Client

_start_release = lib.redlatch_semaphore_start_release


class Semaphore(Awaited, Limited):
    """A semaphore, made by Client.semaphore(); see redlatch.Semaphore. Permits have no owner: any task may release
    those that another one took.

    Example:
        >>> gate = client.semaphore("gate", limit=2, timeout=5)
        >>> async with gate:
        ...     await gate.available()
        1
    """

    __slots__ = ()

    def __init__(
        self,
        client: Client,
        name: LockName,
        timeout: Optional[Seconds],
        limit: Optional[int],
        wait_for_creation: bool,
    ) -> None:
        super().__init__(client, name, "semaphore", timeout, lib.REDLATCH_RENEWED, limit, wait_for_creation)

    async def try_set_permits(self, permits: int, *, ttl: Optional[Seconds] = None) -> bool:
        """Makes the semaphore with this number of permits, if it does not exist.

        Args:
            permits: 0 or more.
            ttl: The seconds after which the semaphore vanishes; None means never.

        Returns:
            True if the semaphore was made; False if it existed already.

        Example:
            >>> gate = client.semaphore("gate")
            >>> await gate.try_set_permits(2), await gate.try_set_permits(9)
            (True, False)
        """
        start = lib.redlatch_semaphore_start_try_set_permits
        return bool(await self._ask(start, whole(permits, "permits", 0), limit_ms(ttl, "ttl")))

    @explain_other_names
    async def acquire(
        self,
        permits: int = 1,
        *,
        blocking: bool = True,
        timeout: Union[Seconds, LockTimeout, None] = LOCK_TIMEOUT,
    ) -> bool:
        """Takes this number of permits at once.

        Args:
            permits: 0 or more.
            blocking: False tries once.
            timeout: The default is the semaphore's timeout. None or -1: for ever. 0: tries once.

        Returns:
            True if the permits were obtained, else False.

        Example:
            >>> gate = client.semaphore("gate", limit=3)
            >>> await gate.acquire(2), await gate.acquire(2, timeout=0.1)
            (True, False)
            >>> await gate.release(2)
        """
        count = whole(permits, "permits", 0)
        wait = blocking_wait_ms(blocking, timeout, self._wait_ms)
        return count == 0 or (await self._take(self._handle, count, wait)).status == 0

    async def _take(self, handle: CData, count: int, wait: int) -> Call:
        def undo(call: Call) -> Optional[Call]:
            return self._dispatcher.give_back(_start_release, self._handle, count, kept=self)

        return await self._wait(lib.redlatch_semaphore_start_acquire, handle, count, wait, undo=undo)

    async def release(self, permits: int = 1) -> None:
        """Adds this number of permits, and wakes waiters, even if the task is cancelled. Makes the semaphore if it does
        not exist.

        Example:
            >>> gate = client.semaphore("gate")
            >>> await gate.release(2)
            >>> await gate.available()
            2
        """
        if whole(permits, "permits", 0):
            await self._change(_start_release, permits)

    async def release_if_exists(self, permits: int = 1) -> bool:
        """Adds this number of permits if the semaphore exists.

        Returns:
            False if it does not exist.

        Example:
            >>> await client.semaphore("gate").release_if_exists()
            False
        """
        if not whole(permits, "permits", 0):
            return False
        return bool(await self._change(lib.redlatch_semaphore_start_release_if_exists, permits))

    async def add_permits(self, permits: int) -> None:
        """Adds permits. A negative number removes permits without waiting, even more than are available.

        Example:
            >>> gate = client.semaphore("gate")
            >>> await gate.add_permits(-1)
            >>> await gate.available()
            -1
        """
        await self._change(lib.redlatch_semaphore_start_add_permits, whole(permits, "permits", None))

    async def drain(self) -> int:
        """Takes all available permits. If the task is cancelled, they are given back.

        Returns:
            The number of permits taken. It is negative if the semaphore was in debt; this ends the debt.

        Example:
            >>> gate = client.semaphore("gate")
            >>> await gate.release(3)
            >>> await gate.drain(), await gate.available()
            (3, 0)
        """

        def undo(call: Call) -> Optional[Call]:
            add = lib.redlatch_semaphore_start_add_permits
            return self._dispatcher.give_back(add, self._handle, call.number, kept=self)

        return (await self._wait(lib.redlatch_semaphore_start_drain, self._handle, undo=undo)).number

    async def available(self) -> int:
        """Asks the server for the number of available permits: 0 if the semaphore does not exist, negative if it is in
        debt.

        Example:
            >>> await client.semaphore("gate").available()
            0
        """
        return await self._ask(lib.redlatch_semaphore_start_available)

    async def delete(self) -> bool:
        """Deletes the semaphore. Waiters continue to wait.

        Returns:
            False if there was none.

        Example:
            >>> await client.semaphore("gate").delete()
            False
        """
        return bool(await self._ask(lib.redlatch_semaphore_start_delete))

    async def __aenter__(self) -> Semaphore:
        call = await self._take(self._scoped_handle, 1, self._wait_ms)
        if call.status:
            raise call.failure(self._name)
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        try:
            await self._change(_start_release, 1)
        except RedlatchError as failed:
            left_badly(f"the semaphore {self._name!r}", failed, error)

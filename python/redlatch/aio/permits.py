"""PermitSemaphore: a number of permits that have an id and a lease each, for tasks.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
import sys
from types import TracebackType
from typing import TYPE_CHECKING, List, Literal, Optional, Tuple, Type, Union

from redlatch._ffi import LEASE_OF_LOCK, CData, lib
from redlatch.aio.counts import Awaited
from redlatch.aio.dispatch import Call
from redlatch.aio.loops import Event
from redlatch.aio.owners import Blocks, number_of_task
from redlatch.counts import whole
from redlatch.durations import LOCK_TIMEOUT, LockTimeout, Seconds, blocking_wait_ms, lease_ms, span_ms
from redlatch.errors import (
    REFUSED,
    LockLostError,
    LockName,
    LockTimeoutError,
    NotOwnedError,
    RedlatchError,
    left_badly,
)
from redlatch.other_names import explain_other_names
from redlatch.permits import BasePermit, PermitHandle, id_bytes

if TYPE_CHECKING:
    from redlatch.aio.client import Client

_start_release = lib.redlatch_permit_semaphore_start_release_by_id


class Permit(BasePermit):
    """One permit of a permit semaphore, until it is released or lost. Any task may release it.

    `async with await semaphore.acquire() as permit:` releases the permit at the end. If the permit was lost, this
    raises a LockLostError, unless the block raised.

    Example:
        >>> slots = client.permit_semaphore("slots", limit=3)
        >>> async with await slots.acquire(timeout=5) as permit:
        ...     len(permit.id), permit.lost
        (32, False)
    """

    __slots__ = ("_lost_event",)
    _semaphore: PermitSemaphore

    PACKAGE = "redlatch.aio"

    def __init__(self, semaphore: PermitSemaphore, serial: int) -> None:
        super().__init__(semaphore, serial)
        self._lost_event: Optional[Event] = None

    @property
    def lost_event(self) -> Event:
        """An `asyncio.Event` or `trio.Event` that is set when the permit is lost."""
        if self._lost_event is None:
            self._lost_event = self._semaphore._client._losses.event(self._serial)
            if self.lost:
                self._lost_event.set()
        return self._lost_event

    async def release(self) -> None:
        """Releases the permit, even if the task is cancelled.

        Raises:
            LockLostError: The permit's lease had ended.
            NotOwnedError: The permit was released before.

        Example:
            >>> permit = await client.permit_semaphore("slots", limit=3).acquire()
            >>> await permit.release()
        """
        self._check_not_released()
        self._semaphore._dispatcher.bind()  # raises in another loop, before anything is released
        self._released = True
        try:
            await self._semaphore._change(_start_release, self._encoded_id)
        except RedlatchError as error:
            self._released = error.status not in REFUSED
            if isinstance(error, LockLostError):
                self._found_lost(error.reason)
            raise

    async def extend(self, seconds: Seconds) -> None:
        """Sets the lease to end this many seconds from now. It may end earlier than before. A renewed permit continues
        to be renewed.

        Args:
            seconds: The new time to the end of the lease; more than 0.

        Raises:
            LockLostError: The permit's lease had ended.
            NotOwnedError: The permit was released before.

        Example:
            >>> async with client.permit_semaphore("slots", limit=3, lease=5) as permit:
            ...     await permit.extend(60)
            ...     50 < permit.remaining() < 60
            True
        """
        self._check_not_released()
        try:
            await self._semaphore.extend(self._id, seconds)
        except LockLostError as lost:
            self._found_lost(lost.reason)
            raise

    async def __aenter__(self) -> Permit:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if self._released:
            return
        try:
            await self.release()
        except RedlatchError as failed:
            left_badly(f"the permit {self._id} of semaphore {self._semaphore.name!r}", failed, error)


class NoPermit:
    """The result of PermitSemaphore.acquire() after a timeout. It is false, and its `async with` raises the
    LockTimeoutError.

    Example:
        >>> slots = client.permit_semaphore("slots", limit=1)
        >>> async with slots:
        ...     bool(await slots.acquire(timeout=0.1))
        False
    """

    __slots__ = ("_timeout",)

    def __init__(self, timeout: LockTimeoutError) -> None:
        self._timeout = timeout

    def __bool__(self) -> Literal[False]:
        return False

    async def __aenter__(self) -> Permit:
        raise self._timeout

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        """Never called, because __aenter__() raises."""

    def __repr__(self) -> str:
        return f"<redlatch.aio.NoPermit: {self._timeout}>"


class PermitSemaphore(Awaited, PermitHandle):
    """Permits by name, each with an id and a lease, made by Client.permit_semaphore(); see redlatch.PermitSemaphore.

    Example:
        >>> slots = client.permit_semaphore("slots", limit=3, timeout=5)
        >>> async with slots as permit:
        ...     await slots.available(), await slots.acquired(), await slots.permits()
        (2, 1, 3)
    """

    __slots__ = ("_blocks",)

    def __init__(
        self,
        client: Client,
        name: LockName,
        timeout: Optional[Seconds],
        lease: Optional[Seconds],
        limit: Optional[int],
        wait_for_creation: bool,
    ) -> None:
        super().__init__(
            client, name, "permit_semaphore", timeout, lease_ms(lease, "lease"), limit, wait_for_creation
        )
        self._blocks: Blocks[Permit] = Blocks()

    @explain_other_names
    async def acquire(
        self,
        *,
        blocking: bool = True,
        timeout: Union[Seconds, LockTimeout, None] = LOCK_TIMEOUT,
        lease: Optional[Seconds] = None,
    ) -> Union[Permit, NoPermit]:
        """Takes a permit.

        Args:
            blocking: False tries once.
            timeout: The default is the semaphore's timeout. None or -1: for ever. 0: tries once.
            lease: Seconds: a fixed lease. -1: a lease that is renewed until the permit is released. None: the
                semaphore's.

        Returns:
            The permit, or after a timeout a NoPermit, which is false.

        Example:
            >>> slots = client.permit_semaphore("slots", limit=3)
            >>> permit = await slots.acquire(timeout=5, lease=60)
            >>> if permit:
            ...     await slots.release(permit.id)  # any process that knows the id may do this
        """
        call = await self._take(self._handle, 1, *self._waits(blocking, timeout, lease))
        if call.status:
            return NoPermit(LockTimeoutError(call.message, lock_name=self._name))
        return Permit(self, call.serial)

    async def acquire_many(
        self,
        permits: int,
        *,
        blocking: bool = True,
        timeout: Union[Seconds, LockTimeout, None] = LOCK_TIMEOUT,
        lease: Optional[Seconds] = None,
    ) -> List[Permit]:
        """Takes several permits at once, all or none.

        Args:
            permits: 1 to 1000.
            blocking: See acquire(), also for the details of the other arguments.
            timeout: How long to wait.
            lease: The lease of each permit.

        Returns:
            The permits; an empty list after a timeout.

        Example:
            >>> slots = client.permit_semaphore("slots", limit=3)
            >>> permits = await slots.acquire_many(2)
            >>> len(permits), await slots.acquire_many(2, blocking=False)
            (2, [])
        """
        count = whole(permits, "permits", 1, lib.REDLATCH_PERMITS_AT_ONCE_MAX)
        call = await self._take(self._handle, count, *self._waits(blocking, timeout, lease))
        return [] if call.status else [Permit(self, call.serial + i) for i in range(count)]

    def _waits(
        self, blocking: bool, timeout: Union[Seconds, LockTimeout, None], lease: Optional[Seconds]
    ) -> Tuple[int, int]:
        """Returns the wait and the lease of each permit, in milliseconds."""
        wait = blocking_wait_ms(blocking, timeout, self._wait_ms)
        return wait, LEASE_OF_LOCK if lease is None else lease_ms(lease, "lease")

    async def _take(self, handle: CData, count: int, wait: int, lease: int) -> Call:
        def undo(call: Call) -> Optional[Call]:
            release, last = lib.redlatch_permit_semaphore_start_release, None
            for i in range(count):
                last = self._dispatcher.give_back(release, self._handle, call.serial + i, kept=self)
            return last

        start = lib.redlatch_permit_semaphore_start_acquire
        return await self._wait(start, handle, count, lease, wait, undo=undo)

    async def release(self, permit: Union[Permit, str]) -> None:
        """Releases a permit, given as an object or by its id, whoever took it, even if the task is cancelled.

        Raises:
            LockLostError: The permit's lease had ended.
            NotOwnedError: There is no such permit, or it was lost so long ago that others may have had it since.

        Example:
            >>> slots = client.permit_semaphore("slots", limit=3)
            >>> await slots.release((await slots.acquire()).id)
        """
        if isinstance(permit, Permit):
            await permit.release()
        else:
            await self._change(_start_release, id_bytes(permit))

    async def extend(self, permit: Union[Permit, str], seconds: Seconds) -> None:
        """Sets a permit's lease to end this many seconds from now. It may end earlier than before. A renewed permit
        continues to be renewed.

        Args:
            permit: The permit, or its id.
            seconds: The new time to the end of the lease; more than 0.

        Raises:
            LockLostError: The permit's lease had ended.
            NotOwnedError: There is no such permit.

        Example:
            >>> slots = client.permit_semaphore("slots", limit=3, lease=5)
            >>> async with slots as permit:
            ...     await slots.extend(permit.id, 60)
            ...     50 < await slots.lease_of(permit) <= 60
            True
        """
        lease = span_ms(seconds, "seconds")
        if isinstance(permit, Permit):
            await permit.extend(seconds)
        else:
            await self._ask(lib.redlatch_permit_semaphore_start_update_lease, id_bytes(permit), lease)

    async def lease_of(self, permit: Union[Permit, str]) -> float:
        """Asks the server for the rest of a permit's lease in seconds: 0.0 if nobody has the permit, infinity if it has
        no lease.

        Example:
            >>> await client.permit_semaphore("slots").lease_of("00" * 16)
            0.0
        """
        milliseconds = await self._ask(lib.redlatch_permit_semaphore_start_lease_of, id_bytes(permit))
        return math.inf if milliseconds == -1 else milliseconds / 1000

    async def try_set_permits(self, permits: int) -> bool:
        """Makes the semaphore with this number of permits, if it does not exist.

        Returns:
            True if the semaphore was made; False if it existed already.

        Example:
            >>> slots = client.permit_semaphore("slots")
            >>> await slots.try_set_permits(2), await slots.try_set_permits(9)
            (True, False)
        """
        start = lib.redlatch_permit_semaphore_start_try_set_permits
        return bool(await self._ask(start, whole(permits, "permits", 0)))

    async def set_permits(self, permits: int) -> None:
        """Sets the total number of permits, including those that are taken. If more are taken, the semaphore is in
        debt.

        Example:
            >>> slots = client.permit_semaphore("slots", limit=3)
            >>> async with slots:
            ...     await slots.set_permits(1)
            ...     await slots.available()
            0
        """
        await self._change(lib.redlatch_permit_semaphore_start_set_permits, whole(permits, "permits", 0))

    async def add_permits(self, permits: int) -> None:
        """Adds permits. A negative number removes permits without waiting, even more than are available.

        Example:
            >>> slots = client.permit_semaphore("slots")
            >>> await slots.add_permits(3)
            >>> await slots.permits()
            3
        """
        await self._change(lib.redlatch_permit_semaphore_start_add_permits, whole(permits, "permits", None))

    async def available(self) -> int:
        """Asks the server for the number of available permits. It is negative if the semaphore is in debt.

        Example:
            >>> await client.permit_semaphore("slots").available()
            0
        """
        return await self._ask(lib.redlatch_permit_semaphore_start_available)

    async def acquired(self) -> int:
        """Asks the server how many permits are taken.

        Example:
            >>> await client.permit_semaphore("slots").acquired()
            0
        """
        return await self._ask(lib.redlatch_permit_semaphore_start_acquired)

    async def permits(self) -> int:
        """Asks the server how many permits there are in all.

        Example:
            >>> await client.permit_semaphore("slots").permits()
            0
        """
        return await self._ask(lib.redlatch_permit_semaphore_start_permits)

    async def delete(self) -> bool:
        """Deletes the semaphore and all leases. Waiters continue to wait.

        Returns:
            False if there was none.

        Example:
            >>> await client.permit_semaphore("slots").delete()
            False
        """
        return bool(await self._ask(lib.redlatch_permit_semaphore_start_delete))

    async def __aenter__(self) -> Permit:
        frame = id(sys._getframe(1))
        call = await self._take(self._scoped_handle, 1, self._wait_ms, LEASE_OF_LOCK)
        if call.status:
            raise call.failure(self._name)
        permit = Permit(self, call.serial)
        self._blocks.enter(number_of_task(), frame, permit)
        return permit

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        permit = self._blocks.leave(number_of_task(), id(sys._getframe(1)))
        if permit is None:
            raise NotOwnedError(f"permit semaphore {self.name!r} is in no `async with` block", lock_name=self.name)
        await permit.__aexit__(kind, error, traceback)

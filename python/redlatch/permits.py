"""PermitSemaphore: a number of permits that have an id and a lease each.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
import threading
from types import TracebackType
from typing import TYPE_CHECKING, List, Literal, NoReturn, Optional, Tuple, Type, Union

from redlatch._ffi import CData, ffi, lib, new_record, text
from redlatch.counts import Limited, whole
from redlatch.durations import LOCK_TIMEOUT, LockTimeout, Seconds, blocking_wait_ms, lease_ms, span_ms
from redlatch.errors import (
    REFUSED,
    InvalidArgumentError,
    LockLostError,
    LockName,
    LockTimeoutError,
    LossReason,
    NotOwnedError,
    RedlatchError,
    failure,
    left_badly,
    reason_name,
)
from redlatch.other_names import refuse_other_names
from redlatch.owners import current
from redlatch.watching import WaitCall, new_status, wait_for

if TYPE_CHECKING:
    from redlatch.aio.dispatch import Call
    from redlatch.client import Client
    from redlatch.hub import HubDispatcher

_ACQUIRE = WaitCall(lib.redlatch_permit_semaphore_begin_acquire, lib.redlatch_permit_semaphore_start_acquire)
_release = lib.redlatch_permit_semaphore_release
_ALIVE = (lib.REDLATCH_HELD, lib.REDLATCH_SUSPECT)


class PermitHandle(Limited):
    """The base class of PermitSemaphore for threads and for tasks: the handle, and the methods that send nothing."""

    __slots__ = ()

    def _standing(self, serial: int) -> CData:
        """Returns the state of a permit of this client, as far as this process knows."""
        record = new_record("redlatch_permit")
        status: int = lib.redlatch_permit_semaphore_permit_status(self._handle, serial, record)
        if status:
            raise failure(status, self._name)
        return record

    def _id_of(self, serial: int) -> str:
        record = self._standing(serial)  # has to live while the id is read
        return text(record.id)


class BasePermit:
    """The base class of Permit for threads and for tasks: the members that send nothing."""

    __slots__ = ("_semaphore", "_serial", "_id", "_encoded_id", "_released", "__weakref__")

    PACKAGE = "redlatch"

    def __init__(self, semaphore: PermitHandle, serial: int) -> None:
        self._semaphore = semaphore
        self._serial = serial
        self._id = semaphore._id_of(serial)
        self._encoded_id = self._id.encode()
        self._released = False

    @property
    def id(self) -> str:
        """The id, by which any process may release the permit: 32 hexadecimal digits."""
        return self._id

    def remaining(self) -> float:
        """Returns the rest of the safe time, in seconds. Nobody else can have the permit before it ends. 0.0 when the
        permit is over. Nothing is sent.

        Example:
            >>> with client.permit_semaphore("slots", limit=3, lease=60) as permit:
            ...     50 < permit.remaining() < 60
            True
        """
        now = self._semaphore._standing(self._serial)
        return now.remaining_ms / 1000 if now.state in _ALIVE else 0.0

    @property
    def lost(self) -> bool:
        """Whether the permit was lost: its lease ended, or the server no longer has it."""
        now = self._semaphore._standing(self._serial)
        if now.state == lib.REDLATCH_GONE:
            self._semaphore._client._losses.note(self._serial, reason_name(now.reason))
        return self._semaphore._client._losses.knows(self._serial)

    @property
    def lost_reason(self) -> Optional[LossReason]:
        """Why the permit was lost, as LockLostError.reason; None if it was not lost."""
        return self._semaphore._client._losses.reason(self._serial) if self.lost else None

    def check(self) -> None:
        """Raises when the permit is over, as far as this process knows. Nothing is sent.

        Raises:
            LockLostError: The permit was lost.
            NotOwnedError: The permit was released.

        Example:
            >>> with client.permit_semaphore("slots", limit=3) as permit:
            ...     permit.check()
        """
        if not self._released and self._semaphore._standing(self._serial).state in _ALIVE:
            return
        if self.lost:
            name, reason = self._semaphore.name, self.lost_reason
            lost = LockLostError(f"permit {self._id} of semaphore {name!r} was lost ({reason})", lock_name=name)
            lost.reason = reason
            raise lost
        self._raise_released()  # by this object, or by its id

    def __repr__(self) -> str:
        return f"<{self.PACKAGE}.Permit {self._id} of {self._semaphore.name!r}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {self.PACKAGE}.Permit cannot be pickled or copied; its id can be passed on")

    def _check_not_released(self) -> None:
        if self._released:
            self._raise_released()

    def _raise_released(self) -> NoReturn:
        name = self._semaphore.name
        raise NotOwnedError(f"permit {self._id} of semaphore {name!r} was released before", lock_name=name)

    def _found_lost(self, reason: Optional[LossReason]) -> None:
        what = f"permit {self._id} of"
        self._semaphore._client._losses.found(self._serial, what, self._semaphore.name, reason)


class Permit(BasePermit):
    """One permit of a permit semaphore, until it is released or lost. Any thread may release it.

    `with semaphore.acquire() as permit:` releases the permit at the end. If the permit was lost, this raises a
    LockLostError, unless the block raised.

    Example:
        >>> slots = client.permit_semaphore("slots", limit=3)
        >>> with slots.acquire(timeout=5) as permit:
        ...     len(permit.id), permit.lost
        (32, False)
    """

    __slots__ = ("_lost_event",)
    _semaphore: PermitSemaphore

    def __init__(self, semaphore: PermitSemaphore, serial: int) -> None:
        super().__init__(semaphore, serial)
        self._lost_event: Optional[threading.Event] = None

    @property
    def lost_event(self) -> threading.Event:
        """A threading.Event that is set when the permit is lost."""
        if self._lost_event is None:
            self._lost_event = self._semaphore._client._losses.event(self._serial)
            if self.lost:  # the loss may have come before the event was made
                self._lost_event.set()
        return self._lost_event

    def release(self) -> None:
        """Releases the permit.

        Raises:
            LockLostError: The permit's lease had ended.
            NotOwnedError: The permit was released before.

        Example:
            >>> permit = client.permit_semaphore("slots", limit=3).acquire()
            >>> permit.release()
        """
        self._check_not_released()
        # From here to the release nothing is called, so Python, from 3.10 on, raises no KeyboardInterrupt in between.
        self._released = True
        status: int = _release(self._semaphore._handle, self._encoded_id)
        if status:
            self._released = status not in REFUSED
            raise self._failed(status)

    def extend(self, seconds: Seconds) -> None:
        """Sets the lease to end this many seconds from now. It may end earlier than before. A renewed permit continues
        to be renewed.

        Args:
            seconds: The new time to the end of the lease; more than 0.

        Raises:
            LockLostError: The permit's lease had ended.
            NotOwnedError: The permit was released before.

        Example:
            >>> with client.permit_semaphore("slots", limit=3, lease=5) as permit:
            ...     permit.extend(60)
            ...     50 < permit.remaining() < 60
            True
        """
        self._check_not_released()
        try:
            self._semaphore.extend(self._id, seconds)
        except LockLostError as lost:
            self._found_lost(lost.reason)
            raise

    def __enter__(self) -> Permit:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        # Nothing is called before the release, so Python, from 3.10 on, raises no KeyboardInterrupt in between.
        status: int = 0 if self._released else _release(self._semaphore._handle, self._encoded_id)
        self._released = True
        if status:
            self._left_badly(status, error)

    def _failed(self, status: int) -> RedlatchError:
        """Returns the exception for a failed release."""
        error = failure(status, self._semaphore.name)
        if isinstance(error, LockLostError):
            self._found_lost(error.reason)
        return error

    def _left_badly(self, status: int, error: Optional[BaseException]) -> None:
        """Handles a failed release at the end of a `with` block."""
        left_badly(f"the permit {self._id} of semaphore {self._semaphore.name!r}", self._failed(status), error)


class NoPermit:
    """The result of PermitSemaphore.acquire() after a timeout. It is false, and its `with` raises the LockTimeoutError.

    Example:
        >>> slots = client.permit_semaphore("slots", limit=1)
        >>> with slots:
        ...     bool(slots.acquire(timeout=0.1))
        False
    """

    __slots__ = ("_timeout",)

    def __init__(self, timeout: LockTimeoutError) -> None:
        self._timeout = timeout

    def __bool__(self) -> Literal[False]:
        return False

    def __enter__(self) -> Permit:
        raise self._timeout

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        """Never called, because __enter__() raises."""

    def __repr__(self) -> str:
        return f"<redlatch.NoPermit: {self._timeout}>"


class PermitSemaphore(PermitHandle):
    """Permits by name, each with an id and a lease, made by Client.permit_semaphore(); Redisson's
    RPermitExpirableSemaphore. Any process that knows the id of a permit may release it. A permit that nobody releases
    is available again when its lease ends. The waiters of one client are served in the order of arrival. A semaphore
    that nobody has made, by try_set_permits() or `limit`, has no permits: acquire() waits until somebody makes it.

    `with semaphore as permit:` takes a permit, and releases it at the end. If the permit was lost, this raises a
    LockLostError, unless the block raised. After the semaphore's timeout `with` raises a LockTimeoutError. If nobody
    made the semaphore it raises a NotFoundError, unless `wait_for_creation` is True. For another timeout or lease use
    `with semaphore.acquire(timeout=5) as permit:`.

    Example:
        >>> slots = client.permit_semaphore("slots", limit=3, timeout=5)
        >>> with slots as permit:
        ...     slots.available(), slots.acquired(), slots.permits()
        (2, 1, 3)
    """

    __slots__ = ("_entered",)
    _client: Client

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
        self._entered: List[Tuple[int, Permit]] = []  # of the open `with` blocks: owner number, permit; innermost last
        client._losses.watch()

    def acquire(
        self,
        *,
        blocking: bool = True,
        timeout: Union[Seconds, LockTimeout, None] = LOCK_TIMEOUT,
        lease: Optional[Seconds] = None,
        **others: NoReturn,
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
            >>> permit = slots.acquire(timeout=5, lease=60)
            >>> if permit:
            ...     slots.release(permit.id)  # any process that knows the id may do this
        """
        if others:
            refuse_other_names("acquire", others)
        wait = blocking_wait_ms(blocking, timeout, self._wait_ms)
        try:
            return self._take(self._handle, 1, wait, self._lease_of_each(lease))[0]
        except LockTimeoutError as timed_out:
            return NoPermit(timed_out)

    def acquire_many(
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
            >>> permits = slots.acquire_many(2)
            >>> len(permits), slots.acquire_many(2, blocking=False)
            (2, [])
        """
        count = whole(permits, "permits", 1, lib.REDLATCH_PERMITS_AT_ONCE_MAX)
        wait = blocking_wait_ms(blocking, timeout, self._wait_ms)
        try:
            return self._take(self._handle, count, wait, self._lease_of_each(lease))
        except LockTimeoutError:
            return []

    @staticmethod
    def _lease_of_each(lease: Optional[Seconds]) -> int:
        return lib.REDLATCH_LEASE_OF_LOCK if lease is None else lease_ms(lease, "lease")

    def _take(self, handle: CData, count: int, wait: int, lease_of_each: int) -> List[Permit]:
        self._client._losses.watch()  # a forked child has no watching thread yet
        status, serial = new_status(), ffi.new("uint64_t *")
        arguments = (handle, count, lease_of_each, wait)

        def undo(dispatcher: HubDispatcher, call: Call) -> None:
            for i in range(count):
                release = lib.redlatch_permit_semaphore_start_release
                dispatcher.give_back(release, handle, call.serial + i, kept=self)

        try:
            wait_for(self._client, self._name, status, _ACQUIRE, *arguments, kept=self, serial=serial, undo=undo)
            return [Permit(self, serial[0] + i) for i in range(count)]
        except BaseException:
            if status[0] == 0:
                for i in range(count):
                    lib.redlatch_permit_semaphore_release(handle, self._id_of(serial[0] + i).encode())
            raise

    def release(self, permit: Union[Permit, str]) -> None:
        """Releases a permit, given as an object or by its id, whoever took it.

        Raises:
            LockLostError: The permit's lease had ended.
            NotOwnedError: There is no such permit, or it was lost so long ago that others may have had it since.

        Example:
            >>> slots = client.permit_semaphore("slots", limit=3)
            >>> slots.release(slots.acquire().id)
        """
        if isinstance(permit, Permit):
            permit.release()
        else:
            self._call(lib.redlatch_permit_semaphore_release, id_bytes(permit))

    def extend(self, permit: Union[Permit, str], seconds: Seconds) -> None:
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
            >>> with slots as permit:
            ...     slots.extend(permit.id, 60)
            ...     50 < slots.lease_of(permit) <= 60
            True
        """
        lease = span_ms(seconds, "seconds")
        if isinstance(permit, Permit):
            permit.extend(seconds)
        else:
            self._call(lib.redlatch_permit_semaphore_update_lease, id_bytes(permit), lease)

    def lease_of(self, permit: Union[Permit, str]) -> float:
        """Asks the server for the rest of a permit's lease in seconds: 0.0 if nobody has the permit, infinity if it has
        no lease.

        Example:
            >>> client.permit_semaphore("slots").lease_of("00" * 16)
            0.0
        """
        milliseconds = self._number(lib.redlatch_permit_semaphore_lease_of, id_bytes(permit))
        return math.inf if milliseconds == -1 else milliseconds / 1000

    def try_set_permits(self, permits: int) -> bool:
        """Makes the semaphore with this number of permits, if it does not exist.

        Returns:
            True if the semaphore was made; False if it existed already.

        Example:
            >>> slots = client.permit_semaphore("slots")
            >>> slots.try_set_permits(2), slots.try_set_permits(9)
            (True, False)
        """
        return self._flag(lib.redlatch_permit_semaphore_try_set_permits, whole(permits, "permits", 0))

    def set_permits(self, permits: int) -> None:
        """Sets the total number of permits, including those that are taken. If more are taken, the semaphore is in
        debt.

        Example:
            >>> slots = client.permit_semaphore("slots", limit=3)
            >>> with slots:
            ...     slots.set_permits(1)
            ...     slots.available()
            0
        """
        self._call(lib.redlatch_permit_semaphore_set_permits, whole(permits, "permits", 0))

    def add_permits(self, permits: int) -> None:
        """Adds permits. A negative number removes permits without waiting, even more than are available.

        Example:
            >>> slots = client.permit_semaphore("slots")
            >>> slots.add_permits(3)
            >>> slots.permits()
            3
        """
        self._call(lib.redlatch_permit_semaphore_add_permits, whole(permits, "permits", None))

    def available(self) -> int:
        """Asks the server for the number of available permits. It is negative if the semaphore is in debt.

        Example:
            >>> client.permit_semaphore("slots").available()
            0
        """
        return self._number(lib.redlatch_permit_semaphore_available)

    def acquired(self) -> int:
        """Asks the server how many permits are taken.

        Example:
            >>> client.permit_semaphore("slots").acquired()
            0
        """
        return self._number(lib.redlatch_permit_semaphore_acquired)

    def permits(self) -> int:
        """Asks the server how many permits there are in all.

        Example:
            >>> client.permit_semaphore("slots").permits()
            0
        """
        return self._number(lib.redlatch_permit_semaphore_permits)

    def delete(self) -> bool:
        """Deletes the semaphore and all leases. Waiters continue to wait.

        Returns:
            False if there was none.

        Example:
            >>> client.permit_semaphore("slots").delete()
            False
        """
        return self._flag(lib.redlatch_permit_semaphore_delete)

    def __enter__(self) -> Permit:
        entered = self._entered
        entry = permit = None
        try:
            permits = self._take(self._scoped_handle, 1, self._wait_ms, lib.REDLATCH_LEASE_OF_LOCK)
            permit = permits[0]
            entry = (current().number, permit)
            entered.append(entry)
            return permit
        except BaseException:  # Ctrl-C
            if permit is not None:
                _release(self._handle, permit._encoded_id)
                if entry is not None and entry in entered:
                    entered.remove(entry)
            raise

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        entered = self._entered
        entry: Optional[Tuple[int, Permit]] = None
        interrupted: Optional[BaseException] = None
        try:
            number = current().number
            while entry is None:
                entry = self._innermost(number)
                try:
                    entered.remove(entry)
                except ValueError:
                    entry = None  # another thread is leaving that block
        except NotOwnedError:
            raise
        except BaseException as interrupt:
            # Ctrl-C interrupted the end of the block before the release.
            if entry is None or entry in entered:
                self.__exit__(type(interrupt), interrupt, None)
                raise
            error = interrupted = interrupt
        # From here to the release nothing is called, so Python, from 3.10 on, raises no KeyboardInterrupt in between.
        permit = entry[1]
        status: int = 0 if permit._released else _release(self._handle, permit._encoded_id)
        permit._released = True
        if status:
            permit._left_badly(status, error)
        if interrupted is not None:
            raise interrupted

    def _innermost(self, number: int) -> Tuple[int, Permit]:
        """Returns the entry of the block that a thread leaves: the innermost block that it entered. If it entered none,
        the innermost block of another thread, because one thread may enter a block and another one leave it."""
        entered = self._entered[:]
        if not entered:
            raise NotOwnedError(f"permit semaphore {self.name!r}: no `with` block of it is open", lock_name=self.name)
        for entry in reversed(entered):
            if entry[0] == number:
                return entry
        return entered[-1]


def id_bytes(permit: Union[BasePermit, str]) -> bytes:
    """Returns the id of a permit as bytes for the core."""
    if isinstance(permit, BasePermit):
        permit = permit.id
    if not isinstance(permit, str):
        raise TypeError(f"permit is {permit!r}, of type {type(permit).__name__}; expected a Permit or the id of one")
    if "\0" in permit or not permit.isascii():
        raise InvalidArgumentError(f"id is {permit!r}: expected 32 hexadecimal digits")
    return permit.encode()

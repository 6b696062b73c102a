"""A Hold: one acquire of a lock, until it is released or lost.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NoReturn, Optional

from redlatch._ffi import CData, ffi, lib, new_record, text
from redlatch.durations import Seconds, span_ms
from redlatch.errors import (
    ClosedError,
    ForkedError,
    LockLostError,
    LossReason,
    NotOwnedError,
    RedlatchError,
    end_if_program_ends,
    failure,
    reason_name,
)
from redlatch.options import confirmation
from redlatch.other_names import explain_other_names

if TYPE_CHECKING:
    from redlatch.locks import Lock, LockHandle
    from redlatch.owners import Caller

_ALIVE = (lib.REDLATCH_HELD, lib.REDLATCH_SUSPECT)


class BaseHold:
    """What a hold can be asked, by threads and by tasks."""

    # A hold is made for every acquire, and most are never asked anything: what the core said is kept as it came.
    __slots__ = ("_lock", "_number", "_record", "_caller", "_released", "__weakref__")

    PACKAGE = "redlatch"

    def __init__(self, lock: LockHandle, number: int, record: bytes) -> None:
        self._lock = lock
        self._number = number  # of the owner
        self._record = record  # a redlatch_hold
        self._caller: Optional[Caller] = None  # who entered its `with`: an owner until that is left
        self._released = False  # through this object

    @property
    def token(self) -> Optional[int]:
        """The fencing token; None for kinds of locks that have none."""
        return self._first().token or None

    @property
    def owner(self) -> str:
        """The owner id of this hold as it stands in Redis, "uuid:number". An extend() whose reply was lost may change
        it; once the hold is over it is the one that acquire() got."""
        now = self._now()
        record = self._first() if now is None else now  # whose memory the text is in
        return text(record.owner)

    @property
    def count(self) -> int:
        """The number of acquires that are still to be released; 0 when the hold is over."""
        now = self._alive()
        return 0 if now is None else now.count

    def remaining(self) -> float:
        """The safe time in seconds: nobody else can hold the lock before it ends. 0.0 when the hold is over. A lease
        that is renewed is never longer than the watchdog lease.

        Example:
            >>> with client.lock("orders:42") as hold:
            ...     20 < hold.remaining() < 30
            True
        """
        now = self._alive()
        return 0.0 if now is None else now.remaining_ms / 1000

    @property
    def lost(self) -> bool:
        """Whether the hold was lost: its lease ended, or the server no longer has it."""
        now = self._now()
        if now is not None and now.state == lib.REDLATCH_GONE:
            self._lock._client._losses.note(self._serial, reason_name(now.reason))
        return self._lock._client._losses.knows(self._serial)

    @property
    def lost_reason(self) -> Optional[LossReason]:
        """Why the hold was lost, as LockLostError.reason; None if it was not."""
        return self._lock._client._losses.reason(self._serial) if self.lost else None

    def check(self) -> None:
        """Raises when the hold is over, as far as this process knows. Nothing is sent.

        Raises:
            LockLostError: It was lost.
            NotOwnedError: It was released.

        Example:
            >>> with client.lock("orders:42") as hold:
            ...     hold.check()
        """
        if self._alive() is None:
            self.lost  # noqa: B018 - notes the loss
            self._raise_over()

    def __repr__(self) -> str:
        first = self._first()  # it is shown in a forked child, too, where nothing can be asked
        return f"<{self.PACKAGE}.Hold of {self._lock.name!r} by {text(first.owner)}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {self.PACKAGE}.Hold cannot be pickled or copied: what a process holds is its own")

    @property
    def _serial(self) -> int:
        serial: int = self._first().serial
        return serial

    def _first(self) -> CData:
        """What the core said when the hold began."""
        record = ffi.new("redlatch_hold *")
        ffi.memmove(record, self._record, len(self._record))
        return record

    def _now(self) -> CData:
        """What the core says of this hold now, or None if it is over and another may have taken its place, as in a
        forked child."""
        record = new_record("redlatch_hold")
        status: int = lib.redlatch_lock_hold_status(self._lock._handle, self._number, record)
        if status == lib.REDLATCH_CLOSED:
            return None
        if status:
            raise failure(status, self._lock.name)
        return record if record.serial == self._serial and record.state != lib.REDLATCH_NOT_HELD else None

    def _alive(self) -> CData:
        now = self._now()
        return now if now is not None and now.state in _ALIVE else None

    def _found_lost(self, reason: Optional[LossReason]) -> None:
        self._lock._client._losses.found(self._serial, "lock", self._lock.name, reason)

    def _raise_over(self) -> NoReturn:
        name = self._lock.name
        record = self._first()  # whose memory the text is in
        owner = text(record.owner)
        if owner and not owner.startswith(self._lock._client.uuid):
            raise ForkedError(f"this hold of lock {name!r} belongs to the parent process", lock_name=name)
        if self._lock._client.closed:
            end_if_program_ends()
            raise ClosedError(f"the hold of lock {name!r} ended when its client was closed", lock_name=name)
        if self._lock._client._losses.knows(self._serial):
            reason = self._lock._client._losses.reason(self._serial)
            why = reason or "not known why"
            lost = LockLostError(f"this hold of lock {name!r} was lost ({why})", lock_name=name)
            lost.reason = reason
            raise lost
        raise NotOwnedError(f"this hold of lock {name!r} was released already", lock_name=name)


class Hold(BaseHold):
    """What `with lock as hold:` and `lock.held()` give.

    A Hold belongs to the hold during which it was made: when the lock was released, or lost, and taken again, the old
    object knows nothing of the new hold. It may be handed to other threads, which can ask and release on the owner's
    behalf.

    Example:
        >>> with client.fenced_lock("ledger") as hold:
        ...     hold.token > 0, hold.count, hold.owner.startswith(client.uuid), hold.lost, hold.lost_reason
        (True, 1, True, False, None)
    """

    __slots__ = ("_lost_event",)
    _lock: Lock

    def __init__(self, lock: Lock, number: int, record: bytes) -> None:
        super().__init__(lock, number, record)
        self._lost_event: Optional[threading.Event] = None

    @property
    def lost_event(self) -> threading.Event:
        """An event that is set when the hold is lost: when its lease ends, or with the next renewal after the server
        has lost it, as by a forced release."""
        self._now()  # refuses in a forked child before any lock of the parent's is touched
        if self._lost_event is None:
            self._lost_event = self._lock._client._losses.event(self._serial)
            if self.lost:  # it may have been lost before anybody watched
                self._lost_event.set()
        return self._lost_event

    def release(self, confirm: Optional[bool] = None) -> None:
        """Releases one acquire. The end of a `with` block does not release it again.

        Args:
            confirm: As of Lock.release().

        Example:
            >>> with client.lock("orders:42") as hold:
            ...     hold.release()
            ...     hold.count
            0
        """
        confirmed = confirmation(confirm)
        if self._released or self._now() is None:
            self._raise_over()
        self._released = True
        dispatcher = self._lock._client._losses.dispatcher()
        if dispatcher is not None:
            _, error = dispatcher.release(self._lock, self._number, confirmed)
        else:
            status: int = lib.redlatch_lock_release_with(self._lock._handle, self._number, confirmed)
            error = failure(status, self._lock.name) if status else None
        if error is not None:
            self._raise_failed(error)
        self._lock._client._losses.released(self._serial, self._lock, self._number)

    @explain_other_names
    def extend(self, seconds: Seconds) -> None:
        """Sets the lease to end this many seconds from now. It may end earlier than before.

        Args:
            seconds: The new time to the end of the lease; more than 0.

        Example:
            >>> with client.lock("orders:42", lease=5) as hold:
            ...     hold.extend(60)
            ...     50 < hold.remaining() < 60
            True
        """
        lease = span_ms(seconds, "seconds")
        if self._now() is None:
            self._raise_over()
        status: int = lib.redlatch_lock_extend(self._lock._handle, self._number, lease)
        if status:
            self._raise_failed(failure(status, self._lock.name))

    def _raise_failed(self, error: RedlatchError) -> NoReturn:
        if isinstance(error, LockLostError):
            self._found_lost(error.reason)
        raise error

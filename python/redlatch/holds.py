"""Hold: the state of an owner's hold, and what the owner can do with it.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NoReturn, Optional

from redlatch._ffi import CData, ffi, lib, new_record, text
from redlatch.durations import Seconds, span_ms
from redlatch.errors import (
    REFUSED,
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
    """The base class of Hold for threads and for tasks: the members that send nothing."""

    # An object is made for every acquire, and most are never queried. So the bytes of the core's record are kept as
    # they are.
    __slots__ = ("_lock", "_number", "_record", "_caller", "_released", "__weakref__")

    PACKAGE = "redlatch"

    def __init__(self, lock: LockHandle, number: int, record: bytes) -> None:
        self._lock = lock
        self._number = number  # of the owner
        self._record = record  # a redlatch_hold
        self._caller: Optional[Caller] = None  # entered the `with` block; kept alive, and so its owner, until the end
        self._released = False  # whether it was released through this object

    @property
    def token(self) -> Optional[int]:
        """The fencing token; None for kinds of locks that have none."""
        return self._first().token or None

    @property
    def owner(self) -> str:
        """The owner id of this hold in Redis, "uuid:number". An extend() whose reply was lost may change it. After the
        release it is the id that the hold had when this object was made."""
        now = self._now()
        record = self._first() if now is None else now  # keeps the memory of the text
        return text(record.owner)

    @property
    def count(self) -> int:
        """The number of acquires that are still to be released; 0 when the hold is over."""
        now = self._alive()
        return 0 if now is None else now.count

    def remaining(self) -> float:
        """Returns the rest of the safe time, in seconds. Nobody else can hold the lock before it ends. 0.0 when the
        hold is over. A renewed hold has at most the watchdog lease, unless extend() made it longer.

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
        """Why the hold was lost, as LockLostError.reason; None if it was not lost."""
        return self._lock._client._losses.reason(self._serial) if self.lost else None

    def check(self) -> None:
        """Raises when the hold is over, as far as this process knows. Nothing is sent.

        Raises:
            LockLostError: The hold was lost.
            NotOwnedError: The hold was released.

        Example:
            >>> with client.lock("orders:42") as hold:
            ...     hold.check()
        """
        if self._alive() is None:
            self.lost  # noqa: B018 - notes the loss
            self._raise_over()

    def __repr__(self) -> str:
        first = self._first()  # _now() would fail in a forked child
        return f"<{self.PACKAGE}.Hold of {self._lock.name!r} by {text(first.owner)}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {self.PACKAGE}.Hold cannot be pickled or copied: what a process holds is its own")

    @property
    def _serial(self) -> int:
        serial: int = self._first().serial
        return serial

    def _first(self) -> CData:
        """Returns the core's record from the time when this object was made."""
        record = ffi.new("redlatch_hold *")
        ffi.memmove(record, self._record, len(self._record))
        return record

    def _now(self) -> CData:
        """Returns the core's record of this hold now. Returns None if the client is closed, or if the owner no longer
        has this hold; it may have a newer one, also in a forked child."""
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
        record = self._first()  # keeps the memory of the text
        owner = text(record.owner)
        if owner and not owner.startswith(self._lock._uuids()):
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
    """The hold that `with lock as hold:` and `lock.held()` return.

    The object stands for the hold during which it was made. When the lock was released, or lost, and acquired again,
    the old object does not describe the new hold. Other threads may use the object: they can query the hold, and
    release it on the owner's behalf.

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
        """A threading.Event that is set when the hold is lost: when its lease ends, or at the next renewal if the
        server no longer has the hold, as after a forced release."""
        self._now()  # raises in a forked child, before it uses a lock of the parent
        if self._lost_event is None:
            self._lost_event = self._lock._client._losses.event(self._serial)
            if self.lost:  # the loss may have come before the event was made
                self._lost_event.set()
        return self._lost_event

    def release(self, confirm: Optional[bool] = None) -> None:
        """Releases one acquire. The end of a `with` block does not release it again.

        Args:
            confirm: See Lock.release().

        Example:
            >>> with client.lock("orders:42") as hold:
            ...     hold.release()
            ...     hold.count
            0
        """
        confirmed = confirmation(confirm)
        if self._released or self._now() is None:
            self._raise_over()
        dispatcher = self._lock._client._losses.dispatcher()
        # From here to the release nothing is called, so Python, from 3.10 on, raises no KeyboardInterrupt in between.
        self._released = True
        if dispatcher is not None:
            _, error = dispatcher.release(self._lock, self._number, confirmed)
        else:
            status: int = lib.redlatch_lock_release_with(self._lock._handle, self._number, confirmed)
            error = failure(status, self._lock.name) if status else None
        if error is not None:
            self._released = error.status not in REFUSED
        if not isinstance(error, LockLostError):
            self._lock._client._losses.released(self._serial, self._lock, self._number)
        if error is not None:
            self._raise_failed(error)

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

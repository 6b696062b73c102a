"""Hold: one acquire of a lock by a task, until it is released or lost.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from redlatch._ffi import lib
from redlatch.aio.loops import Event, Guard
from redlatch.durations import Seconds, span_ms
from redlatch.holds import BaseHold
from redlatch.options import confirmation
from redlatch.other_names import explain_other_names

if TYPE_CHECKING:
    from redlatch.aio.locks import Lock


class Hold(BaseHold):
    """What `async with lock as hold:` and `lock.held()` give. What it is asked sends nothing; what it does is awaited.

    A Hold belongs to the hold during which it was made. It may be handed to other tasks, which can ask and release on
    the owner's behalf.

    Example:
        >>> async with client.fenced_lock("ledger") as hold:
        ...     hold.token > 0, hold.count, hold.owner.startswith(client.uuid), hold.lost, hold.lost_reason
        (True, 1, True, False, None)
    """

    __slots__ = ("_lost_event", "_guard")
    _lock: Lock

    PACKAGE = "redlatch.aio"

    def __init__(self, lock: Lock, number: int, record: bytes) -> None:
        super().__init__(lock, number, record)
        self._lost_event: Optional[Event] = None
        self._guard: Optional[Guard] = None  # of the block, which a loss cancels

    @property
    def lost_event(self) -> Event:
        """An `asyncio.Event` or `trio.Event` that is set when the hold is lost: at once when its lease is over, with
        the next renewal when the server no longer knows it, as after a release by force."""
        if self._lost_event is None:
            self._lost_event = self._lock._client._losses.event(self._serial)
            if self.lost:
                self._lost_event.set()
        return self._lost_event

    async def release(self, confirm: Optional[bool] = None) -> None:
        """Releases one acquire. A block whose Hold was released does not release it again when it is left.

        Args:
            confirm: As of Lock.release().

        Example:
            >>> async with client.lock("orders:42") as hold:
            ...     await hold.release()
            ...     hold.count
            0
        """
        confirmed = confirmation(confirm)
        if self._released or self._now() is None:
            self._raise_over()
        self._released = True
        await self._lock._release(self._number, confirmed)

    @explain_other_names
    async def extend(self, seconds: Seconds) -> None:
        """Sets the lease to end this many seconds from now. It may end earlier than before.

        Args:
            seconds: The new time to the end of the lease; more than 0.

        Example:
            >>> async with client.lock("orders:42", lease=5) as hold:
            ...     await hold.extend(60)
            ...     50 < hold.remaining() < 60
            True
        """
        lease = span_ms(seconds, "seconds")
        if self._now() is None:
            self._raise_over()
        await self._lock._call(lib.redlatch_lock_start_extend, self._number, lease)

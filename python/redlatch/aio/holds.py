"""Hold: the state of a task's hold, and what the task can do with it.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from redlatch._ffi import lib
from redlatch.aio.loops import Event, Guard
from redlatch.durations import Seconds, span_ms
from redlatch.errors import REFUSED, RedlatchError
from redlatch.holds import BaseHold
from redlatch.options import confirmation
from redlatch.other_names import explain_other_names

if TYPE_CHECKING:
    from redlatch.aio.locks import Lock


class Hold(BaseHold):
    """The hold that `async with lock as hold:` and `lock.held()` return. Only release() and extend() send something;
    they are awaited.

    The object stands for the hold during which it was made. Other tasks may use the object: they can query the hold,
    and release it on the owner's behalf.

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
        self._guard: Optional[Guard] = None  # cancels the block after a loss

    @property
    def lost_event(self) -> Event:
        """An `asyncio.Event` or `trio.Event` that is set when the hold is lost: when its lease ends, or at the next
        renewal if the server no longer has the hold, as after a forced release."""
        if self._lost_event is None:
            self._lost_event = self._lock._client._losses.event(self._serial)
            if self.lost:
                self._lost_event.set()
        return self._lost_event

    async def release(self, confirm: Optional[bool] = None) -> None:
        """Releases one acquire. The end of an `async with` block does not release it again.

        Args:
            confirm: See Lock.release().

        Example:
            >>> async with client.lock("orders:42") as hold:
            ...     await hold.release()
            ...     hold.count
            0
        """
        confirmed = confirmation(confirm)
        if self._released or self._now() is None:
            self._raise_over()
        self._lock._client._dispatcher.bind()  # raises in another loop, before anything is released
        self._released = True
        try:
            await self._lock._release(self._number, confirmed)
        except RedlatchError as error:
            self._released = error.status not in REFUSED
            raise

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

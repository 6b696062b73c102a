"""Once: a coroutine function that runs at most once in a period. The table of redlatch/once.py holds here, too.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import functools
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Coroutine, NamedTuple, NoReturn, Optional, Type, TypeVar

from redlatch._ffi import LEASE_OF_LOCK, ffi, lib
from redlatch.aio.holds import Hold
from redlatch.aio.locks import Lock, OnLost, on_lost_option
from redlatch.aio.owners import Blocks, number_of_task
from redlatch.decorators import check_coroutine_function
from redlatch.durations import Seconds
from redlatch.errors import LockLostError, LockName, NotOwnedError
from redlatch.once import period_ms, rest_ms
from redlatch.options import name_bytes
from redlatch.owners import new_number

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    from redlatch.aio.client import Client

    Parameters = ParamSpec("Parameters")

Returned = TypeVar("Returned")


class _Turn(NamedTuple):
    hold: Optional[Hold]  # None: the job is skipped
    granted_at: float


class Once:
    """A decorator and an asynchronous context manager, made by Client.once(). `async with` gives a Hold, or None if the
    job is skipped.

    Example:
        >>> async with client.once("report", at_least=300, at_most=3600) as hold:
        ...     hold is not None
        True
        >>> async with client.once("report", at_least=300, at_most=3600) as hold:
        ...     hold is not None
        False
    """

    __slots__ = ("_client", "_name", "_at_least_ms", "_at_most", "_on_lost", "_made", "_turns")

    def __init__(
        self, client: Client, name: LockName, at_least: Seconds, at_most: Seconds, on_lost: OnLost
    ) -> None:
        name_bytes(name)
        on_lost_option(on_lost)
        self._client = client
        self._name = name
        self._at_least_ms, _ = period_ms(at_least, at_most)
        self._at_most = at_most
        self._on_lost: OnLost = on_lost
        self._made: Optional[Lock] = None  # made at the first use: the client may connect after the decoration
        self._turns: Blocks[_Turn] = Blocks()

    @property
    def name(self) -> LockName:
        """The name as it was given, without the client's prefix."""
        return self._name

    @property
    def _lock(self) -> Lock:
        if self._made is None:
            kind, lease = lib.REDLATCH_MUTEX, self._at_most
            self._made = Lock(self._client, kind, self._name, 0, lease, None, "task", on_lost=self._on_lost)
        return self._made

    def __call__(
        self, function: Callable[Parameters, Coroutine[Any, Any, Returned]]
    ) -> Callable[Parameters, Coroutine[Any, Any, Optional[Returned]]]:
        """As a decorator: a call runs the coroutine function, or is skipped and returns None."""
        check_coroutine_function(function, "@once", "async with client.once(...) as hold:")

        @functools.wraps(function)
        async def in_turn(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Optional[Returned]:
            async with self as hold:
                return None if hold is None else await function(*arguments, **keywords)

        return in_turn

    async def __aenter__(self) -> Optional[Hold]:
        frame = id(sys._getframe(1))
        lock, number = self._lock, new_number()
        call = await lock._obtain(number, 0, LEASE_OF_LOCK)
        hold: Optional[Hold] = None
        if not call.status:
            hold = Hold(lock, number, ffi.buffer(lock._standing(number))[:])
            lock._guard(hold)
        self._turns.enter(number_of_task(), frame, _Turn(hold, time.monotonic()))
        return hold

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        # A block whose job was skipped is preferred, so that a running job keeps its lock.
        turn = self._turns.leave(number_of_task(), id(sys._getframe(1)), lambda each: each.hold is None)
        if turn is None:
            raise NotOwnedError(f"once {self.name!r} is in no `async with` block", lock_name=self.name)
        if turn.hold is not None:
            await self._lock._leave_block(turn.hold, functools.partial(self._end, turn), kind, error, traceback)

    async def _end(self, turn: _Turn) -> None:
        """Ends a turn on the server. This is completed even if the task is cancelled."""
        assert turn.hold is not None
        lock, number = self._lock, turn.hold._number
        dispatcher, losses = self._client._dispatcher, self._client._losses
        rest = rest_ms(self._at_least_ms, turn.granted_at)
        if rest <= 0 or turn.hold._alive() is None:
            await lock._release(number)
            return
        losses.leave(turn.hold._serial)
        try:
            start = lib.redlatch_lock_start_extend
            await dispatcher.change(start, lock._handle, number, rest, name=self._name, kept=lock)
        except LockLostError as lost:
            if lost.reason != "expired":  # else at_least was over before the reply
                raise
        finally:
            if lib.redlatch_lock_leave(lock._handle, number) == lib.REDLATCH_LOST:
                # Only this call knows the owner.
                dispatcher.give_back(lib.redlatch_lock_start_release, lock._handle, number, kept=lock)
            losses.released(turn.hold._serial, lock, number)

    def __repr__(self) -> str:
        return f"<redlatch.aio.Once {self._name!r}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a redlatch.aio.Once cannot be pickled or copied: open a client in each process")

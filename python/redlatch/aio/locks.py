"""Lock: a lock of any kind for tasks, used like asyncio.Lock and trio.Lock.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import functools
import sys
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Awaitable,
    Callable,
    Coroutine,
    Dict,
    Literal,
    Optional,
    Type,
    TypeVar,
    Union,
    cast,
)

from redlatch._ffi import LEASE_OF_LOCK, CData, ffi, lib
from redlatch.aio.dispatch import Call
from redlatch.aio.holds import Hold
from redlatch.aio.loops import Cancellation, Guard
from redlatch.aio.owners import Blocks, number_of_task
from redlatch.decorators import check_coroutine_function
from redlatch.durations import LOCK_TIMEOUT, LockTimeout, Seconds, blocking_wait_ms, lease_ms, span_ms
from redlatch.errors import InvalidArgumentError, LockLostError, LockName, RedlatchError
from redlatch.locks import SEVERAL, LockHandle, LockKind, LockState, state_of
from redlatch.losses import Opened
from redlatch.options import confirmation
from redlatch.other_names import explain_other_names
from redlatch.read_write import Modes

if TYPE_CHECKING:
    from redlatch.aio.client import Client

# What follows when a hold is lost. "cancel" cancels the rest of the `async with` block. A function is called with the
# Hold; it may be a coroutine function.
OnLost = Union[Literal["raise", "log", "cancel"], Callable[[Hold], object]]

Function = TypeVar("Function", bound=Callable[..., Awaitable[Any]])

_start_acquire = lib.redlatch_lock_start_acquire
_start_release = lib.redlatch_lock_start_release
_start_release_with = lib.redlatch_lock_start_release_with
_CONFIRM_OF_LOCK: int = lib.REDLATCH_CONFIRM_OF_LOCK


class Lock(LockHandle):
    """A lock, made by Client.lock() and similar methods. No command is sent until it is used.

    The owner is the calling task. It may acquire again, unless the lock is not reentrant, and has to release as often.
    The tasks that it starts are other owners. When a task ends, its holds are no longer renewed. With owner="handle"
    the owner is this object, and any task may release it.

    Example:
        >>> async with client.lock("orders:42", timeout=5) as hold:
        ...     hold.count, hold.lost
        (1, False)
    """

    __slots__ = ("_blocks",)
    _client: Client
    _on_lost: OnLost

    PACKAGE = "redlatch.aio"
    ACTOR = "task"

    def __init__(self, *arguments: Any, on_lost: OnLost, **settings: Any) -> None:
        self._on_lost = on_lost_option(on_lost)
        super().__init__(*arguments, **settings)

    def _set_up(
        self, client: Opened, kind: LockKind, name: LockName, handle: CData, wait_ms: int, owner: str
    ) -> None:
        super()._set_up(client, kind, name, handle, wait_ms, owner)
        self._blocks: Blocks[Hold] = Blocks()

    @explain_other_names
    def acquire(
        self,
        blocking: bool = True,
        timeout: Union[Seconds, LockTimeout, None] = LOCK_TIMEOUT,
        *,
        lease: Optional[Seconds] = None,
    ) -> Coroutine[Any, Any, bool]:
        """Acquires the lock. The owner is the task in which this is called, even if another task awaits the result, as
        asyncio.wait_for() does before Python 3.12.

        Args:
            blocking: False tries once.
            timeout: How long to wait. The default is the lock's own timeout. None or -1 waits for ever.
            lease: The seconds of a fixed lease, or -1 for a lease that is renewed. None: the lock's own lease.

        Returns:
            True if the lock was obtained, else False; to be awaited.

        Example:
            >>> lock = client.lock("orders:42")
            >>> if await lock.acquire(timeout=5):
            ...     await lock.release()
        """
        wait = blocking_wait_ms(blocking, timeout, self._wait_ms)
        lease_of_hold = LEASE_OF_LOCK if lease is None else lease_ms(lease, "lease")
        return self._acquire(self._caller(), wait, lease_of_hold)

    def release(self, confirm: Optional[bool] = None) -> Coroutine[Any, Any, None]:
        """Releases one acquire of the calling task. The release is completed even if the task that awaits it is
        cancelled.

        Args:
            confirm: False: does not wait for the server's reply; see redlatch.Lock.release(). None: as the lock's
                `confirm_release`.

        Raises:
            NotOwnedError: The caller does not hold the lock.
            LockLostError: The caller held the lock and lost it.

        Example:
            >>> await client.lock("orders:42").release()
            Traceback (most recent call last):
            redlatch.errors.NotOwnedError: release "orders:42": this owner does not hold the lock
        """
        return self._release(self._caller(), confirmation(confirm))

    async def state(self) -> LockState:
        """Asks the server about the lock, whoever holds it.

        Returns:
            The state, found by one round trip; of a lock over several servers by one to each, at the same time.

        Example:
            >>> await client.lock("orders:42").state()
            LockState(locked=False, ttl=0.0, owner=None, count=0, holders=0, waiters=0)
        """
        return state_of((await self._call(lib.redlatch_lock_start_query)).value)

    def held(self) -> Optional[Hold]:
        """Returns the caller's Hold, or None if the caller does not hold the lock, as far as this process knows. A lost
        hold is returned until it is released. Nothing is sent.

        Example:
            >>> lock = client.fenced_lock("ledger")
            >>> async with lock:
            ...     lock.held().token > 0
            True
        """
        number = self._number()
        now = self._standing(number)
        return None if now.state == lib.REDLATCH_NOT_HELD else Hold(self, number, ffi.buffer(now)[:])

    @explain_other_names
    async def extend(self, seconds: Seconds) -> None:
        """Sets the lease of the caller's hold to end this many seconds from now. It may end earlier than before. A
        renewed hold continues to be renewed.

        Args:
            seconds: The new time to the end of the lease; more than 0.

        Example:
            >>> lock = client.lock("orders:42", lease=5)
            >>> async with lock as hold:
            ...     await lock.extend(60)
            ...     50 < hold.remaining() < 60
            True
        """
        await self._call(lib.redlatch_lock_start_extend, self._number(), span_ms(seconds, "seconds"))

    async def force_release(self) -> bool:
        """Deletes the lock, whoever holds it, and wakes its waiters. The holder learns of it from its next call on the
        lock, or from the next renewal, which comes after a third of the watchdog lease (10 s of 30 s).

        Returns:
            Whether there was a lock.

        Example:
            >>> await client.lock("orders:42").force_release()
            False
        """
        return bool((await self._call(lib.redlatch_lock_start_force_release)).number)

    async def __aenter__(self) -> Hold:
        frame = id(sys._getframe(1))
        number = self._number()
        call = await self._obtain(number, self._wait_ms, LEASE_OF_LOCK)
        if call.status:
            raise call.failure(self._name)
        hold = Hold(self, number, ffi.buffer(self._standing(number))[:])
        self._blocks.enter(number or number_of_task(), frame, hold)
        self._guard(hold)
        return hold

    def _guard(self, hold: Hold) -> None:
        """Makes a loss cancel the block that the calling task begins, if on_lost is "cancel"."""
        if self._on_lost == "cancel":
            hold._guard = self._client._dispatcher.bind().new_guard()
            self._client._losses.guard(hold._serial, hold._guard)

    def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> Coroutine[Any, Any, None]:
        number = self._number()
        hold = self._blocks.leave(number or number_of_task(), id(sys._getframe(1)))
        if hold is not None:
            number = hold._number
        return self._leave_block(hold, lambda: self._releasing(number), kind, error, traceback)

    async def _leave_block(
        self,
        hold: Optional[Hold],
        release: Callable[[], Awaitable[object]],
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        """Ends a block. `release` releases its hold on the server."""
        if isinstance(hold, Hold) and hold._guard is not None:
            await self._leave_guarded(hold, hold._guard, release, kind, error, traceback)
            return
        try:
            if hold is None or not hold._released:
                await release()
        except RedlatchError as failed:
            self._left_badly(failed, hold, error)

    async def _leave_guarded(
        self,
        hold: Hold,
        guard: Guard,
        release: Callable[[], Awaitable[object]],
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        """Ends a block that a loss may cancel. If a loss did so, a LockLostError is raised in place of the
        cancellation."""
        self._client._losses.unguard(hold._serial, guard)
        verdict: Union[bool, Cancellation] = False
        failed: Optional[RedlatchError] = None
        try:
            verdict = await guard.leave(kind, error, traceback)
        finally:
            try:
                if not hold._released:
                    await release()
            except RedlatchError as failure:
                failed = failure
        if verdict is True and not isinstance(failed, LockLostError):
            failed = LockLostError(f"the hold of lock {self._name!r} was lost", lock_name=self._name)
            failed.reason = self._client._losses.reason(hold._serial)
        try:
            if failed is not None:
                self._left_badly(failed, hold, None if verdict is True else error)
        finally:
            if not isinstance(verdict, bool):
                verdict()

    def __call__(self, function: Function) -> Function:
        """As a decorator: every call of the coroutine function holds the lock."""
        check_coroutine_function(function, "@lock", "async with lock:")

        @functools.wraps(function)
        async def locked(*arguments: Any, **keywords: Any) -> Any:
            async with self:
                return await function(*arguments, **keywords)

        return cast(Function, locked)

    def _caller(self) -> Optional[int]:
        """Returns the owner number to act for; 0 stands for this object. Returns None outside of tasks."""
        return 0 if self._by_handle else number_of_task()

    def _number(self) -> int:
        number = self._caller()
        if number is None:
            raise RuntimeError(
                f"no task is here that could own lock {self._name!r}; expected a call inside a task, or owner='handle'"
            )
        return number

    async def _acquire(self, caller: Optional[int], wait: int, lease: int) -> bool:
        call = await self._obtain(self._number() if caller is None else caller, wait, lease)
        return call.status == 0

    def _obtain(self, number: int, wait: int, lease: int) -> Coroutine[Any, Any, Call]:
        """Acquires. The status of the returned call is OK or TIMEOUT."""
        arguments = (self._handle, number, lease, wait)
        wait_for = self._client._dispatcher.wait
        obtaining = wait_for(_start_acquire, *arguments, name=self._name, kept=self, undo=self._give_back)
        return self._obtain_noted(obtaining, number) if self._noted else obtaining

    def _give_back(self, obtained: Call) -> Optional[Call]:
        """Starts to release a grant that nobody takes."""
        _, number, *_ = obtained.arguments
        return self._client._dispatcher.give_back(_start_release, self._handle, number, kept=self)

    async def _obtain_noted(self, obtaining: Coroutine[Any, Any, Call], number: int) -> Call:
        """Acquires, and notes what has to be logged and called when the hold is lost."""
        call = await obtaining
        if not call.status:
            hold = Hold(self, number, ffi.buffer(self._standing(number))[:])
            if self._kind in SEVERAL:
                self._client._losses.note_owner(hold._serial, hold.owner)
            if callable(self._on_lost):
                self._client._losses.expect(hold._serial, self._on_lost, hold)
        return call

    async def _release(self, caller: Optional[int], confirmed: int = _CONFIRM_OF_LOCK) -> None:
        await self._releasing(self._number() if caller is None else caller, confirmed)

    def _releasing(self, number: int, confirmed: int = _CONFIRM_OF_LOCK) -> Coroutine[Any, Any, Call]:
        arguments = (self._handle, number, confirmed)
        at_once = self._ends_at_once(confirmed)
        change = self._client._dispatcher.change
        releasing = change(_start_release_with, *arguments, name=self._name, kept=self, at_once=at_once)
        return self._release_noted(releasing, number) if callable(self._on_lost) else releasing

    async def _release_noted(self, releasing: Coroutine[Any, Any, Call], number: int) -> Call:
        serial = self._standing(number).serial
        try:
            return await releasing
        finally:  # also if the task was cancelled
            self._client._losses.released(serial, self, number)

    async def _call(self, function: Callable[..., int], *arguments: Any) -> Call:
        """Makes a call on the lock that neither waits nor releases."""
        return await self._client._dispatcher.ask(function, self._handle, *arguments, name=self._name, kept=self)


def on_lost_option(value: OnLost) -> OnLost:
    """Checks the option `on_lost` of a lock, and returns it."""
    if value not in ("raise", "log", "cancel") and not callable(value):
        expected = "expected 'raise', 'log', 'cancel' or a callable that takes the Hold"
        raise InvalidArgumentError(f"on_lost is {value!r}; {expected}")
    return value


class ReadWriteLock(Modes[Lock]):
    """Many readers or one writer, made by Client.read_write_lock().

    `read` and `write` are Locks of the same owner: the calling task, or with owner="handle" this object. Each may be
    acquired again, and has to be released as often. The holder of `write` may also acquire `read`, and keeps it after
    releasing `write`. An owner that holds only `read` and acquires `write` gets a WouldDeadlockError at once.

    Example:
        >>> catalogue = client.read_write_lock("catalogue")
        >>> async with catalogue.write:
        ...     async with catalogue.read:
        ...         (await catalogue.read.state()).holders
        1
    """

    __slots__ = ()

    PACKAGE = "redlatch.aio"

    def __init__(
        self,
        client: Client,
        name: LockName,
        timeout: Optional[Seconds],
        lease: Optional[Seconds],
        max_hold: Optional[Seconds],
        owner: str,
        on_lost: OnLost,
        settings: Dict[str, Any],
    ) -> None:
        make = functools.partial(Lock, on_lost=on_lost)
        super().__init__(make, client, name, timeout, lease, max_hold, owner, settings)

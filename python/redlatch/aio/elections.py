"""Election: one of many candidates leads, for tasks. The table of redlatch/elections.py holds here, too. A candidate is
a task of its own: of asyncio, or a system task of trio. When the loop ends it cancels that task. A leader then calls
on_loss(), and releases the mutex.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import inspect
import logging
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, List, NoReturn, Optional, Type, Union

from redlatch._ffi import FOREVER, LEASE_OF_LOCK, ffi, lib
from redlatch.aio.dispatch import Call
from redlatch.aio.holds import Hold
from redlatch.aio.locks import Lock
from redlatch.aio.loops import Cancellation, Event, TaskLoop, current_task
from redlatch.elections import RETRY, Complaints, callback_of, leader_of, may_pass
from redlatch.errors import ClosedError, LockLostError, LockName, RedlatchError, WaitCancelledError
from redlatch.options import name_bytes
from redlatch.owners import new_number
from redlatch.reports import Party

if TYPE_CHECKING:
    from redlatch.aio.client import Client

logger = logging.getLogger("redlatch")

# How long on_loss() of a leader may take when trio ends, in seconds.
LOSS_AT_END = 5.0

# A function or a coroutine function.
Callback = Callable[[], object]


class _End:
    """What a task that resigns waits for."""

    def __init__(self) -> None:
        self.done = False
        self.waiter: Any = None


class _Waker:
    """Wakes the candidate when its hold is lost, the client is closed, or a task resigns."""

    def __init__(self) -> None:
        self.changed: Optional[Event] = None  # from the beginning of the block on

    def cancel(self) -> None:
        """See loops.Waker."""
        if self.changed is not None:
            self.changed.set()


class Election:
    """A candidate in an election, made by Client.elect(), for one `async with` block. To be a candidate again, make
    another Election.

    Example:
        >>> async with client.elect("scheduler", on_gain=lambda: print("leads")) as election:
        ...     while not election.is_leader:
        ...         leader = await election.leader()
        leads
        >>> election.is_leader
        False
    """

    def __init__(
        self, client: Client, name: LockName, on_gain: Optional[Callback], on_loss: Optional[Callback]
    ) -> None:
        name_bytes(name)
        self._client = client
        self._name = name
        self._on_gain: Optional[Callback] = callback_of(on_gain, "on_gain")
        self._on_loss: Optional[Callback] = callback_of(on_loss, "on_loss")
        self._resigned = False
        self._hold: Optional[Hold] = None
        self._waits: Optional[Call] = None  # the call that waits for the mutex
        self._error: Optional[BaseException] = None
        self._task: Any = None
        self._ends: List[_End] = []
        self._loop: Optional[TaskLoop] = None  # from the beginning of the block on
        self._waker = _Waker()

    @property
    def name(self) -> LockName:
        """The name as it was given, without the client's prefix."""
        return self._name

    @property
    def is_leader(self) -> bool:
        """Whether this candidate leads, as far as this process knows. Nothing is sent. False as soon as the lease is
        over."""
        hold = self._hold
        return hold is not None and not self._resigned and hold._alive() is not None

    async def leader(self) -> Optional[Party]:
        """Asks the server for the leader. Returns None if nobody leads. `host` and `pid` are known for clients of
        redlatch.

        Example:
            >>> print(await client.elect("scheduler").leader())
            None
        """
        return leader_of(await self._client.inspect(self._name))

    async def resign(self) -> None:
        """Ends the candidacy. If this candidate leads, on_loss() is called, and then the mutex is released. This is
        completed even if the task is cancelled. If a callback calls it, it returns at once, and the rest is done after
        the callback. Resigning twice is harmless.

        Example:
            >>> async with client.elect("scheduler") as election:
            ...     await election.resign()
            ...     election.is_leader
            False
        """
        cancellation = await self._end()
        if cancellation is not None:
            cancellation()
        error, self._error = self._error, None
        if error is not None:
            raise error

    async def __aenter__(self) -> Election:
        if self._loop is not None or self._resigned:
            raise RuntimeError(f"the candidacy for {self._name!r} has begun before; expected another client.elect()")
        loop = self._client._dispatcher.bind()
        lock = Lock(self._client, lib.REDLATCH_MUTEX, self._name, None, None, None, "task", on_lost="raise")
        self._loop, self._waker.changed = loop, loop.new_event()
        self._client._losses.wake_at_close(self._waker)
        loop.spawn(lambda: self._run(lock))
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if error is None:
            await self.resign()
            return
        cancellation = await self._end()  # an error of the candidacy was logged
        if cancellation is not None:
            cancellation()

    async def _end(self) -> Optional[Cancellation]:
        self._resigned = True
        self._waker.cancel()
        if self._waits is not None:
            self._client._dispatcher.cancel(self._waits)
        if self._loop is None or self._task is None or self._task is current_task():
            return None
        end = _End()
        self._ends.append(end)
        return await self._loop.wait(end, None, lambda _: None)

    async def _run(self, lock: Lock) -> None:
        self._task = current_task()
        try:
            hold = await self._campaign(lock)
            while hold is not None:
                await self._lead(lock, hold)
                hold = await self._campaign(lock)
        except ClosedError:
            pass
        except Exception as error:
            logger.exception("the candidacy for %r has ended", self._name)
            self._error = error
        finally:
            self._task = None
            for end in self._ends:
                end.done = True
                if end.waiter is not None and self._loop is not None:
                    self._loop.wake(end.waiter)

    async def _campaign(self, lock: Lock) -> Optional[Hold]:
        """Waits for the mutex. Returns None when the candidacy is over."""
        number = new_number()
        complaints = Complaints(self._name)
        while not self._resigned:
            complaints.begin()
            try:
                return await self._obtain(lock, number)
            except WaitCancelledError:
                return None
            except RedlatchError as error:
                if isinstance(error, LockLostError):  # granted, but its lease ended before the reply came
                    start = lib.redlatch_lock_start_release
                    self._client._dispatcher.give_back(start, lock._handle, number, kept=lock)
                elif not may_pass(error):
                    raise
                complaints.failed(error)
                await self._pause()
        return None

    async def _obtain(self, lock: Lock, number: int) -> Hold:
        dispatcher = self._client._dispatcher

        def undo(call: Call) -> Optional[Call]:
            return dispatcher.give_back(lib.redlatch_lock_start_release, lock._handle, number, kept=lock)

        start, arguments = lib.redlatch_lock_start_acquire, (lock._handle, number, LEASE_OF_LOCK, FOREVER)
        dispatcher.bind()
        call = self._waits = dispatcher.start(start, *arguments, name=self._name, kept=lock, undo=undo)
        try:
            cancellation = await dispatcher.finish(call, dispatcher.cancel)
        finally:
            self._waits = None
        if cancellation is not None:  # the loop ends
            if not call.status:
                undo(call)
            cancellation()
        if call.status:
            raise call.failure(self._name)
        return Hold(lock, number, ffi.buffer(lock._standing(number))[:])

    async def _pause(self) -> None:
        assert self._loop is not None
        self._waker.changed = event = self._loop.new_event()
        if not self._resigned:
            await self._loop.wait_event(event, RETRY)

    async def _lead(self, lock: Lock, hold: Hold) -> None:
        """Leads, from the grant to the loss or the release."""
        assert self._loop is not None and self._waker.changed is not None
        losses, dispatcher = self._client._losses, self._client._dispatcher
        losses.guard(hold._serial, self._waker)
        self._hold = hold
        led = False  # whether on_loss() is still to be called
        try:
            led = self.is_leader  # it may have resigned at the moment of the grant
            await _call(self._on_gain if led else None)
            while self.is_leader:
                await self._waker.changed.wait()
                self._waker.changed = self._loop.new_event()
            on_loss, led = self._on_loss if led else None, False
            await _call(on_loss)
        except BaseException as error:
            # An error that is no Exception means that the loop ends. A task that is destroyed, and was not cancelled,
            # cannot wait.
            ends = not isinstance(error, Exception)
            try:
                if led and ends and not isinstance(error, GeneratorExit):
                    await self._lose_at_end()
            finally:
                start = lib.redlatch_lock_start_release
                given_back = dispatcher.give_back(start, lock._handle, hold._number, kept=lock)
            if given_back is not None and not ends:
                await dispatcher.finish(given_back)
            raise
        finally:
            self._hold = None
            losses.unguard(hold._serial, self._waker)
        try:
            await lock._release(hold._number)
        except RedlatchError as error:
            if error.status not in (lib.REDLATCH_LOST, lib.REDLATCH_CLOSED):
                logger.warning("the leader for %r could not release: %s", self._name, error)

    async def _lose_at_end(self) -> None:
        """Calls on_loss() even though the task is cancelled."""
        assert self._loop is not None
        self._resigned = True
        try:
            with self._loop.shield(LOSS_AT_END):
                await _call(self._on_loss)
        except Exception:
            logger.exception("on_loss of the leader for %r failed", self._name)

    def __repr__(self) -> str:
        state = "leads" if self.is_leader else "over" if self._resigned else "does not lead"
        return f"<redlatch.aio.Election {self._name!r}, {state}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a redlatch.aio.Election cannot be pickled or copied: make one in each process")


async def _call(callback: Optional[Callback]) -> None:
    returned: Union[object, Any] = None if callback is None else callback()
    if inspect.isawaitable(returned):
        await returned

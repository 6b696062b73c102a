"""TrioLoop: the event loop of trio, with a system task that waits for the descriptor, and tasks that are rescheduled.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import signal
from types import TracebackType
from typing import Any, Callable, ContextManager, Coroutine, Optional, Type, Union

import trio

from redlatch.aio.loops import AnyWaiting, Cancellation, Event
from redlatch.errors import runs_at_exit


class TrioLoop:
    """The run of trio in which this object is made."""

    def __init__(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._descriptor: Optional[int] = None
        self._call: Optional[Callable[[], None]] = None
        self._scope = trio.CancelScope()

    def runs_here(self) -> bool:
        """See Loop, also for the other methods."""
        try:
            return trio.lowlevel.current_trio_token() is self._token
        except RuntimeError:
            return False

    def watch(self, descriptor: int, call: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._call = call  # kept to the end, because tasks that end the run wait for the calls in progress
        trio.lowlevel.spawn_system_task(self._watch, descriptor, call, name="redlatch events")

    async def _watch(self, descriptor: int, call: Callable[[], None]) -> None:
        with self._scope:
            while self._descriptor is not None:
                try:
                    await trio.lowlevel.wait_readable(descriptor)
                except trio.ClosedResourceError:  # unwatch() was called
                    return
                call()

    def unwatch(self) -> None:
        if self._descriptor is not None:
            descriptor, self._descriptor, self._call = self._descriptor, None, None
            self._scope.cancel()
            trio.lowlevel.notify_closing(descriptor)

    def end_watch(self, close: Callable[[], None]) -> None:
        def end() -> None:
            self.unwatch()
            close()

        if self.runs_here():
            end()
        elif runs_at_exit() or not self.post(end):  # as in asyncio_loop.py
            close()

    def wake(self, waiter: trio.lowlevel.Task) -> None:
        trio.lowlevel.reschedule(waiter)

    def post(self, call: Callable[[], object]) -> bool:
        try:
            self._token.run_sync_soon(call)
        except trio.RunFinishedError:
            return False
        return True

    def spawn(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        trio.lowlevel.spawn_system_task(function, name="redlatch")

    async def wait_event(self, event: Event, seconds: float) -> None:
        with trio.move_on_after(seconds):
            await event.wait()

    def new_event(self) -> Event:
        return trio.Event()

    def new_guard(self) -> _Guard:
        return _Guard()

    def shield(self, seconds: float) -> ContextManager[object]:
        return trio.CancelScope(shield=True, deadline=trio.current_time() + seconds)

    def on_signal(self, number: int, call: Callable[[], object]) -> Callable[[], None]:
        before = signal.signal(number, lambda _number, _frame: self._token.run_sync_soon(call))

        def end() -> None:
            signal.signal(number, before)

        return end

    checks = True

    async def check(self) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()

    async def wait(
        self,
        waiting: AnyWaiting,
        cancel: Optional[Callable[[AnyWaiting], object]],
        desert: Callable[[AnyWaiting], object],
    ) -> Optional[Cancellation]:
        first: Optional[Cancellation] = None

        def abort(raise_cancel: Any) -> trio.lowlevel.Abort:
            nonlocal first
            first = raise_cancel
            if cancel is not None:
                cancel(waiting)  # may end the wait, which reschedules the task
            return trio.lowlevel.Abort.FAILED

        if waiting.done:
            return None
        waiting.waiter = trio.lowlevel.current_task()
        try:
            await trio.lowlevel.wait_task_rescheduled(abort)
        except BaseException:
            desert(waiting)
            raise
        return first


class _Guard:
    """A cancel scope of trio, which distinguishes its own cancellation from others."""

    def __init__(self) -> None:
        self._scope = trio.CancelScope()
        self._scope.__enter__()

    def cancel(self) -> None:
        self._scope.cancel()

    async def leave(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], traceback: Optional[TracebackType]
    ) -> Union[bool, Cancellation]:
        self._scope.__exit__(kind, error, traceback)
        return self._scope.cancelled_caught or (self._scope.cancel_called and error is None)

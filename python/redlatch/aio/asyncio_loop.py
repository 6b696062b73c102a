"""AsyncioLoop: the event loops of asyncio and uvloop, with a reader and futures.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import asyncio
import contextvars
import signal
import weakref
from contextlib import nullcontext
from types import TracebackType
from typing import Any, Callable, ContextManager, Coroutine, NoReturn, Optional, Set, Type, Union

from redlatch.aio.loops import AnyWaiting, Cancellation, Event
from redlatch.errors import runs_at_exit


class AsyncioLoop:
    """The loop that runs where this object is made."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor: Optional[int] = None
        self._tasks: Set[asyncio.Task[None]] = set()

    def runs_here(self) -> bool:
        """See Loop, also for the other methods."""
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    def watch(self, descriptor: int, call: Callable[[], None]) -> None:
        # In an empty context. The loop would keep that of the first caller, and what follows a loss would run in it.
        contextvars.Context().run(self._loop.add_reader, descriptor, call)
        self._descriptor = descriptor

    def unwatch(self) -> None:
        if self._descriptor is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._descriptor)
        self._descriptor = None

    def end_watch(self, close: Callable[[], None]) -> None:
        def end() -> None:
            self.unwatch()
            close()

        # A loop that does not run may be changed by another thread.
        if self.runs_here() or not self._loop.is_running():
            end()
        elif runs_at_exit():  # the loop runs in a daemon thread, which Python may stop before a posted call
            close()
        elif not self.post(end):
            end()

    def wake(self, waiter: asyncio.Future[None]) -> None:
        if not waiter.done():
            waiter.set_result(None)

    def post(self, call: Callable[[], object]) -> bool:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:  # the loop is closed
            return False
        return True

    def spawn(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = self._loop.create_task(function())
        self._tasks.add(task)  # the loop itself does not keep the task alive
        task.add_done_callback(self._tasks.discard)

    async def wait_event(self, event: Event, seconds: float) -> None:
        try:
            await asyncio.wait_for(event.wait(), seconds)
        except asyncio.TimeoutError:
            pass

    def new_event(self) -> Event:
        return asyncio.Event()

    def new_guard(self) -> _Guard:
        return _Guard()

    def shield(self, seconds: float) -> ContextManager[object]:
        return nullcontext()  # a cancellation is raised once only

    def on_signal(self, number: int, call: Callable[[], object]) -> Callable[[], None]:
        before = signal.getsignal(number)
        self._loop.add_signal_handler(number, call)

        def end() -> None:
            self._loop.remove_signal_handler(number)
            signal.signal(number, before)

        return end

    checks = False

    async def check(self) -> None:
        """Does nothing: a cancellation is raised in a task only when it waits."""

    async def wait(
        self,
        waiting: AnyWaiting,
        cancel: Optional[Callable[[AnyWaiting], object]],
        desert: Callable[[AnyWaiting], object],
    ) -> Optional[Cancellation]:
        first: Optional[asyncio.CancelledError] = None
        try:
            while not waiting.done:
                waiting.waiter = self._loop.create_future()
                try:
                    await waiting.waiter
                except asyncio.CancelledError as cancelled:
                    first = first or cancelled
                    if cancel is not None and not waiting.done:
                        cancel(waiting)
        except BaseException:  # GeneratorExit
            desert(waiting)
            raise
        raising = None if first is None else _raising(first)
        first = None  # its traceback refers to this frame, and would keep all its variables alive
        return raising


class _Guard:
    """Works like asyncio.timeout(): it counts the cancellations of the task. Before Python 3.11 asyncio does not count
    them. There a cancellation by somebody else that comes together with the guard's is taken for the guard's."""

    def __init__(self) -> None:
        task: Any = asyncio.current_task()
        # A weak reference, so that the task can be deleted if its loop is closed before it ends. Its holds then end
        # with it.
        self._task: Callable[[], Any] = weakref.ref(task)
        self._before = task.cancelling() if hasattr(task, "cancelling") else 0
        self._cancelled = self._over = False

    def cancel(self) -> None:
        if not self._cancelled and not self._over:
            task = self._task()
            self._cancelled = task is not None and task.cancel()

    async def leave(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], traceback: Optional[TracebackType]
    ) -> Union[bool, Cancellation]:
        self._over = True
        if not self._cancelled:
            return False
        late: Optional[asyncio.CancelledError] = None
        if not isinstance(error, asyncio.CancelledError):
            try:
                await asyncio.sleep(0)  # the cancellation is raised here, if it was not raised yet
            except asyncio.CancelledError as cancelled:
                late = cancelled
        task = self._task()
        if not hasattr(task, "uncancel") or task.uncancel() <= self._before:
            return error is None or isinstance(error, asyncio.CancelledError)
        return False if late is None else _raising(late)


def _raising(error: asyncio.CancelledError) -> Cancellation:
    def raise_it() -> NoReturn:
        nonlocal error
        try:
            raise error
        finally:
            del error  # its traceback refers to the caller's frame, which refers to this function: a cycle

    return raise_it


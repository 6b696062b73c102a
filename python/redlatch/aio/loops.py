"""Finds the event loop that runs here, asyncio's or trio's, and declares what a client needs of it.

Neither package is imported for this, because the program has imported that of the loop that runs.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Callable, ContextManager, Coroutine, NoReturn, Optional, Protocol, Type, TypeVar, Union

# Raises a cancellation that was held back until the end of a wait.
Cancellation = Callable[[], NoReturn]


class Event(Protocol):
    """What `asyncio.Event` and `trio.Event` have in common."""

    def is_set(self) -> bool:
        """Whether it was set."""

    def set(self) -> object:
        """Wakes all waiters."""

    async def wait(self) -> object:
        """Waits until it is set."""


class Waker(Protocol):
    """An object that is notified of a loss, or of the end of the client."""

    def cancel(self) -> None:
        """Notifies the object."""


class Guard(Waker, Protocol):
    """Cancels a block of a task, and distinguishes its own cancellation from others. Only the task itself calls
    leave()."""

    def cancel(self) -> None:
        """Cancels the rest of the block."""

    async def leave(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], traceback: Optional[TracebackType]
    ) -> Union[bool, Cancellation]:
        """Called when the block ends with this exception. From now on cancel() does nothing.

        Returns:
            True if cancel() ended the block and nobody else cancelled the task; the task then counts as not cancelled.
            Otherwise a cancellation by somebody else that has come meanwhile, which the caller has to raise, or False.
        """


class Waiting(Protocol):
    """What a task waits for."""

    done: bool
    waiter: Any  # what the loop wakes


AnyWaiting = TypeVar("AnyWaiting", bound=Waiting)


class Loop(Protocol):
    """What a dispatcher needs of an event loop. Any thread may call runs_here(), post() and TaskLoop.end_watch(). The
    other methods are called by the thread of the loop."""

    def runs_here(self) -> bool:
        """Returns whether the calling thread is inside this loop."""

    def watch(self, descriptor: int, call: Callable[[], None]) -> None:
        """Makes the call whenever the descriptor is readable, until unwatch(). asyncio's loop drops `call` when
        it is closed."""

    def unwatch(self) -> None:
        """Ends watch(). The descriptor may be closed afterwards."""

    def wake(self, waiter: Any) -> None:
        """Wakes the task of a wait."""

    def post(self, call: Callable[[], object]) -> bool:
        """Has the loop make a call. Returns False if the loop has ended."""

    checks: bool  # whether check() can find a cancellation before the task waits

    async def check(self) -> None:
        """Raises the cancellation of the calling task, if the loop knows one."""

    def wait(
        self,
        waiting: AnyWaiting,
        cancel: Optional[Callable[[AnyWaiting], object]],
        desert: Callable[[AnyWaiting], object],
    ) -> Coroutine[Any, Any, Optional[Cancellation]]:
        """Waits until `waiting` is done. A cancellation does not end the wait: `cancel` is called, which may end it,
        and the cancellation is returned.

        If the loop ends and destroys the task, `desert` is called, and the exception that destroys the task is raised
        at once.
        """


class TaskLoop(Loop, Protocol):
    """What a dispatcher for tasks needs besides."""

    def end_watch(self, close: Callable[[], None]) -> None:
        """Ends watch(), from any thread, and calls `close`. When Python ends, a loop that still runs, in a daemon
        thread, is left as it is."""

    def spawn(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Starts a task. `function` must raise nothing but the cancellation that comes when the loop ends."""

    async def wait_event(self, event: Event, seconds: float) -> None:
        """Waits for an event, at most for this time."""

    def new_event(self) -> Event:
        """Returns a new event of this loop."""

    def new_guard(self) -> Guard:
        """Returns a guard for a block that the calling task begins."""

    def shield(self, seconds: float) -> ContextManager[object]:
        """Returns a context manager. In its block, for this time, a cancellation that the task has already received is
        not raised again."""

    def on_signal(self, number: int, call: Callable[[], object]) -> Callable[[], None]:
        """Has the call made when the signal comes, in the main thread. Returns a function that ends this."""

def running() -> TaskLoop:
    """Returns the loop that runs in this thread."""
    trio = sys.modules.get("trio")
    if trio is not None and _is_in(trio.lowlevel.current_trio_token):
        from redlatch.aio.trio_loop import TrioLoop

        return TrioLoop()
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and _is_in(asyncio.get_running_loop):
        from redlatch.aio.asyncio_loop import AsyncioLoop

        return AsyncioLoop()
    raise RuntimeError("no event loop runs here; expected a call from inside asyncio or trio")


def current_task() -> Optional[Any]:
    """Returns the task that runs in this thread, or None outside of tasks."""
    trio = sys.modules.get("trio")
    if trio is not None:
        try:
            return trio.lowlevel.current_task()
        except (RuntimeError, AttributeError):  # not inside trio, or trio is being imported
            pass
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None:
        try:
            return asyncio.current_task()
        except (RuntimeError, AttributeError):
            pass
    return None


def _is_in(ask: Callable[[], Any]) -> bool:
    try:
        ask()
    except (RuntimeError, AttributeError):
        return False
    return True



"""Which event loop runs here, asyncio's or trio's, and what the client asks of it.

Neither is imported for that: a loop that runs has been imported by the program.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Callable, ContextManager, Coroutine, NoReturn, Optional, Protocol, Type, TypeVar, Union

# Raises the cancellation that a wait has outlived.
Cancellation = Callable[[], NoReturn]


class Event(Protocol):
    """What `asyncio.Event` and `trio.Event` have in common."""

    def is_set(self) -> bool:
        """Whether it was set."""

    def set(self) -> object:
        """Wakes all who wait."""

    async def wait(self) -> object:
        """Waits until it is set."""


class Waker(Protocol):
    """What is notified of a loss."""

    def cancel(self) -> None:
        """Ends the wait for that."""


class Guard(Waker, Protocol):
    """Cancels the block of a task, and knows its cancellation from those of others. Only the task itself leaves it."""

    def cancel(self) -> None:
        """Cancels what is left of the block."""

    async def leave(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], traceback: Optional[TracebackType]
    ) -> Union[bool, Cancellation]:
        """The block ends with this exception. From now on cancel() does nothing.

        Returns:
            True if cancel() ended the block and nobody else cancelled the task, which is then as if it had not been
            cancelled; else the cancellation of somebody else that has come meanwhile, which is to be raised, or False.
        """


class Waiting(Protocol):
    """What a task waits for."""

    done: bool
    waiter: Any  # of the loop: who is to be woken


AnyWaiting = TypeVar("AnyWaiting", bound=Waiting)


class Loop(Protocol):
    """What a dispatcher needs of an event loop. All but post() and TaskLoop.end_watch() are called by the thread of the
    loop."""

    def runs_here(self) -> bool:
        """Whether the calling thread is inside this loop."""

    def watch(self, descriptor: int, call: Callable[[], None]) -> None:
        """Makes the call whenever the descriptor is readable, until unwatch()."""

    def unwatch(self) -> None:
        """Ends watch(). The descriptor may be closed afterwards."""

    def wake(self, waiter: Any) -> None:
        """Wakes the task of a wait."""

    def post(self, call: Callable[[], object]) -> bool:
        """Has the loop make a call, from any thread; False if the loop has ended."""

    checks: bool  # whether the loop knows a cancellation before the task waits

    async def check(self) -> None:
        """Raises the cancellation of the calling task, if the loop knows one."""

    def wait(
        self,
        waiting: AnyWaiting,
        cancel: Optional[Callable[[AnyWaiting], object]],
        desert: Callable[[AnyWaiting], object],
    ) -> Coroutine[Any, Any, Optional[Cancellation]]:
        """Waits until it is done. A cancellation does not end the wait: it calls `cancel`, which may, and is returned.

        When the loop is torn down and the task with it, the exception that does so comes at once, after `desert`.
        """


class TaskLoop(Loop, Protocol):
    """What tasks need of it, too."""

    def end_watch(self, close: Callable[[], None]) -> None:
        """Ends watch() from wherever it is called, and closes."""

    def spawn(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Starts a task that raises nothing but its cancellation, when the loop ends."""

    async def wait_event(self, event: Event, seconds: float) -> None:
        """Waits for an event, at most for this time."""

    def new_event(self) -> Event:
        """An event of this loop."""

    def new_guard(self) -> Guard:
        """A guard of a block that the calling task begins."""

    def shield(self, seconds: float) -> ContextManager[object]:
        """A block in which the cancellation that the task has outlived does not strike again, for this time."""

    def on_signal(self, number: int, call: Callable[[], object]) -> Callable[[], None]:
        """Makes the call when the signal comes, in the main thread; what is returned ends that."""

def running() -> TaskLoop:
    """The loop that runs in this thread."""
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
    """The task that runs in this thread; None outside of tasks."""
    trio = sys.modules.get("trio")
    if trio is not None:
        try:
            return trio.lowlevel.current_task()
        except (RuntimeError, AttributeError):  # not inside trio, or it is being imported
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



# SPDX-License-Identifier: Apache-2.0
"""Event loops for tests: one interface to asyncio, uvloop and trio. A test is given the World of its loop."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Awaitable, Callable, Dict, Optional, Set, Tuple

import trio
import uvloop

Main = Callable[..., Awaitable[Any]]
# "ok" and the task's result, "cancelled" and None, or "error" and the exception.
Outcome = Tuple[str, Any]

TIMEOUT = 30.0


class Started:
    """A task that was started, and its outcome."""

    def __init__(self) -> None:
        self.outcome: Optional[Outcome] = None
        self._over: Any = None  # an event of the loop
        self._cancel: Callable[[], Any] = lambda: None

    @property
    def done(self) -> bool:
        """Returns whether the task has ended."""
        return self.outcome is not None

    def cancel(self) -> None:
        """Cancels the task."""
        self._cancel()

    async def end(self) -> Outcome:
        """Waits for the end of the task, and returns its outcome."""
        await self._over.wait()
        assert self.outcome is not None
        return self.outcome

    async def value(self) -> Any:
        """Waits for the end of the task, and returns its result. Raises what the task raised."""
        how, what = await self.end()
        if how == "error":
            raise what
        assert how == "ok", how
        return what


class World:
    """The operations that tests need of an event loop."""

    cancelled: type[BaseException]

    async def sleep(self, seconds: float) -> None:
        """Sleeps while other tasks run."""
        raise NotImplementedError

    def spawn(self, function: Main, *arguments: Any) -> Started:
        """Starts a task."""
        raise NotImplementedError

    async def limited(self, seconds: float, function: Main, *arguments: Any) -> bool:
        """Runs the function, and cancels it after `seconds`. Returns whether it ended by itself."""
        raise NotImplementedError

    async def until(self, predicate: Callable[[], Any], what: str = "") -> None:
        """Waits until the predicate is true."""
        end = time.monotonic() + TIMEOUT
        while not predicate():
            assert time.monotonic() < end, f"waited in vain {what}"
            await self.sleep(0.002)

    async def _run(self, started: Started, function: Main, arguments: Tuple[Any, ...]) -> None:
        try:
            started.outcome = ("ok", await function(*arguments))
        except self.cancelled:
            started.outcome = ("cancelled", None)
            raise
        except Exception as error:
            started.outcome = ("error", error)
        finally:
            started._over.set()


class AsyncioWorld(World):
    """asyncio and uvloop."""

    cancelled = asyncio.CancelledError

    def __init__(self) -> None:
        self._tasks: Set[asyncio.Task[None]] = set()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def spawn(self, function: Main, *arguments: Any) -> Started:
        started = Started()
        started._over = asyncio.Event()
        task = asyncio.get_running_loop().create_task(self._run(started, function, arguments))
        started._cancel = task.cancel
        self._tasks.add(task)

        def end(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if started.outcome is None:  # cancelled before it began
                started.outcome = ("cancelled", None)
                started._over.set()

        task.add_done_callback(end)
        return started

    async def limited(self, seconds: float, function: Main, *arguments: Any) -> bool:
        started = self.spawn(function, *arguments)
        end = asyncio.get_running_loop().call_later(seconds, started.cancel)
        how, what = await started.end()
        end.cancel()
        if how == "error":
            raise what
        return how == "ok"


class TrioWorld(World):
    """trio."""

    cancelled = trio.Cancelled

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery

    async def sleep(self, seconds: float) -> None:
        await trio.sleep(seconds)

    def spawn(self, function: Main, *arguments: Any) -> Started:
        started = Started()
        started._over = trio.Event()
        scope = trio.CancelScope()
        started._cancel = scope.cancel

        async def run() -> None:
            try:
                with scope:
                    await self._run(started, function, arguments)
            finally:
                if started.outcome is None:  # cancelled before it began
                    started.outcome = ("cancelled", None)
                    started._over.set()

        self._nursery.start_soon(run)
        return started

    async def limited(self, seconds: float, function: Main, *arguments: Any) -> bool:
        with trio.move_on_after(seconds) as scope:
            await function(*arguments)
        return not scope.cancelled_caught


def _asyncio(new_loop: Callable[[], asyncio.AbstractEventLoop], main: Main, arguments: Tuple[Any, ...]) -> Any:
    loop = new_loop()
    try:
        return loop.run_until_complete(main(AsyncioWorld(), *arguments))
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.wait(left) if left else asyncio.sleep(0))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _trio(main: Main, arguments: Tuple[Any, ...]) -> Any:
    async def run() -> Any:
        async with trio.open_nursery() as nursery:
            result = await main(TrioWorld(nursery), *arguments)
            nursery.cancel_scope.cancel()
        return result

    try:
        return trio.run(run)
    except BaseException as error:
        while hasattr(error, "exceptions") and len(error.exceptions) == 1:  # an exception group of one
            error = error.exceptions[0]
        raise error from None


RUNNERS: Dict[str, Callable[[Main, Tuple[Any, ...]], Any]] = {
    "asyncio": lambda main, arguments: _asyncio(asyncio.new_event_loop, main, arguments),
    "uvloop": lambda main, arguments: _asyncio(uvloop.new_event_loop, main, arguments),
    "trio": _trio,
}


def run(loop: str, main: Main, *arguments: Any) -> Any:
    """Runs a coroutine function in a new loop of the named kind."""
    return RUNNERS[loop](main, arguments)

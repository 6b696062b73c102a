# SPDX-License-Identifier: Apache-2.0
"""Lets programs with threads use redlatch.aio: each thread that calls has a task, which makes and awaits its calls.
One event loop, on a thread of its own, runs all tasks.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import logging
import threading
from typing import Any, Awaitable, Callable, Dict, Optional, Tuple

import redlatch.aio
import trio
import uvloop

# A call that a task is to make, or None to end the task, and the future for the outcome.
Job = Tuple[Optional[Callable[[], Any]], "concurrent.futures.Future[Any]"]
SIMPLE = (str, bytes, int, float, bool, type(None), dict, redlatch.LockState, redlatch.Report)


class _OnAsyncio:
    def __init__(self, new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
        self._loop = new_loop()
        threading.Thread(target=self._loop.run_forever, name="loop", daemon=True).start()

    def new_task(self) -> Callable[[Job], None]:
        """Starts a task. Returns a function that gives it jobs."""

        async def begin() -> asyncio.Queue[Job]:
            jobs: asyncio.Queue[Job] = asyncio.Queue()
            task = asyncio.get_running_loop().create_task(_work(jobs.get))
            jobs.task = task  # type: ignore[attr-defined]  # else nobody keeps it
            return jobs

        jobs = asyncio.run_coroutine_threadsafe(begin(), self._loop).result()

        def give(job: Job) -> None:
            self._loop.call_soon_threadsafe(jobs.put_nowait, job)

        return give


class _OnTrio:
    def __init__(self) -> None:
        self._began = threading.Event()
        threading.Thread(target=lambda: trio.run(self._run), name="loop", daemon=True).start()
        self._began.wait()

    async def _run(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        async with trio.open_nursery() as self._nursery:
            self._began.set()
            await trio.sleep_forever()

    def new_task(self) -> Callable[[Job], None]:
        """Starts a task. Returns a function that gives it jobs."""
        give, take = trio.open_memory_channel[Job](1000)
        self._token.run_sync_soon(self._nursery.start_soon, _work, take.receive)
        return lambda job: self._token.run_sync_soon(give.send_nowait, job)


async def _work(take: Callable[[], Awaitable[Job]]) -> None:
    """Does the jobs of one task."""
    while True:
        make, outcome = job = await take()
        if make is None:
            outcome.set_result(None)
            return
        try:
            value = make()
            if inspect.isawaitable(value):
                value = await value
            elif hasattr(value, "__aiter__"):
                value = [each async for each in value]
            outcome.set_result(value)
        except Exception as error:
            outcome.set_exception(error)
        del job, make, outcome  # they may be the last references to a lock
        value = None


LOOPS: Dict[str, Callable[[], Any]] = {
    "asyncio": lambda: _OnAsyncio(asyncio.new_event_loop),
    "uvloop": lambda: _OnAsyncio(uvloop.new_event_loop),
    "trio": _OnTrio,
}


class Tasks:
    """Takes the place of the module redlatch in such programs. They get each object of redlatch.aio as a Shown."""

    def __init__(self, loop: str) -> None:
        logging.getLogger("redlatch").setLevel(logging.ERROR)  # no warnings about holds that a task left
        self._loop = LOOPS[loop]()
        self._own = threading.local()

    def call(self, make: Callable[[], Any]) -> Any:
        """Has the task of the calling thread make a call."""
        if not hasattr(self._own, "give"):
            self._own.give = self._loop.new_task()
        return self.show(self._do(make))

    def end_task(self) -> None:
        """Ends the task of the calling thread."""
        if hasattr(self._own, "give"):
            self._do(None)
            del self._own.give

    def _do(self, make: Optional[Callable[[], Any]]) -> Any:
        outcome: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self._own.give((make, outcome))
        return outcome.result()

    def show(self, value: Any) -> Any:
        """Returns a result as the program sees it."""
        if isinstance(value, SIMPLE):
            return value
        return [self.show(each) for each in value] if isinstance(value, list) else Shown(self, value)

    def connect(self, url: str, **options: Any) -> Any:
        """As redlatch.connect. The other functions are as those of redlatch, too."""
        return self.call(lambda: redlatch.aio.connect(url, **options))

    def multi_lock(self, *members: Shown, **options: Any) -> Any:
        return self.call(lambda: redlatch.aio.multi_lock(*(each.target for each in members), **options))

    def redlock(self, *members: Shown, **options: Any) -> Any:
        return self.call(lambda: redlatch.aio.redlock(*(each.target for each in members), **options))


class Shown:
    """An object whose attributes are read, and whose methods are called and awaited, by the caller's task."""

    def __init__(self, tasks: Tasks, target: Any) -> None:
        self._tasks = tasks
        self.target = target

    def __getattr__(self, name: str) -> Any:
        found = getattr(type(self.target), name)
        if not inspect.isfunction(found):
            return self._tasks.call(lambda: getattr(self.target, name))
        return lambda *given, **named: self._tasks.call(lambda: getattr(self.target, name)(*given, **named))

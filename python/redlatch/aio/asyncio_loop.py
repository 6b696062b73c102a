"""asyncio, and uvloop: a reader of the loop, and futures.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import asyncio
from typing import Callable, NoReturn, Optional

from redlatch.aio.loops import Cancellation, Event, Waiting


class AsyncioLoop:
    """The loop that runs where this is made."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor: Optional[int] = None

    def runs_here(self) -> bool:
        """As of Loop, like the others."""
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    def watch(self, descriptor: int, call: Callable[[], None]) -> None:
        self._loop.add_reader(descriptor, call)
        self._descriptor = descriptor

    def unwatch(self) -> None:
        if self._descriptor is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._descriptor)
        self._descriptor = None

    def end_watch(self, close: Callable[[], None]) -> None:
        def end() -> None:
            self.unwatch()
            close()

        # A loop that is halted lets others change it.
        if self.runs_here() or not self._loop.is_running() or not self.post(end):
            end()

    def wake(self, waiter: asyncio.Future[None]) -> None:
        if not waiter.done():
            waiter.set_result(None)

    def post(self, call: Callable[[], object]) -> bool:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:  # it is closed
            return False
        return True

    def new_event(self) -> Event:
        return asyncio.Event()

    async def check(self) -> None:
        """A task learns that it is cancelled when it waits."""

    async def wait(self, waiting: Waiting, cancel: Optional[Callable[[], None]]) -> Optional[Cancellation]:
        first: Optional[asyncio.CancelledError] = None
        while not waiting.done:
            waiting.waiter = self._loop.create_future()
            try:
                await waiting.waiter
            except asyncio.CancelledError as cancelled:
                first = first or cancelled
                if cancel is not None and not waiting.done:
                    cancel()
        return None if first is None else _raising(first)


def _raising(error: asyncio.CancelledError) -> Cancellation:
    def raise_it() -> NoReturn:
        raise error

    return raise_it


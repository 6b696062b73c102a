"""release_on_sigterm() for asyncio and trio: a SIGTERM cancels a block, after which the program ends.

A handler that raises could interrupt any code, also that of the loop. So the handler notifies the loop, which cancels
the task at a point where a cancellation is expected. The table of redlatch/sigterm.py holds here, too.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import signal
from types import TracebackType
from typing import Callable, Optional, Type

from redlatch.aio.loops import Guard, running
from redlatch.sigterm import STATUS, may_be_taken


class Termination:
    """The block that release_on_sigterm() makes."""

    def __init__(self) -> None:
        self._guard: Optional[Guard] = None  # while it handles SIGTERM
        self._end: Optional[Callable[[], None]] = None

    async def __aenter__(self) -> bool:
        if not may_be_taken():
            return False
        loop = running()
        self._guard = loop.new_guard()
        self._end = loop.on_signal(signal.SIGTERM, self._guard.cancel)
        return True

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if self._guard is None or self._end is None:
            return
        self._end()
        ended = await self._guard.leave(kind, error, traceback)
        if ended is True:
            raise SystemExit(STATUS) from None
        if ended:
            ended()


def release_on_sigterm() -> Termination:
    """Returns an `async with` block that a SIGTERM cancels, with what it awaits: the blocks in it are left, and
    release. Then it raises SystemExit(143). Put it around all that the program does. The value of `as` is True; it is
    False, and the block does nothing, if the program ignores SIGTERM or handles it already, as a server such as uvicorn
    does.

    Raises:
        RuntimeError: The loop does not run in the main thread.

    Example:
        >>> async with redlatch.aio.release_on_sigterm(), client.lock("orders:42"):
        ...     print("works; a SIGTERM cancels that")
        works; a SIGTERM cancels that
    """
    return Termination()

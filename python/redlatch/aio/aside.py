"""Opening and closing a client, which have no form that is started: each runs once, in a thread of its own.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Optional, TypeVar

from redlatch.aio.loops import Cancellation, Loop

Result = TypeVar("Result")


class _Aside:
    """What a task waits for while a thread works."""

    def __init__(self) -> None:
        self.done = False
        self.waiter: Any = None
        self.left = False
        self.result: Any = None
        self.error: Optional[BaseException] = None


async def run_aside(loop: Loop, work: Callable[[], Result], discard: Callable[[Result], object]) -> Result:
    """Does the work in a thread. A task that is cancelled leaves it; its result is then discarded, in a thread."""
    aside = _Aside()

    def arrive() -> None:
        if aside.left and aside.error is None:
            threading.Thread(target=discard, args=(aside.result,), name="redlatch-aside", daemon=True).start()
        elif not aside.left:
            aside.done = True
            _wake(loop, aside)

    def run() -> None:
        try:
            aside.result = work()
        except BaseException as error:
            aside.error = error
        if (aside.left or not loop.post(arrive)) and aside.error is None:
            discard(aside.result)

    def leave(aside: _Aside) -> None:
        aside.left = aside.done = True
        _wake(loop, aside)

    def desert(aside: _Aside) -> None:
        aside.left = True

    threading.Thread(target=run, name="redlatch-aside", daemon=True).start()
    cancellation = await loop.wait(aside, leave, desert)
    if cancellation is not None:
        if not aside.left and aside.error is None:
            discard(aside.result)
        cancellation()
    if aside.error is not None:
        raise aside.error
    result: Result = aside.result
    return result


async def finish_aside(loop: Loop, work: Callable[[], Result]) -> Optional[Cancellation]:
    """Does the work in a thread, to its end although the task is cancelled.

    Returns:
        The cancellation, which is to be raised.
    """
    aside = _Aside()

    def arrive() -> None:
        aside.done = True
        _wake(loop, aside)

    def run() -> None:
        try:
            work()
        finally:
            loop.post(arrive)

    threading.Thread(target=run, name="redlatch-aside", daemon=True).start()
    return await loop.wait(aside, None, lambda _: None)


def _wake(loop: Loop, aside: _Aside) -> None:
    if aside.waiter is not None:
        loop.wake(aside.waiter)

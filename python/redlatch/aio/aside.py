"""Runs the opening and the closing of a client in a thread of its own, because the core has no started call for them.

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
    """Does the work in a thread, and returns its result. A cancelled task does not wait for the work; `discard` is
    called with the result when the work is done."""
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
    """Does the work in a thread, and waits for its end even if the task is cancelled.

    Returns:
        The cancellation, which the caller has to raise, or None.
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

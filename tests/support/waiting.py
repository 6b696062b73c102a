# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition without sleeping longer than the condition needs."""

from __future__ import annotations

import time
from typing import Callable, TypeVar, Union

Result = TypeVar("Result")

_SHORTEST_PAUSE = 0.002
_LONGEST_PAUSE = 0.005


def wait_until(
    predicate: Callable[[], Result], timeout: float = 5.0, message: Union[str, Callable[[], str], None] = None
) -> Result:
    """Call `predicate` every 2 to 5 ms until what it returns is true, and return that.

    After `timeout` seconds an AssertionError says what was waited for, how long, and the last value seen. `message` may
    be a function, for text that is only worth making when the wait failed.
    """
    started = time.monotonic()
    pause = _SHORTEST_PAUSE
    while True:
        value = predicate()
        if value:
            return value
        waited = time.monotonic() - started
        if waited >= timeout:
            text = message() if callable(message) else message
            what = text or getattr(predicate, "__qualname__", repr(predicate))
            raise AssertionError(f"waited {waited:.3f} s in vain for: {what} (last value: {value!r})")
        time.sleep(min(pause, max(timeout - waited, 0.0)))
        pause = min(pause + 0.001, _LONGEST_PAUSE)

"""Converts seconds, as callers give them, to the milliseconds of the core.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import enum
import threading
from datetime import timedelta
from typing import Optional, Union

from redlatch._ffi import FOREVER, RENEWED
from redlatch.errors import InvalidArgumentError

# Type checkers accept an int for a float.
Seconds = Union[float, timedelta]


class LockTimeout(enum.Enum):
    """The default of a `timeout` argument: the timeout of the lock."""

    LOCK_TIMEOUT = "the timeout of the lock"

    def __repr__(self) -> str:
        return self.name


LOCK_TIMEOUT = LockTimeout.LOCK_TIMEOUT

# Ten years, as in the core. It is checked here for a message that names the argument and has seconds.
SECONDS_MAX = 10 * 365 * 86400


def wait_ms(seconds: Optional[Seconds], argument: str) -> int:
    """Converts a time to wait. None, -1 and threading.TIMEOUT_MAX wait for ever; 0 tries once."""
    if _is_endless(seconds) or seconds == threading.TIMEOUT_MAX:
        return FOREVER
    return _milliseconds(seconds, argument, "None or -1 to wait for ever, 0 to try once, or seconds")


def blocking_wait_ms(blocking: bool, timeout: Union[Seconds, LockTimeout, None], lock_wait_ms: int = FOREVER) -> int:
    """Returns how long an acquire waits, by its arguments `blocking` and `timeout`, which are those of threading.
    Returns lock_wait_ms if the call has no timeout."""
    if not isinstance(blocking, int) or blocking not in (0, 1):
        # The 5 of acquire(5) is meant as a timeout. Taken for True it would wait for ever.
        raise TypeError(f"blocking is {blocking!r}; expected True or False (did you mean timeout={blocking!r}?)")
    if isinstance(timeout, LockTimeout):
        return lock_wait_ms if blocking else 0
    wait = wait_ms(timeout, "timeout")
    if blocking:
        return wait
    if wait >= 0:
        raise InvalidArgumentError("cannot specify a timeout for a non-blocking call")
    return 0


def lease_ms(seconds: Optional[Seconds], argument: str) -> int:
    """Converts a lease. None or -1 means a lease that is renewed for as long as the lock is held."""
    if _is_endless(seconds):
        return RENEWED
    return _more_than_nothing(seconds, argument, "None for a lease that is renewed, or more than 0 seconds")


def limit_ms(seconds: Optional[Seconds], argument: str) -> int:
    """Converts a limit. None or -1 means that there is no limit."""
    if _is_endless(seconds):
        return FOREVER
    return _more_than_nothing(seconds, argument, "None for no limit, or more than 0 seconds")


def span_ms(seconds: Seconds, argument: str) -> int:
    """Converts a duration that must be more than 0, and not infinite."""
    return _more_than_nothing(seconds, argument, "more than 0 seconds")


def delay_ms(seconds: Seconds, argument: str) -> int:
    """Converts a duration that may be 0, but not infinite."""
    return _milliseconds(seconds, argument, "0 or more seconds")


def _is_endless(seconds: Optional[Seconds]) -> bool:
    return seconds is None or (seconds == -1 and not isinstance(seconds, bool))


def _more_than_nothing(seconds: Optional[Seconds], argument: str, expected: str) -> int:
    milliseconds = _milliseconds(seconds, argument, expected)
    if milliseconds == 0:
        raise InvalidArgumentError(f"{argument} is {seconds!r}; expected {expected}")
    return milliseconds


def _milliseconds(seconds: Optional[Seconds], argument: str, expected: str) -> int:
    # bool is an int to Python, but timeout=True is a mistake: who writes it means blocking=True.
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float, timedelta)):
        raise TypeError(
            f"{argument} is {seconds!r}, of type {type(seconds).__name__}; expected {expected}, "
            "as a number or timedelta"
        )
    count = seconds.total_seconds() if isinstance(seconds, timedelta) else seconds
    if not 0 <= count <= SECONDS_MAX:  # no comparison holds for NaN
        raise InvalidArgumentError(f"{argument} is {seconds!r}; expected {expected}, at most {SECONDS_MAX}")
    # A duration that would be rounded to 0 becomes 1 ms, because 0 has a meaning of its own.
    return max(round(count * 1000), 1) if count else 0

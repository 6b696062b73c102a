# SPDX-License-Identifier: Apache-2.0
"""How long the machine keeps a thread from running that is ready to, measured while a test measures something else.

Bounds on times are the core's to keep, but a machine that is busy with other things stops the test and the core alike.
A bound is widened by what was measured, which is next to nothing on a quiet machine.

hold_the_gil() is a stall made on purpose.
"""

from __future__ import annotations

import ctypes
import threading
import time
from types import TracebackType
from typing import Optional, Type

_PERIOD = 0.004
# From a timer of the core to a line of the test it is up to three threads that have to run one after the other.
_THREADS = 3


def hold_the_gil(seconds: float) -> None:
    """Runs no Python code in this process for so long, in any thread, as a C extension may that keeps the GIL."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:  # a signal ends it early
        ctypes.PyDLL(None).usleep(int(left * 1e6) + 1)


class Stalls:
    """Measures from the beginning of the `with` block until it ends."""

    def __init__(self) -> None:
        self._worst = 0.0
        self._asleep_since = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._measure, name="e2e-stalls", daemon=True)

    def _measure(self) -> None:
        while not self._over.is_set():
            self._asleep_since = time.monotonic()
            time.sleep(_PERIOD)
            self._worst = max(self._worst, self._late())

    def _late(self) -> float:
        return time.monotonic() - self._asleep_since - _PERIOD

    def widen(self, bound: float) -> float:
        """A bound in seconds and what the machine may have added so far, in a stall that still lasts, too."""
        return bound + _THREADS * (self._worst if self._over.is_set() else max(self._worst, self._late()))

    def __enter__(self) -> Stalls:
        self._thread.start()
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._over.set()
        self._thread.join()

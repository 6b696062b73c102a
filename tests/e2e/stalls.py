# SPDX-License-Identifier: Apache-2.0
"""Measures stalls: how long the machine keeps a ready thread from running, while a test measures something else.

The core must keep bounds on times, but a machine that is busy with other work delays the core and the test alike. Tests
widen a bound by the measured stall, which is close to zero on a quiet machine.

hold_the_gil() stalls all threads on purpose.
"""

from __future__ import annotations

import ctypes
import threading
import time
from types import TracebackType
from typing import Optional, Type

_PERIOD = 0.004
# Up to three threads have to run one after the other from a timer of the core to the line of the test that measures.
_THREADS = 3


def hold_the_gil(seconds: float) -> None:
    """Keeps all threads from running Python code for `seconds`, as a C extension that keeps the GIL does."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:  # a signal ends usleep early
        ctypes.PyDLL(None).usleep(int(left * 1e6) + 1)


class Stalls:
    """Measures stalls during a `with` block."""

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
        """Returns a bound in seconds plus what stalls may have added so far, including a stall that still lasts."""
        return bound + _THREADS * (self._worst if self._over.is_set() else max(self._worst, self._late()))

    def __enter__(self) -> Stalls:
        self._thread.start()
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._over.set()
        self._thread.join()

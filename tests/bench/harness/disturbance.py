# SPDX-License-Identifier: Apache-2.0
"""How much CPU time others took while we measured: on a busy machine even ratios lose their meaning."""

from __future__ import annotations

import os
import resource
import time
from typing import Callable

# /proc/stat counts in these; user, nice, system, irq, softirq and steal are time that is gone for us.
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_BUSY_FIELDS = (1, 2, 3, 6, 7, 8)


def _busy_seconds() -> float:
    with open("/proc/stat", encoding="ascii") as file:
        fields = file.readline().split()
    return sum(int(fields[index]) for index in _BUSY_FIELDS) / _TICKS_PER_SECOND


def _own_seconds() -> float:
    """This process and all programs that it ran to their end."""
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Disturbance:
    """Counts from its making on; `server_seconds` says what CPU time the server has used so far."""

    def __init__(self, server_seconds: Callable[[], float]) -> None:
        self._server_seconds = server_seconds
        self._start = time.monotonic()
        self._others_before = self._others()

    def _others(self) -> float:
        return _busy_seconds() - _own_seconds() - self._server_seconds()

    def percent_of_core(self) -> float:
        """CPU time of all other processes, and what a hypervisor took away, since the start."""
        elapsed = time.monotonic() - self._start
        return max(0.0, 100.0 * (self._others() - self._others_before) / elapsed) if elapsed > 0 else 0.0

# SPDX-License-Identifier: Apache-2.0
"""A latch opens when its count is zero, and not before.

A waiter that was let through must have waited at a moment at which the count may have been zero. At each moment the
count is at least the sum of all counts to which the latch was set, as far as confirmed, less all count-downs that had
begun.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import List

from history import History, Operation


def check(name: str, operations: List[Operation], history: History) -> List[str]:
    """Returns the waits for one name that were let through although the count was above zero all the time."""
    changes = [(line["t"], line["n"]) for line in history.lines("set", name)]
    changes += [(line["t"], -1) for line in history.lines("counting", name)]
    changes.sort()
    times = [time for time, _ in changes]
    left = [0, *accumulate(change for _, change in changes)]  # before the first change, and after each
    found: List[str] = []
    for each in operations:
        if each.got is None:
            continue
        least = min(left[bisect_left(times, each.requested) : bisect_right(times, each.got) + 1])
        if least > 0:
            found.append(f"latch: {each.id} was let through {name}, where {least} were left to be counted down")
    return found

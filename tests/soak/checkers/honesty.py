# SPDX-License-Identifier: Apache-2.0
"""What redlatch tells a holder is true: a hold is not lost before the time until which it was said to be safe. And a
renewed hold is not lost at all, unless the nemesis disturbed it.

This holds because nothing in the soak removes a lock from its holder, and the server loses no data. Redisson does not
promise it.
"""

from __future__ import annotations

from typing import List

from history import History, Operation
from plan import LEASE_MS, RENEWED

from .disturbances import Disturbances

GONE = ("lost", "not_owned")
# `remaining` is in whole milliseconds, rounded down. In the last millisecond of a hold it is 0.
RESOLUTION = 1_000_000
# A lease is renewed after a third of it, and then again and again. Only a longer disturbance than this can prevent all
# renewals.
DISTURBED = LEASE_MS * 1_000_000 // 6


def check(history: History) -> List[str]:
    """Returns the holds that were lost while they were safe."""
    found: List[str] = []
    disturbances = Disturbances(history.strokes)
    for each in history.operations:
        if each.got is None or each.language == "java":
            continue
        safe = max(until for _, until in each.checks)
        if each.lost is not None and each.lost + RESOLUTION <= _promised(each, each.lost):
            found.append(f"honesty: {each.id} lost {each.name} at {each.lost}, and was told it was safe until {safe}")
        elif each.outcome in GONE and each.lost is None and each.gave is not None and each.gave < safe:
            found.append(
                f"honesty: {each.id} gave {each.name} back and was told '{each.outcome}' at {each.gave}, after it was"
                f" told it was safe until {safe}"
            )
        elif each.lease == RENEWED and _is_gone(each):
            disturbed = disturbances.during(each.process, safe - LEASE_MS * 1_000_000, safe)
            if disturbed <= DISTURBED:
                found.append(
                    f"honesty: {each.id} lost {each.name}, which was not renewed beyond {safe}, and the nemesis was at"
                    f" work for only {disturbed // 1_000_000} ms of that lease"
                )
    return found


def _promised(operation: Operation, moment: int) -> int:
    """Returns until when the hold was said to be safe, in the answers up to a moment."""
    return max(until for since, until in operation.checks if since <= moment)


def _is_gone(operation: Operation) -> bool:
    return operation.lost is not None or operation.outcome in GONE

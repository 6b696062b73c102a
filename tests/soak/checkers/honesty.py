# SPDX-License-Identifier: Apache-2.0
"""What a holder of ours is told is true: who is sure of a hold until some time does not lose it before. And a hold that
is renewed is not lost at all, unless the nemesis was at work on it.

Nothing in the soak takes a lock away from its holder, and the server never forgets; Redisson gives no such promise.
"""

from __future__ import annotations

from typing import List

from history import History, Operation
from plan import LEASE_MS, RENEWED

from .disturbances import Disturbances

GONE = ("lost", "not_owned")
# What is left is told in whole milliseconds, rounded down: in the last one of a hold nothing is left.
RESOLUTION = 1_000_000
# A lease is renewed when a third of it is over, and then again and again: it takes more than this to keep a client from
# it.
DISTURBED = LEASE_MS * 1_000_000 // 6


def check(history: History) -> List[str]:
    """The holds that were gone while they were safe."""
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
    """Until when the hold was said to be safe, by what was said up to that moment."""
    return max(until for since, until in operation.checks if since <= moment)


def _is_gone(operation: Operation) -> bool:
    return operation.lost is not None or operation.outcome in GONE

# SPDX-License-Identifier: Apache-2.0
"""Fair locks are granted in the order in which their waiters came to the server.

Only the server knows that order; an observer looks at its queue. Whoever was seen in it before another so much as
asked, and was still seen in it after that other had been granted the lock, was passed over.

Those whom the nemesis, or a silence of the server, kept from telling it that they live are not judged, nor are waiters
of Redisson's, which lose their places by waiting long. These may also come back to a place, having left it
behind when a wait failed.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Dict, List, Tuple

from history import History, Operation
from plan import LEASE_MS

from .disturbances import Disturbances

# A waiter that is silent for a lease loses its place; three times in that span it tells that it lives.
SILENCE = LEASE_MS * 1_000_000 // 3


def check(name: str, operations: List[Operation], history: History) -> List[str]:
    """The waiters of one name that were passed over."""
    seen = _first_and_last_sight(history, name)
    disturbances = Disturbances(history.strokes)
    granted = [each for each in operations if each.got is not None]
    requested = [each.requested for each in granted]
    found: List[str] = []
    for each in granted:
        sight = seen.get(each.facts.get("owner", ""))
        if sight is None or each.language == "java" or each.got is None:
            continue
        if disturbances.during(each.process, each.requested, each.got) > SILENCE:
            continue
        first, last = sight
        for other in granted[bisect_right(requested, first) : bisect_right(requested, last)]:
            back = seen.get(other.facts.get("owner", ""), (other.requested, 0))[0] < other.requested
            if other.got is not None and other.got < last and not back:
                found.append(
                    f"order: {each.id} stood in the queue of {name} from {first} to {last}, and {other.id}, which"
                    f" asked at {other.requested}, was granted it at {other.got}"
                )
    return found


def _first_and_last_sight(history: History, name: str) -> Dict[str, Tuple[int, int]]:
    """By owner: a moment when it surely stood in the queue first, and one when it did so last."""
    seen: Dict[str, Tuple[int, int]] = {}
    for line in history.lines("queue", name):
        for owner in line["owners"]:
            first, _ = seen.get(owner, (line["until"], 0))
            seen[owner] = first, line["t"]
    return seen

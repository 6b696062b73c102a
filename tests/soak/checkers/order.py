# SPDX-License-Identifier: Apache-2.0
"""Fair locks are granted in the order in which their waiters reached the server.

Only the server knows that order. An observer reads its queue. A waiter was passed over if it was seen in the queue
before another waiter asked, and was still seen in it after that other waiter had been granted the lock.

Not judged are waiters whose heartbeat the nemesis, or a silence of the server, may have prevented. Nor are waiters of
Redisson, which lose their positions when they wait long. They may also return to a position that a failed wait left
behind.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Dict, List, Tuple

from history import History, Operation
from plan import LEASE_MS

from .disturbances import Disturbances

# A waiter whose heartbeat is missing for a lease loses its position. The heartbeat is sent three times in that time.
SILENCE = LEASE_MS * 1_000_000 // 3


def check(name: str, operations: List[Operation], history: History) -> List[str]:
    """Returns the waiters of one name that were passed over."""
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
    """Returns for each owner a moment at which it surely was in the queue for the first time, and one for the last
    time."""
    seen: Dict[str, Tuple[int, int]] = {}
    for line in history.lines("queue", name):
        for owner in line["owners"]:
            first, _ = seen.get(owner, (line["until"], 0))
            seen[owner] = first, line["t"]
    return seen

# SPDX-License-Identifier: Apache-2.0
"""Nobody holds a lock while another is sure of it: no two beliefs overlap, unless both are readers'.

Beliefs are asserted by the holders themselves, so one sweep over them by time decides, with no search.
"""

from __future__ import annotations

import heapq
from typing import List, Set, Tuple

from history import History, Operation

# Holds of these kinds go together.
SHARED = ("read",)


def check(name: str, operations: List[Operation], _history: History) -> List[str]:
    """The pairs of holds of one name that were held at once."""
    spans = sorted(
        (since, until, index) for index, each in enumerate(operations) for since, until in each.beliefs()
    )
    found: List[str] = []
    reported: Set[Tuple[int, int]] = set()
    live: List[Tuple[int, int, int]] = []  # until, since, index
    for since, until, index in spans:
        while live and live[0][0] <= since:
            heapq.heappop(live)
        for other_until, _, other in live:
            pair = min(index, other), max(index, other)
            if other != index and pair not in reported and not _go_together(operations[index], operations[other]):
                reported.add(pair)
                overlap = min(until, other_until) - since
                found.append(
                    f"exclusion: {name} was held by {operations[other].id} and"
                    f" {operations[index].id} at once, for {overlap / 1e6:.3f} ms from {since}"
                )
        heapq.heappush(live, (until, since, index))
    return found


def _go_together(one: Operation, other: Operation) -> bool:
    return one.kind in SHARED and other.kind in SHARED

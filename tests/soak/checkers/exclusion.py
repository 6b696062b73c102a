# SPDX-License-Identifier: Apache-2.0
"""Nobody holds a lock while another is sure of it: no two spans of belief overlap, unless both are of readers.

The holders themselves state their beliefs, so one sweep over them by time decides, without a search.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import List, Set, Tuple

from history import History, Operation

# Several holds of these kinds may exist at the same time.
SHARED = ("read",)


@dataclass(frozen=True)
class Overlap:
    """Two holds at the same time. Times are nanoseconds."""

    one: Operation
    other: Operation
    since: int
    until: int

    def text(self, name: str) -> str:
        """Returns the violation."""
        lasted = (self.until - self.since) / 1e6
        return (f"exclusion: {name} was held by {self.one.id} and {self.other.id} at once, for {lasted:.3f} ms from"
                f" {self.since}")


def check(name: str, operations: List[Operation], _history: History) -> List[str]:
    """Returns a violation for each pair of holds of one name that existed at the same time."""
    return [overlap.text(name) for overlap in overlaps(operations)]


def overlaps(operations: List[Operation]) -> List[Overlap]:
    """Returns the overlaps, each pair of holds once."""
    spans = sorted(
        (since, until, index) for index, each in enumerate(operations) for since, until in each.beliefs()
    )
    found: List[Overlap] = []
    reported: Set[Tuple[int, int]] = set()
    live: List[Tuple[int, int, int]] = []  # until, since, index
    for since, until, index in spans:
        while live and live[0][0] <= since:
            heapq.heappop(live)
        for other_until, _, other in live:
            pair = min(index, other), max(index, other)
            if other != index and pair not in reported and not _go_together(operations[index], operations[other]):
                reported.add(pair)
                found.append(Overlap(operations[other], operations[index], since, min(until, other_until)))
        heapq.heappush(live, (until, since, index))
    return found


def _go_together(one: Operation, other: Operation) -> bool:
    return one.kind in SHARED and other.kind in SHARED

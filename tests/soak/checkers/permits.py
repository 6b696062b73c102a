# SPDX-License-Identifier: Apache-2.0
"""No more permits of a semaphore are held than it has, and no id of a permit comes twice.

A permit that nobody owns is held until its release begins. A permit with a lease is held for as long as its holder can
be sure of it.
"""

from __future__ import annotations

import heapq
from typing import Dict, List, Tuple

from history import History, Operation
from kinds import KINDS


def check(name: str, operations: List[Operation], _history: History) -> List[str]:
    """Returns the moments at which more permits of one name were held than it has."""
    limit = KINDS[operations[0].kind].options["permits"]
    spans = sorted((since, until, each.n, each.id) for each in operations for since, until in _held(each))
    found: List[str] = []
    live: List[Tuple[int, int, str]] = []  # until, permits, id
    taken = 0
    for since, until, count, holder in spans:
        while live and live[0][0] <= since:
            taken -= heapq.heappop(live)[1]
        heapq.heappush(live, (until, count, holder))
        taken += count
        if taken > limit:
            holders = ", ".join(sorted(each for _, _, each in live))
            found.append(
                f"permits: {taken} of the {limit} permits of {name} were held at {since}, by {holders}"
            )
    return found


def _held(operation: Operation) -> List[Tuple[int, int]]:
    """Joins the spans of belief of one acquire, so that its permits count once."""
    joined: List[Tuple[int, int]] = []
    for since, until in operation.beliefs():
        if joined and since <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(until, joined[-1][1])
        else:
            joined.append((since, until))
    return joined


def check_ids(name: str, operations: List[Operation], _history: History) -> List[str]:
    """Returns the ids of permits that came twice, and the grants without an id for each permit."""
    found: List[str] = []
    seen: Dict[str, str] = {}
    for each in operations:
        if each.got is None:
            continue
        ids = each.facts.get("ids", [])
        if len(ids) != each.n:
            found.append(f"permit_ids: {each.id} was granted {each.n} permits of {name} with {len(ids)} ids")
        for permit in ids:
            if permit in seen:
                found.append(f"permit_ids: {name} gave the permit {permit} to {seen[permit]} and to {each.id}")
            seen[permit] = each.id
    return found

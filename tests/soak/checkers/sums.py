# SPDX-License-Identifier: Apache-2.0
"""Lost, late and doubled commands change no count: in the end there are as many permits as by the history there have to
be.

What is not known of a history leaves a span: calls of killed processes, and those that ended with an error. Redisson
sends a command again whose answer is late, and some take effect each time; so a call of its that the nemesis was at
work on may count so often.
"""

from __future__ import annotations

from typing import List, Optional, Tuple

from history import History, Operation
from kinds import KINDS

from .disturbances import Disturbances

# Commands that Redisson sends for one call at the most, by the options in workers/theirs.py.
_SENT = 3


def check(name: str, operations: List[Operation], history: History) -> List[str]:
    """What the count of one name's permits should have been, if it is not."""
    (kind,) = {each.kind for each in operations}
    disturbances = Disturbances(history.strokes)
    least = most = KINDS[kind].options["permits"]
    leased = KINDS[kind].shape == "permits"
    for each in operations:
        taken, given = _taken(each, disturbances), _given(each, disturbances)
        if not leased:
            least, most = least - taken[1] + given[0], most - taken[0] + given[1]
        else:
            least -= max(0, taken[1] - each.n)  # taken twice under one id, of which one has a lease that ends
    return [
        f"sums: {name} has {line['n']} permits in the end; expected {least} to {most}"
        for line in history.lines("count", name)
        if not least <= line["n"] <= most
    ]


def _taken(operation: Operation, disturbances: Disturbances) -> Tuple[int, int]:
    """How many permits an acquire took, at the least and at the most."""
    most = operation.n * _times(operation, operation.requested, operation.ended, disturbances)
    if operation.got is not None:
        return operation.n, most
    return 0, 0 if operation.why == "timeout" and most == operation.n else most


def _given(operation: Operation, disturbances: Disturbances) -> Tuple[int, int]:
    """How many permits a release gave back, at the least and at the most."""
    if operation.give is None:
        return 0, 0
    most = operation.n * _times(operation, operation.give, operation.gave, disturbances)
    return operation.n if operation.outcome == "ok" else 0, most


def _times(operation: Operation, since: int, until: Optional[int], disturbances: Disturbances) -> int:
    """How often a call may have taken effect; without an end it was under way when its process was killed."""
    disturbed = until is None or disturbances.during(operation.process, since, until)
    return _SENT if operation.language == "java" and disturbed else 1

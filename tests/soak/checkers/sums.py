# SPDX-License-Identifier: Apache-2.0
"""Lost, late and doubled commands change no count: at the end a semaphore has as many permits as the history says.

Calls of killed processes, and calls that ended with an error, leave a range. Redisson repeats a command whose reply is
late, and each copy may take effect. So a call of Redisson that the nemesis disturbed may count several times.
"""

from __future__ import annotations

from typing import List, Optional, Tuple

from history import History, Operation
from kinds import KINDS

from .disturbances import Disturbances

# How often Redisson sends a command for one call at most, with the options in workers/theirs.py.
_SENT = 3


def check(name: str, operations: List[Operation], history: History) -> List[str]:
    """Returns a violation if the number of one name's permits is not what it should be."""
    (kind,) = {each.kind for each in operations}
    disturbances = Disturbances(history.strokes)
    least = most = KINDS[kind].options["permits"]
    leased = KINDS[kind].shape == "permits"
    for each in operations:
        taken, given = _taken(each, disturbances), _given(each, disturbances)
        if not leased:
            least, most = least - taken[1] + given[0], most - taken[0] + given[1]
        else:
            least -= max(0, taken[1] - each.n)  # acquired twice under one id; one of both has a lease, which ends
    return [
        f"sums: {name} has {line['n']} permits in the end; expected {least} to {most}"
        for line in history.lines("count", name)
        if not least <= line["n"] <= most
    ]


def _taken(operation: Operation, disturbances: Disturbances) -> Tuple[int, int]:
    """Returns how many permits an acquire took at least and at most."""
    most = operation.n * _times(operation, operation.requested, operation.ended, disturbances)
    if operation.got is not None:
        return operation.n, most
    return 0, 0 if operation.why == "timeout" and most == operation.n else most


def _given(operation: Operation, disturbances: Disturbances) -> Tuple[int, int]:
    """Returns how many permits a release gave back at least and at most."""
    if operation.give is None:
        return 0, 0
    most = operation.n * _times(operation, operation.give, operation.gave, disturbances)
    return operation.n if operation.outcome == "ok" else 0, most


def _times(operation: Operation, since: int, until: Optional[int], disturbances: Disturbances) -> int:
    """Returns how often a call may have taken effect. Without `until`, its process was killed during the call."""
    disturbed = until is None or disturbances.during(operation.process, since, until)
    return _SENT if operation.language == "java" and disturbed else 1

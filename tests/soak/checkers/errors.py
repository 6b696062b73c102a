# SPDX-License-Identifier: Apache-2.0
"""No error reaches a caller of ours that waits, before its time is over: until then the client tries again. That too
few replicas acknowledge is no error, but a result, as a time-out is. So is a grant that was lost before its reply came,
as the server was silent for a whole lease.

Who does not wait is told what is wrong. So is who waited in vain, when that is why.
"""

from __future__ import annotations

from typing import List

from history import History, Operation
from plan import FOREVER, LEASE_MS, RENEWED

RESULTS = ("timeout", "not_replicated")
# A time-out is rounded to whole milliseconds.
_ROUNDING = 1_000_000
# What is left of a lease when the client believes it no more.
_MARGIN = 0.1


def check(history: History) -> List[str]:
    """The waits that ended with an error too early."""
    found: List[str] = []
    for each in history.operations:
        if each.refused is None or each.why in RESULTS or each.language == "java" or each.wait == 0:
            continue
        waited = each.refused - each.requested + _ROUNDING
        if (each.wait == FOREVER or waited < each.wait * 1_000_000) and not _came_too_late(each, waited):
            time = "for ever" if each.wait == FOREVER else f"{each.wait} ms"
            found.append(
                f"errors: {each.id} was to wait {time} for {each.name}, and ended with '{each.why}' after"
                f" {waited // 1_000_000} ms"
            )
    return found


def _came_too_late(operation: Operation, waited: int) -> bool:
    """Whether its lease was over when the grant came."""
    lease = LEASE_MS if operation.lease == RENEWED else operation.lease
    return operation.why == "lost" and waited >= lease * 1_000_000 * (1 - _MARGIN)

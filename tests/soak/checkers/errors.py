# SPDX-License-Identifier: Apache-2.0
"""No waiting caller of redlatch gets an error before its timeout, since until then the client tries again. It is no
error, but a result, if too few replicas acknowledge, as a timeout is. Nor is it an error if a grant was lost before its
reply came, because the server was silent for a whole lease.

A caller that does not wait may get an error. So may a caller whose timeout has passed, as the reason.
"""

from __future__ import annotations

from typing import List

from history import History, Operation
from plan import FOREVER, LEASE_MS, RENEWED

RESULTS = ("timeout", "not_replicated")
# A timeout is rounded to whole milliseconds.
_ROUNDING = 1_000_000
# The fraction of a lease that is left when its safe time ends.
_MARGIN = 0.1


def check(history: History) -> List[str]:
    """Returns the waits that ended with an error too early."""
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
    """Returns whether the lease had ended when the grant came."""
    lease = LEASE_MS if operation.lease == RENEWED else operation.lease
    return operation.why == "lost" and waited >= lease * 1_000_000 * (1 - _MARGIN)

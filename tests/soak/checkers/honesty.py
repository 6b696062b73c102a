# SPDX-License-Identifier: Apache-2.0
"""What a holder of ours is told is true: who is sure of a hold until some time does not lose it before.

Nothing in the soak takes a lock away from its holder, and the server never forgets; Redisson gives no such promise.
"""

from __future__ import annotations

from typing import List

from history import History

GONE = ("lost", "not_owned")


def check(history: History) -> List[str]:
    """The holds that were gone while they were safe."""
    found: List[str] = []
    for each in history.operations:
        if each.got is None or each.language == "java":
            continue
        safe = max(until for _, until in each.looks)
        if each.lost is not None and each.lost < max(until for since, until in each.looks if since <= each.lost):
            found.append(f"honesty: {each.id} lost {each.name} at {each.lost}, and was told it was safe until {safe}")
        elif each.outcome in GONE and each.lost is None and each.gave is not None and each.gave < safe:
            found.append(
                f"honesty: {each.id} gave {each.name} back and was told '{each.outcome}' at {each.gave}, after it was"
                f" told it was safe until {safe}"
            )
    return found

# SPDX-License-Identifier: Apache-2.0
"""No error reaches a caller of ours that waits, before its time is over: until then the client tries again. That too
few replicas acknowledge is no error, but a result, as a time-out is.

Who does not wait is told what is wrong. So is who waited in vain, when that is why.
"""

from __future__ import annotations

from typing import List

from history import History
from plan import FOREVER

RESULTS = ("timeout", "not_replicated")
# A time-out is rounded to whole milliseconds.
_ROUNDING = 1_000_000


def check(history: History) -> List[str]:
    """The waits that ended with an error too early."""
    found: List[str] = []
    for each in history.operations:
        if each.refused is None or each.why in RESULTS or each.language == "java" or each.wait == 0:
            continue
        waited = each.refused - each.requested + _ROUNDING
        if each.wait == FOREVER or waited < each.wait * 1_000_000:
            time = "for ever" if each.wait == FOREVER else f"{each.wait} ms"
            found.append(
                f"errors: {each.id} was to wait {time} for {each.name}, and ended with '{each.why}' after"
                f" {waited // 1_000_000} ms"
            )
    return found

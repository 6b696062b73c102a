# SPDX-License-Identifier: Apache-2.0
"""Nobody enters the section of a lock while somebody else is in it, as seen by a witness that does not use locks.

A worker binds an address of the lock while it is in the section, and the kernel lets no other process bind it
meanwhile. So the witness finds what a wrong history would hide. A holder that outlives its lease may still be in the
section when the next one enters. That is no violation, and neither is an entry that itself is too late.
"""

from __future__ import annotations

from typing import List

from history import History, Operation


def check(name: str, operations: List[Operation], _history: History) -> List[str]:
    """Returns the grants of one name at which somebody was in the section, unless that may have been a holder that had
    outlived its lease."""
    found: List[str] = []
    for each in operations:
        for at, until in (clash[1:] for clash in each.clashes if clash[0] == name):
            if each.sure_until > until and not any(
                other is not each and _outstays(other, at, until) for other in operations
            ):
                found.append(f"witness: {each.id} was granted {name}, and somebody was in its section at {until}")
    return found


def _outstays(operation: Operation, since: int, until: int) -> bool:
    """Returns whether the holder was in the section at some moment of a span, and was not sure of the lock at its
    end."""
    if operation.got is None or operation.got > until or operation.sure_until >= until:
        return False
    return operation.give is None or operation.give >= since

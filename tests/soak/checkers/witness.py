# SPDX-License-Identifier: Apache-2.0
"""Nobody comes into the section of a lock while somebody else is in it, by a witness that knows nothing of locks.

A worker binds an address of the lock's while it is in the section, and the kernel lets nobody else have it meanwhile.
So this finds what a wrong history would hide. Whoever outstays a lease is still in the section when the next one comes;
that is no violation, and neither is to come in too late oneself.
"""

from __future__ import annotations

from typing import List

from history import History, Operation


def check(name: str, operations: List[Operation], _history: History) -> List[str]:
    """The grants of one name that found somebody in its section who should have been there, or whom nobody knows."""
    found: List[str] = []
    for each in operations:
        for at, until in (clash[1:] for clash in each.clashes if clash[0] == name):
            if each.sure_until > until and not any(
                other is not each and _outstays(other, at, until) for other in operations
            ):
                found.append(f"witness: {each.id} was granted {name}, and somebody was in its section at {until}")
    return found


def _outstays(operation: Operation, since: int, until: int) -> bool:
    """Whether its holder was in the section at some moment of a span, and not sure of the lock at the end of it."""
    if operation.got is None or operation.got > until or operation.sure_until >= until:
        return False
    return operation.give is None or operation.give >= since

# SPDX-License-Identifier: Apache-2.0
"""Every grant of a name has a fencing token, no token comes twice, and they rise from grant to grant.

Two grants are compared only if one was confirmed before the other was requested.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from history import History, Operation


def check(name: str, operations: List[Operation], _history: History) -> List[str]:
    """Returns the violations of one name's tokens."""
    found: List[str] = []
    granted = [each for each in operations if each.got is not None]
    seen: Dict[int, str] = {}
    for each in granted:
        token = each.facts.get("token", 0)
        if token <= 0:
            found.append(f"tokens: {name} was granted to {each.id} with the token {token}")
        elif token in seen:
            found.append(f"tokens: {name} was granted to {seen[token]} and {each.id} with the same token {token}")
        seen[token] = each.id
    # `granted` is in the order of the requests, `confirmed` in the order of the replies.
    confirmed = sorted(granted, key=lambda each: each.got or 0)
    highest: Optional[Tuple[int, str]] = None
    at = 0
    for each in granted:
        while at < len(confirmed) and (confirmed[at].got or 0) < each.requested:
            earlier = (confirmed[at].facts.get("token", 0), confirmed[at].id)
            highest = max(highest, earlier) if highest else earlier
            at += 1
        if highest and each.facts.get("token", 0) < highest[0]:
            found.append(
                f"tokens: {name} was granted to {each.id} with {each.facts.get('token', 0)} after"
                f" {highest[1]} had got {highest[0]}"
            )
    return found

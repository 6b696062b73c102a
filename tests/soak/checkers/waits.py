# SPDX-License-Identifier: Apache-2.0
"""Every wait ends, unless its process was killed. A wait of redlatch ends in time. At the end no client has a hold or a
wait left.

A wait may take longer by the time for which the nemesis disturbed its process or the server, by one command, and by a
slack for a busy machine.
"""

from __future__ import annotations

from typing import List

from history import History
from plan import COMMAND_TIMEOUT_MS, FOREVER

from .disturbances import Disturbances

SLACK = 3_000_000_000


def check(history: History) -> List[str]:
    """Returns the calls that did not end, or ended too late."""
    killed = history.killed()
    found = [
        f"waits: {name} did not come to its end by itself"
        for name, ended in history.ended.items()
        if not ended and name not in killed
    ]
    found += [
        f"waits: the clients of {name} had {held} holds and {waiters} waits left in the end"
        for name, (held, waiters) in history.remains.items()
        if held or waiters
    ]
    for each in history.operations:
        if each.process not in killed:
            if each.ended is None:
                found.append(f"waits: {each.id} asked for {each.name} at {each.requested} and was never answered")
            elif each.give is not None and each.gave is None:
                found.append(f"waits: {each.id} gave {each.name} back at {each.give} and was never answered")
    disturbances = Disturbances(history.strokes)
    for each in history.operations:
        if each.language != "java" and each.ended is not None and each.wait != FOREVER:
            over = each.ended - each.requested - each.wait * 1_000_000 - COMMAND_TIMEOUT_MS * 1_000_000 - SLACK
            if over > 0 and over > disturbances.during(each.process, each.requested, each.ended):
                found.append(
                    f"waits: {each.id} was to wait {each.wait} ms for {each.name} and took"
                    f" {(each.ended - each.requested) // 1_000_000} ms"
                )
    return found

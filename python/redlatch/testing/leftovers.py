"""Leftovers: the holds that a test has not released, and the waiters that remain when it ends.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any, Dict, List, Optional, Tuple

from redlatch.client import Client
from redlatch.errors import LockName
from redlatch.reports import Party, Report

# What identifies a hold or a waiter: the name, the owner, and the value of a group lock. The role is left out: an owner
# that waited before the test and holds after it was not left behind by the test.
Place = Tuple[LockName, str, Optional[str]]


class Leftovers:
    """The holds and waiters that are on a server now, and were not when this object was made."""

    def __init__(self, witness: Client) -> None:
        self._witness = witness
        # Fixtures for several tests may hold locks beyond the end of a test.
        self._before = set(self._found())

    def holds(self) -> List[str]:
        """Returns a line for each hold, and for each waiter in the server queue of a fair lock, of any client."""
        new = sorted(self._found().items(), key=repr)
        return [self._described(*entry) for place, entry in new if place not in self._before]

    def waiters(self, client: Client) -> List[str]:
        """Returns a line for each thread that waits in a call of this client."""
        if client.closed or not client.stats()["waiters"]:
            return []
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        found: List[str] = []
        for number, frame in sys._current_frames().items():
            name = _awaited(frame, client)
            if name is not None:
                found.append(f"a waiter for {name!r}: thread {names.get(number, number)!r}")
        return sorted(found) or [f"{client.stats()['waiters']} waiters"]

    def _found(self) -> Dict[Place, Tuple[Report, Party]]:
        return {
            (report.name, party.owner, party.value): (report, party)
            for report in self._witness.scan()
            for party in report.parties
        }

    def _described(self, report: Report, party: Party) -> str:
        again = self._witness.inspect(report.name, party.owner)  # inspect() also finds machines and processes
        located = next((each for each in again.parties if each.owner == party.owner and each.pid), party)
        by = f"by owner {party.owner}" + ("" if located.pid is None else f", process {located.pid} on {located.host}")
        if party.role == "waiter":
            return f"a waiter for the {report.detected_kind} lock {report.name!r} {by}"
        if report.detected_kind == "permit_semaphore":
            return f"a permit of the semaphore {report.name!r}: {party.owner}"
        mode = {"reader": "read ", "writer": "write "}.get(party.role, "")
        return f"a {mode}hold of the {report.detected_kind} lock {report.name!r} {by}"


def _awaited(frame: Optional[FrameType], client: Client) -> Optional[LockName]:
    """Returns the name that a thread waits for in a call of this client: that of the innermost frame that has one."""
    while frame is not None:
        waiting: Any = frame.f_locals.get("self")
        name: Optional[LockName] = None
        if waiting is client:
            name = frame.f_locals.get("name")
        elif getattr(waiting, "_client", None) is client:
            name = getattr(waiting, "name", None)
        if name is not None:
            return name
        frame = frame.f_back
    return None

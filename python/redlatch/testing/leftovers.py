"""Leftovers: what a test has acquired and not released, and who still waits when it ends.

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

# What is held, or queued for, by whom: name, owner, and the value of a group. Not by what the owner does: who queued
# before a test and holds after it is not the test's.
Place = Tuple[LockName, str, Optional[str]]


class Leftovers:
    """What is on a server now and was not when this object was made."""

    def __init__(self, witness: Client) -> None:
        self._witness = witness
        # Fixtures of more than one test may hold locks for as long as they like.
        self._before = set(self._found())

    def holds(self) -> List[str]:
        """A line for each hold, and for each waiter in the queue of a fair lock, whoever's client it is."""
        new = sorted(self._found().items(), key=repr)
        return [self._described(*entry) for place, entry in new if place not in self._before]

    def waiters(self, client: Client) -> List[str]:
        """A line for each thread that waits by this client."""
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
        again = self._witness.inspect(report.name, party.owner)  # which knows of machines and processes, too
        located = next((each for each in again.parties if each.owner == party.owner and each.pid), party)
        by = f"by owner {party.owner}" + ("" if located.pid is None else f", process {located.pid} on {located.host}")
        if party.role == "waiter":
            return f"a waiter for the {report.detected_kind} lock {report.name!r} {by}"
        if report.detected_kind == "permit_semaphore":
            return f"a permit of the semaphore {report.name!r}: {party.owner}"
        mode = {"reader": "read ", "writer": "write "}.get(party.role, "")
        return f"a {mode}hold of the {report.detected_kind} lock {report.name!r} {by}"


def _awaited(frame: Optional[FrameType], client: Client) -> Optional[LockName]:
    """What a thread waits for by this client: the name in the innermost of its calls that has one."""
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

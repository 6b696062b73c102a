# SPDX-License-Identifier: Apache-2.0
"""What replication offsets say of grants, where masters are replaced (support/replication.py).

The history of a master is its own stream after the stream of its predecessor up to the offset of the promotion, and so
on. A grant is lost if the history of the last master does not have it: it is behind the offset of a promotion. If the
sentinels take a promotion back while the old master goes on, the grants of the promoted server are lost.

An overlap of two holds is explained if neither grant is in the history of the other. Then one of them is lost. It is
also explained if the newer grant's history has the older grant with a lease that had ended, and lacks a longer lease.
Nothing else explains an overlap.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Dict, Iterator, List, Tuple

from history import History, Operation
from support.replication import Streams, Write

from .exclusion import Overlap, overlaps

_ENDLESS = 1 << 62


class Lineage:
    """The histories of the masters, and which write is in which history."""

    def __init__(self, streams: Streams) -> None:
        self._parents = {each.replid: (each.parent, each.cut) for each in streams.promotions}
        self._takes: Dict[Tuple[str, str], List[Write]] = defaultdict(list)
        self._leases: Dict[str, List[Write]] = defaultdict(list)
        # For each key and history: the offsets at which the key got an owner, and the owners.
        self._owners: Dict[Tuple[str, str], Tuple[List[int], List[str]]] = defaultdict(lambda: ([], []))
        self._last = Write(streams.last, _ENDLESS, "", "")
        for write in streams.writes:
            if write.until:
                self._leases[write.key].append(write)
            if write.owner:
                self._takes[write.key, write.owner].append(write)
                offsets, owners = self._owners[write.key, write.replid]
                offsets.append(write.offset)
                owners.append(write.owner)

    def unknown(self) -> List[str]:
        """Returns the histories that continue a history that was not read."""
        known = ("", *self._parents)
        found = [(replid, parent) for replid, (parent, _) in self._parents.items() if parent not in known]
        return [f"{replid} continues {parent}, which nobody read" for replid, parent in found]

    def takes(self, operation: Operation) -> List[Write]:
        """Returns the writes of a grant. There are several if its command was repeated."""
        return self._takes.get((operation.name, operation.facts.get("owner", "")), [])

    def lost(self, operation: Operation) -> bool:
        """Returns whether the last master never had this grant. Only for grants with a write."""
        return not any(self.knows(self._last, take) for take in self.takes(operation))

    def knows(self, newer: Write, older: Write) -> bool:
        """Returns whether the older write was in the history when the newer one was written."""
        return any(replid == older.replid and older.offset <= limit for replid, limit in self._history(newer))

    def _history(self, write: Write) -> Iterator[Tuple[str, int]]:
        """Yields the streams of a write's history, the latest first, with the offset up to which each belongs to it."""
        replid, limit = write.replid, write.offset
        while replid:
            yield replid, limit
            replid, limit = self._parents.get(replid, ("", 0))

    def extension_lost(self, older: Write, newer: Write, moment: int) -> bool:
        """Returns whether the newer grant's history has the older grant with a lease that had ended at a moment, in ms
        of the server's time, and lacks a longer lease."""
        leases = [each for each in self._leases[older.key] if self._owner(each) == older.owner]
        known = max((each.until for each in leases if self.knows(newer, each)), default=0)
        return known <= moment and any(each.until > known for each in leases if not self.knows(newer, each))

    def _owner(self, lease: Write) -> str:
        """Returns who owned the key when a lease was written. The write of the owner may be in the same transaction."""
        for replid, limit in self._history(lease):
            offsets, owners = self._owners.get((lease.key, replid), ([], []))
            at = bisect_right(offsets, limit)
            if at:
                return owners[at - 1]
        return ""


@dataclass
class Verdict:
    """The result of a run."""

    violations: List[str] = field(default_factory=list)
    masters: int = 0
    grants: int = 0
    lost: int = 0
    by_grant: int = 0
    by_extension: int = 0

    def text(self) -> str:
        """Returns the figures as a line to print."""
        return (f"replication: {self.masters} masters, {self.grants} grants, {self.lost} of them lost; overlaps"
                f" explained by a lost grant {self.by_grant}, by a lost extension {self.by_extension}")


def judge(history: History, streams: Streams, *, acknowledged: bool, epoch: int) -> Verdict:
    """Judges all grants of locks with one holder. With `acknowledged` all replicas had to acknowledge each grant: then
    a lost grant is a violation, and no overlap is explained. `epoch` is the server's time in ns when CLOCK_MONOTONIC
    was 0."""
    lineage = Lineage(streams)
    verdict = Verdict([f"replication: {each}" for each in lineage.unknown()], len(streams.promotions))
    for name, operations in history.of_names().items():
        for each in operations:
            _count(verdict, lineage, each, acknowledged)
        for overlap in overlaps(operations):
            why = "" if acknowledged else _explanation(lineage, overlap, epoch)
            verdict.by_grant += why == "grant"
            verdict.by_extension += why == "extension"
            if not why:
                verdict.violations.append(f"{overlap.text(name)}; replication does not explain it")
    return verdict


def _count(verdict: Verdict, lineage: Lineage, operation: Operation, acknowledged: bool) -> None:
    if operation.got is None:
        return
    verdict.grants += 1
    if not lineage.takes(operation):
        verdict.violations.append(f"replication: no stream has the grant of {operation.name} to {operation.id}")
    elif lineage.lost(operation):
        verdict.lost += 1
        if acknowledged:
            lost = f"the grant of {operation.name} to {operation.id}"
            verdict.violations.append(f"replication: {lost}, which was acknowledged, was lost")


def _explanation(lineage: Lineage, overlap: Overlap, epoch: int) -> str:
    """Returns what explains an overlap: "grant" or "extension"; empty if nothing does."""
    found = {"grant"}
    for one, other in ((overlap.one, overlap.other), (overlap.other, overlap.one)):
        for older in lineage.takes(one):
            for newer in lineage.takes(other):
                if lineage.knows(newer, older):
                    granted = ((other.got or 0) + epoch) // 1_000_000
                    found.add("extension" if lineage.extension_lost(older, newer, granted) else "")
    if "" in found or not (lineage.takes(overlap.one) and lineage.takes(overlap.other)):
        return ""
    return "extension" if "extension" in found else "grant"

"""Reports: what the server knows of a name, whichever library wrote its key. Nothing here acquires or changes a lock.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Literal, Optional, Tuple, cast

from redlatch._ffi import CData, ffi, lib, new_record, text
from redlatch.errors import LockName, failure

# What a party of a report does: it holds the lock, or one mode of a read-write lock, or waits in the server queue.
Role = Literal["holder", "reader", "writer", "waiter"]

# What the data of a name show: no key at all; a lock of some kind; a number, which a semaphore, a latch or any counter
# may be; something that is no lock. A spin lock, and a fair lock without waiters, look like a mutex.
DetectedKind = Literal[
    "nothing", "mutex", "fenced", "fair", "read_write", "group", "plain", "permit_semaphore", "count", "unknown"
]

_ROLES: Dict[int, Role] = {
    lib.REDLATCH_HOLDER: "holder",
    lib.REDLATCH_READER: "reader",
    lib.REDLATCH_WRITER: "writer",
    lib.REDLATCH_WAITER: "waiter",
}


@dataclass(frozen=True)
class Party:
    """A holder of a lock, or a waiter in the server queue.

    Attributes:
        role: "holder"; of a read-write lock "reader" or "writer"; "waiter".
        owner: The owner id in Redis; of a permit its id.
        count: The hold count; 0 for a waiter.
        host: The machine of the owner, if it is connected with redlatch; else None. Reports of scan() do not have it.
        pid: The owner's process on that machine, or None.
        value: Of a group lock the digest of the value that is held, as in Redis; else None.
        ttl: Of a permit, or a value of a group lock: the seconds left of its lease; None if it has no lease of its own.
        label: The `label` that the owner's client was given, see connect(). None if it has none, or if `host` is None.
    """

    role: Role
    owner: str
    count: int
    host: Optional[str] = None
    pid: Optional[int] = None
    value: Optional[str] = None
    ttl: Optional[float] = None
    label: Optional[str] = None


@dataclass(frozen=True)
class Report:
    """The state of a name on the server at the time of the query.

    Attributes:
        name: The name without the client's prefix; bytes where it is not UTF-8.
        detected_kind: What the data show, such as "mutex"; see DetectedKind.
        type: The server's word for the type of the key, such as "hash"; "none" if there is no key.
        ttl: Seconds left of the lease; infinity if it has none, 0.0 if there is nothing.
        token: Of a fenced lock the token that was issued last; else 0.
        holders: The number of holders; of a permit semaphore the number of permits that are taken.
        waiters: The number of waiters in the server queue; 0 if the data do not show it.
        parties: Holders and waiters, holders first. If there are very many, only some.
        count: Of the detected kind "count" the number, of a permit semaphore the available permits; else 0.
        node: host:port of the server that the name is on, or the path of its socket; in a cluster one of the masters.
    """

    name: LockName
    detected_kind: DetectedKind
    type: str
    ttl: float
    token: int
    holders: int
    waiters: int
    parties: Tuple[Party, ...]
    count: int = 0
    node: str = ""

    @property
    def locked(self) -> Optional[bool]:
        """Whether anybody holds the name. None for semaphores and latches: they have `count` and `holders` instead."""
        return None if self.detected_kind in ("count", "permit_semaphore") else self.holders > 0


def inspect(client: CData, name: LockName, data: bytes, owner: Optional[str]) -> Report:
    """Returns the report of one name. If `owner` holds it, it is the first party."""
    report_out = ffi.new("redlatch_report **")
    status: int = lib.redlatch_client_inspect(client, data, len(data), sought(owner), report_out)
    if status:
        raise failure(status, name)
    return read_report(own_report(report_out[0]))


def sought(owner: Optional[str]) -> Any:
    """Returns an owner id as the core takes it."""
    if not isinstance(owner, (str, type(None))):
        raise TypeError(f"owner is of type {type(owner).__name__}; expected str or None")
    return ffi.NULL if owner is None else owner.encode("utf-8", "surrogateescape")


def scan(client: CData, pattern: bytes) -> Iterator[Report]:
    """Returns an iterator over the reports of all locks whose names match."""
    return _walk(new_scan(client, pattern))


def new_scan(client: CData, pattern: bytes) -> CData:
    """Makes a scan of the core."""
    scan_out = ffi.new("redlatch_scan **")
    status: int = lib.redlatch_scan_new(client, pattern, len(pattern), scan_out)
    if status:
        raise failure(status)
    return ffi.gc(scan_out[0], lib.redlatch_scan_free)


def _walk(walk: CData) -> Iterator[Report]:
    report_out = ffi.new("redlatch_report **")
    while True:
        status: int = lib.redlatch_scan_next(walk, report_out)
        if status:
            raise failure(status)
        if report_out[0] == ffi.NULL:
            return
        yield read_report(own_report(report_out[0]))


def own_report(handle: CData) -> CData:
    """Returns a report that is freed with its last reference."""
    return ffi.gc(handle, lib.redlatch_report_free)


def read_report(report: CData) -> Report:
    """Converts a report of the core."""
    facts = new_record("redlatch_facts")
    status: int = lib.redlatch_report_facts(report, facts)
    if status:
        raise failure(status)
    name: bytes = ffi.buffer(lib.redlatch_report_name(report), facts.name_size)[:]
    return Report(
        name=_shown(name),
        detected_kind=cast(DetectedKind, text(lib.redlatch_detected_kind_name(facts.detected_kind))),
        type=text(facts.type),
        ttl=math.inf if facts.ttl_ms == -1 else facts.ttl_ms / 1000,
        token=facts.token,
        holders=facts.holders,
        waiters=facts.waiters,
        parties=tuple(_parties(report, facts.parties)),
        count=facts.count,
        node=text(facts.node),
    )


def _parties(report: CData, count: int) -> List[Party]:
    parties: List[Party] = []
    for index in range(count):
        party = new_record("redlatch_party")
        status: int = lib.redlatch_report_party(report, index, party)
        if status:
            raise failure(status)
        parties.append(_party(party))
    return parties


def _party(party: CData) -> Party:
    host = text(party.host)
    return Party(
        role=_ROLES[party.role],
        owner=text(party.owner),
        count=party.count,
        host=host or None,
        pid=int(party.pid) if host else None,
        label=text(party.label) or None,
        value=text(party.value) or None,
        ttl=None if party.ttl_ms == -1 else party.ttl_ms / 1000,
    )


def _shown(name: bytes) -> LockName:
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return name

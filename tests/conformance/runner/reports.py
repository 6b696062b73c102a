# SPDX-License-Identifier: Apache-2.0
"""Compares reports of inspections with what a trace expects."""

from __future__ import annotations

import socket
from typing import Any, Dict, List

from .mismatch import Mismatch
from .outcomes import within
from .owners import Owners
from .traces import text_bytes

_REPORT: Dict[str, type] = {
    **dict.fromkeys(["detected_kind", "type"], str),
    **dict.fromkeys(["ttl_ms", "token", "holders", "waiters", "count"], int),
}
_PARTY: Dict[str, type] = {"role": str, "owner": str, "count": int, "host": str, "pid": int, "label": str}
# Defaults of what a trace expects.
_USUAL: Dict[str, Any] = {"token": 0, "waiters": 0, "count": 0, "parties": []}


def check_reports(step: Dict[str, Any], value: Any, owners: Owners) -> None:
    """Raises Mismatch unless the report of `inspect`, or those of `scan` and no others, are what the step expects."""
    if step["call"] == "inspect":
        reports, wished = [value], {text_bytes(step["name"]): step["expect"]}
    else:
        # A list without elements is an object to languages that have one type for both.
        reports, wished = value or [], {name.encode(): report for name, report in step["expect"].items()}
    found = {_name_of(report): report for report in reports}  # a name may occur twice, since SCAN may repeat a key
    if sorted(found) != sorted(wished):
        raise Mismatch(f"expected reports of {sorted(wished)}, got {reports}")
    for name, wish in wished.items():
        wrong = _wrong(found[name], {**_USUAL, **wish}, owners)
        if wrong:
            raise Mismatch(f"of {name!r}: {'; '.join(wrong)} (of the owners {owners.explained()})")


def _name_of(report: Any) -> bytes:
    _check_types(report, {**_REPORT, "name": object, "parties": object})
    return text_bytes(report["name"])


def _check_types(record: Any, types: Dict[str, type]) -> None:
    good = isinstance(record, dict) and set(record) == set(types)
    if not good or not all(kind is object or type(record[name]) is kind for name, kind in types.items()):
        raise Mismatch(f"expected the members {sorted(types)}, got {record!r}")


def _wrong(report: Dict[str, Any], wish: Dict[str, Any], owners: Owners) -> List[str]:
    wrong = []
    for member, kind in _REPORT.items():
        good = within(report[member], wish[member]) if kind is int else report[member] == wish[member]
        if not good:
            wrong.append(f"{member} is {report[member]!r}, expected {wish[member]!r}")
    parties = report["parties"] or []
    for party in parties:
        _check_types(party, _PARTY)
    if len(parties) != len(wish["parties"]) or not all(
        map(_is_party, parties, wish["parties"], [owners] * len(parties))
    ):
        wrong.append(f"the parties are {parties}, expected {wish['parties']}")
    return wrong


def _is_party(party: Dict[str, Any], wish: Dict[str, Any], owners: Owners) -> bool:
    """With `connected`, the party must have this machine as its host, and a process; otherwise neither."""
    connected = party["host"] == socket.gethostname() and party["pid"] > 0
    unknown = party["host"] == "" and party["pid"] == 0
    if not (connected if wish.get("connected") else unknown):
        return False
    same = party["owner"] == wish["id"] if "id" in wish else owners.matches(wish["owner"], party["owner"])
    same = same and party["label"] == wish.get("label", "")
    return same and party["role"] == wish["role"] and party["count"] == wish.get("count", 0)

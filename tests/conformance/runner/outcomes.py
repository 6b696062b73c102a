# SPDX-License-Identifier: Apache-2.0
"""Compares a driver's answer with what the trace expects. Every member of every answer is compared with something, so
drivers that pass have given equal outcomes."""

from __future__ import annotations

import re
import socket
from typing import Any, Dict, List

from .drivers import Driver
from .mismatch import Mismatch
from .owners import UUID, Owners
from .traces import failure_of

# The values that calls return on success. All other calls return none.
_MEMBERS: Dict[str, Dict[str, type]] = {
    "open": {"uuid": str},
    "query": {"locked": bool, "ttl_ms": int, "owner": str, "count": int, "holders": int, "waiters": int},
    "hold": {"held": bool, "lost": bool, "count": int, "remaining_ms": int, "owner": str, "token": int},
}
# Defaults of what a trace expects, since most kinds of locks have no token.
_USUAL: Dict[str, Dict[str, Any]] = {"hold": {"token": 0}}
# The defaults for a query depend on whether the lock is held.
_USUAL_STATE = {True: {"count": 1, "holders": 1, "waiters": 0}, False: {"count": 0, "holders": 0, "waiters": 0}}
# The reports of these calls are compared by reports.py.
REPORTING = {"inspect", "scan"}
_BARE = {"force_release", "is_waiting", "release_if_exists", "try_set", "delete"}
_NUMBERS = {"available", "acquired", "permits", "drain", "count", "lease_of"}
_PERMIT_ID = re.compile("[0-9a-f]{32}")
# How a message names a holder, and its process if the server knows it.
_HOLDER = re.compile(r"\bby ([0-9a-f-]{36}:[0-9]+)(?: \(process ([0-9]+) on ([^ )]+)\))?")


def within(number: int, expected: Any) -> bool:
    """Returns whether a number is the expected one, or in the expected range of two numbers."""
    return bool(expected[0] <= number <= expected[1] if isinstance(expected, list) else number == expected)


def check(step: Dict[str, Any], answer: Dict[str, Any], owners: Owners, driver: Driver) -> None:
    """Raises Mismatch unless the answer is the one that the step expects, with the statuses of the driver."""
    expected = step.get("expect", "ok")
    status = failure_of(expected) or "ok"
    if answer.get("status") not in driver.statuses(status):
        raise Mismatch(f"expected {status}, got {answer}")
    if status == "ok":
        if "as" in step:
            _check_permits(step["as"], answer)
        elif step["call"] in REPORTING:
            _check_has(["status", "value"], answer)
        else:
            _check_success(step["call"], expected, answer, owners)
    else:
        _check_failure(expected, answer, owners)


def _check_failure(expected: Any, answer: Dict[str, Any], owners: Owners) -> None:
    message = answer.get("message")
    if set(answer) != {"status", "message"} or not isinstance(message, str) or not message:
        raise Mismatch(f"expected a failure with its message and nothing else, got {answer}")
    wishes = expected if isinstance(expected, dict) else {}
    for word in wishes.get("words", []):
        if word not in message:
            raise Mismatch(f"expected a message with {word!r} in it, got {message!r}")
    if "holder" in wishes and not _names_holder(message, wishes["holder"], owners):
        raise Mismatch(f"expected a message that names the holder {wishes['holder']}, got {message!r} "
                       f"(of the owners {owners.explained()})")


def _names_holder(message: str, wish: Dict[str, Any], owners: Owners) -> bool:
    """With `connected`, the message must name this machine as the owner's host, and a process; otherwise no process."""
    found = _HOLDER.search(message)
    if not found:
        return False
    owner, process, host = found.groups()
    connected = host == socket.gethostname() and int(process) > 0
    return owners.matches(wish["owner"], owner) and (connected if wish.get("connected") else process is None)


def _check_permits(labels: List[str], answer: Dict[str, Any]) -> None:
    """Raises Mismatch unless the answer has one permit id for each label, and all differ."""
    ids = answer.get("value")
    good = isinstance(ids, list) and all(isinstance(each, str) and _PERMIT_ID.fullmatch(each) for each in ids)
    if set(answer) != {"status", "value"} or not good or len(set(ids)) != len(labels) or len(ids) != len(labels):
        raise Mismatch(f"expected {len(labels)} ids of permits, got {answer}")


def _check_has(wanted: List[str], answer: Dict[str, Any]) -> None:
    if sorted(answer) != wanted:
        raise Mismatch(f"expected the members {wanted}, got {answer}")


def _check_success(call: str, expected: Any, answer: Dict[str, Any], owners: Owners) -> None:
    has_value = call in _MEMBERS or call in _BARE or call in _NUMBERS
    _check_has(["status", "value"] if has_value else ["status"], answer)
    value: Any = answer.get("value")
    if call in _BARE:
        if type(value) is not bool or value != expected:
            raise Mismatch(f"expected {expected}, got {value!r}")
    elif call in _NUMBERS:
        if type(value) is not int or not within(value, expected):
            raise Mismatch(f"expected {expected}, got {value!r}")
    elif call in _MEMBERS:
        _check_members(call, value)
        if call == "open":
            if value["uuid"] and not UUID.fullmatch(value["uuid"]):
                raise Mismatch(f"expected a uuid of version 8, got {value['uuid']!r}")
        else:
            usual = _USUAL_STATE[expected["locked"]] if call == "query" else _USUAL.get(call, {})
            _compare({**usual, **expected}, value, owners)


def _check_members(call: str, value: Any) -> None:
    types = _MEMBERS[call]
    if not isinstance(value, dict) or {name: type(item) for name, item in value.items()} != types:
        shown = {name: kind.__name__ for name, kind in types.items()}
        raise Mismatch(f"expected a value with the members {shown}, got {value!r}")


def _compare(expected: Dict[str, Any], value: Dict[str, Any], owners: Owners) -> None:
    wrong = []
    for member, wish in expected.items():
        found = value[member]
        if member == "owner":
            good = owners.matches(wish, found)
        elif isinstance(found, bool):
            good = found == wish
        else:
            good = within(found, wish)
        if not good:
            wrong.append(f"{member} is {found!r}, expected {wish!r}")
    if wrong:
        raise Mismatch(f"{'; '.join(wrong)} (of the owners {owners.explained()})")

# SPDX-License-Identifier: Apache-2.0
"""Traces as files: finds and reads them, checks them against their schema, and lists the words that each one uses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple, Union

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

FOLDER = Path(__file__).resolve().parents[1]
SCHEMA = json.loads((Path(__file__).resolve().parent / "trace.schema.json").read_text(encoding="utf-8"))
_VALIDATOR = Draft202012Validator(SCHEMA)

Step = Dict[str, Any]
Text = Union[str, Dict[str, Any]]

# The calls that make a composite lock.
COMPOSITE = ("multi_lock", "redlock")
# Members of a call that only the runner uses.
FOR_RUNNER = ("expect", "until", "took_ms", "note", "as", "at")


@dataclass(frozen=True)
class Trace:
    """The content of one file."""

    name: str
    summary: str
    steps: List[Step]
    leaves_holds: bool = False
    redis_since: Tuple[int, ...] = ()
    single_server: bool = False


@cache
def load(path: Path) -> Trace:
    """Reads a file. Raises ValueError if it does not fit the schema."""
    if complaints_of(path):
        raise ValueError(f"{path.name}: {'; '.join(complaints_of(path))}")
    content = json.loads(path.read_text(encoding="utf-8"))
    return Trace(path.stem, content["summary"], content["steps"], content.get("leaves_holds", False),
                 tuple(content.get("redis_since", ())), content.get("single_server", False))


def complaints(content: Any) -> List[str]:
    """Returns how a trace violates the schema: for each place, the most specific complaint."""
    found = []
    for error in _VALIDATOR.iter_errors(content):
        telling = best_match([error]) or error
        found.append(f"{telling.json_path}: {telling.message[:300]}")
    return found


@cache
def complaints_of(path: Path) -> List[str]:
    """Returns the complaints about a file."""
    return complaints(json.loads(path.read_text(encoding="utf-8")))


TRACES = sorted((FOLDER / "traces").glob("*.json"))


def expand(text: Text) -> Text:
    """Returns a text with its repetitions written out. Hexadecimal stays, since JSON cannot hold the bytes."""
    if isinstance(text, dict) and "repeat" in text:
        return str(text["repeat"]) * int(text["times"])
    return text


def text_bytes(text: Union[Text, int]) -> bytes:
    """Returns the bytes that a text stands for."""
    expanded = str(text) if isinstance(text, int) else expand(text)
    return bytes.fromhex(expanded["hex"]) if isinstance(expanded, dict) else expanded.encode()


def uses(trace: Trace) -> Set[str]:
    """Returns the words of the vocabulary that a driver must know to run this trace: calls, their members, options,
    values that need support of their own, and expected failures. A driver's `cannot` has the same words."""
    words = set()
    owned_by_handle: Set[str] = set()
    for step in trace.steps:
        call = step.get("call")
        if call is None:
            continue
        words.add(call)
        words.update(f"{call}.{member}" for member in ("lease_ms", "url", "confirm") if member in step)
        words.update(member for member in ("by", "start", "kept") if member in step)
        words.update(f"{call}.{option}" for option in step.get("options", {}))
        words.update(f"{call}.kind={kind}" for kind in [step.get("kind")] if kind)
        if step.get("options", {}).get("owner") == "handle":
            words.add("lock.owner=handle")
            owned_by_handle.add(step["lock"])
        if call == "free" and step["lock"] not in owned_by_handle:
            words.add("free.owner=actor")
        if isinstance(step.get("name"), dict) and "hex" in step["name"]:
            words.add("name.hex")
        if call == "inspect" and _tells_where_waiters_are(step["expect"]):
            words.add("inspect.waiter.connected")
        status = failure_of(step.get("expect"))
        if status:
            words.add(f"{call}:{status}")
    notified = {"reentry": _reenters, "queue": _queues, "sides": _has_sides, "member.held": _holds_a_member}
    return words | {word for word, applies in notified.items() if applies(trace)}


def _has_sides(trace: Trace) -> bool:
    """Returns whether a client uses both modes of a read-write lock."""
    made = [step for step in trace.steps if step.get("call") == "lock"]
    sides = {(step["client"], step.get("kind")) for step in made}
    return any((client, "write") in sides for client, kind in sides if kind == "read")


def _tells_where_waiters_are(expected: Any) -> bool:
    """Returns whether an expected report names the host and the process of a waiter."""
    parties = expected.get("parties", []) if isinstance(expected, dict) else []
    return any(party["role"] == "waiter" and party.get("connected") for party in parties)


def failure_of(expected: Any) -> Optional[str]:
    """Returns the status with which a call is expected to fail, or None if it is to succeed."""
    status = expected.get("status") if isinstance(expected, dict) else expected
    return status if isinstance(status, str) and status != "ok" else None


def _levels(trace: Trace) -> Iterator[Tuple[Set[str], int]]:
    """Yields, after each acquire of a name, the locks by which its owner holds it, and the hold count."""
    owned_by_handle: Dict[str, bool] = {}
    names: Dict[str, List[Any]] = {}  # of a composite lock, the names of its members
    levels: Dict[Any, List[str]] = {}
    for step in trace.steps:
        call, lock = step.get("call"), step.get("lock", "")
        if call in ("lock", *COMPOSITE):
            owned_by_handle[lock] = step.get("options", {}).get("owner") == "handle"
            own = [(step["client"], str(step["name"]))] if call == "lock" else []
            names[lock] = own + [name for member in step.get("members", []) for name in names.get(member, [])]
        elif call in ("acquire", "try_acquire", "release") and not failure_of(step.get("expect")):
            for name in names[lock]:
                held = levels.setdefault((name, lock if owned_by_handle[lock] else step.get("by")), [])
                if call != "release":
                    held.append(lock)
                    yield set(held), len(held)
                elif held:
                    held.remove(lock if lock in held else held[-1])


def _reenters(trace: Trace) -> bool:
    """Returns whether an owner holds one lock twice at a time."""
    return any(levels > 1 for _, levels in _levels(trace))


def _holds_a_member(trace: Trace) -> bool:
    """Returns whether an owner holds one name by a composite lock and by another lock."""
    composite = {step["lock"] for step in trace.steps if step.get("call") in COMPOSITE}
    return any(len(locks) > 1 and locks & composite for locks, _ in _levels(trace))


def _queues(trace: Trace) -> bool:
    """Returns whether two calls of one client are in progress at a time."""
    client_of: Dict[str, str] = {}
    waiting: Dict[str, str] = {}
    for step in trace.steps:
        call = step.get("call")
        place = step.get("lock", step.get("object"))
        if "client" in step and place:
            client_of[place] = step["client"]
        elif call in COMPOSITE and step["members"]:
            client_of[place] = client_of[step["members"][0]]
        elif call == "finish":
            waiting.pop(step["by"], None)
        elif step.get("start"):
            client = client_of[place] if place else step["client"]
            if client in waiting.values():
                return True
            waiting[step["by"]] = client
    return False

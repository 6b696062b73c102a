# SPDX-License-Identifier: Apache-2.0
"""Histories: what every process asked and was told, as it wrote it down, and what the nemesis did.

One JSON object a line, `t` in nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share:

    ask    before a call: id, kind, name, wait and lease in ms (-1: for ever, renewed), n (permits)
    got    it was granted: until (the end of its safe lease), and what it is known by: token, owner, permits
    not    it was not, and why
    still  a look during the hold: until
    lost   a look during the hold: it is gone
    clash  somebody else was in the section, of which `name` is, at some moment after `since`
    give   before the last release
    gave   what came of that: "ok", or a status
    born   a process: process, language
    ended  it came to its end by itself: held, waiters, what its clients still had then
    set    a latch was closed: name, n, of what somebody was told; counting: a count-down of it is about to be sent
    count  how many permits there are in the end: name, n
    queue  who queues for a name, by what the observer saw between t and until: name, owners
    silence  the observer could not look from t to until, be it that the server was down or the machine too busy

A process that is killed has written everything it did but what was under way.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

Line = Dict[str, Any]


@dataclass
class Operation:
    """One acquire with all that came of it. Times are nanoseconds."""

    id: str
    process: str
    language: str
    kind: str
    name: str
    requested: int
    wait: int = 0
    n: int = 1
    lease: int = 0
    got: Optional[int] = None
    refused: Optional[int] = None
    why: str = ""
    give: Optional[int] = None
    gave: Optional[int] = None
    outcome: str = ""
    lost: Optional[int] = None
    facts: Line = field(default_factory=dict)
    # What was known of the lease, and when: moments, and until when the hold was safe.
    checks: List[Tuple[int, int]] = field(default_factory=list)
    # In whose sections somebody else was: names, and between which moments.
    clashes: List[Tuple[str, int, int]] = field(default_factory=list)

    @property
    def ended(self) -> Optional[int]:
        """When the acquire returned."""
        return self.got if self.got is not None else self.refused

    @property
    def sure_until(self) -> int:
        """When its holder was sure of it last, as far as that was told; 0 if never."""
        return max((until for _, until in self.beliefs()), default=0)

    def beliefs(self) -> Iterator[Tuple[int, int]]:
        """The spans of time in which its holder was sure of it."""
        ends = [time for time in (self.give, self.lost) if time is not None]
        for since, until in self.checks:
            end = min([until, *ends])
            if end > since:
                yield since, end


@dataclass(frozen=True)
class Stroke:
    """What the nemesis did: `since` was noted before, `until` after. `process` has its incarnation in it; without one
    it concerns all, by a server. A silence that the observer met is one of all processes, too, whoever made it."""

    what: str
    since: int
    until: int
    process: str = ""
    server: int = 0


@dataclass
class History:
    """All of a run."""

    operations: List[Operation] = field(default_factory=list)
    strokes: List[Stroke] = field(default_factory=list)
    # What is no acquire, such as what the observer saw.
    others: List[Line] = field(default_factory=list)
    # By process: whether it came to its end by itself.
    ended: Dict[str, bool] = field(default_factory=dict)
    # By process that did: holds and waits that its clients still had then.
    remains: Dict[str, Tuple[int, int]] = field(default_factory=dict)
    _by_name: Dict[Tuple[str, str], List[Line]] = field(default_factory=dict)

    def of_names(self) -> Dict[str, List[Operation]]:
        """The operations of each name, in the order in which they were asked for; of several names at once, parted by
        +, those of each."""
        found: Dict[str, List[Operation]] = {}
        for operation in sorted(self.operations, key=lambda each: each.requested):
            for name in operation.name.split("+"):
                found.setdefault(name, []).append(operation)
        return found

    def lines(self, what: str, name: str) -> List[Line]:
        """What else is known of a name, of one kind."""
        if not self._by_name:
            for line in self.others:
                self._by_name.setdefault((line["do"], line["name"]), []).append(line)
        return self._by_name.get((what, name), [])

    def killed(self) -> Dict[str, int]:
        """The processes that were killed, and when."""
        return {stroke.process: stroke.since for stroke in self.strokes if stroke.what == "kill"}


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a file; the last may be cut short where a process was killed."""
    text = path.read_text(encoding="utf-8")
    for line in text.split("\n")[:-1]:
        yield json.loads(line)


def read_history(folder: Path) -> History:
    """Everything that stands in a folder."""
    history = History()
    for path in sorted(folder.glob("*.jsonl")):
        if path.name == "nemesis.jsonl":
            history.strokes += [Stroke(**line) for line in read_lines(path)]
        else:
            _read_process(history, read_lines(path))
    return history


def _read_process(history: History, lines: Iterator[Line]) -> None:
    process = language = ""
    known: Dict[str, Operation] = {}
    for line in lines:
        what, time = line["do"], line["t"]
        if what == "born":
            process, language = line["process"], line["language"]
            history.ended[process] = False
        elif what == "ended":
            history.ended[process] = True
            history.remains[process] = line.get("held", 0), line.get("waiters", 0)
        elif what == "ask":
            requested = Operation(
                line["id"], process, language, line["kind"], line["name"], time, line["wait"], line.get("n", 1),
                line["lease"],
            )
            known[requested.id] = requested
            history.operations.append(requested)
        elif what == "silence":
            history.strokes.append(Stroke(what, time, line["until"]))
        elif line["id"] in known:
            _enter(known[line["id"]], what, time, line)
        else:
            history.others.append({**line, "process": process, "language": language})


def _enter(operation: Operation, what: str, time: int, line: Line) -> None:
    """Adds a line to the operation that it is about."""
    if what == "got":
        operation.got, operation.facts = time, line
        operation.checks.append((time, line["until"]))
    elif what == "still":
        operation.checks.append((time, line["until"]))
    elif what == "not":
        operation.refused, operation.why = time, line["why"]
    elif what == "lost":
        operation.lost = operation.lost or time
    elif what == "clash":
        operation.clashes.append((line["name"], line["since"], time))
    elif what == "give":
        operation.give = time
    elif what == "gave":
        operation.gave, operation.outcome = time, line["why"]
    else:
        raise ValueError(f"{operation.id}: a line says {what!r}, which is no word of a history")

# SPDX-License-Identifier: Apache-2.0
"""Histories: the calls of every process and their results, as it wrote them down, and what the nemesis did.

A line is one JSON object. `t` is in nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share:

    ask    before a call: id, kind, name, wait and lease in ms (-1: for ever, renewed), n (permits)
    got    it was granted: until (the end of its safe lease), and what identifies it: token, owner, permits
    not    it was not granted, and why
    still  a query during the hold: until
    lost   a query during the hold: it is lost
    clash  somebody else was in the section of `name` at some moment after `since`
    give   before the last release
    gave   the result of that release: "ok", or a status
    born   a process started: process, language
    ended  the process ended by itself: held and waiters, which its clients still had
    set    a call returned that it set a latch: name, n; counting: a count-down of it is about to be sent
    count  the number of permits at the end: name, n
    queue  the queue of a name, as the observer saw it between t and until: name, owners
    silence  the observer could not read from t to until: the server was down, or the machine too busy

A process that is killed has written everything but its calls in progress.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

Line = Dict[str, Any]


@dataclass
class Operation:
    """One acquire with everything that belongs to it. Times are nanoseconds."""

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
    # When the holder asked about its lease, and until when the hold was then said to be safe.
    checks: List[Tuple[int, int]] = field(default_factory=list)
    # The sections in which somebody else was: name, and the moments between which that was.
    clashes: List[Tuple[str, int, int]] = field(default_factory=list)

    @property
    def ended(self) -> Optional[int]:
        """Returns when the acquire returned."""
        return self.got if self.got is not None else self.refused

    @property
    def sure_until(self) -> int:
        """Returns the last moment at which its holder was sure of it, by the results of its calls; 0 if never."""
        return max((until for _, until in self.beliefs()), default=0)

    def beliefs(self) -> Iterator[Tuple[int, int]]:
        """Yields the spans of time in which its holder was sure of it."""
        ends = [time for time in (self.give, self.lost) if time is not None]
        for since, until in self.checks:
            end = min([until, *ends])
            if end > since:
                yield since, end


@dataclass(frozen=True)
class Stroke:
    """One stroke of the nemesis. `since` was noted before it, `until` after it. `process` includes the incarnation; if
    it is empty, the stroke concerns all processes, by a server. A silence of the observer is also a stroke of all
    processes, whatever caused it."""

    what: str
    since: int
    until: int
    process: str = ""
    server: int = 0


@dataclass
class History:
    """The history of a run."""

    operations: List[Operation] = field(default_factory=list)
    strokes: List[Stroke] = field(default_factory=list)
    # Lines that belong to no acquire, such as those of the observer.
    others: List[Line] = field(default_factory=list)
    # By process: whether it ended by itself.
    ended: Dict[str, bool] = field(default_factory=dict)
    # By process that ended by itself: holds and waits that its clients still had.
    remains: Dict[str, Tuple[int, int]] = field(default_factory=dict)
    _by_name: Dict[Tuple[str, str], List[Line]] = field(default_factory=dict)

    def of_names(self) -> Dict[str, List[Operation]]:
        """Returns the operations of each name, in the order of their requests. An operation on several names, joined by
        +, belongs to each of them."""
        found: Dict[str, List[Operation]] = {}
        for operation in sorted(self.operations, key=lambda each: each.requested):
            for name in operation.name.split("+"):
                found.setdefault(name, []).append(operation)
        return found

    def lines(self, what: str, name: str) -> List[Line]:
        """Returns the other lines of one sort about a name."""
        if not self._by_name:
            for line in self.others:
                self._by_name.setdefault((line["do"], line["name"]), []).append(line)
        return self._by_name.get((what, name), [])

    def killed(self) -> Dict[str, int]:
        """Returns the processes that were killed, and when."""
        return {stroke.process: stroke.since for stroke in self.strokes if stroke.what == "kill"}


def read_lines(path: Path) -> Iterator[Line]:
    """Yields the lines of a file. If a process was killed, the last line may be incomplete; it is left out."""
    text = path.read_text(encoding="utf-8")
    for line in text.split("\n")[:-1]:
        yield json.loads(line)


def read_history(folder: Path) -> History:
    """Returns the history in a folder."""
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
    """Adds a line to its operation."""
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

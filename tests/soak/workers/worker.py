# SPDX-License-Identifier: Apache-2.0
"""The worker in Python: turns of redlatch by threads or tasks, of Redisson through its peer, or of a lock that lies.

    worker.py python|asyncio|trio|java|liar URL,URL,URL HISTORY PLAN LABEL END

The plan is described in tests/soak/README.md; END is in nanoseconds of time.monotonic_ns().
"""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Tuple

from .backends import Backend, Refused, Turn, open_backend
from .journal import Journal
from .witness import Witness

# A long hold is queried this often.
_RECHECK = 0.1


@dataclass
class Plan:
    """The contents of the plan's file."""

    lease_ms: int
    command_timeout_ms: int
    kinds: List[Tuple[str, str, str, Dict[str, int]]]  # name, shape, word, options
    threads: List[List[List[str]]]
    witness: Witness
    members: Dict[str, Tuple[str, bool]]


def read_plan(path: str) -> Plan:
    """Reads a plan."""
    plan = Plan(0, 0, [], [], Witness(), {})
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        what, *words = line.split()
        if what == "client":
            plan.lease_ms, plan.command_timeout_ms = map(int, words)
        elif what == "kind":
            options = {option: int(value) for option, value in (word.split("=") for word in words[3:])}
            plan.kinds.append((words[0], words[1], words[2], options))
        elif what == "member":
            plan.members[words[0]] = words[1], words[2] != "0"
        elif what == "witness":
            plan.witness.add(*words)
        elif what == "thread":
            plan.threads.append([])
        else:
            plan.threads[-1].append(words)
    return plan


class Worker(threading.Thread):
    """One thread that takes its turns until the end."""

    def __init__(self, backend: Backend, journal: Journal, plan: Plan, number: int, label: str, end: int) -> None:
        super().__init__(name=f"{label}.{number}")
        self._backend = backend
        self._journal = journal
        self._plan = plan
        self._turns = plan.threads[number]
        self._end = end
        # A new incarnation begins elsewhere in its plan.
        self._at = 37 * int(label.rpartition(".")[2])

    def run(self) -> None:
        """Takes turns."""
        number = 0
        while time.monotonic_ns() < self._end:
            words = self._turns[(self._at + number) % len(self._turns)]
            number += 1
            kind, shape, word, options = self._plan.kinds[int(words[0])]
            name = words[1]
            if "epoch_ms" in options:
                name = f"{name}:{time.monotonic_ns() // (options['epoch_ms'] * 1_000_000)}"
            times = map(int, words[2:])
            turn = Turn(f"{self.name}.{number}", kind, shape, word, options, name, *times, self._plan.members)
            try:
                self._play(turn)
            except Exception as error:
                print(f"{turn.id}: {error!r}", flush=True)
                os._exit(3)
            time.sleep(turn.gap / 1e6)

    def _play(self, turn: Turn) -> None:
        say = self._journal.say
        if turn.shape == "latch" and not self._close_latch(turn):
            return
        taker = self._backend.taker(turn)
        requested = say("ask", turn.id, kind=turn.kind, name=turn.name, wait=turn.wait, lease=turn.lease, n=taker.n)
        try:
            taker.take(requested)
        except Refused as refused:
            say("not", turn.id, why=refused.why)
            return
        got = time.monotonic_ns()
        say("got", turn.id, at=got, until=got + taker.safe(got), **taker.facts())
        if turn.shape == "latch":
            return
        bound = self._plan.witness.enter(turn, self._journal)
        self._hold(turn, taker)
        self._plan.witness.leave(bound)
        say("give", turn.id)
        say("gave", turn.id, why=taker.give())

    def _close_latch(self, turn: Turn) -> bool:
        """Closes a latch if it is open, and counts it down unless the turn is to wait. Returns whether the turn is to
        wait."""
        latch = self._backend.latch(turn)
        try:
            if latch.try_set_count(turn.options["count"]):
                self._journal.say("set", turn.id, name=turn.name, n=turn.options["count"])
            if turn.levels == 1:
                self._journal.say("counting", turn.id, name=turn.name)
                latch.count_down()
        except Refused:
            pass
        return turn.levels > 1

    def _hold(self, turn: Turn, taker: Any) -> None:
        """Stays in the hold and queries it from time to time. Acquires and releases the inner levels."""
        for _ in range(1, turn.levels):
            if not taker.again():
                self._journal.say("lost", turn.id)
        left = turn.hold / 1e6
        while left > 0:
            time.sleep(min(left, _RECHECK))
            left -= _RECHECK
            if left > 0:
                at = time.monotonic_ns()
                safe = taker.safe(at)
                self._journal.say("still" if safe else "lost", turn.id, at=at, until=at + safe)
        taker.leave_inner()


def main() -> None:
    """Works until the end."""
    language, urls, path, plan_path, label, end = sys.argv[1:]
    plan = read_plan(plan_path)
    journal = Journal(path)
    journal.say("born", "", process=label, language=language)
    backend = open_backend(language, urls.split(","), plan.lease_ms, plan.command_timeout_ms)
    workers = [Worker(backend, journal, plan, number, label, int(end)) for number in range(len(plan.threads))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    remains = backend.remains()
    backend.close()
    journal.say("ended", "", **remains)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Faults that strike in one way after the other. A worker is killed before each. A journal records them."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Sequence, Tuple

from plan import CALM, Process
from support import wait_until
from worker_processes import Workers

# How long the servers may take to be calm again, in seconds.
BACK = 60.0


class FaultsInTurn:
    """Strikes again and again, each time when the servers are calm, and writes the times down."""

    # Makes the random numbers of one class differ from those of another with the same seed.
    DRAWS: str
    WAYS: Sequence[str]
    # The pause between two turns, in seconds.
    PAUSE: Tuple[float, float]

    def __init__(self, workers: Workers, journal: Path) -> None:
        self._workers = workers
        self._journal = journal

    def is_calm(self) -> bool:
        """Returns whether the servers are ready for the next fault."""
        raise NotImplementedError

    def strike(self, way: str, draw: random.Random) -> None:
        """Carries out one fault from its beginning to its end."""
        raise NotImplementedError

    def run(self, seed: int, seconds: float, processes: Sequence[Process]) -> None:
        """Carries out one turn after the other until little time is left."""
        draw = random.Random(f"{seed} {self.DRAWS}")
        end = time.monotonic() + seconds - CALM
        turn = 0
        while time.monotonic() < end:
            time.sleep(draw.uniform(*self.PAUSE))
            self._kill_worker(draw.choice([each.name for each in processes]))
            wait_until(self.is_calm, BACK)
            way = self.WAYS[turn % len(self.WAYS)]
            turn += 1
            since = time.monotonic_ns()
            self.strike(way, draw)
            self._note(way, since, "")

    def _kill_worker(self, name: str) -> None:
        member = self._workers.members[name]
        since, label = time.monotonic_ns(), member.label
        member.kill()
        member.start()
        self._note("kill", since, label)

    def _note(self, what: str, since: int, process: str) -> None:
        line = {"what": what, "since": since, "until": time.monotonic_ns(), "process": process, "server": 0}
        with self._journal.open("a", encoding="utf-8") as journal:
            journal.write(json.dumps(line) + "\n")

# SPDX-License-Identifier: Apache-2.0
"""The bench that scenarios work at: a private server, programs to run in turn, and how long and how often."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, List, Mapping

from support import RedisServer

from .figures import Series
from .programs import (
    PEERS,
    Conversation,
    NotAvailable,
    Outcome,
    Word,
    c_program,
    python_program,
    redisson_program,
    run_to_end,
)

Leg = Callable[[], Outcome]

_TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True)
class Pace:
    """How many rounds, how long each measurement, and whether this is only a quick look."""

    rounds: int
    seconds: float
    quick: bool

    @property
    def warm_seconds(self) -> float:
        """How much CPU time a JVM uses before it is measured: the more, the more of it is compiled."""
        return 10.0 if self.quick else 20.0


def cpu_seconds_of(server: RedisServer) -> float:
    """CPU time a server has used, user and system, to the microsecond."""
    information = server.admin.info("cpu")
    return float(information["used_cpu_user"]) + float(information["used_cpu_sys"])


class Rounds:
    """What the sides of a comparison gave, round by round."""

    def __init__(self, outcomes: Dict[str, List[Outcome]], missing: Dict[str, str]) -> None:
        self._outcomes = outcomes
        self._missing = missing

    def series(self, side: str, value: Callable[[Outcome], float]) -> Series:
        """One value for each round of one side."""
        if side in self._missing:
            return Series([], self._missing[side])
        return Series([value(outcome) for outcome in self._outcomes[side]])

    def outcomes(self, side: str) -> List[Outcome]:
        """All that the side's programs printed; empty if the side is missing."""
        return self._outcomes.get(side, [])


class Bench:
    """A private server on loopback TCP, and the ways to run programs against it."""

    def __init__(self, build_directory: Path, pace: Pace) -> None:
        self.build_directory = build_directory
        self.pace = pace
        self.root = Path(__file__).resolve().parents[3]
        self.server = RedisServer()
        self._staying: List[Conversation] = []

    def close(self) -> None:
        self.end_programs()
        self.server.close()

    # --------------------------------------------------------------------------------------------------- programs --

    def program(self, name: str, *words: Word) -> Leg:
        """A run of a compiled program; its outcome says also what CPU time the server needed meanwhile."""
        return lambda: self._measured(c_program(self.build_directory, name), [*words])

    def python(self, name: str, library: str, *words: Word) -> Leg:
        """A run of a Python program with a lock library."""
        return lambda: self._measured(python_program(name, library), [*words])

    def redisson(self, name: str, *words: Word) -> Leg:
        """A round of a Java program with Redisson. It starts and warms up for the first one, and stays for all."""
        started: List[Conversation] = []

        def leg() -> Outcome:
            if not started:
                started.append(self._start_redisson(name, *words))
            return self._with_server_cpu(lambda: self._ask(started[0]))

        return leg

    def _start_redisson(self, name: str, *words: Word) -> Conversation:
        warm: List[Word] = ["--port", self.server.port, "--warm", self.pace.warm_seconds]
        program = Conversation(redisson_program(self.build_directory, name), [*warm, *words])
        self._staying.append(program)
        program.line(_TIMEOUT_SECONDS + 3 * self.pace.warm_seconds)
        return program

    def _ask(self, program: Conversation) -> Outcome:
        program.go()
        return program.line(_TIMEOUT_SECONDS + self.pace.seconds)

    def end_programs(self) -> None:
        """Ends those that stayed: at the end of a scenario."""
        for program in self._staying:
            program.close(timeout=10)
        self._staying.clear()

    def converse(self, name: str, *words: Word) -> Conversation:
        """A compiled program that stops between its phases."""
        return Conversation(c_program(self.build_directory, name), ["--port", self.server.port, *words])

    def _measured(self, command: List[str], words: List[Word]) -> Outcome:
        words = ["--port", self.server.port, *words]
        return self._with_server_cpu(lambda: run_to_end(command, words, _TIMEOUT_SECONDS + self.pace.seconds))

    def _with_server_cpu(self, leg: Leg) -> Outcome:
        self.server.admin.flushall()
        before = self.server_cpu_seconds()
        outcome = leg()
        outcome["server_cpu_seconds"] = self.server_cpu_seconds() - before
        return outcome

    @staticmethod
    def scripts(kind: str) -> List[Word]:
        """The arguments that give a bare program its scripts; kind is "plain" or "latch"."""
        folder = PEERS / "scripts"
        return ["--acquire", folder / f"{kind}_acquire.lua", "--release", folder / f"{kind}_release.lua"]

    # ----------------------------------------------------------------------------------------------------- rounds --

    def alternate(self, sides: Mapping[str, Leg]) -> Rounds:
        """Runs the sides in turn, A B A B, as many times as there are rounds. A side that is not there is left out."""
        outcomes: Dict[str, List[Outcome]] = {side: [] for side in sides}
        missing: Dict[str, str] = {}
        for _ in range(self.pace.rounds):
            for side, leg in sides.items():
                if side in missing:
                    continue
                try:
                    outcomes[side].append(leg())
                except NotAvailable as reason:
                    missing[side] = str(reason)
        return Rounds(outcomes, missing)

    # ----------------------------------------------------------------------------------------------------- server --

    def load_script(self, path: Path) -> str:
        """Gives the server a script; its digest."""
        text = path.read_bytes()
        self.server.admin.execute_command("SCRIPT LOAD", text)
        return hashlib.sha1(text).hexdigest()

    def server_cpu_seconds(self) -> float:
        """CPU time the server has used."""
        return cpu_seconds_of(self.server)

    def scripts_run(self) -> int:
        """How many scripts the server was asked to run since the last reset of its statistics."""
        calls = self.server.commandstats()
        return calls.get("evalsha", 0) + calls.get("eval", 0)

"""A layer is a set of tests that can notice a mutant: what is built for them, how they are run, in which order.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Tuple

from mutants import Mutant
from processes import Command, Failure, Group
from worktree import Worktree

CORE = frozenset({"protocol", "link", "scripts", "client"})
SLOWEST_START = 20.0  # seconds that any command is given beyond what it took without a mutant, times the factor
FACTOR = 5.0


class Batch(NamedTuple):
    """Commands that run at the same time after some targets were built in a build folder."""

    folder: str
    targets: Sequence[str]
    commands: Sequence[Command]


class Layer:
    """What is common to all layers; each is a subclass in a file of its own."""

    name = ""
    areas: FrozenSet[str] = frozenset()

    def __init__(self, tree: Worktree, jobs: int, requested: FrozenSet[str]) -> None:
        self.tree = tree
        self.jobs = jobs
        self.requested = requested & self.areas  # of which it will be asked
        self.usual: Dict[str, float] = {}  # seconds of each command without a mutant
        self.group: Optional[Group] = None  # of commands that run
        self.stopped = False

    def configure(self) -> None:
        """Configures the build folders that this layer builds in."""

    def batches(self, mutant: Optional[Mutant]) -> List[Batch]:
        """What is asked about a mutant, the likeliest first; without one all that mutants of self.asked may need."""
        raise NotImplementedError

    def environment(self) -> Dict[str, str]:
        """The environment of all commands."""
        return {**os.environ, "PYTHONPATH": f"{self.tree.build / 'python'}:{self.tree.path / 'tests'}",
                "PYTHONDONTWRITEBYTECODE": "1"}

    def make(self, folder: str, targets: Sequence[str]) -> Optional[str]:
        """Builds targets; what the build said if it failed."""
        command = ["cmake", "--build", folder, "--parallel", str(self.jobs), "--target", *targets]
        done = subprocess.run(command, cwd=self.tree.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        return done.stdout if done.returncode else None

    def ask(self, mutant: Optional[Mutant]) -> Optional[Failure]:
        """The first failure, or None when no test notices anything."""
        for batch in self.batches(mutant):
            complaint = self.make(batch.folder, batch.targets) if batch.targets else None
            if complaint is not None:
                return Failure("the build", complaint)
            # Without a mutant no earlier time counts: it may be that of an idle machine, or of other areas.
            commands = batch.commands if mutant is None else [
                command._replace(timeout=self.timeout(command)) for command in batch.commands]
            failure, group = self.run(commands)
            if mutant is None:
                self.usual.update(group.seconds)
                self.observe(group.outputs)
            while failure:
                again = self.again(failure, commands)
                confirmed = self.run([again])[0] if again else failure
                if confirmed:
                    return confirmed
                failure = self.run(commands)[0]  # it was chance
        return None

    def run(self, commands: Sequence[Command]) -> Tuple[Optional[Failure], Group]:
        """Runs commands at the same time, as far as there are jobs."""
        self.group = Group(self.tree.path, self.environment())
        failure = self.group.run(commands, self.jobs)
        if self.stopped:
            raise SystemExit("stopped")
        return failure, self.group

    def stop(self) -> None:
        """Ends the commands that run, from another thread; who waits for them ends, too."""
        self.stopped = True
        if self.group:
            self.group.stop()

    def observe(self, outputs: Dict[str, str]) -> None:
        """Takes note of what the commands print without a mutant."""

    def again(self, failure: Failure, commands: Sequence[Command]) -> Optional[Command]:
        """What must fail, too, for a failure to count: of tests on the real clock one may fail by chance."""
        return None

    def timeout(self, command: Command) -> float:
        """When a command hangs, by what it takes without a mutant."""
        usual = self.usual.get(command.name)
        return command.timeout if usual is None else FACTOR * usual + SLOWEST_START

    def prepare(self) -> None:
        """Builds and runs what it will be asked, without a mutant, once for each state of the project; it must pass."""
        if not self.requested:
            return
        self.configure()
        record = self.tree.home / f"usual-{self.name}.json"
        passed: List[str] = []
        if record.is_file():
            known = json.loads(record.read_text(encoding="utf-8"))
            self.usual = known["seconds"]
            passed = known.get("passed", []) if known["digest"] == self.tree.digest else []
            if self.requested <= set(passed):
                self.build()
                return
        failure = self.ask(None)
        if failure:
            raise SystemExit(f"{failure.name} fails without a mutant:\n{failure.output[-4000:]}")
        now = {"digest": self.tree.digest, "seconds": self.usual, "passed": sorted({*passed, *self.requested})}
        record.write_text(json.dumps(now), encoding="utf-8")

    def follow(self, other: Layer) -> None:
        """Builds what it will be asked, as another copy's layer did, which has passed."""
        if self.requested:
            self.configure()
            self.build()
            self.usual = other.usual

    def build(self) -> None:
        """Builds what it will be asked, so that nothing is left of a mutant of a run that was killed."""
        for batch in self.batches(None):
            complaint = self.make(batch.folder, batch.targets) if batch.targets else None
            if complaint is not None:
                raise SystemExit(f"{self.tree.path} does not build without a mutant:\n{complaint[-4000:]}")


def configure(tree: Worktree, folder: str, definitions: Sequence[str]) -> None:
    """Configures a build folder of the copy: quick to compile, and without warnings, since a mutant may leave something
    unused."""
    command = ["cmake", "-S", ".", "-B", folder, "-G", "Ninja", "-DREDLATCH_BUILD_TESTS=ON", "-DCMAKE_C_FLAGS=-w",
               "-DCMAKE_BUILD_TYPE=Mutant", "-DCMAKE_C_FLAGS_MUTANT=-O1", *definitions]
    done = subprocess.run(command, cwd=tree.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}")

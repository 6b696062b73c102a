"""A layer is a set of tests that can notice a mutant: what is built for them, how they run, and in which order.

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
SLOWEST_START = 20.0  # seconds that a command may take beyond its time without a mutant, times the factor
FACTOR = 5.0


class Batch(NamedTuple):
    """Commands that run at the same time, after some targets were built in a build folder."""

    folder: str
    targets: Sequence[str]
    commands: Sequence[Command]


class Layer:
    """The common part of all layers. Each layer is a subclass in a file of its own."""

    name = ""
    areas: FrozenSet[str] = frozenset()

    def __init__(self, tree: Worktree, jobs: int, requested: FrozenSet[str]) -> None:
        self.tree = tree
        self.jobs = jobs
        self.requested = requested & self.areas  # the areas whose mutants it will get
        self.usual: Dict[str, float] = {}  # seconds that each command takes without a mutant
        self.group: Optional[Group] = None  # the running commands
        self.stopped = False

    def configure(self) -> None:
        """Configures the build folders that this layer builds in."""

    def batches(self, mutant: Optional[Mutant]) -> List[Batch]:
        """Returns the runs for a mutant, the likeliest to notice it first. Without a mutant, returns all that mutants
        of self.requested may need."""
        raise NotImplementedError

    def environment(self) -> Dict[str, str]:
        """The environment of all commands."""
        return {**os.environ, "PYTHONPATH": f"{self.tree.build / 'python'}:{self.tree.path / 'tests'}",
                "PYTHONDONTWRITEBYTECODE": "1"}

    def make(self, folder: str, targets: Sequence[str]) -> Optional[str]:
        """Builds targets. Returns the output of a build that failed, otherwise None."""
        command = ["cmake", "--build", folder, "--parallel", str(self.jobs), "--target", *targets]
        done = subprocess.run(command, cwd=self.tree.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        return done.stdout if done.returncode else None

    def ask(self, mutant: Optional[Mutant]) -> Optional[Failure]:
        """Runs the tests against a mutant. Returns the first failure, or None if no test notices the mutant."""
        for batch in self.batches(mutant):
            complaint = self.make(batch.folder, batch.targets) if batch.targets else None
            if complaint is not None:
                return Failure("the build", complaint)
            # Without a mutant earlier times do not count: they may be of an idle machine or of other areas.
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
                failure = self.run(commands)[0]  # it failed by chance
        return None

    def run(self, commands: Sequence[Command]) -> Tuple[Optional[Failure], Group]:
        """Runs commands, as many at the same time as there are jobs."""
        self.group = Group(self.tree.path, self.environment())
        failure = self.group.run(commands, self.jobs)
        if self.stopped:
            raise SystemExit("stopped")
        return failure, self.group

    def stop(self) -> None:
        """Ends the running commands, from another thread. The thread that waits for them ends, too."""
        self.stopped = True
        if self.group:
            self.group.stop()

    def observe(self, outputs: Dict[str, str]) -> None:
        """Called with the output of the commands without a mutant."""

    def again(self, failure: Failure, commands: Sequence[Command]) -> Optional[Command]:
        """Returns a command that must fail, too, for a failure to count. A test on the real clock may fail by
        chance."""
        return None

    def timeout(self, command: Command) -> float:
        """Returns the time after which a command hangs, based on its time without a mutant."""
        usual = self.usual.get(command.name)
        return command.timeout if usual is None else FACTOR * usual + SLOWEST_START

    def prepare(self) -> None:
        """Builds and runs everything without a mutant, once for each state of the project. All must pass."""
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
        """Builds what it will run, after the same layer of another copy has passed."""
        if self.requested:
            self.configure()
            self.build()
            self.usual = other.usual

    def build(self) -> None:
        """Builds what it will run, so that no mutant of a killed run remains."""
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

"""A slot is a copy of the project with layers that test mutants in it. Several slots work at the same time.

SPDX-License-Identifier: Apache-2.0
"""

import time
from pathlib import Path
from typing import Container, FrozenSet, List, Sequence, Type

from layer import Layer
from mutants import Mutant
from records import EQUIVALENT, LIVED, NOTICED, Records
from report import Result
from worktree import Worktree


class Slot:
    """One copy and its layers, the fastest first."""

    def __init__(self, root: Path, number: int, kinds: Sequence[Type[Layer]], requested: FrozenSet[str],
                 jobs: int) -> None:
        self.tree = Worktree(root, number)
        self.jobs = jobs
        self.layers: List[Layer] = [kind(self.tree, jobs, requested) for kind in kinds]

    def prepare(self, jobs: int) -> None:
        """Runs every layer once without a mutant."""
        for layer in self.layers:
            layer.jobs = jobs
            layer.prepare()
            layer.jobs = self.jobs

    def follow(self, first: "Slot") -> None:
        """Builds what the first slot has built."""
        for layer, other in zip(self.layers, first.layers):
            layer.follow(other)

    def stop(self) -> None:
        """Ends the running commands of the slot."""
        for layer in self.layers:
            layer.stop()

    def mutated(self, mutant: Mutant) -> str:
        """Returns the text of the mutated file."""
        return mutant.edit.apply((self.tree.path / mutant.path).read_text(encoding="utf-8"))

    def ask(self, mutant: Mutant, records: Records, equivalents: Container[str]) -> Result:
        """Runs the layers against a mutant, the fastest first, unless their verdict is known."""
        if mutant.key in equivalents:
            return Result(mutant, EQUIVALENT, "", "")
        layers = [layer for layer in self.layers if mutant.area in layer.areas]
        record = records.get(mutant.key, self.tree.digest)
        verdict = record.verdict([layer.name for layer in layers], self.tree.digest)
        seconds = 0.0
        if verdict is None:
            verdict, began = LIVED, time.monotonic()
            with self.tree.planted(mutant.path, self.mutated(mutant)):
                for layer in layers:
                    failure = layer.ask(mutant) if layer.name not in record.silent else None
                    if failure:
                        record.layer, record.by, verdict = layer.name, failure.name, NOTICED
                        break
                    record.silent = sorted({*record.silent, layer.name})
            records.add(record)
            seconds = time.monotonic() - began
        by = record.by if verdict == NOTICED else ""
        return Result(mutant, verdict, record.layer if verdict == NOTICED else "", by, seconds)

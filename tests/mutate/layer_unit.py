"""The unit tests, with the sanitizers, so that leaks are noticed. Three groups run without: the tests of scripts, which
contain none of the C that mutants change; the schedule, which is twenty times as fast without; and the tests of broken
invariants, on which builds with sanitizers abort.

SPDX-License-Identifier: Apache-2.0
"""

import re
from pathlib import Path
from typing import List, Optional, Sequence

from layer import CORE, Batch, Layer, configure
from mutants import Mutant
from processes import Command, Failure

NEAR = 6
RUNS_SCRIPTS = re.compile(r"real_server|scripts_embedded")


class Unit(Layer):
    """Runs first the tests that name the mutated function or are named after its file, then the library on its
    schedule, then all others. For a script: the tests of scripts, then the others that run scripts. For the C of Lua's
    binding: the tests of that binding."""

    name = "unit"
    areas = CORE | {"lua"}
    folder = "build/address"
    plain = "build"

    def configure(self) -> None:
        configure(self.tree, self.plain, [])  # its compile commands are used to compare mutants
        configure(self.tree, self.folder, ["-DREDLATCH_SANITIZE=address,undefined"])

    def batches(self, mutant: Optional[Mutant]) -> List[Batch]:
        tests = sorted((self.tree.path / "tests" / "unit").glob("test_*.c"))
        folder = self.tree.path / "tests"
        plain = [folder / "schedule" / "test_schedule.c", folder / "unit" / "test_broken.c"]
        of_scripts = sorted((self.tree.path / "tests" / "scripts").glob("test_*.c"))
        of_lua = sorted((self.tree.path / "tests" / "bindings").glob("test_lua_*.c"))
        if mutant is None:
            of_core = [self.batch([*of_scripts, *plain], self.plain), self.batch(tests, self.folder)]
            return [*(of_core if self.requested & CORE else []),
                    *([self.batch(of_lua, self.folder)] if "lua" in self.requested else [])]
        if mutant.area == "lua":
            return [self.batch(of_lua, self.folder)] if mutant.path.endswith(".c") else []
        if mutant.area == "scripts":
            others = [path for path in tests if RUNS_SCRIPTS.search(path.read_text(encoding="utf-8"))]
            return [self.batch(of_scripts, self.plain), self.batch(others, self.folder)]
        near = sorted(tests, key=lambda path: -nearness(path, mutant))
        return [self.batch(near[:NEAR], self.folder), self.batch(plain, self.plain),
                self.batch(near[NEAR:], self.folder)]

    def again(self, failure: Failure, commands: Sequence[Command]) -> Optional[Command]:
        return next((command for command in commands if command.name == failure.name), None)

    def batch(self, tests: List[Path], folder: str) -> Batch:
        """Returns the build and the run of some tests."""
        names = [path.stem for path in tests]
        words = {"test_schedule": ["--first"]}
        return Batch(folder, names, [Command(name, [f"{folder}/tests/{name}", *words.get(name, [])]) for name in names])


def nearness(test: Path, mutant: Mutant) -> int:
    """Returns how likely a unit test notices a mutant, by the words in its source."""
    stem = Path(mutant.path).stem
    text = test.read_text(encoding="utf-8")
    return 4 * (stem in test.stem) + 2 * (f"{mutant.function}(" in text) + (f'"{stem}.h"' in text)

"""The simulations, with fewer seeds than in a full run: most mutants that they notice, they notice in the first few
seeds.

SPDX-License-Identifier: Apache-2.0
"""

import json
import re
import runpy
from pathlib import Path
from typing import Any, Dict, List, Optional, Set

from layer import CORE, Batch, Layer, configure
from mutants import Mutant
from processes import Command

# The number of seeds for each list of kinds in tests/sim/run.py, by what a seed costs.
SEEDS = {"LOCKS": 150, "SETS": 150, "COUNTS": 100, "SEVERAL": 30}


class Simulation(Layer):
    """Every kind of lock in the simulation. The kinds that the mutant's file is named after run first."""

    name = "simulation"
    areas = CORE

    def configure(self) -> None:
        configure(self.tree, "build", [])

    def batches(self, mutant: Optional[Mutant]) -> List[Batch]:
        commands = self.commands()
        if mutant is not None:
            if mutant.path.startswith(("core/src/link/", "core/src/client/")):  # only these have that code
                commands = [command for command in commands if command.name.split()[-1] in self.lists["SEVERAL"]]
            if mutant.area == "scripts":
                commands = [command for command in commands if self.runs(command.name, Path(mutant.path))]
            words = set(Path(mutant.path).stem.split("_")) | {mutant.function.split("_")[0]}
            commands.sort(key=lambda command: -len(words & set(command.name.replace("_", " ").split())))
        return [Batch("build", ["redlatch_sim"], commands)] if commands else []

    def observe(self, outputs: Dict[str, str]) -> None:
        ran = {name: re.findall(r"^ *[1-9]\d*  script (\w+)$", text, re.MULTILINE) for name, text in outputs.items()}
        (self.tree.home / "scripts-run.json").write_text(json.dumps(ran), encoding="utf-8")

    def runs(self, command: str, script: Path) -> bool:
        """Returns whether a simulation runs a script, or a script that a shared part belongs to."""
        ran = json.loads((self.tree.home / "scripts-run.json").read_text(encoding="utf-8"))
        return bool(users(self.tree.path / "core" / "src" / "scripts", script) & set(ran[command]))

    @property
    def lists(self) -> Dict[str, Any]:
        """The lists of kinds of ./dev sim."""
        return runpy.run_path(str(self.tree.path / "tests" / "sim" / "run.py"))

    def commands(self) -> List[Command]:
        """Returns all simulations."""
        lists = self.lists
        return [Command(" ".join(["redlatch_sim", *words]),
                        ["build/tests/redlatch_sim", *words, "--seeds", str(SEEDS[name])])
                for words in lists["CALLS"] for name in SEEDS
                if words[-1] in lists[name] and ("--sets" in words) == (name == "SETS")]


def users(folder: Path, script: Path) -> Set[str]:
    """Returns the scripts that contain a shared part. A script that is no shared part has only itself."""
    if script.parent.name != "shared":
        return {script.stem}
    found: Set[str] = set()
    names = {f"-- Begins with shared/{script.name}.", f"-- Goes on with shared/{script.name}."}
    for path in folder.rglob("*.lua"):
        if names & set(path.read_text(encoding="utf-8").splitlines()):
            found |= users(folder, path.relative_to(folder))
    return found

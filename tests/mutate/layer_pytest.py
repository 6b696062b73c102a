"""The layers that run under pytest: tests of Python's pure parts, conformance traces, end-to-end tests.

SPDX-License-Identifier: Apache-2.0
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Set

from layer import CORE, Batch, Layer, configure
from mutants import Mutant
from processes import HANGS, Command, Failure

LANGUAGES = frozenset({"python", "lua", "command"})
WRAPPERS = frozenset({"python", "lua"})  # languages with a binding in C
LONGEST = 3600.0
# The conformance drivers that run an area's code, and the targets that they need. The core is tested with the C driver.
DRIVERS = {"python": "python-", "lua": "(lua5.1- or lua5.4-)", "command": "shell-"}
TARGETS = {"python": ["redlatch_python", "redlatch_python_package"], "lua": ["redlatch_lua"],
           "command": ["redlatch_cli"]}
# The end-to-end tests of an area: for the core all, for Python all except those of the others.
E2E = {"lua": ("test_95_lua*.py", "test_95_pages.py"),
       "command": ("test_9[234]_*.py", "test_95_completions.py", "test_95_pages.py", "test_97_cluster_command.py")}
NOT_OF_PYTHON = ("test_95_lua*.py", *E2E["command"][:2])
LUA_FIRST = "lua5.4"
# The build in which the command and the C of the bindings have the sanitizers, which notice leaks and uses after free.
SANITIZED = "build/address"
NOT_SANITIZED = "not slowest_command and not fifty_processes"  # these tests measure
# The end-to-end test files that run the function are divided into batches that end at these counts, the likeliest files
# first. For the core, files beyond the last batch do not run.
CHUNKS = {"python": (4, 16, 1000)}
CHUNKS_OF_CORE = (4, 16)


class Pytest(Layer):
    """Builds what all languages load. A test that fails is repeated alone before it counts."""

    workers = 1

    def configure(self) -> None:
        configure(self.tree, "build", ["-DREDLATCH_PYTHON=ON", "-DREDLATCH_LUA=lua5.1;lua5.2;lua5.3;lua5.4",
                                       f"-DPython_EXECUTABLE={self.tree.python}"])

    def configure_sanitized(self) -> None:
        """Configures the build folder with sanitizers."""
        configure(self.tree, SANITIZED, ["-DREDLATCH_SANITIZE=address,undefined", "-DREDLATCH_LUA=lua5.1;lua5.4",
                                         "-DREDLATCH_PYTHON=ON", f"-DPython_EXECUTABLE={self.tree.python}"])

    def batch(self, name: str, words: Sequence[str], targets: Sequence[str] = ("all",), folder: str = "build",
              variables: Sequence[str] = ()) -> Batch:
        """Returns one run of pytest that ends at the first failure, with additional environment variables."""
        command = Command(name, ["env", *variables, *self.pytest(), "-x", *self.parallel(), *words], LONGEST)
        return Batch(folder, targets, [command])

    def make(self, folder: str, targets: Sequence[str]) -> Optional[str]:
        return super().make(folder, self.tree.to_build(folder, targets))  # a test may load what others have built

    def pytest(self) -> List[str]:
        """Returns the command line of pytest."""
        return [str(self.tree.python), "-m", "pytest", "--timeout=120", "--color=no", "-q", "-rfE", "-p",
                "no:cacheprovider"]

    def parallel(self) -> List[str]:
        """Most of these tests wait, so several workers share a processor."""
        return ["-n", str(self.workers * self.jobs), "--dist", "worksteal"] if self.workers > 1 else []

    def again(self, failure: Failure, commands: Sequence[Command]) -> Optional[Command]:
        if failure.name.endswith(HANGS):
            return None
        command = next(command for command in commands if command.name == failure.name)
        failed = re.findall(r"^(?:FAILED|ERROR) (tests/\S+)", failure.output, re.MULTILINE)
        if not failed:
            return command
        environment = command.words[:command.words.index(str(self.tree.python))]
        return Command(failed[0], [*environment, *self.pytest(), failed[0]], LONGEST)


class Python(Pytest):
    """The tests of Python's pure parts."""

    name = "python"
    areas = frozenset({"python"})

    def batches(self, mutant: Optional[Mutant]) -> List[Batch]:
        return [self.batch("tests/python", ["tests/python"], TARGETS["python"])]


class Conformance(Pytest):
    """The traces, by the drivers of the mutant's language; for the core, by the C driver."""

    name = "conformance"
    areas = CORE | LANGUAGES
    workers = 2

    def configure(self) -> None:
        super().configure()
        self.configure_sanitized()

    def batches(self, mutant: Optional[Mutant]) -> List[Batch]:
        if mutant is not None and mutant.area in WRAPPERS and mutant.path.endswith(".c"):
            return [self.traces(mutant.area, sanitized=True)]
        requested = [mutant.area] if mutant else self.requested
        areas = sorted({area if area in LANGUAGES else "core" for area in requested})
        sanitized = [] if mutant else sorted(WRAPPERS & self.requested)
        return [self.traces(area) for area in areas] + [self.traces(area, sanitized=True) for area in sanitized]

    def traces(self, area: str, *, sanitized: bool = False) -> Batch:
        """Returns a run of the traces by the drivers of an area."""
        drivers = DRIVERS.get(area, "c-")
        words = ["tests/conformance/test_traces.py", "-k", f"test_trace and {drivers}"]
        targets = TARGETS.get(area, ["conformance_c"])
        if not sanitized:
            return self.batch(f"traces {drivers}", words, targets)
        return self.batch(f"traces {drivers} sanitized", words, targets, SANITIZED,
                          [f"REDLATCH_BUILD={SANITIZED}", f"REDLATCH_PRELOAD={sanitizers()}"])


class EndToEnd(Pytest):
    """The end-to-end tests. By coverage_map.py, the files that run the mutated function and little else run first. The
    tests of Lua run by one Lua before all others. For the core only the likeliest files run: others might notice a
    survivor, so the real figures are better than the reported ones."""

    name = "e2e"
    areas = CORE | LANGUAGES
    workers = 2

    def configure(self) -> None:
        super().configure()
        self.configure_sanitized()

    def batches(self, mutant: Optional[Mutant]) -> List[Batch]:
        if mutant is None:
            plain = {file for area in self.requested - {"command"} for file in self.files(area)}
            return [*([self.batch("tests/e2e", sorted(plain))] if plain else []),
                    *([self.sanitized_lua(self.files("lua"))] if "lua" in self.requested else []),
                    *([self.sanitized_command(self.files("command"))] if "command" in self.requested else [])]
        files = self.chosen(self.files(mutant.area), mutant)
        if mutant.area == "command":
            return [self.sanitized_command(files)]
        if mutant.area == "lua":
            first = self.batch(f"tests/e2e by {LUA_FIRST}", [*files, "-k", LUA_FIRST], TARGETS["lua"])
            return [self.sanitized_lua(files) if mutant.path.endswith(".c") else first,
                    self.batch("tests/e2e by all Luas", files, TARGETS["lua"])]
        chunks = CHUNKS.get(mutant.area, CHUNKS_OF_CORE)
        bounds = [0, *[min(place, len(files)) for place in chunks]]
        return [self.batch(f"tests/e2e from {files[begin]}", files[begin:end], TARGETS.get(mutant.area, ["all"]))
                for begin, end in zip(bounds, bounds[1:]) if end > begin]

    def sanitized_command(self, files: Sequence[str]) -> Batch:
        """Returns a run of the command's tests with the sanitizers."""
        program = self.tree.path / SANITIZED / "bin" / "redlatch"
        return self.batch("tests/e2e of the command", [*files, "-k", NOT_SANITIZED], TARGETS["command"], SANITIZED,
                          [f"REDLATCH_TEST_COMMAND={program}"])

    def sanitized_lua(self, files: Sequence[str]) -> Batch:
        """Returns a run of Lua's tests by one Lua, which has to load the sanitizers' libraries before the module."""
        return self.batch(f"tests/e2e by {LUA_FIRST}, sanitized", [*files, "-k", LUA_FIRST], TARGETS["lua"], SANITIZED,
                          [f"REDLATCH_TEST_LUA_BUILD={SANITIZED}", f"REDLATCH_TEST_LUA_PRELOAD={sanitizers()}"])

    def files(self, area: str) -> List[str]:
        """Returns the test files that mutants of an area may need."""
        folder = self.tree.path / "tests" / "e2e"
        found = {path for pattern in E2E.get(area, ("test_*.py",)) for path in folder.glob(pattern)}
        if area == "python":
            found -= {path for pattern in NOT_OF_PYTHON for path in folder.glob(pattern)}
        return sorted(f"tests/e2e/{path.name}" for path in found)

    def chosen(self, files: List[str], mutant: Mutant) -> List[str]:
        """Returns the test files that run a function, those with the fewest functions first. Returns all files if the
        map does not know the function."""
        path = self.tree.home / "map.json"
        covered: Dict[str, List[str]] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        known = [file for file in files if file not in covered or mutant.function in covered[file]]
        if not any(mutant.function in functions for functions in covered.values()):
            known = files
        path_words = [Path(mutant.path).stem, Path(mutant.path).parent.name]
        words = {word for name in [*path_words, mutant.function] for word in stems(name)}
        return sorted(known, key=lambda file: (-len(words & stems(Path(file).stem)), len(covered.get(file, []))))


def sanitizers() -> str:
    """Returns the libraries that an interpreter has to load before a module that was built with the sanitizers."""
    return " ".join(subprocess.run(["cc", f"-print-file-name={name}"], check=True, stdout=subprocess.PIPE,
                                   text=True).stdout.strip() for name in ("libasan.so", "libubsan.so"))


def stems(name: str) -> Set[str]:
    """Returns the words of a name, in the singular."""
    return {word.rstrip("s") for word in name.split("_")}


class Leaks(Pytest):
    """Tests for leaks after many cycles: in Lua for the C of its binding, and in Python."""

    name = "leaks"
    areas = frozenset({"lua", "python"})
    workers = 2

    def batches(self, mutant: Optional[Mutant]) -> List[Batch]:
        if mutant is not None and mutant.area == "lua" and not mutant.path.endswith(".c"):
            return []
        areas = {mutant.area} if mutant else self.requested
        words = {"lua": ["tests/e2e/leaks_of_lua.py", "-k", LUA_FIRST],
                 "python": [f"tests/e2e/test_90_resources.py::test_resources_in_python[{cycle}]"
                            for cycle in ("with", "clients", "time-outs")]}
        return [self.batch(f"leaks of {area}", words[area], TARGETS[area]) for area in sorted(areas)]


class Scenes(Layer):
    """The C programs of the end-to-end tests, with sanitizers, each with a private server."""

    name = "scenes"
    areas = frozenset({"protocol", "link", "client"})
    folder = "build/address"

    def configure(self) -> None:
        configure(self.tree, self.folder, ["-DREDLATCH_SANITIZE=address,undefined"])

    def batches(self, mutant: Optional[Mutant]) -> List[Batch]:
        names = sorted(path.stem for path in (self.tree.path / "tests/e2e/programs").glob("scenes_*.c"))
        return [Batch(self.folder, names, [self.scene(name) for name in names])]

    def scene(self, name: str) -> Command:
        """Returns one program with all its scenes."""
        return Command(name, [f"{self.folder}/tests/e2e/programs/{name}"])

    def again(self, failure: Failure, commands: Sequence[Command]) -> Optional[Command]:
        return None if failure.name.endswith(HANGS) else self.scene(failure.name)

# SPDX-License-Identifier: Apache-2.0
"""Builds the interop peers into build/interop, unless they were built from their present sources.

    build_peers.py [PEER...]    the peers of the interop tests, or those named; redisson-bench is the benchmarks',
                                redisson-3 an older Redisson with the same program

Nothing is written beside the sources. What a peer's package manager has fetched once is not fetched again.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, List, Sequence, Tuple

SOURCES = Path(__file__).resolve().parents[1] / "interop"
BUILD = SOURCES.parents[1] / "build" / "interop"
POM = SOURCES / "redisson" / "pom.xml"
LIBRARIES = SOURCES / "redisson" / "libraries.sha256"
OLDER = "3.52.0"
OLDER_LIBRARIES = SOURCES / "redisson" / "libraries-3.sha256"
BENCH_SOURCES = SOURCES.parent / "bench" / "peers" / "redisson"


def demand(command: List[str], folder: Path) -> None:
    """Run a command, which has to succeed, in a folder. Its output is shown as it comes."""
    if shutil.which(command[0]) is None:
        raise SystemExit(f"{command[0]} is missing; ./dev test installs it")
    status = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, check=False).returncode
    if status:
        raise SystemExit(f"{' '.join(command)}: status {status}")


def check_libraries(folder: Path, libraries: Path) -> None:
    """Compare the files that Maven fetched with a list, as it has no lock file (`sha256sum *.jar` makes the list)."""
    found = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in sorted(folder.glob("*.jar"))]
    expected = libraries.read_text(encoding="ascii").splitlines()
    differences = [line for line in difflib.ndiff(expected, found) if line[0] in "+-"]
    if differences:
        raise SystemExit(f"{folder} is not what {libraries.name} says:\n" + "\n".join(differences))


def build_redisson(source: Path, target: Path, more: Sequence[str] = (), libraries: Path = LIBRARIES) -> None:
    """Build classes and libraries by Maven, which fetches only what its local repository lacks."""
    properties = [f"-Dtarget={target}", f"-Dsources={source / 'src' / 'main' / 'java'}", *more]
    demand(["mvn", "--batch-mode", "--quiet", "--strict-checksums", *properties, "--file", str(POM), "process-classes"],
           target)
    check_libraries(target / "lib", libraries)


def build_older_redisson(source: Path, target: Path) -> None:
    """Build the same with the last Redisson of the previous major version."""
    build_redisson(source, target, [f"-Dredisson.version={OLDER}"], OLDER_LIBRARIES)


def build_go(source: Path, target: Path) -> None:
    """Build one program, with the modules that go.sum names; -mod=readonly keeps go.mod and go.sum as they are."""
    demand(["go", "build", "-mod=readonly", "-buildvcs=false", "-o", str(target / "peer"), "."], source)


def build_node(source: Path, target: Path) -> None:
    """Copy the program and install its packages beside it. No package runs code while it is installed."""
    for path in source.iterdir():
        shutil.copy(path, target)
    quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", "--loglevel=error"]
    demand(["npm", "ci", *quiet], target)


@dataclass(frozen=True)
class Recipe:
    """How a peer is built, and of what."""

    make: Callable[[Path, Path], None]
    source: Path
    more: Tuple[Path, ...] = ()  # files elsewhere that it is made of, too


IN_TESTS: Dict[str, Recipe] = {
    "redisson": Recipe(build_redisson, SOURCES / "redisson"),
    "go": Recipe(build_go, SOURCES / "go"),
    "node": Recipe(build_node, SOURCES / "node"),
}
PEERS: Dict[str, Recipe] = {
    **IN_TESTS,
    "redisson-3": Recipe(build_older_redisson, SOURCES / "redisson"),
    "redisson-bench": Recipe(build_redisson, BENCH_SOURCES, (POM, LIBRARIES)),
}


def digest(recipe: Recipe) -> str:
    """A digest of the sources of a peer, and of the folder in which peers are built."""
    found = hashlib.sha256(str(BUILD).encode())
    for path in [*sorted(path for path in recipe.source.rglob("*") if path.is_file()), *recipe.more]:
        found.update(os.path.relpath(path, recipe.source).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def build(name: str) -> None:
    """Build one peer, unless it was built from its present sources."""
    recipe, target = PEERS[name], BUILD / name
    stamp = target / "built-from"
    wanted = digest(recipe)
    if stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
        return
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    started = time.monotonic()
    recipe.make(recipe.source, target)
    stamp.write_text(wanted, encoding="ascii")
    print(f"built the {name} peer in {time.monotonic() - started:.1f} s", flush=True)


def main() -> None:
    """Builds what the arguments name."""
    for name in sys.argv[1:] or IN_TESTS:
        if name not in PEERS:
            raise SystemExit(f"there is no peer '{name}'; expected one of {', '.join(PEERS)}")
        build(name)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Builds the interop peers into build/interop, each when it was not built from its present sources yet.

    build_peers.py [PEER...]    all peers, or those named

Nothing is written beside the sources. What a peer's package manager has fetched once is not fetched again.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, Dict, List

SOURCES = Path(__file__).resolve().parent
BUILD = SOURCES.parents[1] / "build" / "interop"


def run(command: List[str], folder: Path) -> int:
    """Run a command in a folder; its exit status. What it prints is shown as it comes."""
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, check=False).returncode


def demand(command: List[str], folder: Path) -> None:
    """Run a command that has to succeed."""
    if shutil.which(command[0]) is None:
        raise SystemExit(f"{command[0]} is missing; ./dev test installs it")
    status = run(command, folder)
    if status:
        raise SystemExit(f"{' '.join(command)}: status {status}")


def build_redisson(source: Path, target: Path) -> None:
    """Classes and libraries, by Maven: without the network if all is in the local repository."""
    command = ["mvn", "--batch-mode", "--quiet", f"-Dtarget={target}", "--file", str(source / "pom.xml")]
    if shutil.which("mvn") is None or run([*command, "--offline", "process-classes"], target) != 0:
        demand([*command, "process-classes"], target)


PEERS: Dict[str, Callable[[Path, Path], None]] = {"redisson": build_redisson}


def digest(folder: Path) -> str:
    """What the sources in a folder are, and where they are built."""
    found = hashlib.sha256(str(BUILD).encode())
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        found.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def build(name: str) -> None:
    """Build one peer, unless it is there."""
    source, target = SOURCES / name, BUILD / name
    stamp = target / "built-from"
    wanted = digest(source)
    if stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
        return
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    started = time.monotonic()
    PEERS[name](source, target)
    stamp.write_text(wanted, encoding="ascii")
    print(f"built the {name} peer in {time.monotonic() - started:.1f} s", flush=True)


def main() -> None:
    """Builds what the arguments name."""
    for name in sys.argv[1:] or PEERS:
        if name not in PEERS:
            raise SystemExit(f"there is no peer '{name}'; expected one of {', '.join(PEERS)}")
        build(name)


if __name__ == "__main__":
    main()

"""Scene 1: processes in four languages add to a number in a plain file, without the lock and with it.

SPDX-License-Identifier: Apache-2.0
"""

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from show import Child, say, title, verdict
from support.lua_programs import MODULES
from support.lua_programs import environment as lua_environment

HERE = Path(__file__).resolve().parent
THREADS = 8
ADDITIONS = 125
PROCESSES = 6
SHELLS = 2
SHELL_ADDITIONS = 25  # each in a process of its own
TOTAL = PROCESSES * THREADS * ADDITIONS + SHELLS * SHELL_ADDITIONS


def environment(program: str) -> Optional[Dict[str, str]]:
    """Returns the environment that a program needs: for Lua, the paths of redlatch's modules."""
    return lua_environment(program) if program in MODULES else None


def race(url: str, programs: Path, file: Path, mode: str) -> Tuple[int, float, int]:
    """Returns the number in the file at the end, the seconds that passed, and the hand-overs inside processes."""
    file.write_text(f"{0:010d}\n")
    arguments = [url, str(file), str(THREADS), str(ADDITIONS), mode]
    commands: List[List[str]] = [
        [str(programs / "demo_counter"), *arguments],
        [str(programs / "demo_counter"), *arguments],
        [sys.executable, str(HERE / "counter.py"), *arguments],
        [sys.executable, str(HERE / "counter.py"), *arguments],
        ["lua5.4", str(HERE / "counter.lua"), *arguments],
        ["luajit", str(HERE / "counter.lua"), *arguments],
    ]
    redlatch = str(programs.parent / "bin" / "redlatch")
    for _ in range(SHELLS):
        commands.append(["sh", str(HERE / "counter.sh"), url, str(file), str(SHELL_ADDITIONS), mode, redlatch])
    with ExitStack() as stack:
        children = [stack.enter_context(Child(command, environment(command[0]))) for command in commands]
        for child in children:
            if child.read() != "ready":
                raise SystemExit("a process of the race did not begin")
        begin = time.monotonic()
        for child in children:
            child.tell()
        hand_overs = sum(int(child.read() or 0) for child in children)
        seconds = time.monotonic() - begin
        if any(child.process.wait() != 0 for child in children):
            raise SystemExit("a process of the race failed")
    return int(file.read_text()), seconds, hand_overs


def run(url: str, programs: Path, folder: Path) -> bool:
    """Plays the scene. Returns whether it showed what it should."""
    title(f"1. A race: {PROCESSES + SHELLS} processes (2 each in C, Python, Lua and sh), {TOTAL} additions to a file")
    file = folder / "counter"
    count, seconds, _ = race(url, programs, file, "unlocked")
    say(f"without the lock: {count} of {TOTAL} in {seconds:.2f} s, {TOTAL - count} additions lost", "dim")
    lossy = verdict(count < TOTAL, "unguarded additions overwrite each other")
    count, seconds, hand_overs = race(url, programs, file, "locked")
    say(f"with the lock:    {count} of {TOTAL} in {seconds:.2f} s: {TOTAL / seconds:.0f} hand-overs/s,"
        f" {hand_overs} of them inside a process")
    return verdict(count == TOTAL, f"with `with client.lock(\"counter\")` exactly {TOTAL}") and lossy

# SPDX-License-Identifier: Apache-2.0
"""The processes of a run: starts, stops and kills them, and starts others in their places.

Each incarnation of a process has its own label, such as "python-1.0", and a history file of that name. Its output goes
to a log beside the file.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Dict, List, Optional, Sequence

from plan import Process
from support import bound

ROOT = Path(__file__).resolve().parents[2]
WORKERS = Path(__file__).resolve().parent / "workers"
BUILD = Path(os.environ.get("REDLATCH_BUILD", ROOT / "build"))
# `bound` replaces itself by the program, so a worker's process group has the worker and all that it has started.
_END_TIMEOUT = 25.0


class Member:
    """One process of the plan, in its current incarnation."""

    def __init__(self, process: Process, folder: Path, urls: Sequence[str], end: int) -> None:
        self.process = process
        self._folder = folder
        self._urls = urls
        self._end = end
        self.incarnation = -1
        self.stopped = False
        self._running: Optional[subprocess.Popen[bytes]] = None
        self.start()

    @property
    def label(self) -> str:
        """Returns the name with the incarnation."""
        return f"{self.process.name}.{self.incarnation}"

    def start(self) -> None:
        """Starts the next incarnation."""
        self.incarnation += 1
        self.stopped = False
        arguments = [
            ",".join(self._urls),
            str(self._folder / f"{self.label}.jsonl"),
            str(self._folder.parent / f"{self.process.name}.plan"),
            self.label,
            str(self._end),
        ]
        with (self._folder.parent / f"{self.label}.log").open("wb") as log:
            self._running = subprocess.Popen(
                bound([*_command(self.process.language), *arguments]),
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to the process and all that it has started."""
        assert self._running is not None
        with suppress(ProcessLookupError):
            os.killpg(self._running.pid, number)

    def kill(self) -> None:
        """Kills it."""
        self.signal(signal.SIGKILL)
        assert self._running is not None
        self._running.wait()

    def wait(self, seconds: float) -> Optional[int]:
        """Returns the exit status, or None if the process has not ended by then."""
        assert self._running is not None
        try:
            return self._running.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            return None


def _command(language: str) -> List[str]:
    if language == "c":
        return [str(BUILD / "tests" / "soak" / "soak_worker")]
    if language == "lua":
        return ["lua5.4", str(WORKERS / "worker.lua")]
    return [sys.executable, "-m", "soak.workers.worker", language]


def _environment() -> Dict[str, str]:
    rock, modules = ROOT / "lua-rock", BUILD / "lua" / "lua5.4"
    return {
        **os.environ,
        "LUA_PATH": f"{WORKERS}/?.lua;{rock}/?.lua;{rock}/?/init.lua;;",
        "LUA_CPATH": f"{modules}/?.so;;",
        "LUA_INIT": "",
    }


class Workers:
    """All processes of a run."""

    def __init__(self, processes: Sequence[Process], folder: Path, urls: Sequence[str], end: int) -> None:
        self.members: Dict[str, Member] = {}
        self._begin = time.monotonic()
        for process in processes:
            self.members[process.name] = Member(process, folder, urls, end)

    def finish(self) -> List[str]:
        """Waits until all processes have ended. Kills those that have not; the history shows that. Returns other
        violations."""
        deadline = time.monotonic() + _END_TIMEOUT
        found: List[str] = []
        for member in self.members.values():
            status = member.wait(deadline - time.monotonic())
            if status is None:
                member.kill()
            elif status != 0:
                found.append(f"workers: {member.label} ended with status {status}; its log says why")
        return found

    def close(self) -> None:
        """Kills all processes that are left."""
        for member in self.members.values():
            member.kill()

# SPDX-License-Identifier: Apache-2.0
"""The processes of a run: starts them, stops and kills them, starts others in their places.

Each incarnation of a process has a label of its own, such as "python-1.0", and a history file of that name. What a
process prints goes to a log beside it.
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
# Since `bound` starts a program in place of its own, a process group is a worker with all it has started.
_END_TIMEOUT = 25.0


class Member:
    """One process of the plan, in its present incarnation."""

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
        """Name and incarnation."""
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
        """Sends a signal to the process and what it has started."""
        assert self._running is not None
        with suppress(ProcessLookupError):
            os.killpg(self._running.pid, number)

    def kill(self) -> None:
        """Kills it."""
        self.signal(signal.SIGKILL)
        assert self._running is not None
        self._running.wait()

    def wait(self, seconds: float) -> Optional[int]:
        """Its exit status; None if it has not ended by then."""
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
        """Waits until everybody has come to the end; who has not is killed, which the history then tells. What went
        wrong beyond that."""
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
        """Kills whoever is left."""
        for member in self.members.values():
            member.kill()

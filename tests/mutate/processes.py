"""Runs several commands at a time, each with a timeout and in a process group of its own that is killed as a whole.

SPDX-License-Identifier: Apache-2.0
"""

import os
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence

HANGS = "hangs"


class Command(NamedTuple):
    """A command, its name in reports, and the seconds after which it hangs."""

    name: str
    words: Sequence[str]
    timeout: float = 600.0


class Failure(NamedTuple):
    """The command that failed, and its output."""

    name: str
    output: str


class Group:
    """Commands that run at the same time. The first failure ends all."""

    def __init__(self, folder: Path, environment: Dict[str, str]) -> None:
        self.folder = folder
        self.environment = environment
        self.lock = threading.Lock()
        self.running: List[subprocess.Popen[bytes]] = []
        self.waiting: List[Command] = []
        self.failure: Optional[Failure] = None
        self.seconds: Dict[str, float] = {}
        self.outputs: Dict[str, str] = {}

    def run(self, commands: Sequence[Command], jobs: int) -> Optional[Failure]:
        """Runs commands. Returns the first failure, or None if all succeeded."""
        self.waiting = list(reversed(commands))
        threads = [threading.Thread(target=self.work, daemon=True) for _ in range(min(jobs, len(commands)))]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        finally:
            self.stop()
        return self.failure

    def work(self) -> None:
        """Runs commands until none is left or one has failed."""
        while True:
            with self.lock:
                if self.failure or not self.waiting:
                    return
                command = self.waiting.pop()
            self.run_one(command)

    def run_one(self, command: Command) -> None:
        """Runs one command and notes its failure."""
        started = time.monotonic()
        with tempfile.TemporaryFile() as out:
            with self.lock:
                if self.failure:
                    return
                process = subprocess.Popen(command.words, cwd=self.folder, env=self.environment, stdout=out,
                                           stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True)
                self.running.append(process)
            try:
                status, name = process.wait(command.timeout), command.name
            except subprocess.TimeoutExpired:
                status, name = -1, f"{command.name} {HANGS}"
            kill(process)
            out.seek(0)
            output = out.read().decode(errors="replace")
        with self.lock:
            self.running.remove(process)
            self.outputs[command.name] = output
            self.seconds[command.name] = time.monotonic() - started
            if status != 0 and not self.failure:
                self.failure = Failure(name, output)
                self.stop_locked()

    def stop_locked(self) -> None:
        """Ends the running commands."""
        for process in self.running:
            kill(process, reap=False)

    def stop(self) -> None:
        """Ends the running commands and starts no more."""
        with self.lock:
            self.waiting = []
            self.stop_locked()


def kill(process: "subprocess.Popen[bytes]", reap: bool = True) -> None:
    """Ends a process and the processes of its group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if reap:
        process.wait()

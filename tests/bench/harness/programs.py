# SPDX-License-Identifier: Apache-2.0
"""Running the programs that measure: each prints lines of JSON; some speak with us between their phases."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Dict, List, Optional, Type, Union

Outcome = Dict[str, Any]
Word = Union[str, int, float, Path]

PEERS = Path(__file__).resolve().parent.parent / "peers"

_MODULES = {
    "redis-py": "redis",
    "python-redis-lock": "redis_lock",
    "redlatch": "redlatch",
    "redlatch-unconfirmed": "redlatch",
}


class NotAvailable(Exception):
    """A side of a comparison is not there on this machine; the rest can still be measured."""


class ProgramFailed(Exception):
    """A program met an error, so there is no figure."""


def c_program(build_directory: Path, name: str) -> List[str]:
    """The command line of a compiled program."""
    for folder in (build_directory / "tests" / "bench", build_directory / "tests"):
        if (folder / name).is_file():
            return [str(folder / name)]
    raise NotAvailable(f"{name} is not built")


def python_program(name: str, library: str) -> List[str]:
    """The command line of a Python program that uses a lock library."""
    if importlib.util.find_spec(_MODULES[library]) is None:
        raise NotAvailable(f"the Python package {_MODULES[library]} is not installed")
    return [sys.executable, str(PEERS / name), "--library", library]


def redisson_folder(build_directory: Path) -> Path:
    """Where the Java program's classes and libraries are."""
    return build_directory / "interop" / "redisson-bench"


def redisson_program(build_directory: Path, name: str) -> List[str]:
    """The command line of one of the programs in peers/redisson, in a JVM as it comes."""
    folder = redisson_folder(build_directory)
    java = shutil.which("java")
    if java is None or not (folder / "built-from").exists():
        raise NotAvailable("the Redisson peer is not built; ./dev bench does that where there are a JDK and Maven")
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    return [java, quiet, "-cp", f"{folder / 'classes'}:{folder / 'lib'}/*", "redlatch.bench.Main", name]


def run_to_end(command: List[str], words: List[Word], timeout: float) -> Outcome:
    """Runs a program that prints one line of JSON."""
    with Conversation(command, words) as conversation:
        outcome = conversation.line(timeout)
        conversation.end(timeout)
    return outcome


class Conversation:
    """A running program: it prints a line of JSON after each phase, and waits for us where phases meet."""

    def __init__(self, command: List[str], words: List[Word]) -> None:
        self._command = [*command, *(str(word) for word in words)]
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def line(self, timeout: float) -> Outcome:
        """The next line; ProgramFailed if the program ended, or took longer, without printing one."""
        assert self._process.stdout is not None
        timer = threading.Timer(timeout, self._process.kill)
        timer.start()
        try:
            text = self._process.stdout.readline()
        finally:
            timer.cancel()
        if not text:
            status = self._process.wait()
            self._fail(f"gave no result within {timeout:.0f} s; it ended with status {status}")
        found: Outcome = json.loads(text)
        return found

    def go(self) -> None:
        """Lets the program begin its next phase."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def end(self, timeout: float) -> None:
        """Waits for the program's end, which must be a good one."""
        try:
            status = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._fail(f"did not end within {timeout:.0f} s")
        if status != 0:
            self._fail(f"ended with status {status}")

    def _fail(self, what: str) -> None:
        self._process.kill()
        _, errors = self._process.communicate()
        raise ProgramFailed(f"{Path(self._command[0]).name}: {what}\n{errors.strip()}".strip())

    def close(self, timeout: float = 0.0) -> None:
        """Ends the program's input, and soon afterwards the program, whatever it does."""
        if self._process.stdin is not None:
            self._process.stdin.close()
            self._process.stdin = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout)
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Conversation:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

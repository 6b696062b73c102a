"""Output of the demo: lines with the time, colours on a terminal, child processes that are read line by line.

SPDX-License-Identifier: Apache-2.0
"""

import os
import subprocess
import sys
import time
from typing import Dict, List, Optional

_START = time.monotonic()
_COLOURS = sys.stdout.isatty() and "NO_COLOR" not in os.environ
_CODES = {"plain": "", "title": "\033[1m", "good": "\033[32m", "bad": "\033[31m", "dim": "\033[2m"}


def say(text: str, colour: str = "plain") -> None:
    """Prints a line with the seconds since the start."""
    stamp = f"{time.monotonic() - _START:7.3f} s  "
    if _COLOURS and _CODES[colour]:
        text = f"{_CODES[colour]}{text}\033[0m"
    print(stamp + text, flush=True)


def title(text: str) -> None:
    """Prints the name of a scene."""
    print(flush=True)
    say(text, "title")


def verdict(good: bool, text: str) -> bool:
    """Prints the result of a check and returns it."""
    say(("shown: " if good else "NOT SHOWN: ") + text, "good" if good else "bad")
    return good


class Child:
    """A child process of the demo, which exchanges lines with it. It is killed at the end of the `with` if it still
    runs."""

    def __init__(self, command: List[str], environment: Optional[Dict[str, str]] = None) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment
        )

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def read(self) -> str:
        """Returns the next line, or "" when the process has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self, text: str = "go") -> None:
        """Sends a line to the process."""
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

# SPDX-License-Identifier: Apache-2.0
"""A terminal for tests: tmux sends the keys and returns the screen."""

from __future__ import annotations

import os
import signal
import subprocess
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Dict, Optional

from support import RedisServer, wait_until
from support.shell import TIMEOUT, environment, status_of

BASH = ("bash", "--norc", "--noprofile", "-i")


class Terminal:
    """A private tmux server with one window. It runs an interactive shell whose prompt contains a dollar sign."""

    def __init__(self, server: RedisServer, *shell: str, **more: str) -> None:
        self._socket = str(server.directory / f"tmux-{uuid.uuid4().hex[:8]}")
        self._run("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30",
                  "env", f"REDIS_URL={server.url}", "PS1=$ ", *(shell or BASH), environment=environment(server, **more))
        wait_until(lambda: "$" in self.screen(), timeout=TIMEOUT, message="the shell's prompt")

    def _run(self, *arguments: str, environment: Optional[Dict[str, str]] = None) -> str:
        return subprocess.run(["tmux", "-S", self._socket, *arguments], capture_output=True, text=True, check=True,
                              env=environment, timeout=20).stdout

    def keys(self, *keys: str) -> None:
        """Sends keys, such as C-c. Strings that name no key are typed."""
        self._run("send-keys", *keys)

    def enter(self, line: str) -> None:
        """Types a line and presses Enter."""
        self._run("send-keys", "-l", line)
        self.keys("Enter")

    def screen(self) -> str:
        """Returns the text on the screen, without the ^C that a terminal echoes."""
        return self._run("capture-pane", "-p").replace("^C", "")

    def shows(self, text: str) -> None:
        """Waits until a line of the screen is this text."""
        wait_until(lambda: text in self.screen().splitlines(), timeout=TIMEOUT,
                   message=lambda: f"{text!r} on:\n{self.screen()}")

    def resize(self, columns: int, rows: int) -> None:
        """Resizes the window."""
        self._run("resize-window", "-x", str(columns), "-y", str(rows))

    def close(self) -> None:
        """Kills the tmux server with all its processes: the end of a terminal does not end every program."""
        question = ["tmux", "-S", self._socket, "display-message", "-p", "#{pane_pid}"]  # nothing, if it has ended
        session = subprocess.run(question, check=False, capture_output=True, text=True, timeout=20).stdout.strip()
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], check=False, capture_output=True, timeout=20)
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(FileNotFoundError, ProcessLookupError):
                if status_of(int(process.name))[3] == session:
                    os.kill(int(process.name), signal.SIGKILL)

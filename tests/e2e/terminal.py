# SPDX-License-Identifier: Apache-2.0
"""A terminal for tests: tmux presses the keys and tells what stands on the screen."""

from __future__ import annotations

import subprocess
import uuid
from typing import Dict, Optional

from support import RedisServer, wait_until
from support.shell import TIMEOUT, environment

BASH = ("bash", "--norc", "--noprofile", "-i")


class Terminal:
    """A tmux server of the test's own, with one window that runs an interactive shell, whose prompt has a dollar."""

    def __init__(self, server: RedisServer, *shell: str, **more: str) -> None:
        self._socket = str(server.directory / f"tmux-{uuid.uuid4().hex[:8]}")
        self._run("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30",
                  "env", f"REDIS_URL={server.url}", "PS1=$ ", *(shell or BASH), environment=environment(server, **more))
        wait_until(lambda: "$" in self.screen(), timeout=TIMEOUT, message="the shell's prompt")

    def _run(self, *arguments: str, environment: Optional[Dict[str, str]] = None) -> str:
        return subprocess.run(["tmux", "-S", self._socket, *arguments], capture_output=True, text=True, check=True,
                              env=environment, timeout=20).stdout

    def keys(self, *keys: str) -> None:
        """Presses keys, such as C-c; other words are typed."""
        self._run("send-keys", *keys)

    def enter(self, line: str) -> None:
        """Types a line."""
        self._run("send-keys", "-l", line)
        self.keys("Enter")

    def screen(self) -> str:
        """What stands on it, without the mark of a Ctrl-C."""
        return self._run("capture-pane", "-p").replace("^C", "")

    def shows(self, text: str) -> None:
        """Waits until a text is a line of the screen."""
        wait_until(lambda: text in self.screen().splitlines(), timeout=TIMEOUT,
                   message=lambda: f"{text!r} on:\n{self.screen()}")

    def resize(self, columns: int, rows: int) -> None:
        """Makes it another size."""
        self._run("resize-window", "-x", str(columns), "-y", str(rows))

    def close(self) -> None:
        """Ends it with all that runs in it."""
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], check=False, capture_output=True, timeout=20)

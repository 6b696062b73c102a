# SPDX-License-Identifier: Apache-2.0
"""The command `redlatch` for tests: run to its end, or started and watched.

The program is the one beside the redlatch that is tested, or what REDLATCH_TEST_COMMAND names (one that a sanitizer
watches, for instance).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

from . import RedisServer, wait_until
from .wire import build_directory, fields

# How long a command may take to start on a slow machine, a sanitizer in it.
TIMEOUT = 20.0
UNTIL_END = "while :; do sleep 0.02; done"
ON_TERM = "trap 'echo told; exit 5' TERM"


def program() -> str:
    """The path of the command."""
    return os.environ.get("REDLATCH_TEST_COMMAND") or str(build_directory() / "bin" / "redlatch")


def environment(server: Optional[RedisServer], **more: str) -> Dict[str, str]:
    """The environment of this process, with the server's address."""
    values = {**os.environ, **more}
    values.pop("REDIS_URL", None)
    if server is not None:
        values["REDIS_URL"] = server.url
    return values


def redlatch(server: Optional[RedisServer], *arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end. `more` has environment variables."""
    return subprocess.run([program(), *map(str, arguments)], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, env=environment(server, **more), check=False)


@contextmanager
def _nothing_ignored() -> Iterator[None]:
    """Resets ignored signals: in the background or under nohup this process ignores some, and children inherit that."""
    ignored = [number for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
               if signal.getsignal(number) == signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


def start(server: RedisServer, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Starts a command whose output is read."""
    with _nothing_ignored():
        return subprocess.Popen([program(), *map(str, arguments)], text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(server), **options)


def script_of(folder: Path, text: str, trap: str = "") -> str:
    """A shell script that sets a trap, writes its process id to folder/pid, and goes on with `text`."""
    return f"{trap}\necho $$ >{folder}/new && mv {folder}/new {folder}/pid\n{text}\n"


def wait_running(folder: Path) -> None:
    """Waits until such a script runs."""
    wait_until((folder / "pid").exists, TIMEOUT, "CMD to run")


def start_holder(
    server: RedisServer, name: str, folder: Path, *options: object, text: str = UNTIL_END, trap: str = ON_TERM
) -> subprocess.Popen[str]:
    """Starts `run` with such a script; returns when it runs, its trap set."""
    holder = start(server, "run", *options, name, "--", "sh", "-c", script_of(folder, text, trap))
    wait_running(folder)
    assert fields(server, name)
    return holder


def pid_of(folder: Path) -> int:
    """The process id that start_holder's script wrote."""
    return int((folder / "pid").read_text())


def status_of(pid: int) -> List[str]:
    """What the system says of a process after its name: its state, parent, process group, session and more."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped, by Ctrl-Z for instance."""
    return status_of(pid)[0] == "T"


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not waited for does not."""
    try:
        return status_of(pid)[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def shown(server: RedisServer, *arguments: object) -> Any:
    """What a command prints as JSON."""
    return json.loads(redlatch(server, *arguments, "--json").stdout)


def names(found: List[Dict[str, Any]]) -> List[str]:
    """The names of what `list --json` printed."""
    return [lock["name"] for lock in found]

# SPDX-License-Identifier: Apache-2.0
"""`redlatch run` in a terminal: Ctrl-C, Ctrl-Z and fg, and who reads the keys. tmux is the terminal."""

from __future__ import annotations

import subprocess
import uuid
from pathlib import Path
from typing import Dict, Iterator, Optional

import pytest
from env import RedisServer, wait_until
from shell import ON_TERM, UNTIL_END, environment, is_alive, pid_of, program, script_of
from wire import fields, remaining_ms, subscribers

ON_INT = "trap 'echo told; exit 9' INT"


class Terminal:
    """A tmux server of the test's own, with one window that runs an interactive shell."""

    def __init__(self, server: RedisServer) -> None:
        self._socket = str(server.directory / f"tmux-{uuid.uuid4().hex[:8]}")
        self._run("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30",
                  "env", f"REDIS_URL={server.url}", "PS1=$ ", "bash", "--norc", "--noprofile", "-i",
                  environment=environment(server))
        wait_until(lambda: "$" in self.screen(), message="the shell's prompt")

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
        wait_until(lambda: text in self.screen().splitlines(), message=lambda: f"{text!r} on:\n{self.screen()}")

    def close(self) -> None:
        """Ends it with all that runs in it."""
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], check=False, capture_output=True, timeout=20)


@pytest.fixture
def terminal(server: RedisServer) -> Iterator[Terminal]:
    """A terminal with a shell."""
    opened = Terminal(server)
    yield opened
    opened.close()


def run_line(name: str, folder: Path, text: str = UNTIL_END, trap: str = "", options: str = "") -> str:
    """A line that runs a script which says its process id."""
    script = folder / "script"
    script.write_text(script_of(folder, text, trap))
    return f"{program()} run {options} {name} -- sh {script}; echo status $?"


def started(folder: Path) -> None:
    """Waits until the script runs."""
    wait_until((folder / "pid").exists, message="CMD to run")


def test_00_control_c_reaches_the_command_and_frees_the_lock(
    server: RedisServer, terminal: Terminal, lock_name: str, tmp_path: Path
) -> None:
    terminal.enter(run_line(lock_name, tmp_path, trap=ON_INT))
    started(tmp_path)
    assert fields(server, lock_name)
    terminal.keys("C-c")
    terminal.shows("told")
    terminal.shows("status 9")
    assert server.admin.exists(lock_name) == 0


def test_01_control_c_ends_a_wait(
    server: RedisServer, terminal: Terminal, lock_name: str, tmp_path: Path
) -> None:
    server.admin.hset(lock_name, "somebody", 1)
    server.admin.pexpire(lock_name, 60_000)
    terminal.enter(f"{program()} run {lock_name} -- echo ran")
    wait_until(lambda: subscribers(server, lock_name) == 1, message="the command to wait")
    terminal.keys("C-c")
    terminal.enter("echo status $?")
    terminal.shows("status 130")


def test_02_the_command_reads_the_keys(
    server: RedisServer, terminal: Terminal, lock_name: str, tmp_path: Path
) -> None:
    terminal.enter(run_line(lock_name, tmp_path, "read -r word; echo got $word"))
    started(tmp_path)
    terminal.enter("hello")
    terminal.shows("got hello")
    terminal.shows("status 0")
    terminal.enter("echo the shell has its terminal back")
    terminal.shows("the shell has its terminal back")


def test_03_control_z_and_fg(server: RedisServer, terminal: Terminal, lock_name: str, tmp_path: Path) -> None:
    terminal.enter(run_line(lock_name, tmp_path, trap=ON_INT))
    started(tmp_path)
    terminal.keys("C-z")
    wait_until(lambda: "Stopped" in terminal.screen(), message="the shell to say that the job was stopped")
    assert fields(server, lock_name) and is_alive(pid_of(tmp_path))
    terminal.enter("fg; echo then $?")
    wait_until(lambda: f"{program()} run" in terminal.screen().rpartition("fg; echo")[2], message="fg")
    terminal.keys("C-c")
    terminal.shows("told")
    terminal.shows("then 9")
    assert server.admin.exists(lock_name) == 0


def test_04_stopped_beyond_its_lease_fg_finds_it_lost(
    server: RedisServer, terminal: Terminal, lock_name: str, tmp_path: Path
) -> None:
    terminal.enter(run_line(lock_name, tmp_path, trap=ON_TERM, options="--lease 0.8"))
    started(tmp_path)
    terminal.keys("C-z")
    wait_until(lambda: "Stopped" in terminal.screen(), message="the shell to say that the job was stopped")
    wait_until(lambda: remaining_ms(server, lock_name) == -2, message="the lease to run out")
    terminal.enter("fg; echo then $?")
    terminal.shows("told")
    terminal.shows("then 70")


def test_05_in_a_script_control_c_ends_both(
    server: RedisServer, terminal: Terminal, lock_name: str, tmp_path: Path
) -> None:
    outer = tmp_path / "outer"
    outer.write_text(f"{run_line(lock_name, tmp_path)}\necho after\n")
    terminal.enter(f"sh {outer}")
    started(tmp_path)
    terminal.keys("C-c")
    terminal.enter("echo outer $?")
    terminal.shows("outer 130")
    assert "after" not in terminal.screen().splitlines()
    wait_until(lambda: server.admin.exists(lock_name) == 0, message="the lock to be free")


def test_06_in_a_script_the_command_reads_the_keys_too(
    server: RedisServer, terminal: Terminal, lock_name: str, tmp_path: Path
) -> None:
    outer = tmp_path / "outer"
    outer.write_text(run_line(lock_name, tmp_path, "read -r word; echo got $word") + "\n")
    terminal.enter(f"sh {outer}")
    started(tmp_path)
    terminal.enter("hello")
    terminal.shows("got hello")
    terminal.shows("status 0")


@pytest.mark.parametrize("interactive", [True, False])
def test_07_control_c_ends_a_loop_of_bash(
    server: RedisServer, terminal: Terminal, lock_name: str, tmp_path: Path, interactive: bool
) -> None:
    """bash goes on with a loop unless its child was ended by the signal itself."""
    script = tmp_path / "script"
    script.write_text(script_of(tmp_path, UNTIL_END))
    loop = f"for i in 1 2 3; do {program()} run {lock_name} -- sh {script}; echo turn $i is over; done"
    outer = tmp_path / "outer"
    outer.write_text(f"{loop}\necho after\n")
    terminal.enter(loop if interactive else f"bash {outer}")
    started(tmp_path)
    terminal.keys("C-c")
    terminal.enter("echo outer $?")
    terminal.shows("outer 130")
    lines = terminal.screen().splitlines()
    assert "turn 1 is over" not in lines and "after" not in lines
    assert server.admin.exists(lock_name) == 0


def test_08_control_c_ends_a_loop_that_waits(
    server: RedisServer, terminal: Terminal, lock_name: str
) -> None:
    server.admin.hset(lock_name, "somebody", 1)
    server.admin.pexpire(lock_name, 60_000)
    terminal.enter(f"while :; do {program()} run {lock_name} -- true; echo a turn is over; done")
    wait_until(lambda: subscribers(server, lock_name) == 1, message="the command to wait")
    terminal.keys("C-c")
    terminal.enter("echo outer $?")
    terminal.shows("outer 130")
    assert "a turn is over" not in terminal.screen().splitlines()

# SPDX-License-Identifier: Apache-2.0
"""`redlatch run` in a terminal: Ctrl-C, Ctrl-Z and fg, and who reads the keys. tmux is the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import pytest
from forms import UUID, put_hash
from support import RedisServer, wait_until
from support.shell import ON_TERM, TIMEOUT, UNTIL_END, is_alive, is_stopped, pid_of, program, script_of, wait_running
from support.wire import fields, remaining_ms, subscribers
from terminal import Terminal
from waiters import hold_as_redisson

ON_INT = "trap 'echo told; exit 9' INT"


@pytest.fixture
def terminal(server: RedisServer) -> Iterator[Terminal]:
    """A terminal with a shell."""
    opened = Terminal(server)
    yield opened
    opened.close()


def run_line(name: str, folder: Path, text: str = UNTIL_END, trap: str = "", options: str = "") -> str:
    """Returns a line that runs a script which writes its process id.

    The script runs in bash, since other shells start programs by vfork. A Ctrl-Z at that moment stops the child. Its
    parent then waits in the kernel, where it cannot be stopped, and nobody tells the shell, with redlatch or without.
    """
    script = folder / "script"
    script.write_text(script_of(folder, text, trap))
    return f"{program()} run {options} {name} -- bash {script}; echo status $?"


def test_control_c_reaches_the_command_and_frees_the_lock(
    server: RedisServer, terminal: Terminal, lock_name: str, tmp_path: Path
) -> None:
    terminal.enter(run_line(lock_name, tmp_path, trap=ON_INT))
    wait_running(tmp_path)
    assert fields(server, lock_name)
    terminal.keys("C-c")
    terminal.shows("told")
    terminal.shows("status 9")
    assert server.admin.exists(lock_name) == 0


def test_control_c_ends_a_wait(
    server: RedisServer, terminal: Terminal, lock_name: str, tmp_path: Path
) -> None:
    hold_as_redisson(server, lock_name, 60_000)
    terminal.enter(f"{program()} run {lock_name} -- echo ran")
    wait_until(lambda: subscribers(server, lock_name) == 1, TIMEOUT, "the command to wait")
    terminal.keys("C-c")
    terminal.enter("echo status $?")
    terminal.shows("status 130")


def test_the_command_reads_the_keys(
    server: RedisServer, terminal: Terminal, lock_name: str, tmp_path: Path
) -> None:
    terminal.enter(run_line(lock_name, tmp_path, "read -r word; echo got $word"))
    wait_running(tmp_path)
    terminal.enter("hello")
    terminal.shows("got hello")
    terminal.shows("status 0")
    terminal.enter("echo the shell has its terminal back")
    terminal.shows("the shell has its terminal back")


def stop(terminal: Terminal) -> None:
    """Presses Ctrl-Z, and waits until the shell reports the stop."""
    terminal.keys("C-z")
    wait_until(lambda: "Stopped" in terminal.screen(), TIMEOUT, lambda: "the stop on:\n" + terminal.screen())


def test_control_z_and_fg(server: RedisServer, terminal: Terminal, lock_name: str, tmp_path: Path) -> None:
    terminal.enter(run_line(lock_name, tmp_path, trap=ON_INT))
    wait_running(tmp_path)
    stop(terminal)
    assert fields(server, lock_name) and is_alive(pid_of(tmp_path))
    terminal.enter("fg; echo then $?")
    # CMD continues only once the terminal is its own. A Ctrl-C before that would be the shell's.
    wait_until(lambda: not is_stopped(pid_of(tmp_path)), TIMEOUT, lambda: "fg on:\n" + terminal.screen())
    terminal.keys("C-c")
    terminal.shows("told")
    terminal.shows("then 9")
    assert server.admin.exists(lock_name) == 0


def test_stopped_beyond_its_lease_fg_finds_it_lost(
    server: RedisServer, terminal: Terminal, lock_name: str, tmp_path: Path
) -> None:
    terminal.enter(run_line(lock_name, tmp_path, trap=ON_TERM, options="--lease 1.2"))
    wait_running(tmp_path)
    stop(terminal)
    wait_until(lambda: remaining_ms(server, lock_name) == -2, message="the lease to run out")
    terminal.enter("fg; echo then $?")
    terminal.shows("told")
    terminal.shows("then 70")


def test_in_a_script_control_c_ends_both(
    server: RedisServer, terminal: Terminal, lock_name: str, tmp_path: Path
) -> None:
    # If bash runs a program when the key comes, it goes on unless the signal ended that program. This script runs none.
    script, outer = tmp_path / "script", tmp_path / "outer"
    script.write_text(f"echo $$ >{tmp_path}/pid\nexec sleep 60\n")
    outer.write_text(f"{program()} run {lock_name} -- bash {script}; echo status $?\necho after\n")
    terminal.enter(f"sh {outer}")
    wait_running(tmp_path)
    terminal.keys("C-c")
    terminal.enter("echo outer $?")
    terminal.shows("outer 130")
    assert "after" not in terminal.screen().splitlines()
    wait_until(lambda: server.admin.exists(lock_name) == 0, message="the lock to be free")


def test_in_a_script_the_command_reads_the_keys_too(
    server: RedisServer, terminal: Terminal, lock_name: str, tmp_path: Path
) -> None:
    outer = tmp_path / "outer"
    outer.write_text(run_line(lock_name, tmp_path, "read -r word; echo got $word") + "\n")
    terminal.enter(f"sh {outer}")
    wait_running(tmp_path)
    terminal.enter("hello")
    terminal.shows("got hello")
    terminal.shows("status 0")


@pytest.mark.parametrize("interactive", [True, False])
def test_control_c_ends_a_loop_of_bash(
    server: RedisServer, terminal: Terminal, lock_name: str, tmp_path: Path, interactive: bool
) -> None:
    """bash goes on with a loop unless its child was ended by the signal itself."""
    script = tmp_path / "script"
    script.write_text(script_of(tmp_path, UNTIL_END))
    loop = f"for i in 1 2 3; do {program()} run {lock_name} -- sh {script}; echo turn $i is over; done"
    outer = tmp_path / "outer"
    outer.write_text(f"{loop}\necho after\n")
    terminal.enter(loop if interactive else f"bash {outer}")
    wait_running(tmp_path)
    terminal.keys("C-c")
    terminal.enter("echo outer $?")
    terminal.shows("outer 130")
    lines = terminal.screen().splitlines()
    assert "turn 1 is over" not in lines and "after" not in lines
    assert server.admin.exists(lock_name) == 0


def test_control_c_ends_a_loop_that_waits(
    server: RedisServer, terminal: Terminal, lock_name: str
) -> None:
    hold_as_redisson(server, lock_name, 60_000)
    terminal.enter(f"while :; do {program()} run {lock_name} -- true; echo a turn is over; done")
    wait_until(lambda: subscribers(server, lock_name) == 1, TIMEOUT, "the command to wait")
    terminal.keys("C-c")
    terminal.enter("echo outer $?")
    terminal.shows("outer 130")
    assert "a turn is over" not in terminal.screen().splitlines()


# ---------------------------------------------------------------------------------------------------- unlock --force --


def unlock(terminal: Terminal, server: RedisServer, name: str, reply: str) -> None:
    """Runs `unlock --force` for a lock, and answers its question."""
    terminal.enter("clear")
    wait_until(lambda: "[y/N]" not in terminal.screen(), TIMEOUT, terminal.screen)
    terminal.enter(f"{program()} unlock --force {name}; echo status $?")
    wait_until(lambda: "Delete its lock? [y/N]" in terminal.screen(), TIMEOUT, terminal.screen)
    assert f'"{name}" is held by {UUID}:1, count 1' in terminal.screen() and server.admin.exists(name) == 1
    terminal.enter(reply)


def test_unlock_asks_before_it_deletes(server: RedisServer, terminal: Terminal) -> None:
    put_hash(server, "x", {f"{UUID}:1": 1})
    for reply in ("n", "", "no"):
        unlock(terminal, server, "x", reply)
        terminal.shows('redlatch: "x" was not unlocked')
        terminal.shows("status 64")
        assert server.admin.exists("x") == 1
    unlock(terminal, server, "x", "y")
    terminal.shows("status 0")
    assert server.admin.exists("x") == 0


def test_unlock_leaves_a_lock_that_changed_hands_meanwhile(server: RedisServer, terminal: Terminal) -> None:
    """The answer is about the holder that was shown only."""
    put_hash(server, "x", {f"{UUID}:1": 1})
    terminal.enter(f"{program()} unlock --force x; echo status $?")
    wait_until(lambda: "Delete its lock? [y/N]" in terminal.screen(), TIMEOUT, terminal.screen)
    server.admin.delete("x")
    put_hash(server, "x", {f"{UUID}:2": 1})
    terminal.enter("y")
    terminal.shows("status 3")
    assert "it was released in the meantime" in terminal.screen() and set(fields(server, "x")) == {f"{UUID}:2".encode()}


def test_unlock_does_not_ask_who_is_sure(server: RedisServer, terminal: Terminal) -> None:
    put_hash(server, "x", {f"{UUID}:1": 1})
    terminal.enter(f"{program()} unlock --force --yes x; echo status $?")
    terminal.shows("status 0")
    put_hash(server, "x", {f"{UUID}:1": 1})
    terminal.enter(f"{program()} unlock --force x </dev/null; echo nobody to ask $?")
    terminal.shows("nobody to ask 0")
    assert server.admin.exists("x") == 0

# SPDX-License-Identifier: Apache-2.0
"""`redlatch run`: exclusion, exit statuses, waiting, signals, the process group, the loss of the lock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, List, Tuple

import pytest
import redlatch as library
from support import RedisServer, RedissonShapedPeer, closed_port, wait_until
from support.shell import (
    TIMEOUT,
    UNTIL_END,
    environment,
    is_alive,
    is_stopped,
    pid_of,
    program,
    redlatch,
    start,
    start_holder,
)
from support.wire import fields, is_owner, remaining_ms, subscribers

# A waiter that missed its message rechecks after 5 s.
RECHECK = 4.0
STATUS = {"not obtained": 1, "usage": 64, "no lock": 65, "unreachable": 69, "lost": 70, "system": 71}


def pending_signals(pid: int) -> int:
    """Returns the set of signals that were sent to a process and not yet taken."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return sum(int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd:", "ShdPnd:")))


# ------------------------------------------------------------------------------------------------------- exclusion --


def test_fifty_processes_count_to_a_thousand(server: RedisServer, lock_name: str, tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0\n")
    add = tmp_path / "add"
    add.write_text('#!/bin/sh\nread -r n <"$1"\necho $((n + 1)) >"$1"\n')
    add.chmod(0o755)
    once = f"{program()} run {lock_name} -- {add} {counter}"
    loop = f"i=0; while [ $i -lt 20 ]; do {once} || exit 1; i=$((i + 1)); done"
    loops = [subprocess.Popen(["sh", "-c", loop], env=environment(server)) for _ in range(50)]
    assert [one.wait(110) for one in loops] == [0] * 50
    assert counter.read_text() == "1000\n"
    assert server.admin.dbsize() == 0


def test_redisson_and_python_are_kept_out(
    server: RedisServer, peer: RedissonShapedPeer, lock_name: str, tmp_path: Path
) -> None:
    with library.connect(server.url) as client:
        holder = start_holder(server, lock_name, tmp_path)
        assert not peer.try_lock(lock_name) and not client.lock(lock_name).acquire(blocking=False)
        holder.terminate()
        assert holder.wait(10) == 5
        assert peer.try_lock(lock_name)
    assert redlatch(server, "run", "-n", lock_name, "--", "true").returncode == STATUS["not obtained"]


# ---------------------------------------------------------------------------------------------------- exit statuses --


@pytest.mark.parametrize(
    ("text", "status"), [("true", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143)]
)
def test_ends_as_the_command_does(server: RedisServer, lock_name: str, text: str, status: int) -> None:
    assert redlatch(server, "run", lock_name, "--", "sh", "-c", text).returncode == status
    assert server.admin.exists(lock_name) == 0


@pytest.mark.parametrize(
    ("command", "status"), [("/nonexistent", 127), ("no-such-program", 127), ("", 127), ("/tmp", 126)]
)
def test_what_can_not_be_run(server: RedisServer, lock_name: str, command: str, status: int) -> None:
    done = redlatch(server, "run", "--at-least", "60", lock_name, "--", command)
    assert done.returncode == status and f"redlatch: '{command}' cannot be run: " in done.stderr
    assert server.admin.exists(lock_name) == 0


def test_nonblock_says_so_at_once(server: RedisServer, peer: RedissonShapedPeer, lock_name: str) -> None:
    peer.lock(lock_name)
    begun = time.monotonic()
    done = redlatch(server, "run", "-n", lock_name, "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (STATUS["not obtained"], "") and len(done.stderr.splitlines()) == 1
    assert f'"{lock_name}" is held by {peer.owner()}' in done.stderr
    assert time.monotonic() - begun < TIMEOUT, "not as long as the other holds it"
    quiet = redlatch(server, "run", "-nq", lock_name, "--", "echo", "ran")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (STATUS["not obtained"], "", "")


@pytest.mark.parametrize("code", [0, 42])
def test_the_status_without_the_lock_can_be_chosen(
    server: RedisServer, peer: RedissonShapedPeer, lock_name: str, code: int
) -> None:
    """The status may be 0, too. CMD does not run."""
    peer.lock(lock_name)
    done = redlatch(server, "run", "-n", "-E", code, lock_name, "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (code, "")


def test_a_failed_wait_names_host_and_process(server: RedisServer, lock_name: str, tmp_path: Path) -> None:
    holder = start_holder(server, lock_name, tmp_path)
    done = redlatch(server, "run", "-w", "300ms", lock_name, "--", "true")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f'redlatch: gave up after 0.3 s: "{lock_name}" is held by ')
    assert f"(process {holder.pid} on {os.uname().nodename}), lease ends in " in line
    holder.terminate()
    holder.communicate(timeout=20)


@pytest.mark.parametrize(("text", "seconds"), [("700ms", 0.7), ("0.7s", 0.7), ("0.0001h", 0.36), ("0.01m", 0.6)])
def test_durations_have_units(
    server: RedisServer, peer: RedissonShapedPeer, lock_name: str, text: str, seconds: float
) -> None:
    peer.lock(lock_name)
    begun = time.monotonic()
    assert redlatch(server, "run", "-q", "-w", text, lock_name, "--", "true").returncode == STATUS["not obtained"]
    assert time.monotonic() - begun >= seconds


def test_wait_ends_after_its_time(server: RedisServer, peer: RedissonShapedPeer, lock_name: str) -> None:
    peer.lock(lock_name)
    begun = time.monotonic()
    assert redlatch(server, "run", "-w", "0.5", lock_name, "--", "true").returncode == STATUS["not obtained"]
    assert 0.5 <= time.monotonic() - begun < TIMEOUT
    waiting = start(server, "run", "-w", "20", lock_name, "--", "echo", "ran")
    wait_until(lambda: subscribers(server, lock_name) == 1, TIMEOUT, "the command to wait")
    peer.unlock(lock_name)
    released = time.monotonic()
    assert waiting.communicate(timeout=10)[0] == "ran\n"
    assert waiting.returncode == 0 and time.monotonic() - released < RECHECK, "a message woke it"


def test_no_server_is_69(server: RedisServer, lock_name: str) -> None:
    with closed_port() as port:
        done = redlatch(None, "run", "--url", f"redis://127.0.0.1:{port}", lock_name, "--", "true")
    assert done.returncode == STATUS["unreachable"] and "refused" in done.stderr


def test_a_server_that_goes_away_is_given_up(server: RedisServer, lock_name: str) -> None:
    """A wait without a timeout gives up after half a minute. A shorter one fails with the same message at its
    timeout."""
    server.admin.execute_command("CLIENT", "PAUSE", 60_000, "WRITE")
    try:
        done = redlatch(server, "run", "-w", "0.2", lock_name, "--", "true")
    finally:
        server.admin.execute_command("CLIENT", "UNPAUSE")
    assert done.returncode == STATUS["unreachable"] and "gave up waiting, the server is unreachable" in done.stderr


@pytest.mark.parametrize("options", [[], ["--kind", "fair"], ["-s"], ["--kind", "plain"], ["other"]])
def test_what_is_no_lock_is_65(server: RedisServer, lock_name: str, options: List[str]) -> None:
    """The status is not 69, after which a job may try again: that would be for ever."""
    server.admin.rpush(lock_name, "a")
    done = redlatch(server, "run", *options, lock_name, "--", "true")
    assert done.returncode == STATUS["no lock"] and "is no known lock" in done.stderr


# Arguments of `run`, and the whole message about them.
MISUSE = {
    "": "run: no name of a lock: expected NAME... -- CMD",
    "x --": "run: nothing after --: expected a command",
    "x -n true": "run: -n behind the name 'x': expected options before it",
    "x nosuch -v": "run: there is no program 'nosuch' to be run under 'x': expected NAME... -- CMD",
    "x": "run: no command to be run under 'x': expected NAME -- CMD",
    "x git checkout -- FILE": "run: 'git' is a program where a name is expected, and 'FILE' behind -- is none: expected"
                              " x -- git ... -- FILE",
    "x -n -- true": "run: -n among the names: expected options before them",
    "--no-such-option x -- true": "run: there is no option --no-such-option\n"
    "redlatch: see: redlatch run --help",
    "-w soon x -- true": "-w is 'soon': expected seconds, or a number with ms, s, m, h or d, from 0 to 300000000 s",
    "-w -1 x -- true": "-w is '-1': expected seconds, or a number with ms, s, m, h or d, from 0 to 300000000 s",
    "-E 256 x -- true": "-E is '256': expected a number from 0 to 255",
    "--lease 0.01 x -- true": "--lease is '0.01': expected seconds, or a number with ms, s, m, h or d, from 0.03 to"
                               " 86400 s",
    "--kind no-such-kind x -- true": "--kind is 'no-such-kind': expected one of mutex, fenced, fair, spin, read, "
    "write, plain, semaphore, permit-semaphore",
    "--at-least 2 --max-hold 1.5 x -- true": "--at-least is 2 s, --max-hold 1.5 s: expected the first to be no longer "
    "than the second",
    "-s --kind mutex x -- true": "-s with --kind mutex: expected one of them",
    "-n -w 3 x -- true": "-n with -w 3: expected one of them",
    "--once -w 3 x -- true": "--once with -w 3: expected one of them",
    "--kind fair x y -- true": "2 names with --kind fair: expected one",
    "--kind plain --key-template x x -- true": "--key-template is 'x': expected one {name} in it",
    "--key-template x:{name} x -- true": "--key-template with --kind mutex: expected --kind plain",
}


@pytest.mark.parametrize("arguments", MISUSE)
def test_misuse_is_64_and_says_what_is_wrong(server: RedisServer, arguments: str) -> None:
    done = redlatch(server, "run", *arguments.split())
    assert (done.returncode, done.stdout) == (STATUS["usage"], "")
    assert done.stderr == f"redlatch: {MISUSE[arguments]}\n"


def test_a_url_of_another_scheme_is_64(server: RedisServer, lock_name: str) -> None:
    done = redlatch(server, "run", "--url", "http://127.0.0.1", lock_name, "--", "true")
    assert done.returncode == STATUS["usage"] and "expected redis://" in done.stderr


@pytest.mark.parametrize(
    "options", [["-s", "--kind", "mutex"], ["--kind", "write", "-s"], ["-n", "-w", "3"], ["-w", "0", "-n"]]
)
def test_flags_that_contradict_each_other(server: RedisServer, lock_name: str, options: List[str]) -> None:
    done = redlatch(server, "run", *options, lock_name, "--", "true")
    assert done.returncode == STATUS["usage"] and "expected one of them" in done.stderr
    assert redlatch(server, "run", "-s", "--kind", "read", "-n", lock_name, "--", "true").returncode == 0


@pytest.mark.parametrize("kind", [[], ["--kind", "semaphore", "--limit", "1"]])
@pytest.mark.parametrize("names", [["--"], ["--", "--"], [""], ["", "b"], ["a", ""]])
def test_a_name_that_is_missing_or_empty(
    server: RedisServer, tmp_path: Path, kind: List[str], names: List[str]
) -> None:
    """An empty variable in a script, quoted or not, makes such arguments. Nothing runs under a name that nobody
    meant."""
    done = redlatch(server, "run", *kind, *names, "--", "touch", str(tmp_path / "ran"))
    assert done.returncode == STATUS["usage"] and "name" in done.stderr
    assert not (tmp_path / "ran").exists() and server.admin.dbsize() == 0


def test_the_longest_lease_is_a_day(server: RedisServer, lock_name: str) -> None:
    done = redlatch(server, "run", "--lease", "86400.1", lock_name, "--", "true")
    assert done.returncode == STATUS["usage"] and "--lease is '86400.1'" in done.stderr
    assert "to 86400 s\n" in done.stderr
    assert redlatch(server, "run", "--lease", "86400", lock_name, "--", "true").returncode == 0


def test_one_connection_is_enough(server: RedisServer, lock_name: str) -> None:
    def connections() -> int:
        information: Any = server.admin.info("stats")
        return int(information["total_connections_received"])

    before = connections()
    assert redlatch(server, "run", lock_name, "--", "true").returncode == 0
    assert connections() == before + 1


# ------------------------------------------------------------------------------------------- what CMD sees and gets --


def test_the_command_knows_its_lock(server: RedisServer, lock_name: str) -> None:
    text = (
        'echo "$REDLATCH_LOCK" "$REDLATCH_OWNER" "${REDLATCH_TOKEN-none}"\n'
        f'{program()} show --owner "$REDLATCH_OWNER" "$REDLATCH_LOCK" >/dev/null; echo $?\n'
        f'{program()} show --owner other "$REDLATCH_LOCK" >/dev/null; echo $?'
    )
    done = redlatch(server, "run", lock_name, "--", "sh", "-c", text, REDLATCH_TOKEN="9")
    name, owner, token, own, other = done.stdout.split()
    assert (name, token, own, other) == (lock_name, "none", "0", "3") and is_owner(owner.encode())


@pytest.mark.parametrize("probe", [["ls", "/proc/self/fd"], ["grep", "-E", "Sig(Blk|Ign|Cgt)", "/proc/self/status"]])
def test_nothing_is_inherited_but_what_should_be(server: RedisServer, lock_name: str, probe: List[str]) -> None:
    done = redlatch(server, "run", lock_name, "--", *probe)
    plain = subprocess.run(probe, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=True)
    assert (done.returncode, done.stdout) == (0, plain.stdout)


def test_what_was_ignored_stays_ignored(server: RedisServer, lock_name: str) -> None:
    text = f"trap '' HUP; exec {program()} run {lock_name} -- sh -c 'kill -HUP $PPID; kill -HUP $$; echo here'"
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, env=environment(server), timeout=30,
                          check=False)
    assert (done.returncode, done.stdout) == (0, "here\n")


def test_a_prefix_stands_before_the_name(server: RedisServer, lock_name: str) -> None:
    done = redlatch(server, "run", "--prefix", "shop:", lock_name, "--", "sh", "-c",
                    f'echo "$REDLATCH_LOCK"; {program()} list "shop:*" --json')
    assert done.stdout.startswith(lock_name + "\n") and f'"shop:{lock_name}"' in done.stdout


def is_renewed(server: RedisServer, name: str) -> None:
    """Waits until the rest of a lock's lease has grown: it was renewed."""
    seen = [remaining_ms(server, name)]

    def longer() -> bool:
        seen.append(remaining_ms(server, name))
        return seen[-1] > seen[-2]

    wait_until(longer, message="a renewal")


def test_the_lease_is_the_watchdogs(server: RedisServer, lock_name: str, tmp_path: Path) -> None:
    holder = start_holder(server, lock_name, tmp_path, "--lease", "1.2")
    owner = fields(server, lock_name)
    assert 0 < remaining_ms(server, lock_name) <= 1_200
    for _ in range(3):
        is_renewed(server, lock_name)
    assert fields(server, lock_name) == owner
    holder.terminate()
    assert holder.wait(10) == 5


def test_at_least_leaves_the_lock_to_run_out(server: RedisServer, lock_name: str) -> None:
    assert redlatch(server, "run", "--at-least", "60", lock_name, "--", "true").returncode == 0
    assert 30_000 < remaining_ms(server, lock_name) <= 60_000, "it does not wait for that itself, nor renews it"


# --------------------------------------------------------------------------------------------------------- signals --


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT", "USR1"])
def test_signals_reach_the_command(server: RedisServer, lock_name: str, tmp_path: Path, name: str) -> None:
    holder = start_holder(server, lock_name, tmp_path, trap=f"trap 'echo told; exit 9' {name}")
    holder.send_signal(getattr(signal, f"SIG{name}"))
    assert holder.communicate(timeout=10)[0] == "told\n"
    assert holder.returncode == 9 and server.admin.exists(lock_name) == 0


def test_the_whole_group_is_notified(server: RedisServer, lock_name: str, tmp_path: Path) -> None:
    text = f"(trap 'echo grandchild; exit 0' TERM; touch {tmp_path}/up; {UNTIL_END}) & wait"
    holder = start_holder(server, lock_name, tmp_path, text=text, trap="trap 'wait; exit 3' TERM")
    wait_until((tmp_path / "up").exists, TIMEOUT, "the grandchild")
    assert os.getpgid(pid_of(tmp_path)) == pid_of(tmp_path) != os.getpgid(holder.pid)
    holder.terminate()
    assert holder.communicate(timeout=10)[0] == "grandchild\n"
    assert holder.returncode == 3


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGQUIT, -signal.SIGQUIT), (signal.SIGTERM, 143)]
)
def test_a_signal_ends_the_wait(
    server: RedisServer, peer: RedissonShapedPeer, lock_name: str, number: signal.Signals, status: int
) -> None:
    peer.lock(lock_name)
    waiting = start(server, "run", lock_name, "--", "echo", "ran")
    wait_until(lambda: subscribers(server, lock_name) == 1, TIMEOUT, "the command to wait")
    waiting.send_signal(number)
    signalled = time.monotonic()
    assert waiting.communicate(timeout=10)[0] == ""
    assert waiting.returncode == status and time.monotonic() - signalled < RECHECK
    assert list(fields(server, lock_name)) == [peer.owner().encode()]


def test_killed_it_takes_the_command_with_it(server: RedisServer, lock_name: str, tmp_path: Path) -> None:
    holder = start_holder(server, lock_name, tmp_path)
    holder.kill()
    holder.wait(10)
    wait_until(lambda: not is_alive(pid_of(tmp_path)), message="CMD to end")


@pytest.mark.parametrize("name", ["INT", "QUIT"])
def test_keys_that_end_the_command_end_redlatch_too(
    server: RedisServer, lock_name: str, tmp_path: Path, name: str
) -> None:
    """A shell ends a loop or script only if its child was ended by the signal itself."""
    holder = start_holder(server, lock_name, tmp_path, trap=f"trap - {name}")
    holder.send_signal(getattr(signal, f"SIG{name}"))
    holder.communicate(timeout=10)
    assert holder.returncode == -getattr(signal, f"SIG{name}") and server.admin.exists(lock_name) == 0


def test_an_ignored_key_ends_only_the_command(server: RedisServer, lock_name: str) -> None:
    child = "import os, signal; signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGINT)"
    text = f"trap '' INT; {program()} run {lock_name} -- {sys.executable} -c '{child}'; echo $?"
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, env=environment(server), timeout=30,
                          check=False)
    assert (done.returncode, done.stdout) == (0, "130\n")


def test_what_comes_before_the_command_is_not_kept_for_it(
    server: RedisServer, peer: RedissonShapedPeer, lock_name: str
) -> None:
    peer.lock(lock_name)
    waiting = start(server, "run", lock_name, "--", "sh", "-c", "sleep 0.2; echo ran")
    wait_until(lambda: subscribers(server, lock_name) == 1, TIMEOUT, "the command to wait")
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT):
        waiting.send_signal(number)
    wait_until(lambda: not pending_signals(waiting.pid), message="the signals to be taken")
    peer.unlock(lock_name)
    assert waiting.communicate(timeout=10)[0] == "ran\n" and waiting.returncode == 0


def full_pipe() -> Tuple[int, int]:
    """Returns a pipe that is full: its reading and its writing end."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, bytes(4096))
    with suppress(BlockingIOError):
        while True:
            os.write(writing, bytes(1))
    os.set_blocking(writing, True)
    return reading, writing


def writes_messages(pid: int) -> bool:
    """Returns whether a process is in a system call about its standard error."""
    words = Path(f"/proc/{pid}/syscall").read_text(encoding="utf-8").split()
    return len(words) > 1 and words[1] == "0x2"


def test_a_signal_between_the_grant_and_the_command_gives_the_lock_back(
    server: RedisServer, lock_name: str
) -> None:
    """At that point `run` prints how long it waited, and is held up there, since nobody reads the message at first."""
    reading, writing = full_pipe()
    waiting = subprocess.Popen(
        [program(), "run", "--verbose", lock_name, "--", "echo", "ran"],
        text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=writing, env=environment(server),
    )
    os.close(writing)
    wait_until(lambda: writes_messages(waiting.pid), TIMEOUT, "it to speak of the grant")
    assert fields(server, lock_name)
    waiting.send_signal(signal.SIGTERM)
    with open(reading, "rb") as messages:
        assert b"waited" in messages.read()
    assert waiting.communicate(timeout=10)[0] == "" and waiting.returncode == 143
    assert not fields(server, lock_name)


# ------------------------------------------------------------------------------------------------------------ loss --


def test_a_lost_lock_ends_the_command(server: RedisServer, lock_name: str, tmp_path: Path) -> None:
    holder = start_holder(server, lock_name, tmp_path, "--lease", "1.2")
    server.admin.delete(lock_name)
    out, err = holder.communicate(timeout=10)
    assert (holder.returncode, out) == (STATUS["lost"], "told\n") and lock_name in err
    assert not is_alive(pid_of(tmp_path))


def test_after_the_grace_it_is_killed_with_its_group(server: RedisServer, lock_name: str, tmp_path: Path) -> None:
    text = f"({UNTIL_END}) & echo $!; {UNTIL_END}"
    holder = start_holder(
        server, lock_name, tmp_path, "--lease", "1.2", "--grace", "0.3", text=text, trap="trap '' TERM"
    )
    begun = time.monotonic()
    server.admin.delete(lock_name)
    out, _ = holder.communicate(timeout=10)
    assert holder.returncode == STATUS["lost"] and time.monotonic() - begun >= 0.3
    assert not is_alive(pid_of(tmp_path))
    wait_until(lambda: not is_alive(int(out)), message="the other process of the group to end")


def test_who_outlives_the_command_in_its_group_is_killed_after_the_grace(
    server: RedisServer, lock_name: str, tmp_path: Path
) -> None:
    text = f"(trap '' TERM; {UNTIL_END}) >/dev/null 2>&1 & echo $!; wait"
    holder = start_holder(server, lock_name, tmp_path, "--lease", "1.2", "--grace", "0.3", text=text)
    server.admin.delete(lock_name)
    out, _ = holder.communicate(timeout=10)
    other, notified = out.split()
    try:
        assert (holder.returncode, notified) == (STATUS["lost"], "told")
        wait_until(lambda: not is_alive(int(other)), message="the other process of the group to end")
    finally:
        with suppress(ProcessLookupError):
            os.kill(int(other), signal.SIGKILL)


def test_a_stopped_command_is_notified(server: RedisServer, lock_name: str, tmp_path: Path) -> None:
    holder = start_holder(server, lock_name, tmp_path, "--lease", "1.2")
    os.kill(pid_of(tmp_path), signal.SIGSTOP)
    wait_until(lambda: is_stopped(pid_of(tmp_path)))
    server.admin.delete(lock_name)
    out, _ = holder.communicate(timeout=20)
    assert (holder.returncode, out) == (STATUS["lost"], "told\n")


def test_stopped_beyond_its_lease_it_ends_the_command_when_it_wakes(
    server: RedisServer, peer: RedissonShapedPeer, lock_name: str, tmp_path: Path
) -> None:
    holder = start_holder(server, lock_name, tmp_path, "--lease", "0.9")
    holder.send_signal(signal.SIGSTOP)
    peer.lock(lock_name)
    assert is_alive(pid_of(tmp_path)), "nobody could tell it"
    holder.send_signal(signal.SIGCONT)
    out, _ = holder.communicate(timeout=10)
    assert (holder.returncode, out) == (STATUS["lost"], "told\n")
    assert list(fields(server, lock_name)) == [peer.owner().encode()], "another's hold is not touched"


def test_max_hold_ends_the_command(server: RedisServer, lock_name: str, tmp_path: Path) -> None:
    """The time is long enough for CMD to set its trap on a slow machine."""
    begun = time.monotonic()
    holder = start_holder(server, lock_name, tmp_path, "--max-hold", "3")
    out, err = holder.communicate(timeout=10)
    assert (holder.returncode, out) == (STATUS["lost"], "told\n") and "--max-hold" in err
    assert time.monotonic() - begun >= 3


def test_a_server_that_goes_away_ends_the_command(fresh_server: RedisServer, lock_name: str, tmp_path: Path) -> None:
    holder = start_holder(fresh_server, lock_name, tmp_path, "--lease", "0.9")
    fresh_server.kill()
    out, _ = holder.communicate(timeout=20)
    assert (holder.returncode, out) == (STATUS["lost"], "told\n")


def test_lost_unnoticed_it_is_70_at_the_end(server: RedisServer, lock_name: str, tmp_path: Path) -> None:
    holder = start_holder(
        server, lock_name, tmp_path, text=f"while ! [ -e {tmp_path}/go ]; do sleep 0.02; done"
    )
    server.admin.delete(lock_name)
    (tmp_path / "go").touch()
    _, err = holder.communicate(timeout=10)
    assert holder.returncode == STATUS["lost"]
    lost = "it was lost before its release: the server no longer knows of it"
    assert err == f'redlatch: lost "{lock_name}": {lost}\n'


# ------------------------------------------------------------------------------------------- what a parent passes on --


def test_a_parent_that_blocks_sigchld(server: RedisServer, lock_name: str) -> None:
    blocked = {signal.SIGCHLD}
    done = subprocess.run(
        [program(), "run", lock_name, "--", "sh", "-c", "exit 6"],
        env=environment(server),
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, blocked),
        timeout=10,
        check=False,
    )
    assert done.returncode == 6 and server.admin.exists(lock_name) == 0


def test_a_loss_ends_the_command_though_nobody_reads_our_messages(
    server: RedisServer, lock_name: str, tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    up = tmp_path / "up"
    text = f"exec 2>/dev/null; trap 'echo told >{up}; exit 5' TERM; : >{up}; {UNTIL_END}"
    command = [program(), "run", "--verbose", "--lease", "0.9", lock_name, "--", "sh", "-c", text]
    holder = subprocess.Popen(command, env=environment(server), stderr=writing)
    os.close(writing)
    wait_until(up.exists, TIMEOUT, "the command")
    server.admin.delete(lock_name)
    assert holder.wait(10) == STATUS["lost"]
    assert up.read_text() == "told\n", "it had its grace"


def test_closed_streams_are_not_taken_for_the_connection(
    server: RedisServer, lock_name: str, tmp_path: Path
) -> None:
    probe = tmp_path / "busy_poll"
    probe.write_text(
        "import os, sys\n"
        "open_ones = []\n"
        "for fd in range(3):\n"
        "    try:\n"
        "        os.fstat(fd)\n"
        "        open_ones.append(fd)\n"
        "    except OSError:\n"
        "        pass\n"
        f"open({str(tmp_path / 'open')!r}, 'w').write(repr(open_ones))\n"
        "sys.exit(9)\n"
    )
    run = f"{program()} run --verbose {lock_name} -- {sys.executable} {probe}"
    done = subprocess.run(["sh", "-c", f"{run} <&- >&- 2>&-"], env=environment(server), timeout=30, check=False)
    assert done.returncode == 9
    assert (tmp_path / "open").read_text() == "[]", "CMD finds them as the caller left them"
    assert server.admin.exists(lock_name) == 0


@pytest.mark.parametrize("arguments", [["--version"], ["list"], ["show", "free"], ["run", "--help"]])
def test_a_closed_standard_output_is_an_error(server: RedisServer, arguments: List[str]) -> None:
    command = " ".join([program(), *arguments])
    done = subprocess.run(["sh", "-c", f"{command} <&- >&-"], capture_output=True, text=True, env=environment(server),
                          timeout=30, check=False)
    assert done.returncode == 74 and "standard output" in done.stderr


def test_messages_show_names_of_any_bytes(server: RedisServer, peer: RedissonShapedPeer) -> None:
    name = "red\x1b[31m\nline"
    shown = "red\\x1b[31m\\x0aline"
    done = redlatch(server, "run", "--verbose", name, "--", "true")
    assert done.returncode == 0 and done.stderr.count(shown) == 2 and "\x1b" not in done.stderr
    peer.lock(name)
    done = redlatch(server, "run", "--verbose", "-n", name, "--", "true")
    assert done.returncode == STATUS["not obtained"] and "red" in done.stderr and "\x1b" not in done.stderr
    gone = redlatch(server, "run", "other", "--", "/no\x1bsuch")
    assert gone.returncode == 127 and "/no\\x1bsuch" in gone.stderr
    peer.unlock(name)


def test_too_few_descriptors_are_no_fault_of_the_command(server: RedisServer, lock_name: str) -> None:
    outcomes = []
    for limit in range(5, 40):
        run = f"ulimit -n {limit}; exec {program()} run {lock_name} -- true"
        done = subprocess.run(["sh", "-c", run], capture_output=True, env=environment(server), timeout=30, check=False)
        outcomes.append(done.returncode)
        assert server.admin.exists(lock_name) == 0
    assert set(outcomes) == {STATUS["system"], 0} and outcomes == sorted(outcomes, reverse=True), outcomes

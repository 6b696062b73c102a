# SPDX-License-Identifier: Apache-2.0
"""`redlatch run NAME NAME NAME -- CMD`: all of several locks, or none."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Iterator, List

import pytest
import redlatch as library
from support import RedisServer, RedissonShapedPeer, wait_until
from support.shell import TIMEOUT, is_alive, pid_of, program, redlatch, script_of, start, wait_running
from support.wire import channel, fields, is_owner, subscribers

PRINT_VARIABLES = 'echo "$REDLATCH_LOCK"; echo "$REDLATCH_OWNER"; echo "${REDLATCH_TOKEN-none}"'


@pytest.fixture
def several(lock_name: str) -> List[str]:
    """Three names, not sorted."""
    return [f"{lock_name}:{letter}" for letter in "bca"]


@pytest.fixture
def client(server: RedisServer) -> Iterator[library.Client]:
    with library.connect(server.url) as opened:
        yield opened


def test_the_command_sees_all_of_them(server: RedisServer, several: List[str]) -> None:
    """Each variable has one line for each name. Each name has an owner of its own, which `show` knows."""
    show = f'{program()} show --owner "$(echo "$REDLATCH_OWNER" | sed -n 2p)" {several[1]}'
    command = f"{PRINT_VARIABLES}; {show} >/dev/null; echo $?"
    done = redlatch(server, "run", *several, "--", "sh", "-c", command, REDLATCH_TOKEN="9")
    lines = done.stdout.splitlines()
    assert (done.returncode, lines[:3], lines[6:]) == (0, several, ["none", "0"])
    assert all(is_owner(owner.encode()) for owner in lines[3:6]) and len(set(lines[3:6])) == 3
    assert not server.admin.exists(*several)


def test_tokens_of_fenced_locks(server: RedisServer, several: List[str]) -> None:
    server.admin.set(f"redisson_lock_token:{{{several[2]}}}", 41)
    done = redlatch(server, "run", "--kind", "fenced", *several, "--", "sh", "-c", PRINT_VARIABLES)
    assert done.returncode == 0 and done.stdout.splitlines()[6:] == ["1", "1", "42"]


def test_whoever_holds_one_of_them_keeps_it_out(
    server: RedisServer, peer: RedissonShapedPeer, several: List[str]
) -> None:
    peer.lock(several[1])
    assert redlatch(server, "run", "-n", *several, "--", "true").returncode == 1
    begun = time.monotonic()
    assert redlatch(server, "run", "-w", "0.6", *several, "--", "true").returncode == 1
    assert time.monotonic() - begun >= 0.6
    assert not server.admin.exists(several[0], several[2]), "nothing is held while it waits"
    waiting = start(server, "run", *several, "--", "echo", "ran")
    wait_until(lambda: subscribers(server, several[1]) == 1, TIMEOUT, "the command to wait")
    peer.unlock(several[1])
    assert waiting.communicate(timeout=10)[0] == "ran\n" and waiting.returncode == 0


def test_it_keeps_out_whoever_wants_one_of_them(
    server: RedisServer, peer: RedissonShapedPeer, client: library.Client, several: List[str], tmp_path: Path
) -> None:
    end = f"while ! [ -e {tmp_path}/go ]; do sleep 0.02; done"
    holder = start(server, "run", *several, "--", "sh", "-c", script_of(tmp_path, end))
    wait_running(tmp_path)
    assert not peer.try_lock(several[0]) and not client.lock(several[1]).acquire(blocking=False)
    assert redlatch(server, "run", "-n", several[2], "--", "true").returncode == 1
    (tmp_path / "go").touch()
    assert holder.wait(10) == 0
    holder.communicate()
    assert not server.admin.exists(*several)


def test_one_lost_is_all_lost(server: RedisServer, several: List[str], tmp_path: Path) -> None:
    text = script_of(tmp_path, "sleep 60 & wait", "trap 'exit 5' TERM")
    holder = start(server, "run", "--lease", "1.2", *several, "--", "sh", "-c", text)
    wait_running(tmp_path)
    server.admin.delete(several[1])
    _, reported = holder.communicate(timeout=10)
    assert holder.returncode == 70 and all(f'"{name}"' in reported for name in several)
    assert not is_alive(pid_of(tmp_path))
    assert not server.admin.exists(*several), "what was left of it was given back"


def test_opposite_orders_do_not_stall_each_other(server: RedisServer, several: List[str], tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0\n")
    add = f"read -r n <{counter}; echo $((n + 1)) >{counter}"
    loop = f"i=0; while [ $i -lt 5 ]; do {program()} run $NAMES -- sh -c '{add}' || exit 1; i=$((i + 1)); done"
    orders = [several, several[::-1], several[1:], several[:0:-1]]
    loops = [start(server, "run", f"{names[0]}:{turn}", "--", "sh", "-c", f"NAMES='{' '.join(names)}'; {loop}")
             for turn, names in enumerate(orders)]
    assert [one.communicate(timeout=60)[1] for one in loops] == [""] * 4
    assert counter.read_text() == "20\n"


def test_at_least_keeps_all_of_them(server: RedisServer, several: List[str]) -> None:
    assert redlatch(server, "run", "--at-least", "60", *several, "--", "true").returncode == 0
    assert all(30_000 < server.admin.pttl(name) <= 60_000 for name in several)  # type: ignore[operator]
    assert redlatch(server, "unlock", "--force", several[0]).returncode == 0
    assert fields(server, several[1])


def test_each_of_them_is_reported(server: RedisServer, several: List[str]) -> None:
    listener: Any = server.client().pubsub()
    listener.subscribe(*map(channel, several))
    for _ in several:
        wait_until(lambda: listener.get_message(timeout=0.1), message="the subscription")
    assert redlatch(server, "run", *several, "--", "true").returncode == 0
    notified = {wait_until(lambda: listener.get_message(timeout=0.1), message="a message")["channel"] for _ in several}
    assert notified == {channel(name).encode() for name in several}


@pytest.mark.parametrize(
    ("options", "form"),
    [
        (["--kind", "spin"], "mutex"),
        (["--kind", "plain", "--key-template", "{name}:x"], "plain"),
        (["--shared"], "read_write"),
        (["--kind", "write"], "read_write"),
    ],
)
def test_several_of_a_kind(server: RedisServer, several: List[str], options: List[str], form: str) -> None:
    inner = f"{program()} run -n {' '.join(options)}"
    rechecks = f'for name in "$@"; do {inner} $name -- true; echo $?; done; {program()} list'
    done = redlatch(server, "run", *options, *several, "--", "sh", "-c", rechecks, "sh", *several)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[:3] == ["0" if "--shared" in options else "1"] * 3
    assert [line.split()[1] for line in lines[4:]] == [form] * 3
    assert server.admin.dbsize() == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a", "b", "a", "--", "true"], "twice"),
        (["a", "", "--", "true"], "empty"),
        (["a", "b", "--"], "expected a command"),
        (["a", "-n", "--", "true"], "-n among the names"),
        (["--kind", "fair", "a", "b", "--", "true"], "2 names with --kind fair: expected one"),
        ([*map(str, range(101)), "--", "true"], "101 names: expected at most 100"),
        (["--", "true"], "no name before --"),
        (["--kind", "semaphore", "a", "b", "--", "true"], "2 names with --kind semaphore"),
        (["--kind", "permit-semaphore", "a", "b", "--", "true"], "2 names with --kind permit-semaphore: expected one"),
    ],
)
def test_misuse(server: RedisServer, arguments: List[str], words: str) -> None:
    done = redlatch(server, "run", *arguments)
    assert done.returncode == 64 and words in done.stderr and not done.stdout


def test_dashes_may_be_left_out_behind_one_name(server: RedisServer, lock_name: str) -> None:
    """They are needed where the words may be names: `run NAME git checkout -- FILE` must not lock three names and run
    FILE."""
    done = redlatch(server, "run", lock_name, "echo", "two", "words")
    assert (done.returncode, done.stdout) == (0, "two words\n")
    done = redlatch(server, "run", lock_name, "sh", "-c", "echo $REDLATCH_LOCK")
    assert (done.returncode, done.stdout) == (0, f"{lock_name}\n"), "options of the command are its own"
    for words in (["stock", "orders"], ["stock", "orders", "echo"], [lock_name, "./nothing"], ["-n", lock_name]):
        refused = redlatch(server, "run", *words)
        assert (refused.returncode, refused.stdout) == (64, "") and "-- CMD" in refused.stderr
    for empty in (["", "echo", "x"], ["echo", "x"]):  # from an empty variable, quoted or not
        assert redlatch(server, "run", *empty).returncode == 64
    assert server.admin.dbsize() == 0


def test_names_and_command_are_parted_by_dashes(server: RedisServer, lock_name: str) -> None:
    done = redlatch(server, "run", lock_name, "--", "echo", "a", "--", "b")
    assert (done.returncode, done.stdout) == (0, "a -- b\n"), "those behind the first are the command's"
    done = redlatch(server, "run", lock_name, "echo", "--", "sh", "-c", 'echo "$REDLATCH_LOCK"')
    assert (done.returncode, done.stdout) == (0, f"{lock_name}\necho\n"), "several names, one of them a program's"
    done = redlatch(server, "run", lock_name, "echo", "a", "--", "b")
    assert (done.returncode, done.stdout) == (64, "")

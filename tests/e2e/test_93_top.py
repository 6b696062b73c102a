# SPDX-License-Identifier: Apache-2.0
"""`redlatch top` on a terminal: locks, holders, waiters, and how often locks change hands. tmux is the terminal."""

from __future__ import annotations

import os
import re
import threading
import time
from pathlib import Path
from typing import Any, Callable, Iterator, List

import pytest
import redlatch as library
from forms import UUID, put_every_form, put_hash
from support import Monitor, RedisServer, wait_until
from support.shell import TIMEOUT, program, redlatch, start, start_holder
from terminal import Terminal


@pytest.fixture
def terminal(server: RedisServer) -> Iterator[Terminal]:
    """A terminal with a shell."""
    opened = Terminal(server)
    yield opened
    opened.close()


def begin(terminal: Terminal, *arguments: str) -> None:
    """Starts `top`, and waits for its first screen."""
    terminal.enter(f"{program()} top -d 200ms {' '.join(arguments)}; echo status $?")
    wait_until(lambda: "redlatch top  redis://" in terminal.screen(), TIMEOUT, "the first screen")


def finish(terminal: Terminal) -> None:
    """Ends `top` by its key and waits for its end. Killed with its terminal it would print nothing."""
    terminal.keys("q")
    terminal.shows("status 0")


def row(terminal: Terminal, name: str) -> List[str]:
    """Returns the cells of a lock on the screen, or an empty list if it is not there."""
    for line in terminal.screen().splitlines():
        if line.startswith(f"{name} "):
            return re.split(r"  +", line.strip())
    return []


def wait_row(terminal: Terminal, name: str, good: Callable[[List[str]], bool]) -> None:
    """Waits until `good` is true of the cells of a row."""
    wait_until(lambda: good(row(terminal, name)), TIMEOUT, lambda: f"{name} on:\n{terminal.screen()}")


def test_locks_come_and_go(server: RedisServer, terminal: Terminal, tmp_path: Path) -> None:
    begin(terminal)
    wait_until(lambda: "0 locks, 0 held; the server carries out" in terminal.screen(), TIMEOUT, "no locks")
    holder = start_holder(server, "deploy", tmp_path)
    wait_row(terminal, "deploy", lambda cells: len(cells) == 8 and cells[1] == "mutex"
             and cells[3].endswith(f":{holder.pid}") and os.uname().nodename.startswith(cells[3].split(":")[0])
             and cells[4] == "1" and cells[6] == "-")
    waiter = start(server, "run", "deploy", "--", "true")
    wait_row(terminal, "deploy", lambda cells: cells[6] == "1")
    holder.terminate()
    holder.communicate(timeout=20)
    waiter.communicate(timeout=20)
    wait_until(lambda: not row(terminal, "deploy"), TIMEOUT, terminal.screen)
    finish(terminal)
    assert "redlatch top  redis://" not in terminal.screen(), "the screen is as it was before"
    terminal.enter("echo ty''ped")
    terminal.shows("typed")


def test_every_kind(server: RedisServer, terminal: Terminal) -> None:
    expected = put_every_form(server)
    begin(terminal)
    for name, kind in expected.items():
        wait_row(terminal, name, lambda cells, kind=kind: cells[1:2] == [kind])  # type: ignore[misc]
    assert row(terminal, "reading")[2].startswith("2 holders, ")
    assert row(terminal, "{t}:fair")[6] == "2", "those in its queue"
    terminal.keys("C-c")
    terminal.shows("status 130")


def test_a_pattern_and_a_prefix(server: RedisServer, terminal: Terminal) -> None:
    for name in ("app:one", "app:two", "one"):
        put_hash(server, name, {f"{UUID}:1": 1})
    begin(terminal, "--prefix", "app:", "'o*'")
    wait_row(terminal, "one", lambda cells: cells[1:2] == ["mutex"])
    assert "1 locks, 1 held" in terminal.screen() and not row(terminal, "two")
    terminal.keys("\u00e9")  # means nothing, and does not end it
    put_hash(server, "app:other", {f"{UUID}:1": 1})
    wait_row(terminal, "other", lambda cells: len(cells) == 8)
    finish(terminal)


def test_samples_are_of_keys_with_the_prefix(server: RedisServer, terminal: Terminal) -> None:
    """Among so many keys a report is rare. A sample of a wrong key would show the lock as free for a long time."""
    server.admin.eval("for i = 1, 20000 do redis.call('set', 'key:' .. i, 'x') end", 0)
    put_hash(server, "app:one", {f"{UUID}:1": 1})
    begin(terminal, "--prefix", "app:")
    wait_row(terminal, "one", lambda cells: len(cells) == 8)
    shown = []
    for _ in range(40):  # over several refreshes
        shown.append(row(terminal, "one")[2])
        time.sleep(0.05)
    assert all(owner.startswith(UUID[:8]) for owner in shown), shown
    finish(terminal)


@pytest.mark.parametrize("kind", ["lock", "fenced_lock"])
def test_hand_overs_are_counted(server: RedisServer, terminal: Terminal, kind: str) -> None:
    """Locks that change hands are listed first. Two clients take turns."""
    put_hash(server, "a:quiet", {f"{UUID}:1": 1})
    over = threading.Event()

    def take_turns() -> None:
        with library.connect(server.url) as client:
            lock = getattr(client, kind)("z:busy")
            while not over.is_set():
                with lock:
                    over.wait(0.02)

    turns = [threading.Thread(target=take_turns) for _ in range(2)]
    for turn in turns:
        turn.start()
    try:
        begin(terminal)
        least = 3.0 if kind == "lock" else 10.0  # tokens also show hand-overs between two samples
        wait_row(terminal, "z:busy", lambda cells: len(cells) == 8 and float(cells[7]) >= least)
        lines = terminal.screen().splitlines()
        assert lines[3].startswith("z:busy ") and lines[4].startswith("a:quiet ")
        assert row(terminal, "a:quiet")[7] == "0.0"
    finally:
        over.set()
        for turn in turns:
            turn.join()
    put_hash(server, "z:busy", {f"{UUID}:1": 1})
    rates: List[float] = []

    def slows(cells: List[str]) -> bool:
        rates.extend(map(float, cells[7:]))
        return bool(rates) and rates[-1] < 0.7 * rates[0]

    wait_row(terminal, "z:busy", slows)
    assert min(rates) >= 0, "an average comes down slowly, and not below nothing"
    finish(terminal)


def test_a_sample_shows_the_host_of_a_new_holder(server: RedisServer, terminal: Terminal) -> None:
    """Among so many keys a report of the lock is rare: the screen shows the samples in between."""
    server.admin.eval("for i = 1, 20000 do redis.call('set', 'key:' .. i, 'x') end", 0)
    shown: List[List[str]] = []

    def changes() -> int:
        cells = row(terminal, "lock")
        shown.extend([cells] if len(cells) == 8 else [])
        return sum(before[2] != after[2] for before, after in zip(shown, shown[1:]))

    with library.connect(server.url) as one, library.connect(server.url) as other:
        owners = [f"{client.uuid}:1" for client in (one, other)]
        put_hash(server, "lock", {owners[0]: 1})
        begin(terminal)
        wait_row(terminal, "lock", lambda cells: len(cells) == 8)
        over = threading.Event()

        def take_turns() -> None:
            while not over.wait(0.03):
                owners.reverse()
                server.admin.eval("""redis.call('hdel', KEYS[1], ARGV[1])
                    redis.call('hset', KEYS[1], ARGV[2], 1)""", 1, "lock", *owners)

        turn = threading.Thread(target=take_turns)
        turn.start()
        try:
            wait_until(lambda: changes() >= 4, TIMEOUT, "holders to change on the screen")
        finally:
            over.set()
            turn.join()
        finish(terminal)
    assert all(cells[3].endswith(f":{os.getpid()}") for cells in shown), shown


def test_a_lock_that_was_released_has_no_holder(server: RedisServer, terminal: Terminal) -> None:
    """Among so many keys no report comes in between. The row of the next lock in a sample is not its holder."""
    server.admin.eval("for i = 1, 20000 do redis.call('set', 'key:' .. i, 'x') end", 0)
    put_hash(server, "a", {f"{UUID}:1": 1})
    put_hash(server, "b", {f"{UUID}:2": 1})
    begin(terminal)
    wait_row(terminal, "b", lambda cells: len(cells) == 8)
    wait_row(terminal, "a", lambda cells: len(cells) == 8)
    server.admin.delete("a")
    shown: List[List[str]] = []

    def is_gone() -> bool:
        cells = row(terminal, "a")
        shown.extend([cells] if len(cells) == 8 else [])
        return not cells

    wait_until(is_gone, TIMEOUT, "the end of the walk over the keys")
    assert all(cells[2][:8] in ("-", UUID[:8]) and cells[7] == "0.0" for cells in shown), shown
    finish(terminal)


def test_a_refresh_comes_when_it_is_due(server: RedisServer, terminal: Terminal, monitor: Monitor) -> None:
    """It does not come with the next sample after it is due: samples are 100 ms apart."""
    put_hash(server, "lock", {f"{UUID}:1": 1})
    begin(terminal, "-d", "150ms")

    def refreshes() -> List[int]:
        return [entry.time_us for entry in monitor.since() if entry.arguments == [b"INFO", b"stats"]]

    wait_until(lambda: len(refreshes()) >= 15, TIMEOUT, "refreshes")
    times = refreshes()
    assert min(after - before for before, after in zip(times, times[1:])) < 190_000
    finish(terminal)


def test_a_narrow_terminal_cuts_ids(server: RedisServer, terminal: Terminal) -> None:
    put_hash(server, "deploy:shop:production", {f"{UUID}:1": 1})
    terminal.resize(130, 10)
    begin(terminal)
    wait_row(terminal, "deploy:shop:production", lambda cells: cells[2:3] == [f"{UUID}:1"])
    terminal.resize(80, 10)
    wait_row(terminal, "deploy:shop:production", lambda cells: len(cells) == 8 and "..." in cells[2])
    assert max(map(len, terminal.screen().splitlines())) <= 80
    terminal.resize(70, 10)
    wait_until(lambda: "HOLDER" not in terminal.screen(), TIMEOUT, terminal.screen)
    assert row(terminal, "deploy:shop:production")[-1] == "0.0", "what is left fits, and the name is whole"
    finish(terminal)


def test_more_locks_than_rows_and_more_keys_than_one_refresh(server: RedisServer, terminal: Terminal) -> None:
    server.admin.eval("""
        for i = 1, 100 do redis.call('hset', 'lock:' .. i, ARGV[1] .. ':' .. i, 1) end
        for i = 1, 20000 do redis.call('set', 'key:' .. i, 'x') end""", 0, UUID)
    begin(terminal)
    wait_until(lambda: "100 locks, 100 held;" in terminal.screen(), TIMEOUT, terminal.screen)
    assert len(terminal.screen().rstrip("\n").splitlines()) <= 30
    server.admin.delete("lock:7")
    wait_until(lambda: "99 locks, 99 held" in terminal.screen(), TIMEOUT, terminal.screen)
    finish(terminal)


def test_a_server_that_goes_and_comes(fresh_server: RedisServer) -> None:
    terminal = Terminal(fresh_server)
    try:
        begin(terminal)
        fresh_server.kill()
        wait_until(lambda: "0 locks, 0 held" not in terminal.screen(), TIMEOUT, "the failure to be shown")
        assert "redlatch top  redis://" in terminal.screen()
        fresh_server.start()
        put_hash(fresh_server, "again", {f"{UUID}:1": 1})
        wait_row(terminal, "again", lambda cells: cells[1:2] == ["mutex"])
        finish(terminal)
    finally:
        terminal.close()


def test_a_failed_scan_says_why(server: RedisServer, terminal: Terminal) -> None:
    admin: Any = server.admin
    admin.execute_command("ACL", "SETUSER", "viewer", "reset", "on", ">secret", "~*", "+@all", "-eval", "-evalsha")
    begin(terminal, "-u", f"redis://viewer:secret@127.0.0.1:{server.port}")
    wait_until(lambda: "NOPERM" in terminal.screen(), TIMEOUT, terminal.screen)
    finish(terminal)


def test_no_terminal(server: RedisServer) -> None:
    done = redlatch(server, "top")
    assert (done.returncode, done.stdout) == (64, "") and "expected one; redlatch list --json" in done.stderr
    assert redlatch(server, "top", "a", "b").returncode == 64
    assert "-d is '1ms'" in redlatch(server, "top", "-d", "1ms").stderr

# SPDX-License-Identifier: Apache-2.0
"""`redlatch run --kind semaphore` and `permit-semaphore`: as many commands run at once as there are permits."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any, Iterator, List

import pytest
import redlatch as library
from support import Proxy, RedisServer, wait_until
from support.shell import (
    ON_TERM,
    TIMEOUT,
    UNTIL_END,
    is_alive,
    pid_of,
    program,
    redlatch,
    script_of,
    start,
    wait_running,
)
from support.wire import SCRIPTS

KINDS = ["semaphore", "permit-semaphore"]
NO_LEASE = "{} with --kind semaphore, whose permits have no lease: expected permit-semaphore"
RECHECK = 'echo "$REDLATCH_LOCK ${REDLATCH_OWNER-none} ${REDLATCH_TOKEN-none}"'


@pytest.fixture
def client(server: RedisServer) -> Iterator[library.Client]:
    with library.connect(server.url) as opened:
        yield opened


def left(client: library.Client, kind: str, name: str) -> int:
    """Returns how many permits are available."""
    made = client.semaphore(name) if kind == "semaphore" else client.permit_semaphore(name)
    return made.available()


def notified_on(server: RedisServer, name: str) -> int:
    """Returns how many connections are subscribed to the channel of permits."""
    answer: Any = server.admin.pubsub_numsub(f"redisson_sc:{{{name}}}")
    return int(answer[0][1])


def test_a_limit_that_is_not_that_of_the_semaphore(server: RedisServer, lock_name: str) -> None:
    """The command warns: who lowers the limit in a script would wonder why as many commands run as before."""
    for kind, words in (("semaphore", "at least 5 permits, more than 3"), ("permit-semaphore", "5 permits, not 3")):
        name = f"{lock_name}:{kind}"
        run = ["run", "--kind", kind, "--limit"]
        assert redlatch(server, *run, 5, name, "--", "true").stderr == ""
        done = redlatch(server, *run, 3, name, "--", "echo", "ran")
        assert (done.returncode, done.stdout) == (0, "ran\n")
        assert done.stderr == f'redlatch: "{name}" has {words}: --limit makes a semaphore only where there is none\n'
        assert redlatch(server, *run, 5, name, "--", "true").stderr == ""


@pytest.mark.parametrize("kind", KINDS)
def test_permits_are_taken_while_the_command_runs(
    server: RedisServer, client: library.Client, lock_name: str, kind: str
) -> None:
    inner = f"{program()} run -n --kind {kind}"
    text = (f"{inner} --permits 2 {lock_name} -- true; echo $?; {inner} {lock_name} -- echo beside"
            f"; {inner} --limit 9 {lock_name} -- {inner} {lock_name} -- true; echo $?")
    done = redlatch(server, "run", "--kind", kind, "--limit", "2", lock_name, "--", "sh", "-c", text)
    assert (done.returncode, done.stdout.split()) == (0, ["1", "beside", "1"]), "a limit is only for the first"
    assert left(client, kind, lock_name) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_several_at_once_and_whoever_waits_is_woken(
    server: RedisServer, client: library.Client, lock_name: str, tmp_path: Path, kind: str
) -> None:
    end = f"while ! [ -e {tmp_path}/go ]; do sleep 0.02; done"
    command = ["--kind", kind, "--limit", "3", "--permits", "2", lock_name, "--", "sh", "-c", script_of(tmp_path, end)]
    holder = start(server, "run", *command)
    wait_running(tmp_path)
    assert left(client, kind, lock_name) == 1
    waiting = start(server, "run", "--kind", kind, "--permits", "2", lock_name, "--", "echo", "ran")
    wait_until(lambda: notified_on(server, lock_name) == 1, TIMEOUT, "the other to wait")
    (tmp_path / "go").touch()
    released = time.monotonic()
    assert waiting.communicate(timeout=10)[0] == "ran\n" and time.monotonic() - released < 4.0, "a message woke it"
    assert (holder.wait(10), waiting.returncode, left(client, kind, lock_name)) == (0, 0, 3)
    holder.communicate()


@pytest.mark.parametrize("kind", KINDS)
def test_one_that_nobody_has_made_is_not_waited_for(server: RedisServer, lock_name: str, kind: str) -> None:
    done = redlatch(server, "run", "--kind", kind, lock_name, "--", "true")
    assert done.returncode == 65 and f'no semaphore "{lock_name}"' in done.stderr
    assert server.admin.exists(lock_name) == 0


def test_what_the_command_sees(server: RedisServer, lock_name: str) -> None:
    options = ["--limit", "2", "--permits", "2", lock_name, "--", "sh", "-c"]
    done = redlatch(server, "run", "--kind", "semaphore", *options, RECHECK, REDLATCH_OWNER="a:1", REDLATCH_TOKEN="9")
    assert done.stdout.split() == [lock_name, "none", "none"]
    server.admin.delete(lock_name)
    shows = f'for id in $REDLATCH_OWNER; do {program()} show --owner "$id" {lock_name} >/dev/null; echo $? $id; done'
    done = redlatch(server, "run", "--kind", "permit-semaphore", *options, shows)
    one, id_of_one, other, id_of_other = done.stdout.split()
    assert (one, other) == ("0", "0") and id_of_one != id_of_other and all(
        len(bytes.fromhex(permit)) == 16 for permit in (id_of_one, id_of_other))


@pytest.mark.parametrize("kind", KINDS)
def test_ended_by_a_signal_it_gives_back(
    server: RedisServer, client: library.Client, lock_name: str, tmp_path: Path, kind: str
) -> None:
    text = script_of(tmp_path, UNTIL_END, ON_TERM)
    holder = start(server, "run", "--kind", kind, "--limit", "1", lock_name, "--", "sh", "-c", text)
    wait_running(tmp_path)
    waiting = start(server, "run", "--kind", kind, lock_name, "--", "echo", "ran")
    wait_until(lambda: notified_on(server, lock_name) == 1, TIMEOUT, "the other to wait")
    waiting.send_signal(signal.SIGTERM)
    assert (waiting.communicate(timeout=10)[0], waiting.returncode) == ("", 143)
    holder.terminate()
    assert (holder.communicate(timeout=10)[0], holder.returncode) == ("told\n", 5)
    assert left(client, kind, lock_name) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_max_hold(server: RedisServer, client: library.Client, lock_name: str, tmp_path: Path, kind: str) -> None:
    begun = time.monotonic()
    text = script_of(tmp_path, UNTIL_END, ON_TERM)
    options = ["--kind", kind, "--limit", "1", "--max-hold", "1"]
    done = redlatch(server, "run", *options, lock_name, "--", "sh", "-c", text)
    assert (done.returncode, done.stdout) == (70, "told\n") and "--max-hold" in done.stderr
    assert time.monotonic() - begun >= 1.0 and left(client, kind, lock_name) == 1


def test_a_permit_that_is_lost_ends_the_command(
    server: RedisServer, client: library.Client, lock_name: str, tmp_path: Path
) -> None:
    text = script_of(tmp_path, UNTIL_END, ON_TERM)
    options = ["--kind", "permit-semaphore", "--limit", "2", "--permits", "2", "--lease", "1.2"]
    holder = start(server, "run", *options, lock_name, "--", "sh", "-c", text)
    wait_running(tmp_path)
    slots = client.permit_semaphore(lock_name)
    slots.release(client.inspect(lock_name).parties[0].owner)
    out, reported = holder.communicate(timeout=10)
    assert (holder.returncode, out) == (70, "told\n") and lock_name in reported
    assert not is_alive(pid_of(tmp_path))
    assert slots.available() == 2, "the other one was given back"


def test_a_permit_that_is_lost_unnoticed_is_70_at_the_end(
    server: RedisServer, client: library.Client, lock_name: str, tmp_path: Path
) -> None:
    text = script_of(tmp_path, f"while ! [ -e {tmp_path}/go ]; do sleep 0.02; done")
    options = ["--kind", "permit-semaphore", "--limit", "1"]
    holder = start(server, "run", *options, lock_name, "--", "sh", "-c", text)
    wait_running(tmp_path)
    client.permit_semaphore(lock_name).release(client.inspect(lock_name).parties[0].owner)
    (tmp_path / "go").touch()
    _, reported = holder.communicate(timeout=10)
    lost = "a permit was lost before its release: the server no longer knows of it"
    assert (holder.returncode, reported) == (70, f'redlatch: lost "{lock_name}": {lost}\n')


def test_a_permit_that_is_lost_before_the_command_begins(
    server: RedisServer, proxy: Proxy, client: library.Client, lock_name: str, tmp_path: Path
) -> None:
    """The lease ends while the size of the semaphore is read. The command is not started."""
    slots = client.permit_semaphore(lock_name, limit=3)
    reading = proxy.hold_reply(SCRIPTS["count_permits"])
    options = ["--url", proxy.url, "--kind", "permit-semaphore", "--limit", "3", "--lease", "1"]
    holder = start(server, "run", *options, lock_name, "--", "sh", "-c", script_of(tmp_path, UNTIL_END))
    try:
        reading.wait_hit(TIMEOUT)
        stalled = proxy.stall()
        wait_until(lambda: slots.available() == 3, TIMEOUT, "the end of the lease")
        reading.release()
        stalled.release()
        _, reported = holder.communicate(timeout=10)
    finally:
        holder.kill()
    lost = "its lease ran out without a renewal; sh was not started"
    assert (holder.returncode, reported) == (70, f'redlatch: lost "{lock_name}": {lost}\n')
    assert not (tmp_path / "pid").exists()


def test_permits_of_one_that_was_killed_come_back(
    server: RedisServer, client: library.Client, lock_name: str, tmp_path: Path
) -> None:
    text = script_of(tmp_path, UNTIL_END)
    options = ["--kind", "permit-semaphore", "--limit", "1", "--lease", "0.9"]
    holder = start(server, "run", *options, lock_name, "--", "sh", "-c", text)
    wait_running(tmp_path)
    holder.kill()
    assert redlatch(server, "run", "--kind", "permit-semaphore", lock_name, "--", "true").returncode == 0
    holder.communicate()
    assert client.permit_semaphore(lock_name).available() == 1


def test_the_release_of_many_permits_ends_if_the_server_is_silent(
    server: RedisServer, proxy: Proxy, lock_name: str, tmp_path: Path
) -> None:
    """It waits for the reply to one command, and not for as many replies as there are permits."""
    text = script_of(tmp_path, f"while ! [ -e {tmp_path}/go ]; do sleep 0.02; done; exit 3")
    permits = ["--kind", "permit-semaphore", "--limit", "9", "--permits", "9"]
    url = f"{proxy.url}?command_timeout=1"
    holder = start(server, "run", "--url", url, *permits, lock_name, "--", "sh", "-c", text)
    try:
        wait_running(tmp_path)
        proxy.stall()
        (tmp_path / "go").touch()
        _, reported = holder.communicate(timeout=8)
    finally:
        holder.kill()
    assert (holder.returncode, reported.count("the lock ends with its lease")) == (3, 1)


def test_at_least_leaves_a_permit_to_run_out(
    server: RedisServer, client: library.Client, lock_name: str
) -> None:
    options = ["--kind", "permit-semaphore", "--limit", "1", "--at-least", "60"]
    assert redlatch(server, "run", *options, lock_name, "--", "true").returncode == 0
    slots = client.permit_semaphore(lock_name)
    assert slots.available() == 0
    permit = client.inspect(lock_name).parties[0].owner
    assert 30 < slots.lease_of(permit) <= 60
    slots.release(permit)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--permits", "2"], "--permits with --kind mutex: expected --kind semaphore or permit-semaphore"),
        (["--limit", "2", "--kind", "fair"], "--limit with --kind fair: expected --kind semaphore or permit-semaphore"),
        (["--kind", "semaphore", "--permits", "0"], "--permits is '0': expected a number from 1 to 2147483647"),
        (
            ["--kind", "semaphore", "--permits", "3", "--limit", "2"],
            "--permits is 3, --limit 2: expected the first to be no more than the second",
        ),
        (["--kind", "semaphore", "--at-least", "1"], NO_LEASE.format("--at-least")),
        (["--kind", "semaphore", "--lease", "1"], NO_LEASE.format("--lease")),
        (
            ["--kind", "semaphore", "--key-template", "x:{name}"],
            "--key-template with --kind semaphore: expected --kind plain",
        ),
        (
            ["--kind", "permit-semaphore", "--permits", "1001"],
            "--permits is 1001: expected 1 to 1000 with --kind permit-semaphore",
        ),
    ],
)
def test_misuse(server: RedisServer, lock_name: str, options: List[str], words: str) -> None:
    done = redlatch(server, "run", *options, lock_name, "--", "true")
    assert (done.returncode, done.stderr) == (64, f"redlatch: {words}\n")
    assert server.admin.exists(lock_name) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_none_is_left_as_it_is(server: RedisServer, lock_name: str, kind: str) -> None:
    server.admin.rpush(lock_name, "a")
    done = redlatch(server, "run", "--kind", kind, "--limit", "1", lock_name, "--", "true")
    assert done.returncode == 65 and done.stderr and server.admin.lrange(lock_name, 0, -1) == [b"a"]

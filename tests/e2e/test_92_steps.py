# SPDX-License-Identifier: Apache-2.0
"""`redlatch acquire`, `extend` and `release`: a lock that is held from one step of a job to another."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Any, List

import pytest
import redlatch as library
from forms import UUID, put_every_form, put_hash
from support import Proxy, RedisServer, RedissonShapedPeer, closed_port, wait_until
from support.shell import TIMEOUT, environment, program, redlatch, start
from support.wire import channel, is_owner, remaining_ms, subscribers

KINDS = ["mutex", "fenced", "fair", "spin", "plain", "read", "write", "permit-semaphore"]
LOST = 70


def acquire(server: RedisServer, name: str, *options: object) -> str:
    """Acquires a name for ten minutes and returns the id that was printed."""
    done = redlatch(server, "acquire", name, "--lease", "10m", *options)
    assert done.returncode == 0, done.stderr
    (owner,) = done.stdout.splitlines()
    assert f'"{name}" is held for 10 min; nothing renews it' in done.stderr and owner in done.stderr
    return owner


def options_of(kind: str) -> List[str]:
    """Returns the options of `acquire` for a kind. A semaphore is made with one permit."""
    return ["--kind", kind, *(["--limit", "1"] if kind == "permit-semaphore" else [])]


def lease_ms(server: RedisServer, name: str, kind: str, owner: str) -> int:
    """Returns what is left of the lease."""
    if kind == "permit-semaphore":
        client: Any = server.admin
        seconds, microseconds = client.time()
        ends = client.zscore(f"{{{name}}}:timeout", bytes.fromhex(owner))
        return int(ends) - seconds * 1000 - microseconds // 1000
    return remaining_ms(server, name)


@pytest.mark.parametrize("kind", KINDS)
def test_three_steps(server: RedisServer, lock_name: str, kind: str) -> None:
    options = options_of(kind)
    owner = acquire(server, lock_name, *options)
    assert 590_000 < lease_ms(server, lock_name, kind, owner) <= 600_000
    others = [*options, "-n"] if kind != "read" else ["--kind", "write", "-n"]
    refused = redlatch(server, "acquire", lock_name, "--lease", "1m", *others)
    assert (refused.returncode, refused.stdout) == (1, "") and f"is held by {owner}" in refused.stderr
    extended = redlatch(server, "extend", lock_name, "--owner", owner, "--lease", "1h")
    assert (extended.returncode, extended.stdout, extended.stderr) == (0, "", "")
    assert 3_590_000 < lease_ms(server, lock_name, kind, owner) <= 3_600_000
    assert redlatch(server, "extend", lock_name, "--owner", owner, "--lease", "20s").returncode == 0
    assert lease_ms(server, lock_name, kind, owner) <= 20_000, "a lease can be shortened"
    released = redlatch(server, "release", lock_name, "--owner", owner)
    assert (released.returncode, released.stdout, released.stderr) == (0, "", "")
    assert redlatch(server, "run", "-n", *options, lock_name, "--", "true").returncode == 0
    for step in (["release"], ["extend", "--lease", "1m"]):
        late = redlatch(server, *step, lock_name, "--owner", owner)
        assert late.returncode == LOST and late.stderr == f'redlatch: lost "{lock_name}": {owner} does not hold it; ' \
            "it is free\n"


@pytest.mark.parametrize("kind", KINDS)
def test_the_lock_of_another_is_left_alone(server: RedisServer, lock_name: str, kind: str) -> None:
    first = acquire(server, lock_name, *options_of(kind))
    redlatch(server, "release", lock_name, "--owner", first)
    second = acquire(server, lock_name, *options_of(kind))
    before = server.admin.dump(lock_name)
    for step in (["release"], ["extend", "--lease", "1h"], ["unlock"]):
        done = redlatch(server, *step, lock_name, "--owner", first)
        assert done.returncode == (3 if step == ["unlock"] else LOST) and second in done.stderr
    assert server.admin.dump(lock_name) == before
    assert lease_ms(server, lock_name, kind, second) <= 600_000


def test_a_release_wakes_those_who_wait(server: RedisServer, peer: RedissonShapedPeer, lock_name: str) -> None:
    owner = acquire(server, lock_name)
    assert not peer.try_lock(lock_name)
    waiter = start(server, "run", lock_name, "--", "echo", "ran")
    wait_until(lambda: subscribers(server, lock_name) == 1, TIMEOUT, "the waiter")
    assert redlatch(server, "release", lock_name, "--owner", owner).returncode == 0
    assert waiter.communicate(timeout=4)[0] == "ran\n", "before it looks again by itself"


def test_a_release_calls_the_head_of_a_fair_queue(server: RedisServer, lock_name: str) -> None:
    owner = acquire(server, lock_name, "--kind", "fair")
    waiter = start(server, "run", "--kind", "fair", lock_name, "--", "echo", "ran")
    wait_until(lambda: server.admin.llen(f"redisson_lock_queue:{{{lock_name}}}") == 1, TIMEOUT, "the waiter's place")
    assert redlatch(server, "release", lock_name, "--owner", owner).returncode == 0
    assert waiter.communicate(timeout=4)[0] == "ran\n"


def test_all_levels_of_a_nested_hold_are_released(server: RedisServer, lock_name: str) -> None:
    with library.connect(server.url) as client:
        lock = client.lock(lock_name)
        assert lock.acquire() and lock.acquire()
        owner = lock.state().owner
        assert redlatch(server, "release", lock_name, "--owner", owner).returncode == 0
        assert server.admin.exists(lock_name) == 0
        with pytest.raises(library.LockLostError):
            lock.release()


def test_one_reader_of_two_leaves(server: RedisServer, lock_name: str) -> None:
    one, other = (acquire(server, lock_name, "--kind", "read") for _ in range(2))
    done = redlatch(server, "unlock", lock_name, "--owner", one)
    assert done.returncode == 0 and done.stdout == f"it was held by {one}, reader, count 1\n"
    assert redlatch(server, "show", lock_name, "--owner", other).returncode == 0
    assert redlatch(server, "show", lock_name, "--owner", one).returncode == 3


def test_an_owner_who_reads_and_writes_leaves_as_a_whole(server: RedisServer, lock_name: str) -> None:
    """Redisson has one id for both modes; in redlatch they are two holds."""
    owner = f"{UUID}:1"
    put_hash(server, lock_name, {"mode": "write", f"{owner}:write": 1, owner: 1})
    server.admin.set(f"{{{lock_name}}}:{owner}:rwlock_timeout:1", 1, px=60_000)
    assert redlatch(server, "extend", lock_name, "--owner", owner, "--lease", "5m").returncode == 0
    assert remaining_ms(server, lock_name) > 290_000
    assert redlatch(server, "release", lock_name, "--owner", owner).returncode == 0
    assert server.admin.dbsize() == 0


def test_a_lock_of_another_library(server: RedisServer, peer: RedissonShapedPeer, lock_name: str) -> None:
    server.admin.set(lock_name, "a1b2c3d4e5f60718", px=60_000)  # as redis-py writes it
    assert redlatch(server, "extend", lock_name, "--owner", "a1b2c3d4e5f60718", "--lease", "2m").returncode == 0
    assert remaining_ms(server, lock_name) > 110_000
    assert redlatch(server, "release", lock_name, "--owner", "a1b2c3d4e5f60718").returncode == 0
    peer.lock(lock_name)
    assert redlatch(server, "release", lock_name, "--owner", peer.owner()).returncode == 0
    assert server.admin.exists(lock_name) == 0


def test_a_group_lock_is_not_changed(server: RedisServer) -> None:
    put_every_form(server)
    before = server.admin.dump("group")
    for step in (["release"], ["extend", "--lease", "1h"]):
        done = redlatch(server, *step, "group", "--owner", f"{UUID}:3")
        text = '"group" is a group lock: expected a lock that redlatch acquire takes; not changed'
        assert (done.returncode, done.stderr) == (64, f"redlatch: {text}\n")
    assert server.admin.dump("group") == before and remaining_ms(server, "group") <= 60_000


def test_a_plain_lock_by_its_key(server: RedisServer, lock_name: str) -> None:
    owner = redlatch(server, "acquire", lock_name, "--lease", "5m", "--kind", "plain", "--key-template", "lock:{name}",
                     "-q").stdout.strip()
    assert server.admin.get(f"lock:{lock_name}") == owner.encode()
    assert redlatch(server, "release", f"lock:{lock_name}", "--owner", owner).returncode == 0


def test_quiet_prints_the_id_alone(server: RedisServer, lock_name: str) -> None:
    done = redlatch(server, "acquire", "--lease", "5", "-q", lock_name)
    assert done.stderr == "" and is_owner(done.stdout.strip().encode())
    late = redlatch(server, "acquire", "--lease", "5", "-nq", lock_name)
    assert (late.returncode, late.stdout, late.stderr) == (1, "", "")


def test_an_id_that_nobody_got_leaves_no_lock(server: RedisServer, lock_name: str) -> None:
    """Standard output is full, or closed, or its reader is gone."""
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([program(), "acquire", lock_name, "--lease", "5m"], stdout=full, env=environment(server),
                              stderr=subprocess.PIPE, text=True, timeout=20, check=False)
    assert done.returncode == 74 and "standard output" in done.stderr
    assert server.admin.exists(lock_name) == 0
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([program(), "acquire", lock_name, "--lease", "5m"], stdout=writing, env=environment(server),
                          stderr=subprocess.PIPE, text=True, timeout=20, check=False)
    os.close(writing)
    assert done.returncode == 74 and server.admin.exists(lock_name) == 0


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, -signal.SIGINT)])
def test_a_signal_ends_the_wait(
    server: RedisServer, peer: RedissonShapedPeer, lock_name: str, number: signal.Signals, status: int
) -> None:
    peer.lock(lock_name)
    waiter = start(server, "acquire", lock_name, "--lease", "5m")
    wait_until(lambda: subscribers(server, lock_name) == 1, TIMEOUT, "the wait")
    waiter.send_signal(number)
    assert waiter.communicate(timeout=10)[0] == "" and waiter.returncode == status
    peer.unlock(lock_name)
    assert server.admin.exists(lock_name) == 0


MISUSE = {
    "acquire x": "acquire: no --lease: expected how long the lock stays, such as --lease 10m",
    "acquire --lease 5m": "acquire: got no operand: expected one, the name of a lock",
    "acquire x y --lease 5m": "acquire: got 2 operands, 'x' and 'y': expected one, the name of a lock",
    "acquire x --lease 0": "--lease is '0': expected seconds, or a number with ms, s, m, h or d, from 0.001 to"
                           " 300000000 s",
    "acquire x --lease 5m -n -w 3": "-n with -w 3: expected one of them",
    "acquire x --lease 5m --kind semaphore": "--kind is 'semaphore': expected one of mutex, fenced, fair, spin, read,"
                                             " write, plain, permit-semaphore",
    "acquire x --lease 5m --limit 3": "--limit with --kind mutex: expected --kind semaphore or permit-semaphore",
    "release x": "release: no --owner: expected the id that redlatch acquire printed",
    "release x --owner y --lease 5m": "release: --lease: expected it with redlatch extend",
    "extend x --owner y": "extend: no --lease: expected a time, such as --lease 10m",
    "extend x --lease 5m": "extend: no --owner: expected the id that redlatch acquire printed",
    "unlock x --owner y --force": "unlock: --owner with --force: expected one of them",
}


@pytest.mark.parametrize("line", MISUSE)
def test_misuse(server: RedisServer, line: str) -> None:
    done = redlatch(server, *line.split())
    assert (done.returncode, done.stdout) == (64, "") and done.stderr.splitlines()[0] == f"redlatch: {MISUSE[line]}"
    assert server.admin.dbsize() == 0


def test_keys_that_are_no_locks_stay(server: RedisServer, lock_name: str) -> None:
    server.admin.rpush(lock_name, "x")
    for step in (["release"], ["extend", "--lease", "5m"], ["unlock"]):
        done = redlatch(server, *step, lock_name, "--owner", "a:1")
        assert done.returncode == 65 and "list" in done.stderr
    assert redlatch(server, "acquire", lock_name, "--lease", "5m").returncode == 65
    assert server.admin.lrange(lock_name, 0, -1) == [b"x"]


def test_a_server_that_is_away(lock_name: str) -> None:
    steps = ["acquire --lease 5m", "release --owner x", "extend --owner x --lease 5"]
    with closed_port() as port:
        for step in steps:
            done = redlatch(None, *step.split(), lock_name, "--url", f"redis://127.0.0.1:{port}")
            assert (done.returncode, done.stdout) == (69, "") and str(port) in done.stderr


def test_a_reply_that_is_lost_is_no_false_loss(server: RedisServer, lock_name: str) -> None:
    """The release may have run, and is sent again. If the repeat finds no hold, that proves no loss."""
    owner = acquire(server, lock_name)
    with Proxy(server.address) as proxy:
        lost = proxy.cut_after(b"hdel")
        done = redlatch(None, "release", lock_name, "--owner", owner, "--url", proxy.url)
        assert lost.hit
    assert done.returncode == 69 and "broke before the reply" in done.stderr
    assert server.admin.exists(lock_name) == 0


def test_messages_go_where_waiters_listen(server: RedisServer, lock_name: str) -> None:
    owner = acquire(server, lock_name)
    listener = server.admin.pubsub()
    listener.subscribe(channel(lock_name))
    wait_until(lambda: subscribers(server, lock_name) == 1, TIMEOUT, "the subscription")
    assert redlatch(server, "release", lock_name, "--owner", owner).returncode == 0
    received: List[Any] = []

    def got_message() -> bool:
        message = listener.get_message()
        if message and message["type"] == "message":
            received.append(message["data"])
        return bool(received)

    wait_until(got_message, TIMEOUT, "the message")
    assert received == [b"0"]
    listener.close()

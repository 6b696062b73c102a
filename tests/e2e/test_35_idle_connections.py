# SPDX-License-Identifier: Apache-2.0
"""Connections that end while they are idle: no later command counts as sent over them, and the client queries its holds
at once."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Iterator, List

import pytest
import redlatch
from support import RedisServer, wait_until
from support.shell import start_holder
from support.wire import fields
from waiters import hold_as_redisson

# So long that no renewal, which comes after a third of it, can find a loss during a test.
LEASE = 120.0
BEFORE_THE_RENEWAL = LEASE / 4


@pytest.fixture
def client(server: RedisServer) -> Iterator[redlatch.Client]:
    """A client that renews rarely."""
    with redlatch.connect(server.url, watchdog_lease=LEASE) as opened:
        yield opened


def connections(server: RedisServer) -> List[str]:
    """Returns the ids of redlatch's connections to the server."""
    return [entry["id"] for entry in server.client_list("redlatch:")]


def kill_all(server: RedisServer) -> None:
    """End all connections, and wait until the server has closed them."""
    before = set(connections(server))
    server.admin.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    wait_until(lambda: not before & set(connections(server)), message="the connections to end")


def time_out(server: RedisServer) -> None:
    """Let the server close connections that are idle for a second."""
    before = set(connections(server))
    server.admin.config_set("timeout", 1)
    try:
        wait_until(lambda: not before & set(connections(server)), 10.0, "the server to close idle connections")
    finally:
        server.admin.config_set("timeout", 0)


ENDS = [kill_all, time_out]


# -------------------------------------------------------------------------- commands that may not be sent twice --


def force(client: redlatch.Client, name: str) -> Callable[[], Any]:
    """Returns a call that releases another owner's lock by force."""
    return client.lock(name).force_release


def delete_semaphore(client: redlatch.Client, name: str) -> Callable[[], Any]:
    """Returns a call that deletes a semaphore."""
    semaphore = client.semaphore(name)
    semaphore.try_set_permits(3)
    return semaphore.delete


def delete_permits(client: redlatch.Client, name: str) -> Callable[[], Any]:
    """Returns a call that deletes a permit semaphore."""
    semaphore = client.permit_semaphore(name)
    semaphore.try_set_permits(3)
    return semaphore.delete


def delete_latch(client: redlatch.Client, name: str) -> Callable[[], Any]:
    """Returns a call that deletes a latch."""
    latch = client.latch(name)
    latch.try_set_count(3)
    return latch.delete


ONCE = [force, delete_semaphore, delete_permits, delete_latch]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("prepare", ONCE)
def test_what_is_sent_once_is_sent_over_a_new_connection(
    server: RedisServer,
    client: redlatch.Client,
    lock_name: str,
    prepare: Callable[[redlatch.Client, str], Callable[[], Any]],
    end: Callable[[RedisServer], None],
) -> None:
    call = prepare(client, lock_name)
    if prepare is force:
        client.lock("other" + lock_name).state()
        hold_as_redisson(server, lock_name)
    for there in (True, False):
        end(server)
        assert call() is there
        assert server.admin.exists(lock_name) == 0
    assert client.stats()["resends"] == 0


def test_nothing_is_in_doubt_where_kill_is_forbidden(server: RedisServer, lock_name: str) -> None:
    """A connection without outstanding replies needs no KILL, so records live for a minute and not for an hour."""
    server.set_user("no-kill", "word", "+@all", "-client|kill", "-info")
    try:
        with redlatch.connect(server.url, username="no-kill", password="word") as client:
            semaphore = client.semaphore(lock_name)
            semaphore.try_set_permits(3)
            kill_all(server)
            semaphore.release()
            records = list(server.admin.scan_iter(f"redlatch_op:*{lock_name}*"))
            assert all(server.admin.pttl(record) <= 120_000 for record in records)
            assert client.stats()["resends"] == 0
    finally:
        server.admin.execute_command("ACL", "DELUSER", "no-kill")


# ------------------------------------------------------------------------------------------- releases that say so --


def restart_empty(server: RedisServer) -> None:
    """The server restarts without its data."""
    server.restart(kill=True)


def restart_slowly(server: RedisServer) -> None:
    """The server is down for a while, and restarts without its data."""
    server.kill()
    time.sleep(1.0)  # attempts to connect fail meanwhile
    server.start()


def unlock_by_force(server: RedisServer) -> None:
    """All connections are ended, and all keys deleted."""
    kill_all(server)
    server.admin.flushall()


LOSSES = [restart_empty, restart_slowly, unlock_by_force]
KINDS = ["lock", "fenced_lock", "fair_lock", "plain_lock", "spin_lock"]


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize("lease", [None, LEASE], ids=["renewed", "fixed"])
def test_a_release_of_a_lock_that_was_lost_says_so(
    server: RedisServer,
    client: redlatch.Client,
    lock_name: str,
    lose: Callable[[RedisServer], None],
    lease: Any,
) -> None:
    lock = client.lock(lock_name, lease=lease)
    lock.acquire()
    lose(server)
    hold_as_redisson(server, lock_name)
    others = fields(server, lock_name)
    with pytest.raises(redlatch.LockLostError):
        lock.release()
    assert fields(server, lock_name) == others


@pytest.mark.parametrize("kind", KINDS)
def test_of_every_kind(server: RedisServer, client: redlatch.Client, lock_name: str, kind: str) -> None:
    lock = getattr(client, kind)(lock_name)
    lock.acquire()
    unlock_by_force(server)
    with pytest.raises(redlatch.LockLostError):
        lock.release()


def test_of_many_nested_acquires_names_and_modes(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    names = [lock_name + str(i) for i in range(3)]
    several = redlatch.multi_lock(*[client.lock(name) for name in names])
    reading = client.read_write_lock(lock_name).read
    group = client.group_lock(lock_name + "group", ["a", "b"])
    locks = [several, reading, group, client.lock(lock_name + "twice")]
    for lock in [*locks, locks[-1]]:
        lock.acquire()
    unlock_by_force(server)
    for lock in [*locks, locks[-1]]:
        with pytest.raises(redlatch.LockLostError):
            lock.release()


def test_the_command_ends_with_lost(fresh_server: RedisServer, lock_name: str, tmp_path: Path) -> None:
    holder = start_holder(
        fresh_server, lock_name, tmp_path, text=f"while ! [ -e {tmp_path}/go ]; do sleep 0.02; done"
    )
    restart_empty(fresh_server)
    (tmp_path / "go").touch()
    _, reported = holder.communicate(timeout=10)
    assert holder.returncode == 70 and lock_name in reported


# -------------------------------------------------------------------------------------------------- told at once --


@pytest.mark.parametrize("lease", [None, LEASE], ids=["renewed", "fixed"])
@pytest.mark.parametrize("lose", [restart_empty, restart_slowly])
def test_a_loss_is_reported_when_the_server_is_back(
    server: RedisServer, client: redlatch.Client, lock_name: str, lose: Callable[[RedisServer], None], lease: Any
) -> None:
    lock = client.lock(lock_name, lease=lease)
    lock.acquire()
    hold = lock.held()
    assert hold is not None
    event = hold.lost_event
    lose(server)
    assert event.wait(BEFORE_THE_RENEWAL), "it was asked about as soon as there was a connection"
    assert client.stats()["lost"] == 1


def test_a_lock_that_is_still_there_is_kept(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    fixed, renewed = client.lock(lock_name, lease=LEASE), client.lock(lock_name + "renewed")
    fixed.acquire()
    renewed.acquire()
    server.admin.pexpire(lock_name, 60_000)
    kill_all(server)
    wait_until(lambda: client.stats()["renewals"] == 1, message="the one to be renewed")
    assert 0 < server.admin.pttl(lock_name) <= 60_000, "asking about a fixed lease does not extend it"
    fixed.release()
    renewed.release()
    assert client.stats()["lost"] == 0


def test_a_server_that_closes_what_is_idle_costs_little(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    lock = client.lock(lock_name)
    with lock:
        scripts = client.stats()["scripts"]
        server.admin.config_set("timeout", 1)
        try:
            time.sleep(6.0)  # some connections come and go
        finally:
            server.admin.config_set("timeout", 0)
        assert client.stats()["scripts"] - scripts <= 3 and client.stats()["reconnects"] <= 12


def test_nothing_is_made_again_where_nothing_is_held(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    with client.lock(lock_name):
        pass
    kill_all(server)
    marks = []
    for _ in range(5):
        time.sleep(0.1)  # there is nothing to wait for
        marks.append(connections(server))
    assert marks == [[]] * 5
    assert client.stats()["reconnects"] == 0
    with client.lock(lock_name):
        pass
    assert client.stats()["reconnects"] == 1


# A process loses its connection, and cannot open a descriptor for a while.
WITHOUT_DESCRIPTORS = """
import os, resource, sys, redlatch
client = redlatch.connect(sys.argv[1], command_timeout=20)
lock = client.lock(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (3, most))  # not even in the place of the dead connection
try:
    print(lock.acquire(timeout=0.3))
except redlatch.RedlatchError as error:
    print(error.status_name, "Too many open files" in str(error))
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
print(lock.acquire(timeout=20), flush=True)
lock.release()
"""


def test_without_a_descriptor_it_goes_on_when_there_is_one(server: RedisServer, lock_name: str) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", WITHOUT_DESCRIPTORS, server.url, lock_name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    kill_all(server)
    out, _ = child.communicate("\n", timeout=60)
    assert (child.returncode, out) == (0, "system True\nTrue\n")

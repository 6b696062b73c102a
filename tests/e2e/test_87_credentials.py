# SPDX-License-Identifier: Apache-2.0
"""The user and the password of a client change: holds stay held, waiters go on waiting, no message is lost, and a
refusal names the cause. The servers forget the old password and end the user's connections."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Iterator

import pytest
import redlatch
from hosts import Host
from redlatch._ffi import ffi, lib, text
from rotating import User, of_client, users
from steps import Call
from support import RedisServer, wait_until

# Renewals are a third of the lease apart. No test waits for longer than a few of them.
LEASE = 1.5


@pytest.fixture(name="user")
def user_fixture(server: RedisServer) -> Iterator[User]:
    """A user that is deleted after the test."""
    user = User(server, "rotating")
    yield user
    server.admin.execute_command("ACL", "DELUSER", user.name)


@pytest.fixture(name="other_user")
def other_user_fixture(server: RedisServer) -> Iterator[User]:
    """Another user."""
    user = User(server, "other")
    yield user
    server.admin.execute_command("ACL", "DELUSER", user.name)


def test_a_held_lock_and_a_waiter(server: RedisServer, user: User, other_user: User, lock_name: str) -> None:
    """Command connections stay and change their user. The subscriber is replaced. A release wakes the waiter."""
    with user.connect() as client, other_user.connect() as holder, client.lock(lock_name + ":held") as held:
        blocking = holder.lock(lock_name)
        blocking.acquire()
        waiting = Call(lambda: client.lock(lock_name, owner="handle").acquire(timeout=20))
        wait_until(lambda: client.stats()["subscriptions"] == 1)
        before = {id_ for id_, _, subscribed in of_client(server, client) if not subscribed}
        other_user.push(client)
        wait_until(lambda: users(server, client) == {"other"})
        after = of_client(server, client)
        assert before <= {id_ for id_, _, _ in after}
        assert len([entry for entry in after if entry[2]]) == 1
        assert client.stats()["reconnects"] == 0 and not waiting.done
        released = time.monotonic()
        blocking.release()
        assert waiting.result() is True and time.monotonic() - released < 2.0
        assert not held.lost
    assert not server.admin.exists(lock_name + ":held")


def test_connections_that_are_made_later(server: RedisServer, user: User, lock_name: str) -> None:
    """The server ends all connections. The greeting of the new ones has the new password."""
    with user.connect(watchdog_lease=LEASE) as client, client.lock(lock_name) as held:
        for _ in range(5):
            user.rotate()
            user.push(client)
            renewals = client.stats()["renewals"]
            user.kill()
            wait_until(lambda renewals=renewals: client.stats()["renewals"] > renewals)
            with client.lock(lock_name + ":new", timeout=0):
                pass
        assert not held.lost


def test_waits_go_on_while_the_old_password_is_refused(server: RedisServer, user: User, lock_name: str) -> None:
    """The password is pushed after the server demands it. A call that does not wait fails with the reason."""
    with user.connect() as client, user.connect() as holder:
        user.push(client)
        blocking = holder.lock(lock_name)
        blocking.acquire()
        waiting = Call(lambda: client.lock(lock_name, owner="handle").acquire(timeout=20))
        wait_until(lambda: client.stats()["subscriptions"] == 1)
        user.rotate()
        user.push(holder)
        for id_, _, _ in of_client(server, client):
            server.admin.execute_command("CLIENT", "KILL", "ID", id_)
        wait_until(lambda: client.stats()["connections"] == 0)
        began = time.monotonic()
        with pytest.raises(redlatch.AuthenticationError, match="WRONGPASS") as refused:
            client.lock(lock_name + ":free").acquire(blocking=False)
        assert time.monotonic() - began < 2.0 and not refused.value.retryable
        assert "rotating no" not in str(refused.value)
        assert not waiting.done
        user.push(client)
        wait_until(lambda: client.stats()["subscriptions"] == 1)
        blocking.release()
        assert waiting.result() is True


def test_a_wait_ends_at_its_deadline(server: RedisServer, user: User, lock_name: str) -> None:
    """The wait ends with the cause, not with a timeout. A hold ends with its lease."""
    with user.connect(watchdog_lease=LEASE) as client:
        held = client.lock(lock_name).acquire() and client.lock(lock_name).held()
        event = held.lost_event
        user.push(client)
        user.rotate()
        user.kill(client)
        began = time.monotonic()
        with pytest.raises(redlatch.AuthenticationError, match="WRONGPASS"):
            client.lock(lock_name + ":free", owner="handle").acquire(timeout=1)
        assert 0.9 < time.monotonic() - began < 3.0
        assert event.wait(LEASE + 2.0) and held.lost_reason == "expired"
        user.push(client)
        assert client.lock(lock_name + ":free", owner="handle").acquire(timeout=5)


def test_a_wait_ends_when_all_is_refused_for_long(server: RedisServer, user: User, lock_name: str) -> None:
    """A wait without a deadline ends by unreachable_timeout."""
    with user.connect(unreachable_timeout=0.5) as client:
        user.push(client)
        user.rotate()
        user.kill(client)
        began = time.monotonic()
        with pytest.raises(redlatch.AuthenticationError, match="WRONGPASS"):
            client.lock(lock_name).acquire()
        assert time.monotonic() - began < 3.0


def test_passwords_that_do_not_change(server: RedisServer, user: User, lock_name: str) -> None:
    """The client's credentials were never changed, so a wait does not expect new ones: it ends at once."""
    with user.connect() as client:
        client.lock(lock_name).acquire()
        user.rotate()
        user.kill(client)
        began = time.monotonic()
        with pytest.raises(redlatch.AuthenticationError, match="WRONGPASS"):
            client.lock(lock_name + ":other").acquire(timeout=20)
        assert time.monotonic() - began < 5.0


def test_refused_credentials_are_an_event(server: RedisServer, user: User, lock_name: str) -> None:
    """Each change has one event, with the server's message and without the password. No connection is closed."""
    with user.connect() as client, client.lock(lock_name) as held:
        host = Host(client)
        client.lock(lock_name + ":taken", owner="handle").acquire()
        before = of_client(server, client)
        for secret in ("S3CR3T one", "S3CR3T two"):
            client.set_credentials(user.name, secret)
            event = host.event()
            assert event.kind == lib.REDLATCH_EVENT_CREDENTIALS_REFUSED
            assert event.status == lib.REDLATCH_AUTHENTICATION
            assert "WRONGPASS" in text(event.message) and f"127.0.0.1:{server.port}" in text(event.message)
            assert "S3CR3T" not in text(event.message)
        assert host.quiet() and of_client(server, client) == before
        user.rotate()
        user.push(client)
        assert host.quiet() and not held.lost
        assert client.lock(lock_name + ":more", owner="handle").acquire(blocking=False)


def test_a_refused_message_connection(server: RedisServer, user: User, lock_name: str) -> None:
    """The old connection stays subscribed. It is replaced after the next push."""
    with user.connect() as client, user.connect() as holder:
        host = Host(client)
        blocking, wanted = holder.lock(lock_name), client.lock(lock_name, owner="handle")
        for right in (False, True):
            blocking.acquire()
            waiting = Call(lambda: wanted.acquire(timeout=20))
            wait_until(lambda: client.stats()["subscriptions"] == 1)
            old = [entry for entry in of_client(server, client) if entry[2]]
            if right:
                user.push(client)
                wait_until(lambda old=old: [e for e in of_client(server, client) if e[2]] != old)
            else:
                client.set_credentials(user.name, "wrong")
                assert "WRONGPASS" in text(host.event().message)
            wait_until(lambda: len([entry for entry in of_client(server, client) if entry[2]]) == 1)
            released = time.monotonic()
            blocking.release()
            assert waiting.result() is True and time.monotonic() - released < 2.0
            wanted.release()


def test_no_message_is_lost(server: RedisServer, user: User, other_user: User, lock_name: str) -> None:
    """A lock goes back and forth between two clients, while one of them changes its user all the time. A message must
    wake each waiter: without one a waiter rechecks only after 5 s."""
    longest = 0.0
    made = server.admin.info("stats")["total_connections_received"]
    with user.connect() as one, other_user.connect() as two:
        stop = threading.Event()

        def change() -> None:
            for current in itertools.cycle((other_user, user)):
                if stop.wait(0.003):
                    return
                current.push(one)

        changing = Call(change)
        locks = [client.lock(lock_name, owner="handle") for client in (one, two)]
        locks[1].acquire()
        for turn in range(300):
            taker, giver = locks[turn % 2], locks[1 - turn % 2]
            waiting = Call(lambda taker=taker: taker.acquire(timeout=30))
            wait_until(lambda turn=turn: (one, two)[turn % 2].stats()["waiters"] == 1)
            began = time.monotonic()
            giver.release()
            assert waiting.result(30.0) is True
            longest = max(longest, time.monotonic() - began)
        stop.set()
        changing.result()
        locks[1].release()
        assert one.stats()["reconnects"] == 0
    assert server.admin.info("stats")["total_connections_received"] > made + 20  # connections for messages
    assert longest < 2.5, f"a waiter was not woken for {longest:.3f} s"


def test_a_hundred_rotations_under_contention(server: RedisServer, user: User, lock_name: str) -> None:
    """Callers contend and a lock is held throughout; the server forgets each old password, and every tenth time it ends
    all connections of the user."""
    inside, most, turns = 0, 0, 0
    stop = threading.Event()
    guard = threading.Lock()
    clients = [user.connect(watchdog_lease=LEASE) for _ in range(2)]

    def contend(client: redlatch.Client) -> None:
        nonlocal inside, most, turns
        lock = client.lock(lock_name, timeout=30)
        while not stop.is_set():
            with lock as hold:
                with guard:
                    inside, turns = inside + 1, turns + 1
                    most = max(most, inside)
                with guard:
                    inside -= 1
                assert not hold.lost

    try:
        with clients[0].lock(lock_name + ":held") as held:
            calls = [Call(lambda client=client: contend(client)) for client in clients * 3]
            for number in range(100):
                user.rotate()
                for client in clients:
                    user.push(client)
                if number % 10 == 9:
                    user.kill()
                before = turns
                wait_until(lambda before=before: turns > before + 5, 20.0)
            stop.set()
            for call in calls:
                call.result()
            assert not held.lost
        assert most == 1 and all(client.stats()["lost"] == 0 for client in clients)
    finally:
        stop.set()
        for client in clients:
            client.close()


def test_started_calls(server: RedisServer, user: User, other_user: User, lock_name: str) -> None:
    """On the host's connection the reply to AUTH comes among the replies to started requests."""
    with user.connect() as client:
        host = Host(client)
        lock = client.lock(lock_name, owner="handle")
        for turn in range(50):
            for tag in range(10):
                assert lib.redlatch_lock_start_query(lock._handle, tag) == 0
                if tag % 5 == 0:
                    (user, other_user)[turn % 2].push(client)
            events = host.events(10)
            assert sorted(event.tag for event in events) == list(range(10))
            assert {event.status for event in events} == {0}
        wait_until(lambda: users(server, client) == {"other"})
        assert client.stats()["reconnects"] == 0 and host.quiet()


def test_a_client_that_is_not_connected(server: RedisServer, user: User, lock_name: str) -> None:
    """The password in the options is wrong. It is replaced before it is used."""
    url = f"redis://127.0.0.1:{server.port}"
    with redlatch.connect(url, username=user.name, password="not yet known", lazy=True) as client:
        user.push(client)
        assert client.lock(lock_name).acquire(blocking=False)


def test_what_is_no_password(server: RedisServer, user: User) -> None:
    """Misuse is an error at once."""
    with user.connect() as client:
        status = lib.redlatch_client_set_credentials(client._handle, b"rotating", ffi.NULL)
        assert status == lib.REDLATCH_INVALID and "password is NULL" in text(lib.redlatch_last_error())
        with pytest.raises(redlatch.InvalidArgumentError, match="password holds a NUL byte"):
            client.set_credentials(None, "a\0b")
        with pytest.raises(TypeError, match="username is of type int"):
            client.set_credentials(1, "word")
    with pytest.raises(redlatch.ClosedError):
        client.set_credentials("rotating", "word")

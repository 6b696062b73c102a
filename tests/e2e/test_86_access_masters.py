# SPDX-License-Identifier: Apache-2.0
"""Users with just the rights of docs/how-to/access-rules.md, where clients search for a master, wait for
acknowledgements, and change their password."""

from __future__ import annotations

from typing import Any, Callable, Iterator, List

import pytest
import redlatch
from access_rules import denials, open_frugal, permit
from rotating import users
from steps import Call
from support import RedisServer, wait_until
from support.replicas import Pair
from support.sentinels import Watched

ROW = ["mutex, spin lock"]
LEASE = 3.0  # until a former master steps down, it takes renewals that the new master does not get


@pytest.fixture(name="watched", scope="module")
def watched_fixture() -> Iterator[Watched]:
    """Servers and sentinels that the tests of this module share. Any of the servers may be the master."""
    with Watched() as watched:
        yield watched


def play_a_move(url: str, name: str, ready: Callable[[], Any], move: Callable[[], object]) -> None:
    """A client with a hold and a client with a waiter move. The hold is renewed on the new server and then released."""
    login = {"username": "frugal", "password": "word", "watchdog_lease": LEASE}
    with redlatch.connect(url, **login) as client, redlatch.connect(url, **login) as other:
        held = client.lock(name, owner="handle")
        held.acquire()
        waiting = Call(lambda: other.lock(name, owner="handle").acquire(timeout=20))
        wait_until(lambda: other.stats()["waiters"] == 1)
        wait_until(ready)
        move()
        before = client.stats()["renewals"]
        wait_until(lambda: client.stats()["renewals"] > before + 2, 10.0)
        held.release()
        assert waiting.result(20.0) is True


def test_with_sentinels(watched: Watched, lock_name: str) -> None:
    """An orderly failover."""
    wait_until(watched.in_step, 30.0)
    for each in watched.servers:
        permit(each, lock_name, ROW)
    play_a_move(watched.url(), lock_name, watched.in_step, watched.failover)
    assert [denials(each) for each in watched.servers] == [[]] * 3


def test_with_a_list_of_servers(lock_name: str) -> None:
    """The replica is promoted, and the master becomes its replica."""
    with Pair() as pair:
        servers = pair.master, pair.replica
        for each in servers:
            permit(each, lock_name, ROW)

        def promote() -> None:
            pair.replica.admin.replicaof("NO", "ONE")
            pair.master.admin.replicaof("127.0.0.1", str(pair.replica.port))

        url = "redis+replicas://" + ",".join(f"127.0.0.1:{each.port}" for each in servers)
        play_a_move(url, lock_name, pair.in_step, promote)
        assert [denials(each) for each in servers] == [[], []]


def test_without_the_role(watched: Watched, lock_name: str) -> None:
    """A replica could be taken for the master. The error says which right the user needs, and why."""
    for each in watched.servers:
        permit(each, lock_name, ROW, without=["info"])
    expected = "NOPERM .*info.*: expected a user with .info, which tells the master from a replica"
    hosts = ",".join(f"127.0.0.1:{each.port}" for each in watched.servers)
    for url in (watched.url(), f"redis+replicas://{hosts}"):
        with pytest.raises(redlatch.PermissionDeniedError, match=expected) as caught:
            redlatch.connect(url, username="frugal", password="word")
        assert not caught.value.retryable
    with open_frugal(watched.master) as client, client.lock(lock_name, timeout=0):
        pass  # a URL that names the server itself needs no role


def play_acknowledged(server: RedisServer, name: str, **options: Any) -> None:
    """Plays everything that is acknowledged: an acquire, a nested acquire, an extension, a renewal."""
    with open_frugal(server, watchdog_lease=6, replica_timeout=2, **options) as client:
        lock = client.lock(name, timeout=5)
        with lock as held:
            with lock:
                pass
            lock.extend(6)
            before = client.stats()["renewals"]
            wait_until(lambda: client.stats()["renewals"] > before, 10.0)
            assert not held.lost
    assert denials(server) == []


@pytest.mark.parametrize(("right", "options"), [("wait", {"min_replicas": 1}), ("waitaof", {"durable": True})])
def test_acknowledgements(lock_name: str, right: str, options: Any) -> None:
    """Each needs one more right. Without it the error names the right."""
    with Pair(appendonly="yes", appendfsync="always") as pair:
        if right == "waitaof" and pair.master.version < (7, 2):
            pytest.skip("WAITAOF came with Redis 7.2")
        permit(pair.master, lock_name, ROW, right)
        play_acknowledged(pair.master, lock_name, **options)
        permit(pair.master, lock_name, ROW)
        with open_frugal(pair.master, **options) as client:
            with pytest.raises(redlatch.PermissionDeniedError, match=f"NOPERM .*{right}"):
                client.lock(lock_name).acquire(timeout=0)
        pair.gone(lock_name)


def test_a_password_that_changes(server: RedisServer, lock_name: str) -> None:
    """Neither AUTH nor the successor of the connection for messages needs a right of its own."""
    permit(server, lock_name, ROW)
    with open_frugal(server, watchdog_lease=LEASE) as client, redlatch.connect(server.url) as other:
        blocking = other.lock(lock_name, owner="handle")
        blocking.acquire()
        granted: List[redlatch.Lock] = []

        def wait() -> None:
            granted.append(client.lock(lock_name, owner="handle"))
            granted[0].acquire(timeout=20)

        waiting = Call(wait)
        wait_until(lambda: client.stats()["subscriptions"] == 1)
        server.admin.execute_command("ACL", "SETUSER", "frugal", "resetpass", ">next")
        client.set_credentials("frugal", "next")
        server.admin.execute_command("CLIENT", "KILL", "USER", "frugal")
        wait_until(lambda: users(server, client) == {"frugal"} and client.stats()["subscriptions"] == 1)
        blocking.release()
        waiting.result(20.0)
        before = client.stats()["renewals"]
        wait_until(lambda: client.stats()["renewals"] > before, 10.0)
        granted[0].release()
    assert denials(server) == []

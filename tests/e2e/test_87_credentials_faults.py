# SPDX-License-Identifier: Apache-2.0
"""Credentials that change during faults of the network or the server: the successor of the connection for messages, and
AUTH on open connections."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Callable, Iterator, List

import pytest
import redlatch
from rotating import User, of_client, users
from steps import Call
from support import Proxy, RedisServer, wait_until
from support.certificates import Authority
from support.tls_server import TlsServer

# A waiter without a message rechecks after 5 s.
WOKEN = 2.0


@pytest.fixture(name="user")
def user_fixture(server: RedisServer) -> Iterator[User]:
    """The first user of the client."""
    user = User(server, "rotating")
    yield user
    server.admin.execute_command("ACL", "DELUSER", user.name)


@pytest.fixture(name="other_user")
def other_user_fixture(server: RedisServer) -> Iterator[User]:
    """The later user of the client."""
    user = User(server, "other")
    yield user
    server.admin.execute_command("ACL", "DELUSER", user.name)


class Waiter:
    """A client behind a proxy. It waits for a lock that another client holds, and is subscribed."""

    def __init__(self, proxy: Proxy, user: User, name: str, **options: Any) -> None:
        self.server = user.server
        self.holder = redlatch.connect(user.server.url)
        self.client = user.connect(proxy.url, **options)
        self._taken, self._wanted = self.holder.lock(name, owner="handle"), self.client.lock(name, owner="handle")
        self._wait()

    def _wait(self) -> None:
        assert self._taken.acquire(timeout=5)
        self._waiting = Call(lambda: self._wanted.acquire(timeout=30))
        wait_until(lambda: self.client.stats()["waiters"] == 1)
        wait_until(lambda: self.client.stats()["subscriptions"] == 1)

    def subscribed(self) -> List[str]:
        """Returns the user of each subscribed connection of the client."""
        return [user for _, user, subscribed in of_client(self.server, self.client) if subscribed]

    def wake(self) -> None:
        """Releases the lock. The waiter must get it by a message, sooner than by a recheck. Then it waits again."""
        began = time.monotonic()
        self._taken.release()
        assert self._waiting.result() is True and time.monotonic() - began < WOKEN
        self._wanted.release()
        self._wait()

    def close(self) -> None:
        """Ends both clients."""
        self._taken.release()
        self._waiting.result()
        self.client.close()
        self.holder.close()


@pytest.fixture(name="make_waiter")
def make_waiter_fixture(proxy: Proxy, user: User, lock_name: str) -> Iterator[Callable[..., Waiter]]:
    """Makes waiters that end with the test."""
    made: List[Waiter] = []

    def make(**options: Any) -> Waiter:
        made.append(Waiter(proxy, user, lock_name, **options))
        return made[-1]

    yield make
    while made:
        made.pop().close()


def test_channels_that_are_not_confirmed(
    proxy: Proxy, other_user: User, make_waiter: Callable[..., Waiter]
) -> None:
    """The old connection receives messages, even after the connect timeout, until another attempt succeeds."""
    waiter = make_waiter(connect_timeout=0.3)
    fault = proxy.hold("SUBSCRIBE", times=None)
    other_user.push(waiter.client)
    fault.wait_hit(count=1)
    waiter.wake()
    fault.wait_hit(count=2)  # the attempt was given up and repeated
    waiter.wake()
    assert waiter.subscribed() == ["rotating"]
    fault.release()
    wait_until(lambda: waiter.subscribed() == ["other"])
    waiter.wake()
    assert waiter.client.stats()["reconnects"] == 0


@pytest.mark.parametrize("word", ["CLIENT SETNAME", "INFO", "SUBSCRIBE"])
def test_a_successor_that_breaks(
    proxy: Proxy, other_user: User, make_waiter: Callable[..., Waiter], word: str
) -> None:
    """It may break at any step. The old connection stays, and another attempt is made."""
    waiter = make_waiter()
    fault = proxy.cut_before(word)
    other_user.push(waiter.client)
    fault.wait_hit()
    waiter.wake()
    wait_until(lambda: waiter.subscribed() == ["other"])
    waiter.wake()


def test_the_old_connection_breaks_meanwhile(
    proxy: Proxy, other_user: User, make_waiter: Callable[..., Waiter]
) -> None:
    """The two connections do not overlap then: a new one is made, and waiters recheck."""
    waiter = make_waiter()
    fault = proxy.hold("SUBSCRIBE")
    other_user.push(waiter.client)
    fault.wait_hit()
    waiter.server.admin.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
    wait_until(lambda: waiter.subscribed() == ["other"])
    fault.release()
    waiter.wake()
    assert waiter.subscribed() == ["other"]


def test_no_room_for_another_connection(
    server: RedisServer, other_user: User, make_waiter: Callable[..., Waiter]
) -> None:
    """The server has reached maxclients: the old connection stays until there is room."""
    waiter = make_waiter()
    most = server.admin.config_get("maxclients")["maxclients"]
    server.admin.config_set("maxclients", len(server.admin.client_list()))
    try:
        other_user.push(waiter.client)
        wait_until(lambda: int(server.admin.info("stats")["rejected_connections"]) > 0)
        waiter.wake()
        assert waiter.subscribed() == ["rotating"]
    finally:
        server.admin.config_set("maxclients", most)
    wait_until(lambda: waiter.subscribed() == ["other"])
    waiter.wake()


def test_a_user_who_may_not_listen(server: RedisServer, make_waiter: Callable[..., Waiter]) -> None:
    """The channel is denied to the new user: waiters poll."""
    if server.version < (6, 2, 0):
        pytest.skip("everybody may use all channels")
    deaf = User(server, "deaf", channels=())
    waiter = make_waiter()
    deaf.push(waiter.client)
    wait_until(lambda: waiter.client.stats()["subscriptions"] == 0)
    began = time.monotonic()
    waiter._taken.release()
    assert waiter._waiting.result() is True and time.monotonic() - began < WOKEN
    waiter._wanted.release()
    waiter._taken.acquire()
    waiter._waiting = Call(lambda: True)
    server.admin.execute_command("ACL", "DELUSER", deaf.name)


@pytest.mark.parametrize("fault", ["cut_before", "cut_after", "cut_inside", "swallow_reply"])
def test_auth_that_is_lost(
    server: RedisServer, proxy: Proxy, user: User, other_user: User, lock_name: str, fault: str
) -> None:
    """AUTH is lost with its connection. The next connection is greeted with the new credentials. No acquire around AUTH
    counts twice."""
    tuning = redlatch.Tuning(dead_peer_timeout=0.5)
    with user.connect(proxy.url, watchdog_lease=3.0, tuning=tuning) as client:
        lock = client.lock(lock_name, owner="handle")
        assert lock.acquire()
        struck = getattr(proxy, fault)("AUTH")
        other_user.push(client)
        struck.wait_hit()
        for level in range(2, 12):
            assert lock.acquire(timeout=5) and lock.hold_count() == level
        struck.release()
        wait_until(lambda: users(server, client) == {"other"})
        assert lock.state().count == 11 and client.stats()["lost"] == 0


def test_tls(lock_name: str, tmp_path: Path, server_binary: List[str]) -> None:
    """A hold and a waiter while the password changes over TLS."""
    ca = Authority(tmp_path, "test CA")
    tls = TlsServer(ca.certificate(), ca.file, tls_auth_clients="no")
    with tls.server:
        user = User(tls.server, "rotating")
        with user.connect(tls.url, tls_ca_file=str(ca.file)) as client, redlatch.connect(tls.server.url) as holder:
            taken = holder.lock(lock_name)
            taken.acquire()
            with client.lock(lock_name + ":held") as held:
                waiting = Call(lambda: client.lock(lock_name, owner="handle").acquire(timeout=20))
                wait_until(lambda: client.stats()["subscriptions"] == 1)
                for _ in range(20):
                    user.rotate()
                    user.push(client)
                    with client.lock(lock_name + ":other", timeout=0):
                        pass
                began = time.monotonic()
                taken.release()
                assert waiting.result() is True and time.monotonic() - began < WOKEN
                assert not held.lost and client.stats()["reconnects"] == 0


def test_a_master_that_is_searched_for(
    make_server: Callable[..., RedisServer], lock_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The search for the master uses the new password, too; a refusal ends no wait."""
    server = make_server()
    user = User(server, "rotating")
    with user.connect(f"redis+replicas://127.0.0.1:{server.port}", watchdog_lease=3.0) as client:
        with client.lock(lock_name) as held:
            user.push(client)
            user.rotate()
            user.kill(client)
            waiting = Call(lambda: client.lock(lock_name + ":free", owner="handle").acquire(timeout=20))
            with pytest.raises(redlatch.AuthenticationError, match="WRONGPASS"):
                client.lock(lock_name + ":other").acquire(blocking=False)
            assert not waiting.done
            wait_until(lambda: "WRONGPASS" in caplog.text)
            user.push(client)
            assert waiting.result() is True
            assert not held.lost

# SPDX-License-Identifier: Apache-2.0
"""A client is on one server process at a time: when its address leads elsewhere, all of its connections go there."""

from __future__ import annotations

import itertools
from typing import Callable, Iterator, List, Tuple

import pytest
import redlatch
from support import Proxy, RedisServer, closed_port, wait_until

MakeServer = Callable[..., RedisServer]


@pytest.fixture(name="servers")
def servers_fixture(make_server: MakeServer) -> Tuple[RedisServer, RedisServer]:
    """Two masters that know nothing of each other."""
    return make_server(), make_server()


@pytest.fixture(name="proxy")
def proxy_fixture(servers: Tuple[RedisServer, RedisServer]) -> Iterator[Proxy]:
    """A proxy that leads to the first server."""
    with Proxy(servers[0].address) as proxy:
        yield proxy


def connections(server: RedisServer, client: redlatch.Client) -> List[str]:
    """Returns the ids of one client's connections."""
    return [entry["id"] for entry in server.client_list() if entry["name"].endswith(client.uuid)]


def test_one_connection_takes_all_others_along(
    servers: Tuple[RedisServer, RedisServer], proxy: Proxy, lock_name: str
) -> None:
    """Only the callers' connection is cut, and leads elsewhere. The hold is lost at once; nothing stays behind."""
    first, second = servers
    with redlatch.connect(proxy.url, watchdog_lease=60.0) as client:
        with redlatch.connect(first.url) as other:
            blocker = other.lock(f"{lock_name}:blocked")
            blocker.acquire()
            with pytest.raises(redlatch.LockLostError):
                with client.lock(lock_name, timeout=5) as held:
                    assert not client.lock(f"{lock_name}:blocked").acquire(timeout=0.3)  # the client is subscribed now
                    old = connections(first, client)
                    assert len(old) >= 2
                    proxy.turn_to(second.address)
                    first.admin.client_kill_filter(_id=callers_of(first, client))
                    with client.lock(f"{lock_name}:new", timeout=5):
                        assert second.admin.exists(f"{lock_name}:new")
                    wait_until(lambda: not connections(first, client))
                    wait_until(lambda: held.lost, 5.0)
            blocker.release()


def callers_of(server: RedisServer, client: redlatch.Client) -> str:
    """Returns the id of the client's first connection, which is the callers'."""
    return min(connections(server, client), key=int)


def test_a_master_that_became_a_replica(make_server: MakeServer, lock_name: str) -> None:
    """The master of a holder becomes a replica, and its address leads to the new master. No caller gets READONLY."""
    master = make_server(repl_diskless_sync_delay=0)
    replica = make_server(replicaof=["127.0.0.1", str(master.port)], repl_diskless_sync_delay=0)
    wait_until(lambda: replica.admin.info("replication")["master_link_status"] == "up")
    with Proxy(master.address) as proxy, redlatch.connect(proxy.url, watchdog_lease=3.0) as client:
        with client.lock(lock_name, timeout=5) as held:
            wait_until(lambda: bool(replica.admin.exists(lock_name)))
            replica.admin.replicaof("NO", "ONE")
            master.admin.replicaof("127.0.0.1", str(replica.port))
            proxy.turn_to(replica.address)
            with client.lock(f"{lock_name}:next", timeout=10):
                assert replica.admin.exists(f"{lock_name}:next")
            before = client.stats()["renewals"]
            wait_until(lambda: client.stats()["renewals"] > before, 10.0)
            assert not held.lost and not connections(master, client)


def test_a_list_of_servers(make_server: MakeServer, lock_name: str) -> None:
    """The master is found anywhere in the list. When it becomes a replica, the client moves to the new master."""
    master = make_server(repl_diskless_sync_delay=0)
    replica = make_server(replicaof=["127.0.0.1", str(master.port)], repl_diskless_sync_delay=0)
    wait_until(lambda: replica.admin.info("replication")["master_link_status"] == "up")
    with closed_port() as closed:
        hosts = f"127.0.0.1:{closed},127.0.0.1:{replica.port},127.0.0.1:{master.port}"
        client = redlatch.connect(f"redis+replicas://{hosts}", watchdog_lease=3.0)
    with client:
        assert client.url == f"redis+replicas://{hosts}/0"
        with client.lock(lock_name, timeout=5) as held:
            assert master.admin.exists(lock_name)
            wait_until(lambda: bool(replica.admin.exists(lock_name)))
            replica.admin.replicaof("NO", "ONE")
            master.admin.replicaof("127.0.0.1", str(replica.port))
            with client.lock(f"{lock_name}:next", timeout=10):
                assert replica.admin.exists(f"{lock_name}:next")
            before = client.stats()["renewals"]
            wait_until(lambda: client.stats()["renewals"] > before, 10.0)
            assert not held.lost and not connections(master, client)
    master.stop()
    with redlatch.connect(f"redis+replicas://{hosts}") as client, client.lock(lock_name, timeout=5) as held:
        assert not held.lost
    replica.stop()
    with pytest.raises(redlatch.UnreachableError):
        redlatch.connect(f"redis+replicas://{hosts}", connect_timeout=1)


def test_the_master_that_a_replica_follows(make_server: MakeServer, lock_name: str) -> None:
    """The list names the replica only. The master is found at the address that the map gives in place of the announced
    one. When it is replaced, the new one is found."""
    master = make_server(repl_diskless_sync_delay=0)
    replica = make_server(replicaof=["127.0.0.1", str(master.port)], repl_diskless_sync_delay=0)
    wait_until(lambda: replica.admin.info("replication")["master_link_status"] == "up")
    with Proxy(master.address) as proxy:
        url = f"redis+replicas://127.0.0.1:{replica.port}?address_map=127.0.0.1:{master.port}=localhost:{proxy.port}"
        with redlatch.connect(url, watchdog_lease=3.0) as client, client.lock(lock_name, timeout=5) as held:
            assert master.admin.exists(lock_name) and any(link.client_open for link in list(proxy.links))
            wait_until(lambda: bool(replica.admin.exists(lock_name)))
            replica.admin.replicaof("NO", "ONE")
            master.admin.replicaof("127.0.0.1", str(replica.port))
            with client.lock(f"{lock_name}:next", timeout=10):
                assert replica.admin.exists(f"{lock_name}:next")
            assert not held.lost and not connections(master, client)


def test_a_replica_stays_an_error(make_server: MakeServer, lock_name: str) -> None:
    """It stays an error if the address goes on leading to the replica."""
    master = make_server()
    replica = make_server(replicaof=["127.0.0.1", str(master.port)])
    with redlatch.connect(replica.url) as client, pytest.raises(redlatch.ServerError) as caught:
        client.lock(lock_name).acquire(timeout=3)
    assert caught.value.status_name == "read_only"


def test_a_proxy_that_balances_is_an_error(
    servers: Tuple[RedisServer, RedisServer], proxy: Proxy, lock_name: str
) -> None:
    """After some moves back and forth the client says what is wrong."""
    expected = pytest.raises(redlatch.UnsupportedError, match="several server processes in turn: expected one")
    with redlatch.connect(proxy.url) as client, expected:
        for server in itertools.islice(itertools.cycle(servers[::-1]), 40):
            proxy.turn_to(server.address)
            proxy.cut_all()
            client.lock(lock_name, timeout=5).state()

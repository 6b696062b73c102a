# SPDX-License-Identifier: Apache-2.0
"""Nodes of a cluster that leave it, that are reached at other addresses than they announce, or not at all."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager, suppress
from typing import Iterator, List, Sequence, Tuple

import pytest
import redis
import redlatch
from support import Proxy, RedisServer, wait_until
from support.cluster import Cluster, call
from test_89_sentinel import in_use
from waiters import Waiting

# A client asks for the topology this often while anything is held.
INTERVAL_S = 0.5
# Far below the lease, 60 s, and the 5 s after which a waiter rechecks by itself.
SOON = 3.0
NOWHERE = "no.such.invalid"


def connect(url: str) -> redlatch.Client:
    """A client that asks for the topology often."""
    return redlatch.connect(url, watchdog_lease=60.0, tuning=redlatch.Tuning(dns_interval=INTERVAL_S))


def on_each_master(cluster: Cluster, stem: str) -> List[str]:
    """Returns a name for each master, in their order."""
    return [next(name for name in (f"{stem}:{i}" for i in range(1000)) if cluster.master_of(name) is server)
            for server in cluster.servers]  # fmt: skip


@pytest.fixture(name="smaller")
def smaller_fixture() -> Iterator[Cluster]:
    """Three masters, of which the second one is to leave."""
    with Cluster() as cluster:
        yield cluster


def forget(cluster: Cluster) -> None:
    """Makes the others forget the second node. The first one takes over its slots, without their keys."""
    first, gone, last = cluster.servers
    slots = [(begin, end) for begin, end, port, *_ in call(first, "CLUSTER", "SLOTS") if port[1] == gone.port]
    gone_id = cluster.id_of(gone)
    for server in (first, last):
        call(server, "CLUSTER", "FORGET", gone_id)
    for begin, end in slots:
        call(first, "CLUSTER", "ADDSLOTS", *range(begin, end + 1))


def test_a_hold_on_a_node_that_is_forgotten(smaller: Cluster, lock_name: str) -> None:
    """The node leaves the cluster with its keys, while it runs, and another one gets its slots. The hold is lost soon,
    with the reason. A waiter gets the lock."""
    first, gone, _ = smaller.servers
    kept, name, _ = on_each_master(smaller, lock_name)
    url = f"redis+cluster://127.0.0.1:{first.port}"
    with connect(url) as client, connect(url) as other:
        lock, elsewhere = client.lock(name), client.lock(kept)
        assert lock.acquire(timeout=5) and elsewhere.acquire(timeout=5)
        hold = lock.held()
        assert hold is not None and len(gone.client_list("redlatch:")) > 0
        waiting = Waiting(other.lock(name), 20.0)
        wait_until(lambda: other.stats()["subscriptions"] > 0)
        forget(smaller)
        wait_until(lambda: hold.lost, SOON + INTERVAL_S, "the loss")
        assert hold.lost_reason == "missing"
        with pytest.raises(redlatch.LockLostError, match="the server no longer knows of it"):
            hold.release()
        assert waiting.result(SOON) is True
        wait_until(lambda: gone.client_list("redlatch:") == [], SOON, lambda: str(gone.client_list("redlatch:")))
        assert elsewhere.owned() and client.stats()["lost"] == 1


def test_a_hold_that_moved_before_its_node_went(smaller: Cluster, lock_name: str) -> None:
    """The slot migrates with its keys. Then the node is forgotten, and dies. Nothing is lost."""
    first, gone, _ = smaller.servers
    name = on_each_master(smaller, lock_name)[1]
    with connect(f"redis+cluster://127.0.0.1:{first.port}") as client, client.lock(name, timeout=5) as held:
        smaller.move_slot(name, first)
        forget(smaller)
        gone.kill()
        assert client.lock(name).owned() and not held.lost
        with client.lock(f"{{{name}}}:new", timeout=SOON):
            pass
        assert client.stats()["lost"] == 0
    assert first.admin.exists(name) == 0


# ------------------------------------------------------------------------------------------------------- addresses --


@pytest.fixture(name="cluster", scope="module")
def cluster_fixture() -> Iterator[Cluster]:
    """Three masters."""
    with Cluster() as cluster:
        yield cluster


def through_proxies(cluster: Cluster, stack: ExitStack) -> Tuple[List[Proxy], str]:
    """Returns a proxy for each master, and the address map that leads there."""
    proxies = [stack.enter_context(Proxy(one.address)) for one in cluster.servers]
    pairs = [f"127.0.0.1:{one.port}=localhost:{proxy.port}" for one, proxy in zip(cluster.servers, proxies)]
    return proxies, ",".join(pairs)


@pytest.mark.parametrize("sharded", ["auto", "off"])
def test_announced_addresses_are_translated(cluster: Cluster, lock_name: str, sharded: str) -> None:
    """Each node is reached at another port than it announces, for MOVED, ASK and messages, too."""
    with ExitStack() as stack:
        proxies, pairs = through_proxies(cluster, stack)
        url = f"redis+cluster://127.0.0.1:{proxies[0].port}?address_map={pairs}&sharded_messages={sharded}"
        wait_until(lambda: not any(one.client_list("redlatch:") for one in cluster.servers))  # of the test before
        client, other = stack.enter_context(connect(url)), stack.enter_context(connect(url))
        for name, proxy in zip(on_each_master(cluster, lock_name), proxies):
            held = client.lock(name)
            assert held.acquire(timeout=5)
            waiting = Waiting(other.lock(name), 20.0)
            wait_until(lambda proxy=proxy: in_use(proxy) >= 3)  # one of each client for commands, one for messages
            held.release()
            assert waiting.result(SOON) is True
        held = client.lock(lock_name)
        assert held.acquire(timeout=5)
        source = cluster.master_of(lock_name)
        target = cluster.others(source)[0]
        cluster.begin_move(lock_name, target)
        with client.lock(f"{{{lock_name}}}:late", timeout=5):  # by ASK
            pass
        cluster.move_slot(lock_name, target)
        held.release()  # by MOVED
        # All connections of the clients go through the proxies.
        wait_until(
            lambda: [len(one.client_list("redlatch:")) for one in cluster.servers] == [in_use(each) for each in proxies]
        )


@contextmanager
def stopped(servers: Sequence[RedisServer]) -> Iterator[None]:
    """The servers accept connections but reply nothing."""
    for server in servers:
        server.sigstop()
    try:
        yield
    finally:
        for server in servers:
            server.sigcont()


def test_a_caller_sleeps_while_all_nodes_are_silent(cluster: Cluster, lock_name: str) -> None:
    """It would hold the client's mutex if it did not. The connection counts as dead after 0.2 s and is not made anew in
    0.8 s. Then each search for the topology waits 0.2 s for each node."""
    url = f"redis+cluster://127.0.0.1:{cluster.servers[0].port}?dead_peer_timeout=0.2&connect_timeout=0.8"
    with connect(url) as client:
        lock = client.lock(lock_name)
        with lock:
            pass
        with stopped(cluster.servers):
            before = time.process_time()
            with suppress(redlatch.UnreachableError):
                assert not lock.acquire(timeout=2.0)
            assert time.process_time() - before < 0.3
    wait_until(cluster.is_ready)


def test_a_client_opens_while_one_master_is_silent(cluster: Cluster) -> None:
    """Whichever of the three is tried first, the others have a part of the time, and need some."""
    for silent in range(3):
        with ExitStack() as stack:
            proxies, pairs = through_proxies(cluster, stack)
            for number, proxy in enumerate(proxies):
                proxy.drop() if number == silent else proxy.delay(10)
            url = f"redis+cluster://127.0.0.1:{proxies[silent - 1].port}?address_map={pairs}&connect_timeout=0.6"
            stack.enter_context(connect(url))


@pytest.mark.parametrize("how_many", [1, 3])
def test_host_names_that_do_not_resolve(cluster: Cluster, lock_name: str, how_many: int) -> None:
    """Calls end in their time with the host name in the error. Names on other nodes are not affected."""
    names = on_each_master(cluster, lock_name)
    try:
        for number, server in enumerate(cluster.servers):
            call(server, "CONFIG", "SET", "cluster-preferred-endpoint-type", "hostname")
            call(server, "CONFIG", "SET", "cluster-announce-hostname", NOWHERE if number < how_many else "")
    except redis.ResponseError as error:
        pytest.skip(f"the server is older: {error}")
    try:
        url = f"redis+cluster://127.0.0.1:{cluster.servers[-1].port}"
        ports = {server.port for server in cluster.servers[:how_many]}

        def is_announced() -> bool:
            masters = [entry[2] for entry in call(cluster.servers[-1], "CLUSTER", "SLOTS")]
            return all(NOWHERE in str(host) for host, port, *_ in masters if port in ports)

        wait_until(is_announced)
        with redlatch.connect(url, lazy=True, connect_timeout=1.0) as client:
            for timeout in (0, 1):
                started = time.monotonic()
                with pytest.raises(redlatch.UnreachableError, match=NOWHERE):
                    client.lock(names[0]).acquire(timeout=timeout)
                assert time.monotonic() - started < timeout + 3
            for name in names[how_many:]:
                with client.lock(name, timeout=5):
                    pass
        if how_many == len(names):
            with pytest.raises(redlatch.UnreachableError, match=NOWHERE):
                redlatch.connect(url, connect_timeout=1.0)
    finally:
        for server in cluster.servers:
            call(server, "CONFIG", "SET", "cluster-announce-hostname", "")
            call(server, "CONFIG", "SET", "cluster-preferred-endpoint-type", "ip")

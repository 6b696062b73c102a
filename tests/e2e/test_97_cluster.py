# SPDX-License-Identifier: Apache-2.0
"""A cluster of several masters: names in all slots, and clients that know only some of the nodes at first."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import Callable, Iterator, List

import pytest
import redlatch
from redlatch._ffi import ffi, lib, text
from support.cluster import Cluster, call
from support.ports import free_port
from support.tls_server import Identity
from support.waiting import wait_until
from waiters import Waiting

_RIGHTS = (
    "+evalsha +eval +subscribe +unsubscribe +ping +publish +pttl +pexpire +del +hdel +hexists +hget +hgetall +hkeys"
    " +hlen +hscan +hset +cluster|slots +asking +spublish +ssubscribe +sunsubscribe"
)
MakeLock = Callable[[redlatch.Client, str], redlatch.Lock]

LOCKS: dict[str, MakeLock] = {
    "mutex": lambda client, name: client.lock(name),
    "fair": lambda client, name: client.fair_lock(name),
    "spin": lambda client, name: client.spin_lock(name),
    "fenced": lambda client, name: client.fenced_lock(name),
    "plain": lambda client, name: client.plain_lock(name),
    "read": lambda client, name: client.read_write_lock(name).read,
    "write": lambda client, name: client.read_write_lock(name).write,
    "group": lambda client, name: client.group_lock(name, ["one", "two"]),
    "multi": lambda client, name: redlatch.multi_lock(*(client.lock(f"{name}:{i}") for i in range(12))),
}


@pytest.fixture(name="cluster", scope="module")
def cluster_fixture() -> Iterator[Cluster]:
    """Three masters."""
    with Cluster() as cluster:
        yield cluster


@pytest.fixture(name="client")
def client_fixture(cluster: Cluster) -> Iterator[redlatch.Client]:
    """A client that knows the first node only."""
    with redlatch.connect(cluster.url.partition(",")[0]) as client:
        yield client


def on_each_master(cluster: Cluster, stem: str) -> List[str]:
    """Returns a name for each of the masters."""
    found = {}
    number = 0
    while len(found) < len(cluster.servers):
        name = f"{stem}:{number}"
        found.setdefault(cluster.master_of(name).port, name)
        number += 1
    return list(found.values())


@pytest.mark.parametrize("kind", LOCKS)
def test_every_kind_on_every_node(cluster: Cluster, client: redlatch.Client, lock_name: str, kind: str) -> None:
    """Each command goes to the node that has the name: nothing is redirected."""
    for name in on_each_master(cluster, lock_name):
        lock = LOCKS[kind](client, name)
        assert lock.acquire(timeout=5) and lock.owned()
        if kind != "multi":
            assert call(cluster.master_of(name), "EXISTS", name) == 1
            lock.extend(20)
        lock.release()
        assert not lock.owned()
    assert client.stats()["resends"] == 0


@pytest.mark.parametrize("kind", [kind for kind in LOCKS if kind != "read"])
def test_a_release_wakes_who_waits(cluster: Cluster, client: redlatch.Client, lock_name: str, kind: str) -> None:
    with redlatch.connect(cluster.url) as other:
        for name in on_each_master(cluster, lock_name):
            holder = LOCKS[kind](client, name)
            assert holder.acquire(timeout=5)
            waiting = Waiting(LOCKS[kind](other, name), 20.0)
            if kind not in ("spin", "multi"):
                wait_until(lambda: other.stats()["subscriptions"] >= 1, 10.0, "the waiter's subscription")
            holder.release()
            assert waiting.result(15.0) is True


@pytest.mark.parametrize("kind", [kind for kind in LOCKS if kind not in ("group", "multi")])
def test_the_hold_of_another_process(cluster: Cluster, client: redlatch.Client, lock_name: str, kind: str) -> None:
    """A hold is extended and released by its owner id, on whatever node it is. A waiter gets a message."""
    for name in on_each_master(cluster, lock_name):
        with redlatch.connect(cluster.url) as holder, redlatch.connect(cluster.url) as other:
            lock, named = LOCKS[kind](holder, name), LOCKS[kind](client, name)
            assert lock.acquire()
            owner, done = lock.held().owner.encode(), ffi.new("int32_t *", -1)
            assert (lib.redlatch_lock_extend_owner(named._handle, owner, 90_000, done), done[0]) == (0, 1)
            assert 80_000 < call(cluster.master_of(name), "PTTL", name) <= 90_000
            waiting = Waiting(LOCKS["write" if kind == "read" else kind](other, name), 20.0)
            wait_until(lambda: other.stats()["waiters" if kind == "spin" else "subscriptions"] >= 1)
            assert (lib.redlatch_lock_release_owner(named._handle, owner, done), done[0]) == (0, 1)
            assert waiting.result(15.0) is True
            assert kind == "spin" or other.stats()["messages"] >= 1


def test_counts_on_every_node(cluster: Cluster, client: redlatch.Client, lock_name: str) -> None:
    for name in on_each_master(cluster, lock_name):
        semaphore = client.semaphore(name)
        assert semaphore.try_set_permits(2) and semaphore.acquire() and semaphore.available() == 1
        semaphore.release()
        assert semaphore.delete()
        permits = client.permit_semaphore(name)
        assert permits.try_set_permits(1)
        permit = permits.acquire()
        assert permit is not None and permits.available() == 0
        permit.release()
        assert permits.delete()
        latch = client.latch(name)
        assert latch.try_set_count(1)
        latch.count_down()
        assert latch.wait(0)


def test_two_multi_locks_take_turns(cluster: Cluster, client: redlatch.Client, lock_name: str) -> None:
    """Their members overlap in many slots and are given in opposite orders."""
    with redlatch.connect(cluster.url) as other:
        names = [f"{lock_name}:{i}" for i in range(16)]
        first = redlatch.multi_lock(*(client.lock(name) for name in names))
        second = redlatch.multi_lock(*(other.lock(name) for name in reversed(names[4:])))
        for _ in range(10):
            assert first.acquire(timeout=20)
            waiting = Waiting(second, 20.0)
            first.release()
            assert waiting.result(25.0) is True
        assert all(call(cluster.master_of(name), "EXISTS", name) == 0 for name in names)


def test_all_are_renewed(cluster: Cluster, lock_name: str) -> None:
    """A script renews the names of one slot."""
    with redlatch.connect(cluster.url, watchdog_lease=3.0) as client, ExitStack() as held:
        names = [f"{lock_name}:{i}" for i in range(100)]
        for name in names:
            held.enter_context(client.lock(name))
        wait_until(lambda: client.stats()["renewals"] >= 300, 20.0, "three renewals of each")
        assert client.stats()["lost"] == 0
        assert all(call(cluster.master_of(name), "PTTL", name) > 1000 for name in names)


def background_threads() -> int:
    """Returns how many threads of this process are redlatch's."""
    return sum(path.read_text(encoding="utf-8") == "redlatch\n" for path in Path("/proc/self/task").glob("*/comm"))


def test_connections_are_to_nodes_that_are_used(cluster: Cluster, lock_name: str) -> None:
    """A used node has two connections: one for commands, one for messages. The connection by which the client was
    opened ends when another node is used. All nodes share a background thread."""
    names = on_each_master(cluster, lock_name)

    def counts() -> List[int]:
        return [len(server.client_list("redlatch:")) for server in cluster.servers]

    before, threads = counts(), background_threads()
    used = [0] * len(names)
    with redlatch.connect(cluster.url) as client:
        wait_until(lambda: sum(counts()) == sum(before) + 1)
        for name in names[1:]:
            for _ in range(50):
                with client.lock(name):
                    pass
            used[cluster.servers.index(cluster.master_of(name))] = 1
            wait_until(lambda: [now - old for now, old in zip(counts(), before)] == used)
            holder = client.lock(name)
            holder.acquire()
            subscribed = client.stats()["subscriptions"]
            waiting = Waiting(client.lock(name, owner="handle"), 20.0)
            wait_until(lambda subscribed=subscribed: client.stats()["subscriptions"] > subscribed)
            holder.release()
            assert waiting.result(15.0) is True
            used[cluster.servers.index(cluster.master_of(name))] = 2
            wait_until(lambda: [now - old for now, old in zip(counts(), before)] == used)
        wait_until(lambda: client.stats()["subscriptions"] == 0, 20.0, "the channels to be left")
        assert [now - old for now, old in zip(counts(), before)] == used and sorted(used) == [0, 2, 2]
        assert background_threads() == threads + 1


def test_a_walk_sees_all_masters(cluster: Cluster, client: redlatch.Client, lock_name: str) -> None:
    with ExitStack() as held:
        names = {f"{lock_name}:{i}" for i in range(60)}
        for name in names:
            held.enter_context(client.lock(name))
        assert sorted(report.name for report in client.scan(f"{lock_name}:*")) == sorted(names)
        party = client.inspect(f"{lock_name}:7").parties[0]
        assert party.host and party.pid


# ------------------------------------------------------------------------------------------------- opening a client --


def test_nodes_that_are_down_are_passed_over(cluster: Cluster, lock_name: str) -> None:
    hosts = f"127.0.0.1:{free_port()},{cluster.url.rpartition('/')[2]}"
    with redlatch.connect(f"redis+cluster://{hosts}") as client, client.lock(lock_name):
        pass
    started = time.monotonic()
    with pytest.raises(redlatch.UnreachableError, match="Connection refused"):
        redlatch.connect(f"redis+cluster://127.0.0.1:{free_port()},127.0.0.1:{free_port()}", connect_timeout=2)
    assert time.monotonic() - started < 4


def test_a_server_that_is_no_cluster(server, lock_name: str) -> None:  # type: ignore[no-untyped-def]
    """The error is the server's own."""
    with pytest.raises(redlatch.RedlatchError, match="cluster support disabled"):
        redlatch.connect(f"redis+cluster://127.0.0.1:{server.port}")


def test_a_client_of_one_server_names_the_right_url(cluster: Cluster, lock_name: str) -> None:
    url = f"redis://127.0.0.1:{cluster.servers[0].port}"
    elsewhere = next(n for n in on_each_master(cluster, lock_name) if cluster.master_of(n) is not cluster.servers[0])
    with redlatch.connect(url) as client, pytest.raises(redlatch.UnsupportedError, match=r"expected redis\+cluster://"):
        client.lock(elsewhere).acquire(timeout=5)


def test_a_command_of_the_host_is_not_redirected(cluster: Cluster, client: redlatch.Client, lock_name: str) -> None:
    words = [ffi.new("char[]", word) for word in (b"EXISTS", lock_name.encode())]
    arguments, reply = ffi.new("char *[]", words), ffi.new("char[10]")
    owner = cluster.master_of(lock_name)
    for server in cluster.servers:
        address = f"127.0.0.1:{server.port}".encode()
        status = lib.redlatch_client_command(client._handle, address, arguments, 2, reply, 10, ffi.NULL)
        assert status == (lib.REDLATCH_OK if server is owner else lib.REDLATCH_UNSUPPORTED)
        assert server is owner or f" 127.0.0.1:{owner.port})" in text(lib.redlatch_last_error())
    assert ffi.string(reply) == b"0"


@pytest.mark.parametrize("part, complaint", [
    ("/1", 'database "1": expected 0: a cluster has no other'),
    ("?sentinel_username=u", "sentinel_username"),
    ("?db=7", 'db "7": expected 0'),
])
def test_what_a_cluster_has_not(cluster: Cluster, part: str, complaint: str) -> None:
    with pytest.raises(redlatch.InvalidArgumentError, match=complaint):
        redlatch.connect(cluster.url + part)


def test_lazy(cluster: Cluster, lock_name: str) -> None:
    with redlatch.connect(cluster.url, lazy=True) as client:
        assert client.stats()["connections"] == 0
        with client.lock(lock_name, timeout=5):
            assert client.stats()["connections"] <= 3
    with redlatch.connect(cluster.url, lazy=True) as client:
        assert list(client.scan(f"{lock_name}*")) == []


def test_a_password(lock_name: str) -> None:
    with Cluster(masters=2, requirepass="S3CR3T", masterauth="S3CR3T") as cluster:
        url = cluster.url.replace("//", "//:S3CR3T@")
        with redlatch.connect(url) as client:
            for i in range(10):
                with client.lock(f"{lock_name}:{i}", timeout=5):
                    pass
            assert "S3CR3T" not in client.url
        with pytest.raises(redlatch.AuthenticationError):
            redlatch.connect(cluster.url)


def test_tls(tmp_path_factory: pytest.TempPathFactory, lock_name: str) -> None:
    """Nodes announce their TLS ports to clients that ask by TLS."""
    identity = Identity.make(tmp_path_factory.mktemp("certificates"))
    with Cluster(masters=2, tls=identity) as cluster, redlatch.connect(cluster.url) as client:
        assert cluster.url.startswith("rediss+cluster://")
        for i in range(10):
            with client.lock(f"{lock_name}:{i}", timeout=5):
                pass


def test_a_user_of_exactly_these_rights(cluster: Cluster, lock_name: str) -> None:
    """The rights are those of docs/how-to/access-rules.md for a mutex and for a cluster. They suffice while a slot
    migrates."""
    for server in cluster.servers:
        rules = f"~*{lock_name}* &redisson_lock__channel:* -@all {_RIGHTS}".split()
        call(server, "ACL", "SETUSER", "worker", "on", ">secret", *rules)
    with redlatch.connect(cluster.url.replace("//", "//worker:secret@")) as client:
        for name in on_each_master(cluster, lock_name):
            with client.lock(name, timeout=5):
                pass
        name = f"{{{lock_name}}}:moving"
        source = cluster.master_of(name)
        target = cluster.others(source)[0]
        cluster.begin_move(name, target)
        with client.lock(name, timeout=5):
            assert call(source, "CLUSTER", "COUNTKEYSINSLOT", cluster.slot_of(name)) == 0
        cluster.end_move(name, target)

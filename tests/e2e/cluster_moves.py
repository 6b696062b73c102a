# SPDX-License-Identifier: Apache-2.0
"""Slots that migrate and masters that are replaced, while locks are held, waited for and renewed.

These tests are a stage of their own, because they take minutes.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import partial
from typing import Callable, Iterator, List

import pytest
import redlatch
from support.cluster import Cluster, call
from support.server import RedisServer
from support.waiting import wait_until
from test_97_cluster_messages import HAS_SHARDING, Wait, channels
from waiters import Waiting

_WAIT = 25.0


@pytest.fixture(name="cluster", scope="module")
def cluster_fixture() -> Iterator[Cluster]:
    """A cluster of three masters, each with a replica."""
    with Cluster(replicas=1) as cluster:
        yield cluster


@pytest.fixture(name="client")
def client_fixture(cluster: Cluster) -> Iterator[redlatch.Client]:
    """A client with leases of 6 s, which it renews every 2 s."""
    with redlatch.connect(cluster.url, watchdog_lease=6.0) as client:
        yield client


@pytest.fixture(name="other")
def other_fixture(cluster: Cluster) -> Iterator[redlatch.Client]:
    """A second client, with the same leases."""
    with redlatch.connect(cluster.url, watchdog_lease=6.0) as client:
        yield client


KINDS: dict[str, Callable[[redlatch.Client, str], redlatch.Lock]] = {
    "mutex": lambda client, name: client.lock(name),
    "fair": lambda client, name: client.fair_lock(name),
    "fenced": lambda client, name: client.fenced_lock(name),
    "write": lambda client, name: client.read_write_lock(name).write,
    "plain": lambda client, name: client.plain_lock(name),
    "spin": lambda client, name: client.spin_lock(name),
    "group": lambda client, name: client.group_lock(name, ["one", "two"]),
    "multi": lambda client, name: redlatch.multi_lock(*(client.lock(f"{{{name}}}:{i}") for i in range(3)),
                                                      *(client.lock(f"{name}:{i}") for i in range(3))),
}


def waits(client: redlatch.Client, lock: redlatch.Lock, kind: str) -> Waiting:
    """Starts a waiter of the client, and waits until it is queued and, unless the kind polls, subscribed."""
    waiting = Waiting(lock, _WAIT)
    wait_until(lambda: client.stats()["waiters"] > 0, 10.0, "the waiter")
    wait_until(lambda: kind in ("multi", "spin") or client.stats()["subscriptions"] > 0, 10.0, "a subscription")
    return waiting


def in_step(master: RedisServer) -> bool:
    """Returns whether the master's replica has received all writes."""
    found = master.admin.info("replication")
    return bool(found["connected_slaves"] == 1 and found["slave0"]["offset"] == found["master_repl_offset"])


def renewed_since(client: redlatch.Client, before: int) -> bool:
    """Returns whether the client has made more than `before` renewals."""
    return client.stats()["renewals"] > before


@pytest.mark.parametrize("kind", KINDS)
def test_a_slot_moves_there_and_back(
    cluster: Cluster, client: redlatch.Client, other: redlatch.Client, lock_name: str, kind: str
) -> None:
    """A slot moves key by key while a lock is held and waited for. The hold stays and is renewed, and its release wakes
    the waiter."""
    holder, waiter = KINDS[kind](client, lock_name), KINDS[kind](other, lock_name)
    home = cluster.master_of(lock_name)
    for target in (cluster.others(home)[0], home):
        assert holder.acquire(timeout=_WAIT)
        waiting = waits(other, waiter, kind)
        renewals = client.stats()["renewals"]
        cluster.move_slot(lock_name, target)
        wait_until(partial(renewed_since, client, renewals), 10.0, "a renewal")
        assert holder.owned() and not waiting.done
        holder.release()
        assert waiting.result(_WAIT) is True
    assert client.stats()["lost"] == other.stats()["lost"] == 0


@pytest.mark.parametrize("kind", ["read", "semaphore", "permits", "latch"])
def test_what_is_waited_for_moves_there_and_back(
    cluster: Cluster, client: redlatch.Client, other: redlatch.Client, lock_name: str, kind: str
) -> None:
    """The same for readers and for counts: they stay taken, and a message wakes the waiter."""
    home = cluster.master_of(lock_name)
    for target in (cluster.others(home)[0], home):
        wait = Wait(kind, f"{{{lock_name}}}:{target.port}", client, other)
        renewals = client.stats()["renewals"]
        moves_along = HAS_SHARDING and channels(cluster.master_of(lock_name)) != []
        cluster.move_slot(lock_name, target)
        if kind in ("read", "permits"):
            wait_until(partial(renewed_since, client, renewals), 10.0, "a renewal")
        if moves_along:  # the channel, unless it is in another slot
            wait_until(lambda target=target: channels(target) != [], _WAIT)  # type: ignore[misc]
        wait.calm_down()
        assert not wait.waiting.done
        wait.pass_on()
    assert client.stats()["lost"] == other.stats()["lost"] == 0


@pytest.mark.parametrize("kind", ["mutex", "plain", "spin"])
def test_names_of_a_slot_that_migrates(
    cluster: Cluster, client: redlatch.Client, lock_name: str, kind: str
) -> None:
    """A key that exists on the source stays there. A key that does not exist is created on the target, by commands that
    the source redirects one by one with ASK."""
    make = {"mutex": client.lock, "plain": client.plain_lock, "spin": client.spin_lock}[kind]
    held, late = make(f"{{{lock_name}}}:held"), make(f"{{{lock_name}}}:late")
    source = cluster.master_of(lock_name)
    target = cluster.others(source)[0]
    assert held.acquire(timeout=5)
    cluster.begin_move(lock_name, target)
    try:
        for _ in range(3):
            assert late.acquire(timeout=5) and late.owned()
            assert call(source, "CLUSTER", "COUNTKEYSINSLOT", cluster.slot_of(lock_name)) == 1
            late.release()
        assert held.owned()
        held.release()
        assert held.acquire(timeout=5)
        held.release()
    finally:
        cluster.end_move(lock_name, target)
    assert held.acquire(timeout=5)
    held.release()


@pytest.mark.parametrize("kind", ["fair", "fenced", "write"])
def test_several_keys_wait_for_the_migration(
    cluster: Cluster, client: redlatch.Client, lock_name: str, kind: str
) -> None:
    """Some keys of the script are on each node, so no node can run it until the slot has moved."""
    lock = KINDS[kind](client, lock_name)
    assert lock.acquire(timeout=5)
    lock.release()
    target = cluster.others(cluster.master_of(lock_name))[0]
    cluster.begin_move(lock_name, target)
    waiting = Waiting(lock, _WAIT)
    for key in call(cluster.master_of(lock_name), "CLUSTER", "GETKEYSINSLOT", cluster.slot_of(lock_name), 10)[:1]:
        call(cluster.master_of(lock_name), "MIGRATE", "127.0.0.1", target.port, key, 0, 5000)
    cluster.move_slot(lock_name, target)
    assert waiting.result(_WAIT) is True


def test_a_multi_lock_is_released_while_its_slot_migrates(
    cluster: Cluster, client: redlatch.Client, lock_name: str
) -> None:
    """The keys are on two nodes, so no node releases them together."""
    names = [f"{{{lock_name}}}:{part}" for part in "abc"]
    lock = redlatch.multi_lock(*(client.lock(name) for name in names))
    assert lock.acquire(timeout=5)
    source = cluster.master_of(lock_name)
    target = cluster.others(source)[0]
    cluster.begin_move(lock_name, target)
    try:
        cluster.move_keys(source, target, names[:1])
        lock.release()
        assert not any(client.lock(name).state().locked for name in names)
    finally:
        cluster.end_move(lock_name, target)


@pytest.mark.parametrize("how", ["killed", "frozen", "ordered", "forced", "takeover"])
def test_a_master_is_replaced(
    cluster: Cluster, client: redlatch.Client, other: redlatch.Client, lock_name: str, how: str
) -> None:
    """The replica that becomes master has the hold. It is verified there, and its release wakes the waiter."""
    master = cluster.master_of(lock_name)
    replica = cluster.replica_of(master)
    holder = client.lock(lock_name)
    assert holder.acquire(timeout=_WAIT)
    waiting = waits(other, other.lock(lock_name), "mutex")
    wait_until(lambda: in_step(master), 10.0, "the replica to have the hold")
    if how == "killed":
        master.kill()
    elif how == "frozen":
        master.sigstop()
    else:
        words = {"ordered": (), "forced": ("FORCE",), "takeover": ("TAKEOVER",)}[how]
        call(replica, "CLUSTER", "FAILOVER", *words)
    wait_until(lambda: cluster.master_of(lock_name, via=replica) is replica, 30.0, "the failover")
    assert holder.owned() and not waiting.done
    holder.release()
    assert waiting.result(_WAIT) is True
    if how == "killed":
        master.start()
    elif how == "frozen":
        master.sigcont()
    wait_until(cluster.is_ready, 30.0, "the cluster")
    assert client.stats()["lost"] == other.stats()["lost"] == 0


@contextmanager
def cut_from_its_replica(cluster: Cluster, name: str) -> Iterator[None]:
    """Fails the name's master over to its replica, which lacks everything that was written in this block."""
    master = cluster.master_of(name)
    replica = cluster.replica_of(master)
    wait_until(lambda: in_step(master), 10.0, "the replica to be in step")
    replica.sigstop()
    assert call(master, "CLIENT", "KILL", "TYPE", "replica") == 1
    yield
    master.kill()
    replica.sigcont()
    wait_until(lambda: cluster.master_of(name, via=replica) is replica, 30.0, "the failover")


def calm_down(cluster: Cluster) -> None:
    """Starts the servers that were killed, and waits until the cluster is ready."""
    for server in cluster.servers:
        if not server.running:
            server.start()
    wait_until(cluster.is_ready, 30.0, "the cluster")


def test_a_hold_that_was_not_replicated_is_lost_at_once(
    cluster: Cluster, client: redlatch.Client, lock_name: str
) -> None:
    """The loss comes long before the lease ends: as soon as the client, which asks for the topology all the time, knows
    the new master."""
    lock = client.lock(lock_name, lease=60)
    with cut_from_its_replica(cluster, lock_name):
        assert lock.acquire(timeout=_WAIT)
    started = time.monotonic()
    wait_until(lambda: client.stats()["lost"] == 1, 20.0, "the loss")
    assert time.monotonic() - started < 5.0  # of a lease of a minute
    with pytest.raises(redlatch.LockLostError):
        lock.release()
    calm_down(cluster)


@pytest.mark.parametrize("from_time", [True, False])
def test_a_token_after_the_counter_was_lost(
    cluster: Cluster, client: redlatch.Client, lock_name: str, from_time: bool
) -> None:
    """A token from the new master's time is higher than all tokens before. A token from the counter that is left
    repeats an earlier one."""
    lock = client.fenced_lock(lock_name, token_from_time=from_time)
    seen: List[int] = []

    def take_turn() -> int:
        with lock as held:
            assert held.token is not None
            return held.token

    seen.append(take_turn())
    with cut_from_its_replica(cluster, lock_name):
        seen += [take_turn() for _ in range(3)]
    after = take_turn()
    assert seen == sorted(set(seen))
    assert after > seen[-1] if from_time else after in seen
    calm_down(cluster)


def test_replicas_acknowledge(cluster: Cluster, lock_name: str) -> None:
    """The replicas of the name's own master acknowledge, not those of other masters."""
    with redlatch.connect(cluster.url, min_replicas=1, replica_timeout=0.5, watchdog_lease=6.0) as client:
        master = cluster.master_of(lock_name)
        lock = client.lock(lock_name)
        assert lock.acquire(timeout=_WAIT)
        lock.release()
        replica = cluster.replica_of(master)
        replica.sigstop()
        try:
            with pytest.raises(redlatch.NotReplicatedError):
                lock.acquire(timeout=0)
            elsewhere = next(n for n in (f"{lock_name}:{i}" for i in range(50)) if cluster.master_of(n) is not master)
            with client.lock(elsewhere, timeout=5):
                pass
        finally:
            replica.sigcont()
        assert lock.acquire(timeout=_WAIT)
        lock.release()


def test_a_slot_that_nobody_serves(lock_name: str) -> None:
    """A non-blocking acquire fails with the reason, and a timed one at its deadline. A waiter goes on when a node
    serves the slot again."""
    with Cluster(masters=2, cluster_require_full_coverage=False) as cluster, redlatch.connect(cluster.url) as client:
        slot, master = cluster.slot_of(lock_name), cluster.master_of(lock_name)
        other = cluster.others(master)[0]
        for server in cluster.servers:
            call(server, "CLUSTER", "DELSLOTS", slot)
        lock = client.lock(lock_name)
        with pytest.raises(redlatch.ServerError, match="no node of the cluster serves|slot not served"):
            lock.acquire(timeout=0)
        started = time.monotonic()
        with pytest.raises(redlatch.ServerError):
            lock.acquire(timeout=1)
        assert 0.9 < time.monotonic() - started < 3
        waiting = Waiting(lock, _WAIT)
        call(other, "CLUSTER", "ADDSLOTS", slot)
        assert waiting.result(_WAIT) is True

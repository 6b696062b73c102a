# SPDX-License-Identifier: Apache-2.0
"""A slot migrates while the keys that a script needs are divided between source and target. No hold is lost, no lock is
granted wrongly, and waiters go on when the migration has ended.

These tests run in the stage of cluster_moves.py.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Callable, Dict, Iterator, List, NamedTuple

import pytest
import redlatch
from support.cluster import Cluster, call
from support.waiting import wait_until
from waiters import Waiting

_WAIT = 25.0


@pytest.fixture(name="cluster", scope="module")
def cluster_fixture() -> Iterator[Cluster]:
    """A cluster of three masters."""
    with Cluster() as cluster:
        yield cluster


@pytest.fixture(name="clients")
def clients_fixture(cluster: Cluster) -> Iterator[List[redlatch.Client]]:
    """Three clients with leases of 6 s and a long command_timeout."""
    clients = [redlatch.connect(cluster.url, watchdog_lease=6.0, command_timeout=_WAIT) for _ in range(3)]
    yield clients
    for client in clients:
        client.close()


class HalfMoved:
    """A slot that is migrating. The keys `arrived` are on the target already."""

    def __init__(self, cluster: Cluster, name: str, *arrived: str) -> None:
        self._cluster, self._name = cluster, name
        self.source = cluster.master_of(name)
        self.target = cluster.others(self.source)[0]
        cluster.begin_move(name, self.target)
        if arrived:
            cluster.move_keys(self.source, self.target, arrived)
        self._refused = self._refusals()

    def _refusals(self) -> int:
        count = 0
        for node in (self.source, self.target):
            for line in call(node, "INFO", "errorstats").splitlines():
                code, _, errors = line.partition(":count=")
                count += int(errors or 0) if code not in ("errorstat_ASK", "errorstat_MOVED") else 0
        return count

    def wait_refused(self, times: int = 1) -> None:
        """Waits until the nodes have sent so many further error replies, not counting redirections."""
        before = self._refusals()
        wait_until(lambda: self._refusals() >= before + times, 10.0, "a command that is refused")

    def end(self) -> None:
        """Ends the migration: the other keys arrive on the target."""
        self._cluster.move_slot(self._name, self.target)


def nothing_lost(clients: List[redlatch.Client]) -> bool:
    """Returns whether no client has lost a hold."""
    return all(client.stats()["lost"] == 0 for client in clients)


def keys_added(cluster: Cluster, name: str, before: List[str]) -> List[str]:
    """Returns the keys in the slot of the name that are not in `before`."""
    return [key for key in cluster.keys_of(name) if key not in before]


def listens(client: redlatch.Client) -> bool:
    """Returns whether the client is subscribed to a channel."""
    return client.stats()["subscriptions"] > 0


def heartbeat_of_head(cluster: Cluster, name: str) -> str:
    """Returns the heartbeat key of the client whose waiter is at the head of a fair lock's server queue."""
    owner = call(cluster.master_of(name), "LINDEX", f"redisson_lock_queue:{{{name}}}", 0)
    return f"redlatch_waiting:{{{name}}}:{owner.partition(':')[0]}"


def half_of_two_readers(cluster: Cluster, name: str, locks: List[redlatch.ReadWriteLock], side: str) -> HalfMoved:
    """Two clients read while the slot migrates. The second reader's timeout key is on one node, and the other keys are
    on the other node, which is `side`."""
    assert locks[0].read.acquire(timeout=5)
    first = cluster.keys_of(name)
    assert locks[1].read.acquire(timeout=5)
    second = keys_added(cluster, name, first)
    return HalfMoved(cluster, name, *(first if side == "target" else second))


def test_a_reader_beside_a_foreign_one(cluster: Cluster, clients: List[redlatch.Client], lock_name: str) -> None:
    """A second reader waits until the migration ends: its script needs the name's key, which is on the source, and a
    new timeout key, which would be on the target."""
    first, second = (client.read_write_lock(lock_name).read for client in clients[:2])
    assert first.acquire(timeout=5)
    half = HalfMoved(cluster, lock_name)
    waiting = Waiting(second, _WAIT)
    half.wait_refused(2)
    half.end()
    assert waiting.result(_WAIT) is True
    first.release()
    assert nothing_lost(clients)


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_writer_asks_while_a_readers_time_out_is_elsewhere(
    cluster: Cluster, clients: List[redlatch.Client], lock_name: str, side: str
) -> None:
    """A writer does not take a reader for dead whose timeout key is absent because it is on the other node."""
    locks = [client.read_write_lock(lock_name) for client in clients]
    half = half_of_two_readers(cluster, lock_name, locks, side)
    waiting = Waiting(locks[2].write, _WAIT)
    half.wait_refused(2)
    assert not waiting.done
    half.end()
    for lock in locks[:2]:
        assert lock.read.owned()
        lock.read.release()
    assert waiting.result(_WAIT) is True
    assert nothing_lost(clients)


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_reader_leaves_while_anothers_time_out_is_elsewhere(
    cluster: Cluster, clients: List[redlatch.Client], lock_name: str, side: str
) -> None:
    """After the release the lock is not free: the other reader still holds it."""
    locks = [client.read_write_lock(lock_name) for client in clients]
    half = half_of_two_readers(cluster, lock_name, locks, side)
    locks[0].read.release(confirm=False)
    half.wait_refused(2)
    half.end()
    assert locks[1].read.owned()
    assert not locks[2].write.acquire(timeout=0.5)
    locks[1].read.release()
    assert locks[2].write.acquire(timeout=5)
    locks[2].write.release()
    assert nothing_lost(clients)


@pytest.mark.parametrize("moved", ["heartbeat", "the rest"])
def test_a_fair_lock_is_released_while_a_heartbeat_is_elsewhere(
    cluster: Cluster, clients: List[redlatch.Client], lock_name: str, moved: str
) -> None:
    """The waiter at the head of the server queue counts as alive: it is granted the lock, and after it the next."""
    locks = [client.fair_lock(lock_name) for client in clients]
    assert locks[0].acquire(timeout=5)
    waiting = []
    for client, lock in zip(clients[1:], locks[1:]):
        waiting.append(Waiting(lock, _WAIT, keep=True))
        wait_until(partial(listens, client), 10.0, "a place in the queue")
    mine = Waiting(clients[0].fair_lock(lock_name), _WAIT)  # so that the holder's client has a heartbeat, too
    wait_until(lambda: clients[0].stats()["waiters"] > 0, 10.0, "a third place")
    wait_until(lambda: sum("redlatch_waiting" in key for key in cluster.keys_of(lock_name)) == 3, 10.0, "heartbeats")
    head = heartbeat_of_head(cluster, lock_name)
    rest = [key for key in cluster.keys_of(lock_name) if key != head]
    half = HalfMoved(cluster, lock_name, *([head] if moved == "heartbeat" else rest))
    locks[0].release(confirm=False)
    half.wait_refused(2)
    assert not any(each.done for each in [*waiting, mine])
    half.end()
    for each in waiting:
        assert each.result(_WAIT) is True
        each.leave()
    assert mine.result(_WAIT) is True
    assert nothing_lost(clients)


HOLDS: Dict[str, Callable[[redlatch.Client, str], redlatch.Lock]] = {
    "mutex": lambda client, name: client.lock(name),
    "fenced": lambda client, name: client.fenced_lock(name),
    "fair": lambda client, name: client.fair_lock(name),
    "plain": lambda client, name: client.plain_lock(name),
    "group": lambda client, name: client.group_lock(name, ["a", "b"]),
    "read": lambda client, name: client.read_write_lock(name).read,
    "write": lambda client, name: client.read_write_lock(name).write,
}


@pytest.mark.parametrize("kind", HOLDS)
def test_holds_of_a_slot_are_renewed_on_both_sides(cluster: Cluster, lock_name: str, kind: str) -> None:
    """Holds are renewed however long the migration lasts, because all keys of each single name are on one node."""
    with redlatch.connect(cluster.url, watchdog_lease=3.0) as client:
        locks: List[redlatch.Lock] = []
        arrived: List[str] = []
        for i in range(4):
            locks.append(HOLDS[kind](client, f"{{{lock_name}}}:{i}"))
            assert locks[-1].acquire(timeout=5)
            arrived = arrived if i >= 2 else cluster.keys_of(lock_name)
        half = HalfMoved(cluster, lock_name, *arrived)
        renewed = client.stats()["renewals"]
        wait_until(lambda: client.stats()["renewals"] >= renewed + 4 * len(locks), 15.0, "four renewals of each")
        assert client.stats()["lost"] == 0
        half.end()
        for lock in locks:
            lock.release()
        assert client.stats()["lost"] == 0


class Case(NamedTuple):
    """A call whose command has several keys in one slot: what prepares the keys, the call, and its result."""

    prepare: Callable[[redlatch.Client, str], object]
    call: Callable[[redlatch.Client, str, float], object]
    result: object


def members(client: redlatch.Client, name: str) -> redlatch.Lock:
    """Returns a multi lock of two names in one slot."""
    return redlatch.multi_lock(*(client.lock(f"{{{name}}}:{i}") for i in range(2)))


def drew_a_token(client: redlatch.Client, name: str) -> None:
    """Acquires and releases a fenced lock, which leaves its token counter on the server."""
    with client.fenced_lock(name):
        pass


CASES: Dict[str, Case] = {
    "fair": Case(lambda client, name: client.fair_lock(name).acquire(timeout=5),
                 lambda client, name, timeout: client.fair_lock(name, owner="handle").acquire(timeout=timeout), True),
    "fenced": Case(drew_a_token, lambda client, name, timeout: client.fenced_lock(name).acquire(timeout=timeout), True),
    "read": Case(lambda client, name: client.read_write_lock(name).read.acquire(timeout=5),
                 lambda client, name, timeout: client.read_write_lock(name).read.acquire(timeout=timeout), True),
    "set": Case(lambda client, name: None, lambda client, name, timeout: members(client, name).acquire(timeout=timeout),
                True),
    "semaphore": Case(lambda client, name: client.semaphore(name).try_set_permits(2),
                      lambda client, name, timeout: client.semaphore(name).acquire(timeout=timeout), True),
    "permits": Case(lambda client, name: client.permit_semaphore(name).try_set_permits(2),
                    lambda client, name, timeout: bool(client.permit_semaphore(name).acquire(timeout=timeout)), True),
    "latch": Case(lambda client, name: client.latch(name).try_set_count(2),
                  lambda client, name, timeout: client.latch(name).count_down(), None),
    "query": Case(lambda client, name: client.fair_lock(name).acquire(timeout=5),
                  lambda client, name, timeout: client.fair_lock(name).state().locked, True),
    "force": Case(lambda client, name: client.fair_lock(name).acquire(timeout=5),
                  lambda client, name, timeout: client.fair_lock(name).force_release(), True),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
def test_calls_on_several_keys_wait_for_the_migration(
    cluster: Cluster, clients: List[redlatch.Client], lock_name: str, kind: str
) -> None:
    """Calls wait within their own timeout or the client's `command_timeout`. If the migration lasts longer, they fail
    with NOT_WRITABLE."""
    case = CASES[kind]
    case.prepare(clients[0], lock_name)
    with redlatch.connect(cluster.url, command_timeout=1.0) as hasty, ThreadPoolExecutor() as threads:
        half = HalfMoved(cluster, lock_name)
        started = time.monotonic()
        with pytest.raises(redlatch.ServerError) as refused:
            case.call(hasty, lock_name, 1.0)
        assert 0.9 < time.monotonic() - started < 4.0 and refused.value.status == redlatch.Status.NOT_WRITABLE
        waiting = threads.submit(case.call, clients[1], lock_name, _WAIT)
        half.wait_refused(2)
        assert not waiting.done()
        half.end()
        if kind == "fair":  # it is held
            clients[0].fair_lock(lock_name).release()
        assert waiting.result(_WAIT) == case.result
    assert clients[0].stats()["lost"] == 0 or kind == "force"


def test_a_read_hold_is_lost_whose_keys_stay_on_two_nodes(
    cluster: Cluster, clients: List[redlatch.Client], lock_name: str
) -> None:
    """While the migration makes no progress, neither node can renew the hold, so it is lost. A wait without a timeout
    goes on."""
    with redlatch.connect(cluster.url, watchdog_lease=3.0, command_timeout=_WAIT) as client:
        held = client.read_write_lock(lock_name).read
        assert held.acquire(timeout=5)
        half = HalfMoved(cluster, lock_name, lock_name)
        waiting = Waiting(clients[0].read_write_lock(lock_name).read, None)
        wait_until(lambda: client.stats()["lost"] == 1, 15.0, "the loss")
        with pytest.raises(redlatch.LockLostError):
            held.release()
        half.wait_refused(2)
        assert not waiting.done
        half.end()
        assert waiting.result(_WAIT) is True

# SPDX-License-Identifier: Apache-2.0
"""A cluster of one node, with redis:// and redis+cluster:// URLs.

All keys of a script are in one slot, whatever the name looks like.
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Iterator, List

import pytest
import redlatch
from support import RedisServer, wait_until
from support.cluster import is_ok, whole_cluster
from waiters import Waiting

MakeLock = Callable[[redlatch.Client, str], redlatch.Lock]

SLOTS = 16_384
LOCKS = {
    "mutex": lambda client, name: client.lock(name),
    "non-reentrant": lambda client, name: client.lock(name, reentrant=False),
    "fenced": lambda client, name: client.fenced_lock(name),
    "fair": lambda client, name: client.fair_lock(name),
    "spin": lambda client, name: client.spin_lock(name),
    "plain": lambda client, name: client.plain_lock(name),
    "group": lambda client, name: client.group_lock(name, ["a", "b"]),
    "read": lambda client, name: client.read_write_lock(name).read,
    "write": lambda client, name: client.read_write_lock(name).write,
    "multi": lambda client, name: redlatch.multi_lock(client.lock(f"{{{name}}}:1"), client.lock(f"{{{name}}}:2")),
}
NAMES = ["{}", "{{{}}}:tagged", "before{{{}}}after"]
# Names whose braces make no hash tag: the server hashes the whole name. Redisson's other keys and channels of such a
# name are in other slots.
NO_TAG = ["a{{b{}", "a{{}}b{}"]


@pytest.fixture(scope="module")
def cluster(server_binary: List[str]) -> Iterator[RedisServer]:
    """A node that has all slots."""
    with RedisServer(cluster_enabled="yes", cluster_require_full_coverage="no") as started:
        admin: Any = started.admin
        admin.execute_command("CLUSTER", "ADDSLOTS", *range(SLOTS))
        wait_until(lambda: b"cluster_state:ok" in admin.execute_command("CLUSTER", "INFO"), 20.0)
        yield started


@pytest.fixture(params=["redis", "redis+cluster"])
def url(cluster: RedisServer, request: pytest.FixtureRequest) -> str:
    """The node's URL, with either scheme."""
    return cluster.url.replace("redis:", f"{request.param}:")


@pytest.fixture
def client(cluster: RedisServer, url: str) -> Iterator[redlatch.Client]:
    """A client of the node, which has no keys."""
    cluster.admin.flushall()
    with redlatch.connect(url) as opened:
        yield opened


def test_it_is_a_cluster(cluster: RedisServer) -> None:
    """The server refuses a command with keys in two slots."""
    with pytest.raises(Exception, match="same slot"):
        cluster.admin.execute_command("DEL", "one", "two")


@pytest.mark.parametrize("form", NAMES)
@pytest.mark.parametrize("kind", LOCKS)
def test_three_times_lock_and_unlock(client: redlatch.Client, lock_name: str, kind: str, form: str) -> None:
    make: MakeLock = LOCKS[kind]
    lock = make(client, form.format(lock_name))
    for _ in range(3):
        assert lock.acquire(timeout=5)
        assert lock.state().locked and lock.owned()
        lock.extend(20)
        lock.release()
        assert not lock.state().locked
    assert lock.acquire(timeout=5) and lock.force_release() and not lock.state().locked


@pytest.mark.parametrize("kind", LOCKS)
def test_thirty_attempts(client: redlatch.Client, lock_name: str, kind: str) -> None:
    lock = LOCKS[kind](client, lock_name)
    for _ in range(30):
        assert lock.acquire(blocking=False)
        lock.release()


def test_write_read_unread_unwrite(client: redlatch.Client, lock_name: str) -> None:
    both = client.read_write_lock(lock_name)
    with both.write, both.read:
        assert both.write.state().locked and both.read.state().locked
    assert not both.write.state().locked and not both.read.state().locked


def channels(cluster: RedisServer) -> Any:
    """Returns the channels that have subscribers: those of SUBSCRIBE, or if there are none, those of SSUBSCRIBE."""
    admin: Any = cluster.admin
    sharded = admin.execute_command("PUBSUB", "SHARDCHANNELS") if cluster.version >= (7, 0, 0) else []
    return admin.pubsub_channels() or sharded


@pytest.mark.parametrize("form", NAMES)
@pytest.mark.parametrize("kind", [kind for kind in LOCKS if kind not in ("spin", "multi")])
def test_a_release_wakes(
    cluster: RedisServer, url: str, client: redlatch.Client, lock_name: str, kind: str, form: str
) -> None:
    name = form.format(lock_name)
    with redlatch.connect(url) as other:
        holder = LOCKS["write" if kind == "read" else kind](client, name)
        holder.acquire()
        waiting = Waiting(LOCKS[kind](other, name), 10.0)
        wait_until(lambda: other.stats()["subscriptions"] >= 1 and channels(cluster))
        holder.release()
        assert waiting.result(4.0) is True


@pytest.mark.parametrize("form", NAMES)
def test_counts(cluster: RedisServer, url: str, lock_name: str, form: str) -> None:
    """Semaphores and latches work with a name prefix, too, as Redisson's name mapper has one."""
    cluster.admin.flushall()
    with redlatch.connect(url, name_prefix="mapped:") as client:
        name = form.format(lock_name)
        slots = client.permit_semaphore(name)
        assert slots.try_set_permits(2)
        permit = slots.acquire()
        assert permit is not None and slots.available() == 1 and slots.acquired() == 1
        slots.extend(permit, 20)
        permit.release()
        assert slots.available() == slots.permits() == 2 and slots.delete()
        gate = client.semaphore(name)
        assert gate.try_set_permits(1) and gate.acquire()
        gate.release()
        assert gate.drain() == 1 and gate.delete()
        latch = client.latch(name)
        assert latch.try_set_count(1)
        latch.count_down()
        assert latch.wait(0) and latch.count() == 0
        keys: Any = cluster.admin.keys()
        assert all(b"mapped:" in key for key in keys)


@pytest.mark.parametrize("form", NO_TAG)
@pytest.mark.parametrize("kind", LOCKS)
def test_a_name_without_a_tag_is_never_half_taken(
    cluster: RedisServer, client: redlatch.Client, lock_name: str, kind: str, form: str
) -> None:
    """W-28: Redisson acquires such a lock and cannot release it. redlatch does both, or is refused at once."""
    lock = LOCKS[kind](client, form.format(lock_name))
    try:
        assert lock.acquire(timeout=5)
        lock.release()
        assert not lock.state().locked
    except redlatch.ServerError as error:
        assert not lock.owned() and error.status_name == "server", error
    assert cluster.admin.keys() == []


@pytest.mark.parametrize("form", [*NO_TAG, "{{a}}:b{}"])
def test_a_latch_opens_whatever_its_name(
    cluster: RedisServer, client: redlatch.Client, lock_name: str, form: str
) -> None:
    """W-22: a latch of Redisson whose name has braces fails in a cluster. redlatch's opens, or is refused at once."""
    latch = client.latch(form.format(lock_name))
    try:
        assert latch.try_set_count(1)
    except redlatch.ServerError as error:
        assert error.status_name == "server", error
        assert cluster.admin.keys() == []
        return
    latch.count_down()
    assert latch.wait(0)


@pytest.mark.parametrize("scheme", ["redis", "redis+cluster"])
def test_a_cluster_that_is_down_and_permits_reads(lock_name: str, scheme: str) -> None:
    """The node runs the script, and refuses the first write in it. Calls go on when the cluster is up again."""
    with whole_cluster(cluster_allow_reads_when_down="yes") as node:
        admin: Any = node.admin
        with redlatch.connect(node.url.replace("redis+cluster:", f"{scheme}:"), unreachable_timeout=20) as client:
            lock, waited = client.lock(lock_name), client.lock(f"{{{lock_name}}}:other")
            assert lock.acquire()
            used = admin.execute_command("CLUSTER", "KEYSLOT", lock_name)
            spare = (used + 1) % SLOTS
            admin.execute_command("CLUSTER", "DELSLOTS", spare)
            wait_until(lambda: not is_ok(node), 20.0)
            with pytest.raises(redlatch.ServerError, match="does not accept writes"):
                waited.acquire(blocking=False)
            again = threading.Timer(0.5, admin.execute_command, ("CLUSTER", "ADDSLOTS", spare))
            again.start()
            assert waited.acquire(timeout=20)
            lock.release()
            again.join()
            assert not lock.state().locked
            waited.release()

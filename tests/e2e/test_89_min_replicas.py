# SPDX-License-Identifier: Apache-2.0
"""Grants that replicas must acknowledge: `min_replicas`, a master, and one replica, which freezes and goes on."""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, Iterator, List

import pytest
import redlatch
from support import RedisServer, wait_until
from support.replicas import Pair
from waiters import Waiting

# How long acknowledgements may take, and the time by which a call without them must have failed.
TIMEOUT = 0.4
BOUND = TIMEOUT + 0.5


@pytest.fixture(name="pair", scope="module")
def pair_fixture() -> Iterator[Pair]:
    """The servers of this module."""
    with Pair() as pair:
        yield pair


@pytest.fixture(autouse=True)
def thaw(pair: Pair) -> Iterator[None]:
    """Each test ends with a replica that acknowledges."""
    yield
    pair.go_on()


@pytest.fixture(name="client")
def client_fixture(pair: Pair) -> Iterator[redlatch.Client]:
    """A client that requires the acknowledgement of one replica."""
    with redlatch.connect(pair.master.url, min_replicas=1, replica_timeout=TIMEOUT) as client:
        yield client


def refused(acquire: Callable[[], Any]) -> redlatch.NotReplicatedError:
    """Makes a call that must fail within BOUND, since nothing is acknowledged. Returns the error."""
    began = time.monotonic()
    with pytest.raises(redlatch.NotReplicatedError) as caught:
        acquire()
    assert time.monotonic() - began < BOUND
    return caught.value


def test_a_grant_is_on_the_replica(pair: Pair, client: redlatch.Client, lock_name: str) -> None:
    """The replica has a grant as soon as the caller has it. The same is true of a nested acquire."""
    replica = pair.replica.client()
    lock = client.lock(lock_name, timeout=5)
    with lock:
        assert replica.exists(lock_name)
        with lock:
            assert replica.hvals(lock_name) == [b"2"]
    pair.gone(lock_name)


def test_a_frozen_replica(pair: Pair, client: redlatch.Client, lock_name: str) -> None:
    """The acquire fails in time with the reason and leaves nothing on the master. With the replica it succeeds."""
    lock = client.lock(lock_name)
    pair.freeze()
    error = refused(lambda: lock.acquire(timeout=0))
    assert error.retryable and error.status == redlatch.Status.NOT_REPLICATED
    assert str(error) == f'acquire "{lock_name}": acknowledged by 0 of 1 replicas within 0.4 s'
    pair.gone(lock_name)
    pair.go_on()
    assert lock.acquire(timeout=0)
    lock.release()


def test_the_url_says_it(pair: Pair, lock_name: str) -> None:
    """min_replicas and replica_timeout are options of the URL, too."""
    pair.freeze()
    with redlatch.connect(f"{pair.master.url}?min_replicas=1&replica_timeout=0.2") as client:
        refused(lambda: client.lock(lock_name).acquire(timeout=0))
    with redlatch.connect(f"{pair.master.url}?min_replicas=1", min_replicas=0) as client:
        with client.lock(lock_name, timeout=0):
            pass


def test_more_replicas_than_there_are(pair: Pair, lock_name: str) -> None:
    """One acknowledgement of two is too few."""
    with redlatch.connect(pair.master.url, min_replicas=2, replica_timeout=TIMEOUT) as client:
        error = refused(lambda: client.lock(lock_name).acquire(timeout=0))
    assert "acknowledged by 1 of 2 replicas within 0.4 s" in str(error)
    pair.gone(lock_name)


def test_a_waiter_goes_on_until_its_timeout(pair: Pair, client: redlatch.Client, lock_name: str) -> None:
    """A waiter tries again and succeeds when the replica goes on. Without that it ends with the same error."""
    pair.freeze()
    with pytest.raises(redlatch.NotReplicatedError):
        client.lock(lock_name, timeout=1.2).acquire()
    pair.gone(lock_name)
    waiting = Waiting(client.lock(lock_name), 30.0)
    wait_until(lambda: client.stats()["waiters"] == 1)
    pair.go_on()
    assert waiting.result(10.0) is True


def test_a_nested_acquire(pair: Pair, client: redlatch.Client, lock_name: str) -> None:
    """A nested acquire that is not acknowledged is undone. The hold keeps its former hold count."""
    lock = client.lock(lock_name, owner="handle")
    assert lock.acquire()
    pair.freeze()
    refused(lambda: lock.acquire(timeout=0))
    pair.go_on()
    wait_until(lambda: pair.replica.client().hvals(lock_name) == [b"1"])
    lock.release()
    pair.gone(lock_name)


def test_a_renewal(pair: Pair, lock_name: str) -> None:
    """A renewal without acknowledgement does not move the deadline. The hold is lost then, though the master has it."""
    with redlatch.connect(pair.master.url, min_replicas=1, replica_timeout=0.2, watchdog_lease=1.5) as client:
        lock = client.lock(lock_name, owner="handle")
        assert lock.acquire()
        before = client.stats()["renewals"]
        wait_until(lambda: client.stats()["renewals"] > before, 5.0)
        pair.freeze()
        hold = lock.held()
        assert hold is not None
        wait_until(lambda: pair.master.admin.pttl(lock_name) > 1000 * hold.remaining() + 300, 5.0)
        began = time.monotonic()
        wait_until(lambda: hold.lost, 5.0)
        assert time.monotonic() - began < 1.6
        pair.go_on()
        with pytest.raises(redlatch.LockLostError) as caught:
            lock.release()
        assert caught.value.reason == "expired"
        pair.gone(lock_name)


def test_an_extension(pair: Pair, client: redlatch.Client, lock_name: str) -> None:
    """The deadline does not move before the extension is acknowledged."""
    lock = client.lock(lock_name, lease=20, owner="handle")
    assert lock.acquire()
    hold = lock.held()
    assert hold is not None
    pair.freeze()
    refused(lambda: lock.extend(100))
    assert hold.remaining() < 20
    pair.go_on()
    lock.extend(100)
    assert hold.remaining() > 90
    lock.release()


def test_a_release_inside_the_process(pair: Pair, client: redlatch.Client, lock_name: str) -> None:
    """A waiter of the same process, too, gets the lock only with an acknowledgement."""
    lock = client.lock(lock_name, owner="handle")
    assert lock.acquire()
    waiting = Waiting(client.lock(lock_name, owner="handle"), 3 * TIMEOUT)
    wait_until(lambda: client.stats()["waiters"] == 1)
    pair.freeze()
    lock.release()
    with pytest.raises(redlatch.NotReplicatedError):
        waiting.result(10.0)
    pair.gone(lock_name)


KINDS: List[Callable[[redlatch.Client, str], redlatch.Lock]] = [
    lambda client, name: client.fenced_lock(name, owner="handle"),
    lambda client, name: client.fair_lock(name, owner="handle"),
    lambda client, name: client.spin_lock(name, owner="handle"),
    lambda client, name: client.plain_lock(name, owner="handle"),
    lambda client, name: client.read_write_lock(name, owner="handle").read,
    lambda client, name: client.read_write_lock(name, owner="handle").write,
    lambda client, name: client.group_lock(name, ["a", "b"], owner="handle"),
    lambda client, name: redlatch.multi_lock(client.lock(name), client.lock(name + "2"), owner="handle"),
]


@pytest.mark.parametrize("make", KINDS, ids=["fenced", "fair", "spin", "plain", "read", "write", "group", "multi"])
def test_every_kind(
    pair: Pair, client: redlatch.Client, lock_name: str, make: Callable[[redlatch.Client, str], redlatch.Lock]
) -> None:
    """Each kind is granted with an acknowledgement, and undone without one. A waiter is granted it in the end."""
    lock = make(client, lock_name)
    assert lock.acquire(timeout=5)
    assert pair.replica.client().exists(lock_name)
    lock.release()
    pair.gone(lock_name, lock_name + "2")
    pair.freeze()
    refused(lambda: lock.acquire(timeout=0))
    pair.gone(lock_name, lock_name + "2")
    waiting = Waiting(make(client, lock_name), 30.0)
    wait_until(lambda: pair.master.admin.exists(lock_name))
    pair.go_on()
    assert waiting.result(10.0) is True
    pair.gone(lock_name, lock_name + "2")


def test_permits(pair: Pair, client: redlatch.Client, lock_name: str) -> None:
    """Permits of both kinds of semaphores are given back."""
    counted = client.semaphore(lock_name)
    counted.try_set_permits(3)
    leased = client.permit_semaphore(lock_name + ":leased")
    leased.try_set_permits(3)
    pair.freeze()
    refused(lambda: counted.acquire(2, timeout=0))
    refused(lambda: leased.acquire(timeout=0))
    refused(counted.drain)
    wait_until(lambda: counted.available() == 3 and leased.available() == 3)
    pair.go_on()
    assert counted.acquire(2, timeout=0)
    assert leased.acquire(timeout=0)
    assert counted.drain() == 1


def test_locks_over_several_servers(
    pair: Pair, client: redlatch.Client, make_server: Callable[..., RedisServer], lock_name: str
) -> None:
    """A member without acknowledgement is not granted; the others are released. A majority does without it."""
    servers = make_server(), make_server()
    with redlatch.connect(servers[0].url) as first, redlatch.connect(servers[1].url) as second:
        locks = [each.lock(lock_name) for each in (client, first, second)]
        every, majority = redlatch.multi_lock(*locks), redlatch.redlock(*locks)
        pair.freeze()
        with pytest.raises(redlatch.NotReplicatedError, match=r"acknowledged by 0 of 1 replicas within 0.4 s, on 127"):
            every.acquire(timeout=0)
        pair.gone(lock_name)
        wait_until(lambda: not any(each.admin.exists(lock_name) for each in servers))
        assert majority.acquire(timeout=0)
        pair.gone(lock_name)
        assert all(each.admin.exists(lock_name) for each in servers)
        majority.release()
        pair.go_on()
        assert every.acquire(timeout=5)
        every.release()


def test_others_do_not_wait(pair: Pair, client: redlatch.Client, lock_name: str) -> None:
    """While one acquire waits for replicas, calls that need none are answered."""
    held = client.lock(lock_name + ":held", owner="handle")
    assert held.acquire()
    pair.freeze()
    waiting = Waiting(client.lock(lock_name), 0)
    wait_until(lambda: pair.master.admin.exists(lock_name) == 1, 2.0)
    began = time.monotonic()
    client.lock(lock_name).state()
    held.release()
    assert time.monotonic() - began < TIMEOUT / 2
    with pytest.raises(redlatch.NotReplicatedError):
        waiting.result(5.0)


def test_many_at_once(pair: Pair, client: redlatch.Client, lock_name: str) -> None:
    """Many acquires of a client with few connections each fail in time and leave nothing."""
    pair.freeze()
    names = [f"{lock_name}:{number}" for number in range(12)]
    waiting = [Waiting(client.lock(name), 0) for name in names]
    for each in waiting:
        with pytest.raises(redlatch.NotReplicatedError):
            each.result(10.0)
        assert each.ended_at - each.started_at < BOUND
    pair.gone(*names)


def test_contention(pair: Pair, client: redlatch.Client, lock_name: str) -> None:
    """Threads take turns, and one at a time holds the lock."""
    inside = [0]
    turns = [0]

    def work() -> None:
        lock = client.lock(lock_name, timeout=20)
        for _ in range(25):
            with lock:
                inside[0] += 1
                assert inside[0] == 1
                turns[0] += 1
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert turns[0] == 200


def test_a_connection_that_breaks(pair: Pair, client: redlatch.Client, lock_name: str) -> None:
    """It breaks during WAIT. The repeated acquire writes nothing, and must not count as acknowledged."""
    lock = client.lock(lock_name)
    pair.freeze()
    ended: List[BaseException] = []

    def acquire() -> None:
        try:
            lock.acquire(timeout=0)
        except redlatch.RedlatchError as error:
            ended.append(error)

    thread = threading.Thread(target=acquire)
    thread.start()
    blocked = wait_until(lambda: [each for each in pair.master.client_list() if each["cmd"] == "wait"], 2.0)
    pair.master.admin.client_kill_filter(_id=blocked[0]["id"])
    thread.join(10.0)
    assert [type(error) for error in ended] == [redlatch.NotReplicatedError]
    pair.gone(lock_name)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"min_replicas": 101}, "min_replicas is 101; expected 0 to 100"),
        ({"min_replicas": 1, "replica_timeout": 5}, "expected less than command_timeout_ms"),
        ({"min_replicas": 1, "watchdog_lease": 2, "replica_timeout": 1}, "at most a third of watchdog_lease_ms"),
    ],
)
def test_options_that_make_no_sense(pair: Pair, options: Any, words: str) -> None:
    """A message says what was expected."""
    with pytest.raises(redlatch.InvalidArgumentError, match=words):
        redlatch.connect(pair.master.url, lazy=True, **options)


def test_a_user_who_may_not_wait(pair: Pair, lock_name: str) -> None:
    """The error has the server's message, and no key is left."""
    pair.master.admin.execute_command("ACL", "SETUSER", "nowait", "on", ">secret", "~*", "&*", "+@all", "-wait")
    with redlatch.connect(pair.master.url, username="nowait", password="secret", min_replicas=1) as client:
        with pytest.raises(redlatch.PermissionDeniedError, match="wait"):
            client.lock(lock_name).acquire(timeout=0)
    pair.gone(lock_name)
    pair.master.admin.execute_command("ACL", "DELUSER", "nowait")

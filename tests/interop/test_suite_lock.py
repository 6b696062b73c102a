# SPDX-License-Identifier: Apache-2.0
"""Scenarios of Redisson's RedissonLockTest and RedissonLockExpirationRenewalTest that no other test here plays.

docs/proof/redisson.md names Redisson's test for each of these.
"""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, List

import pytest
import redlatch
from kinds import KINDS
from parties import wait_parked
from support import Monitor, RedisServer, wait_until
from support.redisson import Redisson, RedissonClient
from support.wire import channels_about

MakeOurs = Callable[..., redlatch.Client]
# The kinds with which Redisson plays the same scenario.
with_groups = pytest.mark.parametrize("kind", ["mutex", "group"])


def count_under(locks: List[redlatch.Lock], turns: int, pause: float = 0.0) -> int:
    """A thread for each lock increments a number `turns` times under the lock. Returns the number."""
    number = 0

    def increment(lock: redlatch.Lock) -> None:
        nonlocal number
        for _ in range(turns):
            with lock:
                seen = number
                time.sleep(pause)
                number = seen + 1

    with ThreadPoolExecutor(len(locks)) as pool:
        for done in [pool.submit(increment, lock) for lock in locks]:
            done.result()
    return number


@with_groups
def test_concurrency_of_one_client(ours: redlatch.Client, name: str, kind: str) -> None:
    """Fifteen threads of one client, once each."""
    assert count_under([KINDS[kind].ours(ours, name) for _ in range(15)], 1, 0.001) == 15


def test_concurrency_of_many_clients(make_ours: MakeOurs, name: str) -> None:
    """A hundred clients, once each."""
    assert count_under([make_ours().lock(name) for _ in range(100)], 1, 0.001) == 100


def test_concurrency_loop_of_many_clients(make_ours: MakeOurs, name: str) -> None:
    """Sixteen clients, a hundred times each."""
    assert count_under([make_ours().lock(name) for _ in range(16)], 100, 0.0005) == 1600


def test_concurrency_of_attempts(ours: redlatch.Client, name: str) -> None:
    """Sixteen threads try without waiting. Only one is inside at a time."""
    inside: List[int] = []
    granted: List[int] = []

    def attempt(number: int) -> None:
        lock = ours.lock(name)
        for _ in range(500):
            if lock.acquire(blocking=False):
                inside.append(number)
                assert inside == [number]
                granted.append(number)
                inside.clear()
                lock.release()

    with ThreadPoolExecutor(16) as pool:
        for done in [pool.submit(attempt, number) for number in range(16)]:
            done.result()
    assert granted and not ours.lock(name).state().locked


@with_groups
def test_many_names_and_threads_leave_no_subscription(
    make_ours: MakeOurs, server: RedisServer, name: str, kind: str
) -> None:
    """32 threads acquire and release five names. All subscriptions end a little later."""
    client = make_ours(tuning=redlatch.Tuning(linger=0.1))

    def turn(number: int) -> None:
        with KINDS[kind].ours(client, f"{name}:{number % 5}"):
            time.sleep(random.uniform(0.0, 0.004))

    with ThreadPoolExecutor(32) as pool:
        list(pool.map(turn, range(1500)))
    wait_until(lambda: channels_about(server, name) == [])


@with_groups
def test_one_connection_for_all_subscriptions(make_ours: MakeOurs, server: RedisServer, name: str, kind: str) -> None:
    """Waiters for two locks at once are all granted, over the one connection of a client for messages."""
    client = make_ours()
    locks = [KINDS[kind].ours(client, f"{name}:{number}") for number in range(2)]

    def turn(number: int) -> None:
        lock = locks[number % 2]
        for _ in range(50):
            assert lock.acquire(timeout=10)
            listening = [entry for entry in server.client_list("redlatch:") if int(entry["sub"]) > 0]
            assert len(listening) <= 1
            lock.release()

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(turn, number) for number in range(4)]:
            done.result()


def test_ttl_of_levels(ours: redlatch.Client, name: str) -> None:
    """Three acquires with a lease of 10 s, two releases: the lease is still that of the last acquire."""
    lock = ours.lock(name)
    for _ in range(3):
        lock.acquire(lease=10)
    lock.release()
    lock.release()
    assert 9 < lock.state().ttl <= 10


def test_ttl(ours: redlatch.Client, theirs: RedissonClient, name: str) -> None:
    """A lease of an hour, no lease when free, the watchdog lease. Redisson reads the same."""
    lock, seen = ours.lock(name), theirs.lock(name).on(0)
    lock.acquire(lease=3600)
    assert 3599 < lock.state().ttl <= 3600 and 3_599_000 < seen.remainTimeToLive() <= 3_600_000
    lock.release()
    assert lock.state().ttl == 0 and seen.remainTimeToLive() == -2
    lock.acquire()
    assert 29 < lock.state().ttl <= 30 and 29_000 < seen.remainTimeToLive() <= 30_000


def test_hold_count(ours: redlatch.Client, name: str) -> None:
    """The hold counts are 0, 1, 0, 2, 1, 0."""
    lock = ours.lock(name)
    seen = [lock.hold_count()]
    for call in (lock.acquire, lock.release, lambda: lock.acquire() and lock.acquire(), lock.release, lock.release):
        call()
        seen.append(lock.hold_count())
    assert seen == [0, 1, 0, 2, 1, 0]


@pytest.mark.parametrize("kind", ["mutex", "spin", "group"])
def test_server_down(make_server: Callable[..., RedisServer], name: str, kind: str) -> None:
    """An acquire raises if the server is gone."""
    server = make_server()
    with redlatch.connect(server.url, tuning=redlatch.Tuning(close_timeout=0.1)) as client:
        server.stop()
        with pytest.raises(redlatch.UnreachableError):
            KINDS[kind].ours(client, name).acquire(timeout=2, lease=10)


def test_renewal_after_a_restart(make_server: Callable[..., RedisServer], name: str) -> None:
    """The server restarts while the lock is held. The hold reports the loss, and a new hold of the client is renewed.

    The test waits until the client notices: a release that hits the broken connection cannot know whether the server
    ran it before it went, and succeeds as long as the lease has not ended.
    """
    server = make_server()
    with redlatch.connect(server.url, watchdog_lease=3.0) as client:
        lock = client.lock(name)
        lock.acquire()
        hold = lock.held()
        server.restart()
        assert hold is not None and hold.lost_event.wait(10)
        with pytest.raises(redlatch.LockLostError):
            lock.release()
        lock.acquire()
        renewals: Any = client.stats()["renewals"]
        wait_until(lambda: client.stats()["renewals"] >= renewals + 4, timeout=30)
        assert lock.hold_count() == 1 and lock.state().locked
        lock.release()


def test_renewal_beside_nested_locks(make_ours: MakeOurs, name: str) -> None:
    """After one thread acquired and released twice, the next thread's hold is renewed for some leases."""
    client = make_ours(watchdog_lease=3.0)
    lock = client.lock(name)

    def nested() -> None:
        with lock, lock:
            pass

    thread = threading.Thread(target=nested)
    thread.start()
    thread.join()
    lock.acquire()
    renewals: Any = client.stats()["renewals"]
    wait_until(lambda: client.stats()["renewals"] >= renewals + 6, timeout=30)
    assert lock.hold_count() == 1 and lock.state().locked
    lock.release()


def test_an_interrupted_redisson_is_not_renewed(
    java: Redisson, ours: redlatch.Client, theirs: RedissonClient, monitor: Monitor, name: str
) -> None:
    """A Redisson thread that is interrupted while it waits for our lock never gets it afterwards. Redisson's group
    locks ignore interrupts while they wait."""
    lock, thread = ours.lock(name), java.thread()
    lock.acquire()
    mark = monitor.mark()
    waiting = KINDS["mutex"].theirs(theirs, name).start(thread, "lockInterruptibly")
    wait_parked(monitor, mark, name)  # Redisson swallows an interrupt that comes while it subscribes
    wait_until(lambda: waiting.done or java.interrupt(thread))
    error = waiting.error()
    assert "InterruptedException" in (error.kind, *error.causes)
    lock.release()
    assert lock.acquire(blocking=False)
    lock.release()


@pytest.mark.parametrize("waits", [True, False], ids=["lock", "try-lock"])
@pytest.mark.parametrize(("threads", "turns"), [(2, 50), (2, 250), (5, 100), (10, 50), (20, 25)])
def test_heavy(ours: redlatch.Client, server: RedisServer, name: str, threads: int, turns: int, waits: bool) -> None:
    """Threads use the same names: a lock, a key written under it, a permit released and acquired. All threads end."""
    gate = ours.semaphore(f"{name}:gate")

    def work(_number: int) -> int:
        done = 0
        for index in range(turns):
            lock = ours.lock(f"{name}:{index}")
            if not lock.acquire(timeout=30 if waits else 0):
                continue
            server.admin.set(f"{name}:bucket:{index}", index)
            lock.release()
            gate.release()
            assert gate.acquire(timeout=30)
            done += 1
        return done

    with ThreadPoolExecutor(threads) as pool:
        done = list(pool.map(work, range(threads)))
    assert not waits or done == [turns] * threads
    assert sum(done) >= turns and gate.available() == 0

# SPDX-License-Identifier: Apache-2.0
"""Tests of the peers themselves: every kind of lock and synchronizer works between two threads of Redisson.

A failure here is a fault of the test driver or of the peer, never of redlatch.
"""

from __future__ import annotations

from typing import Callable

import pytest
from support import RedisServer, wait_until
from support.peers import PeerGone
from support.redisson import CONTROL, Redisson, RedissonClient, RedissonObject, ms

MakeLock = Callable[[RedissonClient, str], RedissonObject]

EXCLUSIVE = {
    "lock": RedissonClient.lock,
    "fair": RedissonClient.fair_lock,
    "fenced": RedissonClient.fenced_lock,
    "spin": RedissonClient.spin_lock,
    "non-reentrant": RedissonClient.non_reentrant_lock,
    "non-reentrant fair": RedissonClient.non_reentrant_fair_lock,
    "write": RedissonClient.write_lock,
    "multi": lambda client, name: client.multi_lock(client.lock(f"{name}:a"), client.fair_lock(f"{name}:b")),
    "red": lambda client, name: client.red_lock(*(client.lock(f"{name}:{number}") for number in range(3))),
    "group": lambda client, name: client.group_lock(name, ["a", "f1"]),
}


@pytest.mark.parametrize("make", EXCLUSIVE.values(), ids=EXCLUSIVE.keys())
def test_exclusive(make: MakeLock, java: Redisson, theirs: RedissonClient, name: str) -> None:
    """A second thread is refused, waits, and gets the lock when the first releases it."""
    lock = make(theirs, name)
    thread = java.thread()
    first, second = lock.on(java.thread()), lock.on(thread)
    first.lock(ms(20_000))
    assert first.isHeldByCurrentThread()
    assert not second.tryLock()
    waiting = second.start("tryLock", ms(10_000), ms(20_000))
    if make is RedissonClient.write_lock:  # its release wakes only threads that sleep already
        wait_until(lambda: java.sleeps(thread), message="the second thread to sleep")
    first.unlock()
    assert waiting.result() is True
    assert second.isHeldByCurrentThread()
    second.unlock()


@pytest.mark.parametrize("kind", ["non-reentrant", "non-reentrant fair"])
def test_non_reentrant(kind: str, java: Redisson, theirs: RedissonClient, name: str) -> None:
    """A second acquire by the owner is an error."""
    thread = java.thread()
    lock = EXCLUSIVE[kind](theirs, name)
    lock.call(thread, "lock")
    assert lock.start(thread, "tryLock").error().kind == "IllegalMonitorStateException"
    lock.call(thread, "unlock")


def test_fenced_tokens(java: Redisson, theirs: RedissonClient, name: str) -> None:
    """Redisson's calls return tokens, with a lease, too."""
    lock = theirs.fenced_lock(name).on(java.thread())
    assert [lock.lockAndGetToken(), lock.lockAndGetToken(ms(10_000)), lock.getToken()] == [1, 2, 2]
    assert lock.tryLockAndGetToken(ms(100), ms(10_000)) == 3


def test_readers_share(java: Redisson, theirs: RedissonClient, name: str) -> None:
    """Two readers hold at the same time. A writer is excluded until both have released."""
    first, second = (theirs.read_lock(name).on(java.thread()) for _ in range(2))
    writer = theirs.write_lock(name).on(java.thread())
    first.lock(ms(20_000))
    second.lock(ms(20_000))
    assert not writer.tryLock()
    first.unlock()
    assert not writer.tryLock()
    second.unlock()
    assert writer.tryLock()


def test_semaphore(java: Redisson, theirs: RedissonClient, name: str) -> None:
    """Permits are set, acquired n at a time, waited for, drained and added."""
    gate, other = (theirs.semaphore(name).on(java.thread()) for _ in range(2))
    assert gate.trySetPermits(3)
    gate.acquire(2)
    assert not gate.tryAcquire(2) and not gate.tryAcquire(2, ms(10))
    waiting = other.start("tryAcquire", 2, ms(10_000))
    gate.release()
    assert waiting.result() is True
    gate.addPermits(5)
    assert (gate.availablePermits(), gate.drainPermits(), gate.availablePermits()) == (5, 5, 0)


def test_permit_semaphore(java: Redisson, theirs: RedissonClient, name: str) -> None:
    """Permits have ids and leases. A list of permits is released at once."""
    slots = theirs.permit_semaphore(name).on(java.thread())
    slots.setPermits(3)
    one = slots.acquire(ms(20_000))
    assert len(one) == 32 and 0 < slots.getLeaseTime(one) <= 20_000
    assert slots.updateLeaseTime(one, ms(50_000)) and slots.getLeaseTime(one) > 20_000
    two = slots.tryAcquire(2, ms(100), ms(20_000))
    assert slots.tryAcquire(ms(10)) is None
    assert slots.tryRelease(two) == 2
    slots.release(one)
    assert (slots.availablePermits(), slots.getPermits(), slots.acquiredPermits()) == (3, 3, 0)


def test_latch(java: Redisson, theirs: RedissonClient, name: str) -> None:
    """A waiter goes on when the count is zero."""
    latch, waiter = (theirs.latch(name).on(java.thread()) for _ in range(2))
    assert latch.trySetCount(2)
    waiting = waiter.start("await")
    latch.countDown()
    assert latch.getCount() == 1 and not latch.await_(ms(10)) and not waiting.done
    latch.countDown()
    waiting.result()


def test_clients_of_several_servers(
    java: Redisson, theirs: RedissonClient, make_server: Callable[..., RedisServer], name: str
) -> None:
    """A multi lock holds on each of its servers."""
    elsewhere = make_server()
    client = java.connect(elsewhere.url)
    lock = theirs.multi_lock(theirs.lock(name), client.lock(name)).on(java.thread())
    lock.lock(ms(20_000))
    assert theirs.lock(name).call(0, "isLocked") and client.lock(name).call(0, "isLocked")
    lock.unlock()
    client.close()


def test_options_of_a_client(java: Redisson, server: RedisServer, name: str) -> None:
    """A client's watchdog has the lease of its options."""
    client = java.connect(server.url, lockWatchdogTimeout=3_000)
    lock = client.lock(name).on(java.thread())
    lock.lock()
    assert 0 < lock.remainTimeToLive() <= 3_000
    client.close()


def test_interrupt(java: Redisson, theirs: RedissonClient, name: str) -> None:
    """A waiting thread can be interrupted. A thread without a call cannot."""
    holder, thread = java.thread(), java.thread()
    lock = theirs.lock(name)
    lock.call(holder, "lock")
    waiting = lock.start(thread, "lockInterruptibly")
    wait_until(lambda: waiting.done or java.interrupt(thread))
    error = waiting.error()
    assert "InterruptedException" in (error.kind, *error.causes)  # it waited for a message, or for a reply
    wait_until(lambda: not java.interrupt(thread))
    assert lock.call(thread, "isHeldByCurrentThread") is False


def test_errors(java: Redisson, theirs: RedissonClient, name: str) -> None:
    """Failures come back as errors that name them, and disturb nothing else."""
    thread = java.thread()
    lock = theirs.lock(name)
    assert lock.start(thread, "unlock").error().kind == "IllegalMonitorStateException"
    unknown = lock.start(thread, "noSuchCall", 1).error()
    assert unknown.kind == "IllegalArgumentException" and "noSuchCall" in unknown.message
    assert "'chair'" in theirs.object("chair", name=name).start(thread, "sit").error().message
    assert lock.call(thread, "tryLock")


def test_shapes_of_arguments(java: Redisson, theirs: RedissonClient, name: str) -> None:
    """Numbers, durations and strings choose the method. Asynchronous methods are waited for. Handles can be
    distinguished."""
    thread = java.thread()
    lock, java_id = theirs.lock(name), int(theirs.owner(thread).rpartition(":")[2])
    lock.call(thread, "lock", ms(10_000))
    assert lock.call(CONTROL, "isHeldByThread", java_id) and not lock.call(CONTROL, "isHeldByThread", 0)
    assert lock.call(CONTROL, "expire", ms(50_000)) and lock.call(CONTROL, "remainTimeToLive") > 10_000
    assert lock.call(CONTROL, "tryLockAsync", ms(100), ms(20_000), java_id)
    assert theirs.object("lock", name=name, handle=2).call(thread, "getHoldCount") == 2
    gate = theirs.semaphore(f"{name}:gate").on(thread)
    assert gate.trySetPermits(3, ms(20_000)) and gate.tryAcquire(2) and gate.tryAcquire(ms(100))
    assert not gate.tryAcquire(1, ms(10)) and gate.getName() == f"{name}:gate"


def test_kill(make_redisson: Callable[[], Redisson], server: RedisServer, name: str) -> None:
    """A killed process answers nothing any more, and its holds stay on the server."""
    doomed = make_redisson()
    client = doomed.connect(server.url)
    client.lock(name).call(1, "lock")
    waiting = client.lock(name).start(2, "lock")
    doomed.kill()
    for pending in (waiting, client.lock(name).start(1, "unlock")):
        with pytest.raises(PeerGone):
            pending.result()
    assert server.admin.exists(name)

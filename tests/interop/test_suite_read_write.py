# SPDX-License-Identifier: Apache-2.0
"""Scenarios of Redisson's RedissonReadWriteLockTest, played by redlatch, and by both libraries where that shows more.

docs/proof/redisson.md names Redisson's test for each of these. Times are shorter than Redisson's: leases of seconds
became leases of tenths.
"""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, List

import pytest
import redlatch
from parties import Task, wait_clean
from support import RedisServer, wait_until
from support.read_write import about, sides, ttl_ms, wire
from support.redisson import Redisson, RedissonClient, ms

MakeOurs = Callable[..., redlatch.Client]


def on_thread(call: Callable[[], Any]) -> Any:
    """Makes a call on another thread, which then ends. Returns the result of the call."""
    task = Task(call)
    thread = threading.Thread(target=task.run)
    thread.start()
    thread.join()
    return task.result()


def test_read_leases_end_one_by_one(ours: redlatch.Client, make_ours: MakeOurs, name: str) -> None:
    """Readers with leases of 1 s and 0.5 s: a writer gets the lock when the longer lease ends, not before."""
    started = time.monotonic()
    assert ours.read_write_lock(name).read.acquire(lease=1.0)
    assert make_ours().read_write_lock(name).read.acquire(lease=0.5)
    writer = make_ours().read_write_lock(name).write
    assert writer.acquire(timeout=10)
    assert 0.9 < time.monotonic() - started < 5.0


def test_a_writers_own_read(ours: redlatch.Client, theirs: RedissonClient, name: str) -> None:
    """While another owner writes, the read lock is not locked. It is locked when the writer reads as well."""
    read, write = sides(ours, name)
    seen = theirs.read_lock(name).on(0)
    with write:
        assert not read.state().locked and not seen.isLocked()
        assert read.acquire(blocking=False)
        assert read.state().locked and seen.isLocked()
        read.release()


def test_fifty_reads_are_renewed(make_ours: MakeOurs, name: str) -> None:
    """Fifty readers on ten threads hold for several watchdog leases, and no hold is lost."""
    client = make_ours(watchdog_lease=3.0)
    began: Any = client.stats()["renewals"]

    def read(_: int) -> None:
        with client.read_write_lock(name).read as held:
            before: Any = client.stats()["renewals"]
            wait_until(lambda: client.stats()["renewals"] >= before + 10, timeout=60)
            assert not held.lost

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(read, range(50)))
    assert client.stats()["lost"] == 0 and client.stats()["renewals"] > began
    assert not client.read_write_lock(name).read.state().locked


def test_a_name_in_braces(ours: redlatch.Client, server: RedisServer, name: str) -> None:
    """Ten threads, ten times each, with a name that has a hash tag."""
    tagged = f"{{{name}}}:abc:key"

    def turns(_: int) -> None:
        for _turn in range(10):
            with ours.read_write_lock(tagged).read:
                pass

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(turns, range(10)))
    wait_clean(server)


def test_nested_write_acquires_with_leases(ours: redlatch.Client, make_ours: MakeOurs, name: str) -> None:
    """Nested acquires of 1.2 s and 0.2 s: others are refused until the longest lease ends, and leases are not added up
    (W-13)."""
    _, write = sides(ours, name)
    other = make_ours().read_write_lock(name).write
    started = time.monotonic()
    assert write.acquire(lease=1.2) and write.acquire(lease=0.2)
    assert not other.acquire(timeout=0.4)
    assert other.acquire(timeout=10)
    assert 1.15 < time.monotonic() - started < 5.0


def test_readers_enter_when_a_writers_lease_ends(ours: redlatch.Client, make_ours: MakeOurs, name: str) -> None:
    """A write lease of 0.5 s without a release. Two readers get the lock when it ends."""
    assert ours.read_write_lock(name).write.acquire(lease=0.5)
    for _ in range(2):
        assert make_ours().read_write_lock(name).read.acquire(timeout=5)


def test_a_reader_who_leaves_leaves_the_others_lease(ours: redlatch.Client, make_ours: MakeOurs, name: str) -> None:
    """A reader with 1 s; another with the watchdog's 30 s comes and goes; a writer gets the lock when the 1 s have
    ended."""
    assert ours.read_write_lock(name).read.acquire(lease=1.0)
    with make_ours().read_write_lock(name).read:
        pass
    assert make_ours().read_write_lock(name).write.acquire(timeout=5)


def test_two_read_acquires_and_one_release(ours: redlatch.Client, make_ours: MakeOurs, name: str) -> None:
    """Two acquires of 0.8 s, one release: a writer gets the lock when the lease of the other ends."""
    read, _ = sides(ours, name)
    writer = make_ours().read_write_lock(name).write
    assert read.acquire(lease=0.8) and read.acquire(lease=0.8)
    read.release()
    assert not writer.acquire(blocking=False)
    assert writer.acquire(timeout=5)


def test_write_read_unread_unwrite(ours: redlatch.Client, name: str) -> None:
    """Write, read, release the read: still write-locked. Release the write: free."""
    read, write = sides(ours, name)
    assert write.acquire() and read.acquire()
    read.release()
    assert write.state().locked and not read.state().locked
    write.release()
    assert not write.state().locked and not read.state().locked


def test_twenty_readers_wait_for_a_writer(ours: redlatch.Client, make_ours: MakeOurs, name: str) -> None:
    """The readers hold at the same time: twenty holds of 0.3 s end long before twenty times that."""
    writer = make_ours().read_write_lock(name).write
    assert writer.acquire()

    def read(_: int) -> None:
        with ours.read_write_lock(name).read:
            time.sleep(0.3)

    with ThreadPoolExecutor(20) as pool:
        done = [pool.submit(read, number) for number in range(20)]
        wait_until(lambda: ours.stats()["waiters"] == 20)
        released = time.monotonic()
        writer.release()
        for one in done:
            one.result()
    assert time.monotonic() - released < 5.0


def test_a_writer_who_reads_keeps_others_out(ours: redlatch.Client, make_ours: MakeOurs, name: str) -> None:
    """Others neither read nor write meanwhile. After the write release nobody writes until the read is released."""
    read, write = sides(ours, name)
    other = make_ours().read_write_lock(name)
    assert write.acquire() and read.acquire()
    assert not other.read.acquire(blocking=False) and not other.write.acquire(blocking=False)
    write.release()
    assert not other.write.acquire(blocking=False) and other.read.acquire(blocking=False)
    other.read.release()
    read.release()
    assert other.write.acquire(blocking=False)
    other.write.release()


def test_write_levels(ours: redlatch.Client, name: str) -> None:
    """A writer acquires twice: another thread is refused until both are released."""
    _, write = sides(ours, name)
    assert write.acquire() and write.acquire()
    assert not on_thread(lambda: write.acquire(blocking=False))
    write.release()
    assert not on_thread(lambda: write.acquire(blocking=False))
    write.release()
    assert on_thread(lambda: (write.acquire(blocking=False), write.release())[0])


def test_two_readers_and_a_writer(ours: redlatch.Client, make_ours: MakeOurs, name: str) -> None:
    """The writer is refused until both readers have released. A force release of a free lock returns False."""
    readers = [make_ours().read_write_lock(name).read for _ in range(2)]
    writer = ours.read_write_lock(name).write
    assert not readers[0].force_release()
    for reader in readers:
        assert reader.acquire()
    for reader in readers:
        assert not writer.acquire(blocking=False)
        reader.release()
    assert writer.acquire(blocking=False)
    writer.release()


def test_leases_of_both_modes_are_renewed(make_ours: MakeOurs, server: RedisServer, name: str) -> None:
    """A writer who reads, for many renewals; then only the read, for as many: the lease never comes near its end."""
    client = make_ours(watchdog_lease=3.0)
    read, write = sides(client, name)
    assert write.acquire() and read.acquire()
    for side in ("both", "read"):
        before: Any = client.stats()["renewals"]
        while client.stats()["renewals"] < before + 4:
            assert ttl_ms(server, name) > 300
            time.sleep(0.05)
        if side == "both":
            write.release()
    assert about(ttl_ms(server, name), 3_000, 2_800)
    read.release()


@pytest.mark.parametrize("side", ["read", "write"])
def test_a_lease_that_ends(make_ours: MakeOurs, name: str, side: str) -> None:
    """The lease of 0.4 s ends by itself. The next owner gets the lock, and the first one's release raises
    LockLostError."""
    first, second = (getattr(make_ours().read_write_lock(name), side) for _ in range(2))
    assert first.acquire(lease=0.4)
    assert second.acquire(timeout=5)
    wait_until(lambda: first.hold_count() == 0)
    with pytest.raises(redlatch.LockLostError):
        first.release()
    second.release()


@pytest.mark.parametrize("side", ["read", "write"])
def test_counts_and_questions(ours: redlatch.Client, name: str, side: str) -> None:
    """Hold counts 0, 1, 2, 1, 0. Another thread holds nothing, and sees that the lock is locked."""
    lock: redlatch.Lock = getattr(ours.read_write_lock(name), side)
    seen: List[int] = [lock.hold_count()]
    for call in (lock.acquire, lock.acquire, lock.release, lock.release):
        call()
        seen.append(lock.hold_count())
        assert on_thread(lock.hold_count) == 0
        assert on_thread(lock.state).locked is lock.owned()
    assert seen == [0, 1, 2, 1, 0]
    with pytest.raises(redlatch.NotOwnedError):
        lock.release()
    with lock, pytest.raises(redlatch.NotOwnedError):
        on_thread(lock.release)


@pytest.mark.parametrize(("clients", "turns"), [(1, 15), (16, 30), (60, 1)], ids=["one", "loop", "many"])
def test_random_readers_and_writers(make_ours: MakeOurs, name: str, clients: int, turns: int) -> None:
    """Readers and writers at random, of one client or many. A writer is alone, and every increment counts."""
    locks = [make_ours().read_write_lock(name) for _ in range(clients)] * (15 if clients == 1 else 1)
    written = 0
    wrong: List[str] = []
    inside: List[str] = []

    def play(number: int) -> int:
        nonlocal written
        chosen = random.Random(number)
        writes = 0
        for _ in range(turns):
            if chosen.random() < 0.4:
                with locks[number].write:
                    seen = written
                    if inside:
                        wrong.append("a reader beside a writer")
                    time.sleep(0.0005)
                    written = seen + 1
                writes += 1
            else:
                with locks[number].read:
                    inside.append("reader")
                    time.sleep(0.0005)
                    inside.pop()
        return writes

    with ThreadPoolExecutor(len(locks)) as pool:
        expected = sum(pool.map(play, range(len(locks))))
    assert written == expected and not wrong


def test_a_dead_reader_costs_its_own_lease(make_ours: MakeOurs, server: RedisServer, name: str) -> None:
    """testMultiInstanceReadLockZombieCleanup with redlatch alone: one reader dies, another holds on, and a writer gets
    the lock."""
    dead = make_ours(watchdog_lease=1.2, release_on_close=False)
    assert dead.read_write_lock(name).read.acquire()
    reader = make_ours(watchdog_lease=1.2).read_write_lock(name).read
    assert reader.acquire()
    dead.close()
    wait_until(lambda: len(list(server.admin.keys("{*rwlock_timeout*"))) == 1, timeout=10)
    assert len(wire(server, name)) == 3
    reader.release()
    assert make_ours().read_write_lock(name).write.acquire(timeout=3)


def test_many_dead_readers(make_ours: MakeOurs, server: RedisServer, name: str) -> None:
    """Twenty clients die with a hold count of three each. A writer waits for one lease, not for twenty."""
    started = time.monotonic()
    for _ in range(20):
        doomed = make_ours(watchdog_lease=1.0, release_on_close=False)
        for _level in range(3):
            assert doomed.read_write_lock(name).read.acquire()
        doomed.close()
    assert make_ours().read_write_lock(name).write.acquire(timeout=15)
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("side", ["read", "write"])
def test_renewal_after_a_restart(make_server: Callable[..., RedisServer], name: str, side: str) -> None:
    """The server restarts while a mode is held. The hold reports the loss, and a new hold is renewed."""
    server = make_server()
    with redlatch.connect(server.url, watchdog_lease=3.0) as client:
        lock: redlatch.Lock = getattr(client.read_write_lock(name), side)
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


def test_their_nested_write_acquires_add_up_and_are_waited_for(
    java: Redisson, theirs: RedissonClient, ours: redlatch.Client, server: RedisServer, name: str
) -> None:
    """Redisson's own writers add up leases (W-13). Our waiter respects the resulting lease, and the release wakes
    it."""
    thread, lock = java.thread(), theirs.write_lock(name)
    for _ in range(2):
        assert lock.call(thread, "tryLock", ms(0), ms(20_000))
    assert about(ttl_ms(server, name), 40_000)
    _, write = sides(ours, name)
    assert not write.acquire(timeout=0.5)
    for _ in range(2):
        lock.call(thread, "unlock")
    assert write.acquire(timeout=2)
    write.release()

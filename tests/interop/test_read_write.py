# SPDX-License-Identifier: Apache-2.0
"""The read-write lock with Redisson's: mixed readers, a waiting writer, downgrade, hold counts, leases, dead
readers."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from typing import Callable, Dict, Iterator, List

import pytest
import redlatch
from parties import WOKEN, NotHeld, OurParty, Party, TheirParty, lock_keys, wait_clean, wait_parked
from support import Monitor, RedisServer, wait_until
from support.read_write import about, base, ttl_ms, wire
from support.redisson import Redisson, RedissonClient

READ_AND_WRITE = ("read", "write")


class Sides:
    """A thread's read lock and write lock of one name; a thread of redlatch or of Redisson."""

    def __init__(self, read: Party, write: Party) -> None:
        self.read, self.write = read, write


class Threads:
    """Makes threads of both libraries with the two locks of the test's name."""

    def __init__(self, stack: ExitStack, java: Redisson, ours: redlatch.Client, theirs: RedissonClient, name: str):
        self._stack, self._java, self._ours, self._theirs, self._name = stack, java, ours, theirs, name

    def ours(self) -> Sides:
        """Makes a redlatch thread. It must not wait for one lock while the test uses the other."""
        both = self._ours.read_write_lock(self._name)
        read = self._stack.enter_context(closing(OurParty(both.read)))
        write = OurParty.__new__(OurParty)
        write.__dict__.update(read.__dict__)
        write.lock = both.write
        return Sides(read, write)

    def theirs(self) -> Sides:
        """Makes a Java thread."""
        read = TheirParty(self._java, self._theirs.read_lock(self._name))
        write = TheirParty(self._java, self._theirs.write_lock(self._name))
        write.thread = read.thread
        write.lock = self._theirs.write_lock(self._name).on(read.thread)
        return Sides(read, write)

    def both(self) -> List[Sides]:
        """Makes one thread of each library."""
        return [self.ours(), self.theirs()]


@pytest.fixture
def threads(java: Redisson, ours: redlatch.Client, theirs: RedissonClient, name: str) -> Iterator[Threads]:
    """The threads of the test."""
    with ExitStack() as stack:
        yield Threads(stack, java, ours, theirs, name)


def test_readers_of_both_modes_share(threads: Threads, server: RedisServer, name: str) -> None:
    """Two readers of each library hold at once. Writers of both are excluded until the last reader releases."""
    readers = threads.both() + threads.both()
    writers = threads.both()
    for count, reader in enumerate(readers, 1):
        assert reader.read.acquire(wait=0)
        assert len(wire(server, name)) == count + 1
    for reader in readers:
        assert not any(writer.write.acquire(wait=0) for writer in writers)
        assert all(each.read.locked() and not each.write.locked() for each in writers)
        reader.read.release()
    for writer in writers:
        assert writer.write.acquire(wait=0)
        writer.write.release()
    wait_clean(server)


@pytest.mark.parametrize("last", ["ours", "theirs"])
def test_a_waiting_writer_is_woken_by_the_last_reader(
    threads: Threads, monitor: Monitor, server: RedisServer, name: str, last: str
) -> None:
    """For each side as the last reader, and for each side as the waiter."""
    for writer in threads.both():
        ours, theirs = threads.both()
        readers = [theirs, ours] if last == "ours" else [ours, theirs]
        for reader in readers:
            assert reader.read.acquire()
        mark = monitor.mark()
        attempt = writer.write.start()
        wait_parked(monitor, mark, name)
        readers[0].read.release()
        assert not attempt.done
        released_at = time.monotonic()
        readers[1].read.release()
        assert attempt.result() is True and attempt.ended_at - released_at < WOKEN
        writer.write.release()
    wait_clean(server)


@pytest.mark.parametrize("ours_writes", [True, False], ids=["ours-writes", "theirs-writes"])
def test_waiting_readers_enter_together(threads: Threads, ours: redlatch.Client, ours_writes: bool) -> None:
    """Six readers of each side all get the lock as soon as the writer has released."""
    writer = threads.ours() if ours_writes else threads.theirs()
    assert writer.write.acquire()
    readers = [side for _ in range(6) for side in threads.both()]
    attempts = [reader.read.start() for reader in readers]
    wait_until(lambda: ours.stats()["waiters"] == 6, message="ours to wait")
    for reader in readers:
        if isinstance(reader.read, TheirParty):
            reader.read.wait_asleep()
    assert not any(attempt.done for attempt in attempts)
    released_at = time.monotonic()
    writer.write.release()
    for attempt in attempts:
        assert attempt.result() is True and attempt.ended_at - released_at < WOKEN
    for reader in readers:
        reader.read.release()


@pytest.mark.parametrize("ours_first", [True, False], ids=["ours", "theirs"])
def test_a_writer_reads_on(threads: Threads, server: RedisServer, name: str, ours_first: bool) -> None:
    """Downgrade: after a release of the write lock, the other side sees a read lock."""
    holder = threads.ours() if ours_first else threads.theirs()
    other = threads.theirs() if ours_first else threads.ours()
    assert holder.write.acquire() and holder.read.acquire() and holder.read.acquire()
    assert holder.write.hold_count() == 1 and holder.read.hold_count() == 2
    assert not other.read.acquire(wait=0) and other.write.locked()
    holder.write.release()
    assert not other.write.acquire(wait=0) and other.read.locked() and not other.write.locked()
    assert other.read.acquire(wait=0)
    holder.read.release()
    holder.read.release()
    with pytest.raises(NotHeld):
        holder.read.release()
    assert other.read.locked()
    other.read.release()
    wait_clean(server)


def test_our_downgrade_wakes_their_readers(threads: Threads, monitor: Monitor, name: str) -> None:
    """Redisson's own downgrade publishes nothing (W-11). Ours does."""
    ours, theirs = threads.both()
    assert ours.write.acquire() and ours.read.acquire()
    mark = monitor.mark()
    attempt = theirs.read.start()
    wait_parked(monitor, mark, name)
    theirs.read.wait_asleep()
    released_at = time.monotonic()
    ours.write.release()
    assert attempt.result() is True and attempt.ended_at - released_at < WOKEN
    ours.read.release()
    theirs.read.release()


@pytest.mark.parametrize("side", READ_AND_WRITE)
def test_nested_acquires_are_counted_alike(threads: Threads, server: RedisServer, name: str, side: str) -> None:
    """After each acquire and release, both libraries have the same data on the server: fields, hold counts, timeout
    keys."""
    seen: Dict[int, List[object]] = {}
    for number, party in enumerate(threads.both()):
        lock: Party = getattr(party, side)
        steps: List[object] = []
        for act in (lock.acquire, lock.acquire, lock.acquire, lock.release, lock.release, lock.release):
            act()
            fields = wire(server, name)
            owner = next((field.replace(":write", "") for field in fields if field != "mode"), "nobody")
            keys = [key.replace(owner, "owner") for key in lock_keys(server)]
            steps.append(({field.replace(owner, "owner"): count for field, count in fields.items()}, keys))
        seen[number] = steps
    assert seen[0] == seen[1] and seen[0][-1] == ({}, [])


@pytest.mark.parametrize("side", READ_AND_WRITE)
def test_force_spares_the_other_mode(threads: Threads, side: str) -> None:
    """A force release of either library affects only its own mode."""
    other_side = "write" if side == "read" else "read"
    for holder, peer in (threads.both(), threads.both()[::-1]):
        lock: Party = getattr(holder, side)
        assert lock.acquire()
        assert not getattr(peer, other_side).force_release() and lock.locked()
        assert getattr(peer, side).force_release() and not lock.locked()
        with pytest.raises(NotHeld):
            lock.release()


def test_their_release_leaves_our_lease(threads: Threads, server: RedisServer, name: str) -> None:
    """When a Redisson reader releases, it sets the lock's lease by redlatch's timeout keys, which must exist."""
    ours, theirs = threads.both()
    assert ours.read.acquire(lease=20) and theirs.read.acquire(lease=60)
    assert about(ttl_ms(server, name), 60_000)
    theirs.read.release()
    assert about(ttl_ms(server, name), 20_000) and ours.read.hold_count() == 1
    assert theirs.read.acquire(lease=10)
    ours.read.release()
    assert about(ttl_ms(server, name), 10_000)
    theirs.read.release()
    wait_clean(server)


@pytest.mark.older(False)
def test_watchdogs_of_concurrent_readers(
    make_ours: Callable[..., redlatch.Client], java: Redisson, server: RedisServer, name: str
) -> None:
    """Both sides renew for two leases. A writer gets the lock only after both have released."""
    our_client = make_ours(watchdog_lease=3.0)
    their_client = java.connect(server.url, lockWatchdogTimeout=3000)
    with ExitStack() as stack:
        threads = Threads(stack, java, our_client, their_client, name)
        ours, theirs = threads.both()
        assert ours.read.acquire() and theirs.read.acquire() and ours.read.acquire()
        writers = threads.both()
        attempts = [writer.write.start(wait=6.4) for writer in writers]
        assert [attempt.result() for attempt in attempts] == [False, False]
        assert ours.read.hold_count() == 2 and theirs.read.hold_count() == 1
        keys = sorted(key.decode() for key in server.admin.keys(f"{base(name)}:*"))
        assert len(keys) == 3
        for release in (theirs.read.release, ours.read.release, ours.read.release):
            release()
        wait_clean(server)
    their_client.close()


def test_a_dead_redisson_reader_is_cleaned_up(
    make_redisson: Callable[[], Redisson], make_ours: Callable[..., redlatch.Client], server: RedisServer, name: str
) -> None:
    """testMultiInstanceReadLockZombieCleanup: Redisson dies as a reader, we hold longer, then a writer gets the
    lock."""
    doomed = make_redisson()
    client = doomed.connect(server.url, lockWatchdogTimeout=1000)
    assert TheirParty(doomed, client.read_lock(name)).acquire()
    ours = make_ours(watchdog_lease=1.5)
    both = ours.read_write_lock(name)
    assert both.read.acquire() and len(wire(server, name)) == 3
    doomed.kill()
    wait_until(lambda: len(list(server.admin.keys(f"{base(name)}:*"))) == 1, timeout=10)
    assert len(wire(server, name)) == 3, "its field stays"
    both.read.release()
    assert both.write.acquire(timeout=5)
    both.write.release()
    wait_clean(server)


@pytest.mark.older(False)
def test_our_dead_reader_is_cleaned_up_by_redisson(
    make_ours: Callable[..., redlatch.Client], java: Redisson, server: RedisServer, name: str
) -> None:
    """The reverse: our client closes without a release, as if it had died."""
    dead = make_ours(watchdog_lease=1.0, release_on_close=False)
    assert dead.read_write_lock(name).read.acquire()
    client = java.connect(server.url, lockWatchdogTimeout=1000)
    reader = TheirParty(java, client.read_lock(name))
    assert reader.acquire()
    dead.close()
    wait_until(lambda: len(list(server.admin.keys(f"{base(name)}:*"))) == 1, timeout=10)
    reader.release()
    wait_clean(server)
    client.close()


@pytest.mark.older(True)
def test_an_older_redisson_renews_the_dead(
    make_ours: Callable[..., redlatch.Client], java: Redisson, server: RedisServer, name: str
) -> None:
    """Redisson's watchdog of a read lock renews the timeout keys of all readers. Our writer gets the lock after
    Redisson has released and the last renewal of our dead reader has ended.
    """
    dead = make_ours(watchdog_lease=1.0, release_on_close=False)
    assert dead.read_write_lock(name).read.acquire()
    client = java.connect(server.url, lockWatchdogTimeout=2000)
    reader = TheirParty(java, client.read_lock(name))
    assert reader.acquire()
    dead.close()
    time.sleep(3.0)  # by then the dead reader's lease has ended, and the watchdog has renewed four times
    assert len(list(server.admin.keys(f"{base(name)}:*"))) == 2
    reader.release()
    writer = make_ours().read_write_lock(name).write
    assert writer.acquire(timeout=10)
    writer.release()
    wait_clean(server)
    client.close()


@pytest.mark.older(True)
def test_an_older_redisson_renews_nothing_beside_nested_reads(
    make_ours: Callable[..., redlatch.Client], java: Redisson, server: RedisServer, name: str
) -> None:
    """Redisson's renewal fails at a reader that holds the lock twice, and omits the readers behind it. Ours renews
    all."""
    both = make_ours(watchdog_lease=3.0).read_write_lock(name)
    client = java.connect(server.url, lockWatchdogTimeout=3000)
    reader = TheirParty(java, client.read_lock(name))
    assert both.read.acquire() and reader.acquire() and both.read.acquire()
    wait_until(lambda: len(list(server.admin.keys(f"{base(name)}:*"))) == 2, timeout=10)
    assert both.read.hold_count() == 2
    both.read.release()
    both.read.release()
    client.close()


def test_their_multi_lock_is_waited_for(
    java: Redisson, theirs: RedissonClient, ours: redlatch.Client, server: RedisServer, name: str
) -> None:
    """Redisson's multi lock extends the lock without its timeout keys. Our release does not take that reader for dead,
    unless our own lease was longer."""
    thread = java.thread()
    member, other = theirs.read_lock(name), theirs.lock(f"{name}:other")
    multi = theirs.multi_lock(member, other)
    both = ours.read_write_lock(name)
    assert multi.call(thread, "tryLock", {"ms": 500}, {"ms": 20_000})
    left = ttl_ms(server, name)
    assert left > 15_000
    wait_until(lambda: list(server.admin.keys(f"{base(name)}:*rwlock_timeout*")) == [], timeout=15)
    assert both.read.acquire(lease=3)
    both.read.release()
    assert len(wire(server, name)) == 2 and not both.write.acquire(blocking=False)
    multi.call(thread, "unlock")
    assert both.write.acquire(blocking=False)
    both.write.release()

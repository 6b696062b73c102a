# SPDX-License-Identifier: Apache-2.0
"""Semaphores with Redisson's RSemaphore: permits acquired and released across both sides."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, List, Tuple

import pytest
import redlatch
from parties import WOKEN, Task, wait_parked
from support import Monitor, RedisServer, wait_until
from support.redisson import OLDER, OnThread, Redisson, RedissonClient, ms
from support.wire import listeners_of, sent_by

MakeOurs = Callable[..., redlatch.Client]

PERMITS_MAX = 2_147_483_647


def channel(name: str) -> str:
    """Returns the channel of permits."""
    return f"redisson_sc:{{{name}}}"


def listeners(server: RedisServer, name: str) -> int:
    """Returns how many connections are subscribed to the channel of permits."""
    return listeners_of(server, channel(name))


@pytest.fixture
def semaphore(ours: redlatch.Client, name: str) -> redlatch.Semaphore:
    """redlatch's semaphore."""
    return ours.semaphore(name)


@pytest.fixture
def rival(java: Redisson, theirs: RedissonClient, name: str) -> OnThread:
    """Redisson's semaphore, on a thread of its own."""
    return theirs.semaphore(name).on(java.thread())


def our_wait(pool: ThreadPoolExecutor, call: Callable[[], Any]) -> Task:
    """Starts a redlatch call on another thread."""
    task = Task(call)
    pool.submit(task.run)
    return task


def test_counts_are_the_same(semaphore: redlatch.Semaphore, rival: OnThread) -> None:
    """Each side reads the changes of the other."""
    assert semaphore.try_set_permits(10) and not rival.trySetPermits(5)
    assert semaphore.acquire(2) and rival.availablePermits() == 8
    rival.acquire(3)
    assert semaphore.available() == 5
    rival.release(1)
    semaphore.release(2)
    assert semaphore.available() == rival.availablePermits() == 8
    semaphore.add_permits(-10)
    assert rival.availablePermits() == -2 and not rival.tryAcquire()
    rival.addPermits(5)
    assert semaphore.available() == 3
    assert semaphore.drain() == 3 and rival.availablePermits() == 0
    rival.addPermits(4)
    assert rival.drainPermits() == 4 and semaphore.available() == 0
    assert semaphore.delete() and (OLDER or not rival.releaseIfExists(1))
    assert rival.trySetPermits(2) and not semaphore.try_set_permits(3)
    assert semaphore.release_if_exists() and rival.availablePermits() == 3


def test_ours_release_wakes_theirs(
    semaphore: redlatch.Semaphore, rival: OnThread, server: RedisServer, name: str,
    note_seconds: Callable[[str, float], None],
) -> None:
    """Each way to add permits wakes Redisson's waiter."""
    for give in (semaphore.release, semaphore.release_if_exists, lambda: semaphore.add_permits(1)):
        waiting = rival.start("acquire")
        wait_until(lambda: listeners(server, name) == 1)
        time.sleep(0.05)
        assert not waiting.done
        given_at = time.monotonic()
        give()
        waiting.result()
        assert waiting.ended_at - given_at < WOKEN
        note_seconds("semaphore: our release wakes Redisson", waiting.ended_at - given_at)
        wait_until(lambda: listeners(server, name) == 0)
        assert semaphore.available() == 0


def test_our_set_wakes_theirs(semaphore: redlatch.Semaphore, rival: OnThread, server: RedisServer, name: str) -> None:
    """Permits are set for a semaphore that did not exist."""
    waiting = rival.start("acquire", 2)
    wait_until(lambda: listeners(server, name) == 1)
    semaphore.try_set_permits(2)
    waiting.result(1.0)


def test_theirs_release_wakes_ours(
    ours: redlatch.Client, semaphore: redlatch.Semaphore, rival: OnThread, server: RedisServer, monitor: Monitor,
    name: str, note_seconds: Callable[[str, float], None],
) -> None:
    """Our waiter sends nothing between its park and the message."""
    with ThreadPoolExecutor(1) as pool:
        for give, arguments in (("release", [2]), ("addPermits", [2]), *([] if OLDER else [("releaseIfExists", [2])])):
            listening, mark = listeners(server, name) == 1, monitor.mark()
            waiting = our_wait(pool, lambda: semaphore.acquire(2))
            mark = wait_parked(monitor, mark, name, listening=listening)
            time.sleep(0.2)
            assert [entry.arguments for entry in sent_by(monitor.since(mark), server, ours)] == []
            given_at = time.monotonic()
            getattr(rival, give)(*arguments)
            assert waiting.result() is True
            assert waiting.ended_at - given_at < WOKEN
            note_seconds("semaphore: Redisson's release wakes us", waiting.ended_at - given_at)
        assert semaphore.available() == 0


def test_theirs_set_wakes_ours(semaphore: redlatch.Semaphore, rival: OnThread, server: RedisServer, name: str) -> None:
    """Permits are set for a semaphore that did not exist."""
    with ThreadPoolExecutor(1) as pool:
        waiting = our_wait(pool, lambda: semaphore.acquire(2))
        wait_until(lambda: listeners(server, name) == 1)
        rival.trySetPermits(2)
        assert waiting.result(1.0) is True


def test_waits_that_end(semaphore: redlatch.Semaphore, rival: OnThread) -> None:
    """Either side gives up while the other holds, and leaves nothing behind."""
    semaphore.try_set_permits(1)
    semaphore.acquire()
    assert rival.tryAcquire(ms(300)) is False
    semaphore.release()
    assert rival.tryAcquire(ms(300)) is True
    assert semaphore.acquire(timeout=0.3) is False
    rival.release()
    assert semaphore.acquire(timeout=0.3) is True
    assert semaphore.available() == 0


def test_deleted_and_expired_by_theirs(semaphore: redlatch.Semaphore, rival: OnThread) -> None:
    """After a deletion or an expiry, the waiters of either side go on waiting for permits."""
    semaphore.try_set_permits(5)
    assert rival.delete() is True
    assert semaphore.available() == 0 and not semaphore.acquire(blocking=False)
    assert rival.trySetPermits(3, ms(1000)) is True
    assert semaphore.acquire(timeout=10)
    wait_until(lambda: semaphore.available() == 0)


@pytest.mark.parametrize("permits", [1, 3, PERMITS_MAX])
def test_many_turns(
    make_ours: MakeOurs, java: Redisson, theirs: RedissonClient, name: str, permits: int
) -> None:
    """Threads of both sides take turns. There are never more inside than permits, and no permit is lost."""
    inside: List[int] = []
    most: List[int] = []

    def turns(take: Callable[[], Any], give: Callable[[], Any]) -> None:
        for _ in range(15):
            take()
            inside.append(1)
            most.append(len(inside))
            inside.pop()
            give()

    sides: List[Tuple[Callable[[], Any], Callable[[], Any]]] = []
    for _ in range(3):
        one = make_ours().semaphore(name)
        other = theirs.semaphore(name).on(java.thread())
        sides += [(one.acquire, one.release), (other.acquire, other.release)]
    judge = make_ours().semaphore(name)
    assert judge.try_set_permits(permits)
    with ThreadPoolExecutor(len(sides)) as pool:
        for done in [pool.submit(turns, take, give) for take, give in sides]:
            done.result()
    assert len(most) == 15 * len(sides) and max(most) <= permits
    assert judge.available() == permits


def test_permits_of_a_dead_process_stay_taken(
    make_redisson: Callable[[], Redisson], server: RedisServer, semaphore: redlatch.Semaphore, name: str
) -> None:
    """The format has no owner of a permit (W-16). A permit semaphore has."""
    semaphore.try_set_permits(1)
    java = make_redisson()
    java.connect(server.url).semaphore(name).on(java.thread()).acquire()
    java.kill()
    assert not semaphore.acquire(timeout=0.3)
    semaphore.release()
    assert semaphore.acquire(timeout=0.3)

# SPDX-License-Identifier: Apache-2.0
"""Permit semaphores with Redisson's RPermitExpirableSemaphore: ids, leases and permits across both sides."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List

import pytest
import redlatch
from parties import WOKEN, Task, wait_parked
from support import Monitor, RedisServer, bound, wait_until
from support.peers import PeerError
from support.redisson import OnThread, Redisson, RedissonClient, ms
from support.wire import listeners_of, sent_by

MakeOurs = Callable[..., redlatch.Client]



@pytest.fixture
def slots(ours: redlatch.Client, name: str) -> redlatch.PermitSemaphore:
    """redlatch's semaphore."""
    return ours.permit_semaphore(name)


@pytest.fixture
def rival(java: Redisson, theirs: RedissonClient, name: str) -> OnThread:
    """Redisson's semaphore, on a thread of its own."""
    return theirs.permit_semaphore(name).on(java.thread())


def listeners(server: RedisServer, name: str) -> int:
    """Returns how many connections are subscribed to the channel of permits."""
    return listeners_of(server, f"redisson_sc:{{{name}}}")


def leases(server: RedisServer, name: str) -> Dict[str, float]:
    """Returns the acquired permits, with the ends of their leases."""
    found: Any = server.admin.zrange(f"{{{name}}}:timeout", 0, -1, withscores=True)
    return {member.hex(): score for member, score in found}


def sum_of(server: RedisServer, name: str) -> int:
    """Returns the available permits plus the acquired ones."""
    return int(server.admin.get(name) or 0) + len(leases(server, name))  # type: ignore[arg-type]


def test_counts_are_the_same(slots: redlatch.PermitSemaphore, rival: OnThread) -> None:
    """Each side reads the changes of the other."""

    def both() -> List[int]:
        mine = [slots.available(), slots.acquired(), slots.permits()]
        assert mine == [rival.availablePermits(), rival.acquiredPermits(), rival.getPermits()]
        return mine

    assert slots.try_set_permits(5) and not rival.trySetPermits(3)
    ours = slots.acquire_many(2)
    theirs = rival.acquire(2)
    assert both() == [1, 4, 5]
    rival.setPermits(3)
    assert both() == [-1, 4, 3]
    slots.set_permits(10)
    assert both() == [6, 4, 10]
    rival.addPermits(-1)
    slots.add_permits(-2)
    assert both() == [3, 4, 7]
    ours[0].release()
    assert rival.tryRelease(theirs[0]) is True
    assert both() == [5, 2, 7]
    assert slots.delete() and both() == [0, 0, 0]


def test_each_releases_the_others(slots: redlatch.PermitSemaphore, rival: OnThread) -> None:
    """Each side releases the other's permit by its id."""
    slots.try_set_permits(2)
    mine = slots.acquire()
    assert mine
    other: str = rival.acquire()
    assert rival.tryRelease(mine.id) is True
    slots.release(other)
    assert slots.available() == 2
    assert rival.tryRelease(mine.id) is False
    with pytest.raises(redlatch.NotOwnedError):
        slots.release(other)
    with pytest.raises(PeerError):
        rival.release(other)
    with pytest.raises(redlatch.LockLostError):
        mine.release()
    assert slots.available() == 2


def test_leases_across_the_line(slots: redlatch.PermitSemaphore, rival: OnThread) -> None:
    """Each side reads, lengthens and shortens the leases of the other."""
    slots.try_set_permits(3)
    mine = slots.acquire(lease=20)
    assert mine
    assert 19_000 < rival.getLeaseTime(mine.id) <= 20_000
    assert rival.updateLeaseTime(mine.id, ms(40_000)) is True
    assert 39 < slots.lease_of(mine) <= 40
    other: str = rival.acquire(ms(20_000))
    assert 19 < slots.lease_of(other) <= 20
    slots.extend(other, 5)
    assert 4_000 < rival.getLeaseTime(other) <= 5_000
    endless: str = rival.acquire()
    assert slots.lease_of(endless) == float("inf") and rival.getLeaseTime(endless) == -1


def test_ours_release_wakes_theirs(
    ours: redlatch.Client, slots: redlatch.PermitSemaphore, rival: OnThread, server: RedisServer, monitor: Monitor,
    name: str, note_seconds: Callable[[str, float], None],
) -> None:
    """Releases of either side wake the other. Our waiter sends nothing between its park and the message."""
    slots.try_set_permits(1)
    mine = slots.acquire()
    assert mine
    waiting = rival.start("acquire")
    wait_until(lambda: listeners(server, name) == 1)
    time.sleep(0.05)
    released_at = time.monotonic()
    mine.release()
    other = waiting.result()
    assert waiting.ended_at - released_at < WOKEN
    note_seconds("permits: our release wakes Redisson", waiting.ended_at - released_at)
    wait_until(lambda: listeners(server, name) == 0)
    with ThreadPoolExecutor(1) as pool:
        task = Task(slots.acquire)
        mark = monitor.mark()
        pool.submit(task.run)
        mark = wait_parked(monitor, mark, name)
        time.sleep(0.2)
        assert [entry.arguments for entry in sent_by(monitor.since(mark), server, ours)] == []
        released_at = time.monotonic()
        rival.release(other)
        assert task.result()
        assert task.ended_at - released_at < WOKEN
        note_seconds("permits: Redisson's release wakes us", task.ended_at - released_at)


@pytest.mark.parametrize("ours_first", [True, False], ids=["ours-expires", "theirs-expires"])
def test_a_lease_that_ends(
    slots: redlatch.PermitSemaphore, rival: OnThread, server: RedisServer, name: str, ours_first: bool
) -> None:
    """The other side's waiter gets the permit when the lease ends. A late release does not add a second permit."""
    slots.try_set_permits(1)
    started_at = time.monotonic()
    if ours_first:
        mine = slots.acquire(lease=1)
        assert mine
        assert isinstance(rival.tryAcquire(ms(5000), ms(30_000)), str)
        with pytest.raises(redlatch.LockLostError):
            mine.release()
    else:
        other: str = rival.acquire(ms(1000))
        assert slots.acquire(timeout=5)
        assert rival.tryRelease(other) is False
    assert 0.9 < time.monotonic() - started_at < 4.5
    assert sum_of(server, name) == 1 and len(leases(server, name)) == 1


def test_waits_that_end(slots: redlatch.PermitSemaphore, rival: OnThread, server: RedisServer, name: str) -> None:
    """Either side gives up while the other has the permit, and leaves nothing behind."""
    slots.try_set_permits(1)
    mine = slots.acquire()
    assert mine and rival.tryAcquire(ms(300), ms(30_000)) is None
    mine.release()
    other: str = rival.acquire()
    assert not slots.acquire(timeout=0.3)
    rival.release(other)
    wait_until(lambda: slots.available() == 1 and sum_of(server, name) == 1)


def test_deleted_by_either(slots: redlatch.PermitSemaphore, rival: OnThread) -> None:
    """The permits vanish with the semaphore, and the release of one reports it."""
    slots.try_set_permits(1)
    mine = slots.acquire()
    assert mine and rival.delete() is True
    with pytest.raises((redlatch.LockLostError, redlatch.NotOwnedError)):
        mine.release()
    assert slots.permits() == 0 and slots.try_set_permits(1)
    other: str = rival.acquire()
    assert slots.delete() and rival.tryRelease(other) is False and rival.getPermits() == 0


HOLDER = """
import sys, redlatch
permit = redlatch.connect(sys.argv[1], watchdog_lease=1).permit_semaphore(sys.argv[2]).acquire()
print(permit.id, flush=True)
sys.stdin.read()
"""


def test_permits_of_our_dead_process_return(
    slots: redlatch.PermitSemaphore, rival: OnThread, server: RedisServer, name: str
) -> None:
    """Redisson gets them, too, when the watchdog lease has ended."""
    slots.try_set_permits(1)
    command = [sys.executable, "-c", HOLDER, server.url, name]
    with subprocess.Popen(bound(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and len(process.stdout.readline()) == 33
            assert rival.tryAcquire() is None
        finally:
            process.kill()
    assert isinstance(rival.tryAcquire(ms(10_000), ms(30_000)), str)


def test_permits_of_a_dead_redisson_return(
    make_redisson: Callable[[], Redisson], slots: redlatch.PermitSemaphore, server: RedisServer, name: str
) -> None:
    """We get them when their lease has ended."""
    slots.try_set_permits(1)
    java = make_redisson()
    java.connect(server.url).permit_semaphore(name).on(java.thread()).acquire(ms(2000))
    java.kill()
    assert not slots.acquire(blocking=False)
    assert slots.acquire(timeout=5)


def test_we_heal_what_redisson_can_not_read(
    slots: redlatch.PermitSemaphore, rival: OnThread, server: RedisServer, name: str
) -> None:
    """W-21: too many expired permits make Redisson's script fail. Ours take them back a thousand at a time."""
    server.admin.set(name, 0)
    dead = {index.to_bytes(16, "big"): 1000 + index for index in range(9000)}
    server.admin.zadd(f"{{{name}}}:timeout", dead)  # type: ignore[arg-type]
    with pytest.raises(PeerError):
        rival.availablePermits()
    for _ in range(3):
        permit = slots.acquire()
        assert permit
        permit.release()
    assert rival.availablePermits() == 9000


def test_many_turns(
    make_ours: MakeOurs, java: Redisson, theirs: RedissonClient, server: RedisServer, name: str
) -> None:
    """Threads of both sides. There are never more inside than permits, and no permit is lost."""
    inside: List[int] = []
    most: List[int] = []

    def turns(take: Callable[[], Any], give: Callable[[Any], Any]) -> None:
        for _ in range(15):
            permit = take()
            inside.append(1)
            most.append(len(inside))
            inside.pop()
            give(permit)

    sides = []
    for _ in range(3):
        one = make_ours().permit_semaphore(name)
        other = theirs.permit_semaphore(name).on(java.thread())
        sides += [(one.acquire, one.release), (other.acquire, other.release)]
    make_ours().permit_semaphore(name).try_set_permits(2)
    with ThreadPoolExecutor(len(sides)) as pool:
        for done in [pool.submit(turns, take, give) for take, give in sides]:
            done.result()
    assert len(most) == 15 * len(sides) and max(most) <= 2
    assert sum_of(server, name) == 2 and leases(server, name) == {}

# SPDX-License-Identifier: Apache-2.0
"""Count-down latches with Redisson's RCountDownLatch: each side counts down the other's."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, List

import pytest
import redlatch
from parties import WOKEN, Task
from support import Monitor, RedisServer, wait_until
from support.redisson import OnThread, Redisson, RedissonClient, ms
from support.wire import listeners_of, sent_by


def listeners(server: RedisServer, name: str) -> int:
    """Returns how many connections are subscribed to the latch's channel."""
    return listeners_of(server, f"redisson_countdownlatch__channel__{{{name}}}")


def rechecks_since(monitor: Monitor, mark: int) -> int:
    """Returns how many scripts were called after a subscription."""
    words = monitor.top_level(mark).verbs()
    return words[words.index("SUBSCRIBE") :].count("EVALSHA") if "SUBSCRIBE" in words else 0


@pytest.fixture
def latch(ours: redlatch.Client, name: str) -> redlatch.Latch:
    """redlatch's latch."""
    return ours.latch(name)


@pytest.fixture
def rival(java: Redisson, theirs: RedissonClient, name: str) -> OnThread:
    """Redisson's latch, on a thread of its own."""
    return theirs.latch(name).on(java.thread())


def test_counts_are_the_same(latch: redlatch.Latch, rival: OnThread) -> None:
    """Each side counts down the other's."""
    assert latch.try_set_count(3) and not rival.trySetCount(5)
    rival.countDown()
    assert latch.count() == rival.getCount() == 2
    latch.count_down()
    rival.countDown()
    assert latch.count() == rival.getCount() == 0
    assert latch.wait() and rival.await_(ms(100)) is True
    assert rival.trySetCount(2) and not latch.try_set_count(1)
    latch.count_down()
    latch.count_down()
    latch.count_down()
    assert rival.getCount() == 0
    assert rival.trySetCount(2) and latch.delete() and rival.getCount() == 0


def test_we_let_them_through(
    latch: redlatch.Latch, rival: OnThread, server: RedisServer, name: str, note_seconds: Callable[[str, float], None]
) -> None:
    """Our last count-down wakes Redisson's waiter."""
    latch.try_set_count(2)
    waiting = rival.start("await")
    wait_until(lambda: listeners(server, name) == 1)
    latch.count_down()
    time.sleep(0.1)
    assert not waiting.done
    opened_at = time.monotonic()
    latch.count_down()
    waiting.result()
    assert waiting.ended_at - opened_at < WOKEN
    note_seconds("latch: our count-down wakes Redisson", waiting.ended_at - opened_at)


def test_they_let_us_through(
    ours: redlatch.Client, latch: redlatch.Latch, rival: OnThread, server: RedisServer, monitor: Monitor, name: str,
    note_seconds: Callable[[str, float], None],
) -> None:
    """Redisson's last count-down wakes all our waiters, which send nothing before."""
    rival.trySetCount(2)
    with ThreadPoolExecutor(5) as pool:
        tasks: List[Task] = [Task(latch.wait) for _ in range(5)]
        mark = monitor.mark()
        for task in tasks:
            pool.submit(task.run)
        wait_until(lambda: rechecks_since(monitor, mark) >= 5, message="each of them to listen and to look once more")
        time.sleep(0.05)
        mark = monitor.mark()
        rival.countDown()
        time.sleep(0.2)
        assert not any(task.done for task in tasks)
        assert [entry.arguments for entry in sent_by(monitor.since(mark), server, ours)] == []
        opened_at = time.monotonic()
        rival.countDown()
        for task in tasks:
            assert task.result() is True
            assert task.ended_at - opened_at < WOKEN
            note_seconds("latch: Redisson's count-down wakes us", task.ended_at - opened_at)


def test_our_waiter_of_their_deleted_latch(
    latch: redlatch.Latch, rival: OnThread, server: RedisServer, name: str
) -> None:
    """W-22: a deleted latch is open, and our waiters return at once."""
    rival.trySetCount(2)
    with ThreadPoolExecutor(1) as pool:
        task = Task(latch.wait)
        pool.submit(task.run)
        wait_until(lambda: listeners(server, name) == 1)
        assert rival.delete() is True
        assert task.result(1.0) is True


def test_a_latch_that_is_set_again_closes_their_gate(latch: redlatch.Latch, rival: OnThread) -> None:
    """Redisson's waiters are notified when a latch is set."""
    latch.try_set_count(1)
    latch.count_down()
    assert rival.await_(ms(200)) is True
    latch.try_set_count(1)
    assert rival.await_(ms(200)) is False
    latch.count_down()
    assert rival.await_(ms(200)) is True


def test_waits_that_end(latch: redlatch.Latch, rival: OnThread) -> None:
    """Waits of either side end by their timeout."""
    latch.try_set_count(1)
    assert rival.await_(ms(200)) is False and latch.wait(timeout=0.5) is False


def test_many_count_down(ours: redlatch.Client, java: Redisson, theirs: RedissonClient, name: str) -> None:
    """Threads of both sides count down, and waiters of both sides wait."""
    latch = ours.latch(name)
    counts = 24
    latch.try_set_count(counts)
    waiters = [theirs.latch(name).on(java.thread()).start("await") for _ in range(3)]
    with ThreadPoolExecutor(16) as pool:
        ours_waiting = [pool.submit(latch.wait) for _ in range(3)]
        down = [theirs.latch(name).on(java.thread()).countDown for _ in range(counts // 2)]
        down += [latch.count_down] * (counts // 2)
        for done in [pool.submit(each) for each in down]:
            done.result()
        for waiting in ours_waiting:
            assert waiting.result(5) is True
    for theirs_waiting in waiters:
        theirs_waiting.result(5)
    assert latch.count() == 0

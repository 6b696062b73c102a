# SPDX-License-Identifier: Apache-2.0
"""`with` blocks that are entered on one thread and left on another, as in a web framework with a pool of threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Callable, Iterator, List

import pytest
import redlatch
from support import RedisServer, wait_until

WATCHDOG = 0.6


class Thread:
    """A thread that calls the functions that it is given, one after the other."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1)

    def do(self, what: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function on the thread, and returns its result."""
        return self._pool.submit(what, *arguments).result(20)

    def start(self, what: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
        """Calls a function on the thread without waiting. Returns a function that waits for the result."""
        future = self._pool.submit(what, *arguments)
        return lambda: future.result(20)

    def end(self) -> None:
        """Ends the thread, and returns when it has ended."""
        self._pool.shutdown()


@contextmanager
def threads(count: int) -> Iterator[List[Thread]]:
    """Runs `count` threads until the block ends."""
    made = [Thread() for _ in range(count)]
    try:
        yield made
    finally:
        for thread in made:
            thread.end()


def leave(manager: Any) -> None:
    """Leaves a block as after a normal end."""
    manager.__exit__(None, None, None)


@pytest.mark.parametrize("owner", ["thread", "handle"])
def test_a_block_is_left_on_another_thread(client: redlatch.Client, lock_name: str, owner: Any) -> None:
    lock = client.lock(lock_name, owner=owner)
    with threads(2) as (one, other):
        for _ in range(3):
            hold = one.do(lock.__enter__)
            assert hold.count == 1
            other.do(leave, lock)
            assert hold.count == 0 and not lock.state().locked
    assert client.stats()["held"] == 0


def test_nested_blocks_are_left_on_other_threads(client: redlatch.Client, lock_name: str) -> None:
    lock = client.lock(lock_name)
    with threads(3) as (one, two, three):
        hold = one.do(lock.__enter__)
        one.do(lock.__enter__)
        assert hold.count == 2
        two.do(leave, lock)
        assert hold.count == 1 and lock.state().locked
        one.do(lock.__enter__)
        one.do(leave, lock)  # on the thread that entered it
        assert hold.count == 1
        three.do(leave, lock)
        assert hold.count == 0 and not lock.state().locked
        with pytest.raises(redlatch.NotOwnedError, match='owner="handle"'):
            three.do(leave, lock)


def test_each_thread_leaves_its_own_block_first(client: redlatch.Client, lock_name: str) -> None:
    """Two threads are in blocks of one lock. A thread that leaves a block ends its own hold, or that of another thread
    if it has none."""
    lock = client.read_write_lock(lock_name).read
    with threads(3) as (one, two, three):
        first, second = one.do(lock.__enter__), two.do(lock.__enter__)
        one.do(leave, lock)
        assert (first.count, second.count) == (0, 1)
        first = one.do(lock.__enter__)
        three.do(leave, lock)
        assert first.count + second.count == 1 and lock.state().holders == 1
        (one if second.count else two).do(leave, lock)  # the thread without a block leaves the open one
        assert first.count + second.count == 0 and lock.state().holders == 0


def test_blocks_that_all_swap_threads_at_the_same_time(client: redlatch.Client, lock_name: str) -> None:
    """No two threads leave the same block."""
    lock = client.read_write_lock(lock_name).read
    slots = client.permit_semaphore(f"{lock_name}:slots", limit=20)
    with threads(4) as entering, threads(4) as leaving:
        for _ in range(25):
            for manager in (lock, slots):
                for thread in entering:
                    thread.do(manager.__enter__)
                barrier = threading.Barrier(len(leaving))

                def left(manager: Any = manager, barrier: threading.Barrier = barrier) -> None:
                    barrier.wait(20)
                    leave(manager)

                for wait in [thread.start(left) for thread in leaving]:
                    wait()
        assert client.stats()["held"] == 0
        assert lock.state().holders == 0 and slots.available() == 20


def test_blocks_of_a_job_that_swap_threads_at_the_same_time(client: redlatch.Client, lock_name: str) -> None:
    """One thread has the job, and another one skipped it. Both blocks are left on other threads."""
    once = client.once(lock_name, at_least=0, at_most=60)
    with threads(2) as entering, threads(2) as leaving:
        for _ in range(300):
            assert sum(thread.do(once.__enter__) is not None for thread in entering) == 1
            barrier = threading.Barrier(len(leaving))

            def left(barrier: threading.Barrier = barrier) -> None:
                barrier.wait(20)
                leave(once)

            for wait in [thread.start(left) for thread in leaving]:
                wait()
            assert client.stats()["held"] == 0
        with pytest.raises(redlatch.NotOwnedError, match="no `with` block"):
            leave(once)


def test_a_thread_that_ends_inside_stays_the_owner_until_the_block_is_left(
    server: RedisServer, lock_name: str
) -> None:
    """A pool may end the thread that entered a block before another thread leaves the block."""
    with redlatch.connect(server.url, watchdog_lease=WATCHDOG) as client:
        lock = client.lock(lock_name)
        with threads(1) as (one,):
            hold = one.do(lock.__enter__)
        renewals = client.stats()["renewals"]
        wait_until(lambda: client.stats()["renewals"] > renewals + 3)
        hold.check()
        leave(lock)
        assert not lock.state().locked and client.stats()["held"] == 0


def test_a_permit_is_given_back_on_another_thread(client: redlatch.Client, lock_name: str) -> None:
    slots = client.permit_semaphore(lock_name, limit=2)
    with threads(3) as (one, two, three):
        first, second = one.do(slots.__enter__), two.do(slots.__enter__)
        one.do(leave, slots)
        assert slots.available() == 1 and first.lost is False
        three.do(leave, slots)
        assert slots.available() == 2
        with pytest.raises(redlatch.NotOwnedError, match="no `with` block"):
            two.do(leave, slots)
        assert second.remaining() == 0


def test_an_error_names_who_may_release(client: redlatch.Client, lock_name: str) -> None:
    lock = client.lock(lock_name)
    lock.acquire()
    with threads(1) as (other,), pytest.raises(redlatch.NotOwnedError, match='owner="handle"'):
        other.do(lock.release)
    lock.release()


def test_a_turn_is_left_on_another_thread(client: redlatch.Client, lock_name: str) -> None:
    """Which of several blocks a thread leaves is not known. Its own is assumed first, and then a skipped one, so that a
    running job keeps its lock."""
    once = client.once(lock_name, at_most=30)
    with threads(3) as (one, two, three):
        assert one.do(once.__enter__) is not None
        assert two.do(once.__enter__) is None
        for leaver in (three, one):
            leaver.do(leave, once)
            assert client.inspect(lock_name).locked is (leaver is three)
        assert one.do(once.__enter__) is not None
        three.do(leave, once)
        assert one.do(once.__enter__) is not None
        assert two.do(once.__enter__) is None and one.do(once.__enter__) is None
        for locked in (True, False):  # the inner block of `one` was skipped
            one.do(leave, once)
            assert client.inspect(lock_name).locked is locked
        two.do(leave, once)
    assert client.stats()["held"] == 0 and not client.inspect(lock_name).locked


def test_turns_that_fail_leave_nothing(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url) as client:
        once = client.once(lock_name, at_most=30)
        server.admin.rpush(lock_name, "no lock")
        with pytest.raises(redlatch.WrongTypeError), once:
            pass
        assert once._turns == []
        server.admin.delete(lock_name)
        with once as hold:
            assert hold is not None

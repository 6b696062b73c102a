# SPDX-License-Identifier: Apache-2.0
"""Many threads of one process wait for one lock: one subscription, one wait queue, and one script for a hand-over."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import Iterator, List

import pytest
import redlatch
from children import ChildProcess
from stalls import Stalls
from support import Monitor, RedisServer, wait_until
from support.wire import fields, load_scripts, scripts, sent_by, subscribers
from waiters import SOON, Waiting, hold_as_redisson, release_as_redisson

THREADS = 200
MANY = 1000
IDLE = 0.01  # the most that all waiting threads may use of one core
TURNS = 20
RECHECK = 5.0


@pytest.fixture
def client(server: RedisServer) -> Iterator[redlatch.Client]:
    """A client without a proxy. The server has all scripts."""
    load_scripts(server)
    with redlatch.connect(server.url) as opened:
        yield opened


@pytest.fixture
def stalls() -> Iterator[Stalls]:
    """Measures the machine's stalls during the test."""
    with Stalls() as measuring:
        yield measuring


class Queue:
    """Threads that begin to wait for one lock one after the other, and the order in which they are granted it."""

    def __init__(self, client: redlatch.Client, name: str, threads: int) -> None:
        self.order: List[int] = []
        self._inside = 0
        self.waiting: List[Waiting] = []
        before = client.stats()["round_trips"]
        for number in range(threads):
            self.waiting.append(Waiting(client.lock(name), before_release=partial(self._note, number)))
            wait_until(partial(self._is_joined_by, client, number + 1))
        # The foremost waiter acquires in vain, subscribes, rechecks, and is parked after that second command.
        wait_until(lambda: client.stats()["subscriptions"] == 1)
        wait_until(lambda: client.stats()["round_trips"] >= before + 2)

    @staticmethod
    def _is_joined_by(client: redlatch.Client, count: int) -> bool:
        return client.stats()["waiters"] == count

    def _note(self, number: int) -> None:
        self._inside += 1
        assert self._inside == 1, "two threads hold the lock at once"
        self.order.append(number)
        self._inside -= 1

    def finish(self) -> None:
        """Wait until every thread has had the lock."""
        for waiting in self.waiting:
            assert waiting.result(30.0) is True


def test_200_waiters_share_one_poll(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    hold_as_redisson(server, lock_name, lease_ms=None)
    queue = Queue(client, lock_name, THREADS)
    mark = monitor.mark()
    time.sleep(RECHECK + 0.5)
    executed = sent_by(monitor.since(mark), server, client)
    assert 1 <= len(executed) <= 2, "the look, and the next one if it took long to begin so many"
    assert set(scripts(executed)) == {"acquire"} and len(scripts(executed)) == len(executed)
    assert subscribers(server, lock_name) == 1 and client.stats()["subscriptions"] == 1
    release_as_redisson(server, lock_name)
    queue.finish()
    assert queue.order == list(range(THREADS))
    assert fields(server, lock_name) == {}


def test_one_script_from_one_thread_to_the_next(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    lock = client.lock(lock_name)
    lock.acquire()
    queue = Queue(client, lock_name, THREADS)
    mark = monitor.mark()
    lock.release()
    queue.finish()
    assert queue.order == list(range(THREADS))
    executed = scripts(sent_by(monitor.since(mark), server, client))
    handed, released, requested = (executed.count(name) for name in ("hand_over", "release", "acquire"))
    assert client.stats()["hand_overs"] == handed > THREADS / 4
    # Now and then the lock is released on the server, so that other processes get their turn, and the next waiter sends
    # an acquire. The waiter behind it may get the message of that release after it became foremost, and rechecks.
    assert (handed + released, len(executed)) == (THREADS + 1, handed + released + requested)
    assert released - 1 <= requested <= 2 * released
    assert fields(server, lock_name) == {}


def test_1000_waiters_use_no_processor_time(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    with redlatch.connect(server.url) as other:
        with other.lock(lock_name):
            waiting = [Waiting(client.lock(lock_name)) for _ in range(MANY)]
            wait_until(lambda: client.stats()["waiters"] == MANY, 30.0)
            time.sleep(0.5)
            begun, used = time.monotonic(), time.process_time()
            time.sleep(5)
            assert time.process_time() - used < IDLE * (time.monotonic() - begun)
        assert all(each.result(30.0) for each in waiting)
    assert client.stats()["waiters"] == 0


def test_nobody_is_starved_by_64_threads(
    server: RedisServer, client: redlatch.Client, stalls: Stalls, lock_name: str
) -> None:
    over = threading.Event()
    ours: List[float] = []

    def contend() -> None:
        lock = client.lock(lock_name)
        while not over.is_set():
            started_at = time.monotonic()
            with lock:
                ours.append(time.monotonic() - started_at)

    with ChildProcess(server.url, lock_name) as other, ChildProcess(server.url, lock_name) as redisson_shaped:
        threads = [threading.Thread(target=contend) for _ in range(64)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(ours) > 200)
        other.send("turns", TURNS)
        redisson_shaped.send("redisson_turns", TURNS)
        theirs = other.result(60.0) + redisson_shaped.result(60.0)
        over.set()
        for thread in threads:
            thread.join(10.0)
    assert max(theirs) < stalls.widen(SOON) and max(ours) < stalls.widen(SOON)
    assert client.stats()["hand_overs"] > 0
    assert fields(server, lock_name) == {}

# SPDX-License-Identifier: Apache-2.0
"""Repeated failovers by sentinels while workers contend for locks. A stage of its own, because it takes minutes."""

from __future__ import annotations

import threading
import time
from typing import Callable, Dict, List

import pytest
import redlatch
from support import wait_until
from support.sentinels import Watched

ROUNDS = 7
WORKERS = 6
# The longest time, on a busy machine, from the announcement of a master until each worker has had a turn there.
BOUND = 15.0


def order(watched: Watched) -> None:
    """The sentinels fail over on command."""
    watched.failover()


def kill(watched: Watched) -> None:
    """The master is killed and started again, as a replica."""
    old = watched.master
    old.kill()
    watched.wait_for_new_master(old)
    old.start()


def stop(watched: Watched) -> None:
    """The master's process is stopped, and continues when there is another master."""
    old = watched.master
    old.sigstop()
    watched.wait_for_new_master(old)
    old.sigcont()


class Worker(threading.Thread):
    """Acquires and releases one of two locks repeatedly. Every third worker acquires without blocking."""

    def __init__(self, url: str, number: int, stopping: threading.Event) -> None:
        super().__init__(daemon=True)
        self.turns = 0
        self.errors: Dict[str, int] = {}
        self.wrong: List[BaseException] = []
        self._url, self._number, self._stopping = url, number, stopping

    def run(self) -> None:
        with redlatch.connect(self._url, watchdog_lease=6.0, unreachable_timeout=60.0) as client:
            lock = client.lock(f"lock:{self._number % 2}", owner="handle")
            while not self._stopping.is_set():
                try:
                    self._turn(lock)
                except redlatch.RedlatchError as error:
                    self._note(error)

    def _turn(self, lock: redlatch.Lock) -> None:
        if self._number % 3 == 0:
            if lock.acquire(blocking=False):
                lock.release()
                self.turns += 1
        else:
            with lock:
                self.turns += 1
        time.sleep(0.005)

    def _note(self, error: redlatch.RedlatchError) -> None:
        """Counts an error. A failover may cause a lost hold, and a transient error for a call that does not wait. All
        other errors are wrong."""
        self.errors[error.status_name] = self.errors.get(error.status_name, 0) + 1
        waits = self._number % 3 != 0 and not str(error).startswith("release ")
        if isinstance(error, redlatch.LockLostError) or (not waits and error.retryable):
            return
        self.wrong.append(error)


def wait_for_turns(workers: List[Worker]) -> None:
    """Waits until each worker has had a further turn."""
    before = [worker.turns for worker in workers]
    wait_until(
        lambda: all(worker.turns > turns for worker, turns in zip(workers, before)),
        BOUND,
        lambda: f"turns of each: {before} to {[worker.turns for worker in workers]}",
    )


@pytest.mark.timeout(900)
@pytest.mark.parametrize("change", [order, kill, stop])
def test_failovers(change: Callable[[Watched], None]) -> None:
    """After each failover every worker has turns again. Waiting acquires fail with no error but a lost hold."""
    stopping = threading.Event()
    with Watched() as watched:
        workers = [Worker(watched.url(), number, stopping) for number in range(WORKERS)]
        for worker in workers:
            worker.start()
        wait_for_turns(workers)
        for _ in range(ROUNDS):
            wait_until(lambda: all(one.knows(2, 2) for one in watched.sentinels), 60.0)
            change(watched)
            wait_for_turns(workers)
            assert not [worker.wrong for worker in workers if worker.wrong]
        stopping.set()
        for worker in workers:
            worker.join(30.0)
            assert not worker.is_alive()
        print({name: sum(worker.errors.get(name, 0) for worker in workers)
               for worker in workers for name in worker.errors}, [worker.turns for worker in workers])
        wait_until(lambda: not watched.master.admin.exists("lock:0", "lock:1"), 10.0)

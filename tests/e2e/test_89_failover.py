# SPDX-License-Identifier: Apache-2.0
"""A replica takes the place of its master under one address, as behind a proxy or a name: locks go on working.

A failover may lose locks that were held. TOLERATED lists the errors that calls may raise meanwhile.
"""

from __future__ import annotations

import random
import threading
from typing import Any, Callable, Iterator, List

import pytest
import redlatch
from support import Proxy, RedisServer, wait_until
from support.wire import subscribers
from waiters import Waiting, hold_as_redisson, release_as_redisson

MakeServer = Callable[..., RedisServer]
# The demoted master refuses commands, connections break, and what only that master had is lost.
TOLERATED = (redlatch.ServerError, redlatch.UnreachableError, redlatch.LockLostError, redlatch.NotOwnedError)
THREADS = 4
TURNS = 25


class Pair:
    """A master and its replica behind one proxy. Clients do not know which of them they reach."""

    def __init__(self, master: RedisServer, replica: RedisServer, proxy: Proxy) -> None:
        self.master, self.replica, self.proxy = master, replica, proxy

    def synchronous(self) -> bool:
        """Returns whether the replica has everything. WAIT covers its own connection's write and all writes before."""
        admin: Any = self.master.admin
        admin.set("in-step", 1)
        admin.delete("in-step")
        return int(admin.execute_command("WAIT", 1, 1000)) == 1

    def fail_over(self) -> None:
        """Does what sentinels do: promotes the replica, demotes the master, and ends the clients' connections."""
        self.replica.admin.replicaof("NO", "ONE")
        self.master.admin.replicaof("127.0.0.1", str(self.replica.port))
        self.proxy.turn_to(self.replica.address)
        self.proxy.cut_all()


@pytest.fixture
def pair(make_server: MakeServer) -> Iterator[Pair]:
    """A pair whose replica has everything."""
    master = make_server(repl_diskless_sync_delay=0)
    replica = make_server(replicaof=["127.0.0.1", str(master.port)], repl_diskless_sync_delay=0)
    with Proxy(master.address) as proxy:
        both = Pair(master, replica, proxy)
        wait_until(both.synchronous, 20.0)
        yield both


def test_random_locks_go_on(pair: Pair, lock_name: str) -> None:
    """Threads take random locks all the time. After the failover every acquire succeeds again."""
    over = threading.Event()
    turns = [0] * THREADS
    unexpected: List[BaseException] = []
    with redlatch.connect(pair.proxy.url, watchdog_lease=2.0, command_timeout=2) as client:

        def work(number: int) -> None:
            draw = random.Random(number)
            while not over.is_set():
                try:
                    with client.lock(f"{lock_name}:{draw.randrange(5)}", timeout=5):
                        turns[number] += 1
                except TOLERATED:
                    continue
                except BaseException as error:
                    unexpected.append(error)
                    return

        threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        wait_until(lambda: min(turns) >= TURNS or unexpected, 20.0)
        pair.fail_over()
        before = list(turns)
        wait_until(lambda: all(now >= then + TURNS for now, then in zip(turns, before)) or unexpected, 20.0)
        over.set()
        for thread in threads:
            thread.join(10.0)
        assert not unexpected
        for number in range(5):  # without an error, since the failover is over
            with client.lock(f"{lock_name}:{number}", timeout=5):
                assert pair.replica.admin.exists(f"{lock_name}:{number}")


@pytest.mark.parametrize("kind", ["mutex", "fair", "write"])
def test_a_waiter_listens_on_the_new_master(pair: Pair, lock_name: str, kind: str) -> None:
    """The waiter is subscribed at the new master, where a release wakes it."""
    make: Callable[[redlatch.Client], redlatch.Lock] = {
        "mutex": lambda client: client.lock(lock_name, owner="handle"),
        "fair": lambda client: client.fair_lock(lock_name, owner="handle"),
        "write": lambda client: client.read_write_lock(lock_name).write,
    }[kind]
    with redlatch.connect(pair.proxy.url, command_timeout=5) as client:
        with redlatch.connect(pair.proxy.url, command_timeout=5) as other:
            holder = make(other)
            holder.acquire()
            waiting = Waiting(make(client), 30.0, keep=True)
            wait_until(lambda: client.stats()["subscriptions"] >= 1 and client.stats()["waiters"] == 1)
            wait_until(pair.synchronous)
            pair.fail_over()
            wait_until(lambda: any(lock_name.encode() in channel for channel in channels(pair.replica)), 15.0)
            release(holder)
            assert waiting.result(10.0) is True
            waiting.leave()


def channels(server: RedisServer) -> List[bytes]:
    """Returns the channels that have subscribers."""
    found: Any = server.admin.pubsub_channels()
    return list(found)


def release(lock: redlatch.Lock) -> None:
    """Releases a lock. The first attempt may still reach the demoted master."""

    def done() -> bool:
        try:
            lock.release()
        except redlatch.UnreachableError:
            return False
        return True

    wait_until(done)


def test_a_message_on_the_new_master_wakes(pair: Pair, lock_name: str) -> None:
    """The message may come from Redisson."""
    hold_as_redisson(pair.master, lock_name)
    with redlatch.connect(pair.proxy.url, command_timeout=5) as client:
        waiting = Waiting(client.lock(lock_name), 30.0)
        wait_until(lambda: subscribers(pair.master, lock_name) == 1)
        wait_until(pair.synchronous)
        pair.fail_over()
        wait_until(lambda: subscribers(pair.replica, lock_name) == 1, 15.0)
        release_as_redisson(pair.replica, lock_name)
        assert waiting.result(10.0) is True

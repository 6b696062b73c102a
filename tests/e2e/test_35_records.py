# SPDX-License-Identifier: Apache-2.0
"""The keys of the records of operations on counts. A key is reused as soon as no copy of a command can need the record,
and no sooner."""

from __future__ import annotations

import threading
from typing import Callable, Iterator

import pytest
import redlatch
from steps import Call
from support import Proxy, RedisServer, wait_until
from support.wire import SCRIPTS, load_scripts

MakeServer = Callable[..., RedisServer]

PAIRS = 2_000
MOST = 20
PASSWORD = "secret"


def records(server: RedisServer) -> int:
    """Returns how many records are on the server."""
    return sum(1 for _ in server.admin.scan_iter(match="redlatch_op:*", count=1_000))


@pytest.fixture
def client(server: RedisServer) -> Iterator[redlatch.Client]:
    """A client without a proxy. The server has all scripts."""
    load_scripts(server)
    with redlatch.connect(server.url) as opened:
        yield opened


def test_two_thousand_pairs_leave_few_keys(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    server.admin.set(lock_name, 3)
    semaphore = client.semaphore(lock_name)
    before = client.stats()
    server.admin.config_resetstat()
    for _ in range(PAIRS):
        assert semaphore.acquire()
        semaphore.release()
    assert records(server) <= MOST
    after = client.stats()
    assert after["round_trips"] - before["round_trips"] == 2 * PAIRS
    assert server.admin.info("commandstats")["cmdstat_evalsha"]["calls"] == 2 * PAIRS
    assert server.admin.get(lock_name) == b"3"


@pytest.mark.parametrize("kind", ["semaphore", "latch"])
def test_a_handle_for_each_call_leaves_few_keys(
    server: RedisServer, client: redlatch.Client, lock_name: str, kind: str
) -> None:
    for _ in range(100):
        if kind == "latch":
            assert client.latch(lock_name).try_set_count(1)
            client.latch(lock_name).count_down()
        else:
            client.semaphore(lock_name).release(2)
            assert client.semaphore(lock_name).drain() == 2
    assert records(server) <= MOST


def test_threads_and_names_leave_a_key_for_each_that_is_at_work(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    names = [f"{lock_name}:{i}" for i in range(3)]
    threads = 8

    def work() -> None:
        for turn in range(60):
            semaphore = client.semaphore(names[turn % len(names)])
            semaphore.release()
            assert semaphore.acquire()

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert records(server) <= len(names) * threads
    assert [server.admin.get(name) for name in names] == [b"0"] * len(names)


@pytest.fixture
def limited(make_server: MakeServer) -> RedisServer:
    """A server with a user who may not kill connections."""
    server = make_server()
    server.set_user("limited", PASSWORD, "+@all", "-client|kill")
    load_scripts(server)
    return server


def test_where_kill_is_denied_too(limited: RedisServer, lock_name: str) -> None:
    with Proxy(limited.address) as proxy:
        with redlatch.connect(proxy.url, username="limited", password=PASSWORD, command_timeout=20) as client:
            semaphore = client.semaphore(lock_name)
            proxy.cut_after(SCRIPTS["release_semaphore"])
            semaphore.release()
            for _ in range(100):
                assert semaphore.acquire()
                semaphore.release()
    assert records(limited) <= MOST
    assert limited.admin.get(lock_name) == b"1"


def pairs(semaphore: redlatch.Semaphore) -> None:
    """Makes operations on the semaphore that leave its count as it was."""
    for _ in range(30):
        semaphore.release()
        assert semaphore.acquire()


def test_what_may_still_come_keeps_its_record(limited: RedisServer, lock_name: str) -> None:
    """The late copy arrives after many other operations on the same name."""
    limited.admin.set(lock_name, 50)
    with Proxy(limited.address) as proxy:
        with redlatch.connect(proxy.url, username="limited", password=PASSWORD, command_timeout=20) as client:
            semaphore = client.semaphore(lock_name)
            late = proxy.hold(SCRIPTS["drain_semaphore"])
            call = Call(semaphore.drain)
            late.wait_hit().connection.cut_client()
            assert call.result() == 50
            semaphore.release(7)
            pairs(semaphore)
            late.let_arrive()
            assert semaphore.available() == 7


def test_what_may_still_come_and_was_given_up_keeps_its_mark(limited: RedisServer, lock_name: str) -> None:
    limited.admin.set(lock_name, 50)
    with Proxy(limited.address) as proxy:
        with redlatch.connect(proxy.url, username="limited", password=PASSWORD, command_timeout=20) as client:
            semaphore = client.semaphore(lock_name)
            late = proxy.hold(SCRIPTS["acquire_semaphore"])
            call = Call(lambda: semaphore.acquire(2, timeout=0.3))
            struck = late.wait_hit().connection
            assert isinstance(call.error(), redlatch.UnreachableError)
            struck.cut_client()
            wait_until(lambda: records(limited) == 1, 10.0, "the mark of what was given up")
            pairs(semaphore)
            late.let_arrive()
            assert semaphore.available() == 50

# SPDX-License-Identifier: Apache-2.0
"""Inspecting locks without acquiring them: one name, all names of a pattern, and waiting until a name is free."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Iterator, List

import pytest
import redlatch
from support import RedisServer, wait_until
from support.wire import subscribers
from waiters import SOON, hold_as_redisson, release_as_redisson


@pytest.fixture
def client(server: RedisServer) -> Iterator[redlatch.Client]:
    with redlatch.connect(server.url) as opened:
        yield opened


class WaitingFree(threading.Thread):
    """A call of wait_free on its own thread."""

    def __init__(self, client: redlatch.Client, name: str) -> None:
        super().__init__(daemon=True)
        self._client, self._name = client, name
        self.free: List[bool] = []
        self.ended_at = 0.0
        self.start()

    def run(self) -> None:
        self.free.append(self._client.wait_free(self._name))
        self.ended_at = time.monotonic()


def test_a_lock_of_ours(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    node = f"127.0.0.1:{server.port}"
    assert client.inspect(lock_name) == redlatch.Report(lock_name, "nothing", "none", 0.0, 0, 0, 0, (), node=node)
    lock = client.lock(lock_name)
    with lock, lock as hold:
        report = client.inspect(lock_name)
        assert report.parties == (redlatch.Party("holder", hold.owner, 2, os.uname().nodename, os.getpid()),)
        assert [found.parties for found in client.scan(lock_name)] == [(redlatch.Party("holder", hold.owner, 2),)]
        assert (report.detected_kind, report.type, report.holders, report.locked) == ("mutex", "hash", 1, True)
        assert 20 < report.ttl <= 30
    assert not client.inspect(lock_name).locked


def test_an_owner_is_reported_first(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    lock = client.read_write_lock(lock_name).read
    with lock as hold:
        owners = {f"{'0' * 8}-0000-4000-8000-{'0' * 12}:{number}": 1 for number in range(300)}
        server.admin.hset(lock_name, mapping=owners)  # type: ignore[arg-type]
        for owner in (hold.owner, *list(owners)[::150]):
            report = client.inspect(lock_name, owner)
            assert (report.holders, report.parties[0].owner) == (301, owner)
    with pytest.raises(TypeError, match="owner is of type bytes; expected str or None"):
        client.inspect(lock_name, b"x")  # type: ignore[arg-type]


def test_a_lock_of_redisson_and_what_is_no_lock(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    owner = hold_as_redisson(server, lock_name, lease_ms=None)
    report = client.inspect(lock_name)
    assert report.parties == (redlatch.Party("holder", owner, 1),) and report.ttl == math.inf
    server.admin.set(lock_name, "x")
    report = client.inspect(lock_name)
    assert (report.detected_kind, report.type, report.holders) == ("unknown", "string", 0)


def test_what_is_held_of_what_has_permits(client: redlatch.Client, lock_name: str) -> None:
    gate, slots, done = (make(f"{lock_name}:{make.__name__}") for make in (
        client.semaphore, client.permit_semaphore, client.latch
    ))
    gate.try_set_permits(5)
    slots.try_set_permits(5)
    done.try_set_count(5)
    for bare in (gate, slots, done):
        report = client.inspect(bare.name)
        assert (report.detected_kind, report.count, report.locked) == ("count", 5, None), "a number does not tell"
    with slots:
        report = client.inspect(slots.name)
        assert (report.detected_kind, report.count, report.locked) == ("permit_semaphore", 4, None)
        assert report.parties[0].ttl is not None and 20 < report.parties[0].ttl <= 30
    with client.group_lock(lock_name, ["a", "b"], lease=20):
        parties = client.inspect(lock_name).parties
        assert len({party.value for party in parties}) == 2, "each value by itself"
        assert all(party.ttl is not None and 10 < party.ttl <= 20 for party in parties)
    for bare in (gate, slots, done):
        bare.delete()


def test_a_scan_finds_every_lock_and_nothing_else(server: RedisServer) -> None:
    with server.admin.pipeline(transaction=False) as pipeline:
        for number in range(3000):
            pipeline.set(f"a:value:{number}", "x")
        pipeline.execute()
    locks = {f"a:lock:{number}" for number in range(70)}
    for name in locks | {"b:lock"}:
        hold_as_redisson(server, name)
    server.admin.hset(b"a:\xff", f"{'0' * 8}-0000-4000-8000-{'0' * 12}:1", "1")
    with redlatch.connect(server.url) as client, redlatch.connect(server.url, name_prefix="a:") as below:
        assert {report.name for report in client.scan()} == locks | {"b:lock", b"a:\xff"}
        assert {report.name for report in client.scan("a:lock:*")} == locks
        assert {report.name for report in below.scan()} == {name[2:] for name in locks} | {b"\xff"}
        assert list(client.scan("c*")) == []
        half = client.scan()
        next(half)  # an unfinished scan is freed
        del half


def test_a_scan_finds_what_is_too_much_for_one_page(server: RedisServer) -> None:
    """A page of a scan reads a few hundred fields at most. It leaves further names out, and they are inspected one by
    one. Bare numbers and plain locks of other programs are not listed."""
    with redlatch.connect(server.url) as client:
        for i in range(20):
            permits = client.permit_semaphore(f"permits-{i}")
            permits.set_permits(100)
            permits.acquire_many(100, lease=60)
            server.admin.set(f"number-{i}", 5)
            server.admin.set(f"foreign-{i}", f"{i:032x}", px=60_000)
        found = [(report.name, report.detected_kind) for report in client.scan()]
    assert sorted(found) == sorted((f"permits-{i}", "permit_semaphore") for i in range(20))


def test_wait_free_returns_when_the_lock_is_released(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    assert client.wait_free(lock_name) is True
    hold_as_redisson(server, lock_name)
    assert client.wait_free(lock_name, timeout=0) is False
    start = time.monotonic()
    assert client.wait_free(lock_name, timeout=0.5) is False
    assert 0.5 <= time.monotonic() - start < 0.5 + SOON
    waiting = WaitingFree(client, lock_name)
    wait_until(lambda: subscribers(server, lock_name) == 1)
    released_at = release_as_redisson(server, lock_name)
    waiting.join(10)
    assert waiting.free == [True]
    assert waiting.ended_at - released_at < SOON
    assert server.admin.exists(lock_name) == 0


@pytest.mark.parametrize("kind", ["semaphore", "permit_semaphore"])
def test_wait_free_returns_when_the_semaphore_is_deleted(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, lock_name: str, kind: str
) -> None:
    semaphore = getattr(other, kind)(lock_name)
    assert semaphore.try_set_permits(1) and semaphore.acquire()
    waiting = WaitingFree(client, lock_name)
    wait_until(lambda: server.admin.pubsub_numsub(f"redisson_sc:{{{lock_name}}}")[0][1] == 1)
    assert waiting.free == []
    deleted_at = time.monotonic()
    assert semaphore.delete()
    waiting.join(10)
    assert waiting.free == [True] and waiting.ended_at - deleted_at < SOON


def test_ctrl_c_ends_wait_free(server: RedisServer, lock_name: str) -> None:
    hold_as_redisson(server, lock_name)
    program = (
        "import redlatch, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where the tests run in the background
        "client = redlatch.connect(sys.argv[1])\n"
        "try:\n"
        "    client.wait_free(sys.argv[2])\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(42)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program, server.url, lock_name], env=dict(os.environ))
    try:
        wait_until(lambda: subscribers(server, lock_name) == 1, 20.0, "the process to wait")
        child.send_signal(signal.SIGINT)
        assert child.wait(SOON * 5) == 42
    finally:
        child.kill()
        child.wait()


def test_bad_input(client: redlatch.Client) -> None:
    with pytest.raises(redlatch.InvalidArgumentError, match="name is 0 bytes long; expected 1 to 65535"):
        client.inspect("")
    with pytest.raises(TypeError, match="pattern is of type int; expected str or bytes"):
        client.scan(7)  # type: ignore[arg-type]
    with pytest.raises(redlatch.InvalidArgumentError, match="pattern is 65536 bytes long"):
        client.scan("x" * 65536)
    with pytest.raises(redlatch.InvalidArgumentError, match="timeout"):
        client.wait_free("x", timeout=-5)


def test_errors_of_a_closed_client(server: RedisServer, lock_name: str) -> None:
    client = redlatch.connect(server.url)
    walk = client.scan()
    client.close()
    for call in (lambda: client.inspect(lock_name), lambda: next(walk), lambda: client.wait_free(lock_name, 0)):
        with pytest.raises(redlatch.ClosedError):
            call()

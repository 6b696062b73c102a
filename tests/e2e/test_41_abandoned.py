# SPDX-License-Identifier: Apache-2.0
"""A thread that ends while it holds a lock: an event comes at once, renewals end, and the lease runs out."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any, Iterator, List

import pytest
import redlatch
from redlatch._ffi import ffi, lib
from stalls import Stalls
from support import Monitor, RedisServer, wait_until
from support.wire import fields, load_scripts, remaining_ms, scripts
from waiters import Waiting

LEASE = 1.2
# A bound for things that happen at once, on a busy machine.
NOISE = 0.3


@pytest.fixture
def client(server: RedisServer) -> Iterator[redlatch.Client]:
    """A client with a short watchdog lease."""
    load_scripts(server)
    with redlatch.connect(server.url, watchdog_lease=LEASE) as opened:
        yield opened


@pytest.fixture
def stalls() -> Iterator[Stalls]:
    """Measures the machine's stalls during the test."""
    with Stalls() as measuring:
        yield measuring


def run(target: Any) -> float:
    """Run a thread to its end. Returns the time of its end."""
    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    return time.monotonic()


def check_runs_out(
    server: RedisServer, monitor: Monitor, stalls: Stalls, name: str, mark: int, ended_at: float
) -> None:
    """Check that the lease runs out, without a renewal after `mark`."""
    assert 0 < remaining_ms(server, name) <= LEASE * 1000
    wait_until(lambda: fields(server, name) == {}, 2 * LEASE, "the lease to run out")
    assert LEASE / 4 < time.monotonic() - ended_at < stalls.widen(LEASE + NOISE)
    assert "renew" not in scripts(monitor.since(mark))


def test_a_python_thread(
    server: RedisServer,
    client: redlatch.Client,
    monitor: Monitor,
    stalls: Stalls,
    lock_name: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    holds: List[redlatch.Hold] = []

    def hold_and_end() -> None:
        lock = client.lock(lock_name)
        lock.acquire()
        hold = lock.held()
        assert hold is not None and not hold.lost_event.is_set()
        holds.append(hold)
        monitor.wait_for(lambda entry: scripts([entry]) == ["renew"])

    lost_event: Any = None
    with caplog.at_level(logging.WARNING, logger="redlatch"):
        ended_at = run(hold_and_end)
        lost_event = holds[0].lost_event
        assert lost_event.wait(5.0)
        assert time.monotonic() - ended_at < stalls.widen(NOISE), "the event comes at once"
    mark = monitor.mark()
    assert [record.getMessage() for record in caplog.records] == [
        f"lock '{lock_name}' is no longer renewed: owner {holds[0].owner}, the thread that held it has ended"
    ]
    assert holds[0].lost and client.stats()["held"] == 0
    check_runs_out(server, monitor, stalls, lock_name, mark, ended_at)


def test_a_thread_of_c(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, stalls: Stalls, lock_name: str
) -> None:
    """If a thread calls the C interface without naming an owner, the library itself notices its end."""
    lock: Any = client.lock(lock_name)._handle
    handle: Any = client._handle
    event_fd = ffi.new("int *")
    assert lib.redlatch_client_event_fd(handle, event_fd) == lib.REDLATCH_OK

    def hold_and_end() -> None:
        assert lib.redlatch_lock_acquire(lock, 0) == lib.REDLATCH_OK
        assert lib.redlatch_lock_acquire(lock, 0) == lib.REDLATCH_OK

    ended_at = run(hold_and_end)
    event = ffi.new("redlatch_event *")
    event.struct_size = ffi.sizeof("redlatch_event")
    wait_until(lambda: lib.redlatch_client_next_event(handle, event) == lib.REDLATCH_OK, 5.0, "the event")
    assert time.monotonic() - ended_at < stalls.widen(NOISE), "the event comes at once"
    mark = monitor.mark()
    assert event.kind == lib.REDLATCH_EVENT_ABANDONED
    assert event.reason == lib.REDLATCH_REASON_ABANDONED
    assert event.status == lib.REDLATCH_LOST
    assert ffi.string(event.name).decode() == lock_name
    (owner,) = fields(server, lock_name)
    assert owner.decode() == f"{client.uuid}:{event.serial}"
    check_runs_out(server, monitor, stalls, lock_name, mark, ended_at)
    assert lib.redlatch_client_next_event(handle, event) == lib.REDLATCH_AGAIN


def test_a_waiter_of_the_same_process_gets_it_when_the_lease_is_over(
    client: redlatch.Client, stalls: Stalls, lock_name: str
) -> None:
    ended_at = run(client.lock(lock_name).acquire)
    waiting = Waiting(client.lock(lock_name))
    assert waiting.result() is True
    assert waiting.ended_at - ended_at < stalls.widen(LEASE + NOISE)


def test_a_thread_that_released_leaves_nothing(
    server: RedisServer, client: redlatch.Client, lock_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    def hold_and_release() -> None:
        with client.lock(lock_name) as hold:
            assert not hold.lost_event.is_set()

    with caplog.at_level(logging.WARNING, logger="redlatch"):
        run(hold_and_release)
        assert fields(server, lock_name) == {}
    assert caplog.records == [] and client.stats()["lost"] == 0

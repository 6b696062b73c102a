# SPDX-License-Identifier: Apache-2.0
"""The asynchronous calls on semaphores, permit semaphores and latches, through the C interface."""

from __future__ import annotations

from typing import Iterator

import pytest
import redlatch
from hosts import Host
from redlatch._ffi import FOREVER, RENEWED, ffi, lib, new_record
from support import RedisServer, wait_until


@pytest.fixture
def client(server: RedisServer) -> Iterator[redlatch.Client]:
    """A client whose host collects events."""
    with redlatch.connect(server.url) as opened:
        yield opened


@pytest.fixture
def forgotten(server: RedisServer) -> Iterator[redlatch.Client]:
    """A client with a claim timeout so short that the host collects events too late."""
    with redlatch.connect(server.url, tuning=redlatch.Tuning(claim_timeout=0.4)) as opened:
        yield opened


def test_acquire_and_release_of_a_semaphore(client: redlatch.Client, lock_name: str) -> None:
    host, semaphore = Host(client), client.semaphore(lock_name)
    semaphore.try_set_permits(3)
    assert lib.redlatch_semaphore_start_acquire(semaphore._handle, 2, FOREVER, 7) == 0
    (event,) = host.events(1)
    assert (event.kind, event.status, event.tag) == (lib.REDLATCH_EVENT_ACQUIRED, 0, 7)
    assert semaphore.available() == 1
    assert lib.redlatch_semaphore_start_acquire(semaphore._handle, 2, FOREVER, 8) == 0
    assert host.quiet()
    assert lib.redlatch_semaphore_start_release(semaphore._handle, 1, 9) == 0
    events = {event.tag: event for event in host.events(2)}
    assert events[9].kind == lib.REDLATCH_EVENT_RELEASED and events[8].status == 0
    assert semaphore.available() == 0


def test_a_wait_ends(client: redlatch.Client, lock_name: str) -> None:
    host, semaphore = Host(client), client.semaphore(lock_name)
    assert lib.redlatch_semaphore_start_acquire(semaphore._handle, 1, 500, 1) == 0
    assert lib.redlatch_semaphore_start_acquire(semaphore._handle, 1, FOREVER, 2) == 0
    (event,) = host.events(1)
    assert (event.tag, event.status) == (1, lib.REDLATCH_TIMEOUT)
    assert lib.redlatch_client_cancel(client._handle, 2) == 0
    (event,) = host.events(1)
    assert (event.tag, event.status) == (2, lib.REDLATCH_CANCELLED)
    semaphore.release()
    wait_until(lambda: semaphore.available() == 1, 5.0, "the undo of what was on its way when it was cancelled")


def test_permits_that_nobody_collects_go_back(forgotten: redlatch.Client, lock_name: str) -> None:
    host, semaphore = Host(forgotten), forgotten.semaphore(lock_name)
    semaphore.try_set_permits(3)
    assert lib.redlatch_semaphore_start_acquire(semaphore._handle, 2, FOREVER, 7) == 0
    wait_until(lambda: forgotten.stats()["acquired"] > 0)
    wait_until(lambda: semaphore.available() == 3)
    (event,) = host.events(1)
    assert event.status == lib.REDLATCH_UNCLAIMED


def test_closing_gives_back_what_nobody_collected(server: RedisServer, lock_name: str) -> None:
    client = redlatch.connect(server.url)
    Host(client)
    semaphore = client.semaphore(lock_name)
    semaphore.try_set_permits(3)
    assert lib.redlatch_semaphore_start_acquire(semaphore._handle, 2, FOREVER, 7) == 0
    wait_until(lambda: server.admin.get(lock_name) == b"1")
    client.close()
    assert server.admin.get(lock_name) == b"3"


def test_permits_with_ids(client: redlatch.Client, server: RedisServer, lock_name: str) -> None:
    host, slots = Host(client), client.permit_semaphore(lock_name)
    slots.try_set_permits(3)
    assert lib.redlatch_permit_semaphore_start_acquire(slots._handle, 2, RENEWED, FOREVER, 5) == 0
    (event,) = host.events(1)
    assert (event.kind, event.status, event.tag) == (lib.REDLATCH_EVENT_ACQUIRED, 0, 5)
    wait_until(lambda: slots.available() == 1)
    for number, serial in enumerate((event.serial, event.serial + 1)):
        record = new_record("redlatch_permit")
        assert lib.redlatch_permit_semaphore_permit_status(slots._handle, serial, record) == 0
        assert record.state == lib.REDLATCH_HELD and len(ffi.string(record.id)) == 32
        assert lib.redlatch_permit_semaphore_start_release(slots._handle, serial, 10 + number) == 0
    assert {event.tag: event.status for event in host.events(2)} == {10: 0, 11: 0}
    assert (slots.available(), slots.acquired()) == (3, 0)


def test_permits_with_ids_that_nobody_collects_go_back(forgotten: redlatch.Client, lock_name: str) -> None:
    host, slots = Host(forgotten), forgotten.permit_semaphore(lock_name)
    slots.try_set_permits(20)
    assert lib.redlatch_permit_semaphore_start_acquire(slots._handle, 20, 60_000, FOREVER, 5) == 0
    wait_until(lambda: forgotten.stats()["acquired"] == 20)
    wait_until(lambda: slots.available() == 20)
    (event,) = host.events(1)
    assert event.status == lib.REDLATCH_UNCLAIMED
    assert slots.acquired() == 0


def test_a_latch(client: redlatch.Client, lock_name: str) -> None:
    host, latch = Host(client), client.latch(lock_name)
    latch.try_set_count(2)
    for tag in (1, 2):
        assert lib.redlatch_latch_start_wait(latch._handle, FOREVER, tag) == 0
    assert lib.redlatch_latch_start_wait(latch._handle, 500, 3) == 0
    (event,) = host.events(1)
    assert (event.tag, event.status, event.kind) == (3, lib.REDLATCH_TIMEOUT, lib.REDLATCH_EVENT_OPENED)
    assert lib.redlatch_client_cancel(client._handle, 2) == 0
    (event,) = host.events(1)
    assert (event.tag, event.status) == (2, lib.REDLATCH_CANCELLED)
    for tag in (10, 11):
        assert lib.redlatch_latch_start_count_down(latch._handle, tag) == 0
    events = {event.tag: event for event in host.events(3)}
    assert events.keys() == {1, 10, 11} and all(event.status == 0 for event in events.values())
    assert events[10].kind == lib.REDLATCH_EVENT_COUNTED and latch.count() == 0


def test_a_wait_until_a_name_is_free(client: redlatch.Client, lock_name: str) -> None:
    host, name = Host(client), lock_name.encode()
    with client.lock(lock_name):
        for tag, wait_ms in ((1, FOREVER), (2, FOREVER), (3, 500), (4, 0)):
            assert lib.redlatch_client_start_wait_free(client._handle, name, len(name), wait_ms, tag) == 0
        events = {event.tag: event for event in host.events(2)}
        assert {tag: event.status for tag, event in events.items()} == dict.fromkeys((3, 4), lib.REDLATCH_TIMEOUT)
        assert all(event.kind == lib.REDLATCH_EVENT_FREE and event.serial == 0 for event in events.values())
        assert lib.redlatch_client_cancel(client._handle, 2) == 0
        (event,) = host.events(1)
        assert (event.tag, event.status) == (2, lib.REDLATCH_CANCELLED)
    (event,) = host.events(1)
    assert (event.tag, event.status) == (1, 0) and ffi.string(event.name) == name
    assert client.stats()["waiters"] == 0
    assert lib.redlatch_client_start_wait_free(client._handle, b"", 0, 0, 5) == lib.REDLATCH_INVALID
    assert lib.redlatch_client_start_wait_free(client._handle, name, len(name), -2, 5) == lib.REDLATCH_INVALID

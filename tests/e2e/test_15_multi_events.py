# SPDX-License-Identifier: Apache-2.0
"""Asynchronous multi locks and RedLocks: each completion and each loss is one event of the first member's client."""

from __future__ import annotations

import select
import time
from typing import Any, Callable, List, Optional

import pytest
import redlatch
from redlatch._ffi import ffi, lib, new_record
from support import RedisServer, wait_until
from support.wire import counts, fields
from waiters import hold_as_redisson, release_as_redisson

OpenClients = Callable[..., List[redlatch.Client]]
LEASE = 1.5


class Host:
    """A host that starts calls, and polls the descriptor of the first member's client only."""

    def __init__(self, lock: redlatch.MultiLock) -> None:
        self.lock = lock
        self._client = lock.members[0]._client._handle
        number = ffi.new("uint64_t *")
        assert lib.redlatch_owner_new(number) == 0
        self.owner = int(number[0])
        descriptor = ffi.new("int *")
        assert lib.redlatch_client_event_fd(self._client, descriptor) == 0
        self._descriptor = int(descriptor[0])

    def acquire(self, tag: int, wait_ms: int = -1) -> None:
        """Start an acquire."""
        assert lib.redlatch_lock_start_acquire(self.lock._handle, self.owner, -2, wait_ms, tag) == 0

    def release(self, tag: int) -> None:
        """Start a release."""
        assert lib.redlatch_lock_start_release(self.lock._handle, self.owner, tag) == 0

    def extend(self, tag: int, lease_ms: int) -> None:
        """Start an extension."""
        assert lib.redlatch_lock_start_extend(self.lock._handle, self.owner, lease_ms, tag) == 0

    def cancel(self, tag: int) -> None:
        """Cancel an acquire."""
        assert lib.redlatch_client_cancel(self._client, tag) == 0

    def event(self, timeout: float = 5.0) -> Optional[Any]:
        """Returns the next event, or None if there is none in time."""
        record = new_record("redlatch_event")
        until = time.monotonic() + timeout
        while True:
            status = lib.redlatch_client_next_event(self._client, record)
            if status == 0:
                return record
            assert status == lib.REDLATCH_AGAIN
            left = until - time.monotonic()
            if left <= 0:
                return None
            select.select([self._descriptor], [], [], left)

    def expect(self, kind: int, tag: int, status: int = 0) -> Any:
        """Returns the next event, after checking that it is this one."""
        event = self.event()
        assert event is not None and (event.kind, event.tag, event.status) == (kind, tag, status)
        assert event.owner == self.owner
        return event

    def hold(self) -> Any:
        """Returns the state of the owner's hold."""
        record = new_record("redlatch_hold")
        assert lib.redlatch_lock_hold_status(self.lock._handle, self.owner, record) == 0
        return record


def make(form: str, clients: List[redlatch.Client], name: str) -> redlatch.MultiLock:
    """Returns a multi lock over names of one client, a multi lock over several clients, or a RedLock."""
    if form == "one client":
        return redlatch.multi_lock(*(clients[0].lock(f"{name}:{number}") for number in range(3)))
    members = [client.lock(name) for client in clients]
    return redlatch.multi_lock(*members) if form == "several clients" else redlatch.redlock(*members)


def of_anybody(form: str, servers: List[RedisServer], name: str) -> List[str]:
    """Returns the owner ids of all members."""
    places = [(servers[0], f"{name}:{number}") for number in range(3)]
    if form != "one client":
        places = [(server, name) for server in servers]
    return [owner.decode() for place in places for owner in fields(*place)]


def held(form: str, servers: List[RedisServer], name: str) -> List[List[int]]:
    """Returns the hold counts of all members."""
    if form == "one client":
        return [counts(servers[0], f"{name}:{number}") for number in range(3)]
    return [counts(server, name) for server in servers]


def is_held(form: str, servers: List[RedisServer], name: str, level: int) -> bool:
    """Returns whether enough members have the hold count `level`."""
    return held(form, servers, name).count([level]) >= (2 if form == "majority" else 3)


def wait_free(form: str, servers: List[RedisServer], name: str) -> None:
    """Waits until all members are free. Late grants are released after the call has completed."""
    wait_until(lambda: held(form, servers, name) == [[]] * 3, 5.0, "all to be free")


FORMS = ["one client", "several clients", "majority"]


@pytest.mark.parametrize("form", FORMS)
def test_every_call_completes_with_an_event_of_the_first_client(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str, form: str
) -> None:
    host = Host(make(form, open_clients(servers), lock_name))
    host.acquire(1)
    granted = host.expect(lib.REDLATCH_EVENT_ACQUIRED, 1)
    assert is_held(form, servers, lock_name, 1)
    assert host.hold().state == lib.REDLATCH_HELD and host.hold().serial == granted.serial != 0
    host.acquire(2)
    assert host.expect(lib.REDLATCH_EVENT_ACQUIRED, 2).serial == granted.serial
    assert is_held(form, servers, lock_name, 2)
    host.extend(3, 5_000)
    host.expect(lib.REDLATCH_EVENT_EXTENDED, 3)
    assert 4_000 < host.hold().remaining_ms < 5_000
    for tag in (4, 5):
        host.release(tag)
        host.expect(lib.REDLATCH_EVENT_RELEASED, tag)
    wait_free(form, servers, lock_name)
    host.release(6)
    host.expect(lib.REDLATCH_EVENT_RELEASED, 6, lib.REDLATCH_NOT_OWNED)


@pytest.mark.parametrize("form", FORMS)
def test_a_wait_is_served_timed_out_and_cancelled(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str, form: str
) -> None:
    clients = open_clients(servers)
    host = Host(make(form, clients, lock_name))
    other = Host(make(form, open_clients(servers), lock_name))
    other.acquire(1)
    other.expect(lib.REDLATCH_EVENT_ACQUIRED, 1)
    host.acquire(1, 0)
    host.expect(lib.REDLATCH_EVENT_ACQUIRED, 1, lib.REDLATCH_TIMEOUT)
    host.acquire(2, 500)
    host.expect(lib.REDLATCH_EVENT_ACQUIRED, 2, lib.REDLATCH_TIMEOUT)
    host.acquire(3)
    assert host.event(0.2) is None
    host.cancel(3)
    host.expect(lib.REDLATCH_EVENT_ACQUIRED, 3, lib.REDLATCH_CANCELLED)
    ours = tuple(client.uuid for client in clients)
    wait_until(lambda: not any(owner.startswith(ours) for owner in of_anybody(form, servers, lock_name)))
    host.acquire(4)
    assert host.event(0.2) is None
    other.release(2)
    other.expect(lib.REDLATCH_EVENT_RELEASED, 2)
    host.expect(lib.REDLATCH_EVENT_ACQUIRED, 4)
    host.release(5)
    host.expect(lib.REDLATCH_EVENT_RELEASED, 5)
    wait_free(form, servers, lock_name)


@pytest.mark.parametrize("form", FORMS)
def test_a_loss_is_one_event(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str, form: str
) -> None:
    host = Host(make(form, open_clients(servers, watchdog_lease=LEASE), lock_name))
    host.acquire(1)
    serial = host.expect(lib.REDLATCH_EVENT_ACQUIRED, 1).serial
    for number in (1, 2):
        if form == "one client":
            servers[0].admin.delete(f"{lock_name}:{number}")
        else:
            servers[number].admin.delete(lock_name)
    event = host.event(2 * LEASE)
    assert event is not None and event.kind == lib.REDLATCH_EVENT_LOST and event.serial == serial
    assert event.owner == host.owner and event.reason == lib.REDLATCH_REASON_MISSING
    assert host.event(LEASE) is None, "it is told once"
    assert host.hold().state == lib.REDLATCH_GONE
    host.release(2)
    host.expect(lib.REDLATCH_EVENT_RELEASED, 2, lib.REDLATCH_LOST)
    wait_free(form, servers, lock_name)


@pytest.mark.parametrize("form", FORMS)
def test_a_grant_that_nobody_collects_is_given_back(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str, form: str
) -> None:
    clients = open_clients(servers, tuning=redlatch.Tuning(claim_timeout=0.3))
    host = Host(make(form, clients, lock_name))
    host.acquire(1)
    needed = 2 if form == "majority" else 3
    wait_until(lambda: sum(client.stats()["acquired"] for client in clients) >= needed, 5.0, "the grant")
    wait_free(form, servers, lock_name)
    host.expect(lib.REDLATCH_EVENT_ACQUIRED, 1, lib.REDLATCH_UNCLAIMED)


@pytest.mark.parametrize("closed", [0, 2])
def test_a_client_that_is_closed_ends_what_is_under_way(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str, closed: int
) -> None:
    clients = open_clients(servers)
    host = Host(make("several clients", clients, lock_name))
    hold_as_redisson(servers[1], lock_name)
    host.acquire(1)
    assert host.event(0.2) is None
    clients[closed].close()
    if closed != 0:
        release_as_redisson(servers[1], lock_name)
        host.expect(lib.REDLATCH_EVENT_ACQUIRED, 1, lib.REDLATCH_CLOSED)
    wait_until(lambda: not fields(servers[0], lock_name) and not fields(servers[2], lock_name), 5.0, "all to be free")

# SPDX-License-Identifier: Apache-2.0
"""A command that arrives after its connection was replaced does no harm. A lost server is soon tried again."""

from __future__ import annotations

import time
from statistics import median
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest
import redlatch
from stalls import Stalls
from steps import Call
from support import Fault, Proxy, RedisServer, wait_until
from support.wire import SCRIPTS, counts, fields, load_scripts

MakeServer = Callable[..., RedisServer]

LATE = SCRIPTS["acquire"]
# If an acquire may still arrive, the client repeats its release every second, for a lease of 30 s.
GHOST_GONE_WITHIN = 2.0
# How long an attempt to connect takes before its pause begins, on a busy machine.
TO_FAIL = 0.3
PASSWORD = "secret"


@pytest.fixture
def stalls() -> Iterator[Stalls]:
    """Measures the machine's stalls during the test."""
    with Stalls() as measuring:
        yield measuring


@pytest.fixture
def client(server: RedisServer, proxy: Proxy) -> Iterator[redlatch.Client]:
    """A client behind the proxy. Its user may kill old connections."""
    load_scripts(server)
    with redlatch.connect(proxy.url) as opened:
        yield opened


@pytest.fixture(params=["client|kill", "client|id", "info"])
def limited(request: pytest.FixtureRequest, make_server: MakeServer) -> Iterator[RedisServer]:
    """A server with a user who lacks one of the commands with which a client kills its old connection."""
    server = make_server()
    server.set_user("limited", PASSWORD, "+@all", f"-{request.param}")
    load_scripts(server)
    yield server


@pytest.fixture
def limited_proxy(limited: RedisServer) -> Iterator[Proxy]:
    """A proxy in front of `limited`."""
    with Proxy(limited.address) as started:
        yield started


def connect_limited(proxy: Proxy, **options: Any) -> redlatch.Client:
    """Opens a client of the user who cannot kill connections."""
    return redlatch.connect(proxy.url, username="limited", password=PASSWORD, **options)


def kills(server: RedisServer) -> Dict[str, int]:
    """Returns how often CLIENT KILL was called and rejected."""
    information: Any = server.admin.info("commandstats")
    return dict(information.get("cmdstat_client|kill", {"calls": 0, "rejected_calls": 0}))


def acquire_with_a_late_copy(proxy: Proxy, lock: redlatch.Lock) -> Fault:
    """Acquire over a second connection, while the command of the first attempt is delayed on the first one."""
    late = proxy.hold(LATE)
    acquiring = Call(lock.acquire)
    late.wait_hit().connection.cut_client()
    assert acquiring.result() is True
    return late


# ---------------------------------------------------------------------------------------------- the server may kill --


def test_a_late_acquire_is_refused_by_the_killed_connection(
    server: RedisServer, proxy: Proxy, client: redlatch.Client, lock_name: str
) -> None:
    lock = client.lock(lock_name, owner="handle")
    late = acquire_with_a_late_copy(proxy, lock)
    assert counts(server, lock_name) == [1]
    lock.release()
    late.release()
    assert late.wait_outcome().kind == "eof"
    assert fields(server, lock_name) == {}
    assert client.stats()["resends"] == 1


def test_a_duplicate_is_refused_by_the_killed_connection(
    server: RedisServer, proxy: Proxy, client: redlatch.Client, lock_name: str
) -> None:
    lock = client.lock(lock_name)
    duplicate = proxy.duplicate(LATE)
    lock.acquire()
    duplicate.wait_hit().connection.cut_client()
    lock.release()
    assert fields(server, lock_name) == {}
    duplicate.release()
    assert duplicate.wait_outcome().kind == "eof"
    assert fields(server, lock_name) == {}


def test_after_a_restart_nobody_is_killed(fresh_server: RedisServer, lock_name: str) -> None:
    """A restarted server numbers its clients anew, so the old connection's id may belong to another client."""
    with Proxy(fresh_server.address) as proxy, redlatch.connect(proxy.url) as client:
        client.lock(lock_name).state()
        fresh_server.restart()
        strangers = [fresh_server.client() for _ in range(10)]
        for stranger in strangers:
            stranger.ping()
        fresh_server.reset_commandstats()
        with client.lock(lock_name):
            assert counts(fresh_server, lock_name) == [1]
        assert client.stats()["reconnects"] == 1
        assert kills(fresh_server)["calls"] == 0
        assert all(stranger.ping() for stranger in strangers)


# ------------------------------------------------------------------------------------------- the server may not kill --


def wait_for_ghost_to_go(server: RedisServer, name: str, late: Fault, stalls: Stalls) -> None:
    """Let the late acquire arrive at the free lock, and wait until its grant is released."""
    late.release()
    arrived_at = time.monotonic()
    outcome = late.wait_outcome()
    assert (outcome.kind, outcome.value) == ("reply", None), "it was granted to nobody"
    wait_until(lambda: fields(server, name) == {}, GHOST_GONE_WITHIN + 5.0, "the ghost's end")
    assert time.monotonic() - arrived_at < stalls.widen(GHOST_GONE_WITHIN)


def test_a_ghost_is_released(limited: RedisServer, limited_proxy: Proxy, stalls: Stalls, lock_name: str) -> None:
    with connect_limited(limited_proxy) as client:
        lock = client.lock(lock_name, owner="handle")
        late = acquire_with_a_late_copy(limited_proxy, lock)
        lock.release()
        assert fields(limited, lock_name) == {}
        assert kills(limited)["calls"] == 0
        wait_for_ghost_to_go(limited, lock_name, late, stalls)


def test_a_ghost_that_arrives_seconds_later_is_released(
    limited: RedisServer, limited_proxy: Proxy, stalls: Stalls, lock_name: str
) -> None:
    with connect_limited(limited_proxy) as client:
        lock = client.lock(lock_name, owner="handle")
        late = acquire_with_a_late_copy(limited_proxy, lock)
        lock.release()
        limited.reset_commandstats()
        wait_until(lambda: limited.commandstats().get("evalsha", 0) >= 2, 6.0, "the release to be repeated")
        wait_for_ghost_to_go(limited, lock_name, late, stalls)


def test_a_ghost_cannot_touch_the_hold_that_came_after(
    limited: RedisServer, limited_proxy: Proxy, lock_name: str
) -> None:
    with connect_limited(limited_proxy) as client:
        lock = client.lock(lock_name, owner="handle")
        late = acquire_with_a_late_copy(limited_proxy, lock)
        before = fields(limited, lock_name)
        late.release()
        assert late.wait_outcome().value > 0, "the script says how long the lock is held"
        limited.reset_commandstats()
        wait_until(lambda: limited.commandstats().get("evalsha", 0) >= 2, 6.0, "the release to be repeated")
        held = lock.held()
        assert held is not None and not held.lost
        assert fields(limited, lock_name) == before == {held.owner.encode(): b"1"}
        lock.release()


@pytest.mark.parametrize("given_up", ["before the cut", "after the cut"])
def test_a_ghost_of_a_failed_acquire_is_released(
    limited: RedisServer, limited_proxy: Proxy, stalls: Stalls, lock_name: str, given_up: str
) -> None:
    with connect_limited(limited_proxy, command_timeout=0.3) as client:
        lock = client.lock(lock_name, owner="handle")
        late = limited_proxy.hold(LATE)
        refusing = limited_proxy.refuse()
        acquiring = Call(lambda: lock.acquire(blocking=False))
        connection = late.wait_hit().connection
        if given_up == "after the cut":
            connection.cut_client()
        assert isinstance(acquiring.error(), redlatch.UnreachableError)
        if given_up == "before the cut":
            connection.cut_client()
        refusing.release()
        wait_until(lambda: limited.commandstats().get("evalsha", 0) >= 1, message="the first undo")
        wait_for_ghost_to_go(limited, lock_name, late, stalls)


def test_a_late_extension_finds_the_hold_under_another_id(
    limited: RedisServer, limited_proxy: Proxy, lock_name: str
) -> None:
    with connect_limited(limited_proxy) as client:
        lock = client.lock(lock_name, owner="handle", lease=30)
        lock.acquire()
        (first,) = fields(limited, lock_name)
        late = limited_proxy.hold(SCRIPTS["extend"])
        extending = Call(lambda: lock.extend(5))
        late.wait_hit().connection.cut_client()
        extending.result()
        held = lock.held()
        assert held is not None and 4.0 < held.remaining() < 5.0
        assert fields(limited, lock_name) == {held.owner.encode(): b"1"} != {first: b"1"}
        lock.extend(30)
        late.release()
        assert late.wait_outcome().value == 0
        assert 28.0 < lock.state().ttl <= 30.0
        lock.release()


# --------------------------------------------------------------------------------------------------------- back-off --


def test_a_compensation_that_is_pending_is_urgent(
    server: RedisServer, proxy: Proxy, stalls: Stalls, lock_name: str
) -> None:
    load_scripts(server)
    with redlatch.connect(proxy.url, command_timeout=0.5) as client:
        lock = client.lock(lock_name)
        refusing = proxy.refuse()
        proxy.cut_after(LATE)
        with pytest.raises(redlatch.UnreachableError):
            lock.acquire(blocking=False)
        assert counts(server, lock_name) == [1], "it was granted, and nobody knows"
        refusing.wait_hit()
        time.sleep(6.5)
        refusing.release()
        repaired_at = time.monotonic()
        wait_until(lambda: fields(server, lock_name) == {}, 3.0, "the compensation")
        assert time.monotonic() - repaired_at < stalls.widen(0.1 + 0.5)
    early, late = gaps_between([hit.time for hit in refusing.hits])
    assert median(late) < stalls.widen(0.12), "each is at most 0.1 s, but when nobody let it try"
    assert sum(early + late) / len(early + late) > 0.03, "that is more than a back-off makes"


def test_after_5_seconds_a_server_is_tried_every_second(
    server: RedisServer, proxy: Proxy, client: redlatch.Client, stalls: Stalls, lock_name: str
) -> None:
    refusing = proxy.refuse()
    proxy.cut_all()
    acquiring = Call(lambda: client.lock(lock_name).acquire(timeout=30))
    refusing.wait_hit()
    time.sleep(8.5)
    assert not acquiring.done
    refusing.release()
    repaired_at = time.monotonic()
    assert acquiring.result() is True
    assert time.monotonic() - repaired_at < stalls.widen(1.0 + 0.5)
    early, late = gaps_between([hit.time for hit in refusing.hits])
    assert median(early) < stalls.widen(0.12)
    assert 0.4 < sum(late) / len(late) <= max(late) < stalls.widen(1.0 + TO_FAIL)


def gaps_between(attempts: List[float]) -> Tuple[List[float], List[float]]:
    """Returns the times between attempts to connect: those within the first 5 s, and those after."""
    gaps = [(earlier - attempts[0], later - earlier) for earlier, later in zip(attempts, attempts[1:])]
    return [gap for at, gap in gaps if at + gap < 5.0], [gap for at, gap in gaps if at > 5.1]

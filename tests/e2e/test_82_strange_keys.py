# SPDX-License-Identifier: Apache-2.0
"""Keys that nobody writes on purpose: a TTL of 285 million years, a name of megabytes. They hide no other key, and a
waiter sends no more commands about them than about others."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict

import pytest
import redlatch
from forms import UUID, put_every_form, put_hash
from support import RedisServer, wait_until
from support.shell import names, shown
from waiters import Waiting

TTLS = [9_000_000_000_000_000_000, 5 * 10**17]
# The longest time that is reported, in seconds.
LONGEST = 10**9

MakeLock = Callable[[redlatch.Client, str], redlatch.Lock]
KINDS: Dict[str, MakeLock] = {
    "mutex": lambda client, name: client.lock(name),
    "fenced": lambda client, name: client.fenced_lock(name),
    "fair": lambda client, name: client.fair_lock(name),
    "plain": lambda client, name: client.plain_lock(name),
    "write": lambda client, name: client.read_write_lock(name).write,
    "multi": lambda client, name: redlatch.multi_lock(client.lock(name), client.lock(name + ":other")),
}


@pytest.mark.parametrize("ttl", TTLS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_waiter_does_not_ask_all_the_time(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, lock_name: str, kind: str, ttl: int
) -> None:
    with KINDS[kind](other, lock_name):
        server.admin.pexpire(lock_name, ttl)
        before = client.stats()["scripts"]
        assert not KINDS[kind](client, lock_name).acquire(timeout=1.0)
        assert not client.wait_free(lock_name, 1.0)
        assert client.stats()["scripts"] - before < 20
        server.admin.pexpire(lock_name, 10_000)  # a usual TTL again


@pytest.mark.parametrize("ttl", TTLS)
def test_times_are_reported_within_bounds(
    server: RedisServer, client: redlatch.Client, lock_name: str, ttl: int
) -> None:
    lock = client.lock(lock_name)
    with lock:
        server.admin.pexpire(lock_name, ttl)
        assert lock.state().ttl == LONGEST and client.inspect(lock_name).ttl == LONGEST
        assert shown(server, "show", lock_name)["ttl_ms"] == LONGEST * 1000


@pytest.mark.parametrize("ttl", TTLS)
def test_one_strange_key_hides_no_other(server: RedisServer, ttl: int) -> None:
    kinds = put_every_form(server)
    for name in kinds:
        server.admin.pexpire(name, ttl)
    found = {lock["name"]: lock for lock in shown(server, "list")}
    assert {name: lock["kind"] for name, lock in found.items()} == kinds
    assert all(lock["ttl_ms"] == LONGEST * 1000 for lock in found.values())


def test_scores_of_a_fair_queue_stay_within_bounds(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    """The next waiter in the server queue inherits a score, and the score outlives the key."""
    put_hash(server, lock_name, {f"{UUID}:42": 1}, TTLS[0])
    waiting = Waiting(client.fair_lock(lock_name))
    timeouts: Any = f"redisson_lock_timeout:{{{lock_name}}}"
    wait_until(lambda: server.admin.zcard(timeouts) == 1, 10.0)
    [(_, score)] = server.admin.zrange(timeouts, 0, 0, withscores=True)
    assert score < (time.time() + LONGEST + 3600) * 1000
    server.admin.delete(lock_name)
    assert waiting.result(20.0)


def test_a_count_of_as_many_digits_as_can_be(server: RedisServer) -> None:
    server.admin.set("slots", "9" * 18)
    server.admin.zadd("{slots}:timeout", {b"x" * 16: 1.0})  # a permit whose lease is over is reported as free
    assert names(shown(server, "list")) == ["slots"]
    assert shown(server, "show", "slots")["number"] == 10**18 - 1


def test_names_of_megabytes_are_no_locks(server: RedisServer) -> None:
    """With these names a page of a scan would be longer than a reply may be."""
    put_hash(server, "lock", {f"{UUID}:42": 1})
    for i in range(4):
        put_hash(server, f"{i}" + "x" * 5_000_000, {f"{UUID}:42": 1})
    assert names(shown(server, "list")) == ["lock"]


def test_the_string_of_another_program_is_no_owner_of_a_megabyte(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    """The whole string would be longer than a reply may be, and would break the connection of all callers."""
    server.admin.set(lock_name, b"x" * 1_000_000, px=60_000)
    lock = client.plain_lock(lock_name)
    assert not lock.acquire(blocking=False)
    before = client.stats()["reconnects"]
    state = lock.state()
    assert state.locked and state.owner == "x" * 127
    assert client.stats()["reconnects"] == before

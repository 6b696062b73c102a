# SPDX-License-Identifier: Apache-2.0
"""Group locks: all values or none, leases by the server's time, and expired holds are removed."""

from __future__ import annotations

import time
import uuid
from typing import Any, Dict, Iterator, List

import pytest
import redlatch
from support import Monitor, Proxy, RedisServer, wait_until
from support.wire import SCRIPTS, is_owner, load_scripts, scripts, sent_by
from waiters import SOON, Waiting

# Redisson's hashes of values (wire format 5.1).
HASHED = {"a": "qwvAS12pR0CgRitaypEjUw", "f1": "uxmtuxwbA6v+mqalmQLIOA", "": "t6rZwibGo2uy1OSmNVe8pg"}


@pytest.fixture
def client(server: RedisServer) -> Iterator[redlatch.Client]:
    """A client without a proxy. The server has all scripts."""
    load_scripts(server)
    with redlatch.connect(server.url) as opened:
        yield opened


def fields(server: RedisServer, group: str) -> Dict[str, str]:
    """Returns the group's hash."""
    found: Any = server.admin.hgetall(group)
    return {field.decode(): value.decode() for field, value in found.items()}


def now_ms(server: RedisServer) -> int:
    """Returns the server's time in ms."""
    seconds, micros = server.admin.time()  # type: ignore[misc]
    return int(seconds) * 1000 + int(micros) // 1000


def write_foreign(server: RedisServer, group: str, value: str, ends_in_ms: int, count: int = 1) -> str:
    """Write a hold as Redisson does. Returns the owner."""
    owner = f"{uuid.uuid4()}:7"
    hashed = HASHED[value]
    server.admin.hset(
        group,
        mapping={
            hashed: owner,
            f"{hashed}:{owner}:expire_time": now_ms(server) + ends_in_ms,
            f"{hashed}:{owner}:lock_count": count,
        },
    )
    server.admin.pexpire(group, 60_000)
    return owner


def test_three_fields_for_each_value(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    lock = client.group_lock(lock_name, ["a", "f1", "a", ""])
    mark = monitor.mark()
    with lock as held, lock:
        found = fields(server, lock_name)
        assert is_owner(held.owner.encode()) and held.count == 2
        for hashed in HASHED.values():
            assert found.pop(hashed) == held.owner
            assert found.pop(f"{hashed}:{held.owner}:lock_count") == "2"
            left = int(found.pop(f"{hashed}:{held.owner}:expire_time")) - now_ms(server)
            assert 28_000 < left <= 30_000
        assert found == {}
        assert 28_000 < server.admin.pttl(lock_name) <= 30_000  # type: ignore[operator]
        now = lock.state()
        assert now.owner == held.owner and 28 < now.ttl <= 30
    assert server.admin.dbsize() == 0
    sent = scripts(sent_by(monitor.since(mark), server, client))
    assert sent[:2] == ["acquire_group", "reenter_group"] and sent[-2:] == ["release_group"] * 2


def test_only_sets_that_overlap_exclude_each_other(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url) as one, redlatch.connect(server.url) as two:
        held = one.group_lock(lock_name, ["a", "b"])
        held.acquire()
        for client in (one, two):
            assert client.group_lock(lock_name, ["b", "c"], owner="handle").acquire(blocking=False) is False
            with client.group_lock(lock_name, ["c"], owner="handle", timeout=0) as beside:
                assert beside.count == 1
        assert one.group_lock(lock_name, ["b", "a"]).owned(), "the order makes no difference"
        assert one.group_lock(lock_name, ["b", "c"]).acquire(timeout=0.5) is False, "also of one owner"
        held.release()


@pytest.mark.parametrize("same_process", [True, False])
def test_a_waiter_is_woken(server: RedisServer, lock_name: str, same_process: bool) -> None:
    with redlatch.connect(server.url) as one, redlatch.connect(server.url) as another:
        two = one if same_process else another
        holder = one.group_lock(lock_name, ["a", "b"], owner="handle")
        holder.acquire()
        waiting = Waiting(two.group_lock(lock_name, ["b", "c"], owner="handle"))
        wait_until(lambda: two.stats()["subscriptions"] == 1)
        same = Waiting(one.group_lock(lock_name, ["a", "b"], owner="handle"))
        wait_until(lambda: one.stats()["waiters"] >= 1)
        released = time.monotonic()
        holder.release()
        assert waiting.result() is True and same.result() is True
        assert waiting.ended_at - released < SOON
    assert server.admin.dbsize() == 0


def test_a_holders_time_is_over(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    """W-20: the fields of a dead owner are removed, and hold counts begin anew."""
    dead = write_foreign(server, lock_name, "a", -1, count=5)
    lock = client.group_lock(lock_name, ["a", "f1"])
    assert not lock.state().locked
    with lock as held:
        found = fields(server, lock_name)
        assert not [field for field in found if dead in field]
        assert found[f"{HASHED['a']}:{held.owner}:lock_count"] == "1"
    assert server.admin.dbsize() == 0


def test_a_living_holder_is_waited_for(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    """The waiter waits for the holder's own lease, not for the group's TTL, and takes no value meanwhile."""
    owner = write_foreign(server, lock_name, "a", 30_000)
    lock = client.group_lock(lock_name, ["a", "f1"])
    assert lock.acquire(timeout=0.5) is False
    assert HASHED["f1"] not in fields(server, lock_name)
    started = time.monotonic()
    server.admin.hset(lock_name, f"{HASHED['a']}:{owner}:expire_time", now_ms(server) + 600)
    assert lock.acquire() is True
    assert time.monotonic() - started >= 0.55
    lock.release()


def test_a_release_is_of_all_or_says_lost(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    """W-20: Redisson releases some values and raises. redlatch raises LOST, and leaves no value that others would wait
    for."""
    lock = client.group_lock(lock_name, ["a", "f1"])
    lock.acquire()
    server.admin.hdel(lock_name, HASHED["a"])
    other = write_foreign(server, lock_name, "a", 30_000)
    with pytest.raises(redlatch.LockLostError):
        lock.release()
    found = fields(server, lock_name)
    assert found[HASHED["a"]] == other and HASHED["f1"] not in found and len(found) == 3


def test_one_value_is_nobodys_but_its_owners(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    """W-20: Redisson's isHeld with one value is true for every caller."""
    write_foreign(server, lock_name, "a", 30_000)
    lock = client.group_lock(lock_name, ["a"])
    assert not lock.owned() and lock.state().locked
    with pytest.raises(redlatch.NotOwnedError):
        lock.release()
    assert client.group_lock(lock_name, ["f1"]).force_release() is False, "a free value is no error"
    assert lock.force_release() is True and not lock.state().locked


def test_it_is_renewed(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url, watchdog_lease=1.0) as client:
        locks: List[redlatch.Lock] = [client.group_lock(lock_name, [f"v{i}", f"w{i}"]) for i in range(5)]
        locks += [client.group_lock(f"{lock_name}:{i}", ["a"]) for i in range(3)] + [client.lock(f"{lock_name}:m")]
        for lock in locks:
            lock.acquire()
        time.sleep(1.5)  # one and a half leases
        for lock in locks:
            assert lock.owned() and lock.state().locked
            lock.release()
    assert server.admin.dbsize() == 0


def test_a_renewal_notices_what_is_gone(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url, watchdog_lease=0.6) as client:
        lock = client.group_lock(lock_name, ["a", "f1"])
        lock.acquire()
        held = lock.held()
        assert held is not None
        server.admin.hdel(lock_name, HASHED["a"])
        assert held.lost_event.wait(5.0)


def test_extend(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    lock = client.group_lock(lock_name, ["a", "f1"])
    lock.acquire()
    lock.extend(90)
    assert 88 < lock.state().ttl <= 90 and server.admin.pttl(lock_name) > 88_000  # type: ignore[operator]
    lock.extend(3)
    assert 1 < lock.state().ttl <= 3
    lock.release()


@pytest.mark.parametrize("cut", ["cut_before", "cut_inside", "cut_after"])
@pytest.mark.parametrize("step", ["acquire_group", "reenter_group", "release_group", "extend_group", "hand_over_group"])
def test_a_lost_reply_is_made_up_for(
    server: RedisServer, proxy: Proxy, lock_name: str, step: str, cut: str
) -> None:
    load_scripts(server)
    with redlatch.connect(proxy.url, command_timeout=20, tuning=redlatch.Tuning(dead_peer_timeout=60)) as client:
        lock, other = (client.group_lock(lock_name, ["a", "f1"], owner="handle") for _ in range(2))
        levels = {"acquire_group": 1, "reenter_group": 2, "release_group": 0, "extend_group": 1, "hand_over_group": 0}
        if step != "acquire_group":
            lock.acquire()
        waiting = None
        if step == "hand_over_group":
            before = client.stats()["round_trips"]
            waiting = Waiting(other, 30.0)
            wait_until(lambda: client.stats()["round_trips"] == before + 2)
        fault = getattr(proxy, cut)(SCRIPTS[step])
        if step in ("acquire_group", "reenter_group"):
            assert lock.acquire()
        elif step == "extend_group":
            lock.extend(20)
        else:
            lock.release()
        assert fault.hit and lock.hold_count() == levels[step]
        if waiting:
            assert waiting.result() is True
        for count in range(levels[step], 0, -1):
            held = lock.held()
            assert held is not None
            found = fields(server, lock_name)
            assert [found[f"{HASHED[value]}:{held.owner}:lock_count"] for value in ("a", "f1")] == [str(count)] * 2
            lock.release()
    assert server.admin.dbsize() == 0


def test_a_key_of_another_type_stays_as_it_was(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    server.admin.set(lock_name, "x")
    lock = client.group_lock(lock_name, ["a"])
    for call in (lambda: lock.acquire(blocking=False), lock.state, lock.force_release):
        with pytest.raises(redlatch.ServerError) as caught:
            call()
        assert caught.value.status_name == "wrong_type"
    assert server.admin.get(lock_name) == b"x"


@pytest.mark.parametrize("held", ["a", "f1"])
def test_one_known_value_tells_a_group_among_many_fields(
    server: RedisServer, client: redlatch.Client, lock_name: str, held: str
) -> None:
    """The other fields of the hash are examined only if none of the lock's values is in it."""
    server.admin.hset(lock_name, mapping={f"field-{i}": "1" for i in range(600)})
    write_foreign(server, lock_name, held, 60_000)
    lock = client.group_lock(lock_name, ["a", "f1"])
    assert lock.state().locked
    assert not lock.acquire(blocking=False)


@pytest.mark.parametrize("values", [[], ["x"] * 10_001])
def test_values_that_cannot_be(client: redlatch.Client, values: List[str]) -> None:
    with pytest.raises(redlatch.InvalidArgumentError, match="expected 1 to 10000"):
        client.group_lock("group", values)
    with pytest.raises(TypeError, match="iterable"):
        client.group_lock("group", "abc")


def test_it_is_found_and_reported(client: redlatch.Client, lock_name: str) -> None:
    with client.group_lock(lock_name, ["a", "f1"]) as held:
        report = client.inspect(lock_name)
        assert report.detected_kind == "group" and {party.owner for party in report.parties} == {held.owner}
        assert [found.detected_kind for found in client.scan(lock_name)] == ["group"]

# SPDX-License-Identifier: Apache-2.0
"""The plain lock: a string with the owner's id, as many libraries write it. It is renewed and waited for, and is not
reentrant."""

from __future__ import annotations

import time
from typing import Any, Callable, Iterator, List, Optional

import pytest
import redlatch
from redis.lock import Lock as TheirLock
from steps import Call
from support import Monitor, Proxy, RedisServer, wait_until
from support.wire import SCRIPTS, is_owner, load_scripts, remaining_ms, script_of, scripts, sent_by
from waiters import SOON, Waiting

CUTS = ["cut_before", "cut_inside", "cut_after"]
# How long a test may take between asking for a lease and looking at its TTL, in milliseconds.
TIMEOUT_MS = 2_000


@pytest.fixture
def client(server: RedisServer) -> Iterator[redlatch.Client]:
    """A client without a proxy. The server has all scripts."""
    load_scripts(server)
    with redlatch.connect(server.url) as opened:
        yield opened


@pytest.fixture
def patient(server: RedisServer, proxy: Proxy) -> Iterator[redlatch.Client]:
    """A client behind the proxy. Its timeouts are longer than the faults of the tests."""
    load_scripts(server)
    with redlatch.connect(proxy.url, command_timeout=20, tuning=redlatch.Tuning(dead_peer_timeout=60)) as opened:
        yield opened


def value(server: RedisServer, key: str) -> Optional[bytes]:
    """Returns the string at the key: the owner's id."""
    found: Any = server.admin.get(key)
    return found


def wait_requested(client: redlatch.Client, before: int, times: int = 2) -> None:
    """Wait until a waiter has acquired in vain, subscribed, and rechecked."""
    wait_until(lambda: client.stats()["round_trips"] >= before + times)


# ---------------------------------------------------------------------------------------------------- on the wire --


def test_a_hold_is_a_string(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    lock = client.plain_lock(lock_name)
    mark = monitor.mark()
    with lock as held:
        word = value(server, lock_name)
        assert word is not None and is_owner(word) and word == held.owner.encode()
        assert 30_000 - TIMEOUT_MS < remaining_ms(server, lock_name) <= 30_000
        assert held.count == 1 and held.token is None
        assert server.admin.keys() == [lock_name.encode()]
        now = lock.state()
        assert now.owner == held.owner and now.locked and 0 < now.ttl <= 30
    assert server.admin.dbsize() == 0
    requested = ["acquire_plain", "query_plain", "release_plain"]
    assert scripts(sent_by(monitor.since(mark), server, client)) == requested


def test_the_lease_may_be_fixed_and_set_anew(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    lock = client.plain_lock(lock_name, lease=12)
    lock.acquire()
    assert 12_000 - TIMEOUT_MS < remaining_ms(server, lock_name) <= 12_000
    lock.extend(40)
    assert 40_000 - TIMEOUT_MS < remaining_ms(server, lock_name) <= 40_000
    lock.extend(3)
    assert 3_000 - TIMEOUT_MS < remaining_ms(server, lock_name) <= 3_000
    lock.release()
    assert value(server, lock_name) is None


def test_it_is_renewed_beside_locks_of_other_kinds(
    server: RedisServer, monitor: Monitor, lock_name: str
) -> None:
    load_scripts(server)
    with redlatch.connect(server.url, watchdog_lease=1.5) as client:
        locks = [client.plain_lock(f"{lock_name}:{i}") for i in range(3)]
        locks += [client.lock(f"{lock_name}:mutex"), client.fenced_lock(f"{lock_name}:fenced")]
        for lock in locks:
            lock.acquire()
        mark = monitor.mark()

        def renewals(script: str) -> int:
            return scripts(monitor.since(mark).top_level()).count(script)

        wait_until(lambda: renewals("renew_plain") >= 2 and renewals("renew") >= 2, 5.0)
        for lock in locks:
            assert lock.owned() and lock.state().locked
            lock.release()


def test_it_is_not_reentrant(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    lock = client.plain_lock(lock_name)
    with lock as held:
        for again in (lock, client.plain_lock(lock_name), client.plain_lock(lock_name[4:], "e2e:{name}")):
            for timeout in (0.0, 0.2, None):
                with pytest.raises(redlatch.AlreadyHeldError):
                    again.acquire(timeout=timeout)
        assert held.count == 1 and value(server, lock_name) == held.owner.encode()
    assert value(server, lock_name) is None


@pytest.mark.parametrize(
    ("template", "key"),
    [
        ("{name}", "{}"),
        ("lock:{name}", "lock:{}"),
        ("{name}:lock", "{}:lock"),
        ("{{name}}:x", "{{{}}}:x"),
        (b"\xff\x00{name}", "\udcff\0{}"),
    ],
)
def test_the_key_is_made_of_the_template(server: RedisServer, lock_name: str, template: Any, key: str) -> None:
    expected = key.format(lock_name).encode(errors="surrogateescape")
    with redlatch.connect(server.url) as client, client.plain_lock(lock_name, template):
        assert server.admin.keys() == [expected]
    with redlatch.connect(server.url, name_prefix="shop:") as client, client.plain_lock(lock_name, template):
        assert server.admin.keys() == [b"shop:" + expected]
    assert server.admin.dbsize() == 0


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("lock:", 'key_template is "lock:"'),
        ("", "key_template"),
        ("{name}{name}", "one"),
        ("{Name}", "{name}"),
        ("x" * 65_535 + "{name}", "65541 bytes"),
        ("x" * 65_500 + "{name}", "65535"),
    ],
)
def test_a_template_without_a_placeholder_is_an_error(
    client: redlatch.Client, template: str, words: str
) -> None:
    with pytest.raises(redlatch.InvalidArgumentError, match=words):
        client.plain_lock("n" * 100, template)


def test_locks_of_one_key_are_one_lock(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    one, other = client.plain_lock(f"a:{lock_name}"), client.plain_lock(lock_name, "a:{name}")
    one.acquire()
    assert other.owned()
    other.release()
    assert not one.owned() and server.admin.dbsize() == 0


# -------------------------------------------------------------------------------------------------------- waiting --


def test_a_waiter_of_ours_is_woken(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    with redlatch.connect(server.url) as other:
        holder = client.plain_lock(lock_name, owner="handle")
        holder.acquire()
        before = other.stats()["round_trips"]
        waiting = Waiting(other.plain_lock(lock_name, owner="handle"))
        wait_requested(other, before)
        channel = f"redlatch_lock__channel:{{{lock_name}}}"
        assert server.admin.pubsub_numsub(channel) == [(channel.encode(), 1)]
        mark = monitor.mark()
        time.sleep(0.5)  # the time in which nothing may happen
        assert sent_by(monitor.since(mark), server, other) == [], "a waiter behind one of ours is silent"
        released_at = time.monotonic()
        holder.release()
        assert waiting.result() is True
        assert waiting.ended_at - released_at < SOON


def test_threads_of_one_client_hand_it_over(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    holder = client.plain_lock(lock_name, owner="handle")
    holder.acquire()
    before = client.stats()["round_trips"]
    waiting: List[Waiting] = []
    words = set()
    for count in range(1, 4):
        lock = client.plain_lock(lock_name, owner="handle")
        waiting.append(Waiting(lock, before_release=lambda: words.add(value(server, lock_name))))
        wait_until(lambda count=count: client.stats()["waiters"] == count)  # type: ignore[misc]
    wait_requested(client, before)
    mark = monitor.mark()
    holder.release()
    assert all(waiter.result() is True for waiter in waiting)
    assert len(words) == 3
    done = scripts(sent_by(monitor.since(mark), server, client))
    # After 10 ms of hand-overs in a row the lock is released on the server, and the foremost waiter acquires it.
    assert done[0] == "hand_over_plain"
    assert done.count("hand_over_plain") + done.count("release_plain") == 4
    assert value(server, lock_name) is None


def test_behind_another_library_a_waiter_rechecks_often(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    theirs = TheirLock(server.admin, lock_name, timeout=30)
    assert theirs.acquire()
    waiting = Waiting(client.plain_lock(lock_name, owner="handle"))
    wait_until(lambda: client.stats()["subscriptions"] == 1)  # a recheck follows at once
    mark = monitor.mark()

    def rechecks() -> List[float]:
        return [entry.time_us / 1e6 for entry in monitor.since(mark).top_level() if script_of(entry) == "acquire_plain"]

    wait_until(lambda: len(rechecks()) >= 8)
    times = rechecks()
    assert times[-1] - times[1] >= 0.1 * (len(times) - 2) - 0.02, "and no more often than every 0.1 s"
    released_at = time.monotonic()
    theirs.release()
    assert waiting.result() is True
    assert waiting.ended_at - released_at < SOON


@pytest.mark.parametrize("lease_ms", [None, 300])
def test_a_holder_that_vanishes(
    server: RedisServer, client: redlatch.Client, lock_name: str, lease_ms: Optional[int]
) -> None:
    """A waiter needs no message when a lease ends. A string without a TTL stays until it is deleted."""
    server.admin.set(lock_name, "somebody")
    lock = client.plain_lock(lock_name)
    assert lock.acquire(timeout=0.5) is False
    if lease_ms is not None:
        server.admin.pexpire(lock_name, lease_ms)
    else:
        assert lock.state() == redlatch.LockState(True, float("inf"), "somebody", 1, 1, 0)
        server.admin.delete(lock_name)
    assert lock.acquire(timeout=SOON) is True
    lock.release()


def test_a_time_out_leaves_nothing(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    server.admin.set(lock_name, "somebody", px=30_000)
    started = time.monotonic()
    assert client.plain_lock(lock_name).acquire(timeout=0.5) is False
    assert 0.5 <= time.monotonic() - started < 0.5 + SOON
    assert value(server, lock_name) == b"somebody"
    assert client.stats()["waiters"] == 0


def test_force_release_wakes_and_the_holder_is_notified(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    holder = client.plain_lock(lock_name, owner="handle")
    holder.acquire()
    with redlatch.connect(server.url) as other:
        before = other.stats()["round_trips"]
        lock = other.plain_lock(lock_name, owner="handle")
        waiting = Waiting(lock, keep=True)
        wait_requested(other, before)
        assert client.plain_lock(lock_name).force_release() is True
        assert waiting.result() is True
        with pytest.raises(redlatch.LockLostError):
            holder.release()
        with pytest.raises(redlatch.NotOwnedError):
            holder.release()
        held = lock.held()
        assert held is not None and value(server, lock_name) == held.owner.encode()
        waiting.leave()
    assert client.plain_lock(lock_name).force_release() is False


def test_a_hold_that_another_took_is_lost(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url, watchdog_lease=0.6) as client:
        lock = client.plain_lock(lock_name)
        lock.acquire()
        held = lock.held()
        assert held is not None
        server.admin.set(lock_name, "somebody", px=30_000)
        assert held.lost_event.wait(5.0)
        with pytest.raises(redlatch.LockLostError):
            lock.release()
        assert value(server, lock_name) == b"somebody" and remaining_ms(server, lock_name) > 25_000


# ---------------------------------------------------------------------------------------------------- lost replies --


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("step", ["acquire_plain", "release_plain", "extend_plain", "hand_over_plain"])
def test_a_lost_reply_is_made_up_for(
    server: RedisServer, proxy: Proxy, patient: redlatch.Client, lock_name: str, step: str, cut: str
) -> None:
    lock, next_lock = (patient.plain_lock(lock_name, owner="handle") for _ in range(2))
    calls = {"acquire_plain": lock.acquire, "extend_plain": lambda: lock.extend(20)}
    waiting: Optional[Waiting] = None
    if step != "acquire_plain":
        lock.acquire()
    if step == "hand_over_plain":
        before = patient.stats()["round_trips"]
        waiting = Waiting(next_lock, 30.0, keep=True)
        wait_requested(patient, before)
    fault = getattr(proxy, cut)(SCRIPTS[step])
    calls.get(step, lock.release)()
    assert fault.hit
    holder = next_lock if waiting else lock
    if waiting:
        assert waiting.result() is True
    if step == "release_plain":
        assert value(server, lock_name) is None and not lock.owned()
        return
    held = holder.held()
    assert held is not None and not held.lost and value(server, lock_name) == held.owner.encode()
    if step == "extend_plain":
        assert 20_000 - TIMEOUT_MS < remaining_ms(server, lock_name) <= 20_000
    if waiting:
        waiting.leave()
    else:
        lock.release()
    assert value(server, lock_name) is None


@pytest.mark.parametrize("late", ["acquire_plain", "release_plain"])
def test_a_late_duplicate_touches_nothing_newer(
    server: RedisServer, proxy: Proxy, patient: redlatch.Client, lock_name: str, late: str
) -> None:
    lock = patient.plain_lock(lock_name)
    fault = proxy.duplicate(SCRIPTS[late])
    with lock:
        pass
    with lock as held:
        fault.release()
        fault.wait_outcome()
        assert value(server, lock_name) == held.owner.encode()


def test_what_was_given_up_is_undone(server: RedisServer, proxy: Proxy, lock_name: str) -> None:
    load_scripts(server)
    with redlatch.connect(proxy.url, command_timeout=0.3, tuning=redlatch.Tuning(dead_peer_timeout=60)) as impatient:
        fault = proxy.hold(SCRIPTS["acquire_plain"])
        lock = impatient.plain_lock(lock_name, owner="handle")
        with pytest.raises(redlatch.UnreachableError) as caught:
            lock.acquire(timeout=0.3)
        assert caught.value.status_name == "no_reply"
        fault.release()
        fault.wait_outcome()
        wait_until(lambda: value(server, lock_name) is None)
        proxy.resume()
        call = Call(lambda: lock.acquire(timeout=5))
        assert call.result() is True


# ----------------------------------------------------------------------------------------------------- wrong types --


@pytest.mark.parametrize("kind", ["hash", "list", "set", "zset", "stream"])
def test_a_key_of_another_type_stays_as_it_was(
    server: RedisServer, client: redlatch.Client, lock_name: str, kind: str
) -> None:
    admin: Any = server.admin
    made: dict[str, Callable[[], Any]] = {
        "hash": lambda: admin.hset(lock_name, "x", 1),
        "list": lambda: admin.rpush(lock_name, "x"),
        "set": lambda: admin.sadd(lock_name, "x"),
        "zset": lambda: admin.zadd(lock_name, {"x": 1}),
        "stream": lambda: admin.xadd(lock_name, {"x": 1}),
    }
    made[kind]()
    before = admin.dump(lock_name)
    lock = client.plain_lock(lock_name)
    calls: List[Callable[[], Any]] = [
        lambda: lock.acquire(blocking=False), lambda: lock.acquire(timeout=0.3), lock.state, lock.force_release
    ]
    for call in calls:
        with pytest.raises(redlatch.ServerError) as caught:
            call()
        assert caught.value.status_name == "wrong_type"
    assert admin.dump(lock_name) == before and admin.pttl(lock_name) == -1


def test_a_key_of_another_type_instead_of_a_hold(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url, watchdog_lease=1.0) as client:
        lock, other = client.plain_lock(lock_name), client.plain_lock(lock_name + ":other")
        lock.acquire()
        other.acquire()
        held = lock.held()
        assert held is not None
        server.admin.delete(lock_name)
        server.admin.rpush(lock_name, "x")
        assert held.lost_event.wait(5.0)
        assert other.owned() and other.state().locked, "what is renewed with it is none the worse"
        with pytest.raises(redlatch.LockLostError):
            lock.release()
        other.release()
    assert server.admin.lrange(lock_name, 0, -1) == [b"x"]


# --------------------------------------------------------------------------------------------------------- looking --


def test_it_is_found_and_reported(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    with client.plain_lock(lock_name) as held:
        theirs = TheirLock(server.admin, lock_name + ":theirs", timeout=30)
        assert theirs.acquire()
        server.admin.set(lock_name + ":counter", 12, px=30_000)
        server.admin.set(lock_name + ":word", "a cached page", px=30_000)
        report = client.inspect(lock_name)
        assert report.detected_kind == "plain" and [party.owner for party in report.parties] == [held.owner]
        assert client.inspect(lock_name + ":theirs").detected_kind == "plain"
        assert client.inspect(lock_name + ":counter").detected_kind == "count"
        assert client.inspect(lock_name + ":word").detected_kind == "unknown"
        assert [(found.name, found.detected_kind) for found in client.scan(lock_name + "*")] == [(lock_name, "plain")]
        assert client.wait_free(lock_name, timeout=0.5) is False
        theirs.release()
        assert client.wait_free(lock_name + ":theirs", timeout=SOON) is True
    assert client.inspect(lock_name).detected_kind == "nothing"

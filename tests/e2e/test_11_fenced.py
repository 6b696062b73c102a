# SPDX-License-Identifier: Apache-2.0
"""Fencing tokens: each hold's token is greater than all before it, also if a reply is lost."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Callable, Iterator, List, Optional

import pytest
import redlatch
from steps import Call
from support import Monitor, Proxy, RedisServer, wait_until
from support.wire import SCRIPTS, counts, fields, load_scripts, scripts, sent_by
from waiters import Waiting

CUTS = ["cut_before", "cut_inside", "cut_after"]


@pytest.fixture
def patient(server: RedisServer, proxy: Proxy) -> Iterator[redlatch.Client]:
    """A client behind the proxy. Its timeouts are longer than the faults of the tests."""
    load_scripts(server)
    with redlatch.connect(proxy.url, command_timeout=20, tuning=redlatch.Tuning(dead_peer_timeout=60)) as opened:
        yield opened


def counter(name: str) -> str:
    """Returns the key of the token counter."""
    return f"redisson_lock_token:{{{name}}}"


def last_token(server: RedisServer, name: str) -> int:
    """Returns the value of the token counter."""
    value: Any = server.admin.get(counter(name))
    return int(value)


def token_of(lock: redlatch.Lock) -> Optional[int]:
    """Returns the token of the caller's hold."""
    hold = lock.held()
    assert hold is not None
    return hold.token


def take_turn(lock: redlatch.Lock) -> int:
    """Acquire and release. Returns the token of that hold."""
    with lock as held:
        assert held.token is not None
        return held.token


# ------------------------------------------------------------------------------------------------------ the counter --


def test_tokens_are_counted_from_one(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    load_scripts(server)
    lock = client.fenced_lock(lock_name)
    mark = monitor.mark()
    assert [take_turn(lock) for _ in range(3)] == [1, 2, 3]
    assert scripts(sent_by(monitor.since(mark), server, client)) == ["acquire_fenced", "release"] * 3
    assert last_token(server, lock_name) == 3 and server.admin.keys() == [counter(lock_name).encode()]
    with redlatch.connect(server.url) as other:
        assert take_turn(other.fenced_lock(lock_name)) == 4


def test_a_nested_acquire_has_the_same_token(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    lock = client.fenced_lock(lock_name)
    with lock as outer, lock as inner:
        assert outer.token == inner.token == 1 and counts(server, lock_name) == [2]
    assert last_token(server, lock_name) == 1


def test_the_counter_has_no_end(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    """W-19: Redisson's MultiLock gives the counter a TTL. redlatch's next acquire or hand-over removes it."""
    lock = client.fenced_lock(lock_name, owner="handle")
    assert take_turn(lock) == 1
    server.admin.pexpire(counter(lock_name), 60_000)
    assert take_turn(lock) == 2
    assert server.admin.pttl(counter(lock_name)) == -1
    lock.acquire()
    waiting = Waiting(client.fenced_lock(lock_name, owner="handle"))
    wait_until(lambda: client.stats()["subscriptions"] == 1)
    server.admin.pexpire(counter(lock_name), 60_000)
    lock.release()
    assert waiting.result() is True
    assert last_token(server, lock_name) == 4 and server.admin.pttl(counter(lock_name)) == -1


def test_force_release_and_loss_keep_the_counter(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    lock = client.fenced_lock(lock_name, owner="handle")
    lock.acquire()
    assert client.fenced_lock(lock_name).force_release() is True
    assert last_token(server, lock_name) == 1
    with pytest.raises(redlatch.LockLostError):
        lock.release()
    server.admin.set(counter(lock_name), 41)
    assert take_turn(lock) == 42


def test_tokens_of_many_threads_rise_in_the_order_of_their_holds(server: RedisServer, lock_name: str) -> None:
    seen: List[int] = []
    with redlatch.connect(server.url) as one, redlatch.connect(server.url) as two:

        def turns(client: redlatch.Client) -> None:
            lock = client.fenced_lock(lock_name, owner="handle")
            for _ in range(20):
                with lock as held:
                    assert held.token is not None
                    seen.append(held.token)

        calls = [Call(partial(turns, client)) for client in (one, two) * 3]
        for call in calls:
            call.result(60.0)
        assert one.stats()["hand_overs"] + two.stats()["hand_overs"] > 0
    assert seen == sorted(set(seen)) and len(seen) == 120


def test_a_token_that_begins_at_the_servers_time_rises_across_a_loss(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    lock = client.fenced_lock(lock_name, token_from_time=True)
    before = round(time.time() * 1e6) - 1_000_000
    first, second = take_turn(lock), take_turn(lock)
    assert before < first < second < before + 60_000_000
    server.admin.flushall()
    third = take_turn(lock)
    assert third > second
    server.admin.set(counter(lock_name), 2**52)  # a counter that is ahead of the time is only counted up
    assert take_turn(lock) == 2**52 + 1


def test_handed_over_it_begins_at_the_servers_time_too(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    lock, next_lock = (client.fenced_lock(lock_name, owner="handle", token_from_time=True) for _ in range(2))
    lock.acquire()
    first = token_of(lock)
    waiting = wait_behind(client, next_lock)
    server.admin.delete(counter(lock_name))
    lock.release()
    assert waiting.result() is True
    assert client.stats()["hand_overs"] == 1
    second = token_of(next_lock)
    assert first is not None and second is not None and second > first
    waiting.leave()


# ----------------------------------------------------------------------------------------------------- lost replies --


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("waits", [False, True], ids=["asked", "waited"])
def test_a_lost_reply_hides_no_token(
    server: RedisServer, proxy: Proxy, patient: redlatch.Client, lock_name: str, cut: str, waits: bool
) -> None:
    lock = patient.fenced_lock(lock_name, owner="handle")
    assert take_turn(lock) == 1
    fault = getattr(proxy, cut)(SCRIPTS["acquire_fenced"])
    assert lock.acquire(timeout=10 if waits else -1)
    assert fault.hit
    assert token_of(lock) == 2 == last_token(server, lock_name)
    lock.release()
    assert take_turn(lock) == 3


@pytest.mark.parametrize("cut", CUTS)
def test_a_lost_reply_of_a_hand_over_hides_no_token(
    server: RedisServer, proxy: Proxy, patient: redlatch.Client, lock_name: str, cut: str
) -> None:
    lock, next_lock = (patient.fenced_lock(lock_name, owner="handle") for _ in range(2))
    lock.acquire()
    waiting = wait_behind(patient, next_lock)
    fault = getattr(proxy, cut)(SCRIPTS["hand_over_fenced"])
    lock.release()
    assert waiting.result() is True
    assert fault.hit
    held = next_lock.held()
    assert held is not None and held.token == 2 == last_token(server, lock_name)
    assert fields(server, lock_name) == {held.owner.encode(): b"1"}
    waiting.leave()
    assert take_turn(lock) == 3


@pytest.mark.parametrize("script", ["acquire_fenced", "hand_over_fenced"])
def test_a_swallowed_reply_hides_no_token(
    server: RedisServer, proxy: Proxy, patient: redlatch.Client, lock_name: str, script: str
) -> None:
    lock, next_lock = (patient.fenced_lock(lock_name, owner="handle") for _ in range(2))
    waiting: Optional[Waiting] = None
    if script == "hand_over_fenced":
        lock.acquire()
        waiting = wait_behind(patient, next_lock)
    fault = proxy.swallow_reply(SCRIPTS[script])
    call = Call(lock.release if waiting else lock.acquire)
    fault.wait_hit().connection.cut()
    call.result()
    if waiting:
        assert waiting.result() is True
    assert token_of(next_lock if waiting else lock) == last_token(server, lock_name) == (2 if waiting else 1)
    if waiting:
        waiting.leave()
    else:
        lock.release()


def test_an_acquire_sent_twice_late_draws_nothing_of_a_newer_hold(
    server: RedisServer, proxy: Proxy, patient: redlatch.Client, lock_name: str
) -> None:
    lock = patient.fenced_lock(lock_name, owner="handle")
    fault = proxy.duplicate(SCRIPTS["acquire_fenced"])
    assert lock.acquire() and token_of(lock) == 1
    lock.release()
    assert lock.acquire() and token_of(lock) == 2
    fault.release()
    fault.wait_outcome()
    assert last_token(server, lock_name) == 2 and counts(server, lock_name) == [1]
    lock.release()


def wait_behind(client: redlatch.Client, lock: redlatch.Lock) -> Waiting:
    """Starts a waiter behind a holder of the same client, and waits until it is parked. The waiter keeps its hold."""
    before = client.stats()["round_trips"]
    waiting = Waiting(lock, 30.0, keep=True)
    wait_until(lambda: client.stats()["round_trips"] == before + 2)
    return waiting


# ------------------------------------------------------------------------------------------------------ wrong types --


@pytest.mark.parametrize("wait", [0.0, 0.5], ids=["try", "wait"])
@pytest.mark.parametrize("wrong", ["name", "counter", "no number"])
def test_keys_of_another_type_are_an_error_and_stay(
    server: RedisServer, client: redlatch.Client, lock_name: str, wrong: str, wait: float
) -> None:
    key = lock_name if wrong == "name" else counter(lock_name)
    if wrong == "no number":
        server.admin.set(key, "seven")
    else:
        server.admin.rpush(key, "x")
    before = server.admin.dump(key)
    lock = client.fenced_lock(lock_name)
    with pytest.raises(redlatch.ServerError) as caught:
        lock.acquire(timeout=wait)
    assert caught.value.status_name == "wrong_type"
    assert server.admin.dump(key) == before and server.admin.keys() == [key.encode()], "nothing was written"
    assert not lock.owned()


def test_a_counter_of_another_type_does_not_stop_a_release(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    """The hand-over fails, so the lock is released for all. The waiter's call fails with the reason."""
    lock, next_lock = (client.fenced_lock(lock_name, owner="handle") for _ in range(2))
    lock.acquire()
    waiting = wait_behind(client, next_lock)
    server.admin.delete(counter(lock_name))
    server.admin.rpush(counter(lock_name), "x")
    lock.release()
    with pytest.raises(redlatch.ServerError) as caught:
        waiting.result()
    assert caught.value.status_name == "wrong_type"
    assert fields(server, lock_name) == {} and server.admin.lrange(counter(lock_name), 0, -1) == [b"x"]


# ----------------------------------------------------------------------------------------------------- no re-entry --


@pytest.mark.parametrize("make", [redlatch.Client.lock, redlatch.Client.fenced_lock], ids=["mutex", "fenced"])
@pytest.mark.parametrize("timeout", [0.0, 0.1, None], ids=["try", "wait", "for ever"])
def test_a_second_acquire_is_an_error(
    server: RedisServer,
    client: redlatch.Client,
    lock_name: str,
    make: Callable[..., redlatch.Lock],
    timeout: Optional[float],
) -> None:
    lock, another = (make(client, lock_name, reentrant=False) for _ in range(2))
    lock.acquire()
    for handle in (lock, another):
        with pytest.raises(redlatch.AlreadyHeldError) as caught:
            handle.acquire(timeout=timeout)
        assert caught.value.status_name == "already_held"
        assert counts(server, lock_name) == [1]
    lock.release()
    assert fields(server, lock_name) == {} and not lock.owned()
    with lock:
        pass

# SPDX-License-Identifier: Apache-2.0
"""The spin lock: a mutex on the server. Its waiters poll and never subscribe, but its releases publish messages."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Iterator, List

import pytest
import redlatch
from stalls import Stalls
from steps import Call
from support import Monitor, RedisServer, RedissonShapedPeer, wait_until
from support.wire import channel, counts, fields, is_owner, load_scripts, script_of, scripts, sent_by, subscribers
from waiters import SOON, Waiting, hold_as_redisson


@pytest.fixture
def client(server: RedisServer) -> Iterator[redlatch.Client]:
    """A client without a proxy. The server has all scripts."""
    load_scripts(server)
    with redlatch.connect(server.url) as opened:
        yield opened


def rechecks(monitor: Monitor, mark: int, server: RedisServer, client: redlatch.Client) -> List[float]:
    """Returns the times of the client's acquire commands, in seconds."""
    requested = sent_by(monitor.since(mark), server, client)
    return [entry.time_us / 1e6 for entry in requested if script_of(entry) == "acquire"]


def test_a_hold_is_that_of_a_mutex(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    lock = client.spin_lock(lock_name)
    with lock as held, lock:
        (owner, count), *others = fields(server, lock_name).items()
        assert is_owner(owner) and owner == held.owner.encode() and (count, others) == (b"2", [])
        assert client.lock(lock_name).acquire(blocking=False) is False, "a mutex of that name is kept out"
    assert server.admin.dbsize() == 0


def test_a_waiter_asks_with_growing_pauses_and_never_subscribes(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    hold_as_redisson(server, lock_name)
    lock = client.spin_lock(lock_name, owner="handle", back_off_initial=0.01, back_off_max=0.08)
    mark = monitor.mark()
    waiting = Waiting(lock)
    wait_until(lambda: len(rechecks(monitor, mark, server, client)) >= 8)
    times = rechecks(monitor, mark, server, client)[:8]
    pauses = [after - before for before, after in zip(times, times[1:])]
    for pause, least in zip(pauses, [0.01, 0.02, 0.04, 0.08, 0.08, 0.08, 0.08]):
        assert pause >= least - 0.002
    assert subscribers(server, lock_name) == 0 and client.stats()["subscriptions"] == 0
    server.admin.delete(lock_name)
    deleted_at = time.monotonic()
    assert waiting.result() is True
    assert waiting.ended_at - deleted_at < SOON, "it needs no message"


def test_pauses_of_one_length(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    hold_as_redisson(server, lock_name)
    lock = client.spin_lock(lock_name, back_off_initial=0.064, back_off_max=0.064)
    mark = monitor.mark()
    with Stalls() as stalls:
        waiting = Waiting(lock)
        wait_until(lambda: len(rechecks(monitor, mark, server, client)) >= 6)
    times = rechecks(monitor, mark, server, client)
    pauses = [after - before for before, after in zip(times, times[1:])]
    assert min(pauses) >= 0.062 and sorted(pauses)[2] < stalls.widen(0.128), "none is longer but by chance"
    server.admin.delete(lock_name)
    assert waiting.result() is True


def test_a_time_out_is_kept(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    """The last pause is shortened, so that a last recheck comes before the deadline and the call returns in time."""
    hold_as_redisson(server, lock_name)
    started = time.monotonic()
    lock = client.spin_lock(lock_name, owner="handle", back_off_initial=30, back_off_max=30)
    assert Waiting(lock, 0.5).result() is False
    assert 0.5 <= time.monotonic() - started < 0.5 + SOON

    server.admin.delete(lock_name)

    def finds_it_free() -> bool:
        hold_as_redisson(server, lock_name)
        requested = client.stats()["round_trips"]
        waiting = Waiting(lock, 0.5)
        wait_until(lambda: client.stats()["round_trips"] > requested)
        server.admin.delete(lock_name)
        return waiting.result() is True

    # The last recheck comes 25 ms before the deadline. On a machine that stalls for longer it is too late.
    assert any(finds_it_free() for _ in range(5)), "the last look"


def test_its_release_tells_waiters(
    server: RedisServer, client: redlatch.Client, peer: RedissonShapedPeer, lock_name: str
) -> None:
    listener: Any = server.client().pubsub()
    listener.subscribe(channel(lock_name))
    assert listener.get_message(timeout=5) is not None
    lock = client.spin_lock(lock_name)
    lock.acquire()
    waiting = peer.start_lock(lock_name)
    wait_until(lambda: subscribers(server, lock_name) == 2)
    lock.release()
    waiting.result(SOON)
    assert wait_until(lambda: listener.get_message(timeout=0.1))["data"] == b"0"
    peer.unlock(lock_name)
    assert wait_until(lambda: listener.get_message(timeout=0.1))["data"] == b"0"
    lock.acquire()
    assert client.spin_lock(lock_name).force_release() is True
    assert wait_until(lambda: listener.get_message(timeout=0.1))["data"] == b"0"
    with pytest.raises(redlatch.LockLostError):
        lock.release()


def test_in_one_process_only_the_first_asks(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    holder = client.spin_lock(lock_name, owner="handle")
    holder.acquire()
    requested = client.stats()["round_trips"]
    waiting = [Waiting(client.spin_lock(lock_name, owner="handle")) for _ in range(5)]
    wait_until(lambda: client.stats()["waiters"] == 5 and client.stats()["round_trips"] > requested)
    mark = monitor.mark()
    time.sleep(0.5)  # nothing may be sent in this time, because this process holds the lock
    assert rechecks(monitor, mark, server, client) == []
    holder.release()
    assert all(waiter.result() is True for waiter in waiting)
    done = scripts(sent_by(monitor.since(mark), server, client))
    # After 10 ms of hand-overs in a row the lock is released on the server, and the foremost waiter acquires it.
    assert done.count("hand_over") >= 1 and done.count("hand_over") + done.count("release") == 6


def test_processes_take_turns(server: RedisServer, lock_name: str) -> None:
    """Hand-overs between the threads of one process do not starve another process."""
    with redlatch.connect(server.url) as one, redlatch.connect(server.url) as two:
        inside: List[int] = []

        def turns(client: redlatch.Client) -> None:
            lock = client.spin_lock(lock_name, owner="handle", back_off_max=0.008)
            for _ in range(60):
                with lock:
                    inside.append(1)
                    assert len(inside) == 1
                    inside.clear()

        for call in [Call(partial(turns, client)) for client in (one, two, one, two)]:
            call.result(60.0)
    assert counts(server, lock_name) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"back_off_initial": 0}, "back_off_initial"),
        ({"back_off_initial": 0.5}, "500 to 128 ms"),
        ({"back_off_max": 3601}, "3600000"),
        ({"back_off_multiplier": 0}, "back_off_multiplier is 0"),
        ({"back_off_multiplier": 1001}, "1 to 1000"),
    ],
)
def test_a_back_off_that_cannot_be(client: redlatch.Client, options: Any, words: str) -> None:
    with pytest.raises(redlatch.InvalidArgumentError, match=words):
        client.spin_lock("orders", **options)


def test_it_need_not_be_reentrant(client: redlatch.Client, lock_name: str) -> None:
    with client.spin_lock(lock_name, reentrant=False) as held:
        with pytest.raises(redlatch.AlreadyHeldError):
            client.spin_lock(lock_name, reentrant=False).acquire()
        assert held.count == 1

# SPDX-License-Identifier: Apache-2.0
"""Semaphores: keys and messages as RSemaphore has them, order among waiters, wake-ups. The file includes the scenarios
of Redisson's RedissonSemaphoreTest, under their names."""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, Iterator, List, Optional

import pytest
import redlatch
from steps import Call
from support import Monitor, RedisServer, wait_until
from support.wire import SCRIPTS, load_scripts, script_of
from waiters import SOON

PERMITS_MAX = 2_147_483_647


@pytest.fixture
def client(server: RedisServer) -> Iterator[redlatch.Client]:
    """A client without a proxy. The server has all scripts."""
    load_scripts(server)
    with redlatch.connect(server.url) as opened:
        yield opened


@pytest.fixture
def semaphore(client: redlatch.Client, lock_name: str) -> redlatch.Semaphore:
    """A semaphore that does not exist yet."""
    return client.semaphore(lock_name)


def value(server: RedisServer, name: str) -> Optional[bytes]:
    """Returns the value of the key."""
    found: Any = server.admin.get(name)
    return found


def channel(name: str) -> str:
    """Returns the channel for messages about permits, by Redisson's rule."""
    return f"redisson_sc:{name}" if "{" in name else f"redisson_sc:{{{name}}}"


def wait_for_listener(server: RedisServer, name: str, count: int = 1) -> None:
    """Wait until `count` clients are subscribed to the channel."""
    wait_until(lambda: server.admin.pubsub_numsub(channel(name))[0][1] == count, 5.0, "the subscription")


def wait_for_waiters(client: redlatch.Client, count: int) -> None:
    """Wait until `count` calls of the client wait."""
    wait_until(lambda: client.stats()["waiters"] == count, 5.0, f"{count} waiters")


# ------------------------------------------------------------------------------------------ what RSemaphore does --


def test_zero(semaphore: redlatch.Semaphore, server: RedisServer, monitor: Monitor, lock_name: str) -> None:
    mark = monitor.mark()
    assert semaphore.acquire(0, timeout=600)
    semaphore.release(0)
    assert not semaphore.release_if_exists(0)
    assert [entry for entry in monitor.since(mark) if script_of(entry)] == [], "nothing was sent"
    assert value(server, lock_name) is None


def test_acquire_without_set_permits(semaphore: redlatch.Semaphore) -> None:
    assert not semaphore.acquire(blocking=False)
    assert semaphore.available() == 0


def test_try_set_permits(semaphore: redlatch.Semaphore, server: RedisServer, lock_name: str) -> None:
    assert semaphore.try_set_permits(10)
    assert not semaphore.try_set_permits(15)
    assert semaphore.available() == 10
    assert server.admin.pttl(lock_name) == -1
    assert semaphore.delete() and not semaphore.delete()
    assert semaphore.try_set_permits(3, ttl=10)
    assert 0 < server.admin.pttl(lock_name) <= 10_000
    server.admin.pexpire(lock_name, 1)
    wait_until(lambda: value(server, lock_name) is None, 2.0)
    assert semaphore.available() == 0


def test_add_permits(semaphore: redlatch.Semaphore) -> None:
    semaphore.add_permits(5)
    assert semaphore.available() == 5
    semaphore.add_permits(-2)
    assert semaphore.available() == 3


def test_reduce_permits(semaphore: redlatch.Semaphore) -> None:
    """The number of permits may be negative."""
    semaphore.try_set_permits(10)
    semaphore.add_permits(-10)
    assert semaphore.available() == 0
    semaphore.add_permits(-5)
    assert semaphore.available() == -5
    assert not semaphore.acquire(blocking=False)
    semaphore.add_permits(6)
    assert semaphore.acquire(blocking=False)


def test_acquire_after_add_permits(client: redlatch.Client, semaphore: redlatch.Semaphore) -> None:
    waiting = Call(lambda: semaphore.acquire(2))
    wait_for_waiters(client, 1)
    semaphore.add_permits(5)
    assert waiting.result(SOON) is True
    assert semaphore.available() == 3


def test_blocking_acquire(server: RedisServer, client: redlatch.Client, semaphore: redlatch.Semaphore) -> None:
    semaphore.try_set_permits(1)
    semaphore.acquire()
    waiting = Call(semaphore.acquire)
    wait_for_waiters(client, 1)
    assert not waiting.done
    semaphore.release()
    assert waiting.result(SOON) is True
    assert semaphore.available() == 0


def test_blocking_n_acquire(client: redlatch.Client, semaphore: redlatch.Semaphore) -> None:
    """Permits that are released one by one wake a waiter for several."""
    semaphore.try_set_permits(5)
    semaphore.acquire(3)
    waiting = Call(lambda: semaphore.acquire(4))
    wait_for_waiters(client, 1)
    semaphore.release()
    assert not waiting.done
    semaphore.release()
    assert waiting.result(SOON) is True
    assert semaphore.available() == 0


def test_try_n_acquire(client: redlatch.Client, semaphore: redlatch.Semaphore) -> None:
    semaphore.try_set_permits(5)
    semaphore.acquire(3)
    started_at = time.monotonic()
    assert not semaphore.acquire(4, timeout=0.5)
    assert 0.5 <= time.monotonic() - started_at < 0.5 + SOON
    assert not semaphore.acquire(4, blocking=False)
    semaphore.release(2)
    assert semaphore.acquire(4, timeout=5)


def test_release_without_permits(semaphore: redlatch.Semaphore) -> None:
    semaphore.release()
    assert semaphore.available() == 1


def test_drain_permits(semaphore: redlatch.Semaphore, server: RedisServer, lock_name: str) -> None:
    assert semaphore.drain() == 0
    assert value(server, lock_name) is None
    semaphore.try_set_permits(10)
    semaphore.acquire(3)
    assert semaphore.drain() == 7
    assert value(server, lock_name) == b"0"
    semaphore.add_permits(-3)
    assert semaphore.drain() == -3
    assert semaphore.available() == 0


def test_release_acquire(semaphore: redlatch.Semaphore) -> None:
    semaphore.try_set_permits(10)
    semaphore.acquire()
    assert semaphore.available() == 9
    semaphore.release()
    assert semaphore.available() == 10
    semaphore.acquire(5)
    assert semaphore.available() == 5
    semaphore.release(5)
    assert semaphore.available() == 10


def test_release_if_exists(semaphore: redlatch.Semaphore, server: RedisServer, lock_name: str) -> None:
    assert not semaphore.release_if_exists()
    assert value(server, lock_name) is None
    semaphore.try_set_permits(1)
    assert semaphore.release_if_exists(2)
    assert semaphore.available() == 3


@pytest.mark.parametrize("permits", [1, PERMITS_MAX])
def test_concurrency_of_many_clients(server: RedisServer, lock_name: str, permits: int) -> None:
    """With one permit, at most one thread is inside at a time. With any number, the count is right in the end."""
    inside: List[int] = []
    most = 0
    lock = threading.Lock()

    def work(client: redlatch.Client) -> None:
        nonlocal most
        semaphore = client.semaphore(lock_name)
        for _ in range(16):
            semaphore.acquire()
            with lock:
                inside.append(1)
                most = max(most, len(inside))
            with lock:
                inside.pop()
            semaphore.release()

    clients = [redlatch.connect(server.url) for _ in range(4)]
    try:
        assert clients[0].semaphore(lock_name).try_set_permits(permits)
        calls = [Call(lambda client=client: work(client)) for client in clients for _ in range(3)]
        for call in calls:
            call.result(30.0)
        assert clients[0].semaphore(lock_name).available() == permits
        assert permits > 1 or most == 1
    finally:
        for client in clients:
            client.close()


# --------------------------------------------------------------------------------------------------- on the wire --


def test_keys_messages_and_records(server: RedisServer, semaphore: redlatch.Semaphore, lock_name: str) -> None:
    """The key is Redisson's, messages are decimal numbers, and records live for a minute."""
    listener: Any = server.client().pubsub()
    listener.subscribe(channel(lock_name))
    assert listener.get_message(timeout=5.0)
    semaphore.try_set_permits(2)
    semaphore.acquire(2)
    semaphore.release()
    semaphore.add_permits(4)
    semaphore.add_permits(-9)
    semaphore.drain()
    assert value(server, lock_name) == b"0"
    notified = []
    while (message := listener.get_message(timeout=0.1)) is not None:
        notified.append(message["data"])
    assert notified == [b"2", b"1", b"5"], "as RSemaphore's, but none of a number below one"
    listener.close()
    records = list(server.admin.scan_iter(match="redlatch_op:*"))
    assert records and all(key.startswith(f"redlatch_op:{{{lock_name}}}:".encode()) for key in records)
    assert all(50_000 < server.admin.pttl(key) <= 60_000 for key in records)


def test_a_name_with_a_tag(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    semaphore = client.semaphore("{" + lock_name + "}:gate")
    waiting = Call(semaphore.acquire)
    wait_for_listener(server, "{" + lock_name + "}:gate")
    server.admin.incr("{" + lock_name + "}:gate")
    server.admin.publish(f"redisson_sc:{{{lock_name}}}:gate", "1")
    assert waiting.result(SOON) is True


def test_a_ttl_is_kept(server: RedisServer, semaphore: redlatch.Semaphore, lock_name: str) -> None:
    """W-16: the SET in Redisson's addPermits and drainPermits removes the TTL."""
    semaphore.try_set_permits(5, ttl=60)
    for change in (
        semaphore.acquire,
        semaphore.release,
        lambda: semaphore.add_permits(3),
        semaphore.drain,
        semaphore.release_if_exists,
    ):
        change()
        assert 50_000 < server.admin.pttl(lock_name) <= 60_000


def test_between_park_and_message_nothing_is_sent(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, semaphore: redlatch.Semaphore, lock_name: str
) -> None:
    waiting = Call(semaphore.acquire)
    wait_for_listener(server, lock_name)
    wait_until(lambda: client.stats()["round_trips"] >= 2)
    mark = monitor.mark()
    time.sleep(0.3)
    assert [entry for entry in monitor.since(mark) if script_of(entry)] == []
    server.admin.set(lock_name, 1)
    server.admin.publish(channel(lock_name), "1")
    assert waiting.result(SOON) is True


def test_a_lost_message_delays_by_a_recheck(server: RedisServer, semaphore: redlatch.Semaphore, lock_name: str) -> None:
    """W-16: a waiter of Redisson would sleep for ever."""
    waiting = Call(semaphore.acquire)
    wait_for_listener(server, lock_name)
    server.admin.set(lock_name, 1)
    assert waiting.result(7.0) is True


# --------------------------------------------------------------------------------------------------------- order --


def test_first_come_first_served(client: redlatch.Client, semaphore: redlatch.Semaphore) -> None:
    """The order is strict: a waiter for many permits holds back the waiters behind it."""
    semaphore.try_set_permits(1)
    order: List[int] = []

    def take(permits: int) -> None:
        semaphore.acquire(permits)
        order.append(permits)

    calls = []
    for number, permits in enumerate((4, 1, 2)):
        calls.append(Call(lambda permits=permits: take(permits)))
        wait_for_waiters(client, number + 1)
    time.sleep(0.2)
    assert order == [] and semaphore.available() == 1
    assert not semaphore.acquire(blocking=False), "a try does not pass those who wait"
    semaphore.release(3)
    calls[0].result(SOON)
    assert order == [4]
    semaphore.release()
    calls[1].result(SOON)
    semaphore.release()
    assert order == [4, 1]
    semaphore.release()
    calls[2].result(SOON)
    assert order == [4, 1, 2]
    assert semaphore.available() == 0


def test_one_message_serves_all_it_is_enough_for(
    server: RedisServer, client: redlatch.Client, semaphore: redlatch.Semaphore, lock_name: str
) -> None:
    calls = [Call(semaphore.acquire) for _ in range(8)]
    wait_for_waiters(client, 8)
    wait_for_listener(server, lock_name)
    semaphore.release(8)
    for call in calls:
        assert call.result(SOON) is True
    assert semaphore.available() == 0


def test_the_next_one_is_served_when_the_first_gives_up(
    client: redlatch.Client, semaphore: redlatch.Semaphore
) -> None:
    semaphore.try_set_permits(1)
    first = Call(lambda: semaphore.acquire(5, timeout=1.0))
    wait_for_waiters(client, 1)
    second = Call(semaphore.acquire)
    assert first.result() is False
    assert second.result(SOON) is True


def test_permits_that_come_one_by_one_wake_all(server: RedisServer, lock_name: str) -> None:
    """All waiters of two clients are woken, although a message may go to a client that is too late for its permit."""
    with redlatch.connect(server.url) as one, redlatch.connect(server.url) as two:
        calls = [Call(client.semaphore(lock_name).acquire) for client in (one, two) for _ in range(6)]
        wait_for_listener(server, lock_name, 2)
        for _ in calls:
            one.semaphore(lock_name).release()
        for call in calls:
            assert call.result(2 * SOON) is True
        assert one.semaphore(lock_name).available() == 0


# ---------------------------------------------------------------------------------------------------- being used --


def test_with(semaphore: redlatch.Semaphore) -> None:
    semaphore.try_set_permits(1)
    with semaphore:
        assert semaphore.available() == 0
    assert semaphore.available() == 1


@pytest.mark.parametrize("foreign", ["list", "hash", "text"])
def test_a_key_of_another_shape_is_untouched(
    server: RedisServer, semaphore: redlatch.Semaphore, lock_name: str, foreign: str
) -> None:
    admin: Any = server.admin
    {
        "list": lambda: admin.rpush(lock_name, "x"),
        "hash": lambda: admin.hset(lock_name, "x", "1"),
        "text": lambda: admin.set(lock_name, "12x"),
    }[foreign]()
    before = admin.dump(lock_name)
    calls = [
        lambda: semaphore.acquire(timeout=1),
        semaphore.release,
        semaphore.release_if_exists,
        lambda: semaphore.add_permits(1),
        semaphore.drain,
        semaphore.available,
    ]
    if foreign != "text":
        calls += [semaphore.delete, lambda: semaphore.try_set_permits(1)]
    for call in calls:
        with pytest.raises(redlatch.ServerError) as caught:
            call()
        assert caught.value.status_name == "wrong_type"
    assert admin.dump(lock_name) == before
    assert list(admin.scan_iter(match="redlatch_op:*")) == []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.acquire(-1), "permits is -1; expected 0 to 2147483647"),
        (lambda s: s.acquire(PERMITS_MAX + 1), "permits is 2147483648"),
        (lambda s: s.release(-1), "permits is -1"),
        (lambda s: s.try_set_permits(-1), "permits is -1"),
        (lambda s: s.try_set_permits(1, ttl=0), "ttl is 0"),
        (lambda s: s.add_permits(-PERMITS_MAX - 1), "permits is -2147483648"),
        (lambda s: s.acquire(blocking=False, timeout=1), "cannot specify a timeout"),
    ],
)
def test_bad_numbers(semaphore: redlatch.Semaphore, call: Any, words: str) -> None:
    with pytest.raises(redlatch.InvalidArgumentError, match=words):
        call(semaphore)


@pytest.mark.parametrize("kind", ["semaphore", "permit_semaphore"])
def test_there_are_never_more_than_the_most(
    server: RedisServer, client: redlatch.Client, lock_name: str, kind: str
) -> None:
    gate: Any = getattr(client, kind)(lock_name)
    assert gate.try_set_permits(PERMITS_MAX)
    taken = gate.acquire()
    before = server.admin.dump(lock_name)
    calls: List[Callable[[], object]] = [lambda: gate.add_permits(2)]
    if kind == "semaphore":
        calls += [lambda: gate.release(2), lambda: gate.release_if_exists(2)]
    else:
        calls += [lambda: gate.add_permits(1)]  # the acquired permit will come back
    for call in calls:
        with pytest.raises(redlatch.InvalidArgumentError, match="there would be more than 2147483647 permits"):
            call()
    assert server.admin.dump(lock_name) == before
    if kind == "semaphore":
        gate.release(1)
    else:
        gate.release(taken)
    gate.add_permits(-3)
    gate.add_permits(3)
    assert gate.available() == PERMITS_MAX


@pytest.mark.parametrize("name", ["add_semaphore", "release_semaphore"])
def test_what_was_refused_stays_refused(server: RedisServer, lock_name: str, name: str) -> None:
    admin: Any = server.admin
    script = SCRIPTS[name].text.decode()
    words = [lock_name, f"redlatch_op:{{{lock_name}}}:1", 60_000, 1, 2, "channel", "0"]
    admin.set(lock_name, PERMITS_MAX - 1)
    assert admin.eval(script, 2, *words) == -1
    admin.set(lock_name, 0)
    assert admin.eval(script, 2, *words) == -1
    assert admin.get(lock_name) == b"0"


def test_what_is_no_number(semaphore: redlatch.Semaphore) -> None:
    for wrong in (1.5, "1", True, None):
        with pytest.raises(TypeError, match="expected a whole number"):
            semaphore.acquire(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="did you mean timeout"):
        semaphore.acquire(blocking=1.5)  # type: ignore[arg-type]


def test_close_ends_a_wait(server: RedisServer, lock_name: str) -> None:
    client = redlatch.connect(server.url)
    semaphore = client.semaphore(lock_name)
    waiting = Call(semaphore.acquire)
    wait_for_waiters(client, 1)
    client.close()
    assert isinstance(waiting.error(SOON), redlatch.ClosedError)
    for call in (lambda: client.semaphore(lock_name), lambda: semaphore.acquire(0)):
        with pytest.raises(redlatch.ClosedError):
            call()

# SPDX-License-Identifier: Apache-2.0
"""Count-down latches: the key and messages as RCountDownLatch has them, and when waiters go on. The file includes the
scenarios of Redisson's RedissonCountDownLatchTest, under their names."""

from __future__ import annotations

import threading
import time
from typing import Any, Iterator

import pytest
import redlatch
from steps import Call
from support import Monitor, RedisServer, wait_until
from support.wire import load_scripts, script_of
from waiters import SOON


@pytest.fixture
def client(server: RedisServer) -> Iterator[redlatch.Client]:
    """A client without a proxy. The server has all scripts."""
    load_scripts(server)
    with redlatch.connect(server.url) as opened:
        yield opened


@pytest.fixture
def latch(client: redlatch.Client, lock_name: str) -> redlatch.Latch:
    """A latch that was never set."""
    return client.latch(lock_name)


def channel(name: str) -> str:
    """Returns the channel of a latch. The name is always in braces, even if it contains some."""
    return f"redisson_countdownlatch__channel__{{{name}}}"


def wait_for_listener(server: RedisServer, name: str) -> None:
    """Wait until a client is subscribed to the latch's channel."""
    wait_until(lambda: server.admin.pubsub_numsub(channel(name))[0][1] == 1, 5.0, "the subscription")


def test_await_timeout(latch: redlatch.Latch) -> None:
    assert latch.try_set_count(1)
    waiting = Call(lambda: latch.wait(timeout=5))
    time.sleep(0.1)
    latch.count_down()
    assert waiting.result(SOON) is True


def test_await_timeout_fail(latch: redlatch.Latch) -> None:
    latch.try_set_count(1)
    started_at = time.monotonic()
    assert not latch.wait(timeout=0.5)
    assert 0.5 <= time.monotonic() - started_at < 0.5 + SOON
    assert not latch.wait(timeout=0)


def test_a_wait_without_a_timeout_uses_that_of_the_latch(client: redlatch.Client, lock_name: str) -> None:
    latch = client.latch(lock_name, timeout=0.5)
    latch.try_set_count(1)
    started_at = time.monotonic()
    assert not latch.wait()
    assert 0.5 <= time.monotonic() - started_at < 0.5 + SOON
    waiting = Call(lambda: latch.wait(timeout=None))
    time.sleep(0.6)
    latch.count_down()
    assert waiting.result(SOON) is True
    with pytest.raises(redlatch.InvalidArgumentError, match="timeout"):
        client.latch(lock_name, timeout=-2)


def test_multi_await(server: RedisServer, client: redlatch.Client, latch: redlatch.Latch, lock_name: str) -> None:
    latch.try_set_count(5)
    calls = [Call(latch.wait) for _ in range(5)]
    wait_until(lambda: client.stats()["waiters"] == 5)
    wait_for_listener(server, lock_name)
    for _ in range(5):
        assert not any(call.done for call in calls)
        latch.count_down()
    for call in calls:
        assert call.result(SOON) is True


def test_count_down(server: RedisServer, latch: redlatch.Latch, lock_name: str) -> None:
    """Count-downs at 0 change nothing, and a latch that was never set is open."""
    latch.count_down()
    assert latch.count() == 0 and latch.wait()
    assert latch.try_set_count(2)
    for _ in range(4):
        latch.count_down()
    assert latch.count() == 0 and latch.wait()
    assert not server.admin.exists(lock_name)


def test_delete(latch: redlatch.Latch) -> None:
    latch.try_set_count(1)
    assert latch.delete()
    assert latch.wait()


def test_delete_failed(latch: redlatch.Latch) -> None:
    assert not latch.delete()


def test_try_set_count(latch: redlatch.Latch) -> None:
    assert latch.try_set_count(1)
    assert not latch.try_set_count(2)
    latch.count_down()
    assert latch.try_set_count(3)


def test_count(latch: redlatch.Latch) -> None:
    assert latch.count() == 0
    latch.try_set_count(2)
    assert latch.count() == 2
    latch.count_down()
    assert latch.count() == 1
    latch.count_down()
    assert latch.count() == 0


def test_single_count_down_await(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    """Many threads of two clients wait while many threads count down."""
    crowd = 12
    client.latch(lock_name).try_set_count(crowd)
    with redlatch.connect(server.url) as other:
        waiters = [Call(each.latch(lock_name).wait) for each in (client, other) for _ in range(crowd // 2)]
        counters = [threading.Thread(target=client.latch(lock_name).count_down) for _ in range(crowd)]
        for counter in counters:
            counter.start()
        for counter in counters:
            counter.join()
        for waiter in waiters:
            assert waiter.result(SOON) is True
    assert client.latch(lock_name).count() == 0


def test_waiters_of_a_deleted_latch_are_let_through(
    server: RedisServer, latch: redlatch.Latch, lock_name: str
) -> None:
    """W-22: Redisson's waiters go on waiting."""
    latch.try_set_count(3)
    waiting = Call(latch.wait)
    wait_for_listener(server, lock_name)
    assert latch.delete()
    assert waiting.result(SOON) is True


def test_a_key_that_expired_lets_through(server: RedisServer, latch: redlatch.Latch, lock_name: str) -> None:
    latch.try_set_count(3)
    server.admin.pexpire(lock_name, 300)
    assert latch.wait(timeout=3)


def test_a_lost_message_delays_by_a_recheck(server: RedisServer, latch: redlatch.Latch, lock_name: str) -> None:
    """W-22: Redisson's waiter never rechecks."""
    latch.try_set_count(3)
    waiting = Call(latch.wait)
    wait_for_listener(server, lock_name)
    server.admin.delete(lock_name)
    assert waiting.result(7.0) is True


def test_keys_and_messages(server: RedisServer, latch: redlatch.Latch, lock_name: str) -> None:
    listener: Any = server.client().pubsub()
    listener.subscribe(channel(lock_name))
    assert listener.get_message(timeout=5.0)
    latch.try_set_count(2)
    assert server.admin.get(lock_name) == b"2"
    latch.try_set_count(2)
    latch.count_down()
    assert server.admin.get(lock_name) == b"1"
    latch.count_down()
    latch.count_down()
    assert not server.admin.exists(lock_name)
    latch.try_set_count(1)
    latch.delete()
    latch.delete()
    notified = []
    while (message := listener.get_message(timeout=0.1)) is not None:
        notified.append(message["data"])
    listener.close()
    assert notified == [b"1", b"0", b"1", b"1"]


@pytest.mark.parametrize("name", ["{%s}:done", "%s:with:colons", "a}%s{b"])
def test_names_of_any_shape_are_woken(
    server: RedisServer, client: redlatch.Client, lock_name: str, name: str
) -> None:
    latch = client.latch(name % lock_name)
    latch.try_set_count(1)
    waiting = Call(latch.wait)
    wait_for_listener(server, name % lock_name)
    latch.count_down()
    assert waiting.result(SOON) is True


def test_between_park_and_message_nothing_is_sent(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, latch: redlatch.Latch, lock_name: str
) -> None:
    latch.try_set_count(1)
    requested = client.stats()["round_trips"]
    waiting = Call(latch.wait)
    wait_for_listener(server, lock_name)
    wait_until(lambda: client.stats()["round_trips"] >= requested + 2)
    mark = monitor.mark()
    time.sleep(0.3)
    assert [entry for entry in monitor.since(mark) if script_of(entry)] == []
    latch.count_down()
    assert waiting.result(SOON) is True


@pytest.mark.parametrize("foreign", ["list", "text"])
def test_a_key_of_another_shape_is_untouched(
    server: RedisServer, latch: redlatch.Latch, lock_name: str, foreign: str
) -> None:
    admin: Any = server.admin
    if foreign == "list":
        admin.rpush(lock_name, "x")
    else:
        admin.set(lock_name, "12x")
    before = admin.dump(lock_name)
    calls = [latch.count_down, latch.count, lambda: latch.wait(1)]
    if foreign == "list":
        calls += [latch.delete, lambda: latch.try_set_count(1)]
    for call in calls:
        with pytest.raises(redlatch.ServerError) as caught:
            call()
        assert caught.value.status_name == "wrong_type"
    assert admin.dump(lock_name) == before
    assert list(admin.scan_iter(match="redlatch_op:*")) == []


def test_bad_arguments(latch: redlatch.Latch) -> None:
    with pytest.raises(redlatch.InvalidArgumentError, match="count is 0; expected 1 to 2147483647"):
        latch.try_set_count(0)
    with pytest.raises(TypeError, match="expected a whole number"):
        latch.try_set_count(1.5)  # type: ignore[arg-type]
    with pytest.raises(redlatch.InvalidArgumentError, match="timeout is -2"):
        latch.wait(-2)


def test_close_ends_a_wait(server: RedisServer, lock_name: str) -> None:
    client = redlatch.connect(server.url)
    client.latch(lock_name).try_set_count(1)
    waiting = Call(client.latch(lock_name).wait)
    wait_until(lambda: client.stats()["waiters"] == 1)
    client.close()
    assert isinstance(waiting.error(SOON), redlatch.ClosedError)

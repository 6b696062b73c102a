# SPDX-License-Identifier: Apache-2.0
"""A message wakes a waiter at once. Without one it rechecks when the holder's TTL ends, and at least every 5 s."""

from __future__ import annotations

import time
from typing import Any, Iterable, Iterator, List

import pytest
import redlatch
from stalls import Stalls
from support import Entry, Monitor, Proxy, RedisServer, RedissonShapedPeer, wait_until
from support.wire import channel, counts, fields, load_scripts, scripts, sent_by, subscribers
from waiters import SOON, Waiting, hold_as_redisson, release_as_redisson, wait_parked

RECHECK = 5.0


@pytest.fixture
def client(server: RedisServer) -> Iterator[redlatch.Client]:
    """A client without a proxy. The server has all scripts."""
    load_scripts(server)
    with redlatch.connect(server.url) as opened:
        yield opened


@pytest.fixture
def stalls() -> Iterator[Stalls]:
    """Measures the machine's stalls during the test."""
    with Stalls() as measuring:
        yield measuring


def seconds(entries: Iterable[Entry]) -> List[float]:
    """Returns when the commands were executed, by the server's clock."""
    return [entry.time_us / 1e6 for entry in entries]


def test_the_message_of_a_redisson_release_wakes(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    owner = hold_as_redisson(server, lock_name)
    mark = monitor.mark()
    waiting = Waiting(client.lock(lock_name), keep=True)
    parked = wait_parked(server, monitor, lock_name, client, mark)
    observed = monitor.mark()
    assert scripts(monitor.since(mark))[:2] == ["acquire", "acquire"]
    time.sleep(2.5)  # nothing may be sent in this time; the next recheck is due after 5 s
    assert fields(server, lock_name) == {owner.encode(): b"1"} and not waiting.done
    assert sent_by(monitor.since(parked), server, client) == []
    released_at = release_as_redisson(server, lock_name)
    assert waiting.result() is True
    assert waiting.ended_at - released_at < SOON
    after = sent_by(monitor.since(observed), server, client)
    assert scripts(after) == ["acquire"] and len(after) == 1
    assert counts(server, lock_name) == [1]
    waiting.leave()
    assert server.admin.exists(lock_name) == 0


def test_a_redisson_peer_wakes_us(
    server: RedisServer, client: redlatch.Client, peer: RedissonShapedPeer, monitor: Monitor, lock_name: str
) -> None:
    peer.lock(lock_name)
    peer.lock(lock_name)
    mark = monitor.mark()
    waiting = Waiting(client.lock(lock_name))
    parked = wait_parked(server, monitor, lock_name, client, mark)
    assert peer.unlock(lock_name) is False
    assert sent_by(monitor.since(parked), server, client) == [], "a partial release tells nobody"
    released_at = time.monotonic()
    assert peer.unlock(lock_name) is True
    assert waiting.result() is True
    assert waiting.ended_at - released_at < SOON


def test_a_name_and_its_hash_tag_share_a_channel(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    names = [lock_name, f"{{{lock_name}}}"]
    assert channel(names[0]) == channel(names[1])
    waits = []
    for name in names:
        hold_as_redisson(server, name)
        mark = monitor.mark()
        waits.append(Waiting(client.lock(name)))
        if name == names[0]:
            wait_parked(server, monitor, name, client, mark)
        else:
            wait_until(lambda: client.stats()["waiters"] == 2, message="the second waiter to wait")
    for name, waiting in zip(names, waits):
        wait_until(lambda name=name: server.admin.hlen(name) == 1)
        released_at = release_as_redisson(server, name)
        assert waiting.result() is True
        assert waiting.ended_at - released_at < SOON
    assert subscribers(server, lock_name) == 1
    # The linger of one name ends while a waiter of the other name needs the shared channel.
    owner = hold_as_redisson(server, names[0])
    waiting = Waiting(client.lock(names[0]))
    wait_until(lambda: client.stats()["waiters"] == 1)
    time.sleep(3.5)  # the linger time of the other name
    assert subscribers(server, lock_name) == 1 and not waiting.done and owner
    release_as_redisson(server, names[0])
    assert waiting.result() is True
    assert waiting.ended_at - waiting.started_at < RECHECK


def test_without_the_message_the_ttl_wakes(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    made_at = time.monotonic()
    hold_as_redisson(server, lock_name, lease_ms=1_500)
    mark = monitor.mark()
    waiting = Waiting(client.lock(lock_name))
    parked = wait_parked(server, monitor, lock_name, client, mark)
    assert waiting.result() is True
    assert 1.49 < waiting.ended_at - made_at < 1.5 + SOON
    assert scripts(sent_by(monitor.since(parked), server, client)) == ["acquire", "release"]


def test_a_ttl_that_was_lengthened_is_waited_for_again(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    hold_as_redisson(server, lock_name, lease_ms=1_000)
    mark = monitor.mark()
    waiting = Waiting(client.lock(lock_name))
    parked = wait_parked(server, monitor, lock_name, client, mark)
    lengthened_at = time.monotonic()
    assert server.admin.pexpire(lock_name, 1_800) == 1
    assert waiting.result() is True
    assert 1.79 < waiting.ended_at - lengthened_at < 1.8 + SOON
    assert scripts(sent_by(monitor.since(parked), server, client)) == ["acquire", "acquire", "release"]


def test_without_either_a_recheck_every_5_seconds(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, stalls: Stalls, lock_name: str
) -> None:
    hold_as_redisson(server, lock_name, lease_ms=None)
    mark = monitor.mark()
    waiting = Waiting(client.lock(lock_name))
    parked = wait_parked(server, monitor, lock_name, client, mark)
    wait_until(lambda: scripts(monitor.since(parked)) == ["acquire"], RECHECK + SOON, "the first look")
    server.admin.delete(lock_name)
    deleted_at = time.monotonic()
    assert waiting.result() is True
    assert waiting.ended_at - deleted_at < stalls.widen(RECHECK + SOON)
    rechecks = [entry for entry in monitor.since(mark).top_level() if scripts([entry]) == ["acquire"]]
    first, *gaps = [later - earlier for earlier, later in zip(seconds(rechecks), seconds(rechecks)[1:])]
    assert first < SOON, "the one that follows the subscription"
    assert len(gaps) == 2 and 0.99 * RECHECK < min(gaps) <= max(gaps) < stalls.widen(RECHECK + SOON)


def test_a_release_before_the_subscription_is_not_missed(server: RedisServer, proxy: Proxy, lock_name: str) -> None:
    hold_as_redisson(server, lock_name)
    subscribing = proxy.hold("SUBSCRIBE")
    with redlatch.connect(proxy.url) as waiter:
        waiting = Waiting(waiter.lock(lock_name))
        subscribing.wait_hit()
        assert subscribers(server, lock_name) == 0
        released_at = release_as_redisson(server, lock_name)
        subscribing.release()
        assert waiting.result() is True
        assert waiting.ended_at - released_at < SOON


def test_a_new_subscription_is_followed_by_a_recheck(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    """The release is published while the subscriber's connection is cut, so no message arrives."""
    hold_as_redisson(server, lock_name)
    mark = monitor.mark()
    waiting = Waiting(client.lock(lock_name))
    wait_parked(server, monitor, lock_name, client, mark)
    (subscriber,) = [entry for entry in server.client_list("redlatch:") if entry["sub"] == "1"]
    admin: Any = server.admin
    with admin.pipeline(transaction=True) as transaction:
        transaction.execute_command("CLIENT", "KILL", "ID", subscriber["id"])
        transaction.delete(lock_name)
        transaction.publish(channel(lock_name), "0")
        killed, _, received = transaction.execute()
    assert (killed, received) == (1, 0)
    assert waiting.result() is True
    assert waiting.ended_at - waiting.started_at < RECHECK / 2
    assert client.stats()["reconnects"] == 1


def test_a_wait_of_500_ms_gives_up_in_time(
    server: RedisServer, monitor: Monitor, stalls: Stalls, lock_name: str
) -> None:
    owner = hold_as_redisson(server, lock_name)
    with redlatch.connect(server.url, tuning=redlatch.Tuning(linger=0.2)) as client:
        lock = client.lock(lock_name)

        def in_the_main_thread() -> float:  # which waits in bounded steps
            started_at = time.monotonic()
            assert lock.acquire(timeout=0.5) is False
            return time.monotonic() - started_at

        def in_another_thread() -> float:
            waiting = Waiting(lock, 0.5)
            assert waiting.result() is False
            return waiting.ended_at - waiting.started_at

        for waited in (in_the_main_thread, in_another_thread):
            assert any(0.5 <= waited() <= stalls.widen(0.55) for _ in range(3)), "once of three times nothing stalls"
        assert fields(server, lock_name) == {owner.encode(): b"1"}
        wait_until(lambda: subscribers(server, lock_name) == 0, SOON)
        mark = monitor.mark()
        assert release_as_redisson(server, lock_name)
        assert sent_by(monitor.since(mark), server, client) == [], "nobody waits any more"
        assert server.admin.dbsize() == 0
        assert client.stats()["waiters"] == client.stats()["held"] == 0


def test_a_try_asks_once(server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str) -> None:
    hold_as_redisson(server, lock_name)
    mark = monitor.mark()
    assert client.lock(lock_name).acquire(blocking=False) is False
    executed = sent_by(monitor.since(mark), server, client)
    assert scripts(executed) == ["acquire"] and len(executed) == 1


def test_an_acquire_waits_as_long_as_its_lock_says(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    hold_as_redisson(server, lock_name)
    mark = monitor.mark()
    assert client.lock(lock_name, timeout=0).acquire() is False
    assert len(sent_by(monitor.since(mark), server, client)) == 1, "it did not wait"
    assert client.lock(lock_name, timeout=0.2).acquire() is False
    assert client.lock(lock_name, timeout=1000).acquire(timeout=0) is False, "what the call says wins"
    assert client.lock(lock_name, timeout=1000).acquire(blocking=False) is False
    assert redlatch.multi_lock(client.lock(lock_name), timeout=0.2).acquire() is False


def test_a_with_that_gives_up_says_so(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    hold_as_redisson(server, lock_name)
    with pytest.raises(redlatch.LockTimeoutError) as raised, client.lock(lock_name, timeout=0.5):
        pytest.fail("the lock is held by another")
    assert raised.value.retryable and not raised.value.ambiguous
    assert raised.value.lock_name == lock_name

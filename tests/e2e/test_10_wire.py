# SPDX-License-Identifier: Apache-2.0
"""An uncontended lock on the server: one hash with one field, one script for each step, one message, no key left."""

from __future__ import annotations

from typing import Any, List

import pytest
import redlatch
from support import Entry, Monitor, NotHeld, RedisServer, RedissonShapedPeer, wait_until
from support.wire import SCRIPTS, channel, counts, fields, is_owner, load_scripts, remaining_ms, scripts, sent_by

# How long a test may take between asking for a lease and looking at its TTL, in milliseconds.
TIMEOUT_MS = 2_000


class Listener:
    """Receives the messages of a lock's channel with redis-py."""

    def __init__(self, server: RedisServer, name: str) -> None:
        connection: Any = server.client()
        self._subscription = connection.pubsub()
        self._subscription.subscribe(channel(name))
        assert self._next()["type"] == "subscribe"

    def _next(self) -> Any:
        return wait_until(lambda: self._subscription.get_message(timeout=0.1), message="a message of the subscription")

    def messages(self, server: RedisServer) -> List[bytes]:
        """Returns all messages so far. Publishes a message of its own to find their end."""
        mark = b"end of what the test published"
        server.admin.publish(next(iter(self._subscription.channels)), mark)
        received: List[bytes] = []
        while mark not in received:
            received.append(self._next()["data"])
        return received[:-1]


def touched(entries: List[Entry]) -> set[bytes]:
    """Returns the keys that scripts accessed."""
    return {entry.arguments[1] for entry in entries if entry.lua and entry.command != "PUBLISH"}


# ------------------------------------------------------------------------------------------------------------ keys --


@pytest.mark.parametrize("form", ["{}", "{{{}}}:tagged", "blank and \u00e4 {}"])
def test_two_nested_acquires_are_one_field(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str, form: str
) -> None:
    name = form.format(lock_name)
    listener = Listener(server, name)
    lock = client.lock(name)
    mark = monitor.mark()
    assert lock.acquire() and lock.acquire()
    (owner, count), *others = fields(server, name).items()
    assert is_owner(owner) and owner.decode().startswith(client.uuid + ":")
    assert (count, others) == (b"2", [])
    assert 30_000 - TIMEOUT_MS < remaining_ms(server, name) <= 30_000
    lock.release()
    assert fields(server, name) == {owner: b"1"}
    assert listener.messages(server) == []
    lock.release()
    assert server.admin.exists(name) == 0
    assert listener.messages(server) == [b"0"]
    assert touched(monitor.since(mark)) == {name.encode()}, "no other key was ever there"
    assert server.admin.dbsize() == 0


def test_a_fixed_lease_is_the_ttl(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    lock = client.lock(lock_name, lease=12)
    lock.acquire()
    assert 12_000 - TIMEOUT_MS < remaining_ms(server, lock_name) <= 12_000
    lock.acquire(lease=20)
    assert 20_000 - TIMEOUT_MS < remaining_ms(server, lock_name) <= 20_000
    lock.acquire(lease=5)
    assert 20_000 - TIMEOUT_MS < remaining_ms(server, lock_name) <= 20_000, "a re-entry never shortens"
    lock.release()
    lock.release()
    assert counts(server, lock_name) == [1]
    assert 20_000 - TIMEOUT_MS < remaining_ms(server, lock_name) <= 20_000, "nor does a partial release"
    lock.extend(3)
    assert 3_000 - TIMEOUT_MS < remaining_ms(server, lock_name) <= 3_000, "extend does"
    lock.release()
    assert server.admin.exists(lock_name) == 0


def test_the_watchdogs_lease_is_the_ttl(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url, watchdog_lease=7) as client:
        client.lock(lock_name).acquire()
        assert 7_000 - TIMEOUT_MS < remaining_ms(server, lock_name) <= 7_000


def test_every_hold_has_an_owner_id_of_its_own(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    owners = set()
    for _ in range(5):
        with client.lock(lock_name) as held:
            owners.add(held.owner.encode())
            assert set(fields(server, lock_name)) == {held.owner.encode()}
    assert len(owners) == 5


def test_a_prefix_is_part_of_the_name(server: RedisServer, lock_name: str) -> None:
    listener = Listener(server, "shop:" + lock_name)
    with redlatch.connect(server.url, name_prefix="shop:") as client, client.lock(lock_name):
        assert counts(server, "shop:" + lock_name) == [1]
    assert listener.messages(server) == [b"0"]


# --------------------------------------------------------------------------------------------------------- scripts --


def test_one_script_for_each_step(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    load_scripts(server)
    lock = client.lock(lock_name)
    mark = monitor.mark()
    for _ in range(3):
        lock.acquire()
        lock.release()
    executed = sent_by(monitor.since(mark), server, client)
    assert executed.commands() == ["EVALSHA"] * 6
    assert scripts(executed) == ["acquire", "release"] * 3


def test_a_script_is_sent_as_text_once(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    mark = monitor.mark()
    for _ in range(2):
        with client.lock(lock_name):
            pass
    executed = sent_by(monitor.since(mark), server, client)
    assert executed.commands() == ["EVALSHA", "EVAL", "EVALSHA", "EVAL", "EVALSHA", "EVALSHA"]
    texts = [entry.arguments[1] for entry in executed.by_command("EVAL")]
    assert texts == [SCRIPTS["acquire"].text, SCRIPTS["release"].text]
    assert client.stats()["script_loads"] == 2


def test_each_nested_acquire_is_one_script(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    load_scripts(server)
    lock = client.lock(lock_name)
    mark = monitor.mark()
    for step in (lock.acquire, lock.acquire, lock.release, lock.release):
        step()
    executed = sent_by(monitor.since(mark), server, client)
    assert scripts(executed) == ["acquire", "reenter", "release", "release"]
    assert len(executed) == 4
    assert client.stats()["subscriptions"] == 0, "nobody waited"


def test_reading_the_hold_status_sends_nothing(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    lock = client.lock(lock_name)
    with lock as held:
        mark = monitor.mark()
        assert lock.owned() and lock.hold_count() == held.count == 1 and not held.lost
        assert 28.0 < held.remaining() < 30.0
        assert sent_by(monitor.since(mark), server, client) == []


# ----------------------------------------------------------------------------------------------------------- peers --


def test_a_redisson_peer_respects_our_hold(
    server: RedisServer, client: redlatch.Client, peer: RedissonShapedPeer, lock_name: str
) -> None:
    with client.lock(lock_name) as held:
        assert not peer.try_lock(lock_name)
        assert peer.is_locked(lock_name) and peer.hold_count(lock_name) == 0
        with pytest.raises(NotHeld):
            peer.unlock(lock_name)
        assert fields(server, lock_name) == {held.owner.encode(): b"1"}
    assert peer.try_lock(lock_name)
    assert fields(server, lock_name) == {peer.owner().encode(): b"1"}


def test_we_respect_a_redisson_peers_hold(
    server: RedisServer, client: redlatch.Client, peer: RedissonShapedPeer, lock_name: str
) -> None:
    peer.lock(lock_name)
    peer.lock(lock_name)
    before = fields(server, lock_name)
    lock = client.lock(lock_name)
    assert lock.acquire(blocking=False) is False
    with pytest.raises(redlatch.NotOwnedError):
        lock.release()
    now = lock.state()
    assert (now.owner, now.locked, now.count) == (peer.owner(), True, 2) and 0.0 < now.ttl <= 30.0
    round_trips = client.stats()["round_trips"]
    assert lock.state().count == 2 and client.stats()["round_trips"] == round_trips + 1
    assert fields(server, lock_name) == before == {peer.owner().encode(): b"2"}


def test_a_redisson_waiter_is_woken_by_our_release(
    server: RedisServer, client: redlatch.Client, peer: RedissonShapedPeer, monitor: Monitor, lock_name: str
) -> None:
    with client.lock(lock_name):
        mark = monitor.mark()
        waiting = peer.start_lock(lock_name)
        wait_until(lambda: asks_again(monitor.top_level(mark).commands()), message="the peer to park")
        assert not waiting.done()
    waiting.result(5.0)  # the message wakes it, not the lease of 30 s
    assert peer.messages == [(channel(lock_name).encode(), b"0")]
    assert fields(server, lock_name) == {peer.owner().encode(): b"1"}


def asks_again(commands: List[str]) -> bool:
    """Returns whether a waiter has subscribed and then rechecked."""
    return "SUBSCRIBE" in commands and "EVALSHA" in commands[commands.index("SUBSCRIBE") :]


def test_force_release_frees_and_tells(
    server: RedisServer, client: redlatch.Client, peer: RedissonShapedPeer, lock_name: str
) -> None:
    listener = Listener(server, lock_name)
    peer.lock(lock_name)
    assert client.lock(lock_name).force_release() is True
    assert server.admin.exists(lock_name) == 0
    assert client.lock(lock_name).force_release() is False
    assert listener.messages(server) == [b"0"]

# SPDX-License-Identifier: Apache-2.0
"""The read-write lock on the server: fields, timeout keys, leases, messages, and calls that are refused."""

from __future__ import annotations

import gc
import threading
from typing import Any, List

import pytest
import redlatch
from steps import Call
from support import Monitor, RedisServer, wait_until
from support.read_write import (
    about,
    channel,
    levels,
    owner_of,
    peer_reads,
    peer_writes,
    sides,
    timeout_key,
    ttl_ms,
    wire,
)
from support.wire import load_scripts, scripts, sent_by
from waiters import SOON

FREE = redlatch.LockState(locked=False, ttl=0.0, owner=None, count=0, holders=0, waiters=0)


class Messages:
    """Receives the messages of a lock's channel."""

    def __init__(self, server: RedisServer, name: str) -> None:
        connection: Any = server.client()
        self._subscription = connection.pubsub()
        self._subscription.subscribe(channel(name))
        assert self._next()["type"] == "subscribe"

    def _next(self) -> Any:
        return wait_until(lambda: self._subscription.get_message(timeout=0.1), message="a message of the subscription")

    def take(self, server: RedisServer) -> List[bytes]:
        """Returns all messages since the last call. Publishes a message of its own to find their end."""
        server.admin.publish(next(iter(self._subscription.channels)), b"end")
        received: List[bytes] = []
        while b"end" not in received:
            received.append(self._next()["data"])
        return received[:-1]


# ------------------------------------------------------------------------------------------------------ each side --


@pytest.mark.parametrize("form", ["{}", "{{{}}}:tagged", "blank and \u00e4 {}"])
def test_each_nested_acquire_of_a_reader_has_a_timeout_key(
    server: RedisServer, client: redlatch.Client, lock_name: str, form: str
) -> None:
    name = form.format(lock_name)
    messages = Messages(server, name)
    read, _ = sides(client, name)
    with read:
        owner = owner_of(read)
        assert wire(server, name) == {"mode": "read", owner: "1"} and about(ttl_ms(server, name), 30_000)
        with read:
            assert wire(server, name) == {"mode": "read", owner: "2"}
            assert len(levels(server, name, owner)) == 2
        assert wire(server, name) == {"mode": "read", owner: "1"}
        assert len(levels(server, name, owner)) == 1 and messages.take(server) == []
    assert server.admin.keys() == [] and messages.take(server) == [b"0"]


@pytest.mark.parametrize("form", ["{}", "{{{}}}:tagged"])
def test_a_writer_is_one_field(server: RedisServer, client: redlatch.Client, lock_name: str, form: str) -> None:
    name = form.format(lock_name)
    messages = Messages(server, name)
    _, write = sides(client, name)
    with write:
        owner = owner_of(write)
        assert wire(server, name) == {"mode": "write", f"{owner}:write": "1"}
        with write:
            assert wire(server, name) == {"mode": "write", f"{owner}:write": "2"}
            assert about(ttl_ms(server, name), 30_000)  # W-13: Redisson adds up the leases
        assert wire(server, name) == {"mode": "write", f"{owner}:write": "1"} and messages.take(server) == []
    assert server.admin.keys() == [] and messages.take(server) == [b"1"]


def test_a_binary_name(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    name = b"\x00\xff\r\n" + lock_name.encode()
    both = client.read_write_lock(name)
    with both.write, both.read:
        keys: Any = server.admin.keys()
        assert sorted(key[:3] for key in keys) == [b"\x00\xff\r", b"{\x00\xff"]
    assert server.admin.keys() == []


def test_a_nested_acquire_costs_one_script(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    load_scripts(server)
    read, write = sides(client, lock_name)
    mark = monitor.mark()
    with read, read:
        pass
    with write, write, read:
        pass
    assert scripts(sent_by(monitor.since(mark), server, client)) == [
        "acquire_read", "reenter_read", "release_read", "release_read",
        "acquire_write", "reenter", "acquire_read", "release_read", "release_write", "release_write",
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------------- one owner, both --


def test_a_writer_reads_and_goes_on_reading(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, lock_name: str
) -> None:
    messages = Messages(server, lock_name)
    read, write = sides(client, lock_name)
    theirs = other.read_write_lock(lock_name)
    assert write.acquire() and read.acquire()
    assert owner_of(read) != owner_of(write)
    assert wire(server, lock_name) == {"mode": "write", f"{owner_of(write)}:write": "1", owner_of(read): "1"}
    assert read.hold_count() == write.hold_count() == 1
    assert not theirs.read.acquire(blocking=False) and not theirs.write.acquire(blocking=False)
    write.release()
    assert wire(server, lock_name) == {"mode": "read", owner_of(read): "1"}
    assert messages.take(server) == [b"1"]  # W-11: Redisson publishes nothing
    assert not theirs.write.acquire(blocking=False) and theirs.read.acquire(blocking=False)
    theirs.read.release()
    read.release()
    assert server.admin.keys() == [] and messages.take(server) == [b"0"]


def test_a_writer_who_stops_reading_goes_on_writing(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    messages = Messages(server, lock_name)
    read, write = sides(client, lock_name)
    assert write.acquire(lease=60) and read.acquire(lease=5)
    assert about(ttl_ms(server, lock_name), 60_000)
    read.release()
    assert about(ttl_ms(server, lock_name), 60_000) and messages.take(server) == []  # W-12: Redisson sets 5 s
    assert server.admin.keys() == [lock_name.encode()]
    assert write.acquire(lease=5)
    write.release()
    assert about(ttl_ms(server, lock_name), 60_000)
    write.release()


def test_a_downgrade_leaves_the_lease_of_the_reads(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    read, write = sides(client, lock_name)
    assert write.acquire(lease=60) and read.acquire(lease=20)
    write.release()
    assert about(ttl_ms(server, lock_name), 20_000)
    read.release()
    assert write.acquire(lease=20) and read.acquire(lease=60)
    write.release()
    assert about(ttl_ms(server, lock_name), 60_000)
    read.release()


def test_a_reader_who_would_write_is_refused_at_once(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    read, write = sides(client, lock_name)
    theirs = other.read_write_lock(lock_name)
    with read:
        mark = monitor.mark()
        for blocking in (True, False):
            with pytest.raises(redlatch.WouldDeadlockError) as caught:
                write.acquire(blocking=blocking)
            assert caught.value.status_name == "would_deadlock" and caught.value.lock_name == lock_name
        with theirs.read, pytest.raises(redlatch.WouldDeadlockError):
            write.acquire()
        assert scripts(sent_by(monitor.since(mark), server, client)) == ["reenter_read"] * 3  # checks of the read hold
    with write, read, write:  # a writer re-enters
        assert write.hold_count() == 2
    assert server.admin.keys() == []


def test_a_lost_reader_gets_lost_when_it_requests_to_write(
    client: redlatch.Client, other: redlatch.Client, lock_name: str
) -> None:
    read, write = sides(client, lock_name)
    read.acquire()
    assert other.read_write_lock(lock_name).read.force_release()
    for _ in range(2):
        with pytest.raises(redlatch.LockLostError):
            write.acquire(timeout=5)
    with pytest.raises(redlatch.LockLostError):
        read.release()
    with write:
        pass



def test_another_thread_is_another_owner(client: redlatch.Client, lock_name: str) -> None:
    read, write = sides(client, lock_name)
    with write:
        assert Call(lambda: read.acquire(blocking=False)).result() is False
        assert Call(lambda: write.acquire(blocking=False)).result() is False
        with pytest.raises(redlatch.NotOwnedError):
            Call(write.release).result()
    with pytest.raises(redlatch.NotOwnedError):
        read.release()


def test_the_object_may_be_the_owner_of_both_modes(client: redlatch.Client, lock_name: str) -> None:
    catalogue = client.read_write_lock(lock_name, owner="handle")
    twin = client.read_write_lock(lock_name, owner="handle")
    with catalogue.write:
        assert Call(catalogue.read.acquire).result(SOON) is True, "another thread of the same owner reads on"
        assert not twin.read.acquire(blocking=False) and not twin.write.acquire(blocking=False)
    assert twin.read.acquire(blocking=False), "a reader is left"
    assert isinstance(Call(catalogue.write.acquire).error(), redlatch.WouldDeadlockError)
    Call(catalogue.read.release).result(SOON)
    twin.read.release()
    assert catalogue.write.acquire(blocking=False)
    del catalogue
    gc.collect()  # the error above had a reference, too; the handle's hold is released in the background
    with client.read_write_lock(lock_name, timeout=SOON).write:
        pass
    with pytest.raises(redlatch.InvalidArgumentError, match="owner is 'process'; expected 'thread' or 'handle'"):
        client.read_write_lock(lock_name, owner="process")  # type: ignore[arg-type]


def test_not_reentrant(client: redlatch.Client, lock_name: str) -> None:
    both = client.read_write_lock(lock_name, reentrant=False)
    with both.write, both.read:
        for side in (both.write, both.read):
            with pytest.raises(redlatch.AlreadyHeldError):
                side.acquire()


# --------------------------------------------------------------------------------------------------------- leases --


def test_the_lock_ends_with_the_longest_lease(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, lock_name: str
) -> None:
    read, _ = sides(client, lock_name)
    theirs, _ = sides(other, lock_name)
    assert read.acquire(lease=10) and theirs.acquire(lease=60)
    assert about(ttl_ms(server, lock_name), 60_000)
    theirs.release()
    assert about(ttl_ms(server, lock_name), 10_000)
    assert theirs.acquire(lease=5)
    theirs.release()
    assert about(ttl_ms(server, lock_name), 10_000)
    read.release()


def test_a_partial_release_keeps_the_longest_lease(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    read, _ = sides(client, lock_name)
    assert read.acquire(lease=10) and read.acquire(lease=60)
    low, high = levels(server, lock_name, owner_of(read))
    assert about(low, 10_000) and about(high, 60_000)
    read.release()
    assert about(levels(server, lock_name, owner_of(read))[0], 60_000)
    read.release()


def test_extend_sets_every_nested_acquire_and_spares_others(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, lock_name: str
) -> None:
    read, write = sides(client, lock_name)
    theirs, _ = sides(other, lock_name)
    assert read.acquire(lease=10) and read.acquire(lease=60)
    read.extend(5)
    assert all(about(left, 5_000) for left in levels(server, lock_name, owner_of(read)))
    assert about(ttl_ms(server, lock_name), 5_000)
    assert theirs.acquire(lease=20)
    read.extend(60)
    assert about(ttl_ms(server, lock_name), 60_000)
    read.extend(5)
    assert about(ttl_ms(server, lock_name), 20_000)
    theirs.release()
    read.release()
    read.release()
    assert write.acquire(lease=60) and read.acquire(lease=20)
    write.extend(5)
    assert about(ttl_ms(server, lock_name), 20_000)
    read.release()
    write.release()


def test_renewal_reaches_every_nested_acquire_and_the_lock(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url, watchdog_lease=1.5) as client:
        read, write = sides(client, lock_name)
        with write, read, read:
            owner = owner_of(read)
            before = client.stats()["renewals"]
            wait_until(lambda: client.stats()["renewals"] >= before + 4, 10.0)
            assert len(levels(server, lock_name, owner)) == 2 and owner_of(write) != owner
            assert write.hold_count() == 1 and read.hold_count() == 2
        with read:
            server.admin.delete(timeout_key(lock_name, owner_of(read), 1))
            wait_until(lambda: read.hold_count() == 0, 5.0)  # its lease has ended, but the hash is there
            assert "mode" in wire(server, lock_name)
            with pytest.raises(redlatch.LockLostError):
                read.release()
            assert read.acquire()


# --------------------------------------------------------------------------------------------- dead readers (W-14) --


def test_any_number_of_nested_acquires_costs_the_server_little(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    read, _ = sides(client, lock_name)
    assert read.acquire(lease=10)
    owner = owner_of(read)
    server.admin.hset(lock_name, owner, "1000000000000000000")  # a value that a foreign client may write
    server.admin.set(timeout_key(lock_name, owner, 1000), "1", px=10_000)
    read.extend(20)
    assert read.acquire(lease=30) and about(ttl_ms(server, lock_name), 30_000)
    assert about(server.admin.pttl(timeout_key(lock_name, owner, 1)), 20_000)
    server.admin.hset(lock_name, owner, "1000000000000000000")
    read.release()
    read.release()
    assert server.admin.keys() == []


def test_a_lease_of_a_nested_acquire_beyond_the_thousandth_holds(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    read, _ = sides(client, lock_name)
    for _ in range(1000):
        assert read.acquire(lease=30)
    assert read.acquire(lease=60)
    found = levels(server, lock_name, owner_of(read))
    assert len(found) == 1000 and about(found[-1], 60_000) and about(ttl_ms(server, lock_name), 60_000)
    for _ in range(1001):
        read.release()
    assert server.admin.keys() == []


def test_the_last_reader_that_lives_takes_the_dead_along(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    messages = Messages(server, lock_name)
    read, _ = sides(client, lock_name)
    peer_reads(server, lock_name, 7, None, 30_000)
    assert read.acquire(lease=30)
    read.release()
    assert server.admin.keys() == [] and messages.take(server) == [b"0"]


def test_a_lock_that_was_extended_alone_is_waited_for(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    read, write = sides(client, lock_name)
    dead = peer_reads(server, lock_name, 7, None, 60_000)  # Redisson's multi lock extends only the lock itself
    assert read.acquire(lease=30)
    read.release()
    assert wire(server, lock_name) == {"mode": "read", dead: "1"} and about(ttl_ms(server, lock_name), 60_000)
    assert not write.acquire(blocking=False)
    assert wire(server, lock_name) == {"mode": "read", dead: "1"}


def test_a_writer_strikes_the_dead_out_while_another_reads(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    _, write = sides(client, lock_name)
    peer_reads(server, lock_name, 7, None, 30_000)
    alive = peer_reads(server, lock_name, 8, 30_000, 30_000)
    assert not write.acquire(blocking=False)
    assert wire(server, lock_name) == {"mode": "read", alive: "1"}
    extended = peer_reads(server, lock_name, 9, None, 40_000)
    assert not write.acquire(blocking=False)
    assert extended in wire(server, lock_name)


@pytest.mark.parametrize(("extended", "waited_for"), [(900, False), (1500, True)])
def test_a_second_tells_a_lock_that_was_extended_alone(
    server: RedisServer, client: redlatch.Client, lock_name: str, extended: int, waited_for: bool
) -> None:
    """`extended`: by how many ms the lock lasts longer than the longest lease of its live readers. The reader that
    releases counts as live."""
    read, write = sides(client, lock_name)
    dead = peer_reads(server, lock_name, 1, None, 60_000)
    assert read.acquire(lease=60)
    with server.admin.pipeline(transaction=True) as at_once:
        at_once.pexpire(timeout_key(lock_name, owner_of(read), 1), 60_000)
        at_once.pexpire(lock_name, 60_000 + extended)
        at_once.execute()
    read.release()
    assert (dead in wire(server, lock_name)) is waited_for
    server.admin.delete(lock_name)
    dead = peer_reads(server, lock_name, 1, None, 60_000)
    alive = peer_reads(server, lock_name, 2, 60_000, 60_000 + extended)
    assert not write.acquire(blocking=False)
    assert (dead in wire(server, lock_name)) is waited_for and alive in wire(server, lock_name)


def test_a_release_checks_few_readers_and_spares_the_living(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    """The youngest live reader has the lock's lease. Dead readers are found among the oldest, or behind that one."""
    read, _ = sides(client, lock_name)
    peer_reads(server, lock_name, 1, None, 1_000)
    living = {peer_reads(server, lock_name, number, 20_000, 20_000): "1" for number in range(2, 66)}
    peer_reads(server, lock_name, 99, None, 20_000)
    assert read.acquire(lease=20)
    server.admin.config_resetstat()
    read.release()
    assert wire(server, lock_name) == {"mode": "read", **living} and about(ttl_ms(server, lock_name), 20_000)
    assert server.commandstats()["pttl"] < 10
    youngest = next(reversed(living))
    server.admin.hdel(lock_name, youngest)
    for owner in living:
        server.admin.pexpire(f"{{{lock_name}}}:{owner}:rwlock_timeout:1", 10_000)
    assert read.acquire(lease=20)
    read.release()
    assert about(ttl_ms(server, lock_name), 10_000)


def test_the_last_release_frees_a_lock_without_a_lease(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    messages = Messages(server, lock_name)
    read, _ = sides(client, lock_name)
    assert read.acquire(lease=30)
    server.admin.persist(lock_name)
    read.release()
    assert server.admin.keys() == [] and messages.take(server) == [b"0"]


def test_readers_with_leases_that_end_let_the_writer_in(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    _, write = sides(client, lock_name)
    peer_reads(server, lock_name, 7, 300, 300)
    peer_reads(server, lock_name, 8, 700, 700)
    assert write.acquire(timeout=5)
    write.release()


# ----------------------------------------------------------------------------------------------- questions, force --


def test_questions(server: RedisServer, client: redlatch.Client, other: redlatch.Client, lock_name: str) -> None:
    read, write = sides(client, lock_name)
    theirs, _ = sides(other, lock_name)
    assert read.state() == write.state() == FREE
    with read, read, theirs:
        now = read.state()
        assert now.locked and now.holders == 2 and 25 < now.ttl <= 30 and write.state() == FREE
        assert read.hold_count() == 2 and write.hold_count() == 0
        assert now.owner in wire(server, lock_name)
    with write:
        now = write.state()
        assert now.locked and now.owner == owner_of(write) and now.holders == 1 and read.state() == FREE
        with read:
            now = read.state()
            assert write.state().locked and now.locked and now.holders == 1 and now.owner == owner_of(read)


def test_force_release_of_a_mode_spares_the_other(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, lock_name: str
) -> None:
    messages = Messages(server, lock_name)
    read, write = sides(client, lock_name)
    theirs = other.read_write_lock(lock_name)
    assert not theirs.read.force_release() and not theirs.write.force_release()
    assert read.acquire()
    assert not theirs.write.force_release() and read.state().locked
    assert theirs.read.force_release() and not read.state().locked and messages.take(server) == [b"0"]
    with pytest.raises(redlatch.LockLostError):
        read.release()
    assert write.acquire()
    assert not theirs.read.force_release() and write.state().locked
    assert theirs.write.force_release() and not write.state().locked and messages.take(server) == [b"1"]
    with pytest.raises(redlatch.LockLostError):
        write.release()


def test_a_reader_made_by_a_peer_excludes_writers_only(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    read, write = sides(client, lock_name)
    peer = peer_reads(server, lock_name, 7, 30_000, 30_000)
    assert not write.acquire(blocking=False)
    with read:
        assert read.state().holders == 2
    assert wire(server, lock_name) == {"mode": "read", peer: "1"}
    server.admin.delete(lock_name)
    peer_writes(server, lock_name, 30_000)
    assert not write.acquire(blocking=False) and not read.acquire(blocking=False)


@pytest.mark.parametrize("shape", ["string", "list", "mutex", "other mode"])
def test_what_is_no_read_write_lock_is_left_as_it_is(
    server: RedisServer, client: redlatch.Client, lock_name: str, shape: str
) -> None:
    if shape == "string":
        server.admin.set(lock_name, "text", px=60_000)
    elif shape == "list":
        server.admin.rpush(lock_name, "element")
    else:
        fields = {"mutex": {"someone:1": "1"}, "other mode": {"mode": "x", "someone:1": "1"}}[shape]
        server.admin.hset(lock_name, mapping=fields)
    server.admin.pexpire(lock_name, 60_000)
    before = server.admin.dump(lock_name)
    read, write = sides(client, lock_name)
    for side in (read, write):
        for call in (side.acquire, side.force_release, side.state):
            with pytest.raises(redlatch.ServerError) as caught:
                call()
            assert caught.value.status_name == "wrong_type"
    assert server.admin.dump(lock_name) == before and server.admin.keys() == [lock_name.encode()]


def test_a_thread_that_ends_leaves_both_modes_to_run_out(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url, watchdog_lease=0.5) as client:
        read, write = sides(client, lock_name)
        thread = threading.Thread(target=lambda: (write.acquire(), read.acquire()))
        thread.start()
        thread.join()
        assert write.acquire(timeout=5)
        write.release()


def test_closing_releases_both_modes(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url) as client:
        read, write = sides(client, lock_name)
        assert write.acquire() and read.acquire()
    assert server.admin.keys() == []

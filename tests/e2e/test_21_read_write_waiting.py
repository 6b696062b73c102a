# SPDX-License-Identifier: Apache-2.0
"""Waiting for a read-write lock: readers are granted together, writers alone, in order of arrival in one process."""

from __future__ import annotations

import threading
import time
from typing import Iterator, List

import pytest
import redlatch
from steps import Call
from support import Monitor, RedisServer, wait_until
from support.read_write import channel, owner_of, peer_reads, peer_writes, sides, wire
from support.wire import load_scripts, scripts, sent_by
from waiters import SOON, Waiting

TIMEOUT = 1.5  # seconds until a waiting writer gives up


@pytest.fixture
def client(server: RedisServer) -> Iterator[redlatch.Client]:
    """The client whose threads wait."""
    load_scripts(server)
    with redlatch.connect(server.url) as opened:
        yield opened


def parked(client: redlatch.Client, server: RedisServer, name: str, waiters: int) -> None:
    """Wait until so many calls wait, the client is subscribed, and no command is in flight."""
    wait_until(lambda: client.stats()["waiters"] == waiters and server.admin.pubsub_numsub(channel(name))[0][1] > 0)
    wait_until(lambda: client.stats()["subscriptions"] > 0)
    before = -1
    while (now := client.stats())["scripts"] != before or now["round_trips"] != before:
        before = now["scripts"]
        time.sleep(0.05)


def executed(monitor: Monitor, server: RedisServer, client: redlatch.Client, mark: int, count: int) -> List[str]:
    """Waits until the client has sent `count` scripts since the mark. Returns the scripts."""
    return wait_until(lambda: (sent := scripts(sent_by(monitor.since(mark), server, client)))[count - 1 :] and sent)


def test_readers_go_together_when_the_writer_ends(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, lock_name: str
) -> None:
    read, _ = sides(client, lock_name)
    _, theirs = sides(other, lock_name)
    assert theirs.acquire()
    inside = threading.Barrier(20)
    waiters = [Waiting(read, before_release=inside.wait) for _ in range(20)]
    parked(client, server, lock_name, 20)
    theirs.release()
    for waiter in waiters:  # each releases only when all hold the lock
        assert waiter.result(SOON * 2) is True
    assert server.admin.keys() == []


def test_readers_that_wait_are_notified_by_one_message_each_of_its_kind(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    read, _ = sides(client, lock_name)
    peer_writes(server, lock_name, 30_000)
    waiters = [Waiting(read, keep=True) for _ in range(3)]
    parked(client, server, lock_name, 3)
    mark = monitor.mark()
    server.admin.publish(channel(lock_name), "0")  # for the foremost alone
    executed(monitor, server, client, mark, 1)
    parked(client, server, lock_name, 3)
    assert executed(monitor, server, client, mark, 1) == ["acquire_read"]
    mark = monitor.mark()
    server.admin.publish(channel(lock_name), "1")  # for all
    executed(monitor, server, client, mark, 3)
    parked(client, server, lock_name, 3)
    assert executed(monitor, server, client, mark, 3) == ["acquire_read"] * 3
    server.admin.delete(lock_name)
    server.admin.publish(channel(lock_name), "0")  # after the grant of the foremost the others follow
    for waiter in waiters:
        assert waiter.result(SOON * 2) is True
        waiter.leave()


def test_a_writer_who_waits_holds_back_later_readers_of_its_process(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, lock_name: str
) -> None:
    read, write = sides(client, lock_name)
    theirs, _ = sides(other, lock_name)
    assert read.acquire()
    writer = Waiting(write, keep=True)
    parked(client, server, lock_name, 1)
    later = Waiting(read, keep=True)
    parked(client, server, lock_name, 2)
    assert not later.done and Call(lambda: read.acquire(blocking=False)).result() is False
    assert theirs.acquire(blocking=False)  # the format does not record waiting writers
    theirs.release()
    assert read.acquire(blocking=False)  # a nested acquire never queues
    read.release()
    read.release()
    assert writer.result(SOON * 2) is True and not later.done
    writer.leave()
    assert later.result(SOON * 2) is True
    later.leave()
    assert server.admin.keys() == []


def test_a_writer_who_gives_up_lets_the_held_back_readers_go(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    read, write = sides(client, lock_name)
    peer_reads(server, lock_name, 7, 30_000, 30_000)
    writer = Waiting(write, TIMEOUT)
    parked(client, server, lock_name, 1)
    readers = [Waiting(read, keep=True) for _ in range(3)]
    parked(client, server, lock_name, 4)
    assert not any(reader.done for reader in readers)
    assert writer.result() is False
    for reader in readers:
        # Two threads that end at once may read their clocks in any order, so the writer's deadline is compared.
        assert reader.result(SOON * 2) is True and reader.ended_at >= writer.started_at + TIMEOUT
        reader.leave()


def test_a_downgrade_lets_waiting_readers_in(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, lock_name: str
) -> None:
    ours, _ = sides(client, lock_name)
    read, write = sides(other, lock_name)
    assert write.acquire() and read.acquire()
    waiters = [Waiting(ours, keep=True), Waiting(ours, keep=True)]
    parked(client, server, lock_name, 2)
    write.release()
    for waiter in waiters:
        assert waiter.result(SOON) is True
    assert len(wire(server, lock_name)) == 4
    for waiter in waiters:
        waiter.leave()
    read.release()


def test_a_writer_who_reads_does_not_queue(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    read, write = sides(client, lock_name)
    assert write.acquire()
    waiters = [Waiting(write, keep=True)]
    parked(client, server, lock_name, 1)
    waiters.append(Waiting(read, keep=True))
    parked(client, server, lock_name, 2)
    assert read.acquire(timeout=SOON) and read.acquire(timeout=SOON)
    write.release()  # its read hold stays: nobody may write
    assert wire(server, lock_name) == {"mode": "read", owner_of(read): "2"}
    time.sleep(0.2)
    assert not any(waiter.done for waiter in waiters)  # the reader is queued behind the writer
    read.release()
    read.release()
    assert waiters[0].result(SOON) is True and not waiters[1].done
    waiters[0].leave()
    assert waiters[1].result(SOON) is True
    waiters[1].leave()
    assert server.admin.keys() == []


def test_writers_hand_over_inside_the_process(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    read, write = sides(client, lock_name)
    assert write.acquire()
    order: List[int] = []
    writers = []
    for number in range(3):
        writers.append(Waiting(write, before_release=lambda number=number: order.append(number)))
        parked(client, server, lock_name, number + 1)
    reader = Waiting(read)
    parked(client, server, lock_name, 4)
    mark = monitor.mark()
    write.release()
    for writer in writers:
        assert writer.result() is True
    assert reader.result() is True and order == [0, 1, 2]
    sent = scripts(sent_by(monitor.since(mark), server, client))
    # After 10 ms of hand-overs in a row the lock is released on the server, and the foremost waiter acquires it.
    ends = [name for name in sent if name in {"hand_over_write", "release_write"}]
    assert ends[0] == "hand_over_write" and len(ends) == 4
    assert client.stats()["hand_overs"] == ends.count("hand_over_write") and server.admin.keys() == []


def test_a_waiter_does_not_ask_until_it_is_notified(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    read, write = sides(client, lock_name)
    theirs = other.read_write_lock(lock_name)
    for holder, side in ((theirs.write, read), (theirs.write, write), (theirs.read, write)):
        assert holder.acquire()
        waiter = Waiting(side)
        parked(client, server, lock_name, 1)
        mark = monitor.mark()
        time.sleep(0.3)
        assert scripts(sent_by(monitor.since(mark), server, client)) == []
        started = time.monotonic()
        holder.release()
        assert waiter.result(SOON) is True and waiter.ended_at - started < SOON


def test_a_wait_that_times_out_leaves_nothing(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    read, write = sides(client, lock_name)
    peer_writes(server, lock_name, 30_000)
    before = wire(server, lock_name)
    for side in (read, write):
        assert not side.acquire(timeout=0.5)
    assert wire(server, lock_name) == before and client.stats()["waiters"] == 0


def test_writers_and_readers_of_many_threads_exclude_each_other(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, lock_name: str
) -> None:
    inside = {"read": 0, "write": 0}
    wrong: List[str] = []
    guard = threading.Lock()

    def work(which: redlatch.Client, turns: int, writes: bool) -> None:
        read, write = sides(which, lock_name)
        for _ in range(turns):
            with write if writes else read:
                with guard:
                    inside["write" if writes else "read"] += 1
                    if inside["write"] > 1 or (inside["write"] and inside["read"]):
                        wrong.append(str(inside))
                time.sleep(0.0005)
                with guard:
                    inside["write" if writes else "read"] -= 1

    calls = [Call(lambda w=w, k=k: work(w, 40, k % 3 == 0)) for w in (client, other) for k in range(8)]
    for call in calls:
        call.result(60)
    assert not wrong and server.admin.keys() == []

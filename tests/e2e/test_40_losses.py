# SPDX-License-Identifier: Apache-2.0
"""A loss is reported by the hold's deadline at the latest, and no other owner's hold is touched."""

from __future__ import annotations

import signal
import threading
import time
from functools import partial
from typing import Any, Callable, Iterator, Optional

import pytest
import redlatch
from children import ChildProcess
from stalls import Stalls, hold_the_gil
from support import RedisServer, RedissonShapedPeer, wait_until
from support.wire import fields
from waiters import Waiting, hold_as_redisson

# The longest time from an event until the thread that waits for it runs.
WAKE = 0.3
LEASE = 1.5


@pytest.fixture
def client(server: RedisServer) -> Iterator[redlatch.Client]:
    """A client with a short watchdog lease."""
    with redlatch.connect(server.url, watchdog_lease=LEASE) as opened:
        yield opened


@pytest.fixture
def stalls() -> Iterator[Stalls]:
    """Measures the machine's stalls during the test."""
    with Stalls() as measuring:
        yield measuring


# ------------------------------------------------------------------------------------------ processes end and pause --


def test_the_lock_of_a_killed_process_is_free_when_its_lease_is_over(
    server: RedisServer, client: redlatch.Client, stalls: Stalls, lock_name: str
) -> None:
    with ChildProcess(server.url, lock_name, watchdog_lease=LEASE) as child:
        owner = child.call("acquire")
        waiting = Waiting(client.lock(lock_name), keep=True)
        time.sleep(LEASE)  # renewals prolong the lease
        assert not waiting.done and fields(server, lock_name) == {owner.encode(): b"1"}
        killed_at = child.signal(signal.SIGKILL)
        assert waiting.result() is True
        assert 0 < waiting.ended_at - killed_at < stalls.widen(LEASE + WAKE)
        waiting.leave()


@pytest.mark.parametrize(
    ("first_call", "answer"), [("lost", True), ("remaining", 0.0), ("release", "lost"), ("reenter", "lost")]
)
def test_a_stopped_process_learns_it_in_its_first_call(
    server: RedisServer, client: redlatch.Client, stalls: Stalls, lock_name: str, first_call: str, answer: object
) -> None:
    with ChildProcess(server.url, lock_name, watchdog_lease=LEASE) as child:
        child.call("acquire")
        waiting = Waiting(client.lock(lock_name, owner="handle"), keep=True)
        stopped_at = child.signal(signal.SIGSTOP)
        assert waiting.result() is True
        assert waiting.ended_at - stopped_at < stalls.widen(LEASE + WAKE)
        ours = fields(server, lock_name)
        child.send(first_call)
        continued_at = child.signal(signal.SIGCONT)
        assert child.result() == answer
        assert child.event()["at"] - continued_at < stalls.widen(WAKE)
        if first_call != "release":
            assert child.call("release") == "lost"
        assert child.call("release") == "not_owned"
        assert fields(server, lock_name) == ours and len(ours) == 1
        waiting.leave()
        assert fields(server, lock_name) == {}


# ------------------------------------------------------------------------------------------------ the server forgets --


def flush(server: RedisServer, name: str) -> None:
    """All keys are deleted."""
    server.admin.flushall()


def delete(server: RedisServer, name: str) -> None:
    """The key is deleted."""
    assert server.admin.delete(name) == 1


def restart(server: RedisServer, name: str) -> None:
    """The server restarts without its data."""
    server.restart(kill=True)


def steal(server: RedisServer, name: str) -> None:
    """Another owner's field replaces ours."""
    server.admin.delete(name)
    hold_as_redisson(server, name)


LOSSES = [flush, delete, restart, steal]


@pytest.mark.parametrize("lease", [None, LEASE], ids=["renewed", "fixed"])
@pytest.mark.parametrize("lose", LOSSES)
def test_the_holder_learns_it_by_its_deadline(
    server: RedisServer,
    client: redlatch.Client,
    stalls: Stalls,
    lock_name: str,
    lose: Callable[[RedisServer, str], None],
    lease: Optional[float],
) -> None:
    lock = client.lock(lock_name, lease=lease)
    lock.acquire()
    hold = lock.held()
    assert hold is not None
    event = hold.lost_event
    deadline = hold.remaining() + time.monotonic()
    lose(server, lock_name)
    if lose is not steal:
        hold_as_redisson(server, lock_name)
    others = fields(server, lock_name)
    assert event.wait(2 * LEASE)
    assert time.monotonic() < stalls.widen(deadline + WAKE)
    assert hold.lost and hold.count == 0 and hold.remaining() == 0.0
    assert not lock.owned()
    with pytest.raises(redlatch.LockLostError) as raised:
        lock.release()
    assert raised.value.lock_name == lock_name
    assert fields(server, lock_name) == others, "the other one's hold is as it was"
    assert client.stats()["lost"] == 1


@pytest.mark.parametrize("lose", [flush, delete, steal])
def test_release_says_it_before_anybody_knew(
    server: RedisServer, client: redlatch.Client, lock_name: str, lose: Callable[[RedisServer, str], None]
) -> None:
    lock = client.lock(lock_name, lease=30)
    with pytest.raises(redlatch.LockLostError):
        with lock as hold:
            lose(server, lock_name)
            others = fields(server, lock_name)
    assert hold.lost
    assert fields(server, lock_name) == others


def test_a_re_entry_finds_it_out_and_creates_nothing(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    lock = client.lock(lock_name, lease=30)
    lock.acquire()
    lock.acquire()
    delete(server, lock_name)
    with pytest.raises(redlatch.LockLostError):
        lock.acquire()
    assert fields(server, lock_name) == {}
    for _ in range(2):
        with pytest.raises(redlatch.LockLostError):
            lock.release()
    with pytest.raises(redlatch.NotOwnedError):
        lock.release()
    lock.acquire()
    lock.release()


def test_a_lost_lock_can_be_taken_by_another_thread_at_once(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    """The old owner has not noticed the loss. Its release does no harm to the new hold in the same process."""
    lock = client.lock(lock_name, lease=30)
    lock.acquire()
    delete(server, lock_name)
    other = Waiting(client.lock(lock_name), keep=True)
    assert other.result() is True
    before = fields(server, lock_name)
    with pytest.raises(redlatch.LockLostError):
        lock.release()
    assert fields(server, lock_name) == before
    other.leave()


def test_a_late_release_of_a_fixed_lease_is_lost(
    server: RedisServer, client: redlatch.Client, peer: RedissonShapedPeer, lock_name: str
) -> None:
    lock = client.lock(lock_name, lease=0.6)
    lock.acquire()
    hold = lock.held()
    assert hold is not None
    peer.lock(lock_name)
    assert hold.lost
    with pytest.raises(redlatch.LockLostError):
        lock.release()
    assert fields(server, lock_name) == {peer.owner().encode(): b"1"}


def test_what_is_lost_while_the_watching_thread_starts_is_reported(
    server: RedisServer, client: redlatch.Client, lock_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_start = threading.Event()
    watch = redlatch.losses._watch

    def watch_late(*arguments: Any) -> None:
        may_start.wait(30)
        watch(*arguments)

    monkeypatch.setattr(redlatch.losses, "_watch", watch_late)
    lock = client.lock(lock_name, lease=0.3)
    assert lock.acquire()
    hold = lock.held()
    assert hold is not None
    lost = hold.lost_event
    wait_until(lambda: client.stats()["lost"] == 1, message="the lease to be over")
    assert not lost.is_set()
    may_start.set()
    assert lost.wait(10)
    with pytest.raises(redlatch.LockLostError):
        lock.release()


def test_what_was_released_inside_a_with_is_not_released_again(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    lock = client.lock(lock_name)
    with lock as hold:
        hold.release()
        assert not fields(server, lock_name)
    with lock:
        with lock as inner:
            inner.release()
            assert lock.hold_count() == 1
        assert lock.hold_count() == 1, "the level of the block around it is its own"
    assert not fields(server, lock_name)


def test_a_restart_is_noticed_with_the_next_connection(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    """After a restart also holds with a fixed lease are queried, long before their deadline."""
    locks = [client.lock(f"{lock_name}:{number}", lease=30) for number in range(3)]
    for lock in locks:
        lock.acquire()
    holds = [lock.held() for lock in locks]
    restart(server, lock_name)
    assert client.lock(lock_name).state().locked is False
    for hold in holds:
        assert hold is not None and hold.lost_event.wait(5.0)
    for lock in locks:
        with pytest.raises(redlatch.LockLostError):
            lock.release()


# ------------------------------------------------------------------------------------------------ the server is slow --


def sleep(server: RedisServer, duration: float) -> None:
    """Blocks the server for `duration` seconds."""
    admin: Any = server.admin
    admin.execute_command("DEBUG", "SLEEP", str(duration))


def has_renewed(client: redlatch.Client, count: int) -> bool:
    """Returns whether a client has made `count` renewals."""
    return client.stats()["renewals"] >= count


@pytest.mark.parametrize("phase", [0.0, 0.16, 0.32], ids=lambda phase: f"at {phase} of the lease")
def test_a_server_that_sleeps_for_half_a_lease_loses_no_lock(
    server: RedisServer, lock_name: str, phase: float
) -> None:
    lease = 3.0
    names = [f"{lock_name}:{number}" for number in range(20)]
    with redlatch.connect(server.url, watchdog_lease=lease) as client:
        locks = [client.lock(name) for name in names]
        for lock in locks:
            lock.acquire()
        owners = [fields(server, name) for name in names]
        for _ in range(2):
            time.sleep(phase * lease)
            sleep(server, lease / 2)
            goal = client.stats()["renewals"] + len(locks)
            wait_until(partial(has_renewed, client, goal), 3 * lease)
        assert client.stats()["lost"] == 0
        assert [fields(server, name) for name in names] == owners
        for lock in locks:
            lock.release()
    assert server.admin.dbsize() == 0


def test_a_thread_that_keeps_the_gil_loses_no_lock(server: RedisServer, lock_name: str) -> None:
    """The thread that renews leases never needs the GIL."""
    with redlatch.connect(server.url, watchdog_lease=1) as client:
        with client.lock(lock_name) as held:
            began = time.monotonic()
            hold_the_gil(3.0)  # three leases
            assert time.monotonic() - began >= 3.0
            assert not held.lost and held.remaining() > 0
            assert fields(server, lock_name) == {held.owner.encode(): b"1"}
        assert client.stats()["lost"] == 0


def test_waiters_outlast_a_server_that_sleeps(server: RedisServer, client: redlatch.Client, lock_name: str) -> None:
    with client.lock(lock_name):
        threads = [Waiting(client.lock(lock_name)) for _ in range(5)]
        sleeping = threading.Thread(target=sleep, args=(server, LEASE / 2), daemon=True)
        sleeping.start()
    for waiting in threads:
        assert waiting.result() is True
    sleeping.join()
    assert client.stats()["lost"] == 0


def test_a_signal_handler_raises_as_the_watching_thread_starts(
    server: RedisServer, lock_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next lock starts another thread, and close() copes with a thread that never ran."""
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        monkeypatch.setattr(threading.Thread, "start", start)
        raise KeyboardInterrupt(thread.name)

    client = redlatch.connect(server.url, watchdog_lease=LEASE)
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt, match="redlatch-losses"):
        client.lock(lock_name)
    lock = client.lock(lock_name)
    lock.acquire()
    hold = lock.held()
    assert hold is not None
    server.admin.delete(lock_name)
    assert hold.lost_event.wait(20)
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with redlatch.connect(server.url) as other, pytest.raises(KeyboardInterrupt, match="redlatch-losses"):
        other.lock(f"{lock_name}2")
    client.close()


def test_a_lock_is_made_where_no_thread_can_start(
    server: RedisServer, lock_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As at interpreter shutdown: the lock works without a watching thread."""
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with redlatch.connect(server.url) as client:
        with client.lock(lock_name, timeout=5) as held:
            with pytest.raises(RuntimeError, match="can't create new thread"):
                _ = held.lost_event
            monkeypatch.setattr(threading.Thread, "start", start)
            assert not held.lost_event.is_set()


def test_a_signal_handler_makes_a_lock_as_the_watching_thread_starts(
    server: RedisServer, lock_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handler does not deadlock, and only one thread watches."""
    start = threading.Thread.start
    started = []

    def interrupted(thread: threading.Thread) -> None:
        started.append(thread.name)
        if len(started) == 1:
            with client.lock(f"{lock_name}:handler", timeout=5) as held:
                assert not held.lost_event.is_set()
        start(thread)

    with redlatch.connect(server.url) as client:
        monkeypatch.setattr(threading.Thread, "start", interrupted)
        lock = client.lock(lock_name, lease=0.2)
        lock.acquire()
        hold = lock.held()
        assert hold is not None and hold.lost_event.wait(20)
        assert started == ["redlatch-losses"]
        with pytest.raises(redlatch.LockLostError):
            lock.release()

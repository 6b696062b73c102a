# SPDX-License-Identifier: Apache-2.0
"""The command `redlatch` with keys of every kind that a real Redisson made: `show`, `list`, `wait` and `unlock`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Callable, Dict, Iterator

import pytest
from parties import WOKEN
from support import RedisServer, wait_until
from support.redisson import Redisson, RedissonClient, RedissonObject, ms
from support.shell import TIMEOUT, names, redlatch, shown, start
from support.wire import listeners_of

LOCK_CHANNEL, SIDES_CHANNEL = "redisson_lock__channel:{{{}}}", "redisson_rwlock:{{{}}}"
PERMITS_CHANNEL, LATCH_CHANNEL = "redisson_sc:{{{}}}", "redisson_countdownlatch__channel__{{{}}}"


@dataclass(frozen=True)
class Row:
    """How Redisson makes a lock of a kind, how redlatch calls the kind, and the channel of its releases."""

    make: Callable[[RedissonClient, str], RedissonObject]
    kind: str = "mutex"
    channel: str = LOCK_CHANNEL
    rival: Callable[[RedissonClient, str], RedissonObject] = RedissonClient.lock
    role: str = "holder"
    # Whether Redisson publishes a release without waiters. It does not for spin locks and fair locks.
    tells: bool = True


def multi(client: RedissonClient, name: str) -> RedissonObject:
    """Returns a multi lock with a second member."""
    return client.multi_lock(client.lock(name), client.lock(f"{name}:other"))


def group(client: RedissonClient, name: str) -> RedissonObject:
    """Returns two values of a group."""
    return client.group_lock(name, ["a", "b"])


ROWS: Dict[str, Row] = {
    "mutex": Row(RedissonClient.lock),
    "non-reentrant": Row(RedissonClient.non_reentrant_lock),
    "fair": Row(RedissonClient.fair_lock, rival=RedissonClient.fair_lock, tells=False),
    "fenced": Row(RedissonClient.fenced_lock, "fenced", rival=RedissonClient.fenced_lock),
    "spin": Row(RedissonClient.spin_lock, tells=False),
    "read": Row(RedissonClient.read_lock, "read_write", SIDES_CHANNEL, RedissonClient.write_lock, "reader"),
    "write": Row(RedissonClient.write_lock, "read_write", SIDES_CHANNEL, RedissonClient.read_lock, "writer"),
    "multi": Row(multi),
    "group": Row(group, "group", rival=group),
}


@pytest.fixture(params=ROWS)
def row(request: pytest.FixtureRequest) -> Row:
    """Each kind."""
    return ROWS[request.param]


def is_queue_of(server: RedisServer, name: str, size: int) -> bool:
    """Returns whether that many waiters are in the queue of a fair lock."""
    return bool(server.admin.llen(f"redisson_lock_queue:{{{name}}}") == size)


class Waiting:
    """A `redlatch wait` for a name, which is subscribed to a channel. woken() is called when it must end."""

    def __init__(self, server: RedisServer, name: str, channel: str) -> None:
        before = listeners_of(server, channel)
        self._process = start(server, "wait", name)
        wait_until(lambda: listeners_of(server, channel) > before, TIMEOUT, f"the command to listen to {channel}")

    def woken(self, within: float = WOKEN) -> None:
        """Called right after the name was freed. A message must end the wait."""
        freed = time.monotonic()
        assert self._process.wait(10) == 0 and time.monotonic() - freed < within
        self._process.communicate()


@pytest.fixture
def waiting(server: RedisServer) -> Iterator[Callable[[str, str], Waiting]]:
    """Starts waits."""
    yield lambda name, channel: Waiting(server, name, channel.format(name))


def test_a_lock_is_shown_listed_and_waited_for(
    java: Redisson, theirs: RedissonClient, server: RedisServer, name: str, row: Row,
    waiting: Callable[[str, str], Waiting],
) -> None:
    thread = java.thread()
    owner, lock = theirs.owner(thread), row.make(theirs, name).on(thread)
    lock.lock()
    found = shown(server, "show", name)
    assert (found["name"], found["kind"], found["held"], found["waiters"]) == (name, row.kind, True, [])
    assert {(one["owner"], one["count"], one.get("role", "holder")) for one in found["holders"]} == {
        (owner, 1, row.role)}
    assert 20_000 < found["ttl_ms"] <= 30_000
    assert name in names(shown(server, "list"))
    assert redlatch(server, "show", "--owner", owner, name).returncode == 0
    assert redlatch(server, "show", "--owner", f"{owner}0", name).returncode == 3
    waits = waiting(name, row.channel) if row.tells else None
    lock.unlock()
    if waits:
        waits.woken()
    assert redlatch(server, "show", name).returncode == 3 and redlatch(server, "wait", "-w", "0", name).returncode == 0
    assert name not in names(shown(server, "list"))


def test_a_release_that_redisson_does_not_tell_of_is_noticed_soon(
    java: Redisson, theirs: RedissonClient, server: RedisServer, name: str, waiting: Callable[[str, str], Waiting]
) -> None:
    """The recheck after 5 s ends the wait."""
    locks = {kind: row.make(theirs, f"{name}:{kind}").on(java.thread()) for kind, row in ROWS.items() if not row.tells}
    for lock in locks.values():
        lock.lock()
    waits = [waiting(f"{name}:{kind}", LOCK_CHANNEL) for kind in locks]
    for lock in locks.values():
        lock.unlock()
    for one in waits:
        one.woken(within=8.0)


def test_a_lock_is_unlocked_and_its_waiters_are_woken(
    java: Redisson, theirs: RedissonClient, server: RedisServer, name: str, row: Row
) -> None:
    thread, other = java.thread(), java.thread()
    owner, next_owner = theirs.owner(thread), theirs.owner(other)
    lock, rival = row.make(theirs, name).on(thread), row.rival(theirs, name)
    lock.lock()
    pending = rival.start(other, "tryLock", ms(20_000), ms(10_000))
    channel = row.channel.format(name)
    wait_until(lambda: listeners_of(server, channel) or is_queue_of(server, name, 1), message="Redisson to wait")
    if row.channel == SIDES_CHANNEL:  # a message wakes only threads that sleep already
        wait_until(lambda: java.sleeps(other), message="its thread to sleep")
    refused = redlatch(server, "unlock", name)
    assert refused.returncode == 64 and owner in refused.stderr
    done = redlatch(server, "unlock", "--force", name)
    unlocked = time.monotonic()
    assert done.returncode == 0 and owner in done.stdout
    assert pending.result() is True and pending.ended_at - unlocked < WOKEN
    assert shown(server, "show", "--owner", next_owner, name)["held"]


def test_waiters_of_a_fair_lock_are_shown(
    java: Redisson, theirs: RedissonClient, server: RedisServer, name: str
) -> None:
    holder, *queued = [java.thread() for _ in range(3)]
    owners = [theirs.owner(thread) for thread in queued]
    lock = theirs.fair_lock(name)
    lock.on(holder).lock()
    pending = []
    for place, thread in enumerate(queued, 1):
        pending.append(lock.start(thread, "lock"))
        wait_until(partial(is_queue_of, server, name, place), message="the next one to queue")
    found = shown(server, "show", name)
    assert (found["kind"], found["waiters"]) == ("fair", owners)
    for one, thread in zip(pending, (holder, *queued)):
        lock.on(thread).unlock()
        one.result()


def test_tokens_and_nested_acquires_are_shown(
    java: Redisson, theirs: RedissonClient, server: RedisServer, name: str
) -> None:
    lock = theirs.fenced_lock(name).on(java.thread())
    tokens = [lock.lockAndGetToken() for _ in range(2)]
    found = shown(server, "show", name)
    assert (found["token"], found["holders"][0]["count"]) == (tokens[-1], 2)
    lock.unlock()
    lock.unlock()
    free = shown(server, "show", name)
    assert (free["kind"], free["held"], free["token"]) == ("fenced", False, tokens[-1])


def test_readers_and_a_writer_who_reads(
    java: Redisson, theirs: RedissonClient, server: RedisServer, name: str
) -> None:
    first, second = java.thread(), java.thread()
    theirs.write_lock(name).on(first).lock()
    theirs.read_lock(name).on(first).lock()
    found = shown(server, "show", name)["holders"]
    assert sorted((one["role"], one["owner"]) for one in found) == [
        ("reader", theirs.owner(first)), ("writer", theirs.owner(first))]
    theirs.write_lock(name).on(first).unlock()
    theirs.read_lock(name).on(second).lock()
    found = shown(server, "show", name)
    assert {(one["role"], one["owner"]) for one in found["holders"]} == {
        ("reader", theirs.owner(thread)) for thread in (first, second)}
    assert found["holder_count"] == 2


def test_a_semaphore(
    java: Redisson, theirs: RedissonClient, server: RedisServer, name: str, waiting: Callable[[str, str], Waiting]
) -> None:
    semaphore = theirs.semaphore(name).on(java.thread())
    semaphore.trySetPermits(2)
    semaphore.acquire(2)
    found = shown(server, "show", name)
    assert (found["kind"], found["number"], found["holders"]) == ("count", 0, [])
    assert name not in names(shown(server, "list")), "as any counter"
    assert redlatch(server, "unlock", "--force", name).returncode == 64
    waits = waiting(name, PERMITS_CHANNEL)
    semaphore.release()
    waits.woken()
    done = redlatch(server, "run", "-n", "--kind", "semaphore", name, "--", "echo", "ran")
    assert done.stdout == "ran\n" and semaphore.availablePermits() == 1


def test_a_permit_semaphore(
    java: Redisson, theirs: RedissonClient, server: RedisServer, name: str, waiting: Callable[[str, str], Waiting]
) -> None:
    slots = theirs.permit_semaphore(name).on(java.thread())
    slots.trySetPermits(2)
    permits = {slots.acquire(), slots.acquire()}
    found = shown(server, "show", name)
    assert (found["kind"], found["number"]) == ("permit_semaphore", 0)
    assert {one["owner"] for one in found["holders"]} == permits
    assert name in names(shown(server, "list"))
    assert redlatch(server, "unlock", "--force", name).returncode == 64
    assert redlatch(server, "run", "-n", "--kind", "permit-semaphore", name, "--", "true").returncode == 1
    waits = waiting(name, PERMITS_CHANNEL)
    slots.release(permits.pop())
    waits.woken()
    done = redlatch(server, "run", "-n", "--kind", "permit-semaphore", name, "--", "echo", "ran")
    assert done.stdout == "ran\n" and slots.availablePermits() == 1


def test_a_latch(
    java: Redisson, theirs: RedissonClient, server: RedisServer, name: str, waiting: Callable[[str, str], Waiting]
) -> None:
    latch = theirs.latch(name).on(java.thread())
    latch.trySetCount(2)
    found = shown(server, "show", name)
    assert (found["kind"], found["number"]) == ("count", 2)
    assert redlatch(server, "wait", "-w", "0", name).returncode == 1
    assert redlatch(server, "unlock", "--force", name).returncode == 64
    waits = waiting(name, LATCH_CHANNEL)
    latch.countDown()
    latch.countDown()
    waits.woken()
    assert redlatch(server, "show", name).returncode == 3


def test_redisson_is_kept_out_by_run(java: Redisson, theirs: RedissonClient, server: RedisServer, name: str) -> None:
    """`run` of several names, while Redisson's multi lock acquires them in another order."""
    both = theirs.multi_lock(theirs.lock(f"{name}:b"), theirs.lock(f"{name}:a"))
    go = server.directory / "go"
    script = f"echo runs; while ! [ -e {go} ]; do sleep 0.02; done"
    holder = start(server, "run", f"{name}:a", f"{name}:b", "--", "sh", "-c", script)
    assert holder.stdout is not None and holder.stdout.readline() == "runs\n"
    thread = java.thread()
    assert not both.on(thread).tryLock()
    pending = both.start(thread, "tryLock", ms(20_000), ms(10_000))
    go.touch()
    assert pending.result() is True and holder.wait(10) == 0
    go.unlink()
    holder.communicate()
    assert redlatch(server, "run", "-n", f"{name}:a", f"{name}:b", "--", "true").returncode == 1
    both.on(thread).unlock()
    assert redlatch(server, "run", "-n", f"{name}:a", f"{name}:b", "--", "true").returncode == 0

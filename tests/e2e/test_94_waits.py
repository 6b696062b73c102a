# SPDX-License-Identifier: Apache-2.0
"""`redlatch wait`: what it waits for, which channel it subscribes to, what it prints."""

from __future__ import annotations

import subprocess
import time
from contextlib import contextmanager
from typing import Any, Iterator

import pytest
import redlatch as library
from forms import UUID, put_hash, put_permits
from support import RedisServer, RedissonShapedPeer, wait_until
from support.shell import TIMEOUT, redlatch, start
from support.wire import channel, subscribers

# A waiter that missed its message rechecks after 5 s.
RECHECK = 4.0


def test_wait_returns_when_it_is_released(
    server: RedisServer, peer: RedissonShapedPeer, lock_name: str
) -> None:
    assert redlatch(server, "wait", lock_name).returncode == 0
    peer.lock(lock_name)
    assert redlatch(server, "wait", "-w", "0", lock_name).returncode == 1
    waiting = start(server, "wait", lock_name)
    wait_until(lambda: subscribers(server, lock_name) == 1, TIMEOUT, "the command to listen")
    released = time.monotonic()
    peer.unlock(lock_name)
    assert waiting.wait(10) == 0 and time.monotonic() - released < RECHECK, "a message woke it, not the lease"
    assert server.admin.exists(lock_name) == 0, "it was not taken"
    waiting.communicate()


def test_wait_ends_with_the_lease_or_its_own_time(server: RedisServer, lock_name: str) -> None:
    put_hash(server, lock_name, {f"{UUID}:1": 1})
    begun = time.monotonic()
    assert redlatch(server, "wait", "-w", "0.5", lock_name).returncode == 1
    assert 0.5 <= time.monotonic() - begun < TIMEOUT
    begun = time.monotonic()
    put_hash(server, lock_name, {f"{UUID}:1": 1}, ttl_ms=500)
    assert redlatch(server, "wait", lock_name).returncode == 0
    assert 0.5 <= time.monotonic() - begun < RECHECK


def test_wait_of_many_of_one_client_and_of_waiters_beside(server: RedisServer, lock_name: str) -> None:
    with library.connect(server.url) as client:
        held = client.lock(lock_name)
        held.acquire()
        waiting = [start(server, "wait", lock_name) for _ in range(5)]
        wait_until(lambda: subscribers(server, lock_name) == 5, TIMEOUT, "all to listen")
        held.release()
        assert [one.wait(10) for one in waiting] == [0] * 5
        for one in waiting:
            one.communicate()


def test_what_is_no_lock_is_not_waited_for(server: RedisServer, lock_name: str) -> None:
    server.admin.set(lock_name, "x")
    done = redlatch(server, "wait", lock_name)
    assert done.returncode == 65 and "no known lock" in done.stderr, "as of show and unlock"


@contextmanager
def listening(server: RedisServer, name: str, notified: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Starts the command, which waits for a name and subscribes to a channel. At the end a message must have ended
    it."""
    admin: Any = server.admin
    waiting = start(server, "wait", *options, name)
    wait_until(lambda: admin.pubsub_numsub(notified)[0][1] == 1, TIMEOUT, f"the command to listen to {notified}")
    released = time.monotonic()
    yield waiting
    assert waiting.wait(10) == 0 and time.monotonic() - released < RECHECK, "a message woke it"
    waiting.communicate()


@pytest.mark.parametrize("kind", ["read", "write", "fair", "fenced", "spin", "plain", "group"])
def test_wait_listens_on_the_channel_of_the_kind(server: RedisServer, lock_name: str, kind: str) -> None:
    prefix = {"read": "redisson_rwlock", "write": "redisson_rwlock", "plain": "redlatch_lock__channel"}
    with library.connect(server.url) as client:
        locks = {"read": lambda: client.read_write_lock(lock_name).read,
                 "write": lambda: client.read_write_lock(lock_name).write,
                 "group": lambda: client.group_lock(lock_name, ["a", "b"])}
        lock = locks.get(kind, lambda: getattr(client, f"{kind}_lock")(lock_name))()
        lock.acquire()
        notified = f"{prefix.get(kind, 'redisson_lock__channel')}:{{{lock_name}}}"
        with listening(server, lock_name, notified):
            lock.release()


def test_wait_for_what_is_counted(server: RedisServer, lock_name: str) -> None:
    with library.connect(server.url) as client:
        latch = client.latch(lock_name)
        latch.try_set_count(2)
        with listening(server, lock_name, f"redisson_countdownlatch__channel__{{{lock_name}}}"):
            latch.count_down()
            latch.count_down()
        gate = client.semaphore(lock_name)
        gate.try_set_permits(1)
        gate.acquire()
        with listening(server, lock_name, f"redisson_sc:{{{lock_name}}}"):
            gate.release()
        server.admin.delete(lock_name)
        slots = client.permit_semaphore(lock_name)
        slots.try_set_permits(1)
        permit = slots.acquire()
        assert redlatch(server, "wait", "-w", "0", lock_name).returncode == 1
        with listening(server, lock_name, f"redisson_sc:{{{lock_name}}}"):
            slots.release(permit)
        assert redlatch(server, "wait", "-w", "0", lock_name).returncode == 1, "a number alone: a latch, or a counter"


def test_the_kind_of_a_number_can_be_given(server: RedisServer, lock_name: str) -> None:
    """A semaphore with a permit has the data of a closed latch."""
    with library.connect(server.url) as client:
        gate = client.semaphore(lock_name)
        gate.try_set_permits(1)
        guessed = redlatch(server, "wait", "-w", "0", lock_name)
        assert (guessed.returncode, guessed.stderr) == (
            1,
            f'redlatch: "{lock_name}" is a number, 1: waited for as a latch, until it is zero; --kind names its kind\n'
            f'redlatch: "{lock_name}" was not free\n',
        )
        for kind, status in {"semaphore": 0, "permit-semaphore": 0, "latch": 1}.items():
            reported = redlatch(server, "wait", "-w", "0", "--kind", kind, lock_name)
            assert reported.returncode == status
            assert reported.stderr == (f'redlatch: "{lock_name}" was not free\n' if status else "")
        gate.acquire()
        assert redlatch(server, "wait", "-w", "0.5", "--kind", "semaphore", lock_name).returncode == 1
        assert redlatch(server, "wait", "-w", "0", "--kind", "latch", lock_name).returncode == 0
        with listening(server, lock_name, f"redisson_sc:{{{lock_name}}}", "--kind", "semaphore"):
            gate.release()
        with listening(server, lock_name, f"redisson_countdownlatch__channel__{{{lock_name}}}", "--kind", "latch"):
            client.latch(lock_name).count_down()
    put_permits(server, lock_name, taken=1)
    leases = redlatch(server, "wait", "-w", "0", lock_name)
    assert (leases.returncode, leases.stderr) == (0, ""), "leases of permits say what it is"


def test_who_may_not_inspect_waits_for_a_lock(server: RedisServer, lock_name: str) -> None:
    server.set_user("frugal", "word", "+@all", "-hkeys")
    put_hash(server, lock_name, {f"{UUID}:1": 1})
    url = f"redis://frugal@127.0.0.1:{server.port}"
    assert redlatch(server, "show", "-u", url, lock_name, REDISCLI_AUTH="word").returncode == 69
    done = redlatch(server, "wait", "-u", url, "-w", "0", lock_name, REDISCLI_AUTH="word")
    assert (done.returncode, done.stderr) == (1, f'redlatch: "{lock_name}" was not free\n')
    quiet = redlatch(server, "wait", "-q", "-u", url, "-w", "0", lock_name, REDISCLI_AUTH="word")
    assert (quiet.returncode, quiet.stderr) == (1, "")


def test_a_name_of_another_kind_than_given(server: RedisServer, lock_name: str) -> None:
    made = redlatch(server, "wait", "--kind", "semaphore", lock_name)
    assert made.returncode == 65
    assert made.stderr == f'redlatch: there is no semaphore "{lock_name}": expected one that exists\n'
    put_hash(server, lock_name, {f"{UUID}:1": 1})
    for kind, words in {"semaphore": "no semaphore (mutex, a hash)", "latch": "this is a mutex, not a latch\n"}.items():
        done = redlatch(server, "wait", "--kind", kind, lock_name)
        assert done.returncode == 65 and words in done.stderr
    done = redlatch(server, "wait", "--kind", "mutex", lock_name)
    assert done.returncode == 64 and "expected one of semaphore, permit-semaphore, latch" in done.stderr


def test_a_name_that_becomes_another_kind_is_followed(server: RedisServer, lock_name: str) -> None:
    with library.connect(server.url) as client:
        put_hash(server, lock_name, {f"{UUID}:1": 1})
        waiting = start(server, "wait", lock_name)
        wait_until(lambda: subscribers(server, lock_name) == 1, TIMEOUT, "the command to listen")
        pipe: Any = server.admin.pipeline(transaction=True)
        pipe.delete(lock_name)
        pipe.set(lock_name, 1)
        pipe.publish(channel(lock_name), 0)
        pipe.execute()
        notified = f"redisson_countdownlatch__channel__{{{lock_name}}}"
        admin: Any = server.admin
        wait_until(lambda: admin.pubsub_numsub(notified)[0][1] == 1, message="the command to listen elsewhere")
        client.latch(lock_name).count_down()
        assert waiting.wait(10) == 0
        waiting.communicate()

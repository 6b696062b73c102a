# SPDX-License-Identifier: Apache-2.0
"""Fencing tokens beside Redisson's RFencedLock: one counter, counted up by both."""

from __future__ import annotations

from typing import Any

import redlatch
from env import RedisServer
from redisson import Redisson, RedissonClient, ms


def counter(name: str) -> str:
    """The key of the counter."""
    return f"redisson_lock_token:{{{name}}}"


def take_turn(lock: redlatch.Lock) -> int:
    """Acquire and release; the token of that hold."""
    with lock as held:
        assert held.token is not None
        return held.token


def test_both_count_on(
    java: Redisson, ours: redlatch.Client, theirs: RedissonClient, server: RedisServer, name: str
) -> None:
    """RedissonFencedLockTest.testTokenIncrease, by turns with ours: no token is given twice, each is greater."""
    us, thread = ours.fenced_lock(name), java.thread()
    them = theirs.fenced_lock(name).on(thread)
    assert them.lockAndGetToken() == 1
    them.unlock()
    assert take_turn(us) == 2
    assert them.lockAndGetToken() == 3
    assert us.acquire(blocking=False) is False
    them.unlock()
    them.lock()
    assert them.getToken() == 4
    them.unlock()
    them.lock(ms(10_000))
    assert them.getToken() == 5
    them.unlock()
    assert them.tryLockAndGetToken() == 6
    them.unlock()
    with us as held:
        assert held.token == 7 == them.getToken()
        assert them.tryLock() is False
        assert them.getToken() == 7
    assert server.admin.pttl(counter(name)) == -1


def test_force_release_keeps_the_counter(
    java: Redisson, ours: redlatch.Client, theirs: RedissonClient, server: RedisServer, name: str
) -> None:
    """Whoever forces whom: the next token is greater all the same."""
    us, thread = ours.fenced_lock(name, owner="handle"), java.thread()
    them = theirs.fenced_lock(name).on(thread)
    us.acquire()
    assert them.forceUnlock() is True
    assert them.lockAndGetToken() == 2
    assert us.force_release() is True
    assert take_turn(ours.fenced_lock(name)) == 3


def test_a_lease_that_a_multi_lock_gave_the_counter(
    java: Redisson, ours: redlatch.Client, theirs: RedissonClient, server: RedisServer, name: str
) -> None:
    """W-19: Redisson's MultiLock lets the counter expire; with our next acquire it stays."""
    thread = java.thread()
    multi = theirs.multi_lock(theirs.fenced_lock(name), theirs.lock(f"{name}:other"))
    multi.call(thread, "tryLock", ms(5_000), ms(30_000))
    multi.call(thread, "unlock")
    left: Any = server.admin.pttl(counter(name))
    assert 0 < left <= 30_000, "Redisson does what W-19 says"
    token = take_turn(ours.fenced_lock(name))
    assert token == 2 and server.admin.pttl(counter(name)) == -1


def test_a_key_without_a_lease_is_not_ours(
    ours: redlatch.Client, server: RedisServer, name: str
) -> None:
    """W-19: to Redisson's script a held key without a TTL looks like a grant with the token -1."""
    server.admin.hset(name, "00000000-0000-4000-8000-000000000000:1", "1")
    assert ours.fenced_lock(name).acquire(blocking=False) is False
    assert ours.fenced_lock(name).acquire(timeout=0.2) is False
    assert not server.admin.exists(counter(name))

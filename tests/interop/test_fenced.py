# SPDX-License-Identifier: Apache-2.0
"""The fenced lock with Redisson's RFencedLock: both have one counter of tokens, which only grows."""

from __future__ import annotations

from typing import List

import redlatch
from support import RedisServer
from support.redisson import Redisson, RedissonClient, ms


def test_tokens_rise_across_both(java: Redisson, ours: redlatch.Client, theirs: RedissonClient, name: str) -> None:
    """Each hold of either side has a larger token than all before. Either side reads the other's token."""
    lock, java_lock = ours.fenced_lock(name), theirs.fenced_lock(name).on(java.thread())
    tokens: List[int] = []
    for _ in range(5):
        with lock as hold:
            assert hold.token is not None
            tokens.append(hold.token)
            assert java_lock.getToken() == hold.token
        tokens.append(java_lock.lockAndGetToken())
        assert ours.inspect(name).token == tokens[-1]
        java_lock.unlock()
    assert tokens == sorted(set(tokens)) and tokens[0] == 1


def test_token_of_every_way_to_acquire(ours: redlatch.Client, name: str) -> None:
    """With and without a lease, waiting or not. A re-entry keeps the token of its hold."""
    lock = ours.fenced_lock(name)
    seen: List[int] = []
    for arguments in ({}, {"lease": 10}, {"blocking": False}, {"timeout": 1, "lease": 10}):
        assert lock.acquire(**arguments) and lock.acquire()
        hold = lock.held()
        assert hold is not None and hold.token is not None
        seen.append(hold.token)
        lock.release()
        lock.release()
    assert seen == [1, 2, 3, 4]


def test_a_released_lock_keeps_its_counter(
    java: Redisson, ours: redlatch.Client, theirs: RedissonClient, server: RedisServer, name: str
) -> None:
    """Neither our release nor our force release changes the counter. It never expires, whichever side made it."""
    lock, java_lock = ours.fenced_lock(name), theirs.fenced_lock(name).on(java.thread())
    counter = f"redisson_lock_token:{{{name}}}"
    assert java_lock.lockAndGetToken() == 1
    assert lock.force_release()
    assert server.admin.get(counter) == b"1"
    server.admin.pexpire(counter, 10_000)  # as Redisson's multi lock does
    with lock as hold:
        assert hold.token == 2
    assert server.admin.get(counter) == b"2" and server.admin.pttl(counter) == -1


def test_their_holder_without_a_lease_is_respected(
    java: Redisson, ours: redlatch.Client, theirs: RedissonClient, server: RedisServer, name: str
) -> None:
    """A held lock whose key has lost its expiry is not granted to us, as it would be to Redisson's own
    lockAndGetToken."""
    java_lock = theirs.fenced_lock(name).on(java.thread())
    java_lock.lock(ms(20_000))
    server.admin.persist(name)
    lock = ours.fenced_lock(name)
    assert not lock.acquire(blocking=False)
    assert not lock.acquire(timeout=0.5)
    java_lock.unlock()
    with lock as hold:
        assert hold.token == 2


def test_a_lease_that_a_multi_lock_gave_the_counter(
    java: Redisson, ours: redlatch.Client, theirs: RedissonClient, server: RedisServer, name: str
) -> None:
    """W-19: Redisson's multi lock lets the counter expire. Our next acquire removes the expiry, and tokens go on
    growing."""
    thread, counter = java.thread(), f"redisson_lock_token:{{{name}}}"
    multi = theirs.multi_lock(theirs.fenced_lock(name), theirs.lock(f"{name}:other"))
    assert multi.call(thread, "tryLock", ms(5_000), ms(30_000))
    multi.call(thread, "unlock")
    assert server.admin.pttl(counter) > 0, "Redisson does what W-19 says"
    with ours.fenced_lock(name) as hold:
        assert hold.token == 2 and server.admin.pttl(counter) == -1

# SPDX-License-Identifier: Apache-2.0
"""The reentrant mutex beside Redisson's RLock: what only these two have."""

from __future__ import annotations

import redlatch
from redisson import RedissonClient, ms


def test_each_refuses_what_the_other_holds(ours: redlatch.Client, theirs: RedissonClient, name: str) -> None:
    """A lock that one of them holds is not to be had by the other."""
    lock, java_lock = ours.lock(name), theirs.lock(name).on(1)
    assert lock.acquire()
    assert java_lock.isLocked() and not java_lock.isHeldByCurrentThread()
    assert not java_lock.tryLock()
    lock.release()
    assert java_lock.tryLock(ms(0), ms(20_000))
    assert lock.owner() == theirs.owner(1)
    assert not lock.acquire(blocking=False)
    java_lock.unlock()
    assert not lock.locked()

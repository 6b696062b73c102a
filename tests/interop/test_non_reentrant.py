# SPDX-License-Identifier: Apache-2.0
"""The non-reentrant mutex with Redisson's RNonReentrantLock: what is not played with every kind."""

from __future__ import annotations

import pytest
import redlatch
from support.redisson import Redisson, RedissonClient


def test_another_handle_is_no_way_in(ours: redlatch.Client, name: str) -> None:
    """Holds belong to the owner: the same thread is refused with another handle of the name, too."""
    first, second = ours.lock(name, reentrant=False), ours.lock(name, reentrant=False)
    first.acquire()
    for arguments in ({}, {"blocking": False}, {"timeout": 0.1}):
        with pytest.raises(redlatch.AlreadyHeldError):
            second.acquire(**arguments)
    assert second.hold_count() == 1
    second.release()
    assert not first.state().locked


def test_a_reentrant_redisson_shares_the_name(
    java: Redisson, ours: redlatch.Client, theirs: RedissonClient, name: str
) -> None:
    """Each side chooses the reentrancy for itself. The lock on the server is the same."""
    lock, java_lock = ours.lock(name, reentrant=False), theirs.lock(name).on(java.thread())
    java_lock.lock()
    java_lock.lock()
    assert not lock.acquire(blocking=False)
    java_lock.unlock()
    java_lock.unlock()
    assert lock.acquire(blocking=False)
    assert not java_lock.tryLock()
    lock.release()

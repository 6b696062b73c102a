# SPDX-License-Identifier: Apache-2.0
"""LockLostError, holds and permits report why a lock was lost. The error texts, which all languages share, are tested
by the traces."""

from __future__ import annotations

from typing import Any

import pytest
import redlatch
from support import RedisServer, wait_until


def lose(error: Any, call: Any, *arguments: Any) -> redlatch.LockLostError:
    """Returns the LockLostError that a call raises."""
    with pytest.raises(error) as raised:
        call(*arguments)
    lost: redlatch.LockLostError = raised.value
    return lost


def test_taken_by_force(client: redlatch.Client, other: redlatch.Client, lock_name: str) -> None:
    lock = client.lock(lock_name)
    lock.acquire()
    hold = lock.held()
    assert hold is not None and hold.lost_reason is None
    assert other.lock(lock_name).force_release()
    assert lose(redlatch.LockLostError, lock.extend, 5).reason == "missing"
    again = lose(redlatch.LockLostError, lock.acquire, False)
    assert again.reason == "missing" and "release it first" in str(again)
    assert hold.lost_reason == "missing"
    assert lose(redlatch.LockLostError, lock.release).reason == "missing"
    late = lose(redlatch.LockLostError, hold.release)
    assert late.reason == "missing" and hold.lost_reason == "missing", "a hold remembers why"
    assert str(late) == f"this hold of lock {lock_name!r} was lost (missing)"
    assert lock.acquire(False)
    lock.release()


def test_its_time_was_over(client: redlatch.Client, lock_name: str) -> None:
    for options, reason in (({"lease": 0.2}, "expired"), ({"max_hold": 0.2}, "max_hold")):
        lock = client.lock(lock_name, **options)
        lock.acquire()
        hold = lock.held()
        assert hold is not None
        wait_until(lambda hold=hold: hold.lost, 5.0, "the lock to be lost")
        assert hold.lost_reason == reason
        assert lose(redlatch.LockLostError, lock.release).reason == reason


def test_a_block_is_left(client: redlatch.Client, server: RedisServer, lock_name: str) -> None:
    def run() -> None:
        with client.lock(lock_name):
            server.admin.delete(lock_name)

    assert lose(redlatch.LockLostError, run).reason == "missing"


def test_permits(client: redlatch.Client, other: redlatch.Client, lock_name: str) -> None:
    slots = client.permit_semaphore(lock_name)
    assert slots.try_set_permits(2)
    permit, renewed = slots.acquire(), slots.acquire()
    assert permit and renewed
    other.permit_semaphore(lock_name).delete()
    assert lose(redlatch.LockLostError, permit.release).reason == "missing"
    assert lose(redlatch.LockLostError, renewed.extend, 5).reason == "missing"


def test_other_failures_have_none(client: redlatch.Client, lock_name: str) -> None:
    lock = client.lock(lock_name)
    lost = redlatch.LockLostError("by hand")
    assert lost.reason is None
    with pytest.raises(redlatch.NotOwnedError) as raised:
        lock.release()
    assert not hasattr(raised.value, "reason")

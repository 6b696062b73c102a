"""What belongs to a thread: its owner number, which ends with the thread, and the record of its acquire.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from typing import List

import redlatch
from redlatch._ffi import LEASE_OF_LOCK, lib
from redlatch.owners import Caller, Wait


def test_an_owner_ends_with_its_thread_and_not_in_a_forked_child() -> None:
    ended: List[int] = []
    caller = Caller()
    caller.__del__(lambda: os.getpid() + 1, ended.append)
    assert not ended, "the thread lives on in the parent"
    caller.__del__(os.getpid, ended.append)
    assert ended == [caller.number]


def test_a_thread_that_got_no_number_ends_quietly() -> None:
    ended: List[int] = []
    caller = Caller.__new__(Caller)
    caller._pid = os.getpid()
    caller.__del__(os.getpid, ended.append)
    assert not ended


def test_a_record_that_is_dropped_ends_its_wait(client: redlatch.Client) -> None:
    """A signal handler may raise anywhere, even while an acquire is being abandoned."""
    lock = client.lock("x")
    wait = Wait(1)
    assert lib.redlatch_python_acquire(wait.record, lock._handle, Caller().number, LEASE_OF_LOCK, 60000) == (
        lib.REDLATCH_AGAIN
    )
    assert client.stats()["waiters"] == 1
    del wait
    assert client.stats()["waiters"] == 0

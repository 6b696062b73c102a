# SPDX-License-Identifier: Apache-2.0
"""Every kind, both directions: a hold ends without its release, and the other side gets the lock."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Callable

import pytest
from kinds import KINDS
from parties import NotHeld, OurParty, TheirParty
from support import Monitor, RedisServer, bound
from support.redisson import Redisson
from test_exclusion import start_waiting

# The watchdog lease of processes that are killed.
LEASE = 1.0

MakeOurs = Callable[..., OurParty]
MakeTheirs = Callable[..., TheirParty]


@pytest.mark.kinds_with(shared=False)
def test_we_force_theirs(
    kind_name: str, our_party: MakeOurs, their_party: MakeTheirs, monitor: Monitor, name: str
) -> None:
    """A force release of ours takes the lock from Redisson, whose release then reports it, and wakes waiters."""
    kind = KINDS[kind_name]
    holder, us, waiter = their_party(), our_party(), their_party()
    assert holder.acquire()
    attempt = start_waiting(waiter, kind, monitor, name)
    assert us.force_release()
    assert attempt.result() is True
    with pytest.raises(NotHeld):
        holder.release()
    assert waiter.held()
    waiter.release()
    assert not us.force_release()


@pytest.mark.kinds_with(forced=True, shared=False)
def test_they_force_ours(
    kind_name: str, our_party: MakeOurs, their_party: MakeTheirs, monitor: Monitor, name: str
) -> None:
    """Redisson's forceUnlock takes the lock from us. Our release reports it, and our waiter is woken."""
    kind = KINDS[kind_name]
    holder, them, waiter = our_party(), their_party(), our_party()
    assert holder.acquire()
    attempt = start_waiting(waiter, kind, monitor, name, rechecks=kind.rechecks_at_own)
    assert them.force_release()
    assert attempt.result() is True
    with pytest.raises(NotHeld):
        holder.release()
    assert waiter.held()
    waiter.release()
    assert not them.force_release()


@pytest.mark.kinds_with(forced=True, shared=False)
def test_they_delete_ours(kind_name: str, our_party: MakeOurs, their_party: MakeTheirs, name: str) -> None:
    """Redisson's delete() takes the lock from us, and our waiter gets it, by its recheck at the latest."""
    holder, them, waiter = our_party(), their_party(), our_party()
    assert holder.acquire()
    attempt = waiter.start()
    assert them.lock.delete()
    assert attempt.result() is True
    with pytest.raises(NotHeld):
        holder.release()
    waiter.release()
    assert not them.locked()


def test_the_key_is_deleted(
    kind_name: str, our_party: MakeOurs, their_party: MakeTheirs, server: RedisServer, name: str
) -> None:
    """A lock that vanished, as by FLUSHALL, is free for both sides, and its former holder cannot release it."""
    us, them = our_party(), their_party()
    for holder, other in ((us, them), (them, us)):
        assert holder.acquire()
        server.admin.flushall()
        assert other.acquire(wait=0)
        with pytest.raises(NotHeld):
            holder.release()
        other.release()


def test_our_process_dies(
    kind_name: str, their_party: MakeTheirs, server: RedisServer, monitor: Monitor, name: str
) -> None:
    """When the lease has ended, Redisson gets what a killed process of ours held."""
    waiter = their_party()
    program = str(Path(__file__).with_name("our_holder.py"))
    command = [sys.executable, program, server.url, kind_name, name, str(LEASE)]
    with subprocess.Popen(bound(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"held\n"
            attempt = start_waiting(waiter, KINDS[kind_name], monitor, name)
        finally:
            process.kill()
    assert attempt.result() is True
    waiter.release()


def test_their_process_dies(
    kind_name: str,
    our_party: MakeOurs,
    make_redisson: Callable[[], Redisson],
    server: RedisServer,
    monitor: Monitor,
    name: str,
) -> None:
    """When the lease has ended, we get what a killed Redisson held."""
    waiter = our_party()
    doomed = make_redisson()
    client = doomed.connect(server.url, lockWatchdogTimeout=round(LEASE * 1000))
    assert TheirParty(doomed, KINDS[kind_name].theirs(client, name)).acquire()
    attempt = start_waiting(waiter, KINDS[kind_name], monitor, name)
    killed_at = doomed.kill()
    assert attempt.result() is True and attempt.ended_at > killed_at
    waiter.release()

# SPDX-License-Identifier: Apache-2.0
"""The reentrant mutex with Redisson's RLock: what is not played with every kind (test_exclusion.py, test_ends.py)."""

from __future__ import annotations

import time
from typing import Any, Callable

import pytest
import redlatch
from parties import NotHeld, OurParty, TheirParty
from support import RedisServer, topologies, wait_until
from support.redisson import Redisson, RedissonClient
from support.wire import channel, has_shards, subscribers

NAMES = ["plain", "{tag}:rest", "rest:{tag}", "blank and ü", "line\nend"]
# In a cluster Redisson acquires these, but cannot release them (W-28 of the wire format).
NAMES += [] if topologies.NAME.startswith("cluster") else ["open{brace", "a{}b", "closing}brace"]


def test_owners_are_distinguished(
    java: Redisson, ours: redlatch.Client, theirs: RedissonClient, server: RedisServer, name: str
) -> None:
    """The hash has the owner of each side. The version of its uuid shows which library it is."""
    lock, thread = ours.lock(name), java.thread()
    theirs.lock(name).call(thread, "lock")
    assert lock.state().owner == theirs.owner(thread) and theirs.owner(thread)[14] == "4"
    theirs.lock(name).call(thread, "unlock")
    lock.acquire()
    owner = lock.state().owner
    assert owner is not None and owner[14] == "8"
    assert server.admin.hgetall(name) == {owner.encode(): b"1"}
    assert theirs.lock(name).call(thread, "isHeldByCurrentThread") is False


@pytest.mark.parametrize("form", NAMES)
def test_every_name_is_the_same_lock(
    form: str, java: Redisson, ours: redlatch.Client, theirs: RedissonClient, server: RedisServer, name: str
) -> None:
    """With any braces in a name, key and channel are the same for both sides, so each wakes the other."""
    full = f"{form}:{name}"
    with_redlatch, with_redisson = ours.lock(full), theirs.lock(full)
    thread = java.thread()
    with_redlatch.acquire()
    waiting = with_redisson.start(thread, "lock")
    wait_until(lambda: subscribers(server, full) > 0, message="Redisson to listen where we publish")
    with_redlatch.release()
    waiting.result()
    assert not with_redlatch.acquire(blocking=False)
    with_redisson.call(thread, "unlock")


@pytest.mark.parametrize("ours_first", [True, False], ids=["our-lease", "their-lease"])
def test_a_lease_that_ends(
    ours_first: bool, java: Redisson, ours: redlatch.Client, theirs: RedissonClient, name: str
) -> None:
    """A fixed lease ends without a message. The other side's waiter then gets the lock, and the old owner's release
    reports it."""
    us, them = OurParty(ours.lock(name)), TheirParty(java, theirs.lock(name))
    holder, waiter = (us, them) if ours_first else (them, us)
    started = time.monotonic()
    assert holder.acquire(lease=0.6)
    assert waiter.acquire()
    assert time.monotonic() - started >= 0.59
    with pytest.raises(NotHeld):
        holder.release()
    waiter.release()
    us.close()


@pytest.mark.parametrize("ours_first", [True, False], ids=["our-levels", "their-levels"])
def test_only_the_last_release_wakes(
    ours_first: bool, java: Redisson, ours: redlatch.Client, theirs: RedissonClient, server: RedisServer, name: str
) -> None:
    """A release that leaves a hold count publishes no message, and the other side's waiter goes on waiting."""
    us, them = OurParty(ours.lock(name)), TheirParty(java, theirs.lock(name))
    holder, waiter = (us, them) if ours_first else (them, us)
    listener: Any = server.client().pubsub()
    (listener.ssubscribe if has_shards(server) else listener.subscribe)(channel(name))
    assert listener.get_message(timeout=5) is not None
    assert holder.acquire() and holder.acquire()
    attempt = waiter.start()
    holder.release()
    assert listener.get_message(timeout=0.2) is None and not attempt.done
    holder.release()
    message = listener.get_message(timeout=5)
    assert message is not None and message["data"] == b"0"
    assert attempt.result() is True
    waiter.release()
    us.close()
    listener.close()


def test_a_redisson_that_slept(
    ours: redlatch.Client, make_redisson: Callable[[], Redisson], server: RedisServer, name: str
) -> None:
    """A stopped Redisson loses its lock to us when its lease ends. When it goes on, it neither renews nor releases our
    hold."""
    sleeper = make_redisson()
    client = sleeper.connect(server.url, lockWatchdogTimeout=1_000)
    java_lock = client.lock(name).on(1)
    java_lock.lock()
    sleeper.pause()
    lock = ours.lock(name)
    assert lock.acquire(timeout=10, lease=20)
    sleeper.resume()
    assert java_lock.start("unlock").error().kind == "IllegalMonitorStateException"
    assert lock.hold_count() == 1 and 10 < lock.state().ttl <= 20
    lock.release()

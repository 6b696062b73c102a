# SPDX-License-Identifier: Apache-2.0
"""redlatch's plain lock with those of Go, Node and Python libraries: they exclude each other, and wake each other."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from typing import Callable, Iterator

import pytest
import redlatch
from parties import NotHeld, OurParty, Task
from plain_peers import PLAIN_PEERS, PlainPeer
from support import RedisServer, wait_until

# python-redis-lock puts this before the name. The others use the name unchanged.
TEMPLATES = {"python-redis-lock": "lock:{name}"}
LEASE = 20.0
# Both sides poll every 0.25 s or more often.
SEEN = 2.0

every_library = pytest.mark.parametrize("library", PLAIN_PEERS)


@pytest.fixture
def them(library: str, server: RedisServer, name: str) -> Iterator[PlainPeer]:
    """A handle of the other library's lock."""
    with closing(PLAIN_PEERS[library](server.url, name)) as opened:
        yield opened


def our_lock(client: redlatch.Client, library: str, name: str) -> redlatch.Lock:
    """Returns redlatch's lock at the same key."""
    return client.plain_lock(name, TEMPLATES.get(library, "{name}"), owner="handle")


@pytest.fixture
def us(library: str, ours: redlatch.Client, name: str) -> Iterator[OurParty]:
    """A redlatch thread with the same lock."""
    with closing(OurParty(our_lock(ours, library, name))) as party:
        yield party


def start(call: Callable[[], object]) -> Task:
    """Starts a call on a thread of its own."""
    task = Task(call)
    threading.Thread(target=task.run, name="interop-task", daemon=True).start()
    return task


@every_library
def test_the_key_is_theirs(library: str, us: OurParty, them: PlainPeer, server: RedisServer) -> None:
    """Both write one string at one key, with a lease."""
    assert them.acquire(0, LEASE)
    assert server.admin.keys() == [them.key.encode()]
    assert them.release()
    server.admin.delete(f"lock-signal:{them.key[len('lock:'):]}")  # by which python-redis-lock wakes its waiters
    assert us.acquire(wait=0)
    assert server.admin.keys() == [them.key.encode()]
    assert 0 < server.admin.pttl(them.key) <= 30_000
    us.release()


@every_library
def test_they_hold(library: str, us: OurParty, them: PlainPeer, server: RedisServer) -> None:
    """We are refused, wait, and notice their release soon, although they publish nothing."""
    assert them.acquire(0, LEASE)
    assert us.locked() and not us.acquire(wait=0) and not us.acquire(wait=0.2)
    with pytest.raises(NotHeld):
        us.release()
    attempt = us.start()
    time.sleep(0.3)
    assert not attempt.done
    released_at = time.monotonic()
    assert them.release()
    assert attempt.result() is True
    assert attempt.ended_at - released_at < SEEN
    us.release()
    assert not server.admin.exists(them.key)


@every_library
def test_we_hold(library: str, us: OurParty, them: PlainPeer, server: RedisServer) -> None:
    """They are refused, wait, and get the lock after our release. python-redis-lock waits on a list of its own, and
    rechecks only at its timeout."""
    assert us.acquire()
    assert not them.acquire(0, LEASE)
    waiting = start(lambda: them.acquire(3, LEASE))
    time.sleep(0.3)
    assert not waiting.done
    us.release()
    assert waiting.result() is True
    assert not us.acquire(wait=0)
    assert them.release()


@every_library
def test_a_lease_of_theirs_that_ends(library: str, us: OurParty, them: PlainPeer) -> None:
    """A waiter for a dead peer gets the lock when its lease ends. The peer's calls report the loss."""
    started = time.monotonic()
    assert them.acquire(0, 1)
    assert us.acquire()
    assert time.monotonic() - started >= 0.9
    assert not them.extend(LEASE) and not them.release()
    assert us.hold_count() == 1
    us.release()


@every_library
def test_a_lease_of_ours_that_ends(library: str, us: OurParty, them: PlainPeer) -> None:
    """The reverse. Our release reports the loss."""
    assert us.acquire(lease=0.5)
    assert them.acquire(10, LEASE)
    with pytest.raises(NotHeld):
        us.release()
    assert them.extend(LEASE) and them.release()


@every_library
def test_our_watchdog(
    library: str, make_ours: Callable[..., redlatch.Client], them: PlainPeer, server: RedisServer, name: str
) -> None:
    """Our lock is renewed while it is held. They wait for more than two leases without success."""
    lock = our_lock(make_ours(watchdog_lease=2.4), library, name)
    lock.acquire()
    assert not them.acquire(5, LEASE)
    assert lock.owned()
    lock.release()
    assert them.acquire(5, LEASE) and them.release()


# A waiter of python-redis-lock sleeps through our releases until its timeout, and may have no luck then.
@pytest.mark.parametrize("library", sorted(set(PLAIN_PEERS) - {"python-redis-lock"}))
def test_many_turns(
    library: str, make_ours: Callable[..., redlatch.Client], server: RedisServer, name: str
) -> None:
    """Two threads of each side take turns. Never are two inside."""
    inside = []
    turns = {"ours": 0, "theirs": 0}

    def enter(who: str) -> None:
        inside.append(who)
        assert inside == [who], "somebody else is inside"
        turns[who] += 1
        inside.clear()

    def ours_turns() -> None:
        lock = our_lock(make_ours(), library, name)
        for _ in range(10):
            with lock:
                enter("ours")

    def their_turns() -> None:
        with closing(PLAIN_PEERS[library](server.url, name)) as peer:
            for _ in range(10):
                assert peer.acquire(20, LEASE)
                enter("theirs")
                assert peer.release()

    tasks = [start(turn) for turn in (ours_turns, their_turns, ours_turns, their_turns)]
    for task in tasks:
        task.result(60.0)
    assert turns == {"ours": 20, "theirs": 20}
    wait_until(lambda: not server.admin.exists(name))

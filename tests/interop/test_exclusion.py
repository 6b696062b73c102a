# SPDX-License-Identifier: Apache-2.0
"""Every kind, both directions: one side holds; the other waits and is woken, or gives up."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, List

import pytest
import redlatch
from kinds import KINDS, Kind
from parties import WOKEN, AlreadyHeld, Attempt, NotHeld, OurParty, Party, TheirParty, wait_parked
from support import Monitor, RedisServer
from support.redisson import Redisson, RedissonClient
from support.wire import addresses

# How long a parked waiter must send nothing.
SILENCE = 1.0
LEASE = 3.0
TURNS = 20
# If a thread of Redisson is about to sleep when a writer's message comes, it sleeps until the lease ends.
TURNS_LEASE = 10.0

MakeOurs = Callable[..., OurParty]
MakeTheirs = Callable[..., TheirParty]


def start_waiting(waiter: Party, kind: Kind, monitor: Monitor, name: str, rechecks: bool = True) -> Attempt:
    """Lets a party wait. The party is parked on return, if waiters of its kind park."""
    mark = monitor.mark()
    attempt = waiter.start()
    if kind.pushes:
        wait_parked(monitor, mark, name, rechecks)
    if isinstance(waiter, TheirParty) and kind.theirs in (RedissonClient.read_lock, RedissonClient.write_lock):
        waiter.wait_asleep()
    return attempt


def release_and_wake(holder: Party, attempt: Attempt) -> float:
    """Releases a lock with a waiter. Returns how long the waiter took to get it."""
    assert not attempt.done
    released_at = time.monotonic()
    holder.release()
    assert attempt.result() is True
    assert attempt.ended_at - released_at < WOKEN
    return attempt.ended_at - released_at


def test_ours_holds_and_theirs_waits(
    kind_name: str,
    our_party: MakeOurs,
    their_party: MakeTheirs,
    monitor: Monitor,
    note_seconds: Callable[[str, float], None],
    name: str,
) -> None:
    """Redisson is refused and waits, and our release wakes it."""
    kind = KINDS[kind_name]
    holder, waiter = our_party(), their_party()
    assert holder.acquire()
    assert not kind.requested or (holder if kind.shared else waiter).locked()
    assert not waiter.acquire(wait=0)
    attempt = start_waiting(waiter, kind, monitor, name)
    note_seconds(f"{kind_name}: our release wakes Redisson", release_and_wake(holder, attempt))
    assert not holder.acquire(wait=0)
    waiter.release()
    assert not kind.requested or not holder.locked()


def test_theirs_holds_and_ours_waits(
    kind_name: str,
    our_party: MakeOurs,
    their_party: MakeTheirs,
    server: RedisServer,
    ours: redlatch.Client,
    monitor: Monitor,
    note_seconds: Callable[[str, float], None],
    name: str,
) -> None:
    """We are refused and wait without a command, and Redisson's release wakes us."""
    kind = KINDS[kind_name]
    holder, waiter = their_party(), our_party()
    assert holder.acquire()
    assert not kind.requested or (holder if kind.shared else waiter).locked()
    assert not waiter.acquire(wait=0)
    attempt = start_waiting(waiter, kind, monitor, name)
    if kind.pushes:
        parked, known = monitor.mark(), addresses(server, ours)
        time.sleep(SILENCE)  # nothing may be sent in this time
        reported = [entry.arguments for entry in monitor.top_level(parked) if entry.client in known]
        assert reported == [], "a parked waiter sends nothing"
    note_seconds(f"{kind_name}: Redisson's release wakes us", release_and_wake(holder, attempt))
    assert not holder.acquire(wait=0)
    waiter.release()
    assert not kind.requested or not holder.locked()


@pytest.mark.kinds_with(reentrant=True)
@pytest.mark.parametrize("ours_first", [True, False], ids=["ours-holds", "theirs-holds"])
def test_reentry(
    kind_name: str, ours_first: bool, our_party: MakeOurs, their_party: MakeTheirs, server: RedisServer, name: str
) -> None:
    """The hold count is on the server, and the other side is excluded until the last release."""
    kind = KINDS[kind_name]
    holder: Party = our_party() if ours_first else their_party()
    other: Party = their_party() if ours_first else our_party()
    for level in (1, 2, 3):
        assert holder.acquire()
        assert not kind.requested or holder.hold_count() == level
        assert kind.counts(server, name) == [level]
    for level in (2, 1):
        holder.release()
        assert not kind.requested or holder.hold_count() == level
        assert kind.counts(server, name) == [level]
        assert not other.acquire(wait=0)
    holder.release()
    assert kind.counts(server, name) == []
    assert other.acquire(wait=0)
    with pytest.raises(NotHeld):
        holder.release()
    other.release()


@pytest.mark.kinds_with(reentrant=False)
@pytest.mark.parametrize("ours_first", [True, False], ids=["ours-holds", "theirs-holds"])
def test_no_reentry(kind_name: str, ours_first: bool, our_party: MakeOurs, their_party: MakeTheirs) -> None:
    """A second acquire by the owner is an error and leaves the hold unchanged. One release frees the lock."""
    holder: Party = our_party() if ours_first else their_party()
    other: Party = their_party() if ours_first else our_party()
    assert holder.acquire()
    for wait in (None, 0, 0.2):
        with pytest.raises(AlreadyHeld):
            holder.acquire(wait=wait)
    assert holder.held() and not other.acquire(wait=0)
    holder.release()
    assert other.acquire(wait=0)
    other.release()


def test_watchdogs_and_timeouts(
    kind_name: str,
    make_ours: Callable[..., redlatch.Client],
    our_party: MakeOurs,
    their_party: MakeTheirs,
    java: Redisson,
    server: RedisServer,
    name: str,
) -> None:
    """Each side's watchdog keeps a lock while the other side waits for more than two leases and gives up."""
    our_client = make_ours(watchdog_lease=LEASE)
    their_client = java.connect(server.url, lockWatchdogTimeout=round(LEASE * 1000))
    held_by_us, held_by_them = f"{name}:1", f"{name}:2"
    holders: List[Party] = [our_party(held_by_us, our_client), their_party(held_by_them, their_client)]
    waiters: List[Party] = [their_party(held_by_us, their_client), our_party(held_by_them, our_client)]
    assert all(holder.acquire() for holder in holders)
    started = time.monotonic()
    attempts = [waiter.start(wait=2.2 * LEASE) for waiter in waiters]
    for attempt, holder in zip(attempts, holders):
        assert attempt.result() is False
        assert attempt.ended_at - started >= 2.2 * LEASE - 0.1
        assert holder.held()
    for waiter, holder in zip(waiters, holders):
        holder.release()
        assert waiter.acquire(wait=0), "nothing is left of a wait that was given up"
        waiter.release()
    their_client.close()


def test_a_short_wait(kind_name: str, our_party: MakeOurs, their_party: MakeTheirs) -> None:
    """A waiter that gives up leaves nothing behind that excludes the other side or itself."""
    our_side, their_side = our_party(), their_party()
    for holder, waiter in ((our_side, their_side), (their_side, our_side)):
        assert holder.acquire()
        assert not waiter.acquire(wait=0.2)
        holder.release()
        assert holder.acquire(wait=0)
        holder.release()
        assert waiter.acquire(wait=0)
        waiter.release()


@pytest.mark.kinds_with(shared=False, turns=True)
def test_many_turns(
    kind_name: str,
    make_ours: Callable[..., redlatch.Client],
    our_party: MakeOurs,
    their_party: MakeTheirs,
    java: Redisson,
    server: RedisServer,
    name: str,
) -> None:
    """Three threads of each side take turns. Never are two inside, and all get their turns."""
    our_client = make_ours(watchdog_lease=TURNS_LEASE)
    their_client = java.connect(server.url, lockWatchdogTimeout=round(TURNS_LEASE * 1000))
    inside: List[Party] = []
    taken: List[Party] = []

    def take_turns(party: Party) -> None:
        for _ in range(TURNS):
            assert party.acquire()
            inside.append(party)
            assert inside == [party], "somebody else is inside"
            taken.append(party)
            inside.clear()
            party.release()

    parties: List[Party] = []
    for _ in range(3):
        parties += [our_party(name, our_client), their_party(name, their_client)]
    with ThreadPoolExecutor(len(parties)) as pool:
        for turns in [pool.submit(take_turns, party) for party in parties]:
            turns.result()
    assert {party: taken.count(party) for party in parties} == dict.fromkeys(parties, TURNS)
    their_client.close()

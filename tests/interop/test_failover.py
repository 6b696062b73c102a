# SPDX-License-Identifier: Apache-2.0
"""Another server becomes the master while one side holds and the other waits. Both respect the hold on the new master,
it is renewed there, and each side's release wakes the other.

All that is held was replicated before. Played on the topologies whose clients find the new master.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest
import redlatch
from kinds import KINDS, members
from parties import WOKEN, Attempt, NotHeld, OurParty, Party, Task, TheirParty
from support import RedisServer, topologies, wait_until
from support.peers import PeerError
from support.redisson import OLDER, Redisson, RedissonClient
from support.topologies import Topology
from support.wire import channels_about
from test_exclusion import release_and_wake
from test_fair import line_up, queue

KIND_NAMES = ["mutex", "fenced", "fair", "write", "we-read-they-write", "we-write-they-read", "spin", "group", "multi",
              *([] if OLDER else ["non-reentrant"])]
# Renewed every 6 s: often enough for a test to wait for it. Longer than the time without a master.
LEASE = 18.0
# From the end of a master until clients of both sides have found the next one, on a busy machine.
MOVED = 45.0
# The timeout of our waiters, so that a failed test ends.
GIVEN_UP = 90.0
DOWN_AFTER_MS = 1_000

pytestmark = pytest.mark.timeout(300)
in_each_way = pytest.mark.parametrize("way", topologies.WAYS)


@pytest.fixture
def topology(tmp_path: Path) -> Iterator[Topology]:
    """Servers for one test."""
    with topologies.make(topologies.NAME, tmp_path, DOWN_AFTER_MS) as started:
        yield started


@pytest.fixture
def ours(topology: Topology) -> Iterator[redlatch.Client]:
    """Our client."""
    with redlatch.connect(topology.master.url, watchdog_lease=LEASE) as client:
        yield client


@pytest.fixture
def theirs(topology: Topology, java: Redisson) -> Iterator[RedissonClient]:
    """Redisson's client."""
    with closing(java.connect(topology.master.url, lockWatchdogTimeout=round(LEASE * 1000))) as client:
        yield client


class Clients:
    """Both sides' clients, with probes that show whether they have moved to a server."""

    def __init__(self, stack: ExitStack, ours: redlatch.Client, theirs: RedissonClient) -> None:
        self.ours, self.theirs, self._stack = ours, theirs, stack
        self._probes: Dict[str, Party] = {"ours": self.party("mutex", "ours", True),
                                         "theirs": self.party("mutex", "theirs", False)}

    def party(self, kind: str, name: str, of_ours: bool) -> Party:
        """Returns a thread of one side with a lock."""
        if of_ours:
            return self._stack.enter_context(closing(OurParty(KINDS[kind].ours(self.ours, name))))
        return TheirParty(self.theirs.java, KINDS[kind].theirs(self.theirs, name))

    def wait_for_move(self, master: RedisServer) -> None:
        """Waits until the locks that either side acquires are on the new master."""
        for side, probe in self._probes.items():
            wait_until(lambda side=side, probe=probe: acquires_there(probe, master, side), MOVED, f"{side} to move")


def acquires_there(probe: Party, server: RedisServer, name: str) -> bool:
    """Returns whether a free lock is acquired on a server. Errors and losses count as no: there may be no single master
    at the time."""
    try:
        if not probe.acquire(wait=0):
            return False
        there = bool(server.admin.exists(name))
        probe.release()
    except (redlatch.RedlatchError, PeerError, NotHeld):
        return False
    return there


@pytest.fixture
def clients(ours: redlatch.Client, theirs: RedissonClient) -> Iterator[Clients]:
    """Both sides' clients."""
    with ExitStack() as stack:
        yield Clients(stack, ours, theirs)


def wait_listening(server: RedisServer, names: List[str]) -> None:
    """Waits until each name has a subscriber."""
    wait_until(lambda: all(channels_about(server, name) for name in names), MOVED,
               lambda: f"waiters for {[name for name in names if not channels_about(server, name)]} to listen")


class Scene:
    """One kind: a holder, and of the other side a waiter and a rival that only tries."""

    def __init__(self, kind: str, name: str, clients: Clients, ours_holds: bool) -> None:
        self.name = f"{name}:{kind}"
        self.keys = members(self.name) if kind == "multi" else [self.name]
        # The channels that the waiter is subscribed to. A waiter for a multi lock is subscribed to that of one member.
        self.channels = [self.name] if KINDS[kind].pushes and kind != "multi" else []
        self.holder = clients.party(kind, self.name, ours_holds)
        self.waiter, self.rival = (clients.party(kind, self.name, not ours_holds) for _ in range(2))
        assert self.holder.acquire()
        self._pushes = KINDS[kind].pushes
        self.attempt = self._start(self.waiter)

    def _start(self, waiter: Party) -> Attempt:
        """Lets a party wait. A Redisson thread sleeps on return, unless waiters of its kind poll."""
        attempt = waiter.start()
        if isinstance(waiter, TheirParty) and self._pushes:
            waiter.wait_asleep()
        return attempt

    def is_held(self, master: RedisServer) -> bool:
        """Returns whether a master has all keys, the waiter waits, and the rival is refused."""
        there = all(master.admin.exists(key) for key in self.keys)
        return there and not self.attempt.done and not self.rival.acquire(wait=0)

    def go_on(self, master: RedisServer) -> None:
        """Each side's release wakes the other."""
        release_and_wake(self.holder, self.attempt)
        self.hand_back(master)

    def hand_back(self, master: RedisServer) -> None:
        """Now the former waiter holds. Its release wakes the other side, and everything is free at the end."""
        assert not self.holder.acquire(wait=0)
        attempt = self._start(self.holder)
        wait_listening(master, self.channels)
        release_and_wake(self.waiter, attempt)
        assert not self.rival.acquire(wait=0)
        self.holder.release()
        assert self.rival.acquire(wait=0)
        self.rival.release()


def wait_renewed(server: RedisServer, names: List[str]) -> None:
    """Waits until each lease has been renewed."""
    lowest: Dict[str, int] = {}
    renewed: List[str] = []

    def all_renewed() -> bool:
        for name in names:
            left: Any = server.admin.pttl(name)
            assert left > 0, f"{name} has no lease any more"
            lowest[name] = min(lowest.get(name, left), left)
            if left > lowest[name] and name not in renewed:
                renewed.append(name)
        return len(renewed) == len(names)

    wait_until(all_renewed, LEASE + 5.0, lambda: f"renewals of all of {names}; there were those of {renewed}")


@in_each_way
@pytest.mark.parametrize("ours_holds", [True, False], ids=["ours-holds", "theirs-holds"])
def test_holds_are_respected_and_waiters_go_on(
    topology: Topology, clients: Clients, name: str, ours_holds: bool, way: str
) -> None:
    """All kinds at once: refused, renewed and woken on the new master."""
    scenes = [Scene(kind, name, clients, ours_holds) for kind in KIND_NAMES]
    keys = [key for scene in scenes for key in scene.keys]
    channels = [name for scene in scenes for name in scene.channels]
    wait_listening(topology.master, channels)
    wait_until(topology.in_step)
    master = topology.change(way)
    clients.wait_for_move(master)
    assert [scene.name for scene in scenes if not scene.is_held(master)] == []
    wait_listening(master, channels)
    wait_renewed(master, keys)
    for scene in scenes:
        scene.go_on(master)
    assert [each for each in keys if master.admin.exists(each)] == []


@in_each_way
def test_permits_and_counts_go_on(
    topology: Topology, clients: Clients, java: Redisson, name: str, way: str
) -> None:
    """Semaphores and latches of either side, with a waiter of the other. Each side's release or count-down wakes it."""
    names = [f"{name}:{what}" for what in ("our-permit", "their-permit", "our-count", "their-count", "our-lease",
                                           "their-lease")]
    our_permit, their_permit = (clients.ours.semaphore(each) for each in names[:2])
    our_count, their_count = (clients.ours.latch(each) for each in names[2:4])
    our_leased, their_leased = (clients.ours.permit_semaphore(each) for each in names[4:])
    made = [*map(clients.theirs.semaphore, names[:2]), *map(clients.theirs.latch, names[2:4]),
            *map(clients.theirs.permit_semaphore, names[4:])]
    givers, waiters = ([each.on(java.thread()) for each in made] for _ in range(2))
    assert our_permit.try_set_permits(1) and our_permit.acquire() and their_permit.try_set_permits(1)
    givers[1].acquire()
    assert our_count.try_set_count(1) and givers[3].trySetCount(1)
    assert our_leased.try_set_permits(1) and their_leased.try_set_permits(1)
    our_lease, their_lease = our_leased.acquire(), givers[5].acquire()
    assert our_lease is not None
    woken: List[Any] = [waiters[0].start("acquire"), Task(lambda: their_permit.acquire(timeout=GIVEN_UP)),
                        waiters[2].start("await"), Task(lambda: their_count.wait(timeout=GIVEN_UP)),
                        waiters[4].start("acquire"), Task(lambda: their_leased.acquire(timeout=GIVEN_UP))]
    with ThreadPoolExecutor(3) as pool:
        for task in woken[1::2]:
            pool.submit(task.run)
        wait_listening(topology.master, names)
        wait_until(topology.in_step)
        master = topology.change(way)
        clients.wait_for_move(master)
        assert [our_permit.available(), givers[0].availablePermits(), givers[1].availablePermits()] == [0, 0, 0]
        assert [our_count.count(), givers[2].getCount(), givers[3].getCount()] == [1, 1, 1]
        assert [our_leased.available(), givers[4].availablePermits(), givers[5].availablePermits()] == [0, 0, 0]
        wait_listening(master, names)
        assert not any(task.done for task in woken)
        gives: List[Callable[[], Any]] = [our_permit.release, givers[1].release, our_count.count_down,
                                          givers[3].countDown, our_lease.release,
                                          lambda: givers[5].release(their_lease)]
        for give, task in zip(gives, woken):
            given_at = time.monotonic()
            give()
            assert task.result() is not False  # Java's acquire() and await() return nothing, or an id
            assert task.ended_at - given_at < WOKEN
    assert [our_permit.available(), their_permit.available()] == [0, 0]
    woken[5].result().release()
    assert [our_leased.available(), their_leased.available()] == [0, 1]


@in_each_way
def test_a_mixed_queue_keeps_its_order(topology: Topology, clients: Clients, name: str, way: str) -> None:
    """Waiters of both sides get a fair lock in the order of their arrival, each when the one before releases."""
    before = clients.party("fair", name, True)
    assert before.acquire()
    waiters = [clients.party("fair", name, of_ours) for of_ours in (False, True, False, True)]
    attempts = line_up(topology.master, name, waiters)
    wait_until(topology.in_step)
    master = topology.change(way)
    clients.wait_for_move(master)
    wait_until(lambda: len(channels_about(master, name)) == len(waiters), MOVED, "each waiter to listen")
    assert len(queue(master, name)) == len(waiters)
    for waiter, attempt in zip(waiters, attempts):
        release_and_wake(before, attempt)
        before = waiter
        assert [other.done for other in attempts].count(True) == waiters.index(waiter) + 1
    before.release()
    assert queue(master, name) == []


@in_each_way
def test_tokens_go_on_rising(
    topology: Topology, clients: Clients, java: Redisson, name: str, way: str
) -> None:
    """A fenced lock has one counter for both sides, on the new master, too."""
    lock, java_lock = clients.ours.fenced_lock(name), clients.theirs.fenced_lock(name).on(java.thread())

    def tokens() -> List[int]:
        with lock as hold:
            found = [int(hold.token or 0)]
        found.append(java_lock.lockAndGetToken())
        java_lock.unlock()
        return found

    seen = tokens()
    wait_until(topology.in_step)
    clients.wait_for_move(topology.change(way))
    seen += tokens()
    assert seen == [1, 2, 3, 4]

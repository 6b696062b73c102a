# SPDX-License-Identifier: Apache-2.0
"""RedLocks over three servers with Redisson's, both directions: exclusion, waiting, death, force release.

Redisson's RedLock is a plain lock on each server. It has no forceUnlock of the whole; its members have one.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Callable, Iterator, List

import pytest
import redlatch
from parties import OurParty, wait_free
from support import RedisServer, bound, wait_until
from support.peers import PeerError
from support.redisson import OnThread, Redisson, RedissonClient

# The watchdog lease of processes that are killed.
LEASE = 2.4
# A waiter that nothing wakes rechecks after five seconds.
BY_ITSELF = 4.5

OpenOurs = Callable[..., List[redlatch.Client]]
OpenTheirs = Callable[..., List[RedissonClient]]


@pytest.fixture(scope="module")
def servers() -> Iterator[List[RedisServer]]:
    """Three servers, which all tests of this file share."""
    with ExitStack() as stack:
        yield [stack.enter_context(RedisServer()) for _ in range(3)]


@pytest.fixture
def open_ours(servers: List[RedisServer]) -> Iterator[OpenOurs]:
    """Opens a redlatch client for each server."""
    with ExitStack() as stack:
        yield lambda **options: [stack.enter_context(redlatch.connect(each.url, **options)) for each in servers]


@pytest.fixture
def open_theirs(java: Redisson, servers: List[RedisServer]) -> Iterator[OpenTheirs]:
    """Opens a Redisson client for each server."""
    with ExitStack() as stack:
        yield lambda **options: [stack.enter_context(closing(java.connect(each.url, **options))) for each in servers]


def our_red(clients: List[redlatch.Client], name: str, **options: Any) -> redlatch.RedLock:
    """Returns redlatch's RedLock."""
    return redlatch.redlock(*(client.lock(name) for client in clients), **options)


def their_red(java: Redisson, clients: List[RedissonClient], name: str) -> OnThread:
    """Returns Redisson's RedLock, on a thread of its own."""
    return clients[0].red_lock(*(client.lock(name) for client in clients)).on(java.thread())


def listening(clients: List[redlatch.Client]) -> bool:
    """Returns whether a redlatch client waits for a message."""
    return any(client.stats()["subscriptions"] for client in clients)


def hold_on_all(lock: redlatch.RedLock, servers: List[RedisServer], name: str) -> redlatch.Hold:
    """Acquires the lock on every server. A grant without a slow server is released, and the acquire is repeated."""

    def held() -> bool:
        lock.acquire()
        if all(server.admin.exists(name) for server in servers):
            return True
        lock.release()
        return False

    wait_until(held, message="all three to take part")
    hold = lock.held()
    assert hold is not None
    return hold


def test_each_waits_for_the_other(
    java: Redisson, servers: List[RedisServer], open_ours: OpenOurs, open_theirs: OpenTheirs, name: str
) -> None:
    """While one side holds, the other waits, and it gets the lock after the release."""
    clients = open_ours()
    theirs, party = their_red(java, open_theirs(), name), OurParty(our_red(clients, name, owner="handle"))
    theirs.lock()
    assert not our_red(clients, name).acquire(blocking=False)
    attempt = party.start()
    wait_until(lambda: listening(clients), message="ours to wait")
    assert not attempt.done
    theirs.unlock()
    assert attempt.result(BY_ITSELF) is True, "woken: it would look by itself later"
    assert not theirs.tryLock()
    waiting = theirs.start("lock")
    party.release()
    waiting.result()
    assert not our_red(clients, name).acquire(blocking=False)
    theirs.unlock()
    party.close()
    wait_free(servers, name)


def test_ours_dies(java: Redisson, servers: List[RedisServer], open_theirs: OpenTheirs, name: str) -> None:
    """When the leases have ended, Redisson gets what a killed process of ours held."""
    theirs = their_red(java, open_theirs(), name)
    program = str(Path(__file__).with_name("our_red_holder.py"))
    command = [sys.executable, program, name, str(LEASE), *(server.url for server in servers)]
    with subprocess.Popen(bound(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"held\n"
            assert not theirs.tryLock()
            waiting = theirs.start("lock")
        finally:
            process.kill()
    waiting.result()
    theirs.unlock()
    wait_free(servers, name)


def test_theirs_dies(
    servers: List[RedisServer], make_redisson: Callable[[], Redisson], open_ours: OpenOurs, name: str
) -> None:
    """When the leases have ended, we get what a killed Redisson held."""
    clients = open_ours()
    doomed = make_redisson()
    peers = [doomed.connect(server.url, lockWatchdogTimeout=round(LEASE * 1000)) for server in servers]
    their_red(doomed, peers, name).lock()
    party = OurParty(our_red(clients, name))
    attempt = party.start()
    wait_until(lambda: listening(clients), message="ours to wait")
    doomed.kill()
    assert attempt.result() is True
    party.release()
    party.close()
    wait_free(servers, name)


def test_we_force_theirs(
    java: Redisson, servers: List[RedisServer], open_ours: OpenOurs, open_theirs: OpenTheirs, name: str
) -> None:
    """Our force release takes all of it from Redisson. Redisson's unlock reports nothing, and does not affect the next
    holder."""
    clients = open_ours()
    theirs, mine = their_red(java, open_theirs(), name), our_red(clients, name)
    theirs.lock()
    assert mine.force_release()
    wait_free(servers, name)
    with mine:
        theirs.unlock()
        assert mine.owned() and sum(server.admin.hlen(name) == 1 for server in servers) >= 2
    assert not mine.force_release()
    wait_free(servers, name)


def test_they_force_ours(
    java: Redisson, servers: List[RedisServer], open_ours: OpenOurs, open_theirs: OpenTheirs, name: str
) -> None:
    """forceUnlock of one member leaves us the majority; of two members, nothing. Our hold reports the loss, and our
    waiter is woken."""
    clients, waiters, peers = open_ours(watchdog_lease=LEASE), open_ours(), open_theirs()
    mine, thread = our_red(clients, name, owner="handle"), java.thread()
    with pytest.raises(PeerError, match="UnsupportedOperation"):
        their_red(java, peers, name).forceUnlock()
    hold = hold_on_all(mine, servers, name)
    party = OurParty(our_red(waiters, name))
    attempt = party.start()
    wait_until(lambda: listening(waiters), message="the waiter to wait")
    assert peers[0].lock(name).call(thread, "forceUnlock")
    assert not hold.lost_event.wait(LEASE) and mine.owned() and not attempt.done
    assert peers[1].lock(name).call(thread, "forceUnlock")
    assert attempt.result() is True
    assert hold.lost_event.wait(5 * LEASE) and not mine.owned()
    with pytest.raises(redlatch.LockLostError):
        mine.release()
    party.release()
    party.close()
    wait_free(servers, name)

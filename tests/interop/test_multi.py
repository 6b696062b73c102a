# SPDX-License-Identifier: Apache-2.0
"""Multi locks and RedLocks with Redisson's. On the server both are locks of single names, held at the same time."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack, closing
from typing import Any, Callable, Iterator, List

import pytest
import redlatch
from kinds import KINDS
from parties import WOKEN, OurParty, TheirParty, wait_free
from support import RedisServer, wait_until
from support.peers import PeerError
from support.redisson import OLDER, Redisson, RedissonClient, RedissonObject, ms

MakeServer = Callable[..., RedisServer]
# Redisson's multi lock waits for its first member only, and its rounds may fail, so only its own timeout bounds its
# wait.
THEIRS = 5.0


@pytest.fixture
def names(name: str) -> List[str]:
    """Three names."""
    return [f"{name}:{letter}" for letter in "abc"]


@pytest.fixture
def servers(make_server: MakeServer) -> List[RedisServer]:
    """Three servers."""
    return [make_server() for _ in range(3)]


@pytest.fixture
def open_ours() -> Iterator[Callable[..., List[redlatch.Client]]]:
    """Opens a redlatch client for each of several servers."""
    with ExitStack() as stack:
        yield lambda servers, **options: [
            stack.enter_context(redlatch.connect(server.url, **options)) for server in servers
        ]


@pytest.fixture
def open_theirs(java: Redisson) -> Iterator[Callable[..., List[RedissonClient]]]:
    """Opens a Redisson client for each of several servers."""
    with ExitStack() as stack:
        yield lambda servers, **options: [
            stack.enter_context(closing(java.connect(server.url, **options))) for server in servers
        ]


def our_multi(client: redlatch.Client, names: List[str], **options: Any) -> redlatch.MultiLock:
    """Returns redlatch's multi lock, of one client."""
    return redlatch.multi_lock(*(client.lock(each) for each in names), **options)


def their_multi(client: RedissonClient, names: List[str]) -> RedissonObject:
    """Returns Redisson's multi lock, of one client."""
    return client.multi_lock(*(client.lock(each) for each in names))


def held_by_nobody(server: RedisServer, names: List[str]) -> bool:
    """Returns whether all names are free."""
    return count_held(server, names) == 0


def count_held(server: RedisServer, names: List[str]) -> int:
    """Returns how many names are held. One command for each name, as a cluster needs it."""
    return sum(int(server.admin.exists(each)) for each in names)  # type: ignore[arg-type]


def test_lock_and_unlock(
    java: Redisson, ours: redlatch.Client, theirs: RedissonClient, server: RedisServer, names: List[str]
) -> None:
    """While one side holds with a lease of 10 s, the other does not get the multi lock, nor a lock of any of the
    names."""
    mine, other = our_multi(ours, names, lease=10), their_multi(theirs, names).on(java.thread())
    with mine:
        assert mine.owned() and not other.tryLock()
        for each in names:
            assert 9_000 < int(server.admin.pttl(each)) <= 10_000  # type: ignore[arg-type]
            assert not theirs.lock(each).call(java.thread(), "tryLock")
        assert all(server.admin.hlen(each) == 1 for each in names)
    assert not mine.owned() and held_by_nobody(server, names)
    other.lock(ms(10_000))
    assert mine.acquire(blocking=False) is False
    for each in names:
        assert not ours.lock(each).acquire(blocking=False)
    other.unlock()
    assert held_by_nobody(server, names)
    with mine:
        pass


def test_exactly_one_wins(
    java: Redisson, ours: redlatch.Client, theirs: RedissonClient, names: List[str]
) -> None:
    """Ten callers of both sides try once, with a lease of 10 s. One gets the lock."""
    results = [their_multi(theirs, names).start(java.thread(), "tryLock", ms(-1), ms(10_000)) for _ in range(5)]
    parties = [OurParty(our_multi(ours, names)) for _ in range(5)]
    attempts = [party.start(0, 10) for party in parties]
    assert sum(bool(each.result()) for each in [*results, *attempts]) == 1
    for party in parties:
        party.close()


def test_waiting_for_a_holder_of_three_seconds(
    java: Redisson, ours: redlatch.Client, theirs: RedissonClient, server: RedisServer, names: List[str]
) -> None:
    """When the lease of one side ends, the other gets all names, neither sooner nor much later."""
    mine, other = our_multi(ours, names), their_multi(theirs, names).on(java.thread())
    started = time.monotonic()
    other.lock(ms(3_000))
    assert mine.acquire() is True
    assert 2.8 < time.monotonic() - started < 4.5, "sooner than a look that knows of no lease"
    mine.release()
    started = time.monotonic()
    assert mine.acquire(lease=3) is True
    other.lock()
    assert 2.8 < time.monotonic() - started < 3.5 + THEIRS
    with pytest.raises(redlatch.LockLostError):
        mine.release()
    assert all(server.admin.exists(each) for each in names)
    other.unlock()


@pytest.mark.parametrize("held", [0, 1, 2])
def test_each_wakes_the_other(
    held: int,
    java: Redisson,
    ours: redlatch.Client,
    theirs: RedissonClient,
    server: RedisServer,
    names: List[str],
    note_seconds: Callable[[str, float], None],
) -> None:
    """A release of any one of the names wakes the other side's multi lock."""
    single, thread = theirs.lock(names[held]), java.thread()
    single.call(thread, "lock")
    party = OurParty(our_multi(ours, names))
    attempt = party.start()
    wait_until(lambda: ours.stats()["subscriptions"] == 1, message="ours to wait")
    released_at = time.monotonic()
    single.call(thread, "unlock")
    assert attempt.result() is True
    note_seconds("our multi lock, from their release", attempt.ended_at - released_at)
    assert attempt.ended_at - released_at < WOKEN
    waiting = their_multi(theirs, names).start(java.thread(), "lock")
    time.sleep(0.3)
    assert not waiting.done
    party.release()
    waiting.result()
    party.close()


def test_the_watchdog_of_each_keeps_all(
    java: Redisson,
    make_ours: Callable[..., redlatch.Client],
    open_theirs: Callable[..., List[RedissonClient]],
    server: RedisServer,
    names: List[str],
) -> None:
    """Without a lease all names are renewed while the other side waits."""
    client = make_ours(watchdog_lease=3.0)
    mine = our_multi(client, names)
    other = their_multi(open_theirs([server], lockWatchdogTimeout=3_000)[0], names).on(java.thread())
    for acquire, release, refused in (
        (mine.acquire, mine.release, lambda: other.tryLock(ms(5_000))),
        (other.lock, other.unlock, lambda: mine.acquire(timeout=5)),
    ):
        acquire()
        assert refused() is False
        release()
    assert held_by_nobody(server, names)


def test_their_multi_lock_leaves_a_counter_that_expires_and_ours_mends_it(
    java: Redisson, ours: redlatch.Client, theirs: RedissonClient, server: RedisServer, names: List[str]
) -> None:
    """Redisson's multi lock lets the fencing counter of a member expire (W-19). Ours never does, and removes the
    expiry."""
    counter = f"redisson_lock_token:{{{names[0]}}}"
    other = theirs.multi_lock(theirs.fenced_lock(names[0]), theirs.lock(names[1])).on(java.thread())
    other.lock(ms(10_000))
    assert int(server.admin.pttl(counter)) > 0  # type: ignore[arg-type]
    issued = int(server.admin.get(counter))  # type: ignore[arg-type]
    other.unlock()
    with redlatch.multi_lock(ours.fenced_lock(names[0]), ours.lock(names[1]), lease=5) as hold:
        assert hold.token == issued + 1 and server.admin.pttl(counter) == -1


# What redlatch's multi locks accept as members: no lock with a server queue, and no other composite lock.
JOINABLE = [name for name, kind in KINDS.items() if kind.joins]


@pytest.mark.parametrize("member", JOINABLE)
def test_a_member_of_each_kind(
    member: str,
    java: Redisson,
    ours: redlatch.Client,
    theirs: RedissonClient,
    server: RedisServer,
    name: str,
    note_seconds: Callable[[str, float], None],
) -> None:
    """Redisson's lock of each kind excludes our multi lock with a member of that kind, and wakes it; and the
    reverse."""
    kind, other = KINDS[member], f"{name}:other"
    party = OurParty(redlatch.multi_lock(ours.lock(other), kind.ours(ours, name)))
    them = TheirParty(java, kind.theirs(theirs, name))
    single = them.lock
    single.lock()
    assert not party.acquire(wait=0) and not server.admin.exists(other)
    attempt = party.start()
    wait_until(lambda: ours.stats()["subscriptions"] == 1, message="ours to wait")
    released_at = time.monotonic()
    single.unlock()
    assert attempt.result() is True
    assert attempt.ended_at - released_at < WOKEN
    note_seconds(f"our multi lock with {member}, from their release", attempt.ended_at - released_at)
    assert not single.tryLock()
    waiting = single.start("lock")
    if kind.theirs in (RedissonClient.read_lock, RedissonClient.write_lock):
        them.wait_asleep()
    time.sleep(0.2)
    assert not waiting.done
    party.release()
    waiting.result(WOKEN + THEIRS)
    assert not server.admin.exists(other)
    single.unlock()
    party.close()


def test_any_mix_of_kinds(
    java: Redisson, ours: redlatch.Client, theirs: RedissonClient, server: RedisServer, names: List[str]
) -> None:
    """Multi locks of both sides with members of different kinds on the same names exclude each other, and leave nothing
    behind."""
    readers, writers = f"{names[0]}:rw", f"{names[1]}:rw"
    mine = redlatch.multi_lock(
        ours.fenced_lock(names[0]),
        ours.spin_lock(names[1]),
        ours.lock(names[2], reentrant=False),
        ours.read_write_lock(readers).read,
        ours.read_write_lock(writers).write,
    )
    other = theirs.multi_lock(
        theirs.lock(names[0]),
        theirs.spin_lock(names[1]),
        (theirs.lock if OLDER else theirs.non_reentrant_lock)(names[2]),
        theirs.read_lock(readers),
        theirs.write_lock(writers),
    ).on(java.thread())
    everything = [*names, readers, writers]
    for _ in range(2):
        with mine:
            assert count_held(server, everything) == 5 and not other.tryLock()
            reader = theirs.read_lock(readers).on(java.thread())
            assert reader.tryLock() and not theirs.write_lock(readers).call(java.thread(), "tryLock")
            reader.unlock()
        assert held_by_nobody(server, everything)
        other.lock(ms(10_000))
        assert mine.acquire(blocking=False) is False and count_held(server, everything) == 5
        with ours.read_write_lock(readers).read:
            assert server.admin.hlen(readers) == 3
        other.unlock()
        assert held_by_nobody(server, everything)


def test_a_read_lock_that_their_multi_lock_extended_alone(
    java: Redisson, ours: redlatch.Client, theirs: RedissonClient, server: RedisServer, names: List[str]
) -> None:
    """Redisson's multi lock sets only the lease of a member's key. Our writer waits for its end, too."""
    other = theirs.multi_lock(theirs.read_lock(names[0]), theirs.lock(names[1])).on(java.thread())
    mine = redlatch.multi_lock(ours.lock(names[2]), ours.read_write_lock(names[0]).write)
    other.lock(ms(10_000))
    assert mine.acquire(timeout=0.5) is False and not server.admin.exists(names[2])
    party = OurParty(mine)
    attempt = party.start()
    wait_until(lambda: ours.stats()["subscriptions"] == 1, message="ours to wait")
    other.unlock()
    assert attempt.result() is True
    party.release()
    party.close()
    assert held_by_nobody(server, names)


@pytest.mark.parametrize("held", [0, 1, 2])
def test_three_servers(
    held: int,
    java: Redisson,
    servers: List[RedisServer],
    open_ours: Callable[..., List[redlatch.Client]],
    open_theirs: Callable[..., List[RedissonClient]],
    name: str,
) -> None:
    """A multi lock over three servers is not granted while the other side holds any one of them."""
    clients, peers = open_ours(servers), open_theirs(servers)
    mine = redlatch.multi_lock(*(client.lock(name) for client in clients))
    other = peers[0].multi_lock(*(peer.lock(name) for peer in peers)).on(java.thread())
    with mine:
        assert not other.tryLock() and not other.tryLock(ms(100))
    assert other.tryLock()
    assert not mine.acquire(blocking=False)
    other.unlock()
    with clients[held].lock(name):
        assert not other.tryLock()
    single = peers[held].lock(name).on(java.thread())
    single.lock()
    assert not mine.acquire(blocking=False) and not mine.acquire(timeout=0.4)
    single.unlock()
    wait_free(servers, name)


def test_red_locks(
    java: Redisson,
    servers: List[RedisServer],
    open_ours: Callable[..., List[redlatch.Client]],
    open_theirs: Callable[..., List[RedissonClient]],
    name: str,
) -> None:
    """Two of three servers held by the other side: refused. One of three: granted. Neither RedLock is granted while the
    other is held."""
    clients, peers = open_ours(servers), open_theirs(servers)
    mine = redlatch.redlock(*(client.lock(name) for client in clients))
    other = peers[0].red_lock(*(peer.lock(name) for peer in peers)).on(java.thread())
    with mine:
        assert not other.tryLock(ms(500), ms(10_000))
    assert other.tryLock(ms(500), ms(10_000))
    assert not mine.acquire(blocking=False)
    other.unlock()
    for taken, granted in ((2, False), (1, True)):
        singles = [peer.lock(name).on(java.thread()) for peer in peers[:taken]]
        for single in singles:
            single.lock()
        assert mine.acquire(blocking=False) is granted
        if granted:
            mine.release()
        for single in singles:
            single.unlock()
    wait_free(servers, name)


def test_a_red_lock_with_one_of_three_servers_down(
    java: Redisson,
    servers: List[RedisServer],
    open_ours: Callable[..., List[redlatch.Client]],
    open_theirs: Callable[..., List[RedissonClient]],
    name: str,
) -> None:
    """With one server down, it still locks and still excludes the other side."""
    clients, peers = open_ours(servers), open_theirs(servers, timeout=500, retryAttempts=0)
    mine = redlatch.redlock(*(client.lock(name) for client in clients))
    other = peers[0].red_lock(*(peer.lock(name) for peer in peers)).on(java.thread())
    servers[2].stop()
    with mine:
        assert not other.tryLock(ms(500), ms(10_000))
    wait_free(servers[:2], name)


@pytest.mark.timeout(400)
def test_a_hundred_turns_beside_redisson(
    java: Redisson,
    servers: List[RedisServer],
    open_ours: Callable[..., List[redlatch.Client]],
    open_theirs: Callable[..., List[RedissonClient]],
    name: str,
    note_seconds: Callable[[str, float], None],
) -> None:
    """Sixteen redlatch clients, half of them in the opposite order, and two multi locks of Redisson on one name: no
    deadlock.

    Redisson's multi locks keep their members while they wait for the rest, and never pause. So they get most turns, and
    their share is chance. Both sides have a number of turns to make; the time limit is for a side that makes none.
    """
    orders = [servers] * 8 + [servers[::-1]] * 8
    ours, theirs = [0] * len(orders), [0, 0]
    ours_beside = []
    started = time.monotonic()
    limit = started + 300

    def our_work(index: int, clients: List[redlatch.Client]) -> None:
        lock = redlatch.multi_lock(*(client.lock(name) for client in clients))
        while ours[index] < 100:
            with lock:
                ours[index] += 1

    def their_work(index: int, peers: List[RedissonClient]) -> None:
        lock = peers[0].multi_lock(*(peer.lock(name) for peer in peers)).on(java.thread())
        while theirs[index] < 200 and time.monotonic() < limit:
            try:
                if lock.tryLock(ms(2_000), ms(10_000)):
                    theirs[index] += 1
                    lock.unlock()
            except PeerError:
                continue  # an unlock of a member that its own round has released
        ours_beside.append(sum(ours))

    threads = [threading.Thread(target=our_work, args=(index, open_ours(order))) for index, order in enumerate(orders)]
    threads += [threading.Thread(target=their_work, args=(index, open_theirs(servers))) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, limit - time.monotonic()))
        assert not thread.is_alive(), f"all turns within 300 s; ours had {ours}, Redisson's {theirs}"
    note_seconds("100 turns of 16 clients beside 200 of two of Redisson", time.monotonic() - started)
    assert theirs == [200, 200] and max(ours_beside) > len(orders), "ours have turns while Redisson has its own"

# SPDX-License-Identifier: Apache-2.0
"""Fair locks with Redisson's RFairLock: order of arrival across both sides, waiters that die, and scenarios of
Redisson's own RedissonFairLockTest that no other test plays.

docs/proof/redisson.md names Redisson's test for each of these.
"""

from __future__ import annotations

import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from typing import Any, Callable, Iterator, List

import pytest
import redlatch
from parties import WOKEN, Attempt, NotHeld, OurParty, Party, TheirParty
from support import RedisServer, wait_until
from support.redisson import Redisson, RedissonClient
from test_suite_lock import count_under

ROUNDS = 5

MakeOurs = Callable[..., redlatch.Client]
MakeParty = Callable[[bool], Party]


def queue(server: RedisServer, name: str) -> List[str]:
    """Returns the waiters' owner ids, the first waiter first."""
    found: Any = server.admin.lrange(f"redisson_lock_queue:{{{name}}}", 0, -1)
    return [owner.decode() for owner in found]


def timeouts_in(server: RedisServer, name: str) -> List[float]:
    """Returns for each waiter, in the order of the queue, the seconds after which it may be removed from the front."""
    seconds, microseconds = server.admin.time()
    key = f"redisson_lock_timeout:{{{name}}}"
    found: Any = [server.admin.zscore(key, owner) for owner in queue(server, name)]
    return [score / 1000 - seconds - microseconds / 1e6 for score in found]


@pytest.fixture(params=[True, False], ids=["reentrant", "non-reentrant"])
def party(
    request: pytest.FixtureRequest, ours: redlatch.Client, theirs: RedissonClient, java: Redisson, name: str
) -> Iterator[MakeParty]:
    """Makes threads with the test's lock, of redlatch or of Redisson."""
    reentrant: bool = request.param
    with ExitStack() as stack:

        def make(of_ours: bool) -> Party:
            if of_ours:
                return stack.enter_context(closing(OurParty(ours.fair_lock(name, reentrant=reentrant))))
            return TheirParty(java, (theirs.fair_lock if reentrant else theirs.non_reentrant_fair_lock)(name))

        yield make


def line_up(server: RedisServer, name: str, waiters: List[Party]) -> List[Attempt]:
    """Lets parties wait, one after the other."""
    attempts = []
    already = len(queue(server, name))
    for length, waiter in enumerate(waiters, already + 1):
        attempts.append(waiter.start())
        wait_until(lambda expected=length: len(queue(server, name)) == expected, message="the next one to queue")
    return attempts


@pytest.mark.parametrize("ours_first", [True, False], ids=["ours-first", "theirs-first"])
def test_six_waiters_are_served_in_order_of_arrival(
    ours_first: bool, party: MakeParty, server: RedisServer, name: str
) -> None:
    """Waiters of Redisson and of redlatch alternate, in five rounds. Each gets the lock when the one before it
    releases, not sooner."""
    holder: Party = party(not ours_first)
    waiters = [party((number % 2 == 0) == ours_first) for number in range(6)]
    for _ in range(ROUNDS):
        assert holder.acquire()
        attempts = line_up(server, name, waiters)
        before = holder
        for waiter, attempt in zip(waiters, attempts):
            assert not attempt.done
            released_at = time.monotonic()
            before.release()
            assert attempt.result() is True
            assert attempt.ended_at - released_at < WOKEN
            assert [other.done for other in attempts].count(True) == attempts.index(attempt) + 1
            before = waiter
        before.release()
        assert not holder.locked() and queue(server, name) == []


def test_waiters_that_leave_disturb_nobody(party: MakeParty, server: RedisServer, name: str) -> None:
    """Timed waits of both sides end in the middle of the queue. The others keep their order."""
    holder = party(True)
    assert holder.acquire()
    staying = [party(number % 2 == 0) for number in range(4)]
    attempts = line_up(server, name, staying[:2])
    leaving = [party(True), party(False)]
    left = [leaver.start(wait=3.0) for leaver in leaving]  # the last two are behind them by then
    wait_until(lambda: len(queue(server, name)) == 4)
    attempts += line_up(server, name, staying[2:])
    assert [attempt.result() for attempt in left] == [False, False]
    wait_until(lambda: len(queue(server, name)) == 4)
    before: Party = holder
    for waiter, attempt in zip(staying, attempts):
        assert not attempt.done
        before.release()
        assert attempt.result() is True
        before = waiter
    before.release()


def test_a_redisson_that_died_at_the_head(
    make_redisson: Callable[[], Redisson], ours: redlatch.Client, server: RedisServer, name: str
) -> None:
    """We get its position when the timeout that it chose is over."""
    dying = make_redisson()
    client = dying.connect(server.url, fairLockWaitTimeout=1500)
    with closing(OurParty(ours.fair_lock(name))) as holder, closing(OurParty(ours.fair_lock(name))) as waiter:
        assert holder.acquire()
        TheirParty(dying, client.fair_lock(name)).start()
        wait_until(lambda: len(queue(server, name)) == 1)
        attempt = line_up(server, name, [waiter])[0]
        dying.kill()
        bound = timeouts_in(server, name)[0]
        started = time.monotonic()
        holder.release()
        assert attempt.result(timeout=bound + 10.0) is True
        assert attempt.ended_at - started < bound + 8.0
        waiter.release()


def test_ours_that_died_at_the_head(
    make_ours: MakeOurs, java: Redisson, theirs: RedissonClient, server: RedisServer, name: str
) -> None:
    """A Redisson thread behind it gets the lock when one of our scripts has removed it and notified the next."""
    client = make_ours(fair_timeout=1.0)
    dead = f"{str(uuid.uuid4())[:14]}8{str(uuid.uuid4())[15:]}:1"
    them = TheirParty(java, theirs.fair_lock(name))
    with closing(OurParty(client.fair_lock(name))) as holder:
        assert holder.acquire()
        server.admin.rpush(f"redisson_lock_queue:{{{name}}}", dead)
        server.admin.zadd(f"redisson_lock_timeout:{{{name}}}", {dead: time.time() * 1000 + 300_000})
        attempt = line_up(server, name, [them])[0]
        released_at = time.monotonic()
        holder.release()
        assert attempt.result() is True
        assert attempt.ended_at - released_at < WOKEN
        them.release()


def test_release_after_the_lease_says_so(
    java: Redisson, ours: redlatch.Client, theirs: RedissonClient, name: str
) -> None:
    """The waiter holds when the lease has ended. Our release reports the end of the lease; Redisson's release of a free
    lock succeeds."""
    us, them = OurParty(ours.fair_lock(name)), TheirParty(java, theirs.fair_lock(name))
    with closing(us):
        for holder, waiter in ((us, them), (them, us)):
            started = time.monotonic()
            assert holder.acquire(lease=0.6)
            assert waiter.acquire()
            assert 0.5 < time.monotonic() - started < WOKEN
            with pytest.raises(NotHeld):
                holder.release()
            waiter.release()
        assert us.acquire(lease=0.5)
        time.sleep(0.6)  # until the lease has ended
        with pytest.raises(NotHeld):
            us.release()


# ----------------------------------------------------------------------- scenarios of Redisson's own test, with ours --


def start_in_order(count: int, call: Callable[[int], None], arrived: Callable[[], int]) -> None:
    """Starts threads, each when the earlier ones have arrived. Returns when all have ended."""
    with ThreadPoolExecutor(count) as pool:
        under_way = []
        for number in range(count):
            under_way.append(pool.submit(call, number))
            wait_until(lambda expected=number + 1: arrived() >= expected, message="the next one to arrive")
        for done in under_way:
            done.result()


def test_leases_that_nobody_releases(ours: redlatch.Client, server: RedisServer, name: str) -> None:
    """Eight threads, each with a lease of 1 s. All get the lock in the order of their start within 11 s."""
    taken: List[int] = []
    # The handles are kept until the end: freeing one that owns a hold would release it.
    started = time.monotonic()
    locks = [ours.fair_lock(name, owner="handle") for _ in range(8)]

    def take(number: int) -> None:
        assert locks[number].acquire(timeout=10, lease=1)
        taken.append(number)

    start_in_order(8, take, lambda: len(taken) + len(queue(server, name)))
    assert taken == list(range(8))
    assert time.monotonic() - started < 11.0


def test_five_hundred_threads(make_ours: MakeOurs, name: str) -> None:
    """All of them get the lock once, with leases of their own."""
    client = make_ours()
    inside: List[int] = []
    taken: List[int] = []

    def take(number: int) -> None:
        with client.fair_lock(name, lease=5):
            inside.append(number)
            assert inside == [number]
            taken.append(number)
            inside.clear()

    threads = [threading.Thread(target=take, args=(number,)) for number in range(500)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert sorted(taken) == list(range(500))


def test_scores_do_not_drift(make_ours: MakeOurs, server: RedisServer, name: str) -> None:
    """After many waits that gave up, and with a dead waiter, no score is further ahead than the lease and one share for
    each position before it. Redisson's bound is one share for the first position; redlatch's leaves room for Redisson's
    shifts."""
    client, other = make_ours(), make_ours()
    holder = other.fair_lock(name)
    holder.acquire(lease=30)
    dead = f"{uuid.uuid4()}:1"
    server.admin.rpush(f"redisson_lock_queue:{{{name}}}", dead)
    server.admin.zadd(f"redisson_lock_timeout:{{{name}}}", {dead: time.time() * 1000 + 330_000})
    for _ in range(50):
        with suppress(redlatch.UnreachableError):  # no reply within that time, on a busy machine
            assert not client.fair_lock(name).acquire(timeout=0.01)
    wait_until(lambda: queue(server, name) == [dead], message="those who gave up to leave")
    with closing(OurParty(client.fair_lock(name))) as waiter:
        attempt = waiter.start()
        wait_until(lambda: len(queue(server, name)) == 2)
        first, second = timeouts_in(server, name)
        assert first <= 330.1 and second <= 30 + 2 * 300 + 31
        server.admin.lrem(f"redisson_lock_queue:{{{name}}}", 0, dead)
        server.admin.zrem(f"redisson_lock_timeout:{{{name}}}", dead)
        holder.release()
        assert attempt.result()
        waiter.release()


def test_nobody_behind_moves_when_one_leaves(make_ours: MakeOurs, server: RedisServer, name: str) -> None:
    """Of four waiters the second gives up. redlatch leaves the scores of the others unchanged, and the first gets the
    lock when it is released. Redisson would subtract the wait of the one that left."""
    client, other = make_ours(), make_ours()
    holder = other.fair_lock(name)
    holder.acquire(lease=30)
    with ExitStack() as stack:
        parties = [stack.enter_context(closing(OurParty(client.fair_lock(name)))) for _ in range(4)]
        attempts = line_up(server, name, [parties[0]])
        leaving = parties[1].start(wait=2.0)
        wait_until(lambda: len(queue(server, name)) == 2)
        attempts += line_up(server, name, list(parties[2:]))
        key = f"redisson_lock_timeout:{{{name}}}"
        places = queue(server, name)
        before = [server.admin.zscore(key, owner) for owner in places]
        steps = [later - sooner for sooner, later in zip(before, before[1:])]  # type: ignore[operator]
        assert all(step >= 300_000 for step in steps)
        assert leaving.result() is False
        wait_until(lambda: len(queue(server, name)) == 3)
        assert [server.admin.zscore(key, owner) for owner in queue(server, name)] == [before[0], *before[2:]]
        holder.release()
        for number, attempt in zip((0, 2, 3), attempts):
            assert attempt.result()
            parties[number].release()


def test_a_try_leaves_no_position(make_ours: MakeOurs, server: RedisServer, name: str) -> None:
    """A try, and a wait of 500 ms, while another client holds, leave no position."""
    holder, other = make_ours().fair_lock(name), make_ours().fair_lock(name)
    assert holder.acquire(blocking=False)
    assert not other.acquire(blocking=False)
    assert queue(server, name) == []
    assert not other.acquire(timeout=0.5)
    holder.release()
    assert other.acquire(blocking=False)
    other.release()


def test_arrival_order_of_many_clients(make_ours: MakeOurs, name: str) -> None:
    """Clients that start one after the other get the lock in that order."""
    taken: List[int] = []
    locks = [make_ours().fair_lock(name) for _ in range(6)]
    for lock in locks:  # opens connections and loads scripts
        with lock:
            pass
    opener = make_ours().fair_lock(name)
    opener.acquire()

    def take(number: int) -> None:
        with locks[number]:
            taken.append(number)
            time.sleep(0.05)  # makes the next ones wait

    with ThreadPoolExecutor(6) as pool:
        under_way = []
        for number in range(6):
            under_way.append(pool.submit(take, number))
            wait_until(lambda number=number: opener.state().waiters == number + 1)
        opener.release()
        for done in under_way:
            done.result()
    assert taken == list(range(6))


def test_concurrency(make_ours: MakeOurs, name: str) -> None:
    """Fifteen threads of one client; sixteen clients, a hundred times each; a hundred clients, once each."""
    client = make_ours()
    assert count_under([client.fair_lock(name) for _ in range(15)], 1, 0.001) == 15
    assert count_under([make_ours().fair_lock(name) for _ in range(16)], 100, 0.0002) == 1600
    assert count_under([make_ours().fair_lock(name) for _ in range(100)], 1, 0.001) == 100


def test_a_paused_server_leaves_nobody_behind(make_ours: MakeOurs, server: RedisServer, name: str) -> None:
    """Writes are paused for longer than the command timeout. A waiter goes on waiting, and the queue is empty at the
    end."""
    client, other = make_ours(command_timeout=0.5), make_ours()
    holder = other.fair_lock(name)
    holder.acquire()
    with closing(OurParty(client.fair_lock(name))) as waiter:
        server.admin.execute_command("CLIENT", "PAUSE", 2000, "WRITE")
        attempt = waiter.start(wait=20.0)
        time.sleep(1.0)  # twice the command timeout
        assert not attempt.done
        holder.release()
        assert attempt.result() is True
        waiter.release()
    wait_until(lambda: queue(server, name) == [])


def test_a_holder_that_is_forced_out(ours: redlatch.Client, name: str) -> None:
    """After a force release the lock is free."""
    lock = ours.fair_lock(name)
    lock.acquire()
    assert lock.force_release() and not lock.state().locked


def test_prefixed_names_reach_every_key(make_ours: MakeOurs, server: RedisServer, name: str) -> None:
    """As with Redisson's NameMapper, the queue is named after the full name."""
    client, other = make_ours(name_prefix="shop:"), make_ours(name_prefix="shop:")
    with client.fair_lock(name), closing(OurParty(other.fair_lock(name))) as waiter:
        attempt = waiter.start(wait=1.0)
        wait_until(lambda: len(queue(server, f"shop:{name}")) == 1)
        assert attempt.result() is False

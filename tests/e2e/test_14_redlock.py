# SPDX-License-Identifier: Apache-2.0
"""RedLocks: held on a majority of independent servers, whatever happens to the other servers."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from functools import partial
from typing import Any, Callable, List, Optional

import pytest
import redlatch
from steps import Call
from support import Proxy, RedisServer, wait_until
from support.wire import SCRIPTS, counts, fields, load_scripts, remaining_ms
from waiters import Waiting, hold_as_redisson, release_as_redisson

LEASE = 1.5
# A waiter that nothing wakes rechecks after five seconds.
BY_ITSELF = 4.5
OpenClients = Callable[..., List[redlatch.Client]]


def over(clients: List[redlatch.Client], name: str, **options: Any) -> redlatch.RedLock:
    """Returns a RedLock of one name on each of several clients."""
    return redlatch.redlock(*(client.lock(name) for client in clients), **options)


def holding(servers: List[RedisServer], name: str, level: int) -> int:
    """Returns on how many running servers the name has the hold count `level`. Late servers may be missing."""
    return sum(counts(server, name) == [level] for server in servers if server.running)


def load_all_scripts(servers: List[RedisServer]) -> None:
    """Loads all scripts. If a test withheld a NOSCRIPT, the client would not send the script's text. A first turn of
    the lock does not load them reliably: it may end while one server has not answered yet."""
    for server in servers:
        load_scripts(server)


def acquire_everywhere(clients: List[redlatch.Client], servers: List[RedisServer], lock: redlatch.RedLock,
                       name: str) -> None:
    """Acquires until all servers hold the lock. acquire() returns when a majority has granted, and a late grant is
    released."""

    def acquire() -> bool:
        lock.acquire()
        for client in clients:
            with client.lock(f"{name}:other"):
                pass  # runs after all commands that were under way on this server
        if holding(servers, name, 1) == len(servers):
            return True
        lock.release()
        return False

    wait_until(acquire, 10.0, "all servers to grant in time")


def wait_free(servers: List[RedisServer], name: str) -> None:
    """Waits until the name is free on all running servers. Late grants are released after the call has returned."""
    running = [server for server in servers if server.running]
    wait_until(lambda: not any(fields(server, name) for server in running), 5.0, "all to be free")


def test_it_is_taken_on_all_and_given_back_on_all(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str
) -> None:
    lock = over(open_clients(servers), lock_name)
    with lock as hold:
        assert hold.count == 1 and 25 < hold.remaining() < 29.8, "the lease, less a margin"
        assert holding(servers, lock_name, 1) >= 2
        with lock:
            assert holding(servers, lock_name, 2) >= 2 and lock.hold_count() == 2
        assert lock.owned() and lock.state().locked
    wait_free(servers, lock_name)
    assert not lock.state().locked
    with pytest.raises(redlatch.NotOwnedError):
        lock.release()


@pytest.mark.parametrize("held", [0, 1, 2])
def test_one_of_three_in_the_way_is_no_hindrance(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str, held: int
) -> None:
    lock = over(open_clients(servers), lock_name)
    theirs = hold_as_redisson(servers[held], lock_name)
    with lock:
        assert sum(list(fields(server, lock_name)) != [theirs.encode()] for server in servers) == 2
        assert not over(open_clients(servers), lock_name).acquire(blocking=False)
    wait_free([server for server in servers if server is not servers[held]], lock_name)
    assert list(fields(servers[held], lock_name)) == [theirs.encode()]


def test_two_of_three_in_the_way_are(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str
) -> None:
    clients = open_clients(servers)
    for server in servers[:2]:
        hold_as_redisson(server, lock_name)
    lock = over(clients, lock_name)
    assert lock.acquire(blocking=False) is False and lock.acquire(timeout=0.5) is False
    assert lock.state().locked
    wait_free(servers[2:], lock_name)
    waiting = Waiting(over(clients, lock_name, owner="handle"), keep=True)
    listening = wait_until(
        lambda: [at for at, client in enumerate(clients) if client.stats()["subscriptions"]], 5.0, "the wait"
    )
    release_as_redisson(servers[listening[0]], lock_name)  # the waiter subscribed on one of the two
    assert waiting.result(BY_ITSELF) is True, "woken: it would look by itself later"
    waiting.leave()


@pytest.mark.parametrize("down", [0, 1, 2])
def test_one_server_down(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str, down: int
) -> None:
    clients = open_clients(servers)
    lock = over(clients, lock_name)
    servers[down].stop()
    with lock as hold, lock:
        assert hold.count == 2
        assert sum(counts(server, lock_name) == [2] for server in servers if server.running) == 2
    wait_free(servers, lock_name)
    servers[down].start()

    def on_all() -> bool:
        with lock:
            return holding(servers, lock_name, 1) == 3

    wait_until(on_all, 5.0, "the third server to take part again")


def test_a_hold_that_the_first_server_has_no_part_in_ends_as_any_other(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str
) -> None:
    """Its owner id is that of another client than the first member's."""
    lock = over(open_clients(servers), lock_name)
    servers[0].stop()
    with lock as hold:
        hold.check()
    with pytest.raises(redlatch.NotOwnedError, match="released already"):
        hold.check()
    lock.acquire()
    lost = lock.held()
    assert lost is not None
    for server in servers[1:]:
        server.admin.delete(lock_name)
    with pytest.raises(redlatch.LockLostError):
        lock.release()
    with pytest.raises(redlatch.LockLostError, match="missing"):
        lost.check()


@pytest.mark.parametrize("paused", [0, 2])
def test_one_server_paused_is_not_waited_for_and_nothing_stays_behind(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str, paused: int
) -> None:
    lock = over(open_clients(servers), lock_name)
    with lock:
        pass
    servers[paused].sigstop()
    for _ in range(3):
        with lock:
            assert lock.owned()
    servers[paused].sigcont()
    wait_until(lambda: not fields(servers[paused], lock_name), 5.0, "what came late to be undone")


def test_two_servers_down_is_an_error_and_not_a_lock(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str
) -> None:
    lock = over(open_clients(servers, connect_timeout=0.5), lock_name)
    servers[0].stop()
    servers[1].stop()
    with pytest.raises(redlatch.UnreachableError):
        lock.acquire(blocking=False)
    wait_free(servers, lock_name)
    with pytest.raises(redlatch.UnreachableError):
        lock.acquire(timeout=0.5)
    wait_free(servers, lock_name)


def test_a_reply_that_was_lost_is_released_too(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str
) -> None:
    with Proxy(servers[1].address) as proxy:
        load_all_scripts(servers)
        lock = over(open_clients([servers[0], proxy, servers[2]]), lock_name)
        fault = proxy.hold_reply(SCRIPTS["acquire_many"])
        with lock:
            assert counts(servers[0], lock_name) == [1] == counts(servers[2], lock_name)
        assert fault.wait_hit()
        wait_until(lambda: not fields(servers[1], lock_name), 5.0, "the undo, though the answer never came")
        fault.release()
        wait_free(servers, lock_name)
        fault = proxy.hold_reply(SCRIPTS["release_many"])
        with lock:
            assert holding(servers, lock_name, 1) >= 2
        assert fault.wait_hit() and not lock.owned(), "released, though one answer never came"
        wait_free(servers, lock_name)
        fault.release()


def test_without_a_majority_a_reply_that_was_lost_is_released_too(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str
) -> None:
    with Proxy(servers[1].address) as proxy:
        load_all_scripts(servers)
        lock = over(open_clients([servers[0], proxy, servers[2]]), lock_name)
        owners = [hold_as_redisson(servers[at], lock_name) for at in (0, 2)]
        fault = proxy.hold_reply(SCRIPTS["acquire_many"])
        assert lock.acquire(blocking=False) is False
        assert fault.wait_hit()
        wait_free(servers[1:2], lock_name)
        fault.release()
        wait_free(servers[1:2], lock_name)
        assert [list(fields(servers[at], lock_name)) for at in (0, 2)] == [[owner.encode()] for owner in owners]


def test_it_is_held_while_a_majority_is_and_lost_with_it(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str
) -> None:
    clients = open_clients(servers, watchdog_lease=LEASE)
    lock = over(clients, lock_name)
    acquire_everywhere(clients, servers, lock, lock_name)
    hold = lock.held()
    assert hold is not None
    event = hold.lost_event
    servers[2].admin.delete(lock_name)
    time.sleep(LEASE)
    assert not event.is_set() and lock.owned() and hold.remaining() > 0, "two of three are left"
    servers[0].admin.delete(lock_name)
    assert event.wait(5.0) and hold.lost and not lock.owned()
    with pytest.raises(redlatch.LockLostError):
        lock.release()
    wait_free(servers, lock_name)
    with lock:
        assert lock.owned()


def test_a_majority_extends_and_renews_it(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str
) -> None:
    clients = open_clients(servers, watchdog_lease=LEASE)
    lock = over(clients, lock_name)
    acquire_everywhere(clients, servers, lock, lock_name)
    hold = lock.held()
    assert hold is not None
    lock.extend(5)
    assert sum(remaining_ms(server, lock_name) > 4_000 for server in servers) >= 2 and 3 < hold.remaining() < 5
    servers[1].stop()
    lock.extend(10)
    assert remaining_ms(servers[0], lock_name) > 8_000 and 8 < hold.remaining() < 10
    time.sleep(LEASE)
    assert hold.remaining() > 5 and lock.owned()
    lock.release()


def test_the_safe_time_is_that_of_the_majority(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str
) -> None:
    clients = [redlatch.connect(server.url, watchdog_lease=lease) for server, lease in zip(servers, (2, 6, 20))]

    def lasts() -> bool:
        """Returns whether the hold got the safe time of two of the three servers. If a server is too slow to count, its
        grant is released, and the caller tries again."""
        with over(clients, lock_name) as hold:
            wait_until(lambda: 5 < hold.remaining() < 6 or not all(fields(server, lock_name) for server in servers))
            return 5 < hold.remaining() < 6

    try:
        wait_until(lasts, message="two of the three to last that long")
    finally:
        for client in clients:
            client.close()


def test_few_servers_and_one_server_twice_are_refused(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str
) -> None:
    clients = open_clients(servers)
    members = [client.lock(lock_name) for client in clients]
    for few in (1, 2):
        with pytest.raises(ValueError, match="at least 3"):
            redlatch.redlock(*members[:few])
        with redlatch.redlock(*members[:few], allow_few=True):
            assert sum(bool(fields(server, lock_name)) for server in servers) == few
        wait_free(servers, lock_name)
    again = open_clients(servers[:1])[0]
    by_socket = open_clients([servers[0].unix_url])[0]
    for twice in (clients[0].lock("other"), again.lock(lock_name), by_socket.lock(lock_name)):
        with pytest.raises(redlatch.InvalidArgumentError, match="same server"):
            redlatch.redlock(*members, twice)
    with pytest.raises(TypeError, match="allow_few"):
        redlatch.redlock(*members, allow_few=1)  # type: ignore[arg-type]


def test_a_nested_acquire_that_a_server_missed_is_made_up_for(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str
) -> None:
    lock = over(open_clients(servers), lock_name)
    servers[2].stop()
    lock.acquire()
    servers[2].start()

    def re_enter() -> bool:
        lock.acquire()
        if holding(servers, lock_name, 2) == 3:
            return True
        lock.release()
        return False

    wait_until(re_enter, 5.0, "the third server to take part")
    lock.release()
    assert lock.hold_count() == 1
    lock.release()
    wait_free(servers, lock_name)


def test_a_nested_acquire_that_a_server_missed_is_not_given_back_there(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str
) -> None:
    """A release there would end the first acquire, and fewer servers would hold the lock than the client believes."""
    clients = open_clients(servers, watchdog_lease=LEASE)
    lock = over(clients, lock_name)
    acquire_everywhere(clients, servers, lock, lock_name)
    servers[0].sigstop()
    lock.acquire()
    servers[0].sigcont()
    with clients[0].lock(f"{lock_name}:other"):  # runs after the commands that were under way there
        assert [counts(server, lock_name) for server in servers] == [[1], [2], [2]]
    lock.release()
    wait_until(lambda: holding(servers, lock_name, 1) == 3, 5.0, "the level to be given back where it was granted")
    hold = lock.held()
    assert hold is not None and hold.count == 1
    servers[1].admin.delete(lock_name)
    time.sleep(LEASE)  # several renewals
    assert not hold.lost_event.is_set() and lock.owned()
    lock.release()
    wait_free(servers, lock_name)


def test_a_server_that_does_not_get_all_nested_acquires_is_not_counted(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str
) -> None:
    """The server has granted the first of two acquires when enough others have granted both. That grant is released, so
    the server does not count as a holder."""
    with Proxy(servers[2].address) as proxy:
        load_all_scripts(servers)
        lock = over(open_clients([servers[0], servers[1], proxy], watchdog_lease=LEASE), lock_name)
        hold_as_redisson(servers[2], lock_name)
        lock.acquire()
        release_as_redisson(servers[2], lock_name)
        fault = proxy.hold_reply(SCRIPTS["acquire_many"], nth=2)

        def re_enter() -> bool:
            lock.acquire()
            if fault.hit:
                return True
            lock.release()
            return False

        wait_until(re_enter, 5.0, "the third server to be asked for its second level")
        hold = lock.held()
        assert hold is not None and hold.count == 2
        servers[1].admin.delete(lock_name)
        assert hold.lost_event.wait(5.0) and hold.lost and not lock.owned(), "one of three is left"
        fault.release()
        for _ in range(2):
            with pytest.raises(redlatch.LockLostError):
                lock.release()
        wait_free(servers, lock_name)


def test_a_lost_hold_is_not_entered_again_though_a_server_has_come_back(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str
) -> None:
    """A nested acquire of a lost hold must not succeed. The loss has to be reported by a release first."""
    clients = open_clients(servers, watchdog_lease=LEASE)
    lock = over(clients, lock_name)
    servers[2].stop()
    lock.acquire()
    hold = lock.held()
    assert hold is not None
    servers[1].admin.delete(lock_name)
    assert hold.lost_event.wait(5.0)
    servers[2].start()
    wait_until(lambda: clients[2].lock(f"{lock_name}:other").acquire(timeout=5), 5.0, "the third server's client")
    for timeout in (None, 0, 1):
        with pytest.raises(redlatch.LockLostError):
            lock.acquire(timeout=timeout)
    with pytest.raises(redlatch.LockLostError):
        lock.release()
    with lock:
        assert lock.hold_count() == 1
    wait_free(servers, lock_name)


@pytest.mark.parametrize("lease", [None, 2, 10, 60])
def test_many_callers_of_many_clients(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str, lease: Optional[float]
) -> None:
    turns = 10
    busy = threading.Lock()

    def work(clients: List[redlatch.Client]) -> None:
        lock = over(clients, lock_name, lease=lease)
        for _ in range(turns):
            with lock:
                assert busy.acquire(blocking=False), "two at once"
                busy.release()

    for call in [Call(partial(work, open_clients(servers))) for _ in range(4)]:
        call.result(60)
    wait_until(lambda: not any(fields(server, lock_name) for server in servers), 5.0, "all to be given back")


def test_all_are_sent_before_any_has_answered(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str
) -> None:
    with ExitStack() as stack:
        proxies = [stack.enter_context(Proxy(server.address)) for server in servers]
        load_all_scripts(servers)
        lock = over(open_clients(proxies), lock_name, owner="handle")
        for script in ("acquire_many", "release_many"):
            faults = [proxy.hold_reply(SCRIPTS[script]) for proxy in proxies]
            call = threading.Thread(target=lock.acquire if script == "acquire_many" else lock.release)
            call.start()
            assert all(fault.wait_hit() for fault in faults), f"{script} on all, and none has answered"
            assert call.is_alive()
            for fault in faults:
                fault.release()
            call.join(10)
            assert not call.is_alive() and lock.owned() == (script == "acquire_many")


def test_the_safe_time_counts_from_when_it_was_requested(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str
) -> None:
    with ExitStack() as stack:
        proxies = [stack.enter_context(Proxy(server.address)) for server in servers[:2]]
        load_all_scripts(servers)
        lock = over(open_clients([*proxies, servers[2]]), lock_name, owner="handle", lease=LEASE)
        for late, granted in ((0.2, True), (LEASE, False)):
            faults = [proxy.hold_reply(SCRIPTS["acquire_many"]) for proxy in proxies]
            waiting = Waiting(lock, keep=True)
            assert all(fault.wait_hit() for fault in faults)
            requested_by = time.monotonic()
            time.sleep(late)
            for fault in faults:
                fault.release()
            if granted:
                assert waiting.result() is True
                hold = lock.held()
                assert hold is not None and time.monotonic() + hold.remaining() < requested_by + LEASE
                waiting.leave()
            else:
                with pytest.raises(redlatch.LockLostError):
                    waiting.result()
            wait_free(servers, lock_name)


def test_a_server_that_comes_back_ends_a_wait_for_another_one(
    servers: List[RedisServer], open_clients: OpenClients, lock_name: str
) -> None:
    theirs = hold_as_redisson(servers[0], lock_name)
    servers[1].stop()
    clients = open_clients(servers, lazy=True)
    waiting = Waiting(over(clients, lock_name, owner="handle"), keep=True)
    wait_until(lambda: sum(client.stats()["subscriptions"] for client in clients) > 0, 5.0, "the wait")
    servers[1].start()
    assert waiting.result(20.0) is True
    assert list(fields(servers[0], lock_name)) == [theirs.encode()], "which goes on holding it"
    waiting.leave()

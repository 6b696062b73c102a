# SPDX-License-Identifier: Apache-2.0
"""Multi locks hold all of their names or none, on one server and on several."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import Any, Callable, Iterator, List

import pytest
import redlatch
from steps import Call
from support import Monitor, Proxy, RedisServer, wait_until
from support.wire import SCRIPTS, counts, fields, is_owner, remaining_ms, scripts, sent_by
from waiters import SOON, Waiting, hold_as_redisson, release_as_redisson, wait_parked

MakeServer = Callable[..., RedisServer]
LEASE = 2.0


@pytest.fixture
def renewing(server: RedisServer) -> Iterator[redlatch.Client]:
    """A client with a short watchdog lease."""
    with redlatch.connect(server.url, watchdog_lease=LEASE) as opened:
        yield opened


@pytest.fixture
def names(lock_name: str) -> List[str]:
    """Three names."""
    return [f"{lock_name}:{letter}" for letter in "abc"]


def over(client: redlatch.Client, names: List[str], **options: Any) -> redlatch.MultiLock:
    """Returns a multi lock of one client."""
    return redlatch.multi_lock(*(client.lock(name) for name in names), **options)


def _subscribed(client: redlatch.Client) -> bool:
    return client.stats()["subscriptions"] == 1


def wait_left(servers: List[RedisServer], name: str, held: List[bool]) -> None:
    """Wait until the name is held on exactly these servers. A late grant is released after the call has returned."""
    wait_until(lambda: [bool(fields(server, name)) for server in servers] == held, 5.0, f"{held} to be left")


def across(clients: List[redlatch.Client], name: str, **options: Any) -> redlatch.MultiLock:
    """Returns a multi lock of one name on each of several clients."""
    return redlatch.multi_lock(*(client.lock(name) for client in clients), **options)


# ------------------------------------------------------------------------------------------------------ one server --


def test_one_script_acquires_all_and_one_releases_them(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, names: List[str]
) -> None:
    lock = over(client, names)
    for _ in range(2):  # the first round sends the scripts as text
        mark = monitor.mark()
        with lock as hold:
            assert hold.count == 1 and 0 < hold.remaining() < 30 and hold.token is None
            held = [fields(server, name) for name in names]
            owners = [owner for each in held for owner in each]
            assert all(len(each) == 1 and list(each.values()) == [b"1"] for each in held)
            assert all(map(is_owner, owners)) and len(set(owners)) == len(names)
            assert all(0 < remaining_ms(server, name) <= 30_000 for name in names)
        assert not any(fields(server, name) for name in names)
    assert scripts(sent_by(monitor.since(mark), server, client)) == ["acquire_many", "release_many"]


def test_all_or_nothing(server: RedisServer, client: redlatch.Client, names: List[str]) -> None:
    lock = over(client, names)
    for held in names:
        hold_as_redisson(server, held)
        assert lock.acquire(blocking=False) is False
        assert [bool(fields(server, name)) for name in names] == [name == held for name in names]
        with pytest.raises(redlatch.NotOwnedError):
            lock.release()
        release_as_redisson(server, held)
    assert lock.acquire(blocking=False) is True
    lock.release()


def test_a_release_wakes_who_waits_for_any_of_the_names(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, names: List[str]
) -> None:
    lock = over(client, names)
    lock.acquire()
    waiting = [Waiting(other.lock(name, owner="handle"), keep=True) for name in names]
    wait_until(lambda: other.stats()["waiters"] == len(names), 5.0, "all to wait")
    assert not any(each.done for each in waiting)
    lock.release()
    assert all(each.result() for each in waiting)
    for each in waiting:
        each.leave()


def test_it_is_woken_by_the_name_it_waits_for_and_holds_nothing_meanwhile(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, names: List[str]
) -> None:
    hold_as_redisson(server, names[1])
    hold_as_redisson(server, names[2])
    mark = monitor.mark()
    waiting = Waiting(over(client, names, owner="handle"), keep=True)
    mark = wait_parked(server, monitor, names[1], client, mark, "acquire_many")
    assert not fields(server, names[0])
    release_as_redisson(server, names[1])
    mark = wait_parked(server, monitor, names[2], client, mark, "acquire_many")
    assert not waiting.done and not fields(server, names[0]) and not fields(server, names[1])
    time.sleep(0.3)
    assert not sent_by(monitor.top_level(mark), server, client), "a parked waiter sends nothing"
    release_as_redisson(server, names[2])
    assert waiting.result() is True
    waiting.leave()


def test_members_that_are_held_are_re_entered_and_released_once_each(
    server: RedisServer, client: redlatch.Client, names: List[str]
) -> None:
    single = client.lock(names[1])
    lock = over(client, names)
    with single:
        with lock, lock:
            assert [counts(server, name) for name in names] == [[2], [3], [2]]
            assert lock.hold_count() == 2 and single.hold_count() == 3
        assert [counts(server, name) for name in names] == [[], [1], []]
        hold_as_redisson(server, names[2])
        assert lock.acquire(timeout=0.5) is False
        assert counts(server, names[1]) == [1] and not lock.owned() and single.owned()
    assert not fields(server, names[1])


def test_all_are_renewed(server: RedisServer, renewing: redlatch.Client, names: List[str]) -> None:
    with over(renewing, names):
        wait_until(lambda: renewing.stats()["renewals"] >= 4 * len(names), 10.0, "more than a lease")
        assert all(remaining_ms(server, name) > 0 for name in names)


def test_the_loss_of_one_is_the_loss_of_all_and_is_reported_once(
    server: RedisServer, renewing: redlatch.Client, names: List[str]
) -> None:
    lock = over(renewing, names)
    lock.acquire()
    hold = lock.held()
    assert hold is not None and not hold.lost
    event = hold.lost_event
    server.admin.delete(names[2])
    assert event.wait(5.0) and hold.lost and not lock.owned() and hold.remaining() == 0.0
    assert fields(server, names[0])
    with pytest.raises(redlatch.LockLostError):
        lock.release()
    assert not any(fields(server, name) for name in names), "what was left is given back"
    with lock as again:
        assert not again.lost
    with pytest.raises(redlatch.NotOwnedError):
        lock.release()


def test_fenced_members_have_their_tokens_and_their_counter_never_expires(
    server: RedisServer, client: redlatch.Client, names: List[str]
) -> None:
    fenced = client.fenced_lock(names[1])
    lock = redlatch.multi_lock(client.lock(names[0]), fenced, client.lock(names[2]), lease=20)
    counter = f"redisson_lock_token:{{{names[1]}}}"
    tokens = []
    for _ in range(3):
        with lock as hold:
            tokens.append(hold.token)
            with lock as inner:
                assert inner.token == hold.token, "re-entry draws no token"
            inside = fenced.held()
            assert inside is not None and inside.token == hold.token
        assert server.admin.pttl(counter) == -1
    assert tokens == [1, 2, 3]


@pytest.mark.leaves_keys_without_ttl
def test_a_key_of_another_type_is_an_error_and_nothing_is_touched(
    server: RedisServer, client: redlatch.Client, names: List[str]
) -> None:
    server.admin.set(names[2], "not a lock")
    with pytest.raises(redlatch.ServerError) as caught:
        over(client, names).acquire()
    assert caught.value.status_name == "wrong_type"
    assert server.admin.get(names[2]) == b"not a lock"
    assert not server.admin.exists(*names[:2])
    server.admin.delete(names[2])
    server.admin.set(f"redisson_lock_token:{{{names[1]}}}", "not a number")
    with pytest.raises(redlatch.ServerError):
        redlatch.multi_lock(client.lock(names[0]), client.fenced_lock(names[1])).acquire()
    assert not server.admin.exists(*names)


def test_opposite_orders_of_overlapping_sets_do_not_stall(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, names: List[str]
) -> None:
    inside: List[str] = []
    turns = 40

    def work(lock: redlatch.MultiLock) -> None:
        for _ in range(turns):
            with lock:
                inside.append(threading.current_thread().name)
                assert inside == [threading.current_thread().name]
                inside.clear()

    locks = [over(client, names), over(client, names[::-1]), over(other, names), over(other, names[:0:-1])]
    for call in [Call(partial(work, lock)) for lock in locks * 2]:
        call.result(30)


def test_questions_force_and_extension_are_about_all(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, names: List[str]
) -> None:
    lock = over(client, names)
    theirs = over(other, names)
    assert lock.state() == redlatch.LockState(False, 0.0, None, 0, 0, 0)
    lock.acquire(lease=20)
    now = theirs.state()
    assert now.locked and now.owner == next(iter(fields(server, names[0]))).decode() and now.ttl > 15
    lock.extend(5)
    assert all(4_000 < remaining_ms(server, name) <= 5_000 for name in names)
    assert theirs.force_release() is True and theirs.force_release() is False
    with pytest.raises(redlatch.LockLostError):
        lock.release()
    hold_as_redisson(server, names[2])
    assert lock.state().locked, "nobody can have all"


def test_what_can_be_no_multi_lock_is_refused(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, names: List[str]
) -> None:
    first = client.lock(names[0])
    for members, words in [
        ([], "no members"),
        ([first, client.lock(names[0])], "twice"),
        ([first, other.lock(names[0])], "twice"),
        ([first, redlatch.multi_lock(first)], "multi lock"),
        ([client.lock(f"{names[0]}:{number}") for number in range(101)], "1 to 100"),
    ]:
        with pytest.raises(redlatch.InvalidArgumentError, match=words):
            redlatch.multi_lock(*members)
    with pytest.raises(TypeError, match="expected redlatch.Lock"):
        redlatch.multi_lock(names[0])  # type: ignore[arg-type]
    with pytest.raises(redlatch.AlreadyHeldError):
        strict = client.lock(names[1], reentrant=False)
        with strict:
            redlatch.multi_lock(first, strict).acquire()
    assert not fields(server, names[0])


def test_it_outlives_its_members_and_its_own_handle(
    server: RedisServer, client: redlatch.Client, names: List[str]
) -> None:
    lock = over(client, names, owner="handle")
    lock.acquire()
    assert fields(server, names[0])
    del lock
    wait_until(lambda: not any(fields(server, name) for name in names), 5.0, "the handle's hold to be given back")


@pytest.mark.parametrize("script", ["acquire_many", "release_many"])
def test_a_lost_reply_and_a_doubled_command_change_nothing(
    server: RedisServer, proxy: Proxy, names: List[str], script: str
) -> None:
    with redlatch.connect(proxy.url) as client:
        lock = over(client, names)
        with lock:
            pass
        fault = proxy.cut_after(SCRIPTS[script])
        with lock:
            assert [counts(server, name) for name in names] == [[1]] * 3
        assert fault.wait_hit()
        assert not any(fields(server, name) for name in names)
        with lock:
            assert [counts(server, name) for name in names] == [[1]] * 3
            copy = proxy.duplicate(SCRIPTS[script])
            with lock:
                if script == "acquire_many":
                    copy.let_arrive()
                assert [counts(server, name) for name in names] == [[2]] * 3
            if script == "release_many":
                copy.let_arrive()
            assert [counts(server, name) for name in names] == [[1]] * 3
        assert not any(fields(server, name) for name in names)


def test_a_wait_that_was_given_up_is_undone(server: RedisServer, proxy: Proxy, names: List[str]) -> None:
    with redlatch.connect(proxy.url, command_timeout=0.7) as client:
        lock = over(client, names)
        with lock:
            pass
        fault = proxy.hold_reply(SCRIPTS["acquire_many"])
        with pytest.raises(redlatch.UnreachableError) as caught:
            lock.acquire(blocking=False)
        assert caught.value.ambiguous
        wait_until(lambda: not any(fields(server, name) for name in names), 5.0, "the undo behind it")
        fault.release()
        with lock:
            assert lock.owned()


def test_it_has_its_turn_beside_a_stream_of_single_waiters_of_its_process(
    server: RedisServer, client: redlatch.Client, names: List[str]
) -> None:
    """The multi lock gets its turn after at most 17 turns of single waiters, or twice as many if it misses the release
    between two runs of hand-overs."""
    lock, stop, turns, waits = over(client, names), threading.Event(), [0], []

    def stream() -> None:
        single = client.lock(names[0])
        while not stop.is_set():
            with single:
                turns[0] += 1

    threads = [threading.Thread(target=stream) for _ in range(4)]
    for thread in threads:
        thread.start()
    wait_until(lambda: turns[0] > 100, 10.0, "the stream to flow")
    for _ in range(15):
        before = turns[0]
        with lock:
            waits.append(turns[0] - before)
    stop.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    # The machine may run only the stream's threads before the acquire begins, but not in most of the attempts.
    assert sorted(waits)[len(waits) // 2] <= 2 * 17, waits


# -------------------------------------------------------------------------------------------------- several servers --


def test_all_servers_or_none(
    servers: List[RedisServer], open_clients: Callable[..., List[redlatch.Client]], lock_name: str
) -> None:
    clients = open_clients(servers)
    lock = across(clients, lock_name)
    with lock as hold:
        assert hold.count == 1 and all(counts(server, lock_name) == [1] for server in servers)
        with lock:
            assert all(counts(server, lock_name) == [2] for server in servers)
    assert not any(fields(server, lock_name) for server in servers)
    for server in servers:
        hold_as_redisson(server, lock_name)
        assert lock.acquire(blocking=False) is False and lock.acquire(timeout=0.5) is False
        wait_left(servers, lock_name, [each is server for each in servers])
        waiting = Waiting(across(clients, lock_name, owner="handle"), keep=True)
        wait_until(partial(_subscribed, clients[servers.index(server)]), 5.0, "the wait")
        wait_until(lambda: sum(len(fields(each, lock_name)) for each in servers) == 1, 5.0, "nothing to be held")
        released_at = release_as_redisson(server, lock_name)
        assert waiting.result() is True and waiting.ended_at - released_at < SOON
        waiting.leave()


def test_a_fenced_member_is_free_when_the_lease_of_a_dead_owner_ends(
    servers: List[RedisServer], open_clients: Callable[..., List[redlatch.Client]], lock_name: str
) -> None:
    clients = open_clients(servers[:2])
    hold_as_redisson(servers[0], lock_name)
    servers[0].admin.pexpire(lock_name, 1000)
    lock = redlatch.multi_lock(clients[0].fenced_lock(lock_name), clients[1].lock(lock_name))
    began = time.monotonic()
    assert lock.acquire(timeout=4) and time.monotonic() - began < 2.5
    lock.release()


def test_a_server_that_is_down_leaves_nothing_held(
    servers: List[RedisServer], open_clients: Callable[..., List[redlatch.Client]], lock_name: str
) -> None:
    clients = open_clients(servers, lazy=True, connect_timeout=0.5)
    lock = across(clients, lock_name)
    with lock:
        pass
    servers[1].stop()
    with pytest.raises(redlatch.UnreachableError):
        lock.acquire(blocking=False)
    wait_left([servers[0], servers[2]], lock_name, [False, False])
    waiting = Waiting(across(clients, lock_name, owner="handle"), keep=True)
    servers[1].start()
    assert waiting.result() is True
    waiting.leave()


def test_a_slow_server_and_a_lost_reply_leave_nothing_held(
    servers: List[RedisServer], open_clients: Callable[..., List[redlatch.Client]], lock_name: str
) -> None:
    with Proxy(servers[1].address) as proxy:
        clients = open_clients([servers[0], proxy, servers[2]], command_timeout=0.7)
        lock = across(clients, lock_name)
        with lock:
            pass
        fault = proxy.hold_reply(SCRIPTS["acquire_many"])
        with pytest.raises(redlatch.UnreachableError):
            lock.acquire(blocking=False)
        wait_left([servers[0], servers[2]], lock_name, [False, False])
        fault.release()
        wait_left(servers, lock_name, [False] * 3)
        cut = proxy.cut_after(SCRIPTS["acquire_many"])
        with lock:
            assert cut.wait_hit() and all(counts(server, lock_name) == [1] for server in servers)


def test_a_release_without_a_reply_is_in_doubt_and_goes_on(
    servers: List[RedisServer], open_clients: Callable[..., List[redlatch.Client]], lock_name: str
) -> None:
    lock = across(open_clients(servers, command_timeout=0.3), lock_name)
    assert lock.acquire()
    for server in servers:
        server.sigstop()
    try:
        with pytest.raises(redlatch.UnreachableError) as refused:
            lock.release()
        assert refused.value.ambiguous
    finally:
        for server in servers:
            server.sigcont()
    wait_left(servers, lock_name, [False] * 3)


def test_the_loss_on_any_server_is_reported_on_the_first_client(
    servers: List[RedisServer], open_clients: Callable[..., List[redlatch.Client]], lock_name: str
) -> None:
    clients = open_clients(servers, watchdog_lease=LEASE)
    lock = across(clients, lock_name)
    with pytest.raises(redlatch.LockLostError), lock as hold:
        event = hold.lost_event
        servers[2].admin.delete(lock_name)
        assert event.wait(5.0) and hold.lost
    assert not any(fields(server, lock_name) for server in servers)


def test_opposite_orders_on_three_servers(
    servers: List[RedisServer], open_clients: Callable[..., List[redlatch.Client]], lock_name: str
) -> None:
    turns = 15
    sets = [open_clients(servers) for _ in range(4)]
    busy = threading.Lock()

    def work(clients: List[redlatch.Client]) -> None:
        lock = across(clients, lock_name)
        for _ in range(turns):
            with lock:
                assert busy.acquire(blocking=False), "two at once"
                busy.release()

    orders = [clients[:: 1 if number % 2 else -1] for number, clients in enumerate(sets)]
    for call in [Call(partial(work, clients)) for clients in orders]:
        call.result(30)
    assert not any(fields(server, lock_name) for server in servers)

# SPDX-License-Identifier: Apache-2.0
"""Multi locks of mixed kinds: each member behaves as a single lock of its kind, on the server and for waiters."""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest
import redlatch
from support import Monitor, Proxy, RedisServer, wait_until
from support.read_write import levels, wire
from support.wire import SCRIPTS, load_scripts, remaining_ms, scripts, sent_by
from waiters import SOON, Waiting

LEASE = 1.5
_OWNER = re.compile("[0-9a-f-]{36}:[0-9]+")

# Constructors for each kind that can be a member.
MAKERS: Dict[str, Callable[..., redlatch.Lock]] = {
    "mutex": lambda client, name, **options: client.lock(name, **options),
    "fenced": lambda client, name, **options: client.fenced_lock(name, **options),
    "spin": lambda client, name, **options: client.spin_lock(name, **options),
    "plain": lambda client, name, **options: client.plain_lock(name, **options),
    "read": lambda client, name: client.read_write_lock(name).read,
    "write": lambda client, name: client.read_write_lock(name).write,
    "group": lambda client, name, **options: client.group_lock(name, ["a", "f1"], **options),
}
KINDS = list(MAKERS)
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def client(server: RedisServer) -> Iterator[redlatch.Client]:
    """A client. The server has all scripts."""
    load_scripts(server)
    with redlatch.connect(server.url) as opened:
        yield opened


@pytest.fixture
def renewing(server: RedisServer) -> Iterator[redlatch.Client]:
    """A client with a short watchdog lease."""
    with redlatch.connect(server.url, watchdog_lease=LEASE) as opened:
        yield opened


@pytest.fixture(scope="module")
def second_server(server_binary: List[str]) -> Iterator[RedisServer]:
    """A second server, which all tests of the module share."""
    with RedisServer() as started:
        yield started


@pytest.fixture
def both(server: RedisServer, second_server: RedisServer) -> Iterator[Tuple[redlatch.Client, redlatch.Client]]:
    """A client for each of two servers."""
    second_server.make_pristine()
    with ExitStack() as stack:
        yield (
            stack.enter_context(redlatch.connect(server.url)),
            stack.enter_context(redlatch.connect(second_server.url)),
        )
    second_server.close_clients()


def name_of(lock_name: str, kind: str) -> str:
    """Returns the name of the member of a kind."""
    return f"{lock_name}:{kind}"


def member(client: redlatch.Client, lock_name: str, kind: str) -> redlatch.Lock:
    """Returns the member of a kind."""
    return MAKERS[kind](client, name_of(lock_name, kind))


def of_every_kind(client: redlatch.Client, lock_name: str, **options: Any) -> redlatch.MultiLock:
    """Returns a multi lock with one member of each kind."""
    return redlatch.multi_lock(*(member(client, lock_name, kind) for kind in KINDS), **options)


def names_there(server: RedisServer) -> List[str]:
    """Returns all keys except the token counters, which stay."""
    found: Any = server.admin.keys()
    return sorted(key.decode() for key in found if not key.startswith(b"redisson_lock_token:"))


def locks_there(server: RedisServer) -> List[str]:
    """Returns the same without timeout keys of readers, which outlive a deleted lock until their lease ends."""
    return [name for name in names_there(server) if ":rwlock_timeout:" not in name]


def shape(server: RedisServer, name: str) -> List[Tuple[str, str]]:
    """Returns the content of a key, with owners and times replaced by words."""
    if server.admin.type(name) == b"string":
        found: Any = server.admin.get(name)
        return [("", _OWNER.sub("owner", found.decode()))]
    without = ((_OWNER.sub("owner", field), _OWNER.sub("owner", value)) for field, value in wire(server, name).items())
    return sorted((field, "time" if field.endswith(":expire_time") else value) for field, value in without)


# ---------------------------------------------------------------------------------------------------- on the wire --


def test_one_script_acquires_every_kind_in_its_own_format(
    server: RedisServer, client: redlatch.Client, monitor: Monitor, lock_name: str
) -> None:
    lock = of_every_kind(client, lock_name)
    alone = {kind: member(client, f"{lock_name}:alone", kind) for kind in KINDS}
    mark = monitor.mark()
    with lock as hold:
        assert hold.token == 1 and hold.count == 1 and 0 < hold.remaining() < 30
        assert scripts(sent_by(monitor.since(mark), server, client)) == ["acquire_many"]
        for kind in KINDS:
            with alone[kind]:
                joined, single = (name_of(each, kind) for each in (lock_name, f"{lock_name}:alone"))
                assert server.admin.type(joined) == server.admin.type(single)
                assert 0 < remaining_ms(server, joined) <= 30_000
                assert shape(server, joined) == shape(server, single)
        reader = next(field for field in wire(server, name_of(lock_name, "read")) if field != "mode")
        assert len(levels(server, name_of(lock_name, "read"), reader)) == 1
        mark = monitor.mark()
    assert scripts(sent_by(monitor.since(mark), server, client)) == ["release_many"]
    assert names_there(server) == []


def test_every_one_of_a_hundred_fenced_members_has_its_token(client: redlatch.Client, lock_name: str) -> None:
    members = [client.fenced_lock(f"{lock_name}:{i}") for i in range(100)]
    with redlatch.multi_lock(*members):
        holds = [member.held() for member in members]
        assert [hold.token for hold in holds if hold] == [1] * 100


@each_kind
def test_all_or_nothing_whatever_kind_is_in_the_way(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, lock_name: str, kind: str
) -> None:
    lock = of_every_kind(client, lock_name, owner="handle")
    blocker = member(other, lock_name, "write" if kind == "read" else kind)
    if kind == "read":
        blocker = other.read_write_lock(name_of(lock_name, "read")).write
    blocker.acquire()
    before = names_there(server)
    assert lock.acquire(blocking=False) is False
    assert names_there(server) == before
    waiting = Waiting(lock, keep=True)
    wait_until(lambda: client.stats()["subscriptions"] == 1, 5.0, "the wait")
    assert names_there(server) == before and not waiting.done
    blocker.release()
    assert waiting.result(SOON) is True
    assert member(other, lock_name, kind).acquire(blocking=False) is (kind == "read")
    waiting.leave()


@each_kind
def test_waiters_of_every_kind_are_woken_by_its_release(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, lock_name: str, kind: str
) -> None:
    lock = of_every_kind(client, lock_name)
    lock.acquire()
    contender = MAKERS["write"](other, name_of(lock_name, kind)) if kind == "read" else member(other, lock_name, kind)
    waiting = Waiting(contender)
    wait_until(lambda: other.stats()["waiters"] == 1, 5.0, "the wait")
    wait_until(lambda: other.stats()["subscriptions"] == (kind != "spin"), 5.0, "the subscription")
    assert not waiting.done
    lock.release()
    assert waiting.result(SOON) is True


def test_readers_share_what_is_read(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, lock_name: str
) -> None:
    name = name_of(lock_name, "read")
    lock, theirs = of_every_kind(client, lock_name), member(other, lock_name, "read")
    writing = redlatch.multi_lock(member(client, lock_name, "mutex"), MAKERS["write"](client, name), owner="handle")
    with theirs, lock:
        assert len(wire(server, name)) == 3
        assert not writing.acquire(blocking=False)
    with theirs:
        waiting = Waiting(writing)
        wait_until(lambda: client.stats()["subscriptions"] == 1, 5.0, "the writer's wait")
    assert waiting.result(SOON) is True
    assert names_there(server) == []


def test_re_entry_raises_every_kind_and_a_plain_lock_refuses_it(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    kinds = [kind for kind in KINDS if kind != "plain"]
    lock = redlatch.multi_lock(*(member(client, lock_name, kind) for kind in kinds))
    with lock:
        states = {kind: wire(server, name_of(lock_name, kind)) for kind in kinds}
        with lock as inner:
            assert inner.count == 2 and inner.token == 1
            for kind in kinds:
                assert "2" in wire(server, name_of(lock_name, kind)).values(), kind
            with member(client, lock_name, "group") as single:
                assert single.count == 3
        for kind in kinds:
            now = wire(server, name_of(lock_name, kind))
            assert now.keys() == states[kind].keys() and "2" not in now.values(), kind
    plain = member(client, lock_name, "plain")
    with plain, pytest.raises(redlatch.AlreadyHeldError):
        of_every_kind(client, lock_name).acquire()
    assert names_there(server) == []


def test_a_member_that_may_not_be_re_entered_refuses_it_as_a_whole(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    for kind in ("mutex", "fenced", "group"):
        strict = MAKERS[kind](client, name_of(lock_name, kind), reentrant=False)
        lock = redlatch.multi_lock(MAKERS["mutex"](client, f"{lock_name}:first"), strict)
        with lock:
            before = {name: wire(server, name) for name in names_there(server)}
            with pytest.raises(redlatch.AlreadyHeldError):
                lock.acquire()
            assert {name: wire(server, name) for name in names_there(server)} == before
        with strict, pytest.raises(redlatch.AlreadyHeldError):
            lock.acquire()
    assert names_there(server) == []


def test_the_modes_of_a_read_write_lock_are_to_each_other_what_they_are_as_single_locks(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    name = name_of(lock_name, "both")
    sides = client.read_write_lock(name)
    reading = redlatch.multi_lock(client.lock(f"{lock_name}:x"), sides.read)
    writing = redlatch.multi_lock(client.lock(f"{lock_name}:x"), sides.write)
    with sides.write:  # a writer may read, and stays a reader after its release
        reading.acquire()
    assert wire(server, name)["mode"] == "read"
    with pytest.raises(redlatch.WouldDeadlockError):
        writing.acquire()
    with pytest.raises(redlatch.WouldDeadlockError):
        writing.acquire(blocking=False)
    reading.release()
    assert names_there(server) == []
    with writing:
        assert wire(server, name)["mode"] == "write"
        with sides.read, writing:
            assert len(wire(server, name)) == 3
        with reading:
            assert len(wire(server, name)) == 3
    assert names_there(server) == []


# ----------------------------------------------------------------------------------------------------- while held --


@each_kind
def test_every_kind_is_renewed_and_the_loss_of_any_is_reported(
    server: RedisServer, renewing: redlatch.Client, lock_name: str, kind: str
) -> None:
    lock = of_every_kind(renewing, lock_name)
    lock.acquire()
    hold = lock.held()
    assert hold is not None
    event = hold.lost_event
    renewals = renewing.stats()["renewals"]
    wait_until(lambda: renewing.stats()["renewals"] >= renewals + len(KINDS), 5.0, "the renewal of all")
    wait_until(lambda: all(remaining_ms(server, name_of(lock_name, each)) > LEASE * 700 for each in KINDS))
    server.admin.delete(name_of(lock_name, kind))
    assert event.wait(5.0) and hold.lost and not lock.owned()
    with pytest.raises(redlatch.LockLostError):
        lock.release()
    assert locks_there(server) == []


def test_extension_questions_and_force_are_about_every_kind(
    server: RedisServer, client: redlatch.Client, other: redlatch.Client, lock_name: str
) -> None:
    lock, theirs = of_every_kind(client, lock_name), of_every_kind(other, lock_name)
    assert theirs.state() == redlatch.LockState(False, 0.0, None, 0, 0, 0)
    lock.acquire(lease=20)
    now = theirs.state()
    assert now.locked and now.ttl > 15
    lock.extend(40)
    assert all(35_000 < remaining_ms(server, name_of(lock_name, kind)) <= 40_000 for kind in KINDS)
    lock.extend(5)
    whole = [kind for kind in KINDS if kind != "group"]  # a group's key may have to last for other holders
    assert all(4_000 < remaining_ms(server, name_of(lock_name, kind)) <= 5_000 for kind in whole)
    assert member(other, lock_name, "group").state().ttl <= 5
    assert theirs.force_release() is True and locks_there(server) == []
    with pytest.raises(redlatch.LockLostError):
        lock.release()


@pytest.mark.leaves_keys_without_ttl
@each_kind
def test_a_key_of_another_type_is_an_error_and_nothing_is_touched(
    server: RedisServer, client: redlatch.Client, lock_name: str, kind: str
) -> None:
    lock, name = of_every_kind(client, lock_name), name_of(lock_name, kind)
    server.admin.rpush(name, "no lock")
    with pytest.raises(redlatch.ServerError) as caught:
        lock.acquire()
    assert caught.value.status_name == "wrong_type"
    assert names_there(server) == [name] and server.admin.lrange(name, 0, -1) == [b"no lock"]
    server.admin.delete(name)
    with pytest.raises(redlatch.LockLostError), lock:
        server.admin.delete(name)
        server.admin.rpush(name, "no lock")
    assert locks_there(server) == [name] and server.admin.lrange(name, 0, -1) == [b"no lock"]


# ---------------------------------------------------------------------------------------------- faults, and several --


@pytest.mark.parametrize("script", ["acquire_many", "release_many"])
def test_a_lost_reply_and_a_doubled_command_change_nothing(
    server: RedisServer, proxy: Proxy, lock_name: str, script: str
) -> None:
    load_scripts(server)
    with redlatch.connect(proxy.url) as client:
        kinds = [kind for kind in KINDS if kind != "plain"]
        lock = of_every_kind(client, lock_name)
        inner = redlatch.multi_lock(*(member(client, lock_name, kind) for kind in kinds))
        fault = proxy.cut_after(SCRIPTS[script])
        with lock as hold:
            states = [wire(server, name_of(lock_name, kind)) for kind in kinds]
            assert hold.token == 1
        assert fault.wait_hit() and names_there(server) == []
        with lock as hold:
            states = [wire(server, name_of(lock_name, kind)) for kind in kinds]
            copy = proxy.duplicate(SCRIPTS[script])
            with inner:
                if script == "acquire_many":
                    copy.let_arrive()
                assert all("2" in wire(server, name_of(lock_name, kind)).values() for kind in kinds)
            if script == "release_many":
                copy.let_arrive()
            assert hold.token == 2
            for kind, state in zip(kinds, states):
                assert wire(server, name_of(lock_name, kind)).keys() == state.keys()
                assert "2" not in wire(server, name_of(lock_name, kind)).values()
        assert names_there(server) == []


def test_what_is_given_up_is_undone(server: RedisServer, proxy: Proxy, lock_name: str) -> None:
    load_scripts(server)
    with redlatch.connect(proxy.url, command_timeout=0.3) as client:
        lock = of_every_kind(client, lock_name)
        fault = proxy.hold_reply(SCRIPTS["acquire_many"])
        with pytest.raises(redlatch.UnreachableError):
            lock.acquire(blocking=False)
        wait_until(lambda: names_there(server) == [], 5.0, "the undo behind it")
        fault.release()


@each_kind
def test_on_two_servers_the_one_in_the_way_is_waited_for_with_nothing_held(
    server: RedisServer,
    second_server: RedisServer,
    other: redlatch.Client,
    both: Tuple[redlatch.Client, redlatch.Client],
    lock_name: str,
    kind: str,
) -> None:
    name = name_of(lock_name, kind)
    lock = redlatch.multi_lock(member(both[0], lock_name, kind), member(both[1], lock_name, kind), owner="handle")
    blocker = MAKERS["write"](other, name) if kind == "read" else member(other, lock_name, kind)
    blocker.acquire()
    assert lock.acquire(blocking=False) is False
    waiting = Waiting(lock, keep=True)
    wait_until(lambda: both[0].stats()["subscriptions"] == 1, 5.0, "the wait")
    wait_until(lambda: names_there(second_server) == [], 5.0, "nothing to be held meanwhile")
    assert not waiting.done
    blocker.release()
    assert waiting.result(SOON) is True
    assert names_there(server) and names_there(second_server)
    waiting.leave()
    assert names_there(server) == names_there(second_server) == []


def test_kinds_and_clients_in_any_mix(
    server: RedisServer,
    second_server: RedisServer,
    both: Tuple[redlatch.Client, redlatch.Client],
    lock_name: str,
) -> None:
    lock = redlatch.multi_lock(*(member(both[i % 2], lock_name, kind) for i, kind in enumerate(KINDS)))
    with lock as hold:
        assert hold.token == 1
        there = [name.rpartition(":")[2] for each in (server, second_server) for name in names_there(each)]
        assert [kind for kind in KINDS if kind in there] == KINDS
    assert names_there(server) == names_there(second_server) == []


@each_kind
def test_every_kind_can_be_a_member_of_a_red_lock(
    server: RedisServer,
    second_server: RedisServer,
    other: redlatch.Client,
    both: Tuple[redlatch.Client, redlatch.Client],
    lock_name: str,
    kind: str,
) -> None:
    lock = redlatch.redlock(*(member(each, lock_name, kind) for each in both), allow_few=True)
    blocker = MAKERS["write"](other, name_of(lock_name, kind)) if kind == "read" else member(other, lock_name, kind)
    with lock:
        assert names_there(server) and names_there(second_server)
        assert blocker.acquire(blocking=False) is False
    assert names_there(server) == names_there(second_server) == []
    with blocker:
        assert lock.acquire(blocking=False) is False
        wait_until(lambda: names_there(second_server) == [], 5.0, "what was granted in vain to be given back")


# --------------------------------------------------------------------------------------------------------- refused --


def test_what_can_be_no_member_is_refused_with_a_reason(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    sides = client.read_write_lock(lock_name)
    for members, words in [
        ([client.fair_lock(lock_name)], "members.0. is a fair lock, .* order"),
        ([sides.read, sides.write], "both the read and the write lock of"),
        ([client.group_lock(lock_name, ["a"]), client.group_lock(lock_name, ["f1"])], "expected one with all values"),
        ([client.lock(lock_name), client.plain_lock(lock_name)], "twice"),
    ]:
        with pytest.raises(redlatch.InvalidArgumentError, match=words):
            redlatch.multi_lock(*members)
    for no_lock in (client.semaphore(lock_name), client.permit_semaphore(lock_name), client.latch(lock_name), sides):
        with pytest.raises(TypeError, match="expected redlatch.Lock"):
            redlatch.multi_lock(no_lock)  # type: ignore[arg-type]
    assert names_there(server) == []

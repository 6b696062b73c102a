# SPDX-License-Identifier: Apache-2.0
"""A key of another type or shape is in the place of one of redlatch's: every call reports it and leaves the key."""

from __future__ import annotations

import uuid
from contextlib import suppress
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest
import redlatch
from foreign_keys import KINDS, NO_LOCK, Do, Kind, Place, Write, cases, snapshot
from steps import Call
from support import RedisServer, wait_until

CASES = [pytest.param(*case, id="-".join(case)) for case in cases()]
# The statuses that a call may report: the key is of another type or shape, or the hold is gone.
CLEAR = ("wrong_type", "lost")
HASHES = [shape for shape in NO_LOCK if shape.startswith("hash")]


@pytest.fixture(scope="module")
def client(module_server: RedisServer) -> Iterator[redlatch.Client]:
    """One client for all tests."""
    with redlatch.connect(module_server.url) as opened:
        yield opened


class Scene:
    """Makes one call after another, each on a name of its own, for which a foreign key is at `place`."""

    def __init__(self, server: RedisServer, client: redlatch.Client, name: str, kind: Kind, place: Place, write: Write):
        self.server, self.client, self.name = server, client, name
        self.kind, self.place, self.write = kind, place, write
        self.wrong: List[str] = []

    def put(self, name: str) -> List[str]:
        """Writes the key with a TTL, which has to stay. Returns the names that the key may have."""
        redis: Any = self.server.admin
        keys = self.place.keys(self.server, self.client, name)
        redis.delete(*keys)
        for key in keys:
            self.write(redis, key)
            redis.expire(key, 1000)
        return keys

    def judge(self, call: str, do: Do, thing: Any, name: str) -> None:
        """Checks one call. If it uses the key, it must fail and leave the key. A refused call must change nothing."""
        keys = self.put(name)
        before = snapshot(self.server)
        reported = ""
        try:
            do(thing)
        except redlatch.RedlatchError as error:
            reported = error.status_name
            if reported not in CLEAR or not str(error):
                self.wrong.append(f"{call} raised {error!r}")
        if (not reported) != (call in self.place.unaware):
            self.wrong.append(f"{call} {'succeeded' if not reported else 'was refused'}")
        after = snapshot(self.server)
        for key in keys:
            if after.get(key.encode()) != before[key.encode()]:
                self.wrong.append(f"{call} touched {key}")
        if reported == "wrong_type" and after != before:
            self.wrong.append(f"{call} was refused and changed {set(after.items()) ^ set(before.items())}")
        self.server.admin.flushdb()

    def judge_all(self) -> None:
        """Checks every call of the kind: those that need no hold, and those of a holder."""
        for call, do in self.kind.free.items():
            if call not in self.place.left_out:
                name = f"{self.name}:{call}"
                self.judge(call, do, self.kind.make(self.client, name), name)
        for call, do in self.kind.held.items():
            name = f"{self.name}:held:{call}"
            thing = self.kind.make(self.client, name)
            self.judge(call, do, self.kind.prepare(thing), name)
        assert not self.wrong, "\n".join(self.wrong)


@pytest.mark.parametrize(("kind", "place", "shape"), CASES)
def test_every_call_is_refused_and_leaves_it(
    server: RedisServer, client: redlatch.Client, lock_name: str, kind: str, place: str, shape: str
) -> None:
    keys = KINDS[kind].places[place]
    Scene(server, client, lock_name, KINDS[kind], keys, keys.shapes[shape]).judge_all()


# ------------------------------------------------------------------ a foreign key that comes while something is held --

WAKING = ("mutex", "spin", "fenced", "fair", "read", "write", "plain", "group", "semaphore", "permits", "latch")
HANDED_OVER = ("mutex", "fenced", "fair", "write", "plain", "group")


def occupy(client: redlatch.Client, kind: str, name: str) -> Callable[[], object]:
    """Makes waits of the kind block. Returns the release, or for counts a function that does nothing."""
    if kind in ("semaphore", "permits"):
        assert KINDS[kind].make(client, name).try_set_permits(0)
        return lambda: None
    if kind == "latch":
        assert client.latch(name).try_set_count(1)
        return lambda: None
    lock = client.read_write_lock(name).write if kind == "read" else KINDS[kind].make(client, name)
    assert lock.acquire(timeout=0)
    return lock.release


def overwrite(server: RedisServer, name: str, shape: Write) -> Dict[bytes, Tuple[bytes, bool]]:
    """Puts another key in the place of a name, so that the name is never free. Returns a snapshot of the key."""
    with server.admin.pipeline(transaction=True) as transaction:
        transaction.delete(name)
        shape(transaction, name)
        transaction.expire(name, 1000)
        transaction.execute()
    return {key: there for key, there in snapshot(server).items() if key == name.encode()}


def assert_untouched(server: RedisServer, there: Dict[bytes, Tuple[bytes, bool]]) -> None:
    """The keys of the snapshot are as they were."""
    now = snapshot(server)
    assert {key: now.get(key) for key in there} == there


def with_shapes(kinds: Tuple[str, ...]) -> List[Any]:
    """Returns each kind with a key of another type, and with a key of its own type in another shape."""
    shapes = {kind: KINDS[kind].places["name"].shapes for kind in kinds}
    ours = {kind: "text" if "fraction" in shapes[kind] else "hash" for kind in kinds}
    return [
        pytest.param(kind, shapes[kind][shape], id=f"{kind}-{shape}")
        for kind in kinds
        for shape in ("list", ours[kind])
    ]


@pytest.mark.parametrize(("kind", "shape"), with_shapes(WAKING))
def test_a_waiter_is_notified_at_its_next_recheck(
    server: RedisServer, client: redlatch.Client, lock_name: str, kind: str, shape: Write
) -> None:
    redis: Any = server.admin
    with redlatch.connect(server.url) as other:
        release = occupy(client, kind, lock_name)  # keeps the lock alive
        waiting = Call(lambda: KINDS[kind].wait(KINDS[kind].make(other, lock_name)))
        if kind == "spin":
            wait_until(lambda: other.stats()["round_trips"] >= 2)
        else:
            wait_until(lambda: redis.pubsub_channels(f"*{lock_name}*"))
        there = overwrite(server, lock_name, shape)
        for channel in redis.pubsub_channels(f"*{lock_name}*"):
            redis.publish(channel, "0")
        error = waiting.error(4.0)
        assert isinstance(error, redlatch.ServerError) and error.status_name == "wrong_type", error
        assert lock_name in str(error.lock_name)
        assert_untouched(server, there)
        with suppress(redlatch.RedlatchError):
            release()
        assert_untouched(server, there)


@pytest.mark.parametrize(("kind", "shape"), with_shapes(HANDED_OVER))
def test_nothing_is_handed_over(
    server: RedisServer, client: redlatch.Client, lock_name: str, kind: str, shape: Write
) -> None:
    release = occupy(client, kind, lock_name)
    waiting = Call(lambda: KINDS[kind].wait(KINDS[kind].make(client, lock_name)))
    wait_until(lambda: server.admin.pubsub_channels(f"*{lock_name}*"))
    there = overwrite(server, lock_name, shape)
    with pytest.raises(redlatch.RedlatchError) as caught:
        release()
    error = waiting.error(4.0)
    assert caught.value.status_name in CLEAR, caught.value
    assert isinstance(error, redlatch.ServerError) and error.status_name == "wrong_type", error
    assert_untouched(server, there)


def test_no_token_is_handed_over_where_there_is_no_counter(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    release = occupy(client, "fenced", lock_name)
    waiting = Call(lambda: KINDS["fenced"].wait(KINDS["fenced"].make(client, lock_name)))
    wait_until(lambda: server.admin.pubsub_channels(f"*{lock_name}*"))
    there = overwrite(server, f"redisson_lock_token:{{{lock_name}}}", KINDS["fenced"].places["token"].shapes["text"])
    try:
        release()
    except redlatch.ServerError as error:
        assert error.status_name == "wrong_type"
    error = waiting.error(4.0)
    assert isinstance(error, redlatch.ServerError) and error.status_name == "wrong_type", error
    assert_untouched(server, there)


@pytest.mark.parametrize(("kind", "shape"), with_shapes((*HANDED_OVER, "spin", "read")))
def test_the_watchdog_leaves_it_and_tells_the_holder(
    server: RedisServer, lock_name: str, kind: str, shape: Write
) -> None:
    with redlatch.connect(server.url, watchdog_lease=0.6) as client:
        lock = KINDS[kind].make(client, lock_name)
        lock.acquire()
        hold = lock.held()
        there = overwrite(server, lock_name, shape)
        wait_until(lambda: hold.lost, 5.0)
        assert_untouched(server, there)
        with pytest.raises(redlatch.RedlatchError) as caught:
            lock.release()
        assert caught.value.status_name == "lost"
    assert_untouched(server, there)


def test_the_watchdog_leaves_leases_of_something_else(server: RedisServer, lock_name: str) -> None:
    with redlatch.connect(server.url, watchdog_lease=0.6) as client:
        slots = client.permit_semaphore(lock_name)
        slots.try_set_permits(1)
        permit = slots.acquire()
        assert permit is not None
        there = overwrite(server, f"{{{lock_name}}}:timeout", KINDS["permits"].places["leases"].shapes["list"])
        wait_until(lambda: permit.lost, 5.0)
        assert_untouched(server, there)


@pytest.mark.parametrize("shape", ["list", "set", "sorted-set", "stream", *HASHES])
def test_nobody_waits_for_what_is_no_lock(
    server: RedisServer, client: redlatch.Client, lock_name: str, shape: str
) -> None:
    there = overwrite(server, lock_name, KINDS["mutex"].places["name"].shapes[shape])
    with pytest.raises(redlatch.ServerError) as caught:
        client.wait_free(lock_name, 20.0)
    assert caught.value.status_name == "wrong_type"
    assert not client.inspect(lock_name).locked
    assert_untouched(server, there)


# ------------------------------------------------------------------------------------------- strings without a TTL --


@pytest.mark.parametrize("word", ["abc", "5", "", "d41d8cd98f00b204e9800998ecf8427e", "x" * 200])
def test_a_string_without_a_ttl_is_no_plain_lock_to_release(
    server: RedisServer, client: redlatch.Client, lock_name: str, word: str
) -> None:
    redis: Any = server.admin
    redis.set(lock_name, word)
    other = client.plain_lock(f"{lock_name}:other")
    for lock in (client.plain_lock(lock_name), redlatch.multi_lock(client.plain_lock(lock_name), other)):
        with pytest.raises(redlatch.ServerError) as caught:
            lock.force_release()
        assert caught.value.status_name == "wrong_type"
    assert redis.get(lock_name) == word.encode() and redis.ttl(lock_name) == -1
    redis.expire(lock_name, 100)
    assert client.plain_lock(lock_name).force_release()
    assert not redis.exists(lock_name)


@pytest.mark.parametrize("word", ["6c7d2784e67211f197f702fc00000001", "AAECAwQFBgcICQoLDA0ODxAR"])
def test_locks_of_others_that_have_no_lease_are_released(
    server: RedisServer, client: redlatch.Client, lock_name: str, word: str
) -> None:
    server.admin.set(lock_name, word)  # redis-py and python-redis-lock write these if they are given no lease
    assert client.plain_lock(lock_name).force_release()
    assert not server.admin.exists(lock_name)


# ---------------------------------------------------------------------------------------- locks of other libraries --


def test_a_transaction_of_redisson_is_waited_for(
    server: RedisServer, client: redlatch.Client, lock_name: str
) -> None:
    owner = f"{uuid.uuid4()}:42:{uuid.uuid4().hex}"
    server.admin.hset(lock_name, owner, "1")
    server.admin.pexpire(lock_name, 100_000)
    lock = client.lock(lock_name)
    assert not lock.acquire(blocking=False) and lock.state().owner == owner
    report = client.inspect(lock_name)
    assert report.detected_kind == "mutex" and report.locked
    assert lock.force_release()

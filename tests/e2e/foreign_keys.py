# SPDX-License-Identifier: Apache-2.0
"""For each kind: the keys that redlatch uses, the foreign data that may be there, and the calls that come across it."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

import redlatch
from support import RedisServer

Write = Callable[[Any, str], object]
Do = Callable[[Any], object]
Keys = Callable[[RedisServer, redlatch.Client, str], List[str]]

LONG_S = 20.0  # the timeout of waits that an error must end early

# ---------------------------------------------------------------------------------------------------------- shapes --

_TEXT: Dict[str, Write] = {"text": lambda redis, key: redis.set(key, "somebody's words")}
_NUMBER: Dict[str, Write] = {"number": lambda redis, key: redis.set(key, "5")}
_LIST: Dict[str, Write] = {"list": lambda redis, key: redis.rpush(key, "somebody", "else")}
_SET: Dict[str, Write] = {"set": lambda redis, key: redis.sadd(key, "somebody", "else")}
_ZSET: Dict[str, Write] = {"sorted-set": lambda redis, key: redis.zadd(key, {"somebody": 1, "else": 10**16})}
_STREAM: Dict[str, Write] = {"stream": lambda redis, key: redis.xadd(key, {"somebody": "else"})}
_HASH: Dict[str, Write] = {"hash": lambda redis, key: redis.hset(key, mapping={"somebody": "x", "else": "y"})}
_HASHES: Dict[str, Write] = {
    **_HASH,
    "hash-of-one": lambda redis, key: redis.hset(key, "somebody", "else"),
    "hash-of-one-number": lambda redis, key: redis.hset(key, "item", "2"),
    "hash-of-numbers": lambda redis, key: redis.hset(key, mapping={"visits": "1", "likes": "2"}),
    "hash-with-mode": lambda redis, key: redis.hset(key, mapping={"mode": "dark", "size": "2"}),
    "hash-that-reads": lambda redis, key: redis.hset(key, mapping={"mode": "read", "size": "2"}),
    "hash-that-writes": lambda redis, key: redis.hset(key, mapping={"mode": "write", "size:write": "2"}),
    "hash-of-ids": lambda redis, key: redis.hset(key, mapping={f"{i:x<22}": "1" for i in range(3)}),
    "hash-of-many": lambda redis, key: redis.hset(key, mapping={f"field-{i}": "1" for i in range(600)}),
}
_NO_COUNT: Dict[str, Write] = {
    **_TEXT,
    "fraction": lambda redis, key: redis.set(key, "1.5"),
    "huge-number": lambda redis, key: redis.set(key, "9" * 30),
    "largest-number": lambda redis, key: redis.set(key, 2**63 - 1),
    "padded-number": lambda redis, key: redis.set(key, "007"),
    "empty-text": lambda redis, key: redis.set(key, ""),
}
_NO_HASH = {**_TEXT, **_NUMBER, **_LIST, **_SET, **_ZSET, **_STREAM}
NO_LOCK = {**_NO_HASH, **_HASHES}
# Any string may be a plain lock, so no string is foreign to one.
NO_PLAIN = {**_LIST, **_SET, **_ZSET, **_STREAM, **_HASH}
NO_COUNT = {**_NO_COUNT, **_LIST, **_SET, **_ZSET, **_STREAM, **_HASH}
NO_QUEUE = {**_TEXT, **_NUMBER, **_LIST, **_SET, **_ZSET, **_HASH}
NO_TIMEOUTS = {**_TEXT, **_LIST, **_SET, **_ZSET, **_HASH}
NO_STRING = {**_LIST, **_SET, **_ZSET, **_STREAM, **_HASH}
NO_LEASES = {**_TEXT, **_LIST, **_SET, **_ZSET, **_HASH}


# ----------------------------------------------------------------------------------------------------------- kinds --


class Place(NamedTuple):
    """A key of a kind: its name, the foreign data that may be there, the calls that do not access it, and the calls
    that are left out because they would wait."""

    keys: Keys
    shapes: Dict[str, Write]
    unaware: Tuple[str, ...] = ()
    left_out: Tuple[str, ...] = ()


class Kind(NamedTuple):
    """A kind: `make` returns the object for the calls in `free`. `prepare` brings it into the state for the calls in
    `held`, which are given its result."""

    make: Callable[[redlatch.Client, str], Any]
    free: Dict[str, Do]
    prepare: Do
    held: Dict[str, Do]
    places: Dict[str, Place]
    wait: Do


def tag(name: str) -> str:
    """Returns the name as Redisson writes it into further keys of a lock: with braces unless it has some."""
    return name if "{" in name else f"{{{name}}}"


def _name(_server: RedisServer, _client: redlatch.Client, name: str) -> List[str]:
    return [name]


def _beside(pattern: str) -> Keys:
    return lambda _server, client, name: [pattern.format(tag=tag(name), uuid=client.uuid)]


def _next_ids(pattern: str) -> Keys:
    """Returns a function for the keys of the next operations. A client numbers its operations in order."""

    def keys(_server: RedisServer, client: redlatch.Client, name: str) -> List[str]:
        probe = client.lock("probe", owner="handle")
        with probe as held:
            last = int(held.owner.split(":")[1])
        return [pattern.format(tag=tag(name), uuid=client.uuid, number=last + i) for i in range(1, 5)]

    return keys


def _next_record(server: RedisServer, client: redlatch.Client, name: str) -> List[str]:
    """Returns the key in which the next operation will be recorded. Its number is that of the previous record, even if
    that was for another name."""
    client.semaphore("probe").release()
    (record,) = server.admin.scan_iter(match="redlatch_op:{probe}:*")
    server.admin.delete("probe", record)
    return [record.decode().replace("{probe}", tag(name))]


_ASK: Dict[str, Do] = {"state": lambda lock: lock.state()}
_FREE: Dict[str, Do] = {
    "try": lambda lock: lock.acquire(blocking=False),
    "acquire": lambda lock: lock.acquire(timeout=LONG_S),
    "force_release": lambda lock: lock.force_release(),
    **_ASK,
}
_HELD: Dict[str, Do] = {
    "reenter": lambda lock: lock.acquire(timeout=LONG_S),
    "extend": lambda lock: lock.extend(25.0),
    "release": lambda lock: lock.release(),
}


def _take(lock: Any) -> Any:
    assert lock.acquire(timeout=LONG_S)
    return lock


def _take_twice(lock: Any) -> Any:
    return _take(_take(lock))


def _lock(
    make: Callable[[redlatch.Client, str], Any],
    places: Dict[str, Place],
    leave_out: Tuple[str, ...] = (),
    levels: bool = True,
) -> Kind:
    free = {call: do for call, do in _FREE.items() if call not in leave_out}
    held = {call: do for call, do in _HELD.items() if call not in leave_out}
    return Kind(make, free, _take_twice if levels else _take, held, places, lambda lock: lock.acquire(timeout=LONG_S))


def _multi(
    member: Callable[[redlatch.Client, str], redlatch.Lock],
    places: Dict[str, Place],
    leave_out: Tuple[str, ...] = (),
    levels: bool = True,
) -> Kind:
    """Returns a multi lock of two members on one server. The second has the foreign key."""
    return _lock(
        lambda client, name: redlatch.multi_lock(member(client, f"{name}:first"), member(client, name), owner="handle"),
        places,
        leave_out,
        levels,
    )


_HASH_NAME = {"name": Place(_name, NO_LOCK)}
_COUNT_NAME = {"name": Place(_name, NO_COUNT)}
_RECORD = Place(_next_record, NO_STRING)
_QUEUE_UNAWARE = ("force_release", "reenter", "extend", "release")

KINDS: Dict[str, Kind] = {
    "mutex": _lock(lambda client, name: client.lock(name, owner="handle"), _HASH_NAME),
    "non-reentrant": _lock(
        lambda client, name: client.lock(name, owner="handle", reentrant=False), _HASH_NAME, ("reenter",), levels=False
    ),
    "spin": _lock(lambda client, name: client.spin_lock(name, owner="handle"), _HASH_NAME),
    "fenced": _lock(
        lambda client, name: client.fenced_lock(name, owner="handle"),
        {
            **_HASH_NAME,
            "token": Place(
                _beside("redisson_lock_token:{tag}"), NO_COUNT, (*_ASK, "force_release", "reenter", "extend", "release")
            ),
        },
    ),
    "fair": _lock(
        lambda client, name: client.fair_lock(name, owner="handle"),
        {
            **_HASH_NAME,
            "queue": Place(_beside("redisson_lock_queue:{tag}"), NO_QUEUE, _QUEUE_UNAWARE),
            "time-outs": Place(_beside("redisson_lock_timeout:{tag}"), NO_TIMEOUTS, (*_ASK, *_QUEUE_UNAWARE)),
        },
    ),
    "read": _lock(
        lambda client, name: client.read_write_lock(name).read,
        {
            **_HASH_NAME,
            "time-out": Place(
                _next_ids("{tag}:{uuid}:{number}:rwlock_timeout:1"),
                NO_STRING,
                (*_ASK, "force_release", "reenter", "extend", "release"),
            ),
        },
    ),
    "write": _lock(lambda client, name: client.read_write_lock(name).write, _HASH_NAME),
    "plain": _lock(
        lambda client, name: client.plain_lock(name, owner="handle"),
        {"name": Place(_name, NO_PLAIN)},
        ("reenter",),
        levels=False,
    ),
    "group": _lock(lambda client, name: client.group_lock(name, ["a", "b"], owner="handle"), _HASH_NAME),
    "multi": _multi(lambda client, name: client.lock(name), _HASH_NAME),
    "multi-fenced": _multi(
        lambda client, name: client.fenced_lock(name),
        {
            **_HASH_NAME,
            "token": Place(
                _beside("redisson_lock_token:{tag}"), NO_COUNT, (*_ASK, "force_release", "extend", "release")
            ),
        },
    ),
    "multi-read": _multi(lambda client, name: client.read_write_lock(name).read, _HASH_NAME),
    "multi-write": _multi(lambda client, name: client.read_write_lock(name).write, _HASH_NAME),
    "multi-group": _multi(lambda client, name: client.group_lock(name, ["a", "b"]), _HASH_NAME),
    "multi-plain": _multi(
        lambda client, name: client.plain_lock(name), {"name": Place(_name, NO_PLAIN)}, ("reenter",), levels=False
    ),
    "semaphore": Kind(
        lambda client, name: client.semaphore(name),
        {
            "try": lambda gate: gate.acquire(blocking=False),
            "acquire": lambda gate: gate.acquire(2, timeout=LONG_S),
            "try_set_permits": lambda gate: gate.try_set_permits(3),
            "release": lambda gate: gate.release(),
            "release_if_exists": lambda gate: gate.release_if_exists(),
            "add_permits": lambda gate: gate.add_permits(2),
            "drain": lambda gate: gate.drain(),
            "available": lambda gate: gate.available(),
            "delete": lambda gate: gate.delete(),
        },
        lambda gate: gate,
        {},
        {**_COUNT_NAME, "record": _RECORD._replace(unaware=("available", "delete"))},
        lambda gate: gate.acquire(timeout=LONG_S),
    ),
    "permits": Kind(
        lambda client, name: client.permit_semaphore(name),
        {
            "try": lambda slots: slots.acquire(blocking=False),
            "acquire": lambda slots: slots.acquire_many(2, timeout=LONG_S),
            "try_set_permits": lambda slots: slots.try_set_permits(3),
            "set_permits": lambda slots: slots.set_permits(3),
            "add_permits": lambda slots: slots.add_permits(2),
            "available": lambda slots: slots.available(),
            "acquired": lambda slots: slots.acquired(),
            "permits": lambda slots: slots.permits(),
            "delete": lambda slots: slots.delete(),
        },
        lambda slots: slots.try_set_permits(2) and slots.acquire(),
        {
            "release": lambda permit: permit.release(),
            "extend": lambda permit: permit.extend(25.0),
            "lease_of": lambda permit: permit._semaphore.lease_of(permit),
        },
        {
            "name": Place(_name, NO_COUNT, ("lease_of",)),
            "leases": Place(_beside("{tag}:timeout"), NO_LEASES, ("try_set_permits",)),
            "record": _RECORD._replace(
                unaware=("try", "available", "acquired", "permits", "delete", "release", "extend", "lease_of"),
                left_out=("acquire",),
            ),
        },
        lambda slots: slots.acquire(timeout=LONG_S),
    ),
    "latch": Kind(
        lambda client, name: client.latch(name),
        {
            "try_set_count": lambda latch: latch.try_set_count(3),
            "count_down": lambda latch: latch.count_down(),
            "count": lambda latch: latch.count(),
            "wait": lambda latch: latch.wait(LONG_S),
            "delete": lambda latch: latch.delete(),
        },
        lambda latch: latch,
        {},
        {**_COUNT_NAME, "record": _RECORD._replace(unaware=("count", "wait", "delete"))},
        lambda latch: latch.wait(LONG_S),
    ),
}


def cases() -> Iterator[Tuple[str, str, str]]:
    """Yields kind, place and shape of each case."""
    for kind, made in KINDS.items():
        for place, keys in made.places.items():
            for shape in keys.shapes:
                yield kind, place, shape


def snapshot(server: RedisServer) -> Dict[bytes, Tuple[bytes, bool]]:
    """Returns the content of every key, and whether its TTL is that of a foreign key."""
    redis: Any = server.admin
    return {key: (content(redis, key), 990 < redis.ttl(key) <= 1000) for key in list(redis.keys())}


def content(redis: Any, key: bytes) -> bytes:
    """Returns a key's content. A hash is read, because older servers dump a large one in a new order each time."""
    return repr(sorted(redis.hgetall(key).items())).encode() if redis.type(key) == b"hash" else redis.dump(key)

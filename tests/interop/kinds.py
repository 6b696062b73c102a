# SPDX-License-Identifier: Apache-2.0
"""The kinds of lock that both libraries have, one row each. test_exclusion.py and test_ends.py play all scenarios with
all.

A row has redlatch's and Redisson's lock of a kind, which exclude each other. So the read-write lock has several rows. A
kind that both clients make by a method of the same name takes its row from the table of kinds. What only one kind has
is tested in a file of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List

import redlatch
from support import RedisServer
from support.kind_table import ROWS
from support.redisson import RedissonClient, RedissonObject


def hash_counts(server: RedisServer, name: str) -> List[int]:
    """Returns the hold counts in the hash of a lock, for all owners; [] if the lock is free."""
    fields: Dict[bytes, bytes] = server.admin.hgetall(name)  # type: ignore[assignment]
    return [int(value) for field, value in fields.items() if field != b"mode"]


def group_counts(server: RedisServer, name: str) -> List[int]:
    """Returns the hold counts of a group's values, without duplicates."""
    fields: Dict[bytes, bytes] = server.admin.hgetall(name)  # type: ignore[assignment]
    return sorted({int(value) for field, value in fields.items() if field.endswith(b":lock_count")})


def multi_counts(server: RedisServer, name: str) -> List[int]:
    """Returns the hold counts of a multi lock's members, without duplicates."""
    return sorted({count for member in members(name) for count in hash_counts(server, member)})


def members(name: str) -> List[str]:
    """Returns the names of a multi lock's members."""
    return [f"{name}:1", f"{name}:2"]


@dataclass(frozen=True)
class Kind:
    """How both libraries make a lock of one kind, and which scenarios the kind has."""

    ours: Callable[[redlatch.Client, str], Any]
    theirs: Callable[[RedissonClient, str], RedissonObject]
    counts: Callable[[RedisServer, str], List[int]] = hash_counts
    reentrant: bool = True
    # Whether a message wakes a waiter. Otherwise the waiter polls.
    pushes: bool = True
    # Whether Redisson has forceUnlock() and delete() for it.
    forced: bool = True
    # Whether Redisson has isLocked() and getHoldCount() for it.
    requested: bool = True
    # Whether several owners of one library may hold at the same time, as readers. Scenarios with two rivals of one
    # library are then left out.
    shared: bool = False
    # Whether a redlatch waiter rechecks after its subscription although its own process holds the lock. A waiter that
    # is in the server queue by then does not.
    rechecks_at_own: bool = True
    # Whether redlatch's multi locks can have it as a member.
    joins: bool = True
    # Whether Redisson's lock gets its turn among many. Its multi lock waits for one member, and gives up the others.
    turns: bool = True


def kind(core: str, **own: Any) -> Kind:
    """Returns the row of a kind in core/src/protocol/kinds.def, with its properties there. `own` has what only this
    table states."""
    properties = ROWS[core].properties
    method = method_of(core)
    return Kind(
        **{
            "ours": lambda client, name: getattr(client, method)(name),
            "theirs": getattr(RedissonClient, method),
            "reentrant": "not_reentrant" not in properties,
            "pushes": "polls" not in properties,
            "rechecks_at_own": "queues_on_server" not in properties,
            "joins": "member_type" in properties,
            **own,
        }
    )


def method_of(core: str) -> str:
    """Returns the method by which a client makes a lock of a kind."""
    return "lock" if core == "mutex" else f"{core}_lock"


KINDS: Dict[str, Kind] = {
    **{
        core: kind(core)
        for core in ROWS
        if hasattr(redlatch.Client, method_of(core)) and hasattr(RedissonClient, method_of(core))
    },
    "non-reentrant": kind(
        "mutex",
        ours=lambda client, name: client.lock(name, reentrant=False),
        theirs=RedissonClient.non_reentrant_lock,
        reentrant=False,
    ),
    "non-reentrant fair": kind(
        "fair",
        ours=lambda client, name: client.fair_lock(name, reentrant=False),
        theirs=RedissonClient.non_reentrant_fair_lock,
        reentrant=False,
    ),
    "group": kind(
        "group",
        ours=lambda client, name: client.group_lock(name, ["a", "b"]),
        theirs=lambda client, name: client.group_lock(name, ["b", "a"]),
        counts=group_counts,
        forced=False,
        requested=False,
    ),
    "multi": Kind(
        ours=lambda client, name: redlatch.multi_lock(*map(client.lock, members(name))),
        theirs=lambda client, name: client.multi_lock(*map(client.lock, members(name))),
        counts=multi_counts,
        forced=False,
        requested=False,
        turns=False,
        joins=False,
    ),
    "write": kind("write", ours=lambda client, name: client.read_write_lock(name).write),
    "we-read-they-write": kind(
        "read",
        ours=lambda client, name: client.read_write_lock(name).read,
        theirs=RedissonClient.write_lock,
        shared=True,
    ),
    "we-write-they-read": kind(
        "write",
        ours=lambda client, name: client.read_write_lock(name).write,
        theirs=RedissonClient.read_lock,
        shared=True,
    ),
}

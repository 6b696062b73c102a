# SPDX-License-Identifier: Apache-2.0
"""The kinds of lock that both sides have, one row each: test_exclusion.py and test_ends.py play all scenarios with all.

A row says what our side takes and what Redisson's takes: two locks that exclude each other. Those of the read-write
lock are therefore several rows. What only one kind has is tested in a file of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List

import redlatch
from support import RedisServer
from support.redisson import RedissonClient, RedissonObject


def hash_counts(server: RedisServer, name: str) -> List[int]:
    """The hold counts in the hash of a lock, whoever holds it; empty when it is free."""
    fields: Dict[bytes, bytes] = server.admin.hgetall(name)  # type: ignore[assignment]
    return [int(value) for field, value in fields.items() if field != b"mode"]


def group_counts(server: RedisServer, name: str) -> List[int]:
    """The hold counts of the values of a group, each once."""
    fields: Dict[bytes, bytes] = server.admin.hgetall(name)  # type: ignore[assignment]
    return sorted({int(value) for field, value in fields.items() if field.endswith(b":lock_count")})


def multi_counts(server: RedisServer, name: str) -> List[int]:
    """The hold counts of the members of a multi lock, each once."""
    return sorted({count for member in members(name) for count in hash_counts(server, member)})


def members(name: str) -> List[str]:
    """The names that a multi lock is about."""
    return [f"{name}:1", f"{name}:2"]


@dataclass(frozen=True)
class Kind:
    """How both sides make a lock of one kind, and which scenarios it has."""

    ours: Callable[[redlatch.Client, str], Any]
    theirs: Callable[[RedissonClient, str], RedissonObject]
    counts: Callable[[RedisServer, str], List[int]] = hash_counts
    reentrant: bool = True
    # Whether a waiter is woken by a message; else it asks again and again by itself.
    pushes: bool = True
    # Whether Redisson has forceUnlock() and delete() for it.
    forced: bool = True
    # Whether Redisson has isLocked() and getHoldCount() for it.
    requested: bool = True
    # Whether holds of one side go together, as those of readers: scenarios with two rivals of one side are left out.
    shared: bool = False
    # Whether a waiter of ours looks once more when it listens, although its own process holds the lock: not where it
    # stands in the server's queue by then.
    rechecks_at_own: bool = True
    # Whether Redisson's gets its turn among many: its multi lock waits for one member, and gives up the others.
    turns: bool = True


KINDS: Dict[str, Kind] = {
    "mutex": Kind(ours=lambda client, name: client.lock(name), theirs=RedissonClient.lock),
    "non-reentrant": Kind(
        ours=lambda client, name: client.lock(name, reentrant=False),
        theirs=RedissonClient.non_reentrant_lock,
        reentrant=False,
    ),
    "fair": Kind(
        ours=lambda client, name: client.fair_lock(name), theirs=RedissonClient.fair_lock, rechecks_at_own=False
    ),
    "non-reentrant fair": Kind(
        ours=lambda client, name: client.fair_lock(name, reentrant=False),
        theirs=RedissonClient.non_reentrant_fair_lock,
        reentrant=False,
        rechecks_at_own=False,
    ),
    "fenced": Kind(ours=lambda client, name: client.fenced_lock(name), theirs=RedissonClient.fenced_lock),
    "spin": Kind(ours=lambda client, name: client.spin_lock(name), theirs=RedissonClient.spin_lock, pushes=False),
    "group": Kind(
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
    ),
    "write": Kind(ours=lambda client, name: client.read_write_lock(name).write, theirs=RedissonClient.write_lock),
    "we-read-they-write": Kind(
        ours=lambda client, name: client.read_write_lock(name).read, theirs=RedissonClient.write_lock, shared=True
    ),
    "we-write-they-read": Kind(
        ours=lambda client, name: client.read_write_lock(name).write, theirs=RedissonClient.read_lock, shared=True
    ),
}

# SPDX-License-Identifier: Apache-2.0
"""The kinds of lock that both sides have, one row each: test_exclusion.py and test_ends.py play all scenarios with all.

A row says what our side takes and what Redisson's takes: two locks that exclude each other. Those of the read-write
lock are therefore several rows. A kind that both clients make by a method of the same name has its row from the table
of kinds. What only one kind has is tested in a file of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List

import redlatch
from support import RedisServer
from support.kind_table import ROWS
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
    # Whether our multi locks have it as a member.
    joins: bool = True
    # Whether Redisson's gets its turn among many: its multi lock waits for one member, and gives up the others.
    turns: bool = True


def kind(core: str, **own: Any) -> Kind:
    """The row of a kind of core/src/protocol/kinds.def, by what is said there; `own` is what only its row here says."""
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
    """By which a client makes a lock of a kind."""
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

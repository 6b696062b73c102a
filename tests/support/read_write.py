# SPDX-License-Identifier: Apache-2.0
"""A read-write lock as it stands on the wire, for tests that look at it or play a peer."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import redlatch

from . import RedisServer

# A Redisson client that does not exist; its version nibble is 4.
PEER = "0aaaaaaa-0000-4000-8000-00000000000a"


def base(name: str) -> str:
    """What the timeout keys of a name begin with (wire format 1.2, 2.5)."""
    return name if "{" in name else f"{{{name}}}"


def channel(name: str) -> str:
    """The channel on which releases of both modes are published."""
    return f"redisson_rwlock:{base(name)}"


def timeout_key(name: str, owner: str, level: int) -> str:
    """The timeout key of one level of a reader."""
    return f"{base(name)}:{owner}:rwlock_timeout:{level}"


def wire(server: RedisServer, name: str) -> Dict[str, str]:
    """The lock's hash, as text; empty when it is free."""
    found: Any = server.admin.hgetall(name)
    return {field.decode(): value.decode() for field, value in found.items()}


def levels(server: RedisServer, name: str, owner: str) -> List[int]:
    """The remaining ms of each of a reader's timeout keys, in order; only those that are there."""
    keys: Any = server.admin.keys(timeout_key(name.translate(_GLOB), owner, 0)[:-1] + "*")
    with server.admin.pipeline(transaction=False) as all_of_them:
        for key in keys:
            all_of_them.pttl(key)
        found = sorted((int(key.rsplit(b":", 1)[1]), left) for key, left in zip(keys, all_of_them.execute()))
    assert [level for level, _ in found] == list(range(1, len(found) + 1)), found
    return [int(left) for _, left in found]


_GLOB = str.maketrans({letter: f"\\{letter}" for letter in "*?[]\\"})


def ttl_ms(server: RedisServer, name: str) -> int:
    """The remaining ms of the lock's own lease; -2 when it is free."""
    left: Any = server.admin.pttl(name)
    return int(left)


def owner_of(lock: redlatch.Lock) -> str:
    """The id that the calling thread's hold has on the wire."""
    hold = lock.held()
    assert hold is not None
    return hold.owner


def peer_reads(server: RedisServer, name: str, thread: int, lease_ms: Optional[int], lock_ms: int) -> str:
    """Write a reader, as Redisson's acquire does, and the lock's lease. Without `lease_ms` it has no timeout key."""
    owner = f"{PEER}:{thread}"
    with server.admin.pipeline(transaction=True) as at_once:
        at_once.hset(name, mapping={"mode": "read", owner: "1"})
        if lease_ms is not None:
            at_once.set(timeout_key(name, owner, 1), "1", px=lease_ms)
        at_once.pexpire(name, lock_ms)
        at_once.execute()
    return owner


def peer_writes(server: RedisServer, name: str, lease_ms: int) -> str:
    """Write a writer, as Redisson's acquire does."""
    owner = f"{PEER}:99"
    server.admin.hset(name, mapping={"mode": "write", f"{owner}:write": "1"})
    server.admin.pexpire(name, lease_ms)
    return owner


def about(value: int, expected: int, slack: int = 2_000) -> bool:
    """Whether a remaining time is what it was set to, less at most `slack` for a slow machine."""
    return expected - slack < value <= expected


def sides(client: redlatch.Client, name: str) -> Tuple[redlatch.Lock, redlatch.Lock]:
    """The read lock and the write lock of a name."""
    both = client.read_write_lock(name)
    return both.read, both.write

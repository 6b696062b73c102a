# SPDX-License-Identifier: Apache-2.0
"""Checks what is on the servers one lease after all owners are done: nothing, except what a format keeps. Counts that
stay are written to the history.

Positions of dead waiters stay in a fair queue until somebody acquires the lock. So the check does that, after it has
removed Redisson's positions, which last for 300 s. Then nothing is left of the queue either.
"""

from __future__ import annotations

import json
import time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, List, Sequence

import redlatch
from kinds import KINDS, is_redissons, names_of, queues_of
from plan import LEASE_MS
from support import RedisServer

# Added to a lease: the server searches for expired keys ten times a second.
_SLACK = 1.0
# At most a lease and a fair timeout, and the 5 s after which a waiter rechecks whose wake-up was lost.
_COMES = 2 * LEASE_MS / 1000 + 5.0 + _SLACK
# Records of outcomes, for commands that arrive twice. They have a TTL of their own.
_RECORDS = ("redlatch_", "redisson_unlock_latch:")


def check(servers: Sequence[RedisServer], kind_names: Sequence[str]) -> List[str]:
    """Returns which keys are left that should not be, after at most a lease. Fair locks are on the first server."""
    found = [_come(servers[0], name, key) for name, key in queues_of(kind_names).items()]
    stays = {
        pattern.format(name=name) for kind in kind_names for name in names_of(kind) for pattern in KINDS[kind].stays
    }
    deadline = time.monotonic() + LEASE_MS / 1000 + _SLACK
    while True:
        left = [message for server in servers for message in _left(server, stays)]
        if not left or time.monotonic() > deadline:
            return [message for message in found if message] + left
        time.sleep(0.1)


def count(server: RedisServer, kind_names: Sequence[str], journal: Path) -> None:
    """Writes down how many permits each semaphore has. Permits that are taken and have a lease are included."""
    with redlatch.connect(server.url) as client, journal.open("w", encoding="utf-8") as lines:
        for kind in kind_names:
            if "sums" in KINDS[kind].checks:
                for name in _names_on(server, kind):
                    leased = KINDS[kind].shape == "permits"
                    there = client.permit_semaphore(name).permits() if leased else client.semaphore(name).available()
                    line = {"t": time.monotonic_ns(), "do": "count", "id": "", "name": name, "n": there}
                    lines.write(json.dumps(line) + "\n")


def _names_on(server: RedisServer, kind: str) -> List[str]:
    """Returns the names of a kind that are on a server, of all epochs."""
    keys = [key for name in names_of(kind) for key in server.admin.scan_iter(match=f"{name}:*", count=1000)]
    return sorted(key.decode() for key in keys)


def _come(server: RedisServer, name: str, key: str) -> str:
    """Acquires a fair lock and releases it. Returns a violation, or an empty string."""
    owners: Any = server.admin.lrange(key, 0, -1)
    for owner in owners:
        if is_redissons(owner.decode()):
            server.admin.lrem(key, 0, owner)
            server.admin.zrem(key.replace("_queue:", "_timeout:"), owner)
    with redlatch.connect(server.url, fair_timeout=LEASE_MS / 1000) as client:
        lock = client.fair_lock(name)
        if not lock.acquire(timeout=_COMES):
            return f"leftovers: nobody gets {name}, within {_COMES} s"
        lock.release()
    return ""


def _left(server: RedisServer, stays: set[str]) -> List[str]:
    found: List[str] = []
    for raw in server.admin.scan_iter(count=1000):
        key = raw.decode()
        left: Any = server.admin.pttl(raw)
        recorded = key.startswith(_RECORDS) and left > 0
        stayed = any(fnmatchcase(key, pattern) for pattern in stays)
        if left != -2 and not stayed and not recorded:
            kind: Any = server.admin.type(raw)
            found.append(f"leftovers: the key {key}, a {kind.decode()} with {left} ms to live, is still there")
    return found

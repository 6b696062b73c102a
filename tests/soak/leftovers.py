# SPDX-License-Identifier: Apache-2.0
"""What is on the servers when all owners are done and a lease is over: nothing, but what a format keeps. Counts that
are kept are entered into the history.

The places of dead waiters in a fair queue stay until somebody comes. So somebody does, after Redisson's places are
gone, which hold for 300 s: who comes gets the lock, and then nothing is left of the queue either.
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

# Beyond a lease: the server looks for expired keys ten times a second.
_SLACK = 1.0
# A lease and a fair time-out at the most, and the 5 s after which a waiter looks whose call is lost.
_COMES = 2 * LEASE_MS / 1000 + 5.0 + _SLACK
# Records of what was done, for commands that come twice; they have a TTL of their own.
_RECORDS = ("redlatch_", "redisson_unlock_latch:")


def check(servers: Sequence[RedisServer], kind_names: Sequence[str]) -> List[str]:
    """What is left and should not be, after a lease at most. Fair locks are on the first server."""
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
    """Writes down how many permits each semaphore has, those included which are taken and have a lease."""
    with redlatch.connect(server.url) as client, journal.open("w", encoding="utf-8") as lines:
        for kind in kind_names:
            if "sums" in KINDS[kind].checks:
                for name in _names_on(server, kind):
                    leased = KINDS[kind].shape == "permits"
                    there = client.permit_semaphore(name).permits() if leased else client.semaphore(name).available()
                    line = {"t": time.monotonic_ns(), "do": "count", "id": "", "name": name, "n": there}
                    lines.write(json.dumps(line) + "\n")


def _names_on(server: RedisServer, kind: str) -> List[str]:
    """Names of a kind that are on a server, of whatever epoch."""
    keys = [key for name in names_of(kind) for key in server.admin.scan_iter(match=f"{name}:*", count=1000)]
    return sorted(key.decode() for key in keys)


def _come(server: RedisServer, name: str, key: str) -> str:
    """Takes a fair lock, and gives it back; what is wrong with that."""
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

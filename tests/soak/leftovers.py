# SPDX-License-Identifier: Apache-2.0
"""What is on the server when all owners are done and a lease is over: nothing, but what a format keeps."""

from __future__ import annotations

import time
from fnmatch import fnmatchcase
from typing import Any, List, Sequence

from env import RedisServer
from kinds import KINDS, names_of
from plan import LEASE_MS

# Beyond a lease: the server looks for expired keys ten times a second.
_SLACK = 1.0
# Records of what was done, for commands that come twice; they have a TTL of their own.
_RECORDS = ("redlatch_", "redisson_unlock_latch:")


def check(server: RedisServer, kind_names: Sequence[str]) -> List[str]:
    """What is left and should not be, after a lease at most."""
    stays = {
        pattern.format(name=name) for kind in kind_names for name in names_of(kind) for pattern in KINDS[kind].stays
    }
    deadline = time.monotonic() + LEASE_MS / 1000 + _SLACK
    while True:
        found = _left(server, stays)
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.1)


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

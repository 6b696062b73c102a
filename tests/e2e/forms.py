# SPDX-License-Identifier: Apache-2.0
"""Keys of each form that reports distinguish, and keys that are no locks, written as other programs write them."""

from __future__ import annotations

import time
from typing import Any, Dict, List

from support import RedisServer

UUID = "3f2b7c1a-0d4e-4b7a-9c11-2f6d0a9e8b77"


def put_hash(server: RedisServer, name: object, values: Dict[str, object], ttl_ms: int = 60_000) -> None:
    """Write a hash with a TTL."""
    client: Any = server.admin
    client.hset(name, mapping=values)
    client.pexpire(name, ttl_ms)


def put_every_form(server: RedisServer) -> Dict[str, str]:
    """Write one key of each form in Redisson's format. Returns the kind of each name."""
    client: Any = server.admin
    put_hash(server, "mutex", {f"{UUID}:42": 2})
    put_hash(server, "fenced", {f"{UUID}:1": 1})
    client.set("redisson_lock_token:{fenced}", 17)
    put_hash(server, "{t}:fair", {f"{UUID}:1": 1})
    client.rpush("redisson_lock_queue:{t}:fair", f"{UUID}:7", f"{UUID}:8")
    until = int(time.time() * 1000) + 60_000
    client.zadd("redisson_lock_timeout:{t}:fair", {f"{UUID}:7": until, f"{UUID}:8": until})
    put_hash(server, "writing", {"mode": "write", f"{UUID}:1:write": 1, f"{UUID}:1": 2})
    put_hash(server, "reading", {"mode": "read", f"{UUID}:1": 1, f"{UUID}:2": 3})
    value = "t6rZwibGo2uy1OSmNVe8pg"
    owner = f"{UUID}:3"
    put_hash(server, "group", {value: owner, f"{value}:{owner}:expire_time": int(time.time() * 1000) + 60_000,
                               f"{value}:{owner}:lock_count": 1})
    client.set("plain", f"{UUID[:14]}8{UUID[15:]}:5", px=60_000)
    put_permits(server, "slots", taken=2)
    return {"mutex": "mutex", "fenced": "fenced", "{t}:fair": "fair", "writing": "read_write",
            "reading": "read_write", "group": "group", "plain": "plain", "slots": "permit_semaphore"}


def put_permits(server: RedisServer, name: str, taken: int) -> None:
    """Write a permit semaphore with three available permits, `taken` acquired ones, and one whose lease is over."""
    client: Any = server.admin
    client.set(name, 3)
    now = int(time.time() * 1000)
    ends = {bytes([number]) * 16: now + 60_000 for number in range(taken)}
    client.zadd(f"{{{name}}}:timeout", {**ends, b"\xff" * 16: now - 1000})


def put_what_is_no_lock(server: RedisServer) -> List[str]:
    """Write keys that are no locks. Returns their names."""
    client: Any = server.admin
    client.set("text", "five")
    client.set("page", "12345678901234567890")
    client.hset("visits", mapping={"home": 5})
    client.hset("user", mapping={"name": "x", "mode": "dark"})
    client.hset("large", mapping={str(number): number for number in range(3000)})
    client.hset("almost", mapping={f"{UUID}:1": "none"})
    client.rpush("queue", "a")
    client.zadd("scores", {"a": 1})
    return ["text", "page", "visits", "user", "large", "almost", "queue", "scores"]

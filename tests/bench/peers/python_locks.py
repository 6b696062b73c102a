# SPDX-License-Identifier: Apache-2.0
"""The lock libraries that the Python programs compare, each as "a lock of this name, to be used with `with`"."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Callable, Dict

LockFactory = Callable[[str], "AbstractContextManager[Any]"]

_LEASE_SECONDS = 30


def _redis_py(port: int) -> LockFactory:
    import redis

    client = redis.Redis(host="127.0.0.1", port=port)
    return lambda name: client.lock(name, timeout=_LEASE_SECONDS)


def _python_redis_lock(port: int) -> LockFactory:
    import redis
    import redis_lock  # type: ignore[import-untyped]

    client = redis.StrictRedis(host="127.0.0.1", port=port)
    return lambda name: redis_lock.Lock(client, name, expire=_LEASE_SECONDS)


def _redlatch(port: int) -> LockFactory:
    import redlatch

    client = redlatch.connect(f"redis://127.0.0.1:{port}/0")
    return client.lock


def _redlatch_unconfirmed(port: int) -> LockFactory:
    import redlatch

    client = redlatch.connect(f"redis://127.0.0.1:{port}/0")
    return lambda name: client.lock(name, confirm_release=False)


LIBRARIES: Dict[str, Callable[[int], LockFactory]] = {
    "redis-py": _redis_py,
    "python-redis-lock": _python_redis_lock,
    "redlatch": _redlatch,
    "redlatch-unconfirmed": _redlatch_unconfirmed,
}

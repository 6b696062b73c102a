# SPDX-License-Identifier: Apache-2.0
"""Pairs per second of a Python lock library in asyncio: `async with lock:` again and again, in one task or many.

Each task has a lock of its own. Prints the same line of JSON as the C programs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from contextlib import AbstractAsyncContextManager
from typing import Any, Callable, Dict

LockFactory = Callable[[str], "AbstractAsyncContextManager[Any]"]

_LEASE_SECONDS = 30


def _redis_py(port: int) -> LockFactory:
    import redis.asyncio

    client = redis.asyncio.Redis(host="127.0.0.1", port=port)
    return lambda name: client.lock(name, timeout=_LEASE_SECONDS)


def _redlatch(port: int) -> LockFactory:
    import redlatch.aio

    client = redlatch.aio.connect(f"redis://127.0.0.1:{port}/0", lazy=True)
    return client.lock


LIBRARIES: Dict[str, Callable[[int], LockFactory]] = {"redis-py": _redis_py, "redlatch": _redlatch}


async def pairs_until(lock: Any, deadline: float) -> int:
    """Pairs done when the deadline had passed; one that ended after the deadline does not count."""
    pairs = 0
    while True:
        async with lock:
            pass
        if time.perf_counter() >= deadline:
            return pairs
        pairs += 1


async def measure(new_lock: LockFactory, tasks: int, seconds: float) -> Dict[str, Any]:
    """Runs all tasks for a moment, and then for the time that counts."""
    locks = [new_lock(f"bench:pair:{number}") for number in range(tasks)]
    pairs = []
    for duration in (seconds / 4, seconds):
        begun, cpu = time.perf_counter(), time.process_time()
        pairs = await asyncio.gather(*(pairs_until(lock, begun + duration) for lock in locks))
    return {"pairs": sum(pairs), "seconds": seconds, "cpu_seconds": time.process_time() - cpu}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", choices=sorted(LIBRARIES), required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--tasks", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    print(json.dumps(asyncio.run(measure(LIBRARIES[options.library](options.port), options.tasks, options.seconds))))


if __name__ == "__main__":
    main()

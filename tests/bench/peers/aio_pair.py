# SPDX-License-Identifier: Apache-2.0
"""Pairs per second of redlatch.aio: one task of asyncio. Prints a line of JSON as the C programs do."""

from __future__ import annotations

import argparse
import asyncio
import json
import time

import redlatch.aio


async def pairs_for(lock: redlatch.aio.Lock, seconds: float) -> int:
    """Pairs done within the time."""
    pairs, deadline = 0, time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        async with lock:
            pass
        pairs += 1
    return pairs


async def measure(port: int, seconds: float, confirmed: bool) -> None:
    """Warms up, and measures."""
    async with redlatch.aio.connect(f"redis://127.0.0.1:{port}/0") as client:
        lock = client.lock("bench:pair", confirm_release=confirmed)
        await pairs_for(lock, seconds / 10)
        cpu = time.process_time()
        pairs = await pairs_for(lock, seconds)
        print(json.dumps({"pairs": pairs, "seconds": seconds, "cpu_seconds": time.process_time() - cpu}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", choices=["redlatch", "redlatch-unconfirmed"], required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    asyncio.run(measure(options.port, options.seconds, options.library == "redlatch"))


if __name__ == "__main__":
    main()

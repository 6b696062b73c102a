"""Scene 2: a lock without a lease is renewed while its holder lives, and is free one lease after the holder's death.

SPDX-License-Identifier: Apache-2.0
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import List

import redis
from show import Child, say, title, verdict

import redlatch

HERE = Path(__file__).resolve().parent
LEASE = 1.0
TOLERANCE = 0.2


def watch_renewals(server: "redis.Redis", name: str, seconds: float) -> List[int]:
    """Polls the lock's TTL on the server. Each time the TTL rises, the lease was renewed."""
    renewals: List[int] = []
    end = time.monotonic() + seconds
    last = server.pttl(name)
    while time.monotonic() < end:
        time.sleep(0.005)
        ttl = server.pttl(name)
        if ttl > last:
            renewals.append(ttl)
            say(f"renewed: the server's TTL went from {last} ms back to {ttl} ms", "dim")
        last = ttl
    return renewals


def run(url: str, server: "redis.Redis") -> bool:
    """Plays the scene. Returns whether it showed what it should."""
    title(f"2. The watchdog: a holder works for three leases of {LEASE:.0f} s, then dies by SIGKILL")
    name = "demo:watchdog"
    command = [sys.executable, str(HERE / "holder.py"), url, name, str(LEASE)]
    with Child(command) as holder, redlatch.connect(url) as client:
        say("holder: " + holder.read())
        granted: List[float] = []
        lock = client.lock(name)

        def wait() -> None:
            with lock:
                granted.append(time.monotonic())

        waiter = threading.Thread(target=wait)
        waiter.start()
        renewals = watch_renewals(server, name, 3 * LEASE)
        kept = len(renewals) >= 6 and not granted
        alive = verdict(kept, f"{len(renewals)} renewals in three leases, and nobody else got in")
        left = server.pttl(name) / 1000
        os.kill(holder.process.pid, signal.SIGKILL)
        killed = time.monotonic()
        say(f"holder killed with {left * 1000:.0f} ms of its lease left")
        waiter.join(timeout=5)
        if not granted:
            return verdict(False, "the waiter got the lock")
        delay = granted[0] - killed
        return verdict(delay <= LEASE + TOLERANCE, f"the waiter had the lock {delay:.3f} s after the kill") and alive

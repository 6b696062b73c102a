"""Scene 4: the master dies. Sentinels promote a replica, and the client moves there with its holds.

SPDX-License-Identifier: Apache-2.0
"""

import threading
import time
from typing import List

from show import say, title, verdict
from support import wait_until
from support.sentinels import Watched

import redlatch

LEASE = 3.0
GRANTED_WITHIN = 5.0


def run() -> bool:
    """Plays the scene. Returns whether it showed what it should."""
    title("4. A failover: a master with two replicas, watched by three sentinels, is killed")
    with Watched() as watched, redlatch.connect(watched.url(), watchdog_lease=LEASE) as client:
        say(f"connected by {client.url}")
        old = watched.master
        granted: List[float] = []
        lock = client.lock("demo:failover")
        lock.acquire()
        waiter = threading.Thread(target=lambda: _take(client, granted))
        waiter.start()
        wait_until(lambda: client.stats()["waiters"] == 1)
        wait_until(watched.in_step)
        say(f"one thread holds the lock, another one waits; the replicas have everything of port {old.port}")
        killed = time.monotonic()
        old.kill()
        new = watched.wait_for_new_master(old)
        say(f"killed; {time.monotonic() - killed:.3f} s later the sentinels announce port {new.port}")
        before = client.stats()["renewals"]
        wait_until(lambda: client.stats()["renewals"] > before, 10.0)
        held = lock.owned() and bool(new.admin.exists("demo:failover"))
        kept = verdict(held, "the hold is renewed on the new master")
        lock.release()
        released = time.monotonic()
        waiter.join(timeout=30)
        late = max(0.0, granted[0] - released) if granted else GRANTED_WITHIN  # the waiter may read the clock first
        return verdict(late < GRANTED_WITHIN, f"the waiter had the lock {late:.3f} s after its release there") and kept


def _take(client: redlatch.Client, granted: List[float]) -> None:
    with client.lock("demo:failover", timeout=30):
        granted.append(time.monotonic())

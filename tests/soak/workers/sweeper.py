# SPDX-License-Identifier: Apache-2.0
"""Removes from the queues of fair locks what Redisson leaves behind in them.

A waiter of Redisson whose call fails, or whose process is killed, stays in the queue. At the head it blocks all others
for 300 s, which is Redisson's default bound. A run would mostly wait. So positions without a waiter are removed.
"""

from __future__ import annotations

import threading
from typing import Any, Dict, Set, Tuple

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from ..kinds import is_redissons

_PERIOD = 0.3
_QUEUE, _TIMEOUTS = "redisson_lock_queue:", "redisson_lock_timeout:"


class Sweeper:
    """A thread that removes them, in the only process that uses Redisson."""

    def __init__(self, url: str) -> None:
        self._redis = redis.Redis.from_url(
            url, protocol=2, decode_responses=True, socket_timeout=2.0, retry=Retry(NoBackoff(), 0)
        )
        # The name for which each owner of this process waits.
        self.waiting: Dict[str, str] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sweep, name="soak-sweeper", daemon=True)
        self._thread.start()

    def _sweep(self) -> None:
        suspects: Set[Tuple[str, str]] = set()
        while not self._over.wait(_PERIOD):
            try:
                found = self._left_behind()
                for name, owner in found & suspects:
                    with self._redis.pipeline(transaction=True) as both:
                        both.lrem(f"{_QUEUE}{{{name}}}", 0, owner)
                        both.zrem(f"{_TIMEOUTS}{{{name}}}", owner)
                        both.execute()
                suspects = found - suspects
            except redis.RedisError:
                pass  # the nemesis is at work

    def _left_behind(self) -> Set[Tuple[str, str]]:
        """Returns names, with owners in their queues that do not wait for them."""
        found: Set[Tuple[str, str]] = set()
        keys: Any = self._redis.keys(f"{_QUEUE}*")
        for key in keys:
            name = key[len(_QUEUE) + 1 : -1]
            owners: Any = self._redis.lrange(key, 0, -1)
            found |= {(name, each) for each in owners if is_redissons(each) and self.waiting.get(each) != name}
        return found

    def stop(self) -> None:
        """Ends the thread."""
        self._over.set()
        self._thread.join()
        self._redis.close()

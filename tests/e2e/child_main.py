# SPDX-License-Identifier: Apache-2.0
"""What a child process of the tests runs: calls that the test sends line by line, and news that it sends back.

    child_main.py URL NAME OPTIONS      options of redlatch.connect as JSON

Each line of the input is a JSON list, a call's name and its arguments; each gets one line with its result. A lost hold
is told on a line of its own, with the time on the clock that all processes share.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Optional

import redis
import redlatch
from support import RedissonShapedPeer


class Child:
    """The calls."""

    def __init__(self, url: str, name: str, options: Dict[str, Any]) -> None:
        self._url = url
        self._name = name
        self._client = redlatch.connect(url, **options)
        self._lock = self._client.lock(name)
        self._hold: Optional[redlatch.Hold] = None
        self._printing = threading.Lock()

    def say(self, news: Dict[str, Any]) -> None:
        """Send a line."""
        with self._printing:
            print(json.dumps(news), flush=True)

    def acquire(self) -> str:
        """Take the lock and watch it; the result is the owner on the wire."""
        self._lock.acquire()
        self._hold = self._lock.held()
        assert self._hold is not None
        event = self._hold.lost_event
        threading.Thread(target=self._watch, args=(event,), daemon=True).start()
        return self._hold.owner

    def _watch(self, event: threading.Event) -> None:
        event.wait()
        self.say({"event": "lost", "at": time.monotonic()})

    def release(self) -> str:
        """Release one level."""
        return self._outcome(self._lock.release)

    def reenter(self) -> str:
        """Take one level more."""
        return self._outcome(self._lock.acquire)

    def _outcome(self, call: Callable[[], object]) -> str:
        try:
            call()
        except redlatch.RedlatchError as error:
            return error.status_name
        return "ok"

    def lost(self) -> bool:
        """Whether the hold was lost."""
        assert self._hold is not None
        return self._hold.lost

    def remaining(self) -> float:
        """The safe time that is left."""
        assert self._hold is not None
        return self._hold.remaining()

    def turns(self, count: int) -> List[float]:
        """Take and release the lock so often, leaving it to others in between; how long each acquire took."""
        return [self._turn(self._lock.acquire, self._lock.release) for _ in range(count)]

    def redisson_turns(self, count: int) -> List[float]:
        """The same with a Redisson-shaped client."""
        with RedissonShapedPeer(self) as peer:  # type: ignore[arg-type]  # it uses nothing of a server but client()
            return [self._turn(lambda: peer.lock(self._name), lambda: peer.unlock(self._name)) for _ in range(count)]

    @staticmethod
    def _turn(acquire: Callable[[], object], release: Callable[[], object]) -> float:
        started_at = time.monotonic()
        acquire()
        took = time.monotonic() - started_at
        release()
        time.sleep(random.uniform(0.02, 0.06))
        return took

    def client(self, **options: Any) -> redis.Redis:
        """A redis-py connection for the Redisson-shaped client."""
        return redis.Redis.from_url(self._url, protocol=2, **options)


def main() -> None:
    """Answer calls until the input ends."""
    child = Child(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
    for line in sys.stdin:
        call, *arguments = json.loads(line)
        child.say({"result": getattr(child, call)(*arguments)})


if __name__ == "__main__":
    main()

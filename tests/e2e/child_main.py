# SPDX-License-Identifier: Apache-2.0
"""The program of a child process: it makes the calls that the test sends, and sends back results and losses.

    child_main.py URL NAME OPTIONS      options of redlatch.connect as JSON

Each line of the input is a JSON list: the name of a call and its arguments. The child answers each with one line, the
result. It reports a lost hold on a line of its own, with the time of the monotonic clock, which all processes share.
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
    """The calls that a test can send: its public methods."""

    def __init__(self, url: str, name: str, options: Dict[str, Any]) -> None:
        self._url = url
        self._name = name
        self._client = redlatch.connect(url, **options)
        self._lock = self._client.lock(name)
        self._hold: Optional[redlatch.Hold] = None
        self._printing = threading.Lock()

    def say(self, news: Dict[str, Any]) -> None:
        """Send a line to the test."""
        with self._printing:
            print(json.dumps(news), flush=True)

    def acquire(self) -> str:
        """Acquire the lock and watch for its loss. Returns the owner id."""
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
        """Release once."""
        return self._outcome(self._lock.release)

    def reenter(self) -> str:
        """Make a nested acquire."""
        return self._outcome(self._lock.acquire)

    def _outcome(self, call: Callable[[], object]) -> str:
        try:
            call()
        except redlatch.RedlatchError as error:
            return error.status_name
        return "ok"

    def lost(self) -> bool:
        """Returns whether the hold was lost."""
        assert self._hold is not None
        return self._hold.lost

    def remaining(self) -> float:
        """Returns the safe time that is left, in seconds."""
        assert self._hold is not None
        return self._hold.remaining()

    def turns(self, count: int) -> List[float]:
        """Acquire and release the lock `count` times, with pauses for other processes. Returns how long each acquire
        took."""
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
        """Returns a redis-py connection for the Redisson-shaped client."""
        return redis.Redis.from_url(self._url, protocol=2, **options)


def main() -> None:
    """Answer calls until the input ends."""
    child = Child(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
    for line in sys.stdin:
        call, *arguments = json.loads(line)
        child.say({"result": getattr(child, call)(*arguments)})


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Reads the queues of fair locks all the time, and writes down their waiters.

It also writes down when it could not read for long. It runs in the process of the proxies, through which all commands
of the workers pass. So in that time no command passed, because the server or the processor was not available.
"""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any, Dict

import redis
from support import RedisServer

_PERIOD = 0.02
_SILENCE = 200_000_000


class Observer:
    """A thread that reads the queues, from __init__ to stop()."""

    def __init__(self, server: RedisServer, queues: Dict[str, str], journal: Path) -> None:
        self._server = server
        self._queues = queues
        self._journal = journal
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="soak-observer", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        # Not through the proxy: the observer must not be disturbed by network faults.
        client = self._server.client(unix_socket_path=self._server.unix_path)
        with self._journal.open("w", encoding="utf-8") as journal:
            observed = time.monotonic_ns()
            while self._queues and not self._over.wait(_PERIOD):
                for name, key in self._queues.items():
                    line = self._recheck(client, name, key)
                    if line["owners"]:
                        journal.write(json.dumps(line) + "\n")
                since, observed = observed, time.monotonic_ns()
                if observed - since > _SILENCE:
                    silence = {"t": since, "do": "silence", "id": "", "name": "", "until": observed}
                    journal.write(json.dumps(silence) + "\n")

    @staticmethod
    def _recheck(client: redis.Redis, name: str, key: str) -> Dict[str, Any]:
        before = time.monotonic_ns()
        try:
            found: Any = client.lrange(key, 0, -1)
        except redis.RedisError:
            found = []  # the server is down or stopped
        owners = [owner.decode() for owner in found]
        return {"t": before, "do": "queue", "id": "", "name": name, "until": time.monotonic_ns(), "owners": owners}

    def stop(self) -> None:
        """Ends the thread."""
        self._over.set()
        self._thread.join()

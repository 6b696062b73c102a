# SPDX-License-Identifier: Apache-2.0
"""Measures when the replicas acknowledge writes, and notes in the history when they did not.

With `min_replicas` a lock is granted and renewed only while replicas acknowledge. A replica that follows another master
may have to load all data first. Meanwhile no hold is renewed, although every server runs.
"""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any, List, Sequence

import redis
from support import RedisServer

_PERIOD = 0.03
# As in observer.py: a longer time without an acknowledgement is noted.
_SILENCE = 200_000_000
_REPLY_MS = 500
_LIFE_MS = 1000


class Shard:
    """A master and its replicas, and the time of their last acknowledgement. The key is used for nothing else."""

    def __init__(self, servers: Sequence[RedisServer], replicas: int, key: str) -> None:
        self.servers, self._replicas, self._key = servers, replicas, key
        self._mutex = threading.Lock()
        self._last = time.monotonic_ns()
        self.silences: List[str] = []

    def write(self, client: redis.Redis) -> None:
        """Writes the key on a server and waits for the acknowledgements of its replicas. Has no effect if it is no
        master."""
        try:
            client.set(self._key, "1", px=_LIFE_MS)
            if int(client.execute_command("WAIT", self._replicas, _REPLY_MS // 2)) >= self._replicas:
                self.acknowledged(time.monotonic_ns())
        except redis.RedisError:
            pass  # the server is a replica, or down

    def acknowledged(self, now: int) -> None:
        """Notes an acknowledgement, and the silence before it if that was long."""
        with self._mutex:
            since, self._last = self._last, max(now, self._last)
            if now - since > _SILENCE:
                line = {"t": since, "do": "silence", "id": "", "name": "", "until": now}
                self.silences.append(json.dumps(line) + "\n")


class Acknowledgements:
    """A thread for each server of the shards. They run from __init__ to stop(). A shard's silence concerns all
    workers."""

    def __init__(self, shards: Sequence[Shard], journal: Path) -> None:
        self._shards, self._journal = shards, journal
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._watch, args=(shard, server), name=f"acknowledged-{server.port}", daemon=True)
            for shard in shards for server in shard.servers
        ]
        for thread in self._threads:
            thread.start()

    def _watch(self, shard: Shard, server: RedisServer) -> None:
        options: Any = {"unix_socket_path": server.unix_path, "socket_timeout": _REPLY_MS / 1000}
        client = server.client(**options)
        while not self._over.wait(_PERIOD):
            shard.write(client)

    def stop(self) -> None:
        """Ends the threads, and writes all silences to the history."""
        self._over.set()
        for thread in self._threads:
            thread.join()
        for shard in self._shards:
            shard.acknowledged(time.monotonic_ns())
        self._journal.write_text("".join(line for shard in self._shards for line in shard.silences), encoding="utf-8")

    def __enter__(self) -> Acknowledgements:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

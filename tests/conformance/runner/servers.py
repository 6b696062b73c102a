# SPDX-License-Identifier: Apache-2.0
"""The servers of one worker: the first for every trace, others for the traces that name them. Each is brought back to
its first state before a trace uses it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Dict, Optional, Set

from support import RedisServer
from support.cluster import whole_cluster
from support.tls_server import Identity

FIRST = "first"
# What traces change of a server's configuration, besides its data.
_DEFAULTS = {"maxmemory": "0", "min-replicas-to-write": "0", "requirepass": ""}


class Servers:
    """Servers by their words in traces. They run until close(). With an identity clients reach them by TLS; as clusters
    each of them is one, of one node."""

    def __init__(self, tls: Optional[Identity] = None, *, clusters: bool = False) -> None:
        self._tls = tls
        self.clusters = clusters
        self._stack = ExitStack()
        self._started: Dict[str, RedisServer] = {}
        self._used: Set[str] = set()

    def get(self, word: str) -> RedisServer:
        """The server of that word: empty, unless this trace has had it before."""
        if word not in self._started:
            self._started[word] = self._stack.enter_context(self._start())
        if word not in self._used:
            _bring_back(self._started[word])
            self._used.add(word)
        return self._started[word]

    def _start(self) -> RedisServer:
        if self.clusters:
            server = whole_cluster()
            # Whoever watches messages of all names, and the peers of the traces, listen to PUBLISH.
            server.reached_by += "?sharded_messages=off"
            return server
        server = RedisServer(**(self._tls.options() if self._tls else {}))
        if self._tls:
            server.reached_by = f"rediss://127.0.0.1:{server.announced_port}/0"
        return server

    @property
    def first(self) -> RedisServer:
        """The one that is meant where no word is said."""
        return self.get(FIRST)

    def end_trace(self) -> None:
        """Closes what witnesses have opened; whatever is used from now on is empty again."""
        for word in self._used:
            self._started[word].close_clients()
        self._used.clear()

    def close(self) -> None:
        """Ends all."""
        self._stack.close()


def _bring_back(server: RedisServer) -> None:
    """The server as it is when it starts: a master without keys, scripts, users and limits."""
    admin: Any = server.admin
    if not server.reached_by.startswith("redis+cluster:"):
        admin.execute_command("REPLICAOF", "NO", "ONE")
    for name, value in _DEFAULTS.items():
        admin.config_set(name, value)
    for user in set(admin.acl_users()) - {"default", b"default"}:
        admin.acl_deluser(user)
    server.make_pristine()

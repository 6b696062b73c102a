# SPDX-License-Identifier: Apache-2.0
"""The servers of one worker: the first is for every trace, others are for the traces that name them. Each is reset to
its initial state before a trace uses it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Dict, Optional, Set

from support import RedisServer
from support.cluster import whole_cluster
from support.tls_server import Identity

FIRST = "first"
# Settings of a server that traces change.
_DEFAULTS = {"maxmemory": "0", "min-replicas-to-write": "0", "requirepass": ""}


class Servers:
    """Servers by their names in traces. They run until close(). With an identity, clients reach them by TLS. With
    `clusters`, each server is a cluster of one node."""

    def __init__(self, tls: Optional[Identity] = None, *, clusters: bool = False) -> None:
        self._tls = tls
        self.clusters = clusters
        self._stack = ExitStack()
        self._started: Dict[str, RedisServer] = {}
        self._used: Set[str] = set()

    def get(self, word: str) -> RedisServer:
        """Returns the server of that name. It is empty, unless this trace has used it already."""
        if word not in self._started:
            self._started[word] = self._stack.enter_context(self._start())
        if word not in self._used:
            _bring_back(self._started[word])
            self._used.add(word)
        return self._started[word]

    def _start(self) -> RedisServer:
        if self.clusters:
            server = whole_cluster()
            # The runner and the peers of the traces receive messages by SUBSCRIBE, so clients must use PUBLISH.
            server.reached_by += "?sharded_messages=off"
            return server
        server = RedisServer(**(self._tls.options() if self._tls else {}))
        if self._tls:
            server.reached_by = f"rediss://127.0.0.1:{server.announced_port}/0"
        return server

    @property
    def first(self) -> RedisServer:
        """The server of steps that name none."""
        return self.get(FIRST)

    def end_trace(self) -> None:
        """Closes the connections that witnesses opened. The next trace finds the servers empty again."""
        for word in self._used:
            self._started[word].close_clients()
        self._used.clear()

    def close(self) -> None:
        """Ends all servers."""
        self._stack.close()


def _bring_back(server: RedisServer) -> None:
    """Resets a server to its initial state: a master without keys, scripts, users and limits."""
    admin: Any = server.admin
    if not server.reached_by.startswith("redis+cluster:"):
        admin.execute_command("REPLICAOF", "NO", "ONE")
    for name, value in _DEFAULTS.items():
        admin.config_set(name, value)
    for user in set(admin.acl_users()) - {"default", b"default"}:
        admin.acl_deluser(user)
    server.make_pristine()

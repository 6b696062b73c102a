# SPDX-License-Identifier: Apache-2.0
"""Servers as people run them: one alone, a master with replicas, with sentinels, a cluster, over TLS.

    with make("sentinel-tls", folder) as topology:
        redlatch.connect(topology.master.url)      # clients reach any topology by the URL of its master
        topology.change("killed")                  # another server becomes the master

REDLATCH_TEST_TOPOLOGY names that of tests/interop. `replicas` and `replicated` are the same servers: they differ in how
Redisson uses them.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, List, Optional, Type

from .cluster import Cluster, call
from .sentinels import DOWN_AFTER_MS, Watched
from .server import RedisServer
from .tls_server import Identity
from .waiting import wait_until

NAMES = ("single", "replicas", "replicated", "sentinel", "cluster", "tls", "replicas-tls", "replicated-tls",
         "sentinel-tls", "cluster-tls")
NAME = os.environ.get("REDLATCH_TEST_TOPOLOGY", "single")
# Those in which the clients of redlatch and of Redisson find a new master.
CHANGING = ("replicated", "sentinel", "cluster", "replicated-tls", "sentinel-tls", "cluster-tls")
# How the master is changed: without a failure, after a kill, or after a stop that lasts until there is another one.
WAYS = ("in-order", "killed", "stopped")
# How Redisson uses a master and replicas.
SEVERAL = "master-slave" if NAME.startswith("replicas") else "replicated"

_TIMEOUT = 30.0
_NAME = "any"


class Topology:
    """One server, the master."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    @property
    def master(self) -> RedisServer:
        """The present master; its `url` is the one by which clients reach the whole."""
        raise NotImplementedError

    def in_step(self) -> bool:
        """Whether all replicas that run have what was written."""
        return True

    def change(self, way: str) -> RedisServer:
        """Make another server the master in one of WAYS, and return it."""
        raise NotImplementedError

    def __enter__(self) -> Topology:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._stack.close()


class Alone(Topology):
    """A server without replicas, with its TLS port if there is an identity."""

    def __init__(self, tls: Optional[Identity] = None) -> None:
        super().__init__()
        self._server = self._stack.enter_context(RedisServer(**(tls.options() if tls else {})))
        if tls:
            self._server.reached_by = f"rediss://127.0.0.1:{self._server.announced_port}/0?tls_ca_file={tls.ca}"

    @property
    def master(self) -> RedisServer:
        return self._server


class Replicas(Topology):
    """A master and two replicas, which the test promotes. With an identity they use TLS among themselves, too."""

    def __init__(self, tls: Optional[Identity] = None) -> None:
        super().__init__()
        self._servers: List[RedisServer] = []
        for _ in range(3):
            master = ["127.0.0.1", str(self._servers[0].announced_port)] if self._servers else None
            options = {**(tls.options() if tls else {}), **({"replicaof": master} if master else {})}
            self._servers.append(self._stack.enter_context(RedisServer(repl_diskless_sync_delay=0, **options)))
        hosts = ",".join(f"127.0.0.1:{server.announced_port}" for server in self._servers)
        for server in self._servers:
            server.reached_by = f"redis+replicas://{hosts}/0"
            if tls:
                server.reached_by = f"rediss+replicas://{hosts}/0?tls_ca_file={tls.ca}"
        self._master = self._servers[0]
        wait_until(self.in_step, _TIMEOUT)

    @property
    def master(self) -> RedisServer:
        return self._master

    def in_step(self) -> bool:
        admin: Any = self._master.admin
        admin.set("in-step", 1)
        admin.delete("in-step")
        replicas = sum(server.running for server in self._servers) - 1
        return int(admin.execute_command("WAIT", replicas, 1000)) >= replicas

    def change(self, way: str) -> RedisServer:
        old, self._master = self._master, next(server for server in self._servers if server is not self._master)
        strike(old, way)
        self._master.admin.replicaof("NO", "ONE")
        if way == "stopped":
            old.sigcont()
        for server in self._servers:
            if server.running and server is not self._master:
                server.admin.replicaof("127.0.0.1", str(self._master.announced_port))
        return self._master


class Sentinels(Topology):
    """A master and two replicas with three sentinels."""

    def __init__(self, tls: Optional[Identity], down_after_ms: int) -> None:
        super().__init__()
        self._watched = self._stack.enter_context(Watched(tls=tls, down_after_ms=down_after_ms))
        for server in self._watched.servers:
            server.reached_by = self._watched.url()

    @property
    def master(self) -> RedisServer:
        return self._watched.master

    def in_step(self) -> bool:
        return self._watched.in_step()

    def change(self, way: str) -> RedisServer:
        if way == "in-order":
            return self._watched.failover()
        old = self._watched.master
        strike(old, way)
        master = self._watched.wait_for_new_master(old)
        if way == "stopped":
            old.sigcont()
        return master


class Clustered(Topology):
    """Three masters and three replicas. The first master has the slots of all names that tests use, and the replicas.
    The others vote."""

    def __init__(self, tls: Optional[Identity], down_after_ms: int) -> None:
        super().__init__()
        cluster = Cluster(masters=3, replicas=1, lopsided=True, tls=tls, cluster_node_timeout=down_after_ms)
        self.cluster = self._stack.enter_context(cluster)
        for server in self.cluster.servers:
            server.reached_by = self.cluster.url

    @property
    def master(self) -> RedisServer:
        return self.cluster.master_of(_NAME)

    def in_step(self) -> bool:
        admin: Any = self.master.admin
        admin.set(_NAME, 1)
        admin.delete(_NAME)
        replicas = int(admin.info("replication")["connected_slaves"])
        return replicas > 0 and int(admin.execute_command("WAIT", replicas, 1000)) >= replicas

    def change(self, way: str) -> RedisServer:
        old = self.master
        replica = self.cluster.replica_of(old)
        strike(old, way)
        if way == "in-order":
            call(replica, "CLUSTER", "FAILOVER")
        wait_until(lambda: self.cluster.master_of(_NAME, via=replica) is not old, _TIMEOUT)
        if way == "stopped":
            old.sigcont()
            wait_until(self.cluster.is_ready, _TIMEOUT)
        return self.cluster.master_of(_NAME, via=replica)


def strike(server: RedisServer, way: str) -> None:
    """Let a master fail, if the way of changing it says so."""
    if way == "killed":
        server.kill()
    elif way == "stopped":
        server.sigstop()


def make(name: str, folder: Path, down_after_ms: int = DOWN_AFTER_MS) -> Topology:
    """Start a topology. Its certificates are made in the folder."""
    if name not in NAMES:
        raise RuntimeError(f"REDLATCH_TEST_TOPOLOGY is {name!r}; expected one of {', '.join(NAMES)}")
    tls = Identity.make(folder) if name.endswith("tls") else None
    if name.startswith("cluster"):
        return Clustered(tls, down_after_ms)
    if name.startswith("sentinel"):
        return Sentinels(tls, down_after_ms)
    return Replicas(tls) if name.startswith("replica") else Alone(tls)

# SPDX-License-Identifier: Apache-2.0
"""A Redis cluster on free ports: masters that share the slots, and replicas of them.

Slots can be moved key by key, and masters replaced by their replicas.
"""

from __future__ import annotations

import socket
from types import TracebackType
from typing import Any, Dict, List, Optional, Sequence, Type

import redis
from redis.crc import key_slot

from .server import OptionValue, RedisServer, server_command, server_version
from .tls_server import Identity
from .waiting import wait_until

SLOTS = 16384
NODE_TIMEOUT_MS = 600
_TIMEOUT = 60.0
# The bus of a server has its port plus this. From Redis 7 on it can be set.
_BUS_DISTANCE = 10_000


def _free_bus_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as anywhere:
        return int(anywhere.getsockname()[1])


def call(server: RedisServer, *words: Any) -> Any:
    """Send one command on a connection of its own, and return the reply unchanged."""
    connection = redis.Connection(
        port=server.port, password=server.password, protocol=2, decode_responses=True, socket_timeout=10.0
    )
    try:
        connection.send_command(*words)
        return connection.read_response()
    finally:
        connection.disconnect()


def is_ok(server: RedisServer) -> bool:
    """Whether the cluster is up for this node."""
    return "cluster_state:ok" in call(server, "CLUSTER", "INFO")


def whole_cluster(**options: OptionValue) -> RedisServer:
    """A cluster of one node, which has all slots."""
    options["cluster_enabled"] = True
    if server_version(server_command()) >= (7, 0, 0):
        options["cluster_port"] = _free_bus_port()
    server = RedisServer(**options)
    call(server, "CLUSTER", "ADDSLOTS", *range(SLOTS))
    server.reached_by = f"redis+cluster://127.0.0.1:{server.port}"
    wait_until(lambda: is_ok(server), _TIMEOUT, "the cluster")
    return server


class Cluster:
    """Masters and `replicas` replicas of each; closed as a whole. Options are those of all servers, `of_first` those of
    the first one alone.

    In a lopsided cluster the first master has all replicas, and all slots but one for each other master: the others
    only vote. Spares are nodes without slots.
    """

    def __init__(
        self, *, masters: int = 3, replicas: int = 0, lopsided: bool = False, spares: int = 0,
        tls: Optional[Identity] = None, of_first: Optional[Dict[str, OptionValue]] = None, **options: OptionValue,
    ) -> None:
        self._tls = tls
        self._spares = spares
        self._options: Dict[str, OptionValue] = {
            "cluster_enabled": True, "cluster_node_timeout": NODE_TIMEOUT_MS, "repl_diskless_sync_delay": 0,
            "cluster_migration_barrier": 99,  # a replica stays with its master
            **options,
        }
        self.servers: List[RedisServer] = []
        self._bus_ports: Dict[int, int] = {}
        try:
            for i in range(masters * (1 + replicas) + spares):
                self._add_server((of_first or {}) if i == 0 else {})
            first = self.servers[0]
            for other in self.servers[1:]:
                call(first, "CLUSTER", "MEET", "127.0.0.1", other.port, self._bus_ports[other.port])
            wait_until(self._all_joined, _TIMEOUT)
            for i, master in enumerate(self.servers[:masters]):
                begin, end = i * SLOTS // masters, (i + 1) * SLOTS // masters
                if lopsided:
                    begin, end = (masters - 1, SLOTS) if i == 0 else (i - 1, i)
                call(master, "CLUSTER", "ADDSLOTS", *range(begin, end))
            for i, replica in enumerate(self.servers[masters : masters * (1 + replicas)]):
                call(replica, "CLUSTER", "REPLICATE", self.id_of(self.servers[0 if lopsided else i % masters]))
            wait_until(self.is_ready, _TIMEOUT)
        except BaseException:
            self.close()
            raise

    def _add_server(self, own_options: Dict[str, OptionValue]) -> None:
        tls = {**self._tls.options(), "tls_cluster": True} if self._tls else {}
        options = {**self._options, **tls, **own_options}
        if server_version(server_command()) >= (7, 0, 0):
            options["cluster_port"] = _free_bus_port()
        self.servers.append(RedisServer(**options))
        port = self.servers[-1].port
        self._bus_ports[port] = int(str(options.get("cluster_port", port + _BUS_DISTANCE)))

    def _all_joined(self) -> bool:
        return all(len(call(one, "CLUSTER", "NODES").splitlines()) == len(self.servers) for one in self.servers)

    def is_ready(self) -> bool:
        """Whether all servers that run say the same: every slot is served, and each master has its replicas."""
        running = [one for one in self.servers if one.running]
        views = [sorted(self._view(one)) for one in running]
        nodes = {port: nodes for _, _, port, nodes in views[0]}
        whole = sum(nodes.values()) == len(self.servers) - self._spares or len(running) < len(self.servers)
        return whole and all(view == views[0] for view in views) and all(self._is_well(one) for one in running)

    def _view(self, via: RedisServer) -> List[List[int]]:
        """First slot, last slot, port of the master, number of its nodes."""
        ranges = call(via, "CLUSTER", "SLOTS")
        return [[int(each[0]), int(each[1]), int(each[2][1]), len(each) - 2] for each in ranges]

    def _is_well(self, server: RedisServer) -> bool:
        info = dict(line.split(":") for line in call(server, "CLUSTER", "INFO").split())
        if info["cluster_state"] != "ok" or int(info["cluster_slots_ok"]) != SLOTS:
            return False
        replication = server.admin.info("replication")
        return bool(replication["role"] == "master" or replication["master_link_status"] == "up")

    def id_of(self, server: RedisServer) -> str:
        """The node id of a server."""
        return str(call(server, "CLUSTER", "MYID"))

    def slot_of(self, name: str) -> int:
        """The slot of a name."""
        return int(key_slot(name.encode()))

    def _any(self) -> RedisServer:
        return next(one for one in self.servers if one.running)

    def replica_of(self, master: RedisServer) -> RedisServer:
        """The first of its replicas."""
        for line in call(master, "CLUSTER", "REPLICAS", self.id_of(master)):
            port = int(line.split()[1].partition("@")[0].rpartition(":")[2])
            return next(one for one in self.servers if one.port == port)
        raise RuntimeError(f"the master on port {master.port} has no replica")

    def master_of(self, name: str, via: Optional[RedisServer] = None) -> RedisServer:
        """The master that serves the slot of a name, in the view of one server, or of any that runs."""
        slot = self.slot_of(name)
        port = next(port for begin, end, port, _ in self._view(via or self._any()) if begin <= slot <= end)
        return next(one for one in self.servers if one.port == port)

    def move_slot(self, name: str, target: RedisServer) -> None:
        """Migrate the slot of a name to another master, key by key."""
        source, slot = self.master_of(name), self.slot_of(name)
        self.begin_move(name, target)
        while keys := call(source, "CLUSTER", "GETKEYSINSLOT", slot, 100):
            self.move_keys(source, target, keys)
        self.end_move(name, target)

    def begin_move(self, name: str, target: RedisServer) -> None:
        """Begin to migrate the slot of a name to another master."""
        source, slot = self.master_of(name), self.slot_of(name)
        call(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", self.id_of(source))
        call(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", self.id_of(target))

    def keys_of(self, name: str) -> List[str]:
        """The keys in the slot of a name, on the node that serves the slot."""
        found: List[str] = call(self.master_of(name), "CLUSTER", "GETKEYSINSLOT", self.slot_of(name), 1000)
        return found

    def move_keys(self, source: RedisServer, target: RedisServer, keys: Sequence[str]) -> None:
        """Migrate some keys from one node to the other."""
        call(source, "MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)

    def end_move(self, name: str, target: RedisServer) -> None:
        """End the migration: the target serves the slot of the name."""
        source, slot = self.master_of(name), self.slot_of(name)
        for server in (target, source):
            call(server, "CLUSTER", "SETSLOT", slot, "NODE", self.id_of(target))
        wait_until(lambda: self.master_of(name) is target, _TIMEOUT)

    def others(self, server: RedisServer) -> Sequence[RedisServer]:
        """All masters but that one."""
        return [one for one in self.masters if one is not server]

    @property
    def masters(self) -> List[RedisServer]:
        """The servers that serve slots."""
        ports = {view[2] for view in self._view(self._any())}
        return [one for one in self.servers if one.port in ports]

    @property
    def url(self) -> str:
        """redis+cluster:// of the servers that run; with TLS rediss+cluster://, which names its CA."""
        hosts = ",".join(f"127.0.0.1:{one.announced_port}" for one in self.servers[:16] if one.running)
        return f"rediss+cluster://{hosts}?tls_ca_file={self._tls.ca}" if self._tls else f"redis+cluster://{hosts}"

    def reach_by_its_url(self) -> None:
        """Make the url of each server that of the cluster."""
        for server in self.servers:
            server.reached_by = self.url

    def close(self) -> None:
        """Kill everything."""
        for server in self.servers:
            server.close()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

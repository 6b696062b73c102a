# SPDX-License-Identifier: Apache-2.0
"""A Redis cluster on free ports: masters that share the slots, and replicas of them.

Slots can be moved key by key, and masters replaced by their replicas.
"""

from __future__ import annotations

import socket
from types import TracebackType
from typing import Any, Dict, List, Optional, Sequence, Type

import redis

from .server import OptionValue, RedisServer, server_command, server_version
from .waiting import wait_until

SLOTS = 16384
NODE_TIMEOUT_MS = 600
_TIMEOUT = 60.0
# From the port of a server to that of its bus, before Redis 7, which can be told another.
_BUS_DISTANCE = 10_000


def _free_bus_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as anywhere:
        return int(anywhere.getsockname()[1])


def call(server: RedisServer, *words: Any) -> Any:
    """One command on a connection of its own, and its reply as it is."""
    connection = redis.Connection(port=server.port, protocol=2, decode_responses=True, socket_timeout=10.0)
    try:
        connection.send_command(*words)
        return connection.read_response()
    finally:
        connection.disconnect()


class Cluster:
    """Masters and `replicas` replicas of each; closed as a whole. Options are those of all servers, `of_first` those of
    the first one alone."""

    def __init__(
        self, *, masters: int = 3, replicas: int = 0, of_first: Optional[Dict[str, OptionValue]] = None,
        **options: OptionValue,
    ) -> None:
        self._options: Dict[str, OptionValue] = {
            "cluster_enabled": True, "cluster_node_timeout": NODE_TIMEOUT_MS, "repl_diskless_sync_delay": 0, **options,
        }
        self.servers: List[RedisServer] = []
        self._bus_ports: Dict[int, int] = {}
        try:
            for i in range(masters * (1 + replicas)):
                self._add_server((of_first or {}) if i == 0 else {})
            first = self.servers[0]
            for other in self.servers[1:]:
                call(first, "CLUSTER", "MEET", "127.0.0.1", other.port, self._bus_ports[other.port])
            wait_until(self._all_joined, _TIMEOUT)
            for i, master in enumerate(self.servers[:masters]):
                begin, end = i * SLOTS // masters, (i + 1) * SLOTS // masters
                call(master, "CLUSTER", "ADDSLOTS", *range(begin, end))
            for i, replica in enumerate(self.servers[masters:]):
                call(replica, "CLUSTER", "REPLICATE", self.id_of(self.servers[i % masters]))
            wait_until(self.is_ready, _TIMEOUT)
        except BaseException:
            self.close()
            raise

    def _add_server(self, own_options: Dict[str, OptionValue]) -> None:
        options = {**self._options, **own_options}
        if server_version(server_command()) >= (7, 0, 0):
            options["cluster_port"] = _free_bus_port()
        self.servers.append(RedisServer(**options))
        port = self.servers[-1].port
        self._bus_ports[port] = int(str(options.get("cluster_port", port + _BUS_DISTANCE)))

    def _all_joined(self) -> bool:
        return all(len(call(one, "CLUSTER", "NODES").splitlines()) == len(self.servers) for one in self.servers)

    def is_ready(self) -> bool:
        """Whether all servers that run agree that every slot is served, and their replicas are connected."""
        return all(self._agrees(one) for one in self.servers if one.running)

    def _agrees(self, via: RedisServer) -> bool:
        info = dict(line.split(":") for line in call(via, "CLUSTER", "INFO").split())
        if info["cluster_state"] != "ok" or int(info["cluster_slots_ok"]) != SLOTS:
            return False
        replication = via.admin.info("replication")
        return bool(replication["role"] == "master" or replication["master_link_status"] == "up")

    def id_of(self, server: RedisServer) -> str:
        """The name that the cluster has for it."""
        return str(call(server, "CLUSTER", "MYID"))

    def slot_of(self, name: str) -> int:
        """The slot of a name."""
        return int(call(self._any(), "CLUSTER", "KEYSLOT", name))

    def _any(self) -> RedisServer:
        return next(one for one in self.servers if one.running)

    def _ranges(self) -> List[List[int]]:
        """First slot, last slot, port of the master."""
        return [[int(each[0]), int(each[1]), int(each[2][1])] for each in call(self._any(), "CLUSTER", "SLOTS")]

    def master_of(self, name: str) -> RedisServer:
        """Who serves the slot of a name."""
        slot = self.slot_of(name)
        port = next(port for begin, end, port in self._ranges() if begin <= slot <= end)
        return next(one for one in self.servers if one.port == port)

    def move_slot(self, name: str, target: RedisServer) -> None:
        """Migrate the slot of a name to another master, key by key."""
        source, slot = self.master_of(name), self.slot_of(name)
        self.begin_move(name, target)
        while keys := call(source, "CLUSTER", "GETKEYSINSLOT", slot, 100):
            call(source, "MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
        self.end_move(name, target)

    def begin_move(self, name: str, target: RedisServer) -> None:
        """The slot of a name is on its way to another master."""
        source, slot = self.master_of(name), self.slot_of(name)
        call(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", self.id_of(source))
        call(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", self.id_of(target))

    def end_move(self, name: str, target: RedisServer) -> None:
        """The slot of a name has arrived."""
        source, slot = self.master_of(name), self.slot_of(name)
        for server in (target, source):
            call(server, "CLUSTER", "SETSLOT", slot, "NODE", self.id_of(target))
        wait_until(lambda: self.master_of(name) is target, _TIMEOUT)

    def others(self, server: RedisServer) -> Sequence[RedisServer]:
        """All masters but that one."""
        ports = {port for _, _, port in self._ranges()}
        return [one for one in self.servers if one.port in ports and one is not server]

    @property
    def url(self) -> str:
        """redis+cluster:// of the first three servers that run."""
        hosts = ",".join(f"127.0.0.1:{one.port}" for one in self.servers if one.running)
        return f"redis+cluster://{hosts}"

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

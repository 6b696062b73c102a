# SPDX-License-Identifier: Apache-2.0
"""The soak on a cluster: three masters, each with a replica. The faults are failovers and migrations of slots.

Either all clients require the acknowledgement of the master's one replica. Then each new master of a slot knows every
hold in it, and the checkers allow nothing that they would not allow on a single server that loses no data. Or no client
requires it, and no slot migrates. Then an overlap is allowed if the replication offsets of its shard explain it.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Callable, Dict, List, Sequence

from acknowledged import Shard
from in_turn import BACK, FaultsInTurn
from kinds import names_of
from plan import Process
from support import RedisServer, wait_until
from support.cluster import Cluster, call
from worker_processes import Workers

NEMESES = (
    "kill", "order a failover", "force a failover", "take over", "kill the master", "stop the master", "migrate a slot",
)
WAYS = NEMESES[1:]
# The ways that leave the slots where they are.
REPLACEMENTS = WAYS[:-1]


def make() -> Cluster:
    """Makes the cluster. Its nodes count as down only after a second, since the machine is busy. One node has no slots
    and no faults."""
    return Cluster(replicas=1, spares=1, cluster_node_timeout=1000, cluster_replica_validity_factor=0)


def url(cluster: Cluster, acknowledged: bool) -> str:
    """Returns the URL for all workers. It names the node without faults; clients learn the others."""
    return f"redis+cluster://127.0.0.1:{cluster.servers[-1].port}{'?min_replicas=1' if acknowledged else ''}"


def shards(cluster: Cluster) -> List[Shard]:
    """Returns the shards whose acknowledgements are measured. The slots of their keys do not migrate."""
    return [Shard([master, cluster.replica_of(master)], 1, _key_of(cluster, master)) for master in cluster.masters]


def _key_of(cluster: Cluster, master: RedisServer) -> str:
    """Returns a key that a master serves."""
    return next(key for key in (f"acknowledged:{i}" for i in range(1000)) if cluster.master_of(key) is master)


def keys_of(kind_names: Sequence[str]) -> List[str]:
    """Returns the keys that determine the slots of these kinds' names: each of several names, and the name of a group
    lock."""
    return sorted({key for kind in kind_names for name in names_of(kind) for key in _keys_of_name(name)})


def _keys_of_name(name: str) -> List[str]:
    return [name.partition("/")[0]] if "/" in name else name.split("+")


class ClusterFaults(FaultsInTurn):
    """Changes the masters of the slots of these keys, in the chosen ways."""

    DRAWS = "cluster"
    PAUSE = (0.3, 1.5)

    def __init__(
        self, cluster: Cluster, workers: Workers, journal: Path, keys: Sequence[str], chosen: Sequence[str]
    ) -> None:
        super().__init__(workers, journal)
        self.WAYS = chosen
        self._cluster = cluster
        self._keys = keys
        ways = (self._replace, lambda name: self._replace(name, "FORCE"),
                lambda name: self._replace(name, "TAKEOVER"), self._kill, self._stop, self._migrate)
        self._ways: Dict[str, Callable[[str], None]] = dict(zip(WAYS, ways))

    def strike(self, way: str, draw: random.Random) -> None:
        """Strikes at the master of any of the keys, and waits until everything is replicated again."""
        self._ways[way](draw.choice(self._keys))
        wait_until(self.is_calm, BACK)

    def is_calm(self) -> bool:
        """Returns whether all nodes have the same topology, and no replica is missing."""
        return self._cluster.is_ready()

    def run(self, seed: int, seconds: float, processes: Sequence[Process]) -> None:
        """Runs the faults, and leaves the cluster calm."""
        super().run(seed, seconds, processes)
        wait_until(self.is_calm, BACK)

    def _wait_for(self, replica: RedisServer, name: str) -> None:
        """Waits until a replica has taken over."""
        wait_until(lambda: self._cluster.master_of(name, via=replica) is replica, BACK)

    def _replace(self, name: str, *words: str) -> None:
        replica = self._cluster.replica_of(self._cluster.master_of(name))
        call(replica, "CLUSTER", "FAILOVER", *words)
        self._wait_for(replica, name)

    def _kill(self, name: str) -> None:
        master = self._cluster.master_of(name)
        replica = self._cluster.replica_of(master)
        master.kill()
        self._wait_for(replica, name)
        master.start()

    def _stop(self, name: str) -> None:
        master = self._cluster.master_of(name)
        replica = self._cluster.replica_of(master)
        master.sigstop()
        self._wait_for(replica, name)
        master.sigcont()

    def _migrate(self, name: str) -> None:
        """Moves a slot to another master and back."""
        home = self._cluster.master_of(name)
        for target in (self._cluster.others(home)[0], home):
            self._cluster.move_slot(name, target)

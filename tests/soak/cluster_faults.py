# SPDX-License-Identifier: Apache-2.0
"""The soak on a cluster: three masters, each with a replica; failovers and migrations of slots as the faults.

Either all clients ask for acknowledgement by the one replica that a master has. Then whoever takes over a master's
slots knows every hold in them, and the checkers allow nothing that they do not allow on one server that never forgets.
Or no client asks for it, and no slot migrates. Then an overlap is allowed if the replication offsets of its shard
explain it.
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
# Those that leave the slots where they are.
REPLACEMENTS = WAYS[:-1]


def make() -> Cluster:
    """Its nodes find each other down after a second: the machine is busy. One node has no slots, and no faults."""
    return Cluster(replicas=1, spares=1, cluster_node_timeout=1000, cluster_replica_validity_factor=0)


def url(cluster: Cluster, acknowledged: bool) -> str:
    """What every worker connects to: the node that has no faults. Clients learn the others."""
    return f"redis+cluster://127.0.0.1:{cluster.servers[-1].port}{'?min_replicas=1' if acknowledged else ''}"


def shards(cluster: Cluster) -> List[Shard]:
    """Whose acknowledgements are measured. The slots of these keys stay where they are."""
    return [Shard([master, cluster.replica_of(master)], 1, _key_of(cluster, master)) for master in cluster.masters]


def _key_of(cluster: Cluster, master: RedisServer) -> str:
    """A key that a master serves."""
    return next(key for key in (f"acknowledged:{i}" for i in range(1000)) if cluster.master_of(key) is master)


def keys_of(kind_names: Sequence[str]) -> List[str]:
    """What says in which slots the names of these kinds are: each name of several, and the name of a group."""
    return sorted({key for kind in kind_names for name in names_of(kind) for key in _keys_of_name(name)})


def _keys_of_name(name: str) -> List[str]:
    return [name.partition("/")[0]] if "/" in name else name.split("+")


class ClusterFaults(FaultsInTurn):
    """Changes the masters of the slots that have these keys, in the ways that are chosen."""

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
        """At the master of any of the names, until everything is replicated again."""
        self._ways[way](draw.choice(self._keys))
        wait_until(self.is_calm, BACK)

    def is_calm(self) -> bool:
        """Whether all nodes say the same, and no replica is missing."""
        return self._cluster.is_ready()

    def run(self, seed: int, seconds: float, processes: Sequence[Process]) -> None:
        """Leaves the cluster calm."""
        super().run(seed, seconds, processes)
        wait_until(self.is_calm, BACK)

    def _wait_for(self, replica: RedisServer, name: str) -> None:
        """Until a replica has taken over."""
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
        """There and back."""
        home = self._cluster.master_of(name)
        for target in (self._cluster.others(home)[0], home):
            self._cluster.move_slot(name, target)

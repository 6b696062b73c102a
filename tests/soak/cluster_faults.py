# SPDX-License-Identifier: Apache-2.0
"""The soak on a cluster: three masters, each with a replica; failovers and migrations of slots as the faults.

All clients ask for acknowledgement by the one replica that a master has. So whoever takes over a master's slots knows
every hold in them, and the checkers allow nothing that they do not allow on one server that never forgets.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Callable, Dict, Sequence

from kinds import names_of
from plan import CALM, Process
from support import wait_until
from support.cluster import Cluster, call
from worker_processes import Workers

NEMESES = (
    "kill", "order a failover", "force a failover", "take over", "kill the master", "stop the master", "migrate a slot",
)
WAYS = NEMESES[1:]
_PAUSE = (0.3, 1.5)
_BACK = 60.0


def make() -> Cluster:
    """Its nodes find each other down after a second: the machine is busy. One node has no slots, and no faults."""
    return Cluster(replicas=1, spares=1, cluster_node_timeout=1000, cluster_replica_validity_factor=0)


def url(cluster: Cluster) -> str:
    """What every worker connects to: the node that has no faults. Clients learn the others."""
    return f"redis+cluster://127.0.0.1:{cluster.servers[-1].port}?min_replicas=1"


class ClusterFaults:
    """Changes the masters of the slots that have the names of these kinds, again and again, and writes down when."""

    def __init__(self, cluster: Cluster, workers: Workers, journal: Path, kind_names: Sequence[str]) -> None:
        self._cluster = cluster
        self._workers = workers
        self._journal = journal
        self._names = [name for kind in kind_names for name in names_of(kind)]
        ways = (self._replace, lambda name: self._replace(name, "FORCE"),
                lambda name: self._replace(name, "TAKEOVER"), self._kill, self._stop, self._migrate)
        self._ways: Dict[str, Callable[[str], None]] = dict(zip(WAYS, ways))

    def run(self, seed: int, seconds: float, processes: Sequence[Process]) -> None:
        """One fault after the other, and a worker killed between them, until little time is left."""
        draw = random.Random(f"{seed} cluster")
        end = time.monotonic() + seconds - CALM
        turn = 0
        while time.monotonic() < end:
            time.sleep(draw.uniform(*_PAUSE))
            self._kill_worker(draw.choice([each.name for each in processes]))
            wait_until(self._cluster.is_ready, _BACK)
            what = WAYS[turn % len(WAYS)]
            turn += 1
            since = time.monotonic_ns()
            self._ways[what](draw.choice(self._names))
            self._note(what, since, "")
        wait_until(self._cluster.is_ready, _BACK)

    def _replace(self, name: str, *words: str) -> None:
        replica = self._cluster.replica_of(self._cluster.master_of(name))
        call(replica, "CLUSTER", "FAILOVER", *words)
        wait_until(lambda: self._cluster.master_of(name, via=replica) is replica, _BACK)

    def _kill(self, name: str) -> None:
        master = self._cluster.master_of(name)
        replica = self._cluster.replica_of(master)
        master.kill()
        wait_until(lambda: self._cluster.master_of(name, via=replica) is replica, _BACK)
        master.start()

    def _stop(self, name: str) -> None:
        master = self._cluster.master_of(name)
        replica = self._cluster.replica_of(master)
        master.sigstop()
        wait_until(lambda: self._cluster.master_of(name, via=replica) is replica, _BACK)
        master.sigcont()

    def _migrate(self, name: str) -> None:
        """There and back."""
        home = self._cluster.master_of(name)
        for target in (self._cluster.others(home)[0], home):
            self._cluster.move_slot(name, target)

    def _kill_worker(self, name: str) -> None:
        member = self._workers.members[name]
        since, label = time.monotonic_ns(), member.label
        member.kill()
        member.start()
        self._note("kill", since, label)

    def _note(self, what: str, since: int, process: str) -> None:
        line = {"what": what, "since": since, "until": time.monotonic_ns(), "process": process, "server": 0}
        with self._journal.open("a", encoding="utf-8") as journal:
            journal.write(json.dumps(line) + "\n")

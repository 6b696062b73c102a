# SPDX-License-Identifier: Apache-2.0
"""The soak through sentinels: a master with two replicas, and failovers as the faults.

Either all clients ask for acknowledgement by all replicas. Then whichever of them is promoted knows every hold, and the
checkers allow nothing that they do not allow on one server that never forgets. Or no client asks for it. Then a new
master may lack grants, and an overlap is allowed if replication offsets explain it (checkers/replicated.py).
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Callable, Dict, Sequence

import redis
from acknowledged import Shard
from in_turn import BACK, FaultsInTurn
from support import RedisServer, wait_until
from support.sentinels import Watched
from worker_processes import Workers

# Kinds of which a release that a failover undoes only lasts for a lease longer. Locks over several servers, queues and
# permits are left out: queues and permits would be judged by what one server knows.
KINDS = ("mutex", "non-reentrant", "fenced", "spin", "read", "write", "plain", "multi", "group")
# Of these, each grant writes its owner into a key that has the lock's name.
RECORDED = ("mutex", "non-reentrant", "fenced", "spin", "plain")
REPLICAS = 2
NEMESES = ("kill", "order a failover", "kill the master", "stop the master", "cut off the master")
WAYS = NEMESES[1:]


def url(watched: Watched, acknowledged: bool) -> str:
    """What every worker connects to. It names one sentinel; clients learn the others."""
    return watched.url(sentinels=watched.sentinels[:1], query=f"?min_replicas={REPLICAS}" if acknowledged else "")


def shards(watched: Watched) -> Sequence[Shard]:
    """Whose acknowledgements are measured."""
    return [Shard(watched.servers, REPLICAS, "acknowledged")]


def cut_off(master: RedisServer) -> None:
    """Keeps sentinels and replicas away from a master, and clients that are new; clients that are connected stay. It
    listens at another address, and their connections are closed. The observer of replication is on the unix socket."""
    master.admin.config_set("bind", "127.0.0.99")
    connections: Any = master.admin.client_list()
    for each in connections:
        if each["name"].startswith("sentinel-") or (each["flags"] == "S" and each["addr"].startswith("127.")):
            master.admin.client_kill_filter(_id=each["id"])


class Failovers(FaultsInTurn):
    """Changes the master."""

    DRAWS = "failovers"
    WAYS = WAYS
    PAUSE = (0.5, 2.0)

    def __init__(self, watched: Watched, workers: Workers, journal: Path) -> None:
        super().__init__(workers, journal)
        self._watched = watched
        ways = (lambda _old: watched.failover(), self._kill, self._stop, self._cut_off)
        self._ways: Dict[str, Callable[[RedisServer], RedisServer]] = dict(zip(WAYS, ways))

    def strike(self, way: str, draw: random.Random) -> None:
        """Also has all others follow the new master."""
        self._follow(self._ways[way](self._watched.master))

    def is_calm(self) -> bool:
        """Whether all sentinels know the others and the replicas, and none changes the master."""
        return all(one.knows(REPLICAS, 2) and not one.is_changing() for one in self._watched.sentinels)

    def _kill(self, old: RedisServer) -> RedisServer:
        old.kill()
        new = self._watched.wait_for_new_master(old)
        old.start()
        return new

    def _stop(self, old: RedisServer) -> RedisServer:
        old.sigstop()
        new = self._watched.wait_for_new_master(old)
        old.sigcont()
        return new

    def _cut_off(self, old: RedisServer) -> RedisServer:
        cut_off(old)
        new = self._watched.wait_for_new_master(old)
        old.admin.config_set("bind", "127.0.0.1")
        return new

    def _follow(self, new: RedisServer) -> None:
        """Has all others follow the new master now, until they have what it has. Sentinels take ten seconds for it, in
        which nobody acknowledges."""

        def in_step() -> bool:
            try:
                return all([self._follows(server, new) for server in self._watched.servers if server is not new])
            except redis.RedisError:
                return False

        wait_until(in_step, BACK)

    @staticmethod
    def _follows(server: RedisServer, new: RedisServer) -> bool:
        """Whether a replica has loaded what the master has, and the master hears that from it."""
        found: Any = server.admin.info("replication")
        if found.get("master_port") != new.port:
            server.admin.replicaof("127.0.0.1", str(new.port))
            return False
        master: Any = new.admin.info("replication")
        states = [each for each in master.values() if isinstance(each, dict) and each["port"] == server.port]
        return (found["master_link_status"] == "up" and not found["master_sync_in_progress"]
                and any(each["state"] == "online" and each["lag"] <= 1 for each in states))

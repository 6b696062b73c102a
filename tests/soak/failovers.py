# SPDX-License-Identifier: Apache-2.0
"""The soak through sentinels: a master with two replicas. The faults are failovers.

Either all clients require the acknowledgement of all replicas. Then each replica that is promoted knows every hold, and
the checkers allow nothing that they would not allow on a single server that loses no data. Or no client requires it.
Then a new master may lack grants, and an overlap is allowed if replication offsets explain it (checkers/replicated.py).
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

# For these kinds, a release that a failover undoes has no other effect than that the hold lasts for one more lease.
# Locks over several servers, queues and permits are left out: queues and permits would be judged by what one server
# knows.
KINDS = ("mutex", "non-reentrant", "fenced", "spin", "read", "write", "plain", "multi", "group")
# For these kinds, each grant writes its owner into a key with the lock's name.
RECORDED = ("mutex", "non-reentrant", "fenced", "spin", "plain")
REPLICAS = 2
NEMESES = ("kill", "order a failover", "kill the master", "stop the master", "cut off the master")
WAYS = NEMESES[1:]


def url(watched: Watched, acknowledged: bool) -> str:
    """Returns the URL for all workers. It names one sentinel; clients learn the others."""
    return watched.url(sentinels=watched.sentinels[:1], query=f"?min_replicas={REPLICAS}" if acknowledged else "")


def shards(watched: Watched) -> Sequence[Shard]:
    """Returns the shard whose acknowledgements are measured."""
    return [Shard(watched.servers, REPLICAS, "acknowledged")]


def cut_off(master: RedisServer) -> None:
    """Separates a master from sentinels, replicas and new clients. It listens on another address, and the connections
    of sentinels and replicas are closed. Connected clients stay. The observer of replication uses the unix socket."""
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
        """Strikes, and makes all other servers follow the new master."""
        self._follow(self._ways[way](self._watched.master))

    def is_calm(self) -> bool:
        """Returns whether all sentinels know the others and the replicas, and none is changing the master."""
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
        """Makes all other servers follow the new master at once, and waits until they have its data. Sentinels would
        take ten seconds for it, during which no replica acknowledges."""

        def in_step() -> bool:
            try:
                return all([self._follows(server, new) for server in self._watched.servers if server is not new])
            except redis.RedisError:
                return False

        wait_until(in_step, BACK)

    @staticmethod
    def _follows(server: RedisServer, new: RedisServer) -> bool:
        """Returns whether a replica has loaded the master's data and the master knows that. If the server follows
        another master, makes it follow this one."""
        found: Any = server.admin.info("replication")
        if found.get("master_port") != new.port:
            server.admin.replicaof("127.0.0.1", str(new.port))
            return False
        master: Any = new.admin.info("replication")
        states = [each for each in master.values() if isinstance(each, dict) and each["port"] == server.port]
        return (found["master_link_status"] == "up" and not found["master_sync_in_progress"]
                and any(each["state"] == "online" and each["lag"] <= 1 for each in states))

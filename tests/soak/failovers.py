# SPDX-License-Identifier: Apache-2.0
"""The soak through sentinels: a master with two replicas, and failovers as the faults.

Either all clients ask for acknowledgement by all replicas. Then whichever of them is promoted knows every hold, and the
checkers allow nothing that they do not allow on one server that never forgets. Or no client asks for it. Then a new
master may lack grants, and an overlap is allowed if replication offsets explain it (checkers/replicated.py).
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any, Callable, Dict, Sequence

import redis
from plan import CALM, Process
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
_PAUSE = (0.5, 2.0)
_BACK = 60.0


def url(watched: Watched, acknowledged: bool) -> str:
    """What every worker connects to. It names one sentinel; clients learn the others."""
    return watched.url(sentinels=watched.sentinels[:1], query=f"?min_replicas={REPLICAS}" if acknowledged else "")


def cut_off(master: RedisServer) -> None:
    """Keeps sentinels and replicas away from a master, and clients that are new; clients that are connected stay. It
    listens at another address, and their connections are closed. The observer of replication is on the unix socket."""
    master.admin.config_set("bind", "127.0.0.99")
    connections: Any = master.admin.client_list()
    for each in connections:
        if each["name"].startswith("sentinel-") or (each["flags"] == "S" and each["addr"].startswith("127.")):
            master.admin.client_kill_filter(_id=each["id"])


class Failovers:
    """Changes the master again and again, and writes down when."""

    def __init__(self, watched: Watched, workers: Workers, journal: Path) -> None:
        self._watched = watched
        self._workers = workers
        self._journal = journal
        ways = (lambda _old: watched.failover(), self._kill, self._stop, self._cut_off)
        self._ways: Dict[str, Callable[[RedisServer], RedisServer]] = dict(zip(WAYS, ways))

    def run(self, seed: int, seconds: float, processes: Sequence[Process]) -> None:
        """One failover after the other, and a worker killed between them, until little time is left."""
        draw = random.Random(f"{seed} failovers")
        end = time.monotonic() + seconds - CALM
        turn = 0
        while time.monotonic() < end:
            time.sleep(draw.uniform(*_PAUSE))
            self._kill_worker(draw.choice([each.name for each in processes]))
            wait_until(self._is_calm, _BACK)
            what = WAYS[turn % len(WAYS)]
            turn += 1
            since = time.monotonic_ns()
            new = self._ways[what](self._watched.master)
            self._follow(new)
            self._note(what, since, "")

    def _is_calm(self) -> bool:
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
        """Has all others follow the new master now. Sentinels take ten seconds for it, in which nobody acknowledges."""

        def in_step() -> bool:
            for server in self._watched.servers:
                if server is not new and server.admin.info("replication").get("master_port") != new.port:
                    server.admin.replicaof("127.0.0.1", str(new.port))
            try:
                return self._watched.in_step()
            except (redis.RedisError, RuntimeError):
                return False

        wait_until(in_step, _BACK)

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

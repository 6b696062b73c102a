# SPDX-License-Identifier: Apache-2.0
"""P15: from the death of a master until a lock is granted on the next one, beyond what the servers need themselves.

A program with redlatch and one with Redisson take turns of a lock each when the master is killed: through the same
three sentinels, and on the same cluster. What the servers need is measured beside them, by a client of neither: it asks
all of them every few milliseconds, until another one accepts a write. All three measure the same failovers.
"""

from __future__ import annotations

import contextlib
import time
from typing import Callable, Dict, List, Optional, Tuple, Union

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from harness import Bench, Conversation, NotAvailable, Report, Series, percentile, scenario
from harness.programs import redisson_program
from support import RedisServer, wait_until
from support.cluster import Cluster
from support.sentinels import SERVICE, Watched

FAILOVERS = 20
MOST_P50, MOST_P99 = 0.1, 0.5
TIMEOUT = 120.0
MANY_TURNS_SECONDS = 0.5  # until a program that was told to go takes turns
ASK_SECONDS = 0.002
KEY = "bench:independent"


def connect(port: int) -> redis.Redis:
    """A client of neither program, for one server."""
    return redis.Redis(port=port, protocol=2, socket_timeout=1.0, retry=Retry(NoBackoff(), 0))


def accepts_write(port: int) -> bool:
    """Whether a server is there and a master, of a cluster the one of the key."""
    server = connect(port)
    try:
        return bool(server.set(KEY, "1", px=1000))
    except redis.RedisError:
        return False
    finally:
        server.close()


class Sentinels:
    """A master with two replicas, and three sentinels."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.what = "the sentinels"
        self._watched = stack.enter_context(Watched())
        self._sentinels = [stack.enter_context(contextlib.closing(connect(one.port)))
                           for one in self._watched.sentinels]
        self.url = self._watched.url()
        addresses = ",".join(sentinel.address for sentinel in self._watched.sentinels)
        self.for_redisson = ["--sentinels", addresses, "--service", SERVICE]

    def wait_calm(self) -> None:
        """Until another server could take the master's place."""
        sentinels = self._watched.sentinels
        wait_until(lambda: all(one.knows(2, 2) for one in sentinels) and self._watched.in_step(), TIMEOUT)

    @property
    def master(self) -> RedisServer:
        """The present one."""
        return self._watched.master

    def writable_after(self, old: RedisServer) -> int:
        """Waits until a sentinel names another server and this one accepts a write; the time on the clock, in ns."""
        while True:
            for sentinel in self._sentinels:
                port = int(sentinel.execute_command("SENTINEL", "get-master-addr-by-name", SERVICE)[1])
                if port != old.port and accepts_write(port):
                    return time.monotonic_ns()
            time.sleep(ASK_SECONDS)

    def bring_back(self, old: RedisServer) -> None:
        """All know the new master, and the old one is there again."""
        self._watched.wait_for_new_master(old)
        old.start()


class OneCluster:
    """Three masters, of which one has all names and three replicas; the others vote."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.what = "the cluster"
        self._cluster = stack.enter_context(Cluster(replicas=1, lopsided=True))
        self.url = self._cluster.url
        self.for_redisson = ["--nodes", ",".join(f"127.0.0.1:{one.port}" for one in self._cluster.servers)]

    def wait_calm(self) -> None:
        """As of Sentinels."""
        wait_until(self._cluster.is_ready, TIMEOUT)

    @property
    def master(self) -> RedisServer:
        """The present one."""
        return self._cluster.master_of(KEY)

    def writable_after(self, old: RedisServer) -> int:
        """Waits until another node accepts a write; the time on the clock, in ns."""
        others = [one.port for one in self._cluster.servers if one is not old]
        while not any(accepts_write(port) for port in others):
            time.sleep(ASK_SECONDS)
        return time.monotonic_ns()

    def bring_back(self, old: RedisServer) -> None:
        """As of Sentinels."""
        old.start()


Servers = Union[Sentinels, OneCluster]


def granted_after(program: Conversation, killed_ns: int) -> int:
    """When the program was granted its lock after the death of the master, in ns."""
    while True:
        gap = program.line(TIMEOUT)
        if gap["granted_ns"] > killed_ns:
            return int(gap["granted_ns"])
        program.go()  # what it saw was a pause before


def fail_over(servers: Servers, programs: Dict[str, Conversation]) -> Dict[str, float]:
    """Kills the master; after how many seconds there was another one, and each program had a turn there."""
    servers.wait_calm()
    for program in programs.values():
        program.go()
    time.sleep(MANY_TURNS_SECONDS)
    old = servers.master
    killed_ns = time.monotonic_ns()
    old.kill()
    found = {"servers": servers.writable_after(old)}
    for name, program in programs.items():
        found[name] = granted_after(program, killed_ns)
    servers.bring_back(old)
    return {name: (at_ns - killed_ns) / 1e9 for name, at_ns in found.items()}


def start_redisson(bench: Bench, servers: Servers) -> Tuple[Optional[Conversation], str]:
    """The program with Redisson, warm; or why there is none."""
    try:
        command = redisson_program(bench.build_directory, "turns")
    except NotAvailable as reason:
        return None, str(reason)
    program = Conversation(command, [*servers.for_redisson, "--warm", bench.pace.warm_seconds])
    program.line(TIMEOUT)
    return program, ""


@scenario("P15", "from a master's death to the next grant, through sentinels and on a cluster")
def run(bench: Bench, report: Report) -> None:
    failovers = 3 if bench.pace.quick else FAILOVERS
    kinds: List[Callable[[contextlib.ExitStack], Servers]] = [Sentinels, OneCluster]
    for make in kinds:
        with contextlib.ExitStack() as stack:
            servers = make(stack)
            programs = {"redlatch": stack.enter_context(bench.converse("redlatch_turns", "--url", servers.url))}
            redisson, missing = start_redisson(bench, servers)
            if redisson is not None:
                programs["Redisson"] = stack.enter_context(redisson)
            found = [fail_over(servers, programs) for _ in range(failovers)]
        show(report, servers.what, found, missing)


def show(report: Report, what: str, found: List[Dict[str, float]], missing: str) -> None:
    needed = Series([times["servers"] for times in found])
    report.row(f"until a master can be written, {what}, {len(found)} failovers", needed, "s")
    for name in ("redlatch", "Redisson"):
        if name == "Redisson" and missing:
            report.row(f"until the next grant, {what}, {name}", Series([], missing), "s")
            continue
        beyond = [times[name] - times["servers"] for times in found]
        report.row(f"until the next grant, {what}, {name}", Series([times[name] for times in found]), "s")
        p50, p99 = Series([percentile(beyond, 50)]), Series([percentile(beyond, 99)])
        if name == "redlatch":
            report.at_most(f"beyond the time of {what}, P50", p50, MOST_P50, "s")
            report.at_most(f"beyond the time of {what}, P99", p99, MOST_P99, "s")
        else:
            report.row(f"beyond the time of {what}, P50, {name}", p50, "s")
            report.row(f"beyond the time of {what}, P99, {name}", p99, "s")

# SPDX-License-Identifier: Apache-2.0
"""P15: from the death of a master until a lock is granted on the next one, beyond what the sentinels need themselves.

A program with redlatch and one with Redisson take turns of a lock each, through the same three sentinels, when the
master is killed. What the sentinels need is measured beside them, by a client of neither: it asks all of them every
few milliseconds, until one names a server that accepts a write. All three measure the same failovers.
"""

from __future__ import annotations

import contextlib
import time
from typing import Dict, List, Optional, Tuple

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from harness import Bench, Conversation, NotAvailable, Report, Series, percentile, scenario
from harness.programs import redisson_program
from support import RedisServer, wait_until
from support.sentinels import SERVICE, Watched

FAILOVERS = 20
MOST_P50, MOST_P99 = 0.1, 0.5
TIMEOUT = 120.0
MANY_TURNS_SECONDS = 0.5  # until a program that was told to go takes turns
ASK_SECONDS = 0.002


class Independent:
    """A client of the sentinels that has nothing to do with the programs: when is there a master again?"""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._sentinels = [self._connect(sentinel.port) for sentinel in watched.sentinels]

    @staticmethod
    def _connect(port: int) -> redis.Redis:
        return redis.Redis(port=port, protocol=2, socket_timeout=1.0, retry=Retry(NoBackoff(), 0))

    def close(self) -> None:
        for sentinel in self._sentinels:
            sentinel.close()

    def writable_after(self, old: RedisServer) -> int:
        """Waits until a sentinel names another server and this one accepts a write; the time on the clock, in ns."""
        while True:
            for sentinel in self._sentinels:
                port = int(sentinel.execute_command("SENTINEL", "get-master-addr-by-name", SERVICE)[1])
                if port != old.port and self._accepts_write(port):
                    return time.monotonic_ns()
            time.sleep(ASK_SECONDS)

    def _accepts_write(self, port: int) -> bool:
        server = self._connect(port)
        try:
            return bool(server.set("bench:independent", "1", px=1000))
        except redis.RedisError:
            return False
        finally:
            server.close()


def granted_after(program: Conversation, killed_ns: int) -> int:
    """When the program was granted its lock after the death of the master, in ns."""
    while True:
        gap = program.line(TIMEOUT)
        if gap["granted_ns"] > killed_ns:
            return int(gap["granted_ns"])
        program.go()  # what it saw was a pause before


def fail_over(watched: Watched, independent: Independent, programs: Dict[str, Conversation]) -> Dict[str, float]:
    """Kills the master; after how many seconds there was another one, and each program had a turn there."""
    wait_until(lambda: all(sentinel.knows(2, 2) for sentinel in watched.sentinels) and watched.in_step(), TIMEOUT)
    for program in programs.values():
        program.go()
    time.sleep(MANY_TURNS_SECONDS)
    old = watched.master
    killed_ns = time.monotonic_ns()
    old.kill()
    found = {"sentinels": independent.writable_after(old)}
    for name, program in programs.items():
        found[name] = granted_after(program, killed_ns)
    watched.wait_for_new_master(old)
    old.start()
    return {name: (at_ns - killed_ns) / 1e9 for name, at_ns in found.items()}


def start_redisson(bench: Bench, watched: Watched) -> Tuple[Optional[Conversation], str]:
    """The program with Redisson, warm; or why there is none."""
    try:
        command = redisson_program(bench.build_directory, "turns")
    except NotAvailable as reason:
        return None, str(reason)
    sentinels = ",".join(sentinel.address for sentinel in watched.sentinels)
    words = ["--sentinels", sentinels, "--service", SERVICE, "--warm", bench.pace.warm_seconds]
    program = Conversation(command, [*words])
    program.line(TIMEOUT)
    return program, ""


@scenario("P15", "from a master's death to the next grant, through sentinels")
def run(bench: Bench, report: Report) -> None:
    failovers = 3 if bench.pace.quick else FAILOVERS
    with contextlib.ExitStack() as stack:
        watched = stack.enter_context(Watched())
        independent = stack.enter_context(contextlib.closing(Independent(watched)))
        programs = {"redlatch": stack.enter_context(bench.converse("redlatch_turns", "--url", watched.url()))}
        redisson, missing = start_redisson(bench, watched)
        if redisson is not None:
            programs["Redisson"] = stack.enter_context(redisson)
        found = [fail_over(watched, independent, programs) for _ in range(failovers)]
    show(report, found, missing)


def show(report: Report, found: List[Dict[str, float]], missing: str) -> None:
    sentinels = Series([times["sentinels"] for times in found])
    report.row(f"until the sentinels name a master that can be written, {len(found)} failovers", sentinels, "s")
    for name in ("redlatch", "Redisson"):
        if name == "Redisson" and missing:
            report.row(f"until the next grant, {name}", Series([], missing), "s")
            continue
        beyond = [times[name] - times["sentinels"] for times in found]
        report.row(f"until the next grant, {name}", Series([times[name] for times in found]), "s")
        p50, p99 = Series([percentile(beyond, 50)]), Series([percentile(beyond, 99)])
        if name == "redlatch":
            report.at_most("beyond the sentinels' time, P50", p50, MOST_P50, "s")
            report.at_most("beyond the sentinels' time, P99", p99, MOST_P99, "s")
        else:
            report.row(f"beyond the sentinels' time, P50, {name}", p50, "s")
            report.row(f"beyond the sentinels' time, P99, {name}", p99, "s")

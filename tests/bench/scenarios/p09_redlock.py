# SPDX-License-Identifier: Apache-2.0
"""P9: acquire and release of a RedLock of five servers that are 1 ms away, beside one round trip and Redisson's.

A proxy delays what goes to the servers and what comes back. The round trip is a PING through it. A PING to all servers
at once, until a majority has answered, is the least that can be had here, since they and the proxy share this machine.
"""

from __future__ import annotations

import contextlib
from typing import Callable, Iterator, List

from harness import Bench, Conversation, Outcome, Report, percentile, scenario
from harness.programs import c_program
from support import RedisServer

SERVERS = 5
DELAY_US = 1000
ROUND_TRIPS = 1.15


@contextlib.contextmanager
def distant_servers(bench: Bench) -> Iterator[List[int]]:
    """The ports behind which they are."""
    with contextlib.ExitStack() as stack:
        ports = [stack.enter_context(RedisServer()).port for _ in range(SERVERS)]
        words = ["--delay-us", DELAY_US, "--servers", ",".join(map(str, ports))]
        proxy = stack.enter_context(Conversation(c_program(bench.build_directory, "delay_proxy"), words))
        yield proxy.line(timeout=30)["ports"]
        bench.end_programs()


def median_ms(field: str) -> Callable[[Outcome], float]:
    return lambda outcome: percentile(outcome[field], 50) / 1000


@scenario("P9", f"RedLock of {SERVERS} servers, {DELAY_US // 1000} ms one way")
def run(bench: Bench, report: Report) -> None:
    seconds = bench.pace.seconds
    with distant_servers(bench) as ports:
        all_ports = ("--ports", ",".join(map(str, ports)))
        rounds = bench.alternate(
            {
                "one": bench.program("bare_round_trip", "--ports", ports[0], "--seconds", seconds / 2),
                "majority": bench.program("bare_round_trip", *all_ports, "--seconds", seconds / 2),
                "Redisson": bench.redisson("redlock", *all_ports, "--seconds", seconds),
                "redlatch": bench.program("redlatch_redlock", *all_ports, "--seconds", seconds),
            }
        )
    round_trip = rounds.series("one", median_ms("round_trip_us"))
    majority = rounds.series("majority", median_ms("round_trip_us"))
    report.row("one round trip", round_trip, "ms")
    report.row("bare hiredis, all at once, a majority", majority, "ms")
    for call in ("acquire", "release"):
        times = {side: rounds.series(side, median_ms(f"{call}_us")) for side in ("Redisson", "redlatch")}
        for side, series in times.items():
            report.row(f"{side}, {call}", series, "ms")
        report.row(f"{call}, redlatch to Redisson", times["redlatch"] / times["Redisson"], "x")
        report.row(f"{call}, redlatch to bare hiredis, majority", times["redlatch"] / majority, "x")
        report.at_most(f"{call}, to one round trip", times["redlatch"] / round_trip, ROUND_TRIPS)

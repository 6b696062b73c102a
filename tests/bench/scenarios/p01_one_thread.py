# SPDX-License-Identifier: Apache-2.0
"""P1: a pair (acquire and release of a free lock) in C on one thread, beside blocking hiredis with two scripts.

Measured twice: on a quiet machine, where Redisson stands by for scale, and with busy neighbours that leave one
processor free, so that client and server must share it and whoever looks at the socket keeps the server from answering.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import Dict, Iterator

from harness import Bench, Report, client_us_per_pair, pairs_per_second, scenario
from harness.bench import Leg


def sides(bench: Bench) -> Dict[str, Leg]:
    seconds = bench.pace.seconds
    return {
        "bare": bench.program("bare_pair", "--seconds", seconds, *bench.scripts("plain")),
        "redlatch": bench.program("redlatch_pair", "--seconds", seconds),
    }


@contextlib.contextmanager
def busy_neighbours() -> Iterator[None]:
    """A process that never rests for each processor but one."""
    count = len(os.sched_getaffinity(0)) - 1
    neighbours = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()


@scenario("P1", "C, one thread, pair")
def run(bench: Bench, report: Report) -> None:
    seconds = bench.pace.seconds
    beside = {
        "ping": bench.program("bare_ping", "--seconds", seconds / 4),
        "Redisson": bench.redisson("pair", "--seconds", seconds),
    }
    rounds = bench.alternate({**beside, **sides(bench)})
    bare, ours = rounds.series("bare", pairs_per_second), rounds.series("redlatch", pairs_per_second)
    redisson = rounds.series("Redisson", pairs_per_second)
    bare_cpu, our_cpu = rounds.series("bare", client_us_per_pair), rounds.series("redlatch", client_us_per_pair)
    sleeping = rounds.series("ping", lambda outcome: outcome["blocking_us"])
    polling = rounds.series("ping", lambda outcome: outcome["looking_us"])
    report.row("PING, sleeping until it is answered", sleeping, "us")
    report.row("PING, looking until it is answered", polling, "us")
    report.row("bare hiredis", bare, "pairs/s")
    report.row("redlatch", ours, "pairs/s")
    report.row("Redisson", redisson, "pairs/s")
    report.row("bare hiredis, CPU of the program", bare_cpu, "us/pair")
    report.row("redlatch, CPU of the program", our_cpu, "us/pair")
    report.row("Redisson, CPU of the program", rounds.series("Redisson", client_us_per_pair), "us/pair")
    report.row("pairs, redlatch to Redisson", ours / redisson, "x")

    with busy_neighbours():
        rounds = bench.alternate(sides(bench))
    busy_bare, busy_ours = rounds.series("bare", pairs_per_second), rounds.series("redlatch", pairs_per_second)
    report.row("bare hiredis, busy neighbours", busy_bare, "pairs/s")
    report.row("redlatch, busy neighbours", busy_ours, "pairs/s")

    # Looking before sleeping can gain only what a sleep and a wake-up cost; elsewhere it must just do no harm.
    wake_up_is_dear = not sleeping.missing and (sleeping / polling).median >= 2
    report.at_least("pairs, redlatch to bare hiredis", ours / bare, 2.0 if wake_up_is_dear else 0.95)
    report.at_most("CPU per pair, redlatch to bare hiredis", our_cpu / bare_cpu, 1.1)
    report.at_least("pairs with busy neighbours, to bare hiredis", busy_ours / busy_bare, 0.95)
    report.note(f"a wake-up is {'dear' if wake_up_is_dear else 'cheap'} here")

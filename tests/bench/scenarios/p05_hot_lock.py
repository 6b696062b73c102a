# SPDX-License-Identifier: Apache-2.0
"""P5: one hot lock that 64 threads of one process fight for; every hand-over must be visible on the wire.

Redisson has as many threads as redlatch. The best of the other peers here stands for the best one anywhere, since those
from other languages are not part of this run.
"""

from __future__ import annotations

import re

from harness import Bench, Report, Series, best_of, fairness, pairs_per_second, scenario
from support import Monitor

NAME = b"bench:hot"
OWNER = re.compile(rb"[0-9a-f-]{36}:\d+")
PYTHON_PEERS = ("redis-py", "python-redis-lock")


def visible_share(bench: Bench) -> float:
    """The owners that the server was told of, as a percentage of the pairs that the threads did."""
    with Monitor(bench.server) as monitor:
        outcome = bench.program("redlatch_hot", "--seconds", 0.2)()
        entries = monitor.since()
    writes = [entry.arguments for entry in entries.by_command("HSET", "HSETNX", "HINCRBY") if entry.lua]
    owners = {words[2] for words in writes if words[1] == NAME and OWNER.fullmatch(words[2])}
    return 100.0 * len(owners) / float(outcome["pairs"] + outcome["warm_pairs"])


@scenario("P5", "one hot lock, 64 threads of one process")
def run(bench: Bench, report: Report) -> None:
    seconds = bench.pace.seconds
    sides = {
        peer: bench.python("python_pair.py", peer, "--hot", "--threads", 16, "--seconds", seconds)
        for peer in PYTHON_PEERS
    }
    hot = ("--threads", 64, "--seconds", seconds)
    sides["Redisson"] = bench.redisson("pair", "--shared", 1, *hot)
    sides["redlatch"] = bench.program("redlatch_hot", *hot)
    rounds = bench.alternate(sides)
    rates = {side: rounds.series(side, pairs_per_second) for side in sides}
    for peer in PYTHON_PEERS:
        report.row(f"{peer}, 16 threads", rates[peer], "pairs/s")
    report.row("Redisson, 64 threads", rates["Redisson"], "pairs/s")
    report.row("redlatch, 64 threads", rates["redlatch"], "pairs/s")

    ours = rates["redlatch"]
    report.at_least("pairs", ours, 15000, "pairs/s")
    best = best_of(*(rates[peer] for peer in PYTHON_PEERS))
    report.at_least("pairs, redlatch to Redisson", ours / rates["Redisson"], 7.0)
    report.at_least("pairs, redlatch to the best Python peer", ours / best, 2.2)
    share = Series([], ours.missing) if ours.missing else Series([visible_share(bench)])
    report.at_least("hand-overs visible on the wire", share, 100.0, "%")
    for side in sides:
        for outcome in rounds.outcomes(side)[-1:]:
            report.note(f"{side}, last round: {fairness(outcome)}")

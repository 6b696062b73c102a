# SPDX-License-Identifier: Apache-2.0
"""P2: many threads with a lock each in C: one redlatch client beside bare hiredis with a connection per thread."""

from __future__ import annotations

from harness import Bench, Report, client_us_per_pair, pairs_per_second, scenario

# Threads, and what redlatch is to reach against bare hiredis.
TARGETS = {4: 0.9, 16: 1.3, 64: 1.8}


@scenario("P2", "C, one client, a lock per thread")
def run(bench: Bench, report: Report) -> None:
    seconds = bench.pace.seconds
    for threads, target in TARGETS.items():
        rounds = bench.alternate(
            {
                "bare": bench.program("bare_pair", "--seconds", seconds, "--threads", threads, *bench.scripts("plain")),
                "redlatch": bench.program("redlatch_pair", "--seconds", seconds, "--threads", threads),
            }
        )
        bare, ours = rounds.series("bare", pairs_per_second), rounds.series("redlatch", pairs_per_second)
        report.row(f"{threads} threads, bare, a connection each", bare, "pairs/s")
        report.row(f"{threads} threads, redlatch, one client", ours, "pairs/s")
        report.row(f"{threads} threads, bare, CPU", rounds.series("bare", client_us_per_pair), "us/pair")
        report.row(f"{threads} threads, redlatch, CPU", rounds.series("redlatch", client_us_per_pair), "us/pair")
        report.at_least(f"{threads} threads, redlatch to bare hiredis", ours / bare, target)

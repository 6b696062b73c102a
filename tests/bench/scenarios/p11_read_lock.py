# SPDX-License-Identifier: Apache-2.0
"""P11: one read lock that 64 threads of one process take and free, beside Redisson with as many."""

from __future__ import annotations

from harness import Bench, Report, client_us_per_pair, pairs_per_second, scenario, server_us_per_pair


@scenario("P11", "one read lock, 64 threads of one process")
def run(bench: Bench, report: Report) -> None:
    words = ("--threads", 64, "--seconds", bench.pace.seconds)
    rounds = bench.alternate(
        {
            "Redisson": bench.redisson("pair", "--kind", "read", "--shared", 1, *words),
            "redlatch": bench.program("redlatch_read", *words),
        }
    )
    rates = {side: rounds.series(side, pairs_per_second) for side in ("Redisson", "redlatch")}
    for side, rate in rates.items():
        report.row(side, rate, "pairs/s")
    for side in rates:
        report.row(f"{side}, CPU of the program", rounds.series(side, client_us_per_pair), "us/pair")
        report.row(f"{side}, CPU of the server", rounds.series(side, server_us_per_pair), "us/pair")
    report.at_least("pairs, redlatch to Redisson", rates["redlatch"] / rates["Redisson"], 5.0)

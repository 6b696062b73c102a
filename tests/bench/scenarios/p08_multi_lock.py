# SPDX-License-Identifier: Apache-2.0
"""P8: a pair of a multi lock of ten names on one server, beside Redisson's, and beside a pair of one single lock."""

from __future__ import annotations

from harness import Bench, Report, client_us_per_pair, pairs_per_second, scenario, server_us_per_pair

MEMBERS = 10


@scenario("P8", f"multi lock of {MEMBERS} names on one server")
def run(bench: Bench, report: Report) -> None:
    seconds = bench.pace.seconds
    words = ("--members", MEMBERS, "--seconds", seconds)
    sides = {
        "Redisson": bench.redisson("pair", "--kind", "multi", *words),
        "single lock": bench.program("redlatch_pair", "--seconds", seconds),
        "redlatch": bench.program("redlatch_multi", *words),
    }
    rounds = bench.alternate(sides)
    rates = {side: rounds.series(side, pairs_per_second) for side in sides}
    for side, rate in rates.items():
        report.row(side, rate, "pairs/s")
    for side in sides:
        report.row(f"{side}, CPU of the program", rounds.series(side, client_us_per_pair), "us/pair")
        report.row(f"{side}, CPU of the server", rounds.series(side, server_us_per_pair), "us/pair")
    report.at_least("pairs, redlatch to Redisson", rates["redlatch"] / rates["Redisson"], 15.0)
    report.at_most("time of a pair, to a single lock's", rates["single lock"] / rates["redlatch"], 1.5)

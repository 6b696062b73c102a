# SPDX-License-Identifier: Apache-2.0
"""P17: a pair whose release does not wait for the reply, beside the pair that waits: C, Python, asyncio."""

from __future__ import annotations

from harness import Bench, Report, pairs_per_second, scenario

LEAST = 1.4


@scenario("P17", "unconfirmed release, one thread, pair")
def run(bench: Bench, report: Report) -> None:
    seconds = bench.pace.seconds
    legs = {}
    for confirm, library in ((1, "redlatch"), (0, "redlatch-unconfirmed")):
        legs[f"C {confirm}"] = bench.program("redlatch_pair", "--seconds", seconds, "--confirm", confirm)
        legs[f"Python {confirm}"] = bench.python("python_pair.py", library, "--seconds", seconds)
        legs[f"asyncio {confirm}"] = bench.python("aio_pair.py", library, "--seconds", seconds)
    rounds = bench.alternate(legs)
    for language in ("C", "Python", "asyncio"):
        confirmed = rounds.series(f"{language} 1", pairs_per_second)
        unconfirmed = rounds.series(f"{language} 0", pairs_per_second)
        report.row(f"{language}, confirmed", confirmed, "pairs/s")
        report.row(f"{language}, unconfirmed", unconfirmed, "pairs/s")
        ratio = f"{language}: pairs, unconfirmed to confirmed"
        if language == "asyncio":
            report.row(ratio, unconfirmed / confirmed, "x")
        else:
            report.at_least(ratio, unconfirmed / confirmed, LEAST)

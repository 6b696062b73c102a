# SPDX-License-Identifier: Apache-2.0
"""P17: a pair whose release does not wait for the reply, beside the pair that waits: C, Python, and started calls of
both, which in Python are those of asyncio."""

from __future__ import annotations

from harness import Bench, Report, pairs_per_second, scenario

LEAST = 1.4


@scenario("P17", "unconfirmed release, one thread, pair")
def run(bench: Bench, report: Report) -> None:
    seconds = bench.pace.seconds
    legs = {}
    for confirm, library in ((1, "redlatch"), (0, "redlatch-unconfirmed")):
        legs[f"C {confirm}"] = bench.program("redlatch_pair", "--seconds", seconds, "--confirm", confirm)
        legs[f"C, started calls {confirm}"] = bench.program(
            "redlatch_async_pair", "--seconds", seconds, "--confirm", confirm
        )
        legs[f"Python {confirm}"] = bench.python("python_pair.py", library, "--seconds", seconds)
        legs[f"asyncio {confirm}"] = bench.python("aio_pair.py", library, "--seconds", seconds)
    rounds = bench.alternate(legs)
    for form in ("C", "C, started calls", "Python", "asyncio"):
        confirmed = rounds.series(f"{form} 1", pairs_per_second)
        unconfirmed = rounds.series(f"{form} 0", pairs_per_second)
        report.row(f"{form}, confirmed", confirmed, "pairs/s")
        report.row(f"{form}, unconfirmed", unconfirmed, "pairs/s")
        report.at_least(f"{form}: pairs, unconfirmed to confirmed", unconfirmed / confirmed, LEAST)

# SPDX-License-Identifier: Apache-2.0
"""S1: the start-up of `redlatch run NAME -- true`, beside flock(1) on a local file."""

from __future__ import annotations

import subprocess
import tempfile
import time
from typing import Callable, List

from harness import Bench, NotAvailable, Outcome, Report, Series, scenario


def milliseconds(outcome: Outcome) -> float:
    return float(outcome["milliseconds"])


def median_of(runs: int, run: Callable[[], object]) -> Outcome:
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return {"milliseconds": 1000 * sorted(times)[runs // 2]}


@scenario("S1", "shell: start-up of `redlatch run NAME -- true`")
def run(bench: Bench, report: Report) -> None:
    command = bench.build_directory / "bin" / "redlatch"
    if not command.exists():
        raise NotAvailable(f"{command} is not built")
    runs = 20 if bench.pace.quick else 100
    with tempfile.NamedTemporaryFile() as file:

        def program(words: List[str]) -> Callable[[], Outcome]:
            return lambda: median_of(runs, lambda: subprocess.run(words, check=True))

        rounds = bench.alternate(
            {
                "flock": program(["flock", file.name, "true"]),
                "redlatch": program([str(command), "run", "--url", bench.server.url, "bench:start", "--", "true"]),
                "PING": lambda: median_of(runs, bench.server.admin.ping),
            }
        )
    sides = {side: rounds.series(side, milliseconds) for side in ("flock", "redlatch", "PING")}
    for side, series in sides.items():
        report.row(side, series, "ms")
    pairs = zip(sides["flock"].values, sides["PING"].values)
    allowed = Series([1.5 * flock + 4 * ping for flock, ping in pairs], sides["flock"].missing)
    report.at_most("redlatch to 1.5 x flock and 4 round trips", sides["redlatch"] / allowed, 1.0)

# SPDX-License-Identifier: Apache-2.0
"""P3: `with lock:` in Python on one thread, beside the pair in C; redis-py's Lock and python-redis-lock for scale."""

from __future__ import annotations

from harness import Bench, Report, pairs_per_second, scenario

# Times that of the pair in C.
MOST = 1.25


@scenario("P3", "Python, `with lock:`, one thread")
def run(bench: Bench, report: Report) -> None:
    seconds = bench.pace.seconds
    libraries = ("redis-py", "python-redis-lock", "redlatch")
    legs = {library: bench.python("python_pair.py", library, "--seconds", seconds) for library in libraries}
    rounds = bench.alternate({**legs, "redlatch in C": bench.program("redlatch_pair", "--seconds", seconds)})
    rates = {leg: rounds.series(leg, pairs_per_second) for leg in (*libraries, "redlatch in C")}
    for leg, rate in rates.items():
        report.row(leg, rate, "pairs/s")
    report.row("pairs, redlatch to redis-py", rates["redlatch"] / rates["redis-py"], "x")
    report.at_most("time of a pair, Python to C", rates["redlatch in C"] / rates["redlatch"], MOST)

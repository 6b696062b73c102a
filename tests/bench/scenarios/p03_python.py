# SPDX-License-Identifier: Apache-2.0
"""P3: `with lock:` in Python on one thread, beside redis-py's Lock; python-redis-lock stands by for scale."""

from __future__ import annotations

from harness import Bench, Report, pairs_per_second, scenario


@scenario("P3", "Python, `with lock:`, one thread")
def run(bench: Bench, report: Report) -> None:
    libraries = ("redis-py", "python-redis-lock", "redlatch")
    rounds = bench.alternate(
        {library: bench.python("python_pair.py", library, "--seconds", bench.pace.seconds) for library in libraries}
    )
    rates = {library: rounds.series(library, pairs_per_second) for library in libraries}
    for library, rate in rates.items():
        report.row(library, rate, "pairs/s")
    report.at_least("pairs, redlatch to redis-py", rates["redlatch"] / rates["redis-py"], 4.0)

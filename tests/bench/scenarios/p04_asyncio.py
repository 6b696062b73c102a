# SPDX-License-Identifier: Apache-2.0
"""P4: `async with lock:` in asyncio, beside redis-py's asyncio lock: one task, and many with a lock each."""

from __future__ import annotations

from harness import Bench, Report, client_us_per_pair, pairs_per_second, scenario

# Tasks, and what redlatch is to reach against redis-py.
TARGETS = {1: 2.5, 1000: 4.0}


@scenario("P4", "asyncio, a lock per task")
def run(bench: Bench, report: Report) -> None:
    for tasks, target in TARGETS.items():
        rounds = bench.alternate(
            {
                library: bench.python("asyncio_pair.py", library, "--seconds", bench.pace.seconds, "--tasks", tasks)
                for library in ("redis-py", "redlatch")
            }
        )
        theirs, ours = rounds.series("redis-py", pairs_per_second), rounds.series("redlatch", pairs_per_second)
        report.row(f"{tasks} tasks, redis-py", theirs, "pairs/s")
        report.row(f"{tasks} tasks, redlatch", ours, "pairs/s")
        report.row(f"{tasks} tasks, redis-py, CPU", rounds.series("redis-py", client_us_per_pair), "us/pair")
        report.row(f"{tasks} tasks, redlatch, CPU", rounds.series("redlatch", client_us_per_pair), "us/pair")
        report.at_least(f"{tasks} tasks, redlatch to redis-py", ours / theirs, target)

# SPDX-License-Identifier: Apache-2.0
"""P6: hand-off between two processes, from the call of release in one to the return of acquire in the other.

Two bare hiredis programs with a subscription each are the layer: they do nothing else, in one thread each.
"""

from __future__ import annotations

from collections.abc import Callable

from harness import Bench, Outcome, Report, percentile, scenario

P50_MS, P99_MS = 0.30, 1.0


def milliseconds(percent: float) -> Callable[[Outcome], float]:
    return lambda outcome: percentile(outcome["samples_us"], percent) / 1000


@scenario("P6", "hand-off between two processes")
def run(bench: Bench, report: Report) -> None:
    passes = 100 if bench.pace.quick else 500
    few = 10 if bench.pace.quick else 20
    rounds = bench.alternate(
        {
            "bare hiredis": bench.program("bare_hand_off", "--passes", passes, *bench.scripts("plain")),
            "redlatch": bench.program("redlatch_hand_off", "--passes", passes),
            "Redisson": bench.redisson("hand-off", "--passes", passes),
            "python-redis-lock": bench.python("python_hand_off.py", "python-redis-lock", "--passes", passes // 2),
            # It asks every 0.1 s, so the lock is held for a time spread over that, or the phase would decide.
            "redis-py": bench.python("python_hand_off.py", "redis-py", "--passes", few, "--hold", 0.102),
        }
    )
    for side in ("bare hiredis", "python-redis-lock", "redis-py", "Redisson", "redlatch"):
        report.row(f"{side}, p50", rounds.series(side, milliseconds(50)), "ms")
        report.row(f"{side}, p99", rounds.series(side, milliseconds(99)), "ms")
    for percent, target_ms in ((50, P50_MS), (99, P99_MS)):
        ours = rounds.series("redlatch", milliseconds(percent))
        bare = rounds.series("bare hiredis", milliseconds(percent))
        report.at_most(f"p{percent}", ours, target_ms, "ms")
        redisson = rounds.series("Redisson", milliseconds(percent))
        report.row(f"p{percent}, redlatch to bare hiredis", ours / bare, "x")
        report.row(f"p{percent}, redlatch to Redisson", ours / redisson, "x")

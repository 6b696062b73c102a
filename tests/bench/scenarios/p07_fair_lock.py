# SPDX-License-Identifier: Apache-2.0
"""P7: what a hand-over of a fair lock takes, and whether that grows with the number of waiters.

Every waiter asks again after its turn, so that their number stays. Redisson has a channel for each waiter, and 250
subscriptions by its own default: it is measured with fewer waiters, which are threads of one process.
"""

from __future__ import annotations

from typing import Dict

from harness import Bench, Outcome, Report, scenario
from harness.bench import Leg

REDISSON_WAITERS = (10, 100)
PROCESSES = 20
# Of one process; of 20, which have one waiter each at least.
WAITERS = {1: (10, 1000, 5000), PROCESSES: (20, 1000, 5000)}
HAND_OVER_MS = 0.3
GROWTH = 1.3


def hand_over_ms(outcome: Outcome) -> float:
    """A round with no hand-over at all counts as one."""
    return 1000.0 * float(outcome["seconds"]) / max(1, int(outcome["hand_overs"]))


def ours(waiters: int, processes: int) -> str:
    return f"redlatch, {waiters} waiters" + (f", {processes} processes" if processes > 1 else "")


def theirs(waiters: int) -> str:
    return f"Redisson, {waiters} waiters"


@scenario("P7", "hand-over of a fair lock")
def run(bench: Bench, report: Report) -> None:
    seconds = bench.pace.seconds
    sides: Dict[str, Leg] = {}
    for waiters in REDISSON_WAITERS:
        sides[theirs(waiters)] = bench.redisson("fair", "--waiters", waiters, "--seconds", seconds)
    for processes, numbers in WAITERS.items():
        for waiters in numbers:
            words = ("--waiters", waiters, "--processes", processes, "--seconds", seconds)
            sides[ours(waiters, processes)] = bench.program("redlatch_fair", *words)
    rounds = bench.alternate(sides)
    times = {side: rounds.series(side, hand_over_ms) for side in sides}
    for waiters in REDISSON_WAITERS:
        report.row(theirs(waiters), times[theirs(waiters)], "ms")
    few = REDISSON_WAITERS[0]
    report.row(f"{few} waiters, redlatch to Redisson", times[ours(few, 1)] / times[theirs(few)], "x")
    for processes, numbers in WAITERS.items():
        for waiters in numbers:
            report.at_most(ours(waiters, processes), times[ours(waiters, processes)], HAND_OVER_MS, "ms")
        fewest, most = ours(numbers[0], processes), ours(numbers[-1], processes)
        report.at_most(f"{most}, to {numbers[0]}", times[most] / times[fewest], GROWTH)

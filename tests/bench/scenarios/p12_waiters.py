# SPDX-License-Identifier: Apache-2.0
"""P12: 10 000 threads of one process waiting for one lock: subscriptions, memory, and scripts per hand-over.

The lock goes from thread to thread inside the process by one script each. After 16 in a row it is really released, so
that other processes get their turn: 18 scripts for 17 hand-overs, and some more where a series ends early because 10 ms
are over. That is what "one script per hand-over" can mean.
"""

from __future__ import annotations

from typing import Callable

from harness import Bench, Outcome, Report, Series, scenario

CHANNEL = "redisson_lock__channel:{bench:waiters}"
SCRIPTS_PER_HAND_OVER = 1.1


def pass_through(bench: Bench, waiters: int) -> Outcome:
    """Lets all waiters have the lock once, and looks at the server before and after."""
    with bench.converse("redlatch_waiters", "--waiters", waiters) as program:
        outcome = program.line(timeout=300)
        ((_, outcome["subscribers"]),) = bench.server.admin.pubsub_numsub(CHANNEL)
        bench.server.reset_commandstats()
        program.go()
        passed = program.line(timeout=300)
        outcome["server_scripts"] = bench.scripts_run()
        program.go()
        program.end(timeout=60)
    return {**outcome, **passed}


@scenario("P12", "very many waiters of one lock in one process")
def run(bench: Bench, report: Report) -> None:
    waiters = 2_000 if bench.pace.quick else 10_000
    rounds = bench.alternate({"redlatch": lambda: pass_through(bench, waiters)})

    def value(pick: Callable[[Outcome], float]) -> Series:
        return rounds.series("redlatch", pick)

    report.row(f"hand-over, {waiters} waiters", value(hand_over_us), "us")
    report.row("share handed over inside the process", value(in_process_share), "%")
    report.at_most("subscriptions to the lock's channel", value(lambda outcome: outcome["subscribers"]), 1, "")
    report.at_most("scripts per hand-over", value(scripts_per_hand_over), SCRIPTS_PER_HAND_OVER, "")
    report.at_most("memory beside the stack", value(lambda outcome: outcome["bytes_per_waiter"]), 2048, "bytes/waiter")


def hand_over_us(outcome: Outcome) -> float:
    return float(outcome["seconds"] / outcome["hand_overs"] * 1e6)


def in_process_share(outcome: Outcome) -> float:
    return float(100 * outcome["in_process"] / outcome["hand_overs"])


def scripts_per_hand_over(outcome: Outcome) -> float:
    return float(outcome["server_scripts"] / outcome["hand_overs"])

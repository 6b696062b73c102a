# SPDX-License-Identifier: Apache-2.0
"""P18: what 2 000 pairs of a semaphore leave on the server: keys and bytes of records, and round trips of a pair.

An operation on a count is recorded on the server, so that it may be sent again. The next one records in the same key.
"""

from __future__ import annotations

from typing import Callable

from harness import Bench, Outcome, Report, Series, scenario

PAIRS = 2_000
KEYS_LEFT = 20


def pairs_by(bench: Bench, threads: int) -> Outcome:
    """All pairs by so many threads of one client, and what is on the server afterwards."""
    outcome = bench.program("redlatch_semaphore", "--pairs", PAIRS, "--threads", threads)()
    keys = list(bench.server.admin.scan_iter(match="*", count=1_000))
    outcome["keys"] = len(keys)
    outcome["bytes"] = sum(bench.server.admin.memory_usage(key) or 0 for key in keys)
    return outcome


@scenario("P18", "keys that 2 000 pairs of a semaphore leave")
def run(bench: Bench, report: Report) -> None:
    sides = {"one thread": 1, "8 threads": 8}
    rounds = bench.alternate({side: of_workers(bench, threads) for side, threads in sides.items()})

    def value(side: str, pick: Callable[[Outcome], float]) -> Series:
        return rounds.series(side, pick)

    for side in sides:
        report.row(f"{side}, a pair", value(side, lambda outcome: outcome["seconds"] / outcome["pairs"] * 1e6), "us")
        report.row(f"{side}, bytes left", value(side, lambda outcome: outcome["bytes"]), "bytes")
        report.at_most(f"{side}, keys left", value(side, lambda outcome: outcome["keys"]), KEYS_LEFT, "")
        report.at_most(f"{side}, round trips of a pair", value(side, round_trips), 2.0, "")


def of_workers(bench: Bench, threads: int) -> Callable[[], Outcome]:
    return lambda: pairs_by(bench, threads)


def round_trips(outcome: Outcome) -> float:
    return float(outcome["round_trips"] / outcome["pairs"])

# SPDX-License-Identifier: Apache-2.0
"""What the outcome of a program that does pairs says."""

from __future__ import annotations

import statistics

from .programs import Outcome


def pairs_per_second(outcome: Outcome) -> float:
    return float(outcome["pairs"] / outcome["seconds"])


def client_us_per_pair(outcome: Outcome) -> float:
    """CPU time of the measuring program."""
    return float(outcome["cpu_seconds"] / outcome["pairs"] * 1e6)


def server_us_per_pair(outcome: Outcome) -> float:
    """CPU time of the server, over all pairs that reached it, those of the warm-up too."""
    return float(outcome["server_cpu_seconds"] / (outcome["pairs"] + outcome.get("warm_pairs", 0)) * 1e6)


def fairness(outcome: Outcome) -> str:
    """How the pairs were shared out among the threads, in words. Jain's index is 1 when all got the same."""
    shares = outcome["per_thread"]
    squares = len(shares) * sum(share * share for share in shares)
    index = sum(shares) ** 2 / squares if squares else 0.0
    return (
        f"{len(shares)} threads got {min(shares)} to {max(shares)} pairs, half of them {statistics.median(shares):.0f}"
        f" or more; Jain's index {index:.3f}"
    )

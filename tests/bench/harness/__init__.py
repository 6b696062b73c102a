# SPDX-License-Identifier: Apache-2.0
"""What the benchmark scenarios are written with: running peers in turn, taking medians, judging ratios, reporting."""

from .bench import Bench
from .figures import Report, Series, best_of, percentile
from .outcomes import client_us_per_pair, fairness, pairs_per_second, server_us_per_pair
from .programs import Conversation, NotAvailable, Outcome, ProgramFailed
from .registry import Scenario, discover, scenario

__all__ = [
    "Bench",
    "Conversation",
    "NotAvailable",
    "Outcome",
    "ProgramFailed",
    "Report",
    "Scenario",
    "Series",
    "best_of",
    "client_us_per_pair",
    "discover",
    "fairness",
    "pairs_per_second",
    "percentile",
    "scenario",
    "server_us_per_pair",
]

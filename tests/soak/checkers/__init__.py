# SPDX-License-Identifier: Apache-2.0
"""The checkers of histories: pure functions from operations to violations, each in nearly linear time.

    of one name     NAME_CHECKERS; a row of kinds.py names those of its kind
    of the run      waits.check, errors.check, honesty.check

A violation is a sentence with the ids of its operations, as they are in the history files.
"""

from __future__ import annotations

from typing import Callable, Dict, List

from history import History, Operation
from kinds import KINDS

from . import errors, exclusion, honesty, latch, order, permits, sums, tokens, waits, witness

NAME_CHECKERS: Dict[str, Callable[[str, List[Operation], History], List[str]]] = {
    "exclusion": exclusion.check,
    "latch": latch.check,
    "order": order.check,
    "permit_ids": permits.check_ids,
    "permits": permits.check,
    "sums": sums.check,
    "tokens": tokens.check,
    "witness": witness.check,
}


def of_waits(history: History) -> List[str]:
    """Returns the violations of those checkers that hold even if a master lacks grants."""
    return waits.check(history) + errors.check(history)


def violations(history: History) -> List[str]:
    """Returns the violations that all checkers find in a run."""
    found = of_waits(history) + honesty.check(history)
    for of_name, operations in history.of_names().items():
        for name in sorted({check for each in operations for check in KINDS[each.kind].checks}):
            found += NAME_CHECKERS[name](of_name, operations, history)
    return found

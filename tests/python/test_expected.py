"""The functions that are called when holds are lost: ended holds are swept out now and then, not each time.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any, Optional

from redlatch.expected import SWEEP, Expected


class Counted:
    """Stands for a hold that is held or not, and counts how often that is queried."""

    queried = 0

    def __init__(self, held: bool) -> None:
        self._held = held
        self._lock = object()

    def _now(self) -> Optional[object]:
        Counted.queried += 1
        return self._lock if self._held else None


def nothing(_hold: Any) -> None:
    """A function for a loss."""


def test_many_held_holds_are_queried_seldom() -> None:
    expected: Expected[Any] = Expected()
    Counted.queried = 0
    for serial in range(20 * SWEEP):
        expected.add(serial, nothing, Counted(True))
    assert len(expected) == 20 * SWEEP
    assert 0 < Counted.queried <= 2 * 20 * SWEEP


def test_ended_holds_do_not_gather() -> None:
    expected: Expected[Any] = Expected()
    for serial in range(20 * SWEEP):
        expected.add(serial, nothing, Counted(False))
        assert len(expected) <= SWEEP

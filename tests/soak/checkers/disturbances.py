# SPDX-License-Identifier: Apache-2.0
"""How long strokes of the nemesis disturbed a process, or all processes."""

from __future__ import annotations

from bisect import bisect_right
from typing import Dict, List, Tuple

from history import Stroke


class Disturbances:
    """The strokes of each process. A stroke without a process concerns all processes."""

    def __init__(self, strokes: List[Stroke]) -> None:
        self._of: Dict[str, List[Tuple[int, int]]] = {}
        for stroke in sorted(strokes, key=lambda each: each.since):
            spans = self._of.setdefault(stroke.process, [])
            # A stroke and a silence that it causes overlap. Their common time counts once.
            begin = max(stroke.since, spans[-1][1]) if spans else stroke.since
            if begin < stroke.until:
                spans.append((begin, stroke.until))

    def during(self, process: str, since: int, until: int) -> int:
        """Returns for how many nanoseconds of a span a process was disturbed. Its own strokes and those that concern
        all processes add up."""
        total = 0
        for concerned in ("", process):
            spans = self._of.get(concerned, [])
            for begin, end in spans[: bisect_right(spans, (until, 0))]:
                total += max(0, min(end, until) - max(begin, since))
        return total

# SPDX-License-Identifier: Apache-2.0
"""For how long the nemesis was at work on a process, or on all."""

from __future__ import annotations

from bisect import bisect_right
from typing import Dict, List, Tuple

from history import Stroke


class Disturbances:
    """The strokes, by the process that they concern; those of no process concern all."""

    def __init__(self, strokes: List[Stroke]) -> None:
        self._of: Dict[str, List[Tuple[int, int]]] = {}
        for stroke in sorted(strokes, key=lambda each: each.since):
            spans = self._of.setdefault(stroke.process, [])
            # A silence is also met during a stroke that makes it.
            begin = max(stroke.since, spans[-1][1]) if spans else stroke.since
            if begin < stroke.until:
                spans.append((begin, stroke.until))

    def during(self, process: str, since: int, until: int) -> int:
        """How many nanoseconds of a span of time were disturbed for a process; its own strokes and those that concern
        all add up."""
        total = 0
        for concerned in ("", process):
            spans = self._of.get(concerned, [])
            for begin, end in spans[: bisect_right(spans, (until, 0))]:
                total += max(0, min(end, until) - max(begin, since))
        return total

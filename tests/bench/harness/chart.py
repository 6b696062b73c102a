# SPDX-License-Identifier: Apache-2.0
"""The chart of a run: how each figure stands to its target."""

from __future__ import annotations

from pathlib import Path
from typing import List, Tuple

from .figures import Figure
from .output import Finished, number

_REACHED = "#2f7d4f"
_MISSED = "#b5443a"
_LIMITS = (0.1, 10.0)


def _entries(finished: List[Finished]) -> List[Tuple[str, Figure]]:
    return [
        (entry.scenario.name, figure)
        for entry in finished
        for figure in entry.report.figures
        if not figure.series.missing
    ]


def _within_limits(value: float) -> float:
    return min(max(value, _LIMITS[0]), _LIMITS[1])


def draw(path: Path, finished: List[Finished], title: str) -> bool:
    """Writes a PNG with a bar for each figure: right of the line is better than the target. False if there is none."""
    entries = _entries(finished)
    if not entries:
        return False
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(11, 1.2 + 0.36 * len(entries)))
    for position, (_, entry) in enumerate(entries):
        middle = _within_limits(entry.against_target(entry.series.median))
        ends = [_within_limits(entry.against_target(value)) for value in entry.series.values]
        colour = _REACHED if entry.reached else _MISSED
        axes.barh(position, middle - 1, left=1, color=colour, height=0.6)
        axes.plot([min(ends), max(ends)], [position, position], color="black", linewidth=1)
        axes.plot(middle, position, marker="o", color=colour)  # a figure that just reaches its target has no bar
        target = f"{'≥' if entry.at_least else '≤'} {number(entry.target, entry.unit)}"
        text = f"{number(entry.series.median, entry.unit)}  ({target})"
        axes.text(_LIMITS[1] * 1.08, position, text, va="center", fontsize=8)
    axes.axvline(1, color="black", linewidth=1.2)
    axes.set_xscale("log")
    axes.set_xlim(*_LIMITS)
    ticks = [0.1, 0.25, 0.5, 1, 2, 4, 10]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(entries)), [f"{name}  {entry.label}" for name, entry in entries], fontsize=8)
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    axes.set_xlabel("against the target: 1 is just reached, more is better; the thin line spans the rounds")
    axes.set_title(title, fontsize=10)
    figure.savefig(path, dpi=130, bbox_inches="tight")
    pyplot.close(figure)
    return True

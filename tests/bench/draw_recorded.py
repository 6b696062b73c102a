# SPDX-License-Identifier: Apache-2.0
"""Draws the chart of docs/proof/figures.md from a recorded run.

    draw_recorded.py [RUN.json [CHART.svg]]    by default the newest of tests/bench/recorded, and docs/proof/figures.svg
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Dict, List, Tuple
from xml.sax.saxutils import escape

HERE = Path(__file__).resolve().parent
CHART = HERE.parents[1] / "docs" / "proof" / "figures.svg"

# A bar: what stands beside it, the scenario and the label of its row in the run, and whether it is redlatch's.
Bar = Tuple[str, str, str, bool]
PAIRS: List[Bar] = [
    ("1 thread, hiredis", "P1", "bare hiredis", False),
    ("1 thread, redlatch", "P1", "redlatch", True),
    *(bar for threads in (4, 16, 64) for bar in (
        (f"{threads} threads, hiredis, a connection each", "P2", f"{threads} threads, bare, a connection each", False),
        (f"{threads} threads, redlatch, one client", "P2", f"{threads} threads, redlatch, one client", True))),
]
HAND_OFF: List[Bar] = [
    ("two programs with hiredis", "P6", "bare hiredis, p50", False),
    ("redlatch", "P6", "redlatch, p50", True),
    ("python-redis-lock", "P6", "python-redis-lock, p50", False),
    ("redis-py", "P6", "redis-py, p50", False),
]
LEFT, LONGEST, RIGHT, ROW, HEAD = 250, 400, 90, 22, 34
OURS, OTHERS = "#2f6f9f", "#a9b4bd"
FONT = "font-family='system-ui, sans-serif'"


def medians(run: Dict[str, Any]) -> Dict[Tuple[str, str], float]:
    """The median of each row, by scenario and label."""
    return {(scenario["name"], row["label"]): row["median"] for scenario in run["scenarios"]
            for row in scenario["rows"] if "median" in row}


def panel(top: int, title: str, bars: List[Bar], values: Dict[Tuple[str, str], float], limit: float,
          form: str) -> List[str]:
    """A title and its bars; one that is longer than the limit is broken off, with an arrow."""
    parts = [f"<text x='12' y='{top + 20}' font-size='14' font-weight='600'>{escape(title)}</text>"]
    for number, (label, scenario, row, ours) in enumerate(bars):
        y, value = top + HEAD + number * ROW, values[scenario, row]
        width = LONGEST * min(value / limit, 1.0)
        shown = format(value, form) + (" \u2192" if value > limit else "")
        parts.append(f"<text x='{LEFT - 8}' y='{y + 12}' font-size='12' text-anchor='end'>{escape(label)}</text>")
        parts.append(f"<rect x='{LEFT}' y='{y}' width='{width:.1f}' height='16' fill='{OURS if ours else OTHERS}'/>")
        parts.append(f"<text x='{LEFT + width + 6:.1f}' y='{y + 12}' font-size='12'>{shown}</text>")
    return parts


def draw(run: Dict[str, Any]) -> str:
    """The chart as SVG."""
    values = medians(run)
    below = HEAD + len(PAIRS) * ROW + 10
    height = below + HEAD + len(HAND_OFF) * ROW + 12
    most = max(values[scenario, row] for _, scenario, row, _ in PAIRS)
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{LEFT + LONGEST + RIGHT}' height='{height}' {FONT}>",
        f"<rect width='100%' height='{height}' fill='white'/>",
        *panel(0, "Acquire and release of free locks: pairs a second", PAIRS, values, most, ",.0f"),
        *panel(below, "Hand-off of a lock between two processes: median, ms", HAND_OFF, values, 1.0, ".2f"),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    recorded = sorted((HERE / "recorded").glob("*.json"))
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else recorded[-1]
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else CHART
    target.write_text(draw(json.loads(source.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()

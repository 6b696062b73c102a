# SPDX-License-Identifier: Apache-2.0
"""What a run leaves: lines for the reader, and a JSON file with every round."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List

from .figures import Figure, Report, Row, Series
from .registry import Scenario

# What other processes may take of a core before the figures are in doubt.
_QUIET_PERCENT = 10.0


@dataclass(frozen=True)
class Finished:
    """A scenario that was run: its report, how long it took, why it failed if it did, and what others did meanwhile."""

    scenario: Scenario
    report: Report
    seconds: float
    failure: str
    others_percent: float

    @property
    def complete(self) -> bool:
        """Whether every value could be measured."""
        series = [row.series for row in self.report.rows] + [figure.series for figure in self.report.figures]
        return not self.failure and not any(entry.missing for entry in series)


def print_machine(description: Dict[str, Any]) -> None:
    for key, value in description.items():
        print(f"{key:>18}  {value}")


def _digits(value: float, unit: str) -> str:
    """Three digits that matter; rates in thousands."""
    if unit == "x":
        return f"{value:.2f}x"
    if unit.endswith("/s") and value >= 1000:
        return f"{value / 1000:.1f} k"
    digits = 0 if abs(value) >= 100 or value == int(value) else 1 if abs(value) >= 10 else 2
    return f"{value:.{digits}f}"


def number(value: float, unit: str) -> str:
    """A value with its unit."""
    return _digits(value, unit) if unit == "x" else f"{_digits(value, unit)} {unit}".rstrip()


def _middle(series: Series, unit: str) -> str:
    return "-" if series.missing else number(series.median, unit)


def _spread(series: Series, unit: str) -> str:
    if len(series.values) < 2:
        return ""
    return f"({_digits(min(series.values), unit)} to {_digits(max(series.values), unit)})"


def _row_line(row: Row, width: int) -> str:
    rest = f"not measured: {row.series.missing}" if row.series.missing else _spread(row.series, row.unit)
    return f"    {row.label:<{width}} {_middle(row.series, row.unit):>18}   {rest}".rstrip()


def _figure_line(figure: Figure, width: int) -> str:
    target = f"target at {'least' if figure.at_least else 'most'} {number(figure.target, figure.unit)}"
    if figure.series.missing:
        verdict = f"not measured: {figure.series.missing}"
    else:
        verdict = f"{'reached' if figure.reached else 'NOT REACHED'}   {_spread(figure.series, figure.unit)}"
    return f"  > {figure.label:<{width}} {_middle(figure.series, figure.unit):>18}   {target}: {verdict}".rstrip()


def print_scenario(finished: Finished) -> None:
    print(f"\n{finished.scenario.name}  {finished.scenario.title}   [{finished.seconds:.0f} s]")
    rows, figures = finished.report.rows, finished.report.figures
    labels = [row.label for row in rows] + [figure.label for figure in figures]
    width = max(map(len, labels), default=0)
    for row in rows:
        print(_row_line(row, width))
    for figure in figures:
        print(_figure_line(figure, width))
    for note in finished.report.notes:
        print(f"    {note}")
    others = finished.others_percent
    if others >= _QUIET_PERCENT:
        print(f"    beware: other processes took {others:.0f} % of a core meanwhile; repeat when it is quiet")
    if finished.failure:
        print(f"    FAILED: {finished.failure}")


def write_json(path: Path, run: Dict[str, Any], finished: List[Finished]) -> None:
    scenarios = [
        {
            "name": entry.scenario.name,
            "title": entry.scenario.title,
            "seconds": round(entry.seconds, 1),
            "failure": entry.failure or None,
            "others_percent_of_core": round(entry.others_percent, 1),
            "rows": [row.summary() for row in entry.report.rows],
            "figures": [figure.summary() for figure in entry.report.figures],
            "notes": entry.report.notes,
        }
        for entry in finished
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**run, "scenarios": scenarios}, indent=1) + "\n", encoding="utf-8")

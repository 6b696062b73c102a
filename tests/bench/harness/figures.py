# SPDX-License-Identifier: Apache-2.0
"""Figures: a series of one value for each round, rows that are only shown, and figures with a target."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence


@dataclass(frozen=True)
class Series:
    """One value for each round, or the reason why there is none."""

    values: List[float]
    missing: str = ""

    def __truediv__(self, other: Series) -> Series:
        """The ratios round by round: what was measured next to each other is compared with each other."""
        missing = self.missing or other.missing
        if missing:
            return Series([], missing)
        return Series([mine / theirs for mine, theirs in zip(self.values, other.values)])

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def summary(self) -> Dict[str, Any]:
        """For the JSON file."""
        if self.missing:
            return {"missing": self.missing}
        return {"median": self.median, "lowest": min(self.values), "highest": max(self.values), "rounds": self.values}


def percentile(samples: Sequence[float], percent: float) -> float:
    """The smallest sample that at least `percent` of the samples do not exceed."""
    ordered = sorted(samples)
    rank = math.ceil(len(ordered) * percent / 100)
    return ordered[max(rank, 1) - 1]


def best_of(*alternatives: Series) -> Series:
    """Round by round the largest value; missing as soon as one of them is."""
    missing = next((series.missing for series in alternatives if series.missing), "")
    if missing:
        return Series([], missing)
    return Series([max(values) for values in zip(*(series.values for series in alternatives))])


@dataclass(frozen=True)
class Row:
    """A value that is shown and kept, without a target."""

    label: str
    series: Series
    unit: str

    def summary(self) -> Dict[str, Any]:
        return {"label": self.label, "unit": self.unit, **self.series.summary()}


@dataclass(frozen=True)
class Figure:
    """A value with a target: at least or at most so much."""

    label: str
    series: Series
    unit: str
    target: float
    at_least: bool

    @property
    def reached(self) -> Optional[bool]:
        """None if it could not be measured."""
        if self.series.missing:
            return None
        return self.series.median >= self.target if self.at_least else self.series.median <= self.target

    def against_target(self, value: float) -> float:
        """How a value stands to the target: 1 is just reached, more is better, whichever way the target points."""
        if self.at_least:
            return value / self.target
        return self.target / value if value > 0 else math.inf

    def summary(self) -> Dict[str, Any]:
        return {
            "label": self.label,
            "unit": self.unit,
            "target": self.target,
            "at": "least" if self.at_least else "most",
            "reached": self.reached,
            **self.series.summary(),
        }


@dataclass
class Report:
    """What one scenario found out."""

    rows: List[Row] = field(default_factory=list)
    figures: List[Figure] = field(default_factory=list)
    notes: List[str] = field(default_factory=list)

    def row(self, label: str, series: Series, unit: str) -> None:
        self.rows.append(Row(label, series, unit))

    def at_least(self, label: str, series: Series, target: float, unit: str = "x") -> None:
        self.figures.append(Figure(label, series, unit, target, True))

    def at_most(self, label: str, series: Series, target: float, unit: str = "x") -> None:
        self.figures.append(Figure(label, series, unit, target, False))

    def note(self, text: str) -> None:
        self.notes.append(text)

"""The report of a run: a line for each mutant, the survivors with their changes, figures by area.

SPDX-License-Identifier: Apache-2.0
"""

import difflib
from collections import Counter
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

from mutants import Mutant
from records import EQUIVALENT, LIVED, NOTICED

QUICK = ("unit", "simulation")


class Result(NamedTuple):
    """The result of one mutant."""

    mutant: Mutant
    verdict: str
    layer: str
    by: str
    seconds: float = 0.0  # that the tests took; 0 if earlier runs had the result


def line(result: Result) -> str:
    """Returns one mutant as a line."""
    mutant = result.mutant
    by = f" by {result.by}" if result.by else ""
    cost = f" ({result.seconds:.0f} s)" if result.seconds else ""
    return f"{result.verdict:<10} {mutant.path}:{mutant.line} {mutant.function}: {mutant.edit.operator}{by}{cost}"


def change(mutant: Mutant, root: Path) -> str:
    """Returns a mutant as a diff."""
    original = (root / mutant.path).read_text(encoding="utf-8")
    name = f"{mutant.path} ({mutant.function}, {mutant.edit.operator})"
    lines = difflib.unified_diff(original.splitlines(), mutant.edit.apply(original).splitlines(), name, name, n=3,
                                 lineterm="")
    return "\n".join(lines)


def percent(part: int, whole: int) -> str:
    """Returns a share as text."""
    return f"{100 * part / whole:5.1f} %" if whole else "      -"


def seconds_each(results: List[Result]) -> str:
    """Returns the average seconds for a mutant, of those that were tested in this run."""
    requested = [result.seconds for result in results if result.seconds]
    return f"{sum(requested) / len(requested):.0f} s" if requested else "-"


def by_area(results: List[Result]) -> Dict[str, List[Result]]:
    """Returns the results of each area."""
    areas: Dict[str, List[Result]] = {}
    for result in results:
        areas.setdefault(result.mutant.area, []).append(result)
    return areas


def recorded(results: List[Result]) -> Dict[str, Dict[str, Dict[str, int]]]:
    """Returns the record of a run, for each area."""
    return {"areas": {area: {verdict: sum(result.verdict == verdict for result in some)
                             for verdict in (NOTICED, LIVED, EQUIVALENT)}
                      for area, some in by_area(results).items()}}


def figures(results: List[Result]) -> str:
    """Returns a row for each area, and one for all."""
    rows = [f"{'area':<10} {'drawn':>6} {'equivalent':>10} {'lived':>6} {'unit+simulation':>16} {'all layers':>11} "
            f"{'each':>6}"]
    for area, some in [*by_area(results).items(), ("all", results)]:
        counts = Counter(result.verdict for result in some)
        requested = len(some) - counts[EQUIVALENT]
        quick = sum(result.layer in QUICK for result in some)
        rows.append(f"{area:<10} {len(some):6} {counts[EQUIVALENT]:10} {counts[LIVED]:6}"
                    f" {percent(quick, requested):>16}"
                    f" {percent(counts[NOTICED], requested):>11} {seconds_each(some):>6}")
    return "\n".join(rows)


class Goal(NamedTuple):
    """The goal of a final run: the share of mutants of some areas that these layers notice, or any layer if none is
    named."""

    areas: Tuple[str, ...]
    layers: Tuple[str, ...]
    wanted: float  # per cent

    def reached(self, results: List[Result]) -> Optional[Tuple[bool, str]]:
        """Returns whether the goal is reached, with a text. Returns None if nothing was drawn from the areas."""
        some = [result for result in results if result.mutant.area in self.areas and result.verdict != EQUIVALENT]
        if not some:
            return None
        noticed = sum(result.verdict == NOTICED and (not self.layers or result.layer in self.layers)
                      for result in some)
        good = 100 * noticed >= self.wanted * len(some)
        by = f" by {' and '.join(self.layers)}" if self.layers else ""
        return good, (f"{'reached' if good else 'missed':<8} {' and '.join(self.areas)}{by}: "
                      f"{percent(noticed, len(some)).strip()} noticed, goal {self.wanted:g} %")


GOALS = [*[Goal((area,), (), 95.0) for area in ("protocol", "link", "scripts")],
         *[Goal((area,), (), 90.0) for area in ("client", "python", "lua", "command")],
         Goal(("protocol", "scripts"), QUICK, 85.0)]


def share_noticed(results: List[Result]) -> float:
    """Returns how many per cent of the mutants were noticed, without the equivalent ones."""
    requested = [result for result in results if result.verdict != EQUIVALENT]
    return 100 * sum(result.verdict == NOTICED for result in requested) / len(requested) if requested else 100.0

# SPDX-License-Identifier: Apache-2.0
"""Two runs side by side: what changed by more than the rounds of each differ among themselves."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

Rows = Dict[Tuple[str, str, str], Dict[str, Any]]


def measured(run: Dict[str, Any]) -> Rows:
    """The rows of a run that were measured, by scenario, label and unit."""
    return {(scenario["name"], row["label"], row["unit"]): row
            for scenario in run["scenarios"] for row in scenario["rows"] if "median" in row}


def verdict(old: Dict[str, Any], new: Dict[str, Any]) -> str:
    """Whether all rounds of one run are beyond all of the other."""
    if new["lowest"] > old["highest"]:
        return "higher"
    return "lower" if new["highest"] < old["lowest"] else ""


def compare(old: Dict[str, Any], new: Dict[str, Any]) -> List[str]:
    """A line for each row that both runs have, and one for each difference of their machines."""
    lines = [f"{key}: {old['machine'].get(key, '-')} then, {new['machine'].get(key, '-')} now"
             for key in {**old["machine"], **new["machine"]} if old["machine"].get(key) != new["machine"].get(key)]
    before, after = measured(old), measured(new)
    for key in (key for key in before if key in after):
        name, label, unit = key
        first, second = before[key]["median"], after[key]["median"]
        ratio = f"{second / first:.2f}x" if first else "-"
        line = f"{name:<4} {label:<48} {first:>12.2f} -> {second:>12.2f} {unit:<9} {ratio:>7}"
        lines.append(f"{line}  {verdict(before[key], after[key])}".rstrip())
    if not any(key in after for key in before):
        lines.append("the runs have no row in common")
    return lines

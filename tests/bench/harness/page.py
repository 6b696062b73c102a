# SPDX-License-Identifier: Apache-2.0
"""The page of figures for users: docs/proof/figures.md and its charts, of a recorded run.

Commas divide the label of a row into who was measured (a side), and what. Rows of redlatch are shown beside those of
the other sides with the same unit. The text of the page outside of the two marks is written by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Tuple

from .bars import Bar, Panel, draw

OURS = "redlatch"
SIDES = (OURS, "bare hiredis", "bare", "by hand", "Redisson", "redis-py", "python-redis-lock")
# How a side was measured, where each has its own best way.
WAYS = ("a connection each", "one client")
RATIO = "x"
# What the entries of a run's "machine" are called on the page.
MACHINE = {"commit": "commit of redlatch", "cpus": "processors", "server": "Redis or Valkey", "openssl": "OpenSSL",
           "python": "CPython", "redis": "redis-py", "jdk": "JDK"}
BEGIN, END = "<!-- made by ./dev bench --page of ", "<!-- end of what ./dev bench --page makes -->"
RECORDED = "tests/bench/recorded"
CHARTS = "figures-*.svg"
# What README and the first page show: a title, and for each bar the scenario and the label of its row.
SUMMARY: List[Tuple[str, List[Tuple[str, str, str]]]] = [
    ("Acquire and release of free locks: pairs a second", [
        ("1 thread, hiredis", "P1", "bare hiredis"),
        ("1 thread, redlatch", "P1", "redlatch"),
        *(bar for threads in (4, 16, 64) for bar in (
            (f"{threads} threads, hiredis, a connection each", "P2", f"{threads} threads, bare, a connection each"),
            (f"{threads} threads, redlatch, one client", "P2", f"{threads} threads, redlatch, one client")))]),
    ("Hand-off of a lock between two processes: median, ms", [
        ("two programs with hiredis", "P6", "bare hiredis, p50"), ("redlatch", "P6", "redlatch, p50"),
        ("python-redis-lock", "P6", "python-redis-lock, p50"), ("redis-py", "P6", "redis-py, p50")]),
]  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A row that was measured."""

    label: str
    unit: str
    median: float
    lowest: float
    highest: float

    @property
    def side(self) -> str:
        """Who was measured; empty for what is of nobody, such as a ratio."""
        return next((token for token in self.label.split(", ") if token in SIDES), "")

    @property
    def subject(self) -> str:
        """What was measured, whoever it was."""
        return ", ".join(token for token in self.label.split(", ") if token not in SIDES + WAYS)

    def is_better_than(self, other: Entry) -> bool:
        """Rates should be high, all else low."""
        return self.median > other.median if self.unit.endswith("/s") else self.median < other.median


def written(value: float) -> str:
    """Three digits that matter, thousands apart."""
    if abs(value) >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def entries(scenario: Dict[str, Any]) -> List[Entry]:
    """The rows of a scenario that were measured."""
    return [Entry(row["label"], row["unit"], row["median"], row["lowest"], row["highest"])
            for row in scenario["rows"] if "median" in row]


def panels(found: List[Entry]) -> List[Panel]:
    """The bars of each unit in which redlatch stands beside others."""
    made = []
    for unit in dict.fromkeys(entry.unit for entry in found if entry.unit != RATIO):
        of_unit = [entry for entry in found if entry.unit == unit and entry.side]
        if len({entry.side == OURS for entry in of_unit}) == 2:
            subjects = list(dict.fromkeys(entry.subject for entry in of_unit))
            ordered = sorted(of_unit, key=lambda entry: subjects.index(entry.subject))
            bars = [Bar(each.label, each.median, written(each.median), each.side == OURS) for each in ordered]
            made.append(Panel(unit, bars))
    return made


def lost(scenario: Dict[str, Any]) -> List[str]:
    """Where somebody else is better than redlatch at the same."""
    found = entries(scenario)
    return [f"- {scenario['name']}, {mine.subject or scenario['title']}: {theirs.side} "
            f"{written(theirs.median)} {mine.unit}, redlatch {written(mine.median)} {mine.unit}"
            for mine in found if mine.side == OURS for theirs in found
            if theirs.side not in ("", OURS) and (theirs.subject, theirs.unit) == (mine.subject, mine.unit)
            and theirs.is_better_than(mine)]


def table(scenario: Dict[str, Any]) -> List[str]:
    """All rows; those that were not measured say so."""
    lines = ["| | median | lowest to highest round |", "|---|---|---|"]
    for row in scenario["rows"]:
        if "median" in row:
            unit = " x" if row["unit"] == RATIO else f" {row['unit']}"
            spread = f"{written(row['lowest'])} to {written(row['highest'])}"
            lines.append(f"| {row['label']} | {written(row['median'])}{unit} | {spread} |")
        else:
            lines.append(f"| {row['label']} | not measured | |")
    return lines


def section(scenario: Dict[str, Any], charts: Dict[str, str]) -> List[str]:
    """A scenario on the page; its chart is added to those that will be written."""
    name, title = scenario["name"], scenario["title"]
    lines = [f"## {name}: {title}", ""]
    shown = panels(entries(scenario))
    if shown:
        charts[name] = draw(f"{name}: {title}", shown)
        spoken = "; ".join(f"{bar.label} {bar.text} {panel.title}" for panel in shown for bar in panel.bars)
        lines += [f"![{title}: {spoken}](figures-{name.lower()}.svg)", ""]
    return [*lines, *table(scenario), ""]


def made_part(run: Dict[str, Any], source: str, charts: Dict[str, str]) -> str:
    """What stands between the marks."""
    names = ",".join(scenario["name"] for scenario in run["scenarios"])
    command = f"./dev bench --only {names}" + (" --quick" if run["quick"] else "")
    machine = [f"| {MACHINE.get(name, name)} | {value} |" for name, value in run["machine"].items()]
    others = [scenario["others_percent_of_core"] for scenario in run["scenarios"]]
    machine.append(f"| other programs meanwhile | {min(others):g} to {max(others):g} % of a processor |")
    worse = [line for scenario in run["scenarios"] for line in lost(scenario)]
    lines = [f"{BEGIN}{source} -->", "", "| | |", "|---|---|", f"| date | {run['date'][:10]} |",
             f"| command | `{command}`, {run['rounds']} rounds in which the programs take turns |", *machine, "",
             "## Where others are faster", "", *(worse or ["Nowhere in this run."]), ""]
    for scenario in run["scenarios"]:
        lines += section(scenario, charts)
    return "\n".join([*lines, END])


def summary(run: Dict[str, Any]) -> str:
    """The chart of README; empty if the run lacks a bar of it."""
    values = {(scenario["name"], entry.label): entry.median
              for scenario in run["scenarios"] for entry in entries(scenario)}
    if not all((scenario, label) in values for _, bars in SUMMARY for _, scenario, label in bars):
        return ""
    drawn = [Panel(title, [Bar(shown, values[scenario, label], written(values[scenario, label]), OURS in shown)
                           for shown, scenario, label in bars]) for title, bars in SUMMARY]
    return draw("redlatch beside other libraries", drawn)


def pages(run: Dict[str, Any], source: str, before: str) -> Dict[str, str]:
    """The files of docs/proof by their names; `before` is figures.md as it is."""
    head, begin, rest = before.partition(BEGIN)
    _, end, foot = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"figures.md: expected the marks '{BEGIN}... -->' and '{END}'")
    charts: Dict[str, str] = {}
    made = {"figures.md": head + made_part(run, source, charts) + foot}
    made.update({f"figures-{name.lower()}.svg": text for name, text in charts.items()})
    chart = summary(run)
    return {**made, **({"figures.svg": chart} if chart else {})}


def newest(root: Path) -> Path:
    """The newest run that is kept with the tree."""
    return sorted((root / RECORDED).glob("*.json"))[-1]

"""Checks that docs/proof/verification.md has the table of recorded runs in tests/mutate/recorded and
tests/fuzz/recorded.

    recorded.py    writes the table
SPDX-License-Identifier: Apache-2.0
"""

import json
from pathlib import Path
from typing import Any, Dict, List

PAGE = "docs/proof/verification.md"
BEGIN, END = "<!-- made by tests/lint/recorded.py -->", "<!-- end of what tests/lint/recorded.py makes -->"
NONE = "No run is recorded in the tree."


def mutation(run: Dict[str, Any]) -> str:
    """Returns the result of a mutation run: how many of the mutants that can be noticed were noticed, in all and by
    area."""
    areas: Dict[str, Dict[str, int]] = run["areas"]
    whole = {key: sum(area[key] for area in areas.values()) for key in ("noticed", "lived", "equivalent")}
    shares = [f"{name} {some['noticed']} of {some['noticed'] + some['lived']}" for name, some in areas.items()]
    judged = whole["noticed"] + whole["lived"]
    share = f"{100 * whole['noticed'] / max(judged, 1):.1f} %"
    return (f"noticed: {whole['noticed']} of {judged} ({share}): {', '.join(shares)};"
            f" {whole['equivalent']} more make no difference")


def fuzzing(run: Dict[str, Any]) -> str:
    """Returns the result of a fuzzing run: hours, targets, inputs, and the targets that failed."""
    targets: Dict[str, Dict[str, Any]] = run["targets"]
    hours = sum(target["seconds"] for target in targets.values()) / 3600
    inputs = f"{sum(target['inputs'] for target in targets.values()):,}".replace(",", " ")
    failed = [name for name, target in targets.items() if not target["passed"]]
    found = f"failed: {', '.join(failed)}" if failed else "no finding"
    return f"{hours:.1f} h of {len(targets)} targets, {inputs} inputs, {found}"


TOOLS = {"mutation": ("tests/mutate/recorded", mutation), "fuzzing": ("tests/fuzz/recorded", fuzzing)}


def table(root: Path) -> str:
    """Returns the rows of each tool, the newest first."""
    rows = []
    for tool, (folder, result) in TOOLS.items():
        for path in sorted((root / folder).glob("*.json"), reverse=True):
            run = json.loads(path.read_text(encoding="utf-8"))
            rows.append(f"| {tool} | {run['date']} | {run['commit']} | `{run['command']}` | {result(run)} |")
    if not rows:
        return NONE
    return "\n".join(["| tool | date | commit | command | result |", "|---|---|---|---|---|", *rows])


def made(root: Path, before: str) -> str:
    """Returns the page with the table, or the page unchanged if it lacks a mark."""
    head, begin, rest = before.partition(BEGIN)
    _, end, foot = rest.partition(END)
    return f"{head}{BEGIN}\n\n{table(root)}\n\n{END}{foot}" if begin and end else before


def check(root: Path) -> List[str]:
    """Returns a complaint if the page lacks the marks or the table between them."""
    text = (root / PAGE).read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        return [f"{PAGE}: expected the marks '{BEGIN}' and '{END}'"]
    return [] if made(root, text) == text else [f"{PAGE}: not the table that tests/lint/recorded.py makes"]


if __name__ == "__main__":
    page = Path(__file__).resolve().parents[2] / PAGE
    page.write_text(made(page.parents[2], page.read_text(encoding="utf-8")), encoding="utf-8")

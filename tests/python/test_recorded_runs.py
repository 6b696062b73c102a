# SPDX-License-Identifier: Apache-2.0
"""Records of runs of the mutation tests and the fuzzers, and their table in docs/proof/verification.md."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Dict

import pytest
import recorded_run

TESTS = Path(__file__).resolve().parents[1]
for folder in ("lint", "fuzz"):
    sys.path.insert(0, str(TESTS / folder))

import fuzz  # noqa: E402
import recorded  # noqa: E402


def keep(root: Path, tool: str, name: str, result: Dict[str, object]) -> None:
    """Writes a record where the table finds it."""
    path = root / recorded.TOOLS[tool][0] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    recorded_run.write(path, ["./dev", "x", "--files", "*/a.c"], result)


def test_a_record_says_when_of_what_and_by_which_command(tmp_path: Path) -> None:
    recorded_run.write(tmp_path / "run.json", ["./dev", "mutate", "--files", "*/a.c"], {"areas": {}})
    found = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["date"])
    assert re.fullmatch(r"[0-9a-f]{12,}(-dirty)?", found["commit"])
    assert (found["command"], found["areas"]) == ("./dev mutate --files '*/a.c'", {})


def test_without_a_record_the_table_says_so(tmp_path: Path) -> None:
    assert recorded.table(tmp_path) == recorded.NONE


def test_the_table_has_each_record_the_newest_first(tmp_path: Path) -> None:
    areas = {"link": {"noticed": 9, "lived": 1, "equivalent": 2},
             "client": {"noticed": 10, "lived": 0, "equivalent": 0}}
    keep(tmp_path, "mutation", "2026-01-02.json", {"areas": areas})
    keep(tmp_path, "mutation", "2026-01-03.json", {"areas": {}})
    rows = recorded.table(tmp_path).splitlines()[2:]
    assert [row.split(" | ")[4] for row in rows] == [
        "noticed: 0 of 0 (0.0 %): ; 0 more make no difference |",
        "noticed: 19 of 20 (95.0 %): link 9 of 10, client 10 of 10; 2 more make no difference |"]


@pytest.mark.parametrize("good, says", [(True, "no finding"), (False, "failed: uri")])
def test_the_table_has_what_the_fuzzers_were_given(tmp_path: Path, good: bool, says: str) -> None:
    outcomes = [fuzz.Outcome(good, "", 5400.0, 1_200_000), fuzz.Outcome(True, "", 1800.0, 34)]
    keep(tmp_path, "fuzzing", "2026-01-02.json", fuzz.recorded([fuzz.the_target("uri"), "python"], outcomes))
    assert f"| 2.0 h of 2 targets, 1 200 034 inputs, {says} |" in recorded.table(tmp_path)


def test_what_stands_around_the_table_stays(tmp_path: Path) -> None:
    page = f"before\n{recorded.BEGIN}\nold\n{recorded.END}\nafter\n"
    made = recorded.made(tmp_path, page)
    assert made.startswith("before\n")
    assert made.endswith("\nafter\n")
    assert "old" not in made
    assert recorded.made(tmp_path, made) == made

# SPDX-License-Identifier: Apache-2.0
"""The page of figures is made from the newest record in the tree, and a comparison of two runs reports the
differences."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, cast

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bench"))

from harness import Bench, page  # noqa: E402
from harness.compare import compare  # noqa: E402
from harness.machine import UNKNOWN, describe_machine  # noqa: E402

PROOF = ROOT / "docs" / "proof"


@pytest.fixture
def newest() -> Dict[str, Any]:
    """The newest record."""
    found: Dict[str, Any] = json.loads(page.newest(ROOT).read_text(encoding="utf-8"))
    return found


def row(label: str, unit: str, median: float) -> Dict[str, Any]:
    """Returns a row whose rounds are within a tenth of the median."""
    return {"label": label, "unit": unit, "median": median, "lowest": 0.9 * median, "highest": 1.1 * median}


@pytest.fixture
def run() -> Dict[str, Any]:
    """An invented run: one of two peers is faster than redlatch in one row."""
    rows = [row("bare hiredis, p50", "ms", 0.2), row("redlatch, p50", "ms", 0.3), row("redis-py, p50", "ms", 50.0),
            row("bare hiredis, commands", "", 0.0), row("redlatch, commands", "", 0.0),
            {"label": "Redisson, p50", "unit": "ms", "missing": "no Java"}]
    return {"date": "2026-01-02T030405", "rounds": 3, "quick": True, "machine": {"cpus": 2, "jdk": "17"},
            "scenarios": [{"name": "P6", "title": "hand-off", "others_percent_of_core": 1.0, "rows": rows}]}


def test_the_page_is_of_the_newest_record(newest: Dict[str, Any]) -> None:
    source = page.newest(ROOT).relative_to(ROOT).as_posix()
    before = (PROOF / "figures.md").read_text(encoding="utf-8")
    made = page.pages(newest, source, before)
    assert {path.name for path in PROOF.glob(page.CHARTS)} <= set(made)
    for name, text in made.items():
        assert (PROOF / name).read_text(encoding="utf-8") == text, f"{name}: ./dev bench --page makes it anew"


def test_a_page_without_marks_is_refused(run: Dict[str, Any]) -> None:
    with pytest.raises(SystemExit, match="expected the marks"):
        page.pages(run, "x", "# Figures\n")


def test_the_page_names_machine_and_rows(run: Dict[str, Any]) -> None:
    made = page.pages(run, "x.json", f"head\n{page.BEGIN}old -->\n{page.END}\nfoot\n")["figures.md"]
    assert made.startswith("head\n")
    assert made.endswith("foot\n")
    for line in ("| date | 2026-01-02 |", "| processors | 2 |", "| JDK | 17 |", "| Redisson, p50 | not measured | |"):
        assert line in made.splitlines()


def test_what_is_described_of_a_machine() -> None:
    bench = SimpleNamespace(root=ROOT, build_directory=ROOT / "build", server=SimpleNamespace(version=(7, 0, 15)))
    described = describe_machine(cast(Bench, bench))
    assert set(page.MACHINE) <= set(described)
    assert described["server"] == "7.0.15"
    assert described["redlatch"] in (ROOT / "core" / "include" / "redlatch.h").read_text(encoding="utf-8")
    for name in ("processor", "hiredis", "openssl"):
        assert described[name] != UNKNOWN, name


def test_a_peer_that_is_faster_is_named(run: Dict[str, Any]) -> None:
    assert page.lost(run["scenarios"][0]) == ["- P6, p50: bare hiredis 0.20 ms, redlatch 0.30 ms"]


@pytest.mark.parametrize("which", ["run", "newest"])
def test_a_run_beside_itself_differs_in_nothing(which: str, request: pytest.FixtureRequest) -> None:
    found = request.getfixturevalue(which)
    lines = compare(found, found)
    assert lines
    assert all(line.endswith(("1.00x", " -")) for line in lines)


def test_a_change_beyond_all_rounds_is_called_so(run: Dict[str, Any]) -> None:
    later = copy.deepcopy(run)
    changed = next(each for each in later["scenarios"][0]["rows"] if each["label"] == "redlatch, p50")
    for key in ("median", "lowest", "highest"):
        changed[key] *= 3
    later["machine"]["cpus"] = 64
    lines = compare(run, later)
    assert "cpus: 2 then, 64 now" in lines
    higher = [line for line in lines if line.endswith("higher")]
    assert len(higher) == 1
    assert "redlatch, p50" in higher[0]
    assert "3.00x" in higher[0]

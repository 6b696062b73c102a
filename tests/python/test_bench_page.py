# SPDX-License-Identifier: Apache-2.0
"""The page of figures is what the newest record of the tree makes, and a comparison of two runs says what differs."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any, Dict

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bench"))

from harness import page  # noqa: E402
from harness.compare import compare  # noqa: E402

PROOF = ROOT / "docs" / "proof"


@pytest.fixture
def run() -> Dict[str, Any]:
    """The newest record."""
    found: Dict[str, Any] = json.loads(page.newest(ROOT).read_text(encoding="utf-8"))
    return found


def row(run: Dict[str, Any], scenario: str, label: str) -> Dict[str, Any]:
    """A row of a run."""
    rows = next(each["rows"] for each in run["scenarios"] if each["name"] == scenario)
    found: Dict[str, Any] = next(each for each in rows if each["label"] == label)
    return found


def test_the_page_is_of_the_newest_record(run: Dict[str, Any]) -> None:
    source = page.newest(ROOT).relative_to(ROOT).as_posix()
    before = (PROOF / "figures.md").read_text(encoding="utf-8")
    made = page.pages(run, source, before)
    assert {path.name for path in PROOF.glob(page.CHARTS)} <= set(made)
    for name, text in made.items():
        assert (PROOF / name).read_text(encoding="utf-8") == text, f"{name}: ./dev bench --page makes it anew"


def test_a_page_without_marks_is_refused(run: Dict[str, Any]) -> None:
    with pytest.raises(SystemExit, match="expected the marks"):
        page.pages(run, "x", "# Figures\n")


def test_a_peer_that_is_faster_is_named(run: Dict[str, Any]) -> None:
    hand_offs = next(each for each in run["scenarios"] if each["name"] == "P6")
    assert any("p50: bare hiredis 0.18 ms, redlatch 0.28 ms" in line for line in page.lost(hand_offs))
    assert not any("redis-py" in line for line in page.lost(hand_offs))  # which is slower


def test_a_run_beside_itself_differs_in_nothing(run: Dict[str, Any]) -> None:
    lines = compare(run, run)
    assert lines
    assert all(line.endswith("1.00x") for line in lines)


def test_a_change_beyond_all_rounds_is_called_so(run: Dict[str, Any]) -> None:
    later = copy.deepcopy(run)
    for key in ("median", "lowest", "highest"):
        row(later, "P6", "redlatch, p50")[key] *= 3
    later["machine"]["cpus"] = 64
    lines = compare(run, later)
    assert "cpus: 2 then, 64 now" in lines
    changed = [line for line in lines if line.endswith("higher")]
    assert len(changed) == 1
    assert "redlatch, p50" in changed[0]
    assert "3.00x" in changed[0]

# SPDX-License-Identifier: Apache-2.0
"""Checks that the traces and tests that pages name exist, and that docs/proof/redisson.md has a row for each of
Redisson's tests and weaknesses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import List, Tuple

TESTS = Path(__file__).resolve().parents[1]
DOCS = TESTS.parent / "docs"
PAGE = DOCS / "proof" / "redisson.md"
ROW = re.compile(r"^\| (?P<test>(?!test of Redisson)[^|]+) \| (?P<mark>[Cc-]) \| (?P<ours>.*) \|$")
WEAKNESS = re.compile(r"^\| W-(?P<number>\d+) .+? \| (?P<ours>.*) \|$")
# The wire format, or a peer that keeps to it, forces a part of these weaknesses on redlatch, and nothing of the others.
FORCED = {8, 9, 12, 14, 16, 22, 28}
NAMED = re.compile(r"`([^`]+)`")
NAMED_TEST = re.compile(r"`([^`\s]+::[^`]+)`")


def rows() -> List[Tuple[str, str, str]]:
    """Returns Redisson's test, its mark, and redlatch's cell of each row."""
    found = map(ROW.match, PAGE.read_text(encoding="utf-8").splitlines())
    return [(row["test"], row["mark"], row["ours"]) for row in found if row]


def weaknesses() -> List[Tuple[int, str]]:
    """Returns the number of each weakness, and redlatch's cell."""
    found = map(WEAKNESS.match, PAGE.read_text(encoding="utf-8").splitlines())
    return [(int(row["number"]), row["ours"]) for row in found if row]


def exists(named: str) -> bool:
    """Returns whether a trace exists, or a test written as file::function."""
    path, _, function = named.partition("::")
    file = TESTS / path
    return file.is_file() and (not function or f"def {function}(" in file.read_text(encoding="utf-8"))


def test_what_is_named_exists() -> None:
    """Checks every trace and every test function, including those named on other pages."""
    cells = [ours for _, _, ours in rows()] + [ours for _, ours in weaknesses()]
    named = [name for ours in cells for name in NAMED.findall(ours)]
    for page in [TESTS / "README.md", *DOCS.rglob("*.md")]:
        named += NAMED_TEST.findall(page.read_text(encoding="utf-8"))
    assert len(named) > 20
    assert [name for name in named if not exists(name)] == []


def test_every_row_says_something() -> None:
    """A row names a test. Unless it is marked C, it may say instead why it is left out."""
    assert len(rows()) > 200
    unnamed = [(test, ours) for test, _, ours in rows() if not NAMED.search(ours)]
    assert [test for test, ours in unnamed if not ours.startswith("left out: ")] == []
    assert [test for test, mark, ours in rows() if mark == "C" and ours.startswith("left out")] == []


def test_every_weakness_has_a_test() -> None:
    """All 28 weaknesses have a test that shows that redlatch does not have them. What the format forces is stated in
    the row."""
    assert [number for number, _ in weaknesses()] == list(range(1, 29))
    assert [number for number, ours in weaknesses() if not NAMED.search(ours)] == []
    assert {number for number, ours in weaknesses() if "forced:" in ours} == FORCED

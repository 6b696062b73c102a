"""Checks that every test exists that a page cites as `FOLDER/FILE::NAME` below tests/.

SPDX-License-Identifier: Apache-2.0
"""

import re
from pathlib import Path
from typing import List

from tree import complaint, files, lines

CITED = re.compile(r"`((?:tests/)?[\w/]+\.(?:py|c|lua))::(\w+)`")


def what_is_wrong(root: Path, file: str, name: str) -> str:
    """Returns why a citation is wrong, or "" if it names a test."""
    path = root / "tests" / file.removeprefix("tests/")
    if not path.is_file():
        return f"there is no {path.relative_to(root)}"
    if not re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")):
        return f"{path.relative_to(root)} has no {name}"
    return ""


def check(root: Path) -> List[str]:
    """Returns all complaints about tests that pages cite."""
    complaints: List[str] = []
    for page in files(root, [".md"]):
        for number, line in lines(page):
            for file, name in CITED.findall(line):
                wrong = what_is_wrong(root, file, name)
                if wrong:
                    complaints.append(complaint(root, page, number, f"cites {file}::{name}: {wrong}"))
    return complaints

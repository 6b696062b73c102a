"""Every test that a page cites, as `FOLDER/FILE::NAME` below tests/, is there.

SPDX-License-Identifier: Apache-2.0
"""

import re
from pathlib import Path
from typing import List

from tree import complaint, files, lines

CITED = re.compile(r"`((?:tests/)?[\w/]+\.(?:py|c|lua))::(\w+)`")


def what_is_wrong(root: Path, file: str, name: str) -> str:
    """Why a citation leads nowhere; empty if it leads to a test."""
    path = root / "tests" / file.removeprefix("tests/")
    if not path.is_file():
        return f"there is no {path.relative_to(root)}"
    if not re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")):
        return f"{path.relative_to(root)} has no {name}"
    return ""


def check(root: Path) -> List[str]:
    """All complaints about tests that pages cite."""
    complaints: List[str] = []
    for page in files(root, [".md"]):
        for number, line in lines(page):
            for file, name in CITED.findall(line):
                wrong = what_is_wrong(root, file, name)
                if wrong:
                    complaints.append(complaint(root, page, number, f"cites {file}::{name}: {wrong}"))
    return complaints

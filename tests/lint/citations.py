"""Every citation of the wire format resolves: "wire format 2.9" to a heading of docs/reference/wire-format.md, and in
the product "W-14" to a row of its table of differences.

SPDX-License-Identifier: Apache-2.0
"""

import re
from pathlib import Path
from typing import List

from tree import complaint, files

PAGE = "docs/reference/wire-format.md"
SOURCES = [".c", ".h", ".py", ".pyi", ".lua", ".cmake", ".i", ".md"]
PRODUCT = ("core", "bindings", "python", "lua-rock")
# A line may end within a citation, and the next one begin with the mark of a comment.
CITED = re.compile(r"wire[\s*#/-]+format[\s*#/-]+(\d+(?:\.\d+)?(?:,[\s*#/-]+\d+\.\d+)*)", re.IGNORECASE)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
DIFFERENCE = re.compile(r"\bW-\d+\b")


def check(root: Path) -> List[str]:
    """All citations that lead nowhere."""
    page = root / PAGE
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    headings = set(re.findall(r"^#+ (\d+(?:\.\d+)?)\.? ", text, re.MULTILINE))
    differences = set(re.findall(r"^\| (W-\d+) \|", text, re.MULTILINE))
    complaints = []
    for path in files(root, SOURCES):
        source = path.read_text(encoding="utf-8", errors="replace")
        for found in CITED.finditer(source):
            for number in NUMBER.findall(found[1]):
                if number not in headings:
                    line = source.count("\n", 0, found.start()) + 1
                    complaints.append(complaint(root, path, line, f"wire format {number} is no heading of {PAGE}"))
        if path.relative_to(root).parts[0] in PRODUCT:
            for found in DIFFERENCE.finditer(source):
                if found[0] not in differences:
                    line = source.count("\n", 0, found.start()) + 1
                    complaints.append(complaint(root, path, line, f"{found[0]} is no row of a table in {PAGE}"))
    return complaints

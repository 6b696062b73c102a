"""Checks that every source file has its licence line near its top, and no marker of unfinished work.

SPDX-License-Identifier: Apache-2.0
"""

import re
from pathlib import Path
from typing import List

from tree import complaint, files, lines

LICENCED = [".c", ".h", ".def", ".py", ".pyi", ".lua", ".sh", ".cmake", ".map", ".i", ".in", "dev", "run",
            "CMakeLists.txt", ".java", ".go", ".mjs"]
NO_TEXT_OF_OURS = {"redlatch.pc.in"}
LICENCE = "SPDX-License-Identifier: Apache-2.0"
LICENCE_LINE = re.compile(rf"\W*{re.escape(LICENCE)}\W*$")
HEAD_LINES = 40
# In pieces, so that this file has no marker itself.
UNFINISHED = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]) + r")\b")


def check(root: Path) -> List[str]:
    """Returns all complaints about licence lines and markers."""
    complaints = []
    for path in files(root, LICENCED):
        head = [line for number, line in lines(path) if number <= HEAD_LINES]
        if path.name not in NO_TEXT_OF_OURS and head and not any(LICENCE_LINE.match(line) for line in head):
            complaints.append(complaint(root, path, 1, f"expected a line '{LICENCE}' in the first {HEAD_LINES}"))
    for path in files(root, [*LICENCED, ".md", ".toml"]):
        for number, line in lines(path):
            if UNFINISHED.search(line):
                complaints.append(complaint(root, path, number, "a marker of something that is not done"))
    return complaints

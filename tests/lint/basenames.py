"""Checks that the name of a C or Lua file says which file is meant, without its folder. Python's modules are named with
their packages, and the programs of examples/ stand alone.

SPDX-License-Identifier: Apache-2.0
"""

from pathlib import Path
from typing import Dict, List

from tree import complaint, files

NAMED_ALONE = [".c", ".h", ".def", ".lua"]


def check(root: Path) -> List[str]:
    """Returns all complaints about names that two files have."""
    complaints = []
    first: Dict[str, Path] = {}
    for path in files(root, NAMED_ALONE):
        if path.is_relative_to(root / "examples"):
            continue
        other = first.setdefault(path.name, path)
        if other != path:
            complaints.append(complaint(root, path, 1, f"has the name of {other.relative_to(root)}"))
    return complaints

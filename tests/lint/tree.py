"""The project's files as the lint rules see them, and the format of a complaint.

SPDX-License-Identifier: Apache-2.0
"""

import os
from pathlib import Path
from typing import Iterator, List, Sequence, Tuple

# Made by tools, or written by others.
LEFT_OUT = {"build", "build.luarocks", "dist", ".git", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache",
            ".venv"}


def files(root: Path, suffixes: Sequence[str]) -> List[Path]:
    """Returns all files below `root` with one of the suffixes or whole names (such as "dev"), sorted."""
    found: List[Path] = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in LEFT_OUT and not name.endswith(".egg-info")]
        found.extend(Path(folder) / name for name in names if Path(name).suffix in suffixes or name in suffixes)
    return sorted(found)


def lines(path: Path) -> Iterator[Tuple[int, str]]:
    """Returns the lines of a file with their numbers, from 1."""
    return enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)


def complaint(root: Path, path: Path, number: int, text: str) -> str:
    """Returns a complaint in the format that editors can jump to."""
    return f"{path.relative_to(root)}:{number}: {text}"

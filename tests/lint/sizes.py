"""Checks how long files, lines and Python functions are. For functions in C, clang-tidy does.

SPDX-License-Identifier: Apache-2.0
"""

import ast
from pathlib import Path
from typing import List

from tree import complaint, files, lines

FILE_LINES = 600
FUNCTION_LINES = 70
COLUMNS = 120
SOURCES = [".c", ".h", ".def", ".py", ".lua", ".sh", ".cmake", ".i", "dev", "run", "CMakeLists.txt", ".toml",
           ".java", ".go", ".mjs", ".1"]


def check(root: Path) -> List[str]:
    """Returns all complaints about sizes."""
    complaints = []
    for path in files(root, SOURCES):
        last = 0
        for last, line in lines(path):
            if len(line) > COLUMNS:
                complaints.append(complaint(root, path, last, f"{len(line)} columns; expected at most {COLUMNS}"))
        if last > FILE_LINES:
            complaints.append(complaint(root, path, last, f"{last} lines; expected at most {FILE_LINES}"))
        if path.suffix == ".py":
            complaints.extend(long_functions(root, path))
    return complaints


def long_functions(root: Path, path: Path) -> List[str]:
    """Returns complaints about the functions of one Python file."""
    complaints = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno is not None:
            length = node.end_lineno - node.lineno + 1
            if length > FUNCTION_LINES:
                complaints.append(complaint(root, path, node.lineno,
                                            f"{node.name} has {length} lines; expected at most {FUNCTION_LINES}"))
    return complaints

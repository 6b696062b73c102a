"""Checks that the retired words of the glossary's last tables do not come back, as parts of names and in prose.

Underscores and capitals separate the parts of a name. Strings and comments are checked only for prose.
SPDX-License-Identifier: Apache-2.0
"""

import re
from pathlib import Path
from typing import Dict, List, NamedTuple, Pattern, Set, Tuple

from tree import complaint, files

GLOSSARY = "docs/internals/glossary.md"
CODE = [".c", ".h", ".def", ".i", ".py", ".pyi", ".lua"]
FOLDERS = ("core", "bindings", "python", "lua-rock", "tests")
PAGES = ("core", "bindings", "python", "lua-rock", "docs", "tests", "examples", "README.md")
LINT = ("tests/lint/words.py", "tests/lint/rules.py")  # contain the words themselves

C_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
PYTHON_TEXT = re.compile(r'""".*?"""|#[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
LUA_TEXT = re.compile(r'--\[\[.*?\]\]|--[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
NAME = re.compile(r"[A-Za-z_]\w*")
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
STARS = {"**": ".*", "*": "[^/]*"}


class Retired(NamedTuple):
    """A row of the glossary: the files in which its words may not be part of a name, and the names that may stay."""

    instead: str
    where: List[Pattern[str]]
    kept: Set[str]


def rows(root: Path, heading: str) -> List[List[str]]:
    """Returns the rows of the table with that first column."""
    page = root / GLOSSARY
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    found = re.search(rf"^\| {heading} \|.*\n\|[-| ]+\n((?:\|.*\n)*)", text, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in found[1].splitlines()] if found else []


def listed(cell: str) -> List[str]:
    """Returns the items of a cell, separated by commas."""
    return [item.strip() for item in cell.split(",") if item.strip()]


def pattern(glob: str) -> Pattern[str]:
    """Returns a glob as a regular expression: ** crosses folders."""
    parts = re.split(r"(\*\*|\*)", glob)
    return re.compile("".join(STARS.get(part) or re.escape(part) for part in parts) + "$")


def retired(root: Path) -> Dict[str, Retired]:
    """Returns each retired word with its row."""
    found = {}
    for words, instead, where, kept in rows(root, "retired"):
        row = Retired(instead, [pattern(glob) for glob in listed(where)], set(listed(kept)))
        found.update({word: row for word in listed(words)})
    return found


def split(path: Path, text: str) -> Tuple[str, str]:
    """Returns the code and the prose of a source, each on its original lines."""
    texts = {".py": PYTHON_TEXT, ".pyi": PYTHON_TEXT, ".lua": LUA_TEXT}.get(path.suffix, C_TEXT)
    blank = re.compile(r"[^\n]")
    code = texts.sub(lambda match: blank.sub(" ", match[0]), text)
    prose = "".join(" " if code[at] == letter != "\n" else letter for at, letter in enumerate(text))
    return code, prose


def check_names(root: Path, path: Path, code: str, words: Dict[str, Retired]) -> List[str]:
    """Returns complaints about the names of a source that contain a retired word, each name once."""
    name_of_file = path.relative_to(root).as_posix()
    here = {word: row for word, row in words.items()
            if not row.where or any(glob.match(name_of_file) for glob in row.where)}
    complaints, seen = [], set()
    for match in NAME.finditer(code):
        name = match[0]
        if name in seen:
            continue
        seen.add(name)
        for word in sorted({part.lower() for part in PART.findall(name)} & here.keys()):
            if name not in here[word].kept:
                number = code.count("\n", 0, match.start()) + 1
                complaints.append(complaint(root, path, number, f"{name}: '{word}' is retired; {GLOSSARY} has"
                                            f" {here[word].instead or 'no word'} instead"))
    return complaints


def check(root: Path) -> List[str]:
    """Returns all complaints about retired words."""
    words = retired(root)
    phrases = [(re.compile(rf"\b{phrase}\b", re.IGNORECASE), instead)
               for phrase, instead in rows(root, "not in prose")]
    complaints: List[str] = []
    for path in files(root, [*CODE, ".md"]):
        name = path.relative_to(root).as_posix()
        if name in (*LINT, GLOSSARY) or not name.startswith((*FOLDERS, *PAGES)):
            continue
        text = path.read_text(encoding="utf-8")
        code, prose = split(path, text) if path.suffix != ".md" else ("", text)
        if name.startswith(FOLDERS):
            complaints.extend(check_names(root, path, code, words))
        for phrase, instead in phrases if name.startswith(PAGES) else []:
            complaints.extend(complaint(root, path, prose.count("\n", 0, match.start()) + 1,
                                        f"'{match[0]}' is no word of the glossary; {instead} is")
                              for match in phrase.finditer(prose))
    return complaints

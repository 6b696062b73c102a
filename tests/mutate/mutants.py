"""A mutant is one mistake in one file. Its key consists of the code's text, so it stays the same when code moves.

SPDX-License-Identifier: Apache-2.0
"""

import re
from collections import Counter
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple

import operators
import shape_c
import shape_lua
import shape_python
import statements
from areas import AREAS, files, language
from edits import Edit
from lexer import C, LUA, PYTHON
from source import Source

PARSERS = {C: shape_c.parse, LUA: shape_lua.parse, PYTHON: shape_python.parse}


class Mutant(NamedTuple):
    """One edit of one file. `before` and `after` are the lines that it changes, with single blanks."""

    area: str
    path: str
    function: str
    edit: Edit
    line: int
    before: str
    after: str
    number: int  # among mutants that are otherwise the same

    @property
    def place(self) -> str:
        """The area. For Python, also the package below `redlatch`, since packages have classes of the same names."""
        packages = Path(self.path).parts[2:-1] if self.path.endswith(".py") else ()
        return "/".join([self.area, *packages])

    @property
    def key(self) -> str:
        """The key in the records of a run and in the list of equivalent mutants."""
        words = [self.place, self.function, self.edit.operator, self.before, self.after]
        return "\n".join(words + ([str(self.number)] if self.number else []))


def families(root: Path) -> List[List[str]]:
    """Returns the members of the headers' enumerations. One member is replaced by another of the same enumeration."""
    found: List[List[str]] = []
    for header in sorted((root / "core").rglob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.DOTALL)
        for body in re.findall(r"\benum\s+\w+\s*\{(.*?)\}", text, re.DOTALL):
            names = re.findall(r"(?:^|,)\s*([A-Z][A-Z0-9_]*)", body)
            if len(names) > 1:
                found.append(names)
    return found


def edits(source: Source, enumerations: List[List[str]]) -> Iterator[Edit]:
    """Yields all edits that the operators make in a file."""
    yield from operators.comparison(source)
    yield from operators.condition(source)
    yield from operators.number(source)
    yield from operators.arithmetic(source)
    yield from operators.flag(source)
    yield from operators.status(source, enumerations)
    yield from operators.message(source)
    yield from statements.drop(source)
    yield from statements.order(source)
    yield from statements.returned(source)


def untouched(source: Source) -> "List[tuple[int, int]]":
    """Returns the spans of the text that no edit may overlap."""
    return [(source.tokens[i].start, source.tokens[i].end) for i in sorted(source.untouched)]


def one_line(text: str) -> str:
    """Returns a text with single blanks."""
    return " ".join(text.split())


def mutants_of(text: str, path: Path, area: str, enumerations: List[List[str]]) -> Iterator[Mutant]:
    """Yields all mutants of one file."""
    source = PARSERS[language(path)](text)
    spared = untouched(source)
    counts: Counter[str] = Counter()
    for edit in edits(source, enumerations):
        inside = any(edit.start >= start and edit.end <= end for start, end in spared)
        if inside or text[edit.start:edit.end] == edit.text:
            continue
        begin = text.rfind("\n", 0, edit.start) + 1
        stop = text.find("\n", edit.end)
        stop = len(text) if stop < 0 else stop
        before = one_line(text[begin:stop])
        after = one_line(text[begin:edit.start] + edit.text + text[edit.end:stop])
        function = source.function_of(edit.start) or path.stem
        mutant = Mutant(area, str(path), function, edit, text.count("\n", 0, edit.start) + 1, before, after, 0)
        number = counts[mutant.key]
        counts[mutant.key] += 1
        yield mutant._replace(number=number)


def all_mutants(root: Path, wanted_areas: List[str], globs: List[str]) -> Dict[str, List[Mutant]]:
    """Returns all mutants of the areas' files."""
    enumerations = families(root)
    found: Dict[str, List[Mutant]] = {}
    for area in wanted_areas or list(AREAS):
        found[area] = []
        for path in files(root, area, globs):
            text = (root / path).read_text(encoding="utf-8")
            found[area].extend(mutants_of(text, path, area, enumerations))
    return found

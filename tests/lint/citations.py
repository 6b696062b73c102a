"""Checks that each citation of the wire format, by a section or a difference, is in the specification.

A citation is "wire format 2.9", also in lists ("wire format 2.1, 1.6") and across the end of a line. A difference from
Redisson is cited anywhere as "W-" and its number. On the pages of the specification "section 2.9" is a citation, too.
SPDX-License-Identifier: Apache-2.0
"""

import bisect
import re
from pathlib import Path
from typing import Dict, List, Set, Tuple

from tree import complaint, files, lines

PAGE = "docs/reference/wire-format.md"
CITING = [".c", ".h", ".def", ".py", ".pyi", ".lua", ".sh", ".cmake", ".i", ".in", ".java", ".go", ".mjs", ".json",
          ".md", "dev", "run", "CMakeLists.txt"]
LINT = "tests/lint"  # its sources contain wrong examples

HEADING = re.compile(r"#{1,6} (\d+(?:\.\d+)*)\.? ")
DIFFERENCE_ROW = re.compile(r"\| (W-\d+) ")
COMMENT_LEADER = re.compile(r"^\s*(?:/\*+|\*/?|//+|--+|#+)?\s*")
SECTION = r"\d+(?:\.\d+)+"
LIST = rf"(?:\d+(?:\.\d+)*|W-\d+)(?:(?:, | and | to |, and )(?:{SECTION}|W-\d+))*"
IN_SOURCES = re.compile(rf"\bwire[- ]format(?:\.md)?,? (?:sections? )?({LIST})", re.IGNORECASE)
ON_PAGES = re.compile(rf"\b(?:sections?|chapters?) ({LIST})", re.IGNORECASE)
DIFFERENCE = re.compile(r"\bW-\d+\b")
NUMBER = re.compile(r"W-\d+|\d+(?:\.\d+)*")


def pages(root: Path) -> List[Path]:
    """Returns the pages of the specification: one page, and those of a folder with its name if there is one."""
    page = root / PAGE
    return [path for path in [page, *files(page.with_suffix(""), [".md"])] if path.is_file()]


def headings(root: Path) -> Set[str]:
    """Returns the numbers of all headings and of all rows of differences."""
    found: Set[str] = set()
    for page in pages(root):
        for _, line in lines(page):
            match = HEADING.match(line) or DIFFERENCE_ROW.match(line)
            if match:
                found.add(match[1])
    return found


def citations(path: Path, form: "re.Pattern[str]") -> List[Tuple[int, str]]:
    """Returns the citations of a file, each with the line on which it begins. Lines are joined without comment markers,
    since a citation may go on in the next line."""
    text, starts, numbers = "", [], []
    for number, line in lines(path):
        starts.append(len(text))
        numbers.append(number)
        text += COMMENT_LEADER.sub("", line).rstrip() + " "
    found: Dict[Tuple[int, str], None] = {}
    for match in form.finditer(text):
        for cited in NUMBER.findall(match[1] if form.groups else match[0]):
            found[numbers[bisect.bisect_right(starts, match.start()) - 1], cited] = None
    return list(found)


def in_order(numbers: Set[str]) -> List[str]:
    """Returns sections in their order, then differences."""
    return sorted(numbers, key=lambda number: (number[0] == "W", [int(part) for part in re.findall(r"\d+", number)]))


def check(root: Path) -> List[str]:
    """Returns all complaints about citations that the specification does not have."""
    known = headings(root)
    has = ", ".join(in_order(known)) or "no headings"
    of_the_format = set(pages(root))
    complaints: List[str] = []
    for path in files(root, CITING):
        if path.parent == root / LINT:
            continue
        forms = [IN_SOURCES, DIFFERENCE] + ([ON_PAGES] if path in of_the_format else [])
        cited = sorted({citation for form in forms for citation in citations(path, form)})
        complaints.extend(complaint(root, path, number, f"cites wire format {name}; {PAGE} has {has}")
                          for number, name in cited if name not in known)
    return complaints

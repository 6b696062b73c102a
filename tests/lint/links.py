"""Checks that every link on a page leads to a file of the tree, and to a heading if it names one. Every page of docs/
that a source names must exist, and every page must be in the list of the site's pages.

SPDX-License-Identifier: Apache-2.0
"""

import re
from pathlib import Path
from typing import List, Set

from tree import complaint, files, lines

NAMING = [".c", ".h", ".def", ".py", ".pyi", ".lua", ".sh", ".cmake", ".i", ".md", "dev", "run", "CMakeLists.txt"]
LINT = "tests/lint"  # its sources contain wrong examples

SITE = "site/mkdocs.yml"

LINK = re.compile(r"\]\(([^)\s]+)\)")
NAMED = re.compile(r"(?<![\w/])docs/[\w/-]+\.md")
HEADING = re.compile(r"#{1,6} (.+)")
MARKUP = re.compile(r"`|\[([^\]]*)\]\([^)]*\)")


def anchors(page: Path) -> Set[str]:
    """Returns the anchors of a page's headings, as GitHub derives them."""
    found: Set[str] = set()
    fenced = False
    for _, line in lines(page):
        fenced ^= line.startswith("```")
        heading = None if fenced else HEADING.match(line)
        if heading:
            words = MARKUP.sub(r"\1", heading[1]).strip().lower()
            found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return found


def what_is_wrong(root: Path, page: Path, target: str) -> str:
    """Returns why a link is wrong, or "" if it is right."""
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.exists():
        return f"the link to {target}: there is no {path}"
    if root.resolve() not in [file.resolve(), *file.resolve().parents]:
        return f"the link to {target} leads out of the tree"
    if anchor and anchor not in anchors(file):
        return f"the link to {target}: expected one of the anchors {', '.join(sorted(anchors(file)))}"
    return ""


def not_on_the_site(root: Path) -> List[str]:
    """Returns complaints about pages that the site neither lists nor excludes by a line such as "
    /internals/decisions/"."""
    site = root / SITE
    listed = site.read_text(encoding="utf-8") if site.is_file() else ""
    left_out = tuple(line.strip()[1:] for line in listed.splitlines() if re.fullmatch(r" +/.*/", line))
    pages = [(page, page.relative_to(root / "docs").as_posix()) for page in files(root / "docs", [".md"])]
    return [complaint(root, page, 1, f"is not in {SITE}") for page, name in pages
            if not name.startswith(left_out) and not re.search(rf"[ ]{re.escape(name)}$", listed, re.MULTILINE)]


def check(root: Path) -> List[str]:
    """Returns all complaints about links and about names of pages."""
    complaints = not_on_the_site(root)
    for page in files(root, [".md"]):
        fenced = False
        for number, line in lines(page):
            fenced ^= line.startswith("```")
            targets = [] if fenced else [target for target in LINK.findall(line) if "://" not in target]
            wrong = filter(None, (what_is_wrong(root, page, target) for target in targets))
            complaints.extend(complaint(root, page, number, text) for text in wrong)
    for path in files(root, NAMING):
        if path.parent != root / LINT:
            complaints.extend(complaint(root, path, number, f"names {named}, which is not there")
                              for number, line in lines(path) for named in NAMED.findall(line)
                              if not (root / named).exists())
    return complaints

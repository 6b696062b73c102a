# SPDX-License-Identifier: Apache-2.0
"""Adds files of the tree to the site: those outside docs/ that its pages link to, and those that these link to.

A page of docs/ has the same path on the site, without `docs/`. Another file `c/d` has the page `tree/c/d.md`: Markdown
as it is, any other file as a block of code, a folder as a list of its files.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any, Callable, List

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
FENCE = re.compile(r"^(```.*?^```$)", re.DOTALL | re.MULTILINE)
LANGUAGES = {".c": "c", ".h": "c", ".py": "python", ".lua": "lua", ".sh": "bash", ".json": "json", ".conf": "nginx",
             ".def": "c", ".cmake": "cmake", ".java": "java", ".xml": "xml", ".mjs": "javascript", ".go": "go"}
MOST_LINES = 700  # of a file that is shown; longer ones are records of tests
HEADERS = "core/include/"  # shown by the reference of C


def slug(heading: str, separator: str) -> str:
    """Returns the anchor of a heading, as GitHub and tests/lint/links.py derive it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def page_of(path: str) -> str:
    """Returns the site's page of a file or folder of the tree."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.startswith(HEADERS):
        return "reference/api/c.md"
    path = readme_of(path)
    if (ROOT / path).is_dir():
        return f"tree/{path}/files.md"
    return f"tree/{path}" if path.endswith(".md") else f"tree/{path}.md"


def replaced(path: str, text: str, replace: Callable[[str], str]) -> str:
    """Returns a page's text with other targets for its links to files. `replace` gets a path from the top of the
    tree."""
    def one(match: re.Match[str]) -> str:
        if "://" in match[2] or match[2].startswith("mailto:"):
            return match[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), match[2]))
        return match[1] + replace(target) + match[3]

    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(one, part) for part in parts)


def shown(path: str) -> str:
    """Returns the page of a path outside docs/, with its original links."""
    file = ROOT / path
    if path.endswith(".md"):
        return file.read_text(encoding="utf-8")
    if file.is_dir():
        names = sorted(each.name for each in file.iterdir() if not each.name.startswith((".", "__")))
        return f"# {path}\n\n" + "\n".join(f"- `{name}`" for name in names) + "\n"
    text = file.read_text(encoding="utf-8")
    if text.count("\n") > MOST_LINES:
        return f"# {path}\n\nThis file of the source tree has {text.count(chr(10))} lines and is not shown here.\n"
    return f"# {path}\n\n````{LANGUAGES.get(file.suffix, 'text')}\n{text}````\n"


def targets(path: str, text: str) -> List[str]:
    """Returns the existing files and folders that a page links to."""
    found: List[str] = []
    replaced(path, text, lambda target: found.append(target) or "")  # type: ignore[func-returns-value]
    return [readme_of(target) for target in found if (ROOT / target).exists()]


def readme_of(path: str) -> str:
    """Returns the README of a folder that has one; any other path unchanged."""
    return f"{path}/README.md" if (ROOT / path / "README.md").is_file() else path


def on_files(files: Any, config: Any) -> Any:
    """Adds the linked files as pages, and the files that they link to."""
    waiting = [f"docs/{file.src_uri}" for file in files if file.src_uri.endswith(".md")]
    reached = set(waiting)
    while waiting:
        path = waiting.pop()
        text = shown(path)
        if not path.startswith("docs/"):
            files.append(File.generated(config, page_of(path), content=text))
        for target in targets(path, text) if path.endswith(".md") else []:
            if target not in reached and not target.startswith((HEADERS, "docs/")):
                reached.add(target)
                waiting.append(target)
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replaces the links by links to the site's pages."""
    uri = page.file.src_uri
    if uri.startswith("tree/"):
        path = uri.removeprefix("tree/")
        if not (ROOT / path).is_file() or not path.endswith(".md"):
            return markdown
    else:
        path = f"docs/{uri}"
    here = posixpath.dirname(uri)
    return replaced(path, markdown, lambda target: posixpath.relpath(page_of(target), here or "."))

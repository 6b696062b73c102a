# SPDX-License-Identifier: Apache-2.0
"""Shows the text between `<!-- tabs -->` and `<!-- end of tabs -->` as tabs. Each paragraph that is only a bold title
begins a tab. GitHub shows the same text as titled blocks."""

from __future__ import annotations

import re
from typing import Any

TABS = re.compile(r"^<!-- tabs -->\n(.*?)^<!-- end of tabs -->$", re.DOTALL | re.MULTILINE)
TITLE = re.compile(r"^\*\*([^*\n]+)\*\*\n", re.MULTILINE)


def tabs(match: re.Match[str]) -> str:
    """Returns the matched text in pymdownx.tabbed's format."""
    _, *parts = TITLE.split(match[1])
    shown = []
    for title, text in zip(parts[::2], parts[1::2]):
        body = "\n".join(f"    {line}" if line else "" for line in text.strip("\n").split("\n"))
        shown.append(f'=== "{title}"\n\n{body}\n')
    return "\n".join(shown)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Returns the page with its tabs."""
    return TABS.sub(tabs, markdown)

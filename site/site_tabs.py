# SPDX-License-Identifier: Apache-2.0
"""Tabs: what stands between `<!-- tabs -->` and `<!-- end of tabs -->` on a page is shown as tabs, one for each
paragraph that is a bold title alone. On GitHub the same text is a sequence of titled blocks."""

from __future__ import annotations

import re
from typing import Any

TABS = re.compile(r"^<!-- tabs -->\n(.*?)^<!-- end of tabs -->$", re.DOTALL | re.MULTILINE)
TITLE = re.compile(r"^\*\*([^*\n]+)\*\*\n", re.MULTILINE)


def tabs(match: re.Match[str]) -> str:
    """The same in the words of pymdownx.tabbed."""
    _, *parts = TITLE.split(match[1])
    shown = []
    for title, text in zip(parts[::2], parts[1::2]):
        body = "\n".join(f"    {line}" if line else "" for line in text.strip("\n").split("\n"))
        shown.append(f'=== "{title}"\n\n{body}\n')
    return "\n".join(shown)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page with its tabs."""
    return TABS.sub(tabs, markdown)

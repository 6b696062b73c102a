# SPDX-License-Identifier: Apache-2.0
"""Docstrings as mkdocstrings reads them: an `Example:` is a section of programs, and in sentences a bracket is a
bracket, as in redis://host[:port]."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^(\s*)Example:$", re.MULTILINE)


def as_sections(text: str) -> str:
    """A docstring in the words of mkdocstrings."""
    prose, *examples = EXAMPLE.split(text, maxsplit=1)
    prose = "".join(part if part.startswith("`") else part.replace("[", "\\[")
                    for part in re.split(r"(`[^`]*`)", prose))
    return prose + (f"{examples[0]}Examples:{examples[1]}" if examples else "")


class Sections(griffe.Extension):
    """Rewrites each docstring that has been read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Is called for each module, class, function and attribute."""
        if obj.docstring:
            obj.docstring.value = as_sections(obj.docstring.value)

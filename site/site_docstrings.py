# SPDX-License-Identifier: Apache-2.0
"""Adapts docstrings to mkdocstrings: an `Example:` becomes a section of programs, and brackets in sentences, as in
redis://host[:port], stay brackets."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^(\s*)Example:$", re.MULTILINE)


def as_sections(text: str) -> str:
    """Returns a docstring in mkdocstrings' format."""
    prose, *examples = EXAMPLE.split(text, maxsplit=1)
    prose = "".join(part if part.startswith("`") else part.replace("[", "\\[")
                    for part in re.split(r"(`[^`]*`)", prose))
    return prose + (f"{examples[0]}Examples:{examples[1]}" if examples else "")


class Sections(griffe.Extension):
    """Rewrites each docstring after it was read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each module, class, function and attribute."""
        if obj.docstring:
            obj.docstring.value = as_sections(obj.docstring.value)

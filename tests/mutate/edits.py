"""An edit is the change that an operator makes in a file: it replaces one span of the text.

SPDX-License-Identifier: Apache-2.0
"""

from typing import NamedTuple

from source import Source


class Edit(NamedTuple):
    """Replaces characters [start, end) by `text`; made by the operator of that name."""

    operator: str
    start: int
    end: int
    text: str

    def apply(self, original: str) -> str:
        """Returns the mutated file. It has as many lines as the original, so messages name the same lines."""
        lost = original.count("\n", self.start, self.end) - self.text.count("\n")
        return original[:self.start] + self.text + "\n" * max(lost, 0) + original[self.end:]


def replaced(operator: str, source: Source, first: int, end: int, text: str) -> Edit:
    """Returns an edit that replaces tokens [first, end) by `text`."""
    start, stop = source.span(first, end)
    return Edit(operator, start, stop, text)

"""An edit is what an operator does to a file: one span of the text gets another text.

SPDX-License-Identifier: Apache-2.0
"""

from typing import NamedTuple

from source import Source


class Edit(NamedTuple):
    """Characters [start, end) become `text`, by the operator of that name."""

    operator: str
    start: int
    end: int
    text: str

    def apply(self, original: str) -> str:
        """The mutated file. It has as many lines as the original, so that messages name the same ones."""
        lost = original.count("\n", self.start, self.end) - self.text.count("\n")
        return original[:self.start] + self.text + "\n" * max(lost, 0) + original[self.end:]


def replaced(operator: str, source: Source, first: int, end: int, text: str) -> Edit:
    """Tokens [first, end) become `text`."""
    start, stop = source.span(first, end)
    return Edit(operator, start, stop, text)

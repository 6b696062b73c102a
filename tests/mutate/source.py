"""A file as the mutation operators see it, in any language: tokens, statements, conditions, functions.

SPDX-License-Identifier: Apache-2.0
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Dict, List, NamedTuple, Optional, Set, Tuple

from lexer import C, LUA, NAME, PYTHON, Token

OPENERS = {"(": ")", "[": "]", "{": "}"}
CLOSERS = set(OPENERS.values())

# Kinds of statements.
SIMPLE, RETURN, JUMP, DECLARATION = "simple", "return", "jump", "declaration"


class Statement(NamedTuple):
    """Tokens [first, end) of one statement without a block, and the block that contains it."""

    first: int
    end: int
    kind: str
    block: int


class Words(NamedTuple):
    """The words of a language that operators write."""

    both: str
    either: str
    true: str
    false: str
    nothing: str
    negation: str
    always: str
    no_statement: str
    constant_prefix: str


WORDS: Dict[str, Words] = {
    C: Words("&&", "||", "true", "false", "0", "!({})", "1", "", "REDLATCH_"),
    LUA: Words("and", "or", "true", "false", "nil", "not ({})", "true", "", ""),
    PYTHON: Words("and", "or", "True", "False", "None", "not ({})", "True", "pass", "REDLATCH_"),
}


@dataclass
class Source:
    """One file. No operator may change the tokens in `untouched`: planted faults, assertions, declarations of types."""

    text: str
    language: str
    tokens: List[Token]
    statements: List[Statement] = field(default_factory=list)
    conditions: List[Tuple[int, int]] = field(default_factory=list)
    functions: List[Tuple[int, int, str]] = field(default_factory=list)
    untouched: Set[int] = field(default_factory=set)

    @property
    def words(self) -> Words:
        """The words of the file's language."""
        return WORDS[self.language]

    def span(self, first: int, end: int) -> Tuple[int, int]:
        """Returns the position of tokens [first, end) in the text."""
        return self.tokens[first].start, self.tokens[end - 1].end

    def code(self, first: int, end: int) -> str:
        """Returns the text of tokens [first, end)."""
        start, stop = self.span(first, end)
        return self.text[start:stop]

    def names(self, first: int, end: int) -> Set[str]:
        """Returns the names among tokens [first, end)."""
        return {token.text for token in self.tokens[first:end] if token.kind == NAME}

    def closing(self, opening: int) -> Optional[int]:
        """Returns the token that closes the bracket at `opening`."""
        depth = 0
        for i in range(opening, len(self.tokens)):
            if self.tokens[i].text in OPENERS:
                depth += 1
            elif self.tokens[i].text in CLOSERS:
                depth -= 1
                if depth == 0:
                    return i
        return None

    def leave_alone(self, first: int, end: int) -> None:
        """Marks tokens [first, end) as untouched by all operators."""
        self.untouched.update(range(first, end))

    def function_of(self, position: int) -> str:
        """Returns the innermost function around a position of the text, or "" outside of functions."""
        starts = [start for start, _, _ in self.functions]
        for i in range(bisect_right(starts, position) - 1, -1, -1):
            if self.functions[i][1] > position:
                return self.functions[i][2]
        return ""

    def callee(self, statement: Statement) -> str:
        """Returns the function that a statement calls first, or "" if the statement is no call."""
        name = ""
        for i in range(statement.first, statement.end):
            token = self.tokens[i]
            if token.text == "(":
                return name
            if token.kind == NAME:
                name = token.text
            elif token.text not in (".", ":", "->", "*"):
                return ""
        return ""

    def target(self, statement: Statement) -> str:
        """Returns what a statement assigns to, or "" if it is no assignment."""
        depth = 0
        for i in range(statement.first, statement.end):
            text = self.tokens[i].text
            depth += (text in OPENERS) - (text in CLOSERS)
            if depth == 0 and text in ("=", "+=", "-=", "|=", "&=", "*=", "/="):
                return self.code(statement.first, i) if i > statement.first else ""
        return ""

"""Finds functions, statements and conditions in Lua. It relies on the project's style: a statement begins on a line of
its own.

SPDX-License-Identifier: Apache-2.0
"""

from typing import List, NamedTuple, Optional, Tuple

from lexer import LUA, NAME, OPERATOR, STRING, tokens
from source import CLOSERS, DECLARATION, JUMP, OPENERS, RETURN, SIMPLE, Source, Statement

KEYWORDS = {"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local",
            "nil", "not", "or", "repeat", "return", "then", "true", "until", "while"}
VALUES = {"nil", "true", "false", "not", "function"}
BINARY = {"and", "or", "in", "+", "-", "*", "/", "//", "%", "^", "..", "==", "~=", "<", ">", "<=", ">=", "=", ",", ".",
          ":"}


class Block(NamedTuple):
    """An open block: its position, the word that opened it, the depth of brackets around it, and its function's
    name."""

    opening: int
    word: str
    depth: int
    function: Optional[str]


class Walker:
    """Walks over the tokens once."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.blocks: List[Block] = [Block(0, "file", 0, None)]
        self.depth = 0
        self.loop = False  # after a `for` or `while`, until its `do`
        self.condition: Optional[int] = None

    def starts_line(self, i: int) -> bool:
        """Returns whether only blanks precede a token on its line."""
        begin = self.source.text.rfind("\n", 0, self.source.tokens[i].start) + 1
        return not self.source.text[begin:self.source.tokens[i].start].strip()

    def run(self) -> None:
        """Fills the source."""
        i, count = 0, len(self.source.tokens)
        while i < count:
            token = self.source.tokens[i]
            if token.text in OPENERS and token.kind == OPERATOR:
                self.depth += 1
            elif token.text in CLOSERS and token.kind == OPERATOR:
                self.depth -= 1
            elif token.kind == NAME and token.text in KEYWORDS:
                self.keyword(i, token.text)
            if self.depth == self.blocks[-1].depth and self.begins(i):
                self.statement(i)
            i += 1

    def begins(self, i: int) -> bool:
        """Returns whether a statement without a block begins here."""
        token = self.source.tokens[i]
        before = self.source.tokens[i - 1].text if i else ""
        if token.kind != NAME or before in BINARY or before == ".":
            return False
        if token.text in ("return", "break"):
            return True
        if token.text == "local":
            return self.source.tokens[i + 1].text != "function"
        return token.text not in KEYWORDS and self.starts_line(i)

    def statement(self, first: int) -> None:
        """Adds the statement that begins at `first`."""
        source, depth, nested, i = self.source, 0, 0, first + 1
        while i < len(source.tokens):
            token = source.tokens[i]
            if depth == 0 and nested == 0 and self.ends_before(first, i):
                break
            depth += (token.text in OPENERS) - (token.text in CLOSERS) if token.kind == OPERATOR else 0
            nested += token.text in ("function", "if", "do", "repeat") and token.kind == NAME
            nested -= token.text in ("end", "until") and token.kind == NAME
            if depth < 0 or nested < 0:
                break
            i += 1
        word = source.tokens[first].text
        kind = {"return": RETURN, "break": JUMP, "local": DECLARATION}.get(word, SIMPLE)
        source.statements.append(Statement(first, i, kind, self.blocks[-1].opening))

    def ends_before(self, first: int, i: int) -> bool:
        """Returns whether the statement that begins at `first` ends before token `i`."""
        token, before = self.source.tokens[i], self.source.tokens[i - 1]
        if token.text == ";" or (token.kind == NAME and token.text in KEYWORDS - VALUES - {"and", "or"}):
            return True
        if not self.starts_line(i) or (i == first + 1 and before.text == "return"):
            return False
        return before.text not in BINARY | {"not", "return"} and token.text not in BINARY and token.kind != STRING

    def keyword(self, i: int, word: str) -> None:
        """Opens and closes blocks and conditions."""
        if word == "function":
            self.open(i, word, self.function_name(i))
        elif word in ("if", "repeat") or (word == "do" and not self.loop):
            self.open(i, word, None)
        elif word in ("for", "while"):
            self.loop = True
            self.open(i, word, None)
        elif word == "do":
            self.loop = False
        elif (word == "end" and len(self.blocks) > 1) or (word == "until" and len(self.blocks) > 1):
            self.close(i)
        if word in ("then", "do") and self.condition is not None:
            if i > self.condition:
                self.source.conditions.append((self.condition, i))
            self.condition = None
        if word in ("if", "elseif", "while"):
            self.condition = i + 1

    def open(self, i: int, word: str, function: Optional[str]) -> None:
        """Opens a block."""
        self.blocks.append(Block(i, word, self.depth, function))

    def close(self, i: int) -> None:
        """Closes the innermost block."""
        block = self.blocks.pop()
        if block.function:
            span: Tuple[int, int] = self.source.span(block.opening, i + 1)
            self.source.functions.append((*span, block.function))

    def function_name(self, i: int) -> Optional[str]:
        """Returns the name after `function`, or None if there is none."""
        end = i + 1
        while end < len(self.source.tokens) and self.source.tokens[end].text != "(":
            end += 1
        return self.source.code(i + 1, end) if end > i + 1 else None


def parse(text: str) -> Source:
    """Returns the shape of one Lua file."""
    source = Source(text, LUA, tokens(text, LUA))
    Walker(source).run()
    source.functions.sort()
    return source

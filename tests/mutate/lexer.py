"""Splits C, Lua and Python into tokens. Comments, blanks and directives are not tokens, so no mutant changes them.

SPDX-License-Identifier: Apache-2.0
"""

import re
from typing import Dict, List, NamedTuple

C, LUA, PYTHON = "C", "Lua", "Python"

NAME, NUMBER, STRING, OPERATOR = "name", "number", "string", "operator"


class Token(NamedTuple):
    """A token and its position in the text."""

    kind: str
    text: str
    start: int
    end: int


COMMON = r"(?P<name>[A-Za-z_]\w*)|(?P<number>\d[\w.]*)"
PATTERNS: Dict[str, "re.Pattern[str]"] = {
    C: re.compile(
        r"(?P<skip>/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\n\\]|\\.)*|\s+)"
        r"|(?P<string>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+')|" + COMMON
        + r"|(?P<operator><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|[-+*/%&|^<>=!]=|&&|\|\||.)", re.DOTALL | re.MULTILINE),
    LUA: re.compile(
        r"(?P<skip>--\[(?P<c>=*)\[.*?\](?P=c)\]|--[^\n]*|\s+)"
        r"|(?P<string>\[(?P<s>=*)\[.*?\](?P=s)\]|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')|" + COMMON
        + r"|(?P<operator>\.\.\.|\.\.|[=~<>]=|<<|>>|//|::|.)", re.DOTALL),
    PYTHON: re.compile(
        r"(?P<skip>\#[^\n]*|\\\n|\s+)"
        r"|(?P<string>[A-Za-z]{0,2}(?:\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'))|" + COMMON
        + r"|(?P<operator>\*\*=|//=|>>=|<<=|->|:=|\*\*|//|<<|>>|[-+*/%&|^<>=!@]=|\.\.\.|.)", re.DOTALL),
}


def tokens(text: str, language: str) -> List[Token]:
    """Returns all tokens of a file, in order."""
    found: List[Token] = []
    for match in PATTERNS[language].finditer(text):
        for kind in (NAME, NUMBER, STRING, OPERATOR):
            if match[kind] is not None:
                found.append(Token(kind, match[kind], match.start(kind), match.end(kind)))
                break
    return found

"""The mutation operators that change an expression: comparison, condition, number, unit, arithmetic, status, message.

SPDX-License-Identifier: Apache-2.0
"""

import re
from typing import Dict, Iterator, List, Tuple

from edits import Edit, replaced
from lexer import C, LUA, NAME, NUMBER, OPERATOR, PYTHON, STRING
from source import CLOSERS, OPENERS, Source

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "~=": "=="}
UNITS = {"SECOND": "MILLISECOND", "MILLISECOND": "SECOND"}
FACTORS = {"1000", "1000.0", "1000000", "1e3", "1e6", "1000000000", "1000000L", "1000L"}
BOOLEANS = {"true": "false", "false": "true", "True": "False", "False": "True"}
EXTREMES = {"max": "min", "min": "max"}
# Words of expressions about a time or a duration.
TIME = re.compile(r"ttl|lease|deadline|until|expire|remaining|timeout|patience|margin|_at\b|_ms\b|\bnow\b",
                  re.IGNORECASE)
# Where an operand of `and` and `or` ends.
BOUNDARIES = {",", ";", "?", ":", "=", "+=", "|=", "&=", "return", "if", "elif", "elseif", "while", "then", "do",
              "else", "until", "in", "for", "case", "local", "end", "not", "lambda", "yield", "raise", "assert"}


def comparison(source: Source) -> Iterator[Edit]:
    """A boundary moves by one, or an equality is negated."""
    for i, token in enumerate(source.tokens):
        if token.kind == OPERATOR and token.text in COMPARISONS:
            contrary = COMPARISONS[token.text]
            if token.text == "==" and source.language == LUA:
                contrary = "~="
            yield replaced("comparison", source, i, i + 1, contrary)
        elif token.text == "is" and source.language == PYTHON:
            negated = source.tokens[i + 1].text == "not"
            yield replaced("comparison", source, i, i + 1 + negated, "is" if negated else "is not")


def connectives(source: Source, connective: int) -> Tuple[str, ...]:
    """Returns what separates the operands of the connective: `and` binds more tightly than `or`."""
    words = source.words
    return (words.either,) if source.tokens[connective].text == words.either else (words.both, words.either)


def operand_start(source: Source, connective: int) -> int:
    """Returns the first token of the operand before the connective."""
    depth, i = 0, connective - 1
    while i >= 0:
        token = source.tokens[i]
        depth += (token.text in CLOSERS) - (token.text in OPENERS) if token.kind == OPERATOR else 0
        if depth < 0:
            break
        ends = token.text in BOUNDARIES | {"{", "}"} or token.text in connectives(source, connective)
        if depth == 0 and token.kind in (OPERATOR, NAME) and ends and token.text not in (":", "not"):
            break
        i -= 1
    return i + 1


def operand_end(source: Source, connective: int) -> int:
    """Returns the end of the operand after the connective: the index of the token behind it."""
    depth, i = 0, connective + 1
    while i < len(source.tokens):
        token = source.tokens[i]
        depth += (token.text in OPENERS) - (token.text in CLOSERS) if token.kind == OPERATOR else 0
        ends = token.text in BOUNDARIES - {"not"} or token.text in connectives(source, connective)
        if token.text == ":" and source.language == LUA:
            ends = False
        if depth < 0 or (depth == 0 and token.kind in (OPERATOR, NAME) and ends):
            break
        i += 1
    return i


def condition(source: Source) -> Iterator[Edit]:
    """A condition is negated or always true; an operand of `and` or `or` is dropped."""
    words = source.words
    for first, end in source.conditions:
        if "PLANTED" in source.names(first, end):
            continue
        yield replaced("condition", source, first, end, words.negation.format(source.code(first, end)))
        yield replaced("condition", source, first, end, words.always)
    for i, token in enumerate(source.tokens):
        if token.kind in (OPERATOR, NAME) and token.text in (words.both, words.either):
            first, end = operand_start(source, i), operand_end(source, i)
            if first < i and end > i + 1:
                kept_left, kept_right = source.code(first, i), source.code(i + 1, end)
                yield replaced("condition", source, first, end, kept_left)
                yield replaced("condition", source, first, end, kept_right)


def number(source: Source) -> Iterator[Edit]:
    """A factor between units is dropped, a unit is replaced by another, or a number is one too large."""
    for i, token in enumerate(source.tokens):
        before = source.tokens[i - 1].text if i else ""
        after = source.tokens[i + 1].text if i + 1 < len(source.tokens) else ""
        if token.kind == NAME and token.text in UNITS:
            yield replaced("unit", source, i, i + 1, UNITS[token.text])
        elif token.kind == NUMBER and token.text in FACTORS and ("*" in (before, after) or before in ("/", "//")):
            yield replaced("unit", source, i, i + 1, "1")
        elif token.kind == NUMBER and token.text.isdigit() and not is_size(source, i):
            yield replaced("number", source, i, i + 1, str(int(token.text) + 1))


def is_size(source: Source, i: int) -> bool:
    """Returns whether a number is the size in the declaration of an array."""
    if source.language != C or i < 3 or source.tokens[i - 1].text != "[":
        return False
    return source.tokens[i - 3].kind == NAME or source.tokens[i - 3].text == "*"


def arithmetic(source: Source) -> Iterator[Edit]:
    """Plus and minus are exchanged, or minimum and maximum."""
    for i, token in enumerate(source.tokens):
        if i == 0 or i + 1 == len(source.tokens):
            continue
        before = source.tokens[i - 1]
        around = source.code(max(i - 8, 0), min(i + 9, len(source.tokens)))
        operator = "time" if TIME.search(around) else "arithmetic"
        binary = (before.kind in (NAME, NUMBER) and before.text not in BOUNDARIES) or before.text in (")", "]")
        if token.kind == OPERATOR and token.text in ("+", "-") and binary:
            yield replaced(operator, source, i, i + 1, "-" if token.text == "+" else "+")
        elif token.kind == NAME and token.text in EXTREMES and source.tokens[i + 1].text == "(":
            yield replaced(operator, source, i, i + 1, EXTREMES[token.text])


def flag(source: Source) -> Iterator[Edit]:
    """True and false are exchanged."""
    for i, token in enumerate(source.tokens):
        if token.kind == NAME and token.text in BOOLEANS:
            yield replaced("flag", source, i, i + 1, BOOLEANS[token.text])


def status(source: Source, families: List[List[str]]) -> Iterator[Edit]:
    """A constant of an enumeration is replaced by the next of the same enumeration."""
    following: Dict[str, str] = {}
    prefix = "REDLATCH_" if source.language == LUA else ""  # core.LOST is REDLATCH_LOST
    for family in families:
        for name, other in zip(family, family[1:] + family[:1]):
            if name.startswith(prefix):
                following[name[len(prefix):]] = other[len(prefix):]
    for i, token in enumerate(source.tokens):
        before = source.tokens[i - 1].text if i else ""
        known = token.kind == NAME and token.text in following and before != "case"
        if known and (source.language == C or before == "."):
            yield replaced("status", source, i, i + 1, following[token.text])


def message(source: Source) -> Iterator[Edit]:
    """A text for people loses its longest word."""
    for i, token in enumerate(source.tokens):
        if token.kind != STRING or len(token.text) < 8 or " " not in token.text.strip("\"'"):
            continue
        words = re.findall(r"(?<![%\\\w{])[a-z]{4,}(?= |\b)", token.text)
        if words:
            longest = max(words, key=len)
            yield replaced("message", source, i, i + 1, token.text.replace(longest, "", 1))

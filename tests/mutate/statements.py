"""The mutation operators that change statements: dropping one, exchanging two, returning another value.

SPDX-License-Identifier: Apache-2.0
"""

import re
from typing import Iterator

from edits import Edit, replaced
from source import JUMP, RETURN, SIMPLE, Source, Statement

WAKE = re.compile(r"wake|kick|signal|publish|notify|poke|hurry")
FREE = re.compile(r"free|destroy|drop|close|unref|give_back|disarm|'del'")
REARM = re.compile(r"(^|_)(arm|timer|schedule)|_at$|_until$|deadline|pexpire")


def drop_operator(source: Source, statement: Statement) -> str:
    """Returns the operator's name for dropping a statement, by its effect: a wake-up, a free, a timer, or another."""
    callee, target = source.callee(statement), source.target(statement)
    words = callee
    if callee == "call":  # redis.call('publish', ...)
        words = source.code(statement.first, min(statement.first + 6, statement.end))
    if words and WAKE.search(words):
        return "wake"
    if words and FREE.search(words):
        return "free"
    if (words and REARM.search(words)) or (target and REARM.search(target)):
        return "rearm"
    return "statement"


def drop(source: Source) -> Iterator[Edit]:
    """A call, an assignment or a jump is dropped."""
    for statement in source.statements:
        if statement.kind == SIMPLE:
            operator = drop_operator(source, statement)
        elif statement.kind == JUMP:
            operator = "statement"
        else:
            continue
        text = source.words.no_statement
        if source.tokens[statement.end - 1].text == ";" and not text:
            text = ";"
        yield replaced(operator, source, statement.first, statement.end, text)


def order(source: Source) -> Iterator[Edit]:
    """Two adjacent statements that name the same thing are exchanged, if at least one is a call."""
    for one, two in zip(source.statements, source.statements[1:]):
        if one.kind != SIMPLE or two.kind != SIMPLE or one.block != two.block or one.end != two.first:
            continue
        if not (source.callee(one) or source.callee(two)) or not shared(source, one, two):
            continue
        if free_apart(source, one, two):
            continue
        between = source.text[source.span(one.first, one.end)[1]:source.span(two.first, two.end)[0]]
        yield replaced("order", source, one.first, two.end,
                       source.code(two.first, two.end) + between + source.code(one.first, one.end))


def shared(source: Source, one: Statement, two: Statement) -> bool:
    """Returns whether two statements name the same thing."""
    return bool(source.names(one.first, one.end) & source.names(two.first, two.end))


def free_apart(source: Source, one: Statement, two: Statement) -> bool:
    """Returns whether two statements free two things by the same call, neither a part of the other. Their order has no
    effect."""
    callee = source.callee(one)
    if callee != source.callee(two) or not FREE.search(callee):
        return False
    first, second = (source.code(each.first, each.end).rstrip(");") for each in (one, two))
    return not first.startswith(second) and not second.startswith(first)


def returned(source: Source) -> Iterator[Edit]:
    """A function returns nothing, or something instead of nothing."""
    words = source.words
    for statement in source.statements:
        first, end = statement.first + 1, statement.end
        if statement.kind != RETURN or end <= first:
            continue
        if source.tokens[end - 1].text == ";":
            end -= 1
        if end <= first:
            continue
        value = source.code(first, end)
        if value in (words.true, words.false):
            continue  # a flag
        empty = value in (words.nothing, "0", "NULL", "nil", "None")
        yield replaced("return", source, first, end, "1" if empty else words.nothing)


"""Finds functions, statements and conditions in C without a parser, since the project's code is regular enough.

SPDX-License-Identifier: Apache-2.0
"""

from lexer import C, NAME, OPERATOR, tokens
from source import CLOSERS, DECLARATION, JUMP, OPENERS, RETURN, SIMPLE, Source, Statement

TYPE_WORDS = {"static", "const", "struct", "enum", "union", "int", "char", "bool", "void", "unsigned", "double", "long",
              "extern", "typedef", "volatile", "float", "short", "signed", "_Thread_local"}
CONTROL = {"if", "for", "while", "switch"}
# Their arguments are checks, or code that a normal build leaves out.
UNTOUCHED_CALLS = {"PLANTED", "assert", "static_assert", "_Static_assert", "__attribute__"}


def parse(text: str) -> Source:
    """Returns the shape of one C file."""
    source = Source(text, C, tokens(text, C))
    i = 0
    while i < len(source.tokens):
        if source.tokens[i].text == "{":
            i = top_level_brace(source, i)
        i += 1
    leave_calls_alone(source)
    return source


def leave_calls_alone(source: Source) -> None:
    """Leaves assertions and planted faults out, which are not code of the product."""
    for i, token in enumerate(source.tokens[:-1]):
        if token.text in UNTOUCHED_CALLS and source.tokens[i + 1].text == "(":
            source.leave_alone(i, (source.closing(i + 1) or i) + 1)


def top_level_brace(source: Source, opening: int) -> int:
    """Handles a brace outside of functions: a body, a table or a type. Returns the closing token."""
    closing = source.closing(opening) or len(source.tokens) - 1
    before = source.tokens[opening - 1].text if opening else ""
    start, end = source.tokens[opening].start, source.tokens[closing].end
    if before == ")":
        source.functions.append((start, end, function_name(source, opening - 1)))
        body(source, opening, closing)
    elif before == "=":
        source.functions.append((start, end, table_name(source, opening - 1)))
    else:
        source.leave_alone(opening, closing)
    return closing


def function_name(source: Source, closing: int) -> str:
    """Returns the name before the parameter list that ends at `closing`."""
    depth = 0
    for i in range(closing, -1, -1):
        depth += (source.tokens[i].text == ")") - (source.tokens[i].text == "(")
        if depth == 0:
            return source.tokens[i - 1].text
    return ""


def table_name(source: Source, assign: int) -> str:
    """Returns the name of the table that an initializer fills."""
    for i in range(assign - 1, -1, -1):
        token = source.tokens[i]
        if token.kind == NAME and (i + 1 == assign or source.tokens[i + 1].text == "["):
            return token.text
    return ""


def body(source: Source, opening: int, closing: int) -> None:
    """Collects the statements and conditions between two braces of a function."""
    blocks, start, i = [opening], opening + 1, opening + 1
    while i < closing:
        token = source.tokens[i]
        if i == start and token.text in CONTROL and source.tokens[i + 1].text == "(":
            end = source.closing(i + 1) or closing
            if token.text in ("if", "while") and end > i + 2:
                source.conditions.append((i + 2, end))
            start = i = end + 1
            continue
        if i == start and token.text in ("else", "do"):
            start = i = i + 1
            continue
        if i == start and token.text in ("case", "default"):
            while source.tokens[i].text != ":":
                i += 1
            start = i = i + 1
            continue
        if token.text in OPENERS and not (token.text == "{" and i == start):
            i = (source.closing(i) or closing) + 1  # an argument list, an index or an initializer
            continue
        if token.text == "{":
            blocks.append(i)
            start = i + 1
        elif token.text == "}":
            blocks.pop()
            start = i + 1
        elif token.text == ";":
            if i > start:
                source.statements.append(Statement(start, i + 1, kind(source, start, i), blocks[-1]))
            start = i + 1
        i += 1


def kind(source: Source, first: int, end: int) -> str:
    """Returns the kind of a statement, by its first tokens."""
    word = source.tokens[first]
    if word.text == "return":
        return RETURN
    if word.text in ("break", "continue", "goto"):
        return JUMP
    if word.text in TYPE_WORDS or word.text.endswith("_t"):
        return DECLARATION
    following = source.tokens[first + 1] if first + 1 < end else None
    if word.kind == NAME and following and following.kind == NAME:
        return DECLARATION
    if (word.kind == NAME and following and following.text == "*" and following.kind == OPERATOR
            and source.tokens[first + 2].text not in CLOSERS):
        return DECLARATION
    return SIMPLE

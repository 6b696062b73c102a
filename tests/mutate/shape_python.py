"""Finds functions, statements and conditions in Python, with its own parser.

SPDX-License-Identifier: Apache-2.0
"""

import ast
from bisect import bisect_left
from typing import List, Optional, Tuple, Union

from lexer import PYTHON, tokens
from source import DECLARATION, JUMP, RETURN, SIMPLE, Source, Statement

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
KINDS = {ast.Return: RETURN, ast.Break: JUMP, ast.Continue: JUMP, ast.Raise: JUMP, ast.Expr: SIMPLE,
         ast.Assign: SIMPLE, ast.AugAssign: SIMPLE, ast.AnnAssign: DECLARATION, ast.Delete: SIMPLE}


class Shaper(ast.NodeVisitor):
    """Fills a source from its syntax tree."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.starts = [token.start for token in source.tokens]
        self.lines: List[int] = [0]
        for line in source.text.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.block = 0
        self.names: List[str] = []

    def offset(self, line: int, column: int) -> int:
        """Converts a position of the parser, counted in bytes, to an offset in the text."""
        begin = self.lines[line - 1]
        return begin + len(self.source.text[begin:self.lines[line]].encode()[:column].decode())

    def span(self, node: "ast.expr | ast.stmt | ast.arg") -> Tuple[int, int]:
        """Returns the tokens [first, end) of a node."""
        first = bisect_left(self.starts, self.offset(node.lineno, node.col_offset))
        end = bisect_left(self.starts, self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0))
        return first, end

    def leave_alone(self, node: "Optional[ast.expr]") -> None:
        """Marks a node as untouched by all operators."""
        if node is not None:
            self.source.leave_alone(*self.span(node))

    def visit_function(self, node: Function) -> None:
        """Adds a function. Its annotations and decorators stay untouched."""
        self.names.append(node.name)
        first, end = self.span(node)
        self.source.functions.append((*self.source.span(first, end), ".".join(self.names)))
        self.leave_alone(node.returns)
        arguments = node.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            self.leave_alone(argument.annotation)
        for decorator in node.decorator_list:
            self.leave_alone(decorator)
        self.generic_visit(node)
        self.names.pop()

    visit_FunctionDef = visit_function
    visit_AsyncFunctionDef = visit_function

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Adds the class to the names of its functions."""
        self.names.append(node.name)
        self.generic_visit(node)
        self.names.pop()

    def generic_visit(self, node: ast.AST) -> None:
        """Adds the statements and conditions of a node."""
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                self.block += 1
                for statement in statements:
                    self.statement(statement, self.block)
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            self.source.conditions.append(self.span(node.test))
        if isinstance(node, ast.AnnAssign):
            self.leave_alone(node.annotation)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            self.source.leave_alone(*self.span(node))
        if isinstance(node, (ast.Assert, ast.Import, ast.ImportFrom)):
            self.source.leave_alone(*self.span(node))
        super().generic_visit(node)

    def statement(self, node: ast.stmt, block: int) -> None:
        """Adds a statement without a block. A docstring stays untouched."""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            self.source.leave_alone(*self.span(node))
        elif type(node) in KINDS:
            self.source.statements.append(Statement(*self.span(node), KINDS[type(node)], block))


def parse(text: str) -> Source:
    """Returns the shape of one Python file."""
    source = Source(text, PYTHON, tokens(text, PYTHON))
    Shaper(source).visit(ast.parse(text))
    source.functions.sort()
    return source

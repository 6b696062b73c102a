# SPDX-License-Identifier: Apache-2.0
"""The examples in the docstrings of the Python package do what they show. Each runs on an empty server."""

from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import io
import signal
from types import ModuleType
from typing import Any, Dict, Iterator, List

import pytest
import redlatch
import redlatch.aio
from loops import World, run
from support import RedisServer

FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
# Errors, types and plain data need no example: their text says what they consist of.
WITHOUT_EXAMPLE = (BaseException, redlatch.Status, redlatch.LockTimeout, redlatch.Report, redlatch.Party,
                   redlatch.LockState, redlatch.Tuning)


def documented(package: ModuleType, of: str) -> Iterator[Any]:
    """Yields the functions and classes of a package that must have examples, and their methods from modules whose names
    begin with `of`."""
    for name in package.__all__:
        thing = getattr(package, name)
        if not getattr(thing, "__module__", "").startswith("redlatch"):
            continue  # an alias of types
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing) and not issubclass(thing, WITHOUT_EXAMPLE):
            yield name, thing
            inherited = [vars(base) for base in reversed(thing.__mro__) if base.__module__.startswith(of)]
            for member, value in {name: value for each in inherited for name, value in each.items()}.items():
                if inspect.isfunction(value) and not member.startswith("_"):
                    yield f"{name}.{member}", value


DOCUMENTED: Dict[str, Any] = dict(documented(redlatch, "redlatch"))
FOR_TASKS: Dict[str, Any] = dict(documented(redlatch.aio, "redlatch.aio"))


@pytest.fixture(autouse=True)
def same_sigterm() -> Iterator[None]:
    """Restores the handler of SIGTERM, which an example may change."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_example(server: RedisServer, name: str) -> None:
    server.admin.flushall()
    with redlatch.connect(server.url) as client:
        names = {"redlatch": redlatch, "client": client}  # an example may use these without making them
        parsed = doctest.DocTestParser().get_doctest(inspect.getdoc(DOCUMENTED[name]) or "", names, name, None, 0)
        assert parsed.examples, f"{name} has no example"
        printed: List[str] = []
        outcome = doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(parsed, out=printed.append)
        assert outcome.failed == 0, "".join(printed)
    server.admin.flushall()


async def outcome_of(example: doctest.Example, names: Dict[str, Any]) -> str:
    """Runs an example, which may await, and returns what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = compile(example.source, "<example>", "single", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        waiting = eval(code, names)
        if inspect.iscoroutine(waiting):
            await waiting
    return printed.getvalue()


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
@pytest.mark.parametrize("name", FOR_TASKS)
def test_example_for_tasks(server: RedisServer, name: str, loop: str) -> None:
    async def main(world: World) -> None:
        async with redlatch.aio.connect(server.url) as client:
            names = {"redlatch": redlatch, "client": client}
            parsed = doctest.DocTestParser().get_doctest(inspect.getdoc(FOR_TASKS[name]) or "", names, name, None, 0)
            assert parsed.examples, f"{name} has no example"
            for example in parsed.examples:
                try:
                    got = await outcome_of(example, names)
                except redlatch.RedlatchError as error:
                    assert example.exc_msg == f"redlatch.errors.{type(error).__name__}: {error}\n", example.source
                else:
                    assert example.exc_msg is None, example.source
                    same = doctest.OutputChecker().check_output(example.want, got, FLAGS)
                    assert same, f"{example.source}printed {got}"

    run(loop, main)


def test_docstrings_are_in_one_style() -> None:
    """Arguments are listed under Args, in Google's style, and each argument of the call is listed."""
    for name, thing in [*DOCUMENTED.items(), *FOR_TASKS.items()]:
        text = inspect.getdoc(thing) or ""
        if "Args:" not in text or inspect.isclass(thing):
            continue
        listed = text.split("Args:\n", 1)[1].split("\n\n", 1)[0]
        # **others are arguments that are refused.
        taken = [each for each in inspect.signature(thing).parameters if each not in ("self", "others")]
        assert [line.split(":")[0].strip() for line in listed.splitlines() if line[4:5] != " "] == taken, name

# SPDX-License-Identifier: Apache-2.0
"""The examples in the docstrings of the Python package do what they show. Each runs on an empty server."""

from __future__ import annotations

import doctest
import inspect
from typing import Any, Dict, Iterator, List

import pytest
import redlatch
from support import RedisServer

FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
# Facts, errors and types: what they are made of is in their text.
WITHOUT_EXAMPLE = (BaseException, redlatch.Status, redlatch.Report, redlatch.Party, redlatch.LockState, redlatch.Tuning)


def documented() -> Iterator[Any]:
    """The functions and classes of the package that are to have examples, and the methods of these."""
    for name in redlatch.__all__:
        thing = getattr(redlatch, name)
        if not getattr(thing, "__module__", "").startswith("redlatch"):
            continue  # an alias of types
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing) and not issubclass(thing, WITHOUT_EXAMPLE):
            yield name, thing
            inherited = [vars(base) for base in reversed(thing.__mro__) if base.__module__.startswith("redlatch")]
            for member, value in {name: value for each in inherited for name, value in each.items()}.items():
                if inspect.isfunction(value) and not member.startswith("_"):
                    yield f"{name}.{member}", value


DOCUMENTED: Dict[str, Any] = dict(documented())


@pytest.mark.parametrize("name", DOCUMENTED)
def test_example(server: RedisServer, name: str) -> None:
    server.admin.flushall()
    with redlatch.connect(server.url) as client:
        names = {"redlatch": redlatch, "client": client}  # which an example need not make
        parsed = doctest.DocTestParser().get_doctest(inspect.getdoc(DOCUMENTED[name]) or "", names, name, None, 0)
        assert parsed.examples, f"{name} has no example"
        printed: List[str] = []
        outcome = doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(parsed, out=printed.append)
        assert outcome.failed == 0, "".join(printed)
    server.admin.flushall()


def test_docstrings_are_in_one_style() -> None:
    """Arguments stand under Args, as of Google's style, and each one that a call takes is there."""
    for name, thing in DOCUMENTED.items():
        text = inspect.getdoc(thing) or ""
        if "Args:" not in text or inspect.isclass(thing):
            continue
        listed = text.split("Args:\n", 1)[1].split("\n\n", 1)[0]
        taken = [each for each in inspect.signature(thing).parameters if each != "self"]
        assert [line.split(":")[0].strip() for line in listed.splitlines() if line[4:5] != " "] == taken, name

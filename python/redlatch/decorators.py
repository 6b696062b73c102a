"""What the decorators of redlatch share: which functions they accept, and lock names that are made from a call's
arguments.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import inspect
import re
import string
from typing import Any, Callable, Dict, List, Mapping, Tuple

from redlatch.errors import InvalidArgumentError, LockName


def check_function(function: Callable[..., Any], decorator: str, statement: str) -> None:
    """Raises a TypeError unless `function` is a function whose body has run when a call returns. `statement` is what
    the body of a generator can use instead."""
    if isinstance(function, type) or not callable(function):
        raise TypeError(
            f"{decorator} decorates functions; {function!r} is none (@staticmethod and the like go above it)"
        )
    bodies = (function, type(function).__call__)  # of a function, and of a callable object
    for check in (inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction):
        if any(map(check, bodies)):
            raise TypeError(
                f"{decorator} cannot decorate {function!r}: a call would return, and release, before the body ran; "
                f"write `{statement}` inside a generator, and for a coroutine use an asynchronous client, of "
                "redlatch.aio"
            )


def check_coroutine_function(function: Callable[..., Any], decorator: str, statement: str) -> None:
    """Raises a TypeError unless `function` is a coroutine function, which an asynchronous client decorates."""
    if not inspect.iscoroutinefunction(function):
        raise TypeError(
            f"{decorator} of an asynchronous client decorates coroutine functions; {function!r} is none (use a client "
            f"of redlatch.connect(), or write `{statement}` inside a generator)"
        )


class NameOfCall:
    """The name of a lock with fields of str.format(), such as "user:{user_id}", for the calls of one function."""

    def __init__(self, template: str, function: Callable[..., Any]) -> None:
        self._template = template
        self._function = getattr(function, "__name__", repr(function))
        self._signature = inspect.signature(function)
        parameters = self._signature.parameters.values()
        self._others = [each.name for each in parameters if each.kind is each.VAR_KEYWORD]
        for field in _fields(template):
            if not field.isidentifier() or (field not in self._signature.parameters and not self._others):
                known = ", ".join(self._signature.parameters) or "nothing"
                raise InvalidArgumentError(
                    f"name is {template!r}, with {{{field}}}; expected an argument of {self._function}(), which has "
                    f"{known} ({{{{ and }}}} stand for braces)"
                )

    def of(self, arguments: Tuple[Any, ...], keywords: Mapping[str, Any]) -> str:
        """Returns the name for a call with these arguments."""
        try:
            bound = self._signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise TypeError(f"{self._function}(): {error}") from None
        bound.apply_defaults()
        values: Dict[str, Any] = dict(bound.arguments)
        for others in self._others:
            values.update(values.pop(others))
        try:
            return self._template.format_map(values)
        except (LookupError, AttributeError, TypeError, ValueError) as error:
            raise InvalidArgumentError(
                f"name is {self._template!r}, and this call of {self._function}() gives no name: "
                f"{type(error).__name__}: {error}"
            ) from error


def check_template(template: LockName) -> str:
    """Checks that a name with fields is a str of valid format, and returns it."""
    if not isinstance(template, str):
        raise TypeError(f"name is of type {type(template).__name__}; expected str, such as 'user:{{user_id}}'")
    _fields(template)
    return template


def _fields(template: str) -> List[str]:
    """Returns the names of the arguments that a template uses."""
    try:
        parsed = list(string.Formatter().parse(template))
    except ValueError as error:
        raise InvalidArgumentError(
            f"name is {template!r}: {error}; expected text with fields such as {{user_id}}, and {{{{ for a brace"
        ) from None
    return [re.split(r"[.\[]", field, maxsplit=1)[0] for _, field, _, _ in parsed if field is not None]

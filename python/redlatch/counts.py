"""What semaphores and latches share: a handle and a name, and calls that return a number.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, NoReturn, Optional

from redlatch._ffi import CData, ffi, lib
from redlatch.durations import Seconds, wait_ms
from redlatch.errors import InvalidArgumentError, LockName, NotFoundError, ServerError, failure
from redlatch.options import flag, name_bytes
from redlatch.reports import inspect

if TYPE_CHECKING:
    from redlatch.client import Client


class Counted:
    """A name on a client with a handle of the core."""

    __slots__ = ("_client", "_handle", "_name", "__weakref__")

    def __init__(self, client: Client, name: LockName, kind: str) -> None:
        data = name_bytes(name)
        out = ffi.new(f"redlatch_{kind} **")
        status: int = getattr(lib, f"redlatch_{kind}_new")(client._handle, data, len(data), out)
        if status:
            raise failure(status, name)
        self._handle: CData = ffi.gc(out[0], getattr(lib, f"redlatch_{kind}_free"))
        self._client = client
        self._name = name

    @property
    def name(self) -> LockName:
        """The name as it was given, without the client's prefix."""
        return self._name

    def __repr__(self) -> str:
        return f"<redlatch.{type(self).__name__} {self._name!r}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a redlatch.{type(self).__name__} cannot be pickled or copied: open a client, and make its objects, in "
            "each process"
        )

    def _call(self, function: Callable[..., int], *arguments: Any) -> None:
        """Makes a call that answers with nothing but its status."""
        status = function(self._handle, *arguments)
        if status:
            raise failure(status, self._name)

    def _number(self, function: Callable[..., int], *arguments: Any, kind: str = "int64_t *") -> int:
        """Makes a call that hands out a number."""
        number = ffi.new(kind)
        self._call(function, *arguments, number)
        return int(number[0])

    def _flag(self, function: Callable[..., int], *arguments: Any) -> bool:
        """Makes a call that hands out yes or no."""
        return bool(self._number(function, *arguments, kind="int32_t *"))


class Limited(Counted):
    """What both semaphores share: the options, and that somebody has to make them before they have permits."""

    __slots__ = ("_wait_ms", "_limit", "_waits_for_creation", "_made")

    def __init__(
        self,
        client: Client,
        name: LockName,
        kind: str,
        timeout: Optional[Seconds],
        limit: Optional[int],
        wait_for_creation: bool,
    ) -> None:
        self._wait_ms = wait_ms(timeout, "timeout")
        self._limit = None if limit is None else whole(limit, "limit", 1)
        self._waits_for_creation = bool(flag(wait_for_creation, "wait_for_creation"))
        self._made = False  # as far as is known
        super().__init__(client, name, kind)

    def _is_ready(self, scoped: bool) -> bool:
        """Whether an acquire may simply wait; `scoped` is one of a `with`."""
        return self._made or (self._limit is None and (self._waits_for_creation or not scoped))

    def _ensure_made(self) -> None:
        """To be called after an attempt that got no permits, so that one that gets some costs no more than that."""
        if self._limit is not None:
            self.try_set_permits(self._limit)
        elif self._is_missing():
            shown = f"semaphore {self._name!r}: nobody made it"
            ways = "try_set_permits(), limit= to make it, or wait_for_creation=True to wait until somebody does"
            raise NotFoundError(f"{shown}; expected {ways}", lock_name=self._name)
        self._made = True

    def _is_missing(self) -> bool:
        try:
            return inspect(self._client._handle, self._name, name_bytes(self._name), None).detected_kind == "nothing"
        except ServerError:  # whose access rules forbid to ask: then the wait itself tells
            return False

    def try_set_permits(self, permits: int) -> bool:
        """Makes the semaphore with so many permits, unless it exists: then False."""
        raise NotImplementedError


def whole(value: int, argument: str, least: Optional[int], most: int = lib.REDLATCH_PERMITS_MAX) -> int:
    """A number of permits or counts: a whole number, no bool, within what Redisson can read."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{argument} is {value!r}, of type {type(value).__name__}; expected a whole number")
    low = -most if least is None else least
    if not low <= value <= most:
        raise InvalidArgumentError(f"{argument} is {value}; expected {low} to {most}")
    return value

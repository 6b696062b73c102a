"""What semaphores and latches share: a handle and a name, and calls that return a number.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any, Callable, Literal, NoReturn, Optional

from redlatch._ffi import CData, ffi, lib
from redlatch.durations import Seconds, wait_ms
from redlatch.errors import InvalidArgumentError, LockName, failure
from redlatch.losses import Opened
from redlatch.options import flag, name_bytes, semaphore_options


CountedKind = Literal["semaphore", "permit_semaphore", "latch"]


class Counted:
    """The base class of semaphores and latches, for threads and for tasks."""

    __slots__ = ("_client", "_handle", "_name", "_kind", "__weakref__")

    PACKAGE = "redlatch"

    def __init__(self, client: Opened, name: LockName, kind: CountedKind, *options: CData) -> None:
        self._client = client
        self._name = name
        self._kind: CountedKind = kind
        self._handle = self._new_handle(*options)

    def _new_handle(self, *options: CData) -> CData:
        data = name_bytes(self._name)
        out = ffi.new(f"redlatch_{self._kind} **")
        make = getattr(lib, f"redlatch_{self._kind}_new")
        status: int = make(self._client._handle, data, len(data), *options, out)
        if status:
            raise failure(status, self._name)
        return ffi.gc(out[0], getattr(lib, f"redlatch_{self._kind}_free"))

    @property
    def name(self) -> LockName:
        """The name as it was given, without the client's prefix."""
        return self._name

    @property
    def kind(self) -> CountedKind:
        """The kind: "semaphore", "permit_semaphore" or "latch"."""
        return self._kind

    def __repr__(self) -> str:
        return f"<{self.PACKAGE}.{type(self).__name__} {self._name!r}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {self.PACKAGE}.{type(self).__name__} cannot be pickled or copied: open a client, and make its objects, "
            "in each process"
        )

    def _call(self, function: Callable[..., int], *arguments: Any) -> None:
        """Makes a call of the core that returns only its status."""
        status = function(self._handle, *arguments)
        if status:
            raise failure(status, self._name)

    def _number(self, function: Callable[..., int], *arguments: Any, kind: str = "int64_t *") -> int:
        """Makes a call of the core that hands out a number, and returns that."""
        number = ffi.new(kind)
        self._call(function, *arguments, number)
        return int(number[0])

    def _flag(self, function: Callable[..., int], *arguments: Any) -> bool:
        """Makes a call of the core that hands out 0 or 1, and returns it as a bool."""
        return bool(self._number(function, *arguments, kind="int32_t *"))


class Limited(Counted):
    """The base class of both kinds of semaphores: their options, and the handle for `with`."""

    __slots__ = ("_wait_ms", "_scoped_handle")

    def __init__(
        self,
        client: Opened,
        name: LockName,
        kind: CountedKind,
        timeout: Optional[Seconds],
        lease_ms: int,
        limit: Optional[int],
        wait_for_creation: bool,
    ) -> None:
        self._wait_ms = wait_ms(timeout, "timeout")
        options = semaphore_options(lease_ms, 0 if limit is None else whole(limit, "limit", 1))
        waits = flag(wait_for_creation, "wait_for_creation") or limit is not None
        super().__init__(client, name, kind, options)
        self._scoped_handle = self._handle if waits else self._must_exist(options)

    def _must_exist(self, options: CData) -> CData:
        """Returns a handle for `with`. Its acquires fail with NOT_FOUND if nobody has made the semaphore."""
        options.must_exist = 1
        return self._new_handle(options)


def whole(value: int, argument: str, least: Optional[int], most: int = lib.REDLATCH_PERMITS_MAX) -> int:
    """Checks a number of permits or a count: a whole number, not a bool, in the range that Redisson can read. Returns
    it."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{argument} is {value!r}, of type {type(value).__name__}; expected a whole number")
    low = -most if least is None else least
    if not low <= value <= most:
        raise InvalidArgumentError(f"{argument} is {value}; expected {low} to {most}")
    return value

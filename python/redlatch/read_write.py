"""ReadWriteLock: the two modes of one name.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, NoReturn, Optional, TypeVar

from redlatch._ffi import lib
from redlatch.durations import Seconds
from redlatch.errors import LockName
from redlatch.locks import Lock, LockHandle
from redlatch.losses import OnLost, Opened
from redlatch.owners import new_number

if TYPE_CHECKING:
    from redlatch.client import Client

AnyLock = TypeVar("AnyLock", bound=LockHandle)


class Modes(Generic[AnyLock]):
    """Two locks of one name and one owner, for threads and for tasks."""

    __slots__ = ("_read", "_write")

    PACKAGE = "redlatch"

    def __init__(
        self,
        make: Callable[..., AnyLock],
        client: Opened,
        name: LockName,
        timeout: Optional[Seconds],
        lease: Optional[Seconds],
        max_hold: Optional[Seconds],
        owner: str,
        settings: Dict[str, Any],
    ) -> None:
        if owner == "handle":
            settings = {**settings, "owner_number": new_number()}  # so that both modes have the same owner
        self._read = make(client, lib.REDLATCH_READ, name, timeout, lease, max_hold, owner, **settings)
        self._write = make(client, lib.REDLATCH_WRITE, name, timeout, lease, max_hold, owner, **settings)

    @property
    def name(self) -> LockName:
        """The name as it was given, without the client's prefix."""
        return self._read.name

    @property
    def read(self) -> AnyLock:
        """The read lock. Many owners may hold it while nobody else holds the write lock."""
        return self._read

    @property
    def write(self) -> AnyLock:
        """The write lock. One owner may hold it while nobody else holds either lock."""
        return self._write

    def __repr__(self) -> str:
        return f"<{self.PACKAGE}.ReadWriteLock {self.name!r}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {self.PACKAGE}.ReadWriteLock cannot be pickled or copied: open a client, and make its locks, in each "
            "process"
        )


class ReadWriteLock(Modes[Lock]):
    """Many readers or one writer, made by Client.read_write_lock().

    `read` and `write` are Locks of the same owner: the calling thread, or with owner="handle" this object; then any
    thread may release them. Each may be acquired again, and has to be released as often. The holder of `write` may also
    acquire `read`, and keeps it after releasing `write`. An owner that holds only `read` and acquires `write` gets a
    WouldDeadlockError at once.

    Example:
        >>> catalogue = client.read_write_lock("catalogue")
        >>> with catalogue.write:
        ...     with catalogue.read:
        ...         catalogue.read.state().holders
        1
    """

    __slots__ = ()

    def __init__(
        self,
        client: Client,
        name: LockName,
        timeout: Optional[Seconds],
        lease: Optional[Seconds],
        max_hold: Optional[Seconds],
        owner: str,
        on_lost: OnLost,
        settings: Dict[str, Any],
    ) -> None:
        make = functools.partial(Lock, on_lost=on_lost)
        super().__init__(make, client, name, timeout, lease, max_hold, owner, settings)

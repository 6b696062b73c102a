"""Once: a function that runs at most once in a period, whichever process calls it, as with ShedLock.

What a call does, and what is on the server:

    step                              on the server                        in this process
    the call begins                   acquire without a wait, with the     -
                                      fixed lease at_most
    held by another owner             untouched                            skipped: the call returns None
    granted                           held, until at_most is over          the function runs; nothing is renewed
    it returns or raises, at_least    held, for the rest of at_least: the  the hold is left: nobody releases it, not
    is not over                       lease is set to that                 even the end of the client
    at_least is over before the       free, since at_least is over         the hold is left, and not lost
    reply to that
    it returns or raises later        released, and waiters get a message  -
    it runs longer than at_most       free; another call may run           the hold is lost, as `on_lost` says
    the process dies                  held until at_most is over           -
    the lease cannot be set           held until at_most is over           the hold is left; the failure is raised
    the client is closed meanwhile    released, unless the client has      the function runs on without the lock
                                      release_on_close=False

at_least counts from the grant. For other clients, Redisson included, the name is a mutex that is held. A call within a
call of the same function is skipped, too, because each call is an owner of its own.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import functools
import time
from types import TracebackType
from typing import TYPE_CHECKING, Callable, List, NamedTuple, NoReturn, Optional, Tuple, Type, TypeVar

from redlatch._ffi import LEASE_OF_LOCK, lib
from redlatch.decorators import check_function
from redlatch.durations import Seconds, delay_ms, span_ms
from redlatch.errors import InvalidArgumentError, LockLostError, LockName, NotOwnedError, RedlatchError, failure
from redlatch.holds import Hold
from redlatch.locks import Lock
from redlatch.losses import OnLost
from redlatch.owners import current, new_number

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    from redlatch.client import Client

    Parameters = ParamSpec("Parameters")

Returned = TypeVar("Returned")


def period_ms(at_least: Seconds, at_most: Seconds) -> Tuple[int, int]:
    """Converts both times, and checks that at_least is not longer than at_most."""
    least, most = delay_ms(at_least, "at_least"), span_ms(at_most, "at_most")
    if least > most:
        raise InvalidArgumentError(f"at_least is {at_least!r}, at_most {at_most!r}; expected at_least <= at_most")
    return least, most


def rest_ms(at_least_ms: int, granted_at: float) -> int:
    """Returns the rest of at_least; 0 or less if it is over."""
    return at_least_ms - int((time.monotonic() - granted_at) * 1000)


class _Turn(NamedTuple):
    thread: int  # the owner number of the thread that entered
    hold: Optional[Hold]  # None: the job is skipped
    granted_at: float


class Once:
    """A decorator and a context manager, made by Client.once(). `with` gives a Hold, or None if the job is skipped.

    Example:
        >>> with client.once("report", at_least=300, at_most=3600) as hold:
        ...     hold is not None
        True
        >>> with client.once("report", at_least=300, at_most=3600) as hold:
        ...     hold is not None
        False
    """

    __slots__ = ("_lock", "_at_least_ms", "_turns")

    def __init__(
        self, client: Client, name: LockName, at_least: Seconds, at_most: Seconds, on_lost: OnLost
    ) -> None:
        self._at_least_ms, _ = period_ms(at_least, at_most)
        self._lock = Lock(client, lib.REDLATCH_MUTEX, name, 0, at_most, None, "thread", on_lost)
        self._turns: List[_Turn] = []  # of the open `with` blocks, the innermost last

    @property
    def name(self) -> LockName:
        """The name as it was given, without the client's prefix."""
        return self._lock.name

    def __call__(self, function: Callable[Parameters, Returned]) -> Callable[Parameters, Optional[Returned]]:
        """As a decorator: a call runs the function, or is skipped and returns None."""
        check_function(function, "@once", "with client.once(...) as hold:")

        @functools.wraps(function)
        def in_turn(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Optional[Returned]:
            turn = self._begin(False)
            if turn.hold is None:
                return None
            try:
                returned = function(*arguments, **keywords)
            except BaseException as error:
                self._finish(turn, error)
                raise
            self._finish(turn, None)
            return returned

        return in_turn

    def __enter__(self) -> Optional[Hold]:
        return self._begin(True).hold

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        turn: Optional[_Turn] = None
        number = current().number
        while turn is None:
            turn = self._innermost(number)
            try:
                self._turns.remove(turn)
            except ValueError:
                turn = None  # another thread is leaving that block
        self._finish(turn, error)

    def _innermost(self, number: int) -> _Turn:
        """Returns the turn of the block that a thread leaves: the innermost block that the thread entered. If it
        entered none, a block of another thread; one whose job was skipped is taken first, so that a running job keeps
        its lock."""
        turns = self._turns[:]
        if not turns:
            raise NotOwnedError(f"once {self.name!r} is in no `with` block", lock_name=self.name)
        return max(turns, key=lambda each: (
            each.thread == number, each.thread != number and each.hold is None, each.granted_at))

    def _begin(self, entering: bool) -> _Turn:
        """Begins a turn, or a skipped one. If Ctrl-C comes in between, nothing stays held."""
        number, owner = current().number, new_number()
        hold = self._lock._obtain(0, LEASE_OF_LOCK, False, owner)
        turn: Optional[_Turn] = None
        try:
            turn = _Turn(number, hold, time.monotonic())
            if entering:
                self._turns.append(turn)
            return turn
        except BaseException:
            if turn is not None and turn in self._turns:
                self._turns.remove(turn)
            if hold is not None:
                self._lock._give_back(hold)
            raise

    def _finish(self, turn: _Turn, error: Optional[BaseException]) -> None:
        """Ends a turn; `error` is what the job raised."""
        hold = turn.hold
        if hold is None or hold._released:
            return
        failed = self._end(hold, rest_ms(self._at_least_ms, turn.granted_at))
        lock = self._lock
        if not isinstance(failed, LockLostError):
            lock._client._losses.released(hold._serial, lock, hold._number)
        if failed is not None:
            lock._left_badly(failed, hold, error)

    def _end(self, hold: Hold, rest: int) -> Optional[RedlatchError]:
        """Ends a turn on the server. Returns the error or None. An interrupt in between leaves the lock held for
        longer, never for less time."""
        handle, number, name = self._lock._handle, hold._number, self._lock.name
        status: int
        failed: Optional[RedlatchError] = None
        try:
            alive = hold._alive() is not None
        except RedlatchError as error:  # in a forked child
            return error
        if rest <= 0 or not alive:
            status = lib.redlatch_lock_release_as(handle, number)
            return failure(status, name) if status else None
        self._lock._client._losses.leave(hold._serial)
        try:
            status = lib.redlatch_lock_extend(handle, number, rest)
            failed = failure(status, name) if status else None
        finally:
            if lib.redlatch_lock_leave(handle, number) == lib.REDLATCH_LOST:
                lib.redlatch_lock_release_as(handle, number)  # only this call knows the owner
        over = isinstance(failed, LockLostError) and failed.reason == "expired"  # at_least is, before the reply
        return None if over else failed

    def __repr__(self) -> str:
        return f"<redlatch.Once {self.name!r}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a redlatch.Once cannot be pickled or copied: open a client in each process")

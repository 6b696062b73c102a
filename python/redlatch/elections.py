"""Election: one of many candidates leads, in whatever process they are.

A candidate is a thread of its own. Leading is holding a mutex that is renewed. The states of a candidate:

    state        on the server           is_leader   what ends it
    campaigning  waits for the mutex     False       a grant: leading, then on_gain() is called
                                                     resign(), the end of the block: over
                                                     an error that may pass: campaigning again, after a pause
                                                     another error: over, and the error is raised by resign() or the
                                                     end of the block
    leading      holds the mutex         True        a loss: on_loss() is called, then campaigning
                                                     resign(), the end of the block: on_loss() is called, the mutex is
                                                     released, then over
                                                     the client is closed: on_loss() is called, then over
    over         nothing                 False       -

The thread calls on_gain() and on_loss() in turn, so they never overlap. is_leader is False from the moment when the
lease is over or resign() is called, also while a callback still runs. A callback that raises ends the candidacy: the
mutex is released, and the exception is raised by resign() or the end of the block. If it was on_gain(), on_loss() is
not called.

An error may pass if a repetition may mend it, or somebody at the server: a replica becomes a master, a password is set,
a rule is granted. A name that is used for something else is a mistake of the program, and so is whatever the server had
no part in.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import logging
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, NoReturn, Optional, Type

from redlatch._ffi import FOREVER, LEASE_OF_LOCK, ffi, lib
from redlatch.errors import (
    ClosedError,
    InvalidArgumentError,
    LockLostError,
    LockName,
    RedlatchError,
    ServerError,
    WaitCancelledError,
    WrongTypeError,
    failure,
    program_ends,
)
from redlatch.holds import Hold
from redlatch.locks import Lock
from redlatch.owners import new_number
from redlatch.reports import Party, Report
from redlatch.watching import Cancel, WaitCall, new_status, wait_for

if TYPE_CHECKING:
    from redlatch.aio.dispatch import Call
    from redlatch.client import Client
    from redlatch.hub import HubDispatcher

logger = logging.getLogger("redlatch")

Callback = Callable[[], object]

_ACQUIRE = WaitCall(lib.redlatch_lock_begin_acquire, lib.redlatch_lock_start_acquire)

# The pause after an error that may pass, in seconds.
RETRY = 1.0
# An attempt that fails after so many seconds met an outage of its own: in one that goes on it would have failed before,
# after the `unreachable_timeout` of 30 s.
OUTAGE = 60.0


def callback_of(value: Any, argument: str) -> Any:
    """A function without arguments, or None."""
    if value is not None and not callable(value):
        raise InvalidArgumentError(f"{argument} is {value!r}; expected a function without arguments, or None")
    return value


def may_pass(error: RedlatchError) -> bool:
    """Whether a candidate goes on after an error."""
    return error.retryable or (isinstance(error, ServerError) and not isinstance(error, WrongTypeError))


class Complaints:
    """Logs the first error of each outage."""

    def __init__(self, name: LockName) -> None:
        self._name = name
        self._complained = False
        self._began = 0.0

    def begin(self) -> None:
        """An attempt begins."""
        self._began = time.monotonic()

    def failed(self, error: RedlatchError) -> None:
        """It failed."""
        if not self._complained or time.monotonic() - self._began > OUTAGE:
            logger.warning("the candidate for %r goes on after: %s", self._name, error)
        self._complained = True


def leader_of(report: Report) -> Optional[Party]:
    """Who leads, as a report of the name says."""
    return next((party for party in report.parties if party.role != "waiter"), None)


class Election:
    """A candidate in an election, made by Client.elect(), for one `with` block. Make another one to stand again.

    Example:
        >>> import threading
        >>> leads = threading.Event()
        >>> with client.elect("scheduler", on_gain=leads.set) as election:
        ...     leads.wait(5), election.is_leader, election.leader().role
        (True, True, 'holder')
        >>> election.is_leader, election.leader()
        (False, None)
    """

    def __init__(
        self, client: Client, name: LockName, on_gain: Optional[Callback], on_loss: Optional[Callback]
    ) -> None:
        self._client = client
        self._on_gain: Optional[Callback] = callback_of(on_gain, "on_gain")
        self._on_loss: Optional[Callback] = callback_of(on_loss, "on_loss")
        self._lock = Lock(client, lib.REDLATCH_MUTEX, name, None, None, None, "thread", "log")
        self._cancel: Optional[Cancel] = None  # of the wait for the mutex
        self._changed = threading.Event()  # there may be something to do
        self._resigned = False
        self._hold: Optional[Hold] = None
        self._error: Optional[BaseException] = None
        self._thread: Optional[threading.Thread] = None

    @property
    def name(self) -> LockName:
        """The name as it was given, without the client's prefix."""
        return self._lock.name

    @property
    def is_leader(self) -> bool:
        """Whether this candidate leads, as far as is known. Nothing is sent. False as soon as the lease is over."""
        hold = self._hold
        return hold is not None and not self._resigned and hold._alive() is not None

    def leader(self) -> Optional[Party]:
        """Asks the server for the leader, or None. `host` and `pid` are known for clients of redlatch.

        Example:
            >>> print(client.elect("scheduler").leader())
            None
        """
        return leader_of(self._client.inspect(self.name))

    def resign(self) -> None:
        """Ends the candidacy. If it leads, on_loss() is called, and then the mutex released. Returns when that is done,
        unless a callback calls it: then it is done after the callback. Resigning twice is harmless.

        Example:
            >>> with client.elect("scheduler") as election:
            ...     election.resign()
            ...     election.is_leader
            False
        """
        self._end()
        error, self._error = self._error, None
        if error is not None:
            raise error

    def __enter__(self) -> Election:
        if self._thread is not None or self._resigned:
            raise RuntimeError(f"the candidacy for {self.name!r} has begun before; expected another client.elect()")
        # Here, not before: a child of a fork cannot use what its parent made, and gevent may patch in between.
        self._cancel, self._changed = Cancel(), threading.Event()
        self._client._losses.watch()
        self._client._losses.wake_at_close(self._changed)
        self._thread = threading.Thread(target=self._run, name="redlatch-election", daemon=True)
        try:
            self._thread.start()
        except BaseException:  # Ctrl-C, or the SystemExit of a SIGTERM: the block is never entered, nor left
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if error is None:
            self.resign()
        else:
            self._end()  # what went wrong there was logged

    def _end(self) -> None:
        self._resigned = True
        if self._cancel is not None:
            self._cancel.fire()
        self._changed.set()
        # A thread that has not begun yet ends by itself.
        if self._thread is not None and self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        try:
            hold = self._campaign()
            while hold is not None:
                self._lead(hold)
                hold = self._campaign()
        except ClosedError:
            pass
        except BaseException as error:
            if isinstance(error, SystemExit) and program_ends():
                return
            logger.exception("the candidacy for %r has ended", self.name)
            self._error = error

    def _campaign(self) -> Optional[Hold]:
        """Waits for the mutex; None when the candidacy is over."""
        number, status = new_number(), new_status()
        complaints = Complaints(self.name)
        arguments = (self._lock._handle, number, LEASE_OF_LOCK, FOREVER)

        def undo(dispatcher: HubDispatcher, _call: Call) -> None:
            dispatcher.give_back(lib.redlatch_lock_start_release, self._lock._handle, number, kept=self._lock)

        while not self._resigned:
            complaints.begin()
            try:
                wait_for(
                    self._client, self.name, status, _ACQUIRE, *arguments,
                    kept=self._lock, cancel=self._cancel, undo=undo,
                )  # fmt: skip
                return Hold(self._lock, number, ffi.buffer(self._lock._standing(number))[:])
            except WaitCancelledError:
                return None
            except RedlatchError as error:
                if isinstance(error, LockLostError):  # it was granted, and over before the reply came
                    lib.redlatch_lock_release_as(self._lock._handle, number)
                elif not may_pass(error):
                    raise
                complaints.failed(error)
                self._changed.clear()
                if not self._resigned:
                    self._changed.wait(RETRY)
        return None

    def _lead(self, hold: Hold) -> None:
        """From the grant to the loss or the release."""
        losses = self._client._losses
        losses.expect(hold._serial, lambda _: self._changed.set(), hold)
        self._hold = hold
        try:
            leads = self.is_leader  # it may have resigned at the moment of the grant
            if leads and self._on_gain is not None:
                self._on_gain()
            while self.is_leader:
                self._changed.wait()
                self._changed.clear()
            if leads and self._on_loss is not None:
                self._on_loss()
        finally:
            self._hold = None
            status: int = lib.redlatch_lock_release_as(self._lock._handle, hold._number)
            if status and status not in (lib.REDLATCH_LOST, lib.REDLATCH_CLOSED):
                logger.warning("the leader for %r could not release: %s", self.name, failure(status, self.name))
            losses.released(hold._serial, self._lock, hold._number)

    def __repr__(self) -> str:
        state = "leads" if self.is_leader else "over" if self._resigned else "does not lead"
        return f"<redlatch.Election {self.name!r}, {state}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a redlatch.Election cannot be pickled or copied: make one in each process")

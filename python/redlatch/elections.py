"""Election: one of many candidates leads, whichever processes they are in.

A candidate is a thread of its own. The candidate that holds a mutex, which is renewed, leads. The states of a
candidate:

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

An error may pass if a repeat may succeed, or if somebody can correct the cause at the server: a replica becomes the
master, a password is set, a permission is granted. A name that is used for something else is a mistake of the program,
and so are other errors that do not come from the server.
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
# An attempt that fails after more than this time, in seconds, is in a new outage. In an outage that goes on it would
# have failed earlier, after the `unreachable_timeout` of 30 s.
OUTAGE = 60.0


def callback_of(value: Any, argument: str) -> Any:
    """Checks that `value` is a function or None, and returns it."""
    if value is not None and not callable(value):
        raise InvalidArgumentError(f"{argument} is {value!r}; expected a function without arguments, or None")
    return value


def may_pass(error: RedlatchError) -> bool:
    """Returns whether a candidate goes on after an error."""
    return error.retryable or (isinstance(error, ServerError) and not isinstance(error, WrongTypeError))


class Complaints:
    """Logs the first error of each outage."""

    def __init__(self, name: LockName) -> None:
        self._name = name
        self._complained = False
        self._began = 0.0

    def begin(self) -> None:
        """Called when an attempt begins."""
        self._began = time.monotonic()

    def failed(self, error: RedlatchError) -> None:
        """Called when the attempt has failed."""
        if not self._complained or time.monotonic() - self._began > OUTAGE:
            logger.warning("the candidate for %r goes on after: %s", self._name, error)
        self._complained = True


def leader_of(report: Report) -> Optional[Party]:
    """Returns the leader in a report of the name, or None."""
    return next((party for party in report.parties if party.role != "waiter"), None)


class Election:
    """A candidate in an election, made by Client.elect(), for one `with` block. To be a candidate again, make another
    Election.

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
        self._cancel: Optional[Cancel] = None  # cancels the wait for the mutex
        self._changed = threading.Event()  # wakes the candidate's thread
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
        """Whether this candidate leads, as far as this process knows. Nothing is sent. False as soon as the lease is
        over."""
        hold = self._hold
        return hold is not None and not self._resigned and hold._alive() is not None

    def leader(self) -> Optional[Party]:
        """Asks the server for the leader. Returns None if nobody leads. `host` and `pid` are known for clients of
        redlatch.

        Example:
            >>> print(client.elect("scheduler").leader())
            None
        """
        return leader_of(self._client.inspect(self.name))

    def resign(self) -> None:
        """Ends the candidacy. If this candidate leads, on_loss() is called, and then the mutex is released. Returns
        when that is done. If a callback calls it, it returns at once, and the rest is done after the callback.
        Resigning twice is harmless.

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
        # Made here, not in __init__(): a forked child cannot use the parent's cancel object, and gevent may patch the
        # threads in between.
        self._cancel, self._changed = Cancel(), threading.Event()
        self._client._losses.watch()
        self._client._losses.wake_at_close(self._changed)
        self._thread = threading.Thread(target=self._run, name="redlatch-election", daemon=True)
        try:
            self._thread.start()
        except BaseException:  # Ctrl-C, or the SystemExit of a SIGTERM: __exit__() will not be called
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
            self._end()  # an error of the candidacy was logged

    def _end(self) -> None:
        self._resigned = True
        if self._cancel is not None:
            self._cancel.fire()
        self._changed.set()
        # A thread that has not started yet ends by itself.
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
        """Waits for the mutex. Returns None when the candidacy is over."""
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
                if isinstance(error, LockLostError):  # granted, but its lease ended before the reply came
                    lib.redlatch_lock_release_as(self._lock._handle, number)
                elif not may_pass(error):
                    raise
                complaints.failed(error)
                self._changed.clear()
                if not self._resigned:
                    self._changed.wait(RETRY)
        return None

    def _lead(self, hold: Hold) -> None:
        """Leads, from the grant to the loss or the release."""
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

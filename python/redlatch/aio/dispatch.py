"""The dispatcher of a client: it starts calls of the core, and wakes the tasks that wait for them.

The loop watches the client's one descriptor. When it is readable, collect() takes the events of the core until there
are no more. Each event completes the call that has its tag, or reports something else, such as a loss. No thread but
that of the loop is involved.

What happens to the call of a cancelled task:

- An acquire or another wait is cancelled in the core. The task goes on when the event of the call has come. If that is
  a grant, the grant is given back before the cancellation is raised.
- The task waits for the end of a release.
- A query goes on without the task. Its result is dropped.

A task that is destroyed, because its loop has ended, cannot wait. If its call is granted, the grant is given back when
its event is collected, or else by the core, because nobody claims it.

Only the loop keeps the calls in progress, by what it calls when the descriptor is readable. A call keeps the task that
waits for it, and a lock. So when asyncio's loop is closed, its tasks are garbage, and their holds end.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import inspect
import os
import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Coroutine, Dict, Generic, List, Optional, Tuple, TypeVar

from redlatch._ffi import CData, ffi, lib, new_record, text
from redlatch.aio.loops import Cancellation, Event, Loop, TaskLoop, Waker, running
from redlatch.client import stats_of
from redlatch.errors import (
    ClosedError,
    ForkedError,
    LockLostError,
    LockName,
    LossReason,
    RedlatchError,
    error_of,
    failure,
    reason_name,
)
from redlatch.expected import Expected
from redlatch.locks import LockHandle
from redlatch.losses import KnownLosses, logger, take_event
from redlatch.reports import own_report

if TYPE_CHECKING:
    from redlatch.aio.holds import Hold
    from redlatch.credentials import Renewal

AnyLoop = TypeVar("AnyLoop", bound=Loop)

_next_event = lib.redlatch_client_next_event
_OK: int = lib.REDLATCH_OK
_AGAIN: int = lib.REDLATCH_AGAIN
_TIMEOUT: int = lib.REDLATCH_TIMEOUT
_LOST: int = lib.REDLATCH_LOST
_UNASKED = (
    lib.REDLATCH_EVENT_LOST,
    lib.REDLATCH_EVENT_ABANDONED,
    lib.REDLATCH_EVENT_MOVED,
    lib.REDLATCH_EVENT_CREDENTIALS_REFUSED,
    lib.REDLATCH_EVENT_RELEASE_FAILED,
    lib.REDLATCH_EVENT_RENEWED_LATE,
)


class Call:
    """A started call, and the contents of its event."""

    __slots__ = (
        "done", "waiter", "tag", "arguments", "kept", "undo", "left", "status", "number", "serial", "message", "reason",
        "value",
    )  # fmt: skip

    def __init__(
        self, tag: int, arguments: Tuple[Any, ...], kept: Any, undo: Optional[Callable[[Call], object]]
    ) -> None:
        self.done = False
        self.waiter: Any = None  # what the loop wakes
        self.tag = tag
        self.arguments = arguments  # of the core's function
        self.kept = kept  # the object with the handle, until the event has come: the core may need it
        self.undo = undo  # gives back a grant that nobody takes
        self.left = False  # no task waits for it any more
        self.status: int = _OK
        self.number: int = 0
        self.serial: int = 0
        self.message = ""
        self.reason: int = 0
        self.value: CData = None  # a report, or a record of a lock's state

    def failure(self, name: Optional[LockName]) -> RedlatchError:
        """Returns the exception for a status that is not OK."""
        return error_of(self.status, self.message, self.reason, name)


class _Calls(Dict[int, Call]):
    """Calls in progress, by tag."""


class TaskLosses(KnownLosses):
    """The losses of a client for tasks."""

    ACTOR = "task"

    def __init__(self, uuid: str, expected: Expected[Hold]) -> None:
        super().__init__(uuid, expected)
        self._events: weakref.WeakValueDictionary[int, Event] = weakref.WeakValueDictionary()
        self._guards: Dict[int, List[Waker]] = {}
        self._at_close: weakref.WeakSet[Waker] = weakref.WeakSet()
        self._loop: Optional[TaskLoop] = None

    def begin(self, loop: TaskLoop, uuid: str) -> None:
        """Also notes the loop, for events and tasks in it."""
        super().begin(loop, uuid)
        self._loop = loop

    def note(self, serial: int, reason: Optional[LossReason]) -> None:
        """Also notifies the event and the guards of the hold."""
        super().note(serial, reason)
        if self._loop is not None and (serial in self._events or serial in self._guards):
            if self._loop.runs_here():
                self._tell(serial)
            else:  # another thread queried the hold
                self._loop.post(lambda: self._tell(serial))

    def _tell(self, serial: int) -> None:
        event = self._events.get(serial)
        if event is not None:
            event.set()
        for guard in self._guards.get(serial, [])[:]:  # a copy: a guard may be removed meanwhile
            guard.cancel()

    def guard(self, serial: int, guard: Waker) -> None:
        """Has guard.cancel() called when the hold is lost."""
        self._guards.setdefault(serial, []).append(guard)
        if self.knows(serial):
            guard.cancel()

    def unguard(self, serial: int, guard: Waker) -> None:
        """Ends guard()."""
        guards = self._guards[serial]
        guards.remove(guard)
        if not guards:
            del self._guards[serial]

    def act(self, serial: int) -> None:
        """Calls the functions for a lost hold, each once, in the loop. The call of a coroutine function becomes a
        task."""
        for call, hold in self._due(serial):
            try:
                result = call(hold)
            except Exception:
                _log_failed(hold)
            else:
                if inspect.isawaitable(result) and self._loop is not None:
                    self._loop.spawn(partial(_finish, result, hold))

    def wake_at_close(self, waker: Waker) -> None:
        """Has waker.cancel() called when the client is closed."""
        self._at_close.add(waker)

    def closed(self) -> None:
        """Called after the client was closed."""
        for waker in list(self._at_close):
            waker.cancel()

    def event(self, serial: int) -> Event:
        """Returns the event of a hold, the same one at each call."""
        assert self._loop is not None, "a hold was obtained in a loop"
        event = self._events.get(serial)
        if event is None:
            event = self._events[serial] = self._loop.new_event()
        if self.knows(serial):
            event.set()
        return event


class _Process:
    """The id of this process, without a system call for each call of a client."""

    pid = os.getpid()

    def forked(self) -> None:
        """Called in a forked child."""
        self.pid = os.getpid()


_process = _Process()
os.register_at_fork(after_in_child=_process.forked)


async def _finish(called: Awaitable[object], hold: Hold) -> None:
    try:
        await called
    except Exception:
        _log_failed(hold)


def _log_failed(hold: Hold) -> None:
    logger.exception("on_lost of the lock %r failed", hold._lock.name)


class AnyDispatcher(Generic[AnyLoop]):
    """The dispatcher of one client. From the first call on it belongs to one loop."""

    losses: KnownLosses

    def __init__(self, handle: CData, renewal: Optional[Renewal]) -> None:
        self.handle = handle
        self.loop: Optional[AnyLoop] = None
        self._renewal = renewal
        self._pid = 0  # the process of the loop; 0 before there is a loop
        self._guard = threading.Lock()  # for the choice of the loop
        self._record = new_record("redlatch_event")
        self._calls_of: Callable[[], Optional[_Calls]] = lambda: None
        self._last_tag = 0  # no call has the tag 0
        self._collecting = False

    def _running(self) -> AnyLoop:
        """Returns the loop that runs here."""
        raise NotImplementedError

    def bind(self) -> AnyLoop:
        """Returns the client's loop, and raises if another loop or none runs here. The first loop in which this is
        called becomes the client's."""
        loop = self.loop
        if loop is None:
            loop = self._begin()
        self.check_process()
        if not loop.runs_here():
            stats_of(self.handle)  # raises in a forked child, and when the client is closed
            self._running()  # raises if no loop runs here
            raise RuntimeError(
                "the client belongs to another event loop, the first in which it was used; expected a client that is "
                "opened in this loop"
            )
        return loop

    def check_process(self) -> None:
        """Raises a ForkedError if the client's loop is one of the parent process."""
        if self.is_of_parent():
            raise ForkedError(
                "the client belongs to an event loop of the parent process; expected a client that is opened in this "
                "process, or one of connect(lazy=True) that no loop had used before the fork"
            )

    def is_of_parent(self) -> bool:
        """Returns whether the loop belongs to a process from which this one was forked."""
        return self._pid not in (0, _process.pid)

    def _begin(self) -> AnyLoop:
        with self._guard:
            if self.loop is None:
                loop = self._running()
                descriptor = ffi.new("int *")
                status: int = lib.redlatch_client_event_fd(self.handle, descriptor)
                if status:
                    raise failure(status)
                calls = _Calls()
                self._calls_of = weakref.ref(calls)
                loop.watch(descriptor[0], partial(_collect, self, calls))
                self.losses.begin(loop, text(lib.redlatch_client_uuid(self.handle)))
                self._pid = _process.pid
                if self._renewal is not None:
                    self._renewal.resume()
                self.loop = loop
            return self.loop

    @property
    def _calls(self) -> _Calls:
        """The calls in progress; none if the loop was closed."""
        calls = self._calls_of()
        return _Calls() if calls is None else calls

    def unwatch(self) -> None:
        """Stops watching the descriptor. From now on this object keeps the calls in progress, until end()."""
        calls = self._calls
        self._calls_of = lambda: calls
        if self.loop is not None:
            self.loop.unwatch()

    def start(
        self,
        function: Callable[..., int],
        *arguments: Any,
        name: Optional[LockName],
        kept: Any,
        undo: Optional[Callable[[Call], object]] = None,
    ) -> Call:
        """Starts a call of the core. `undo` starts to give back a grant that nobody takes."""
        self._last_tag += 1
        tag = self._last_tag
        calls = self._calls
        call = calls[tag] = Call(tag, arguments, kept, undo)
        try:
            status = function(*arguments, tag)
        except KeyboardInterrupt:  # the call may have been started
            self._desert(call)
            raise
        except BaseException:
            del calls[tag]
            raise
        if status:
            del calls[tag]
            raise failure(status, name)
        return call

    def _desert(self, call: Call) -> None:
        """Called when no task will wait for the call any more. A call in progress is cancelled if it is a wait; a grant
        is given back."""
        if not call.done:
            call.left = True
            lib.redlatch_client_cancel(self.handle, call.tag)
        elif call.undo is not None and not call.status:
            call.undo(call)

    def give_back(self, function: Callable[..., int], *arguments: Any, kept: Any) -> Optional[Call]:
        """Starts to give back a grant that nobody has taken. Returns None if the client is closed: closing gives it
        back, too."""
        try:
            return self.start(function, *arguments, name=None, kept=kept)
        except RedlatchError:
            return None

    def cancel(self, call: Call) -> None:
        """Cancels an acquire or another wait. Its event comes at once, or soon."""
        lib.redlatch_client_cancel(self.handle, call.tag)
        self.collect()

    def leave(self, call: Call) -> None:
        """Lets a call go on without a task that waits for it."""
        if call.done:
            return
        call.left = call.done = True
        call.status = lib.REDLATCH_CANCELLED
        if call.waiter is not None and self.loop is not None:
            self.loop.wake(call.waiter)

    def finish(
        self, call: Call, cancel: Optional[Callable[[Call], None]] = None
    ) -> Coroutine[Any, Any, Optional[Cancellation]]:
        """Waits for the end of a call. `cancel` is called if the task is cancelled meanwhile.

        Returns:
            A coroutine. Its result is the cancellation, which the caller has to raise, or None.
        """
        assert self.loop is not None
        return self.loop.wait(call, cancel, self._desert)

    async def ask(
        self, function: Callable[..., int], *arguments: Any, name: Optional[LockName], kept: Any
    ) -> Call:
        """Makes a call that goes on if the task is cancelled; its result is dropped then."""
        loop = self.bind()
        if loop.checks:
            await loop.check()
        call = self.start(function, *arguments, name=name, kept=kept)
        cancellation = await self.finish(call, self.leave)
        if cancellation is not None:
            cancellation()
        if call.status:
            raise self._failure(call, name, kept)
        return call

    async def step(self, function: Callable[..., int], *arguments: Any, kept: Any) -> Call:
        """Makes a call that may end with AGAIN; then the caller makes it once more. A cancelled task waits for the end
        of the call, because the next call may be made only after that."""
        loop = self.bind()
        if loop.checks:
            await loop.check()
        call = self.start(function, *arguments, name=None, kept=kept)
        cancellation = await self.finish(call)
        if cancellation is not None:
            cancellation()
        if call.status and call.status != _AGAIN:
            raise call.failure(None)
        return call

    async def change(
        self,
        function: Callable[..., int],
        *arguments: Any,
        name: Optional[LockName],
        kept: Any,
        at_once: bool = False,
    ) -> Call:
        """Makes a call, and waits for its end even if the task is cancelled. `at_once`: the call completes when it is
        started, so its event is collected without a turn of the loop."""
        self.bind()
        call = self.start(function, *arguments, name=name, kept=kept)
        if at_once:
            self.collect()
        cancellation = await self.finish(call)
        error = self._failure(call, name, kept) if call.status else None
        if cancellation is not None:
            if error is not None and not isinstance(error, (LockLostError, ClosedError)):  # a loss has been logged
                logger.warning("a call on %r failed, and its task was cancelled: %s", name, error)
            cancellation()
        if error is not None:
            raise error
        return call

    async def wait(
        self,
        function: Callable[..., int],
        *arguments: Any,
        name: Optional[LockName],
        kept: Any,
        undo: Optional[Callable[[Call], Optional[Call]]] = None,
    ) -> Call:
        """Makes a call that waits. Its status is OK or TIMEOUT when this returns. `undo` starts to give back a grant
        that nobody takes."""
        loop = self.bind()
        if loop.checks:
            await loop.check()
        call = self.start(function, *arguments, name=name, kept=kept, undo=undo)
        cancellation = await self.finish(call, self.cancel)
        if cancellation is not None:
            if not call.status and undo is not None:
                undone = undo(call)
                if undone is not None:
                    await self.finish(undone)  # if it fails, the release goes on in the background
            if call.status == _LOST:
                self._failure(call, name, kept)  # logs the loss
            cancellation()
        if call.status and call.status != _TIMEOUT:
            raise self._failure(call, name, kept)
        return call

    def _failure(self, call: Call, name: Optional[LockName], kept: Any) -> RedlatchError:
        """Returns the exception for a status that is not OK. If a call has found a lock lost, the loss is logged here,
        after the events that came with the call's own: one of them may say since when the lease was over. A permit logs
        its loss itself."""
        reason = reason_name(call.reason)
        lost = call.status == _LOST and call.serial and self.losses.is_loss(call.serial, reason)
        if lost and isinstance(kept, LockHandle):
            self.losses.found(call.serial, "lock", kept.name, reason)
        return call.failure(name)

    def collect(self) -> None:
        """Takes the events that there are. Code that runs meanwhile may end tasks, and call this again.

        After the last call in progress has completed with OK, the core is not called once more, because it would read
        its socket in vain. If there is another event, such as a loss, the descriptor stays readable.
        """
        if self._collecting:
            return
        self._collecting = True
        try:
            record = self._record
            while True:
                status: int = _next_event(self.handle, record)
                if status:
                    break
                self._take(record)
                if not (self._calls or record.status or record.kind in _UNASKED):
                    status = _AGAIN
                    break
        finally:
            self._collecting = False
        if status != _AGAIN:
            self.end(status)

    def _take(self, record: CData) -> None:
        if record.kind in _UNASKED:
            take_event(record, self.losses)
            return
        # Nothing of the record is valid after the next event.
        report = own_report(record.report) if record.report else None
        call = self._calls.pop(record.tag, None)
        if call is None:
            return
        status: int = record.status
        call.number = record.number
        call.serial = record.serial
        if status:
            call.message = text(record.message)
            call.reason = record.reason
            reason = reason_name(record.reason)
            if status == _LOST and call.serial and self.losses.is_loss(call.serial, reason):
                self.losses.note(call.serial, reason)
        if report is not None:
            call.value = report
        elif record.state:
            call.value = ffi.new("redlatch_lock_state *", record.state[0])
        self._conclude(call, status)

    def _conclude(self, call: Call, status: int) -> None:
        call.status = status
        call.done = True
        call.kept = None
        if call.left:
            if not status and call.undo is not None:
                call.undo(call)
        elif call.waiter is not None and self.loop is not None:
            self.loop.wake(call.waiter)

    def end(self, status: int) -> None:
        """Ends all calls in progress with a status, and stops watching the descriptor: the client is closed, or can no
        longer be used."""
        self.unwatch()
        calls = self._calls
        while calls:
            _, call = calls.popitem()
            call.message = text(lib.redlatch_strerror(status))
            self._conclude(call, status)
        self.losses.closed()


def _collect(dispatcher: AnyDispatcher[Any], _calls: _Calls) -> None:
    """Called when the descriptor is readable. The loop keeps the calls in progress, as arguments of this."""
    dispatcher.collect()


class Dispatcher(AnyDispatcher[TaskLoop]):
    """The dispatcher of a client for tasks."""

    losses: TaskLosses

    def __init__(self, handle: CData, renewal: Optional[Renewal], expected: Expected[Hold]) -> None:
        super().__init__(handle, renewal)
        self.losses = TaskLosses(text(lib.redlatch_client_uuid(handle)), expected)

    def _running(self) -> TaskLoop:
        return running()

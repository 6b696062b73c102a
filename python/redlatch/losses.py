"""The losses of a client: what is remembered and logged of them, and who is notified. Also logs late renewals, failed
unconfirmed releases, a move to another server, and refused credentials.

The core reports a hold as lost until it is released. A Hold object may be queried after that, so known losses are
remembered here, by the serial of the hold.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Callable, List, Literal, Optional, Protocol, Tuple, TypeVar, Union

from redlatch._ffi import FOREVER, CData, lib, new_record, text
from redlatch.errors import LockName, LossReason, program_ends, reason_name
from redlatch.expected import Expected
from redlatch.green import hub_here, patched, refuse_eventlet

if TYPE_CHECKING:
    from redlatch.credentials import Renewal
    from redlatch.hub import HubDispatcher
    from redlatch.holds import BaseHold, Hold
    from redlatch.locks import LockHandle

Value = TypeVar("Value")

logger = logging.getLogger("redlatch")

# A function that is called when a hold is lost, and the values of a lock's option `on_lost`.
Call = Callable[["Hold"], object]
OnLost = Union[Literal["raise", "log"], Call]

# How many losses are remembered for Hold objects: far more than a program queries afterwards.
REMEMBERED = 4096
# How long close() waits for the end of the watching thread, in seconds.
END = 1.0
# How long a call that finds a lease over waits for the watching thread to log the loss, in seconds. The watching thread
# knows since when the lease is over.
LEFT_TO_WATCH = 0.2


def _remember(known: OrderedDict[int, Value], serial: int, value: Value) -> None:
    """Adds what is known of a hold, and forgets what was added first."""
    known[serial] = value
    if len(known) > REMEMBERED:
        known.popitem(last=False)


class KnownLosses:
    """The losses of one client that are known, and those that were logged."""

    ACTOR = "thread"  # the owner of locks without owner="handle", for messages

    def __init__(self, uuid: str, expected: Expected[Any]) -> None:
        self._uuid = uuid
        self._expected = weakref.ref(expected)  # see Expected
        self._reasons: OrderedDict[int, Optional[LossReason]] = OrderedDict()  # by serial
        self._owners: OrderedDict[int, str] = OrderedDict()  # owner ids of holds with several names, by serial
        self._logged: OrderedDict[int, None] = OrderedDict()  # the serials of losses that were logged
        self._left: OrderedDict[int, None] = OrderedDict()  # the serials of holds that their owners leave
        self._logging = threading.Condition()

    def begin(self, loop: Any, uuid: str) -> None:
        """Called when a loop begins to collect the events. `uuid` is that of the client in this process: a forked child
        has another one."""
        self._uuid = uuid

    def closed(self) -> None:
        """Called after the client was closed."""

    def note(self, serial: int, reason: Optional[LossReason]) -> None:
        """Remembers that a hold is lost, and why. Any thread may call it, any number of times."""
        _remember(self._reasons, serial, reason)

    def found(self, serial: int, what: str, name: LockName, reason: Optional[LossReason]) -> None:
        """Called when a call has found a hold lost. The loss is logged here, because no event reports a loss that the
        last release has found."""
        self.note(serial, reason)
        self.log(serial, what, name, reason, "was not over" if reason == "missing" else "was over")
        self.act(serial)

    def log(self, serial: int, what: str, name: LockName, reason: Optional[LossReason], lease: str) -> None:
        """Logs a loss, unless it was logged before. `lease` is the part of the message on the lease."""
        with self._logging:
            if serial in self._logged:
                return
            _remember(self._logged, serial, None)
            self._logging.notify_all()
        logger.warning("%s %r was lost (%s): owner %s, its lease %s", what, name, reason, self.owner(serial), lease)

    def expect(self, serial: int, call: Callable[[Any], object], hold: BaseHold) -> None:
        """Has a function called when a hold is lost; see act()."""
        expected = self._expected()
        if expected is not None:
            expected.add(serial, call, hold)
        if self.knows(serial):  # the loss came first
            self.act(serial)

    def released(self, serial: int, lock: LockHandle, number: int) -> None:
        """Called when an owner has released one acquire of a hold. After the last one the functions for this hold are
        dropped."""
        expected = self._expected()
        if expected is not None:
            expected.released(serial, lock, number)

    def act(self, serial: int) -> None:
        """Calls the functions for a lost hold, each once."""
        raise NotImplementedError

    def _due(self, serial: int) -> List[Tuple[Callable[[Any], Any], Any]]:
        """Removes and returns the functions for a lost hold."""
        expected = self._expected()
        return [] if expected is None else expected.take(serial)

    def leave(self, serial: int) -> None:
        """Called before an owner leaves a hold. From now on the end of its lease is no loss."""
        _remember(self._left, serial, None)

    def is_loss(self, serial: int, reason: Optional[LossReason]) -> bool:
        """Returns whether this end of a hold is a loss."""
        return reason != "expired" or serial not in self._left

    def knows(self, serial: int) -> bool:
        """Returns whether this hold is known to be lost."""
        return serial in self._reasons

    def reason(self, serial: int) -> Optional[LossReason]:
        """Returns why this hold was lost. Returns None if the reason, or a loss, is not known."""
        return self._reasons.get(serial)

    def note_owner(self, serial: int, owner: str) -> None:
        """Remembers the owner id of a hold with several names: the id of its first member's hold."""
        _remember(self._owners, serial, owner)

    def owner(self, serial: int) -> str:
        """Returns the owner id of a hold."""
        return self._owners.get(serial) or f"{self._uuid}:{serial}"


class Opened(Protocol):
    """What locks, semaphores and latches need of their client."""

    @property
    def _handle(self) -> CData: ...

    @property
    def _losses(self) -> KnownLosses: ...

    @property
    def closed(self) -> bool:
        """Whether close() was called."""

    @property
    def uuid(self) -> str:
        """The first part of the client's owner ids, in this process."""


class Losses(KnownLosses):
    """The losses of a client for threads. A daemon thread waits for their events. It starts with the first lock, permit
    semaphore or change of credentials; if the client searches for its server or has a credential provider, it starts
    with the client. Where threads are greenlets, a dispatcher in the hub takes the place of this thread."""

    def __init__(self, handle: CData, expected: Expected[Hold], renewal: Optional[Renewal] = None) -> None:
        super().__init__(text(lib.redlatch_client_uuid(handle)), expected)
        self._handle = handle
        self._renewal = renewal  # its thread is missing in a forked child, too
        self._events: weakref.WeakValueDictionary[int, threading.Event] = weakref.WeakValueDictionary()
        self._guard = threading.RLock()  # reentrant: a signal handler or finaliser in between may make a lock
        self._starting = False
        self._thread: Optional[threading.Thread] = None
        self._dispatcher: Optional[HubDispatcher] = None
        self._at_close: weakref.WeakSet[threading.Event] = weakref.WeakSet()
        _everybody.add(self)

    def begin_child(self) -> None:
        """Called in a forked child. The watching thread is missing there, and another thread of the parent may have
        held the mutexes. The watching thread and the thread of the credentials start at the first use."""
        self._logging = threading.Condition()
        self._guard = threading.RLock()
        self._starting = False
        self._thread = None
        expected = self._expected()
        if expected is not None:
            expected.begin()
        if self._dispatcher is not None:
            self._dispatcher.begin_child()
            self._dispatcher = None

    def dispatcher(self) -> Optional[HubDispatcher]:
        """Returns the dispatcher for the calling greenlet. Returns None if the caller is a thread, or a greenlet of
        another hub (see green.py)."""
        if "gevent.monkey" not in sys.modules or hub_here() is None:  # the first test is quick, and mostly decides
            return None
        dispatcher = self._dispatcher
        if dispatcher is None:
            from redlatch.hub import HubDispatcher

            with self._guard:  # another hub may begin at the same time
                if self._dispatcher is None:
                    self._dispatcher = HubDispatcher(self._handle, self, self._renewal)
                dispatcher = self._dispatcher
        return dispatcher if dispatcher.is_here() else None

    def note(self, serial: int, reason: Optional[LossReason]) -> None:
        """Also sets the event of the hold."""
        super().note(serial, reason)
        event = self._events.get(serial)
        if event is not None:
            event.set()

    def found(self, serial: int, what: str, name: LockName, reason: Optional[LossReason]) -> None:
        """First gives the watching thread or the dispatcher a moment to log the loss: they know since when the lease is
        over."""
        self.note(serial, reason)
        dispatcher = self.dispatcher()
        if dispatcher is not None:
            dispatcher.collect()
        elif reason != "missing" and self._thread is not None and self._thread.is_alive():
            with self._logging:
                self._logging.wait_for(lambda: serial in self._logged, LEFT_TO_WATCH)
        super().found(serial, what, name, reason)

    def event(self, serial: int) -> threading.Event:
        """Returns the event of a hold, the same one at each call."""
        with self._guard:
            self._watch()
            event = self._events.get(serial)
            if event is None:
                event = self._events[serial] = threading.Event()
        if self.knows(serial):
            event.set()
        return event

    def watch(self) -> None:
        """Starts the watching thread, unless Python is ending: then no thread can start any more."""
        if self._thread is None:
            try:
                with self._guard:
                    self._watch()
            except RuntimeError as error:  # a RuntimeError of a signal handler is raised
                if "new thread" not in str(error):
                    raise

    def act(self, serial: int) -> None:
        """Calls the functions for a lost hold, each once, in the thread that finds the loss."""
        calls = self._due(serial)
        if calls and hub_here() is not None:  # the functions may wait, and the dispatcher must not
            threading.Thread(target=self._make, args=(calls,), daemon=True).start()
        else:
            self._make(calls)

    def _make(self, calls: List[Tuple[Call, Hold]]) -> None:
        ends: Optional[BaseException] = None
        for call, hold in calls:
            try:
                call(hold)
            except Exception:
                logger.exception("on_lost of the lock %r failed", hold._lock.name)
            except BaseException as error:  # sys.exit() or Ctrl-C, which may not cost the other functions their calls
                ends = ends or error
        if ends is not None:
            raise ends

    def wake_at_close(self, event: threading.Event) -> None:
        """Has an event set when the client is closed."""
        with self._guard:
            self._at_close.add(event)

    def closed(self) -> None:
        """Called after the client was closed."""
        with self._guard:
            events = list(self._at_close)
        for event in events:
            event.set()

    def close(self) -> int:
        """Closes the client. Returns the status of the core."""
        dispatcher = self._dispatcher
        status: int = lib.redlatch_client_close(self._handle) if dispatcher is None else dispatcher.close()
        return status

    def join(self) -> None:
        """Waits for the end of the watching thread after the client was closed, at most END."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(END)

    def _watch(self) -> None:
        if self._thread is not None or self._starting:
            return
        if patched():  # a thread would be a greenlet, and its wait in the core would block the hub
            self.dispatcher()
            return
        refuse_eventlet()
        self._starting = True
        try:
            # The core keeps losses from the first such call on, so none is missed while the thread is starting.
            lib.redlatch_client_wait_lost(self._handle, 0, new_record("redlatch_event"))
            self._uuid = text(lib.redlatch_client_uuid(self._handle))
            if self._renewal is not None:
                self._renewal.resume()
            thread = threading.Thread(
                target=_watch, args=(self._handle, weakref.ref(self)), name="redlatch-losses", daemon=True
            )
            thread.start()
            self._thread = thread  # only now: if a signal handler raises in start(), the next call starts another
        finally:
            self._starting = False


# Those of all clients, for a forked child.
_everybody: weakref.WeakSet[Losses] = weakref.WeakSet()


def _begin_child() -> None:
    for losses in list(_everybody):
        losses.begin_child()


os.register_at_fork(after_in_child=_begin_child)


def _watch(handle: CData, losses_of: weakref.ref[Losses]) -> None:
    """Takes a client's events until the client is closed or garbage-collected; collection closes it. The thread keeps
    the handle alive, not the client. Each event wakes it, and so does the end of the client."""
    record = new_record("redlatch_event")
    while True:
        status: int = lib.redlatch_client_wait_lost(handle, FOREVER, record)
        losses = losses_of()
        if losses is None:
            return
        if status:
            losses.closed()
            return
        try:
            take_event(record, losses)
        except BaseException as error:  # of a logging handler, or the SystemExit of a function of on_lost
            if isinstance(error, SystemExit) and program_ends():
                return
            _report(error)
        del losses


def _report(error: BaseException) -> None:
    """Reports an exception in the watching thread. The thread goes on, because later losses have to be found, too."""
    try:
        logger.error("the handling of a loss ended with %s", type(error).__name__, exc_info=error)
    except Exception:  # of a logging handler
        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))


def take_event(record: CData, losses: KnownLosses) -> None:
    """Notes and logs an event that completes no call."""
    if record.kind == lib.REDLATCH_EVENT_MOVED:
        logger.warning("the client moved from %s to %s", text(record.old_address), text(record.new_address))
        return
    if record.kind == lib.REDLATCH_EVENT_CREDENTIALS_REFUSED:
        logger.warning("%s", text(record.message))
        return
    name, serial, owner = text(record.name), record.serial, losses.owner(record.serial)
    if record.kind == lib.REDLATCH_EVENT_RENEWED_LATE:
        seconds = record.number / 1000
        logger.warning("lock %r was renewed late: owner %s, %.3f s after the renewal before", name, owner, seconds)
        return
    if record.kind == lib.REDLATCH_EVENT_RELEASE_FAILED:
        if record.status == lib.REDLATCH_LOST:
            losses.note(serial, reason_name(record.reason))
        logger.warning("%s: owner %s, which did not wait for the reply", text(record.message), owner)
        return
    reason = reason_name(record.reason)
    if not losses.is_loss(serial, reason):
        return
    losses.note(serial, reason)  # before logging, whose handlers may take long
    if record.kind == lib.REDLATCH_EVENT_ABANDONED:
        # The hold is no longer renewed. Work under it has to stop, although its last lease is not over yet.
        actor = losses.ACTOR
        logger.warning("lock %r is no longer renewed: owner %s, the %s that held it has ended", name, owner, actor)
    else:
        over = "was not over" if reason == "missing" else f"had been over for {record.number / 1000:.3f} s"
        what = text(record.message).partition(" of ")[0]  # "hold", or "permit" with its id
        losses.log(serial, "lock" if what == "hold" else f"{what} of", name, reason, over)
    losses.act(serial)

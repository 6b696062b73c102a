"""Which holds of a client were lost or renewed late, who is to be told, and what is logged of it; also that the client
moved to another server, and that a server refused its credentials.

The core says that a hold is lost for as long as it is not released. A Hold object may be asked later, so what was seen
to be lost is remembered here by the hold's serial number.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Callable, List, Literal, Optional, Protocol, Tuple, Union

from redlatch._ffi import FOREVER, CData, lib, new_record, text
from redlatch.errors import LockName, LossReason, reason_name
from redlatch.expected import Expected
from redlatch.green import hub_here, patched, refuse_eventlet

if TYPE_CHECKING:
    from redlatch.credentials import Renewal
    from redlatch.hub import HubDispatcher
    from redlatch.holds import Hold
    from redlatch.locks import Lock

logger = logging.getLogger("redlatch")

# What is called when a hold is lost, and what a lock may have as `on_lost`.
Call = Callable[["Hold"], object]
OnLost = Union[Literal["raise", "log"], Call]

# Losses remembered for Hold objects that somebody may still ask; far more than any program looks back.
REMEMBERED = 4096
# How long close() waits for the end of the watching thread, in seconds.
END = 1.0
# A call that finds a lease over leaves it to the watching thread to log that, which knows since when; so long, in
# seconds.
LEFT_TO_WATCH = 0.2


class KnownLosses:
    """The losses of one client that were seen and logged."""

    ACTOR = "thread"  # what owns locks that no handle owns

    def __init__(self, uuid: str) -> None:
        self._uuid = uuid
        self._reasons: OrderedDict[int, Optional[LossReason]] = OrderedDict()  # by serial
        self._owners: OrderedDict[int, str] = OrderedDict()  # of holds of several names, whose serials are no owner ids
        self._logged: OrderedDict[int, None] = OrderedDict()  # the serials of losses that were logged
        self._logging = threading.Condition()

    def begin(self, loop: Any, uuid: str) -> None:
        """From now on a loop takes the events. The uuid is another one than at first in a forked child."""
        self._uuid = uuid

    def closed(self) -> None:
        """The client was closed."""

    def note(self, serial: int, reason: Optional[LossReason]) -> None:
        """Remembers that a hold is lost, and why. Any thread, any number of times."""
        self._reasons[serial] = reason
        if len(self._reasons) > REMEMBERED:
            self._reasons.popitem(last=False)

    def found(self, serial: int, what: str, name: LockName, reason: Optional[LossReason]) -> None:
        """A call has found a hold lost. What the last release finds is told to nobody else, so it is logged here."""
        self.note(serial, reason)
        self.log(serial, what, name, reason, "was not over" if reason == "missing" else "was over")
        self.act(serial)

    def log(self, serial: int, what: str, name: LockName, reason: Optional[LossReason], lease: str) -> None:
        """Logs a loss, unless it was."""
        with self._logging:
            if serial in self._logged:
                return
            self._logged[serial] = None
            if len(self._logged) > REMEMBERED:
                self._logged.popitem(last=False)
            self._logging.notify_all()
        logger.warning("%s %r was lost (%s): owner %s, its lease %s", what, name, reason, self.owner(serial), lease)

    def act(self, serial: int) -> None:
        """Does what follows a loss beside what note() does: nothing here."""

    def knows(self, serial: int) -> bool:
        """Whether this hold was seen to be lost."""
        return serial in self._reasons

    def reason(self, serial: int) -> Optional[LossReason]:
        """Why this hold was lost; None if it was not, as far as was seen."""
        return self._reasons.get(serial)

    def note_owner(self, serial: int, owner: str) -> None:
        """Remembers the owner id of a hold of several names: that of its first member."""
        self._owners[serial] = owner
        if len(self._owners) > REMEMBERED:
            self._owners.popitem(last=False)

    def owner(self, serial: int) -> str:
        """The owner id of a hold."""
        return self._owners.get(serial) or f"{self._uuid}:{serial}"


class Opened(Protocol):
    """What the objects of a client need of it."""

    @property
    def _handle(self) -> CData: ...

    @property
    def _losses(self) -> KnownLosses: ...

    @property
    def closed(self) -> bool:
        """Whether it was closed."""

    @property
    def uuid(self) -> str:
        """The first part of its owner ids, in this process."""


class Losses(KnownLosses):
    """The losses of a client that threads use. A daemon thread waits for them from the first lock on, from the first
    new credentials on, or where the server may become another one, from the beginning. Where threads are greenlets, a
    dispatcher in the hub takes their place."""

    def __init__(self, handle: CData, renewal: Optional[Renewal] = None) -> None:
        super().__init__(text(lib.redlatch_client_uuid(handle)))
        self._handle = handle
        self._renewal = renewal  # whose thread a forked child lacks, too
        self._events: weakref.WeakValueDictionary[int, threading.Event] = weakref.WeakValueDictionary()
        self._guard = threading.RLock()  # a signal handler, or a finaliser, may come in between and make a lock, too
        self._starting = False
        self._thread: Optional[threading.Thread] = None
        self._dispatcher: Optional[HubDispatcher] = None
        self._expected: Expected[Hold] = Expected()
        self._at_close: weakref.WeakSet[threading.Event] = weakref.WeakSet()
        _everybody.add(self)

    def begin_child(self) -> None:
        """In a forked child: the thread is not there, and any of the others may have had what it locks. The thread, and
        that of the credentials, start at the first use."""
        self._logging = threading.Condition()
        self._guard = threading.RLock()
        self._starting = False
        self._thread = None
        self._expected = Expected()  # without what is to be called of the parent's holds
        if self._dispatcher is not None:
            self._dispatcher.begin_child()
            self._dispatcher = None

    def dispatcher(self) -> Optional[HubDispatcher]:
        """What makes the calls of a greenlet; None if the caller is a thread, or of another hub (see green.py)."""
        if "gevent.monkey" not in sys.modules or hub_here() is None:  # the first is quick, and suffices mostly
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
        """Also tells who waits for that."""
        super().note(serial, reason)
        event = self._events.get(serial)
        if event is not None:
            event.set()

    def found(self, serial: int, what: str, name: LockName, reason: Optional[LossReason]) -> None:
        """Leaves it for a moment to whoever watches to log since when a lease is over."""
        self.note(serial, reason)
        dispatcher = self.dispatcher()
        if dispatcher is not None:
            dispatcher.collect()
        elif reason != "missing" and self._thread is not None and self._thread.is_alive():
            with self._logging:
                self._logging.wait_for(lambda: serial in self._logged, LEFT_TO_WATCH)
        super().found(serial, what, name, reason)

    def event(self, serial: int) -> threading.Event:
        """The event of a hold: one, however often it is asked for."""
        with self._guard:
            self._watch()
            event = self._events.get(serial)
            if event is None:
                event = self._events[serial] = threading.Event()
        if self.knows(serial):
            event.set()
        return event

    def watch(self) -> None:
        """Waits from now on, unless Python is ending, when no thread starts any more."""
        if self._thread is None:
            try:
                with self._guard:
                    self._watch()
            except RuntimeError as error:  # but not one of a signal handler
                if "new thread" not in str(error):
                    raise

    def expect(self, serial: int, call: Call, hold: Hold) -> None:
        """Has something called when a hold is lost, by the thread that finds it out."""
        self._expected.add(serial, call, hold)
        if self.knows(serial):  # it was lost before anybody expected it
            self.act(serial)

    def released(self, serial: int, lock: Lock, number: int) -> None:
        """An owner released one level of a hold: after the last one nothing is to be called."""
        self._expected.released(serial, lock, number)

    def act(self, serial: int) -> None:
        """Calls what is to be called of a hold that is lost; once."""
        calls = self._expected.take(serial)
        if calls and hub_here() is not None:  # they may wait, and the dispatcher must not
            threading.Thread(target=self._make, args=(calls,), daemon=True).start()
        else:
            self._make(calls)

    def _make(self, calls: List[Tuple[Call, Hold]]) -> None:
        for call, hold in calls:
            try:
                call(hold)
            except Exception:
                logger.exception("on_lost of the lock %r failed", hold._lock.name)

    def wake_at_close(self, event: threading.Event) -> None:
        """Has an event set when the client is closed."""
        with self._guard:
            self._at_close.add(event)

    def closed(self) -> None:
        """The client was closed."""
        with self._guard:
            events = list(self._at_close)
        for event in events:
            event.set()

    def close(self) -> int:
        """Closes the client; the status of the core."""
        dispatcher = self._dispatcher
        status: int = lib.redlatch_client_close(self._handle) if dispatcher is None else dispatcher.close()
        return status

    def join(self) -> None:
        """Lets the thread end, after the client was closed; at most for a moment."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(END)

    def _watch(self) -> None:
        if self._thread is not None or self._starting:
            return
        if patched():  # a thread would be a greenlet, and halt the hub in the core
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
            self._thread = thread  # not before: a signal handler may raise in start(), and the next call starts another
        finally:
            self._starting = False


# Of all clients, for a forked child.
_everybody: weakref.WeakSet[Losses] = weakref.WeakSet()


def _begin_child() -> None:
    for losses in list(_everybody):
        losses.begin_child()


os.register_at_fork(after_in_child=_begin_child)


def _watch(handle: CData, losses_of: weakref.ref[Losses]) -> None:
    """Waits until the client is closed, or collected: that closes it. The handle is kept, not the client. Every loss
    wakes it, and the client's end."""
    record = new_record("redlatch_event")
    while True:
        status: int = lib.redlatch_client_wait_lost(handle, FOREVER, record)
        losses = losses_of()
        if losses is None:
            return
        if status:
            losses.closed()
            return
        take_event(record, losses)
        del losses


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
    losses.note(serial, reason)  # before a handler of the log takes its time
    if record.kind == lib.REDLATCH_EVENT_ABANDONED:
        # Nobody renews it any more: whoever works under it has to stop, though its last lease is not over yet.
        actor = losses.ACTOR
        logger.warning("lock %r is no longer renewed: owner %s, the %s that held it has ended", name, owner, actor)
    else:
        over = "was not over" if reason == "missing" else f"had been over for {record.number / 1000:.3f} s"
        what = text(record.message).partition(" of ")[0]  # "hold", or "permit" with its id
        losses.log(serial, "lock" if what == "hold" else f"{what} of", name, reason, over)
    losses.act(serial)

"""Which holds of a client were lost, and who is to be told; also that the client moved to another server, and that a
server refused its credentials.

The core says that a hold is lost for as long as it is not released. A Hold object may be asked later, so what was seen
to be lost is remembered here by the hold's serial number.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections import OrderedDict
from typing import Optional, Protocol

from redlatch._ffi import FOREVER, CData, lib, new_record, text
from redlatch.errors import LossReason, reason_name
from redlatch.owners import GREEN

logger = logging.getLogger("redlatch")

# Losses remembered for Hold objects that somebody may still ask; far more than any program looks back.
REMEMBERED = 4096
# How long close() waits for the end of the watching thread, in seconds.
END = 1.0
# Where threads are greenlets, the watching thread must not stay in a call at all: it looks this often, in seconds.
GREEN_POLL = 0.05


class KnownLosses:
    """The losses of one client that were seen."""

    def __init__(self) -> None:
        self._reasons: OrderedDict[int, Optional[LossReason]] = OrderedDict()  # by serial

    def note(self, serial: int, reason: Optional[LossReason]) -> None:
        """Remembers that a hold is lost, and why. Any thread, any number of times."""
        self._reasons[serial] = reason
        if len(self._reasons) > REMEMBERED:
            self._reasons.popitem(last=False)

    def knows(self, serial: int) -> bool:
        """Whether this hold was seen to be lost."""
        return serial in self._reasons

    def reason(self, serial: int) -> Optional[LossReason]:
        """Why this hold was lost; None if it was not, as far as was seen."""
        return self._reasons.get(serial)


class Opened(Protocol):
    """What the objects of a client need of it."""

    @property
    def _handle(self) -> CData: ...

    @property
    def _losses(self) -> KnownLosses: ...

    @property
    def closed(self) -> bool:
        """Whether it was closed."""


class Losses(KnownLosses):
    """The losses of a client that threads use. A daemon thread waits for them from the first use of an event on, from
    the first new credentials on, or where the server may become another one, from the beginning."""

    def __init__(self, handle: CData) -> None:
        super().__init__()
        self._handle = handle
        self._pid = os.getpid()
        self._events: weakref.WeakValueDictionary[int, threading.Event] = weakref.WeakValueDictionary()
        self._guard = threading.Lock()
        self._thread: Optional[threading.Thread] = None

    def note(self, serial: int, reason: Optional[LossReason]) -> None:
        """Also tells who waits for that."""
        super().note(serial, reason)
        event = self._events.get(serial)
        if event is not None:
            event.set()

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
        """Waits from now on."""
        with self._guard:
            self._watch()

    def join(self) -> None:
        """Lets the thread end, after the client was closed; at most for a moment."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread() and os.getpid() == self._pid:
            thread.join(END)

    def _watch(self) -> None:
        if self._thread is not None:
            return
        # The core keeps losses from the first such call on, so none is missed while the thread is starting.
        lib.redlatch_client_wait_lost(self._handle, 0, new_record("redlatch_event"))
        thread = threading.Thread(
            target=_watch, args=(self._handle, weakref.ref(self)), name="redlatch-losses", daemon=True
        )
        thread.start()
        self._thread = thread  # not before: a signal handler may raise in start(), and the next call starts another


def _watch(handle: CData, losses_of: weakref.ref[Losses]) -> None:
    """Waits until the client is closed, or collected: that closes it. The handle is kept, not the client. Every loss
    wakes it, and the client's end."""
    record = new_record("redlatch_event")
    while True:
        if GREEN:
            time.sleep(GREEN_POLL)
        status: int = lib.redlatch_client_wait_lost(handle, 0 if GREEN else FOREVER, record)
        if status not in (lib.REDLATCH_OK, lib.REDLATCH_AGAIN):
            return
        losses = losses_of()
        if losses is None:
            return
        if status == lib.REDLATCH_OK:
            take_event(record, losses, "thread")
        del losses


def take_event(record: CData, losses: KnownLosses, actor: str) -> None:
    """Notes or logs an event that completes no call; `actor` is what owns locks that no handle owns."""
    if record.kind == lib.REDLATCH_EVENT_MOVED:
        logger.warning("the client moved from %s to %s", text(record.old_address), text(record.new_address))
        return
    if record.kind == lib.REDLATCH_EVENT_CREDENTIALS_REFUSED:
        logger.warning("%s", text(record.message))
        return
    if record.kind == lib.REDLATCH_EVENT_ABANDONED:
        # Nobody renews it any more: whoever works under it has to stop, though its last lease is not over yet.
        logger.warning("lock %r is no longer renewed: the %s that held it has ended", text(record.name), actor)
    losses.note(record.serial, reason_name(record.reason))

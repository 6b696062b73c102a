"""Which holds of a client were lost, and who is to be told.

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
from typing import Optional

from redlatch._ffi import CData, lib, new_record, text
from redlatch.owners import GREEN

logger = logging.getLogger("redlatch")

# Losses remembered for Hold objects that somebody may still ask; far more than any program looks back.
REMEMBERED = 4096
# How long the watching thread stays in one call. It is woken by every loss and by the client's end.
LOOK_MS = 1000
# Where threads are greenlets, it must not stay there at all: it looks this often, in seconds.
GREEN_LOOK = 0.05


class Losses:
    """The losses of one client. A daemon thread waits for them from the first use of an event on."""

    def __init__(self, handle: CData) -> None:
        self._handle = handle
        self._pid = os.getpid()
        self._serials: OrderedDict[int, None] = OrderedDict()
        self._events: weakref.WeakValueDictionary[int, threading.Event] = weakref.WeakValueDictionary()
        self._guard = threading.Lock()
        self._thread: Optional[threading.Thread] = None

    def note(self, serial: int) -> None:
        """Remembers that a hold is lost and tells who waits for that. Any thread, any number of times."""
        self._serials[serial] = None
        if len(self._serials) > REMEMBERED:
            self._serials.popitem(last=False)
        event = self._events.get(serial)
        if event is not None:
            event.set()

    def knows(self, serial: int) -> bool:
        """Whether this hold was seen to be lost."""
        return serial in self._serials

    def event(self, serial: int) -> threading.Event:
        """The event of a hold: one, however often it is asked for."""
        with self._guard:
            if self._thread is None:
                self._start()
            event = self._events.get(serial)
            if event is None:
                event = self._events[serial] = threading.Event()
        if self.knows(serial):
            event.set()
        return event

    def join(self) -> None:
        """Lets the thread end, after the client was closed; at most for a moment."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread() and os.getpid() == self._pid:
            thread.join(LOOK_MS / 1000)

    def _start(self) -> None:
        # The core keeps losses from the first such call on, so none is missed while the thread is starting.
        record = new_record("redlatch_event")
        if lib.redlatch_client_wait_lost(self._handle, 0, record) == lib.REDLATCH_OK:
            _take(record, self)
        self._thread = threading.Thread(
            target=_watch, args=(self._handle, weakref.ref(self)), name="redlatch-losses", daemon=True
        )
        self._thread.start()


def _watch(handle: CData, losses_of: weakref.ref[Losses]) -> None:
    """Waits until the client is closed, or collected: that closes it. The handle is kept, not the client."""
    record = new_record("redlatch_event")
    while True:
        if GREEN:
            time.sleep(GREEN_LOOK)
        status: int = lib.redlatch_client_wait_lost(handle, 0 if GREEN else LOOK_MS, record)
        if status not in (lib.REDLATCH_OK, lib.REDLATCH_AGAIN):
            return
        losses = losses_of()
        if losses is None:
            return
        if status == lib.REDLATCH_OK:
            _take(record, losses)
        del losses


def _take(record: CData, losses: Losses) -> None:
    if record.kind == lib.REDLATCH_EVENT_ABANDONED:
        # Nobody renews it any more: whoever works under it has to stop, though its last lease is not over yet.
        logger.warning("lock %r is no longer renewed: the thread that held it has ended", text(record.name))
    losses.note(record.serial)

"""The owner numbers of threads. They are issued by the core, because the system's thread ids repeat.

The number is kept in a threading.local(). gevent replaces that class, so a greenlet is an owner in the same way as a
thread. The number is passed with every call: the core never determines the calling thread by itself.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Callable, Optional

from redlatch._ffi import FOREVER, CData, ffi, lib
from redlatch.errors import failure

# Python runs signal handlers in the main thread only, between two calls of the core. Ctrl-C must take effect within 100
# ms.
MAX_BLOCK_MS = 50

def new_number() -> int:
    """Returns a new owner number. No number is issued twice in a process."""
    number = ffi.new("uint64_t *")
    status: int = lib.redlatch_owner_new(number)
    if status:
        raise failure(status)
    return int(number[0])


class Wait:
    """The record of one acquire (see python_wait.h)."""

    __slots__ = ("record", "hold")

    def __init__(self, max_block_ms: int) -> None:
        record_out = ffi.new("redlatch_python_wait **")
        status: int = lib.redlatch_python_wait_new(max_block_ms, record_out)
        if status:
            raise failure(status)
        self.record: CData = ffi.gc(record_out[0], lib.redlatch_python_wait_free)
        self.hold: CData = ffi.buffer(ffi.addressof(self.record, "hold"))  # the bytes of the redlatch_hold


class Caller:
    """What belongs to one thread: its owner number, and a record for its next acquire."""

    __slots__ = ("number", "max_block_ms", "idle_wait", "_pid")

    def __init__(self, number: int = 0) -> None:
        self._pid = os.getpid()
        self.number = number or new_number()
        self.max_block_ms = max_block_ms()
        # None while an acquire uses the record: a signal handler or finaliser that interrupts this acquire, and
        # acquires, makes another record. Also None before the first acquire, and after the record was abandoned.
        self.idle_wait: Optional[Wait] = None

    def __del__(self, getpid: Callable[[], int] = os.getpid, owner_end: CData = lib.redlatch_owner_end) -> None:
        # The thread has ended. In a forked child this also runs for the parent's other threads, which live on in the
        # parent.
        if getattr(self, "number", 0) and getpid() == self._pid:
            owner_end(self.number)


def max_block_ms() -> int:
    """Returns how long one call of the core may block the calling thread."""
    return MAX_BLOCK_MS if threading.current_thread() is threading.main_thread() else FOREVER


_local = threading.local()
_unpatched: Optional[threading.local] = None  # the value of _local before gevent patched the threads


def current() -> Caller:
    """Returns the Caller of the calling thread."""
    global _local, _unpatched
    if type(_local) is not threading.local:
        _unpatched, _local = _local, threading.local()
    try:
        caller: Caller = _local.caller
    except AttributeError:
        caller = _local.caller = _from_before() or Caller()
    return caller


def _from_before() -> Optional[Caller]:
    """Returns the Caller that the thread had before gevent patched the threads, if the thread's first greenlet calls;
    else None."""
    if _unpatched is None or sys.modules["greenlet"].getcurrent().parent is not None:
        return None
    return getattr(_unpatched, "caller", None)


def _begin_child() -> None:
    # The thread that forked is the main thread of the child, whatever it was in the parent. It keeps its owner number:
    # by this the core knows on which holds of the parent its calls must return FORKED.
    global _local, _unpatched
    caller: Optional[Caller] = getattr(_local, "caller", None)
    _local, _unpatched = threading.local(), None
    if caller is not None:
        _local.caller = Caller(caller.number)


os.register_at_fork(after_in_child=_begin_child)

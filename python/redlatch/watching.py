"""Waiting until a name is free, without taking it, so that Ctrl-C ends it at once.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import threading
import time
from typing import List, Optional, Union

from redlatch._ffi import FOREVER, CData, ffi, lib
from redlatch.errors import LockName, RedlatchError, failure
from redlatch.owners import GREEN, is_main_thread

# Where threads are greenlets a call into the core halts them all: there the server is asked at growing intervals.
_GREEN_PAUSE_FIRST, _GREEN_PAUSE_MAX = 0.005, 0.25

_Outcome = Union[bool, RedlatchError]


def wait_free(client: CData, name: LockName, data: bytes, wait_ms: int) -> bool:
    """Whether the name became free in time."""
    if GREEN and wait_ms != 0:
        return _ask_again_and_again(client, name, data, wait_ms)
    if wait_ms == 0 or not is_main_thread():
        return _answer(_wait(client, name, data, wait_ms, ffi.NULL))
    return _wait_beside(client, name, data, wait_ms)


def _wait(client: CData, name: LockName, data: bytes, wait_ms: int, cancel: CData) -> _Outcome:
    status: int = lib.redlatch_wait_free(client, data, len(data), wait_ms, cancel)
    if status and status != lib.REDLATCH_TIMEOUT:
        return failure(status, name)  # its words are those of this thread
    return status == 0


def _answer(outcome: _Outcome) -> bool:
    if isinstance(outcome, RedlatchError):
        raise outcome
    return outcome


def _wait_beside(client: CData, name: LockName, data: bytes, wait_ms: int) -> bool:
    """Python runs signal handlers in the main thread, between two calls into the core: another thread makes the call."""
    cancel_out = ffi.new("redlatch_cancel **")
    status: int = lib.redlatch_cancel_new(cancel_out)
    if status:
        raise failure(status, name)
    cancel = ffi.gc(cancel_out[0], lib.redlatch_cancel_free)
    outcomes: List[_Outcome] = []
    thread: Optional[threading.Thread] = None
    try:
        thread = threading.Thread(
            target=lambda: outcomes.append(_wait(client, name, data, wait_ms, cancel)), name="redlatch-wait", daemon=True
        )
        thread.start()
        thread.join()
    except BaseException:
        lib.redlatch_cancel_fire(cancel)
        if thread is not None and thread.is_alive():
            thread.join()
        raise
    return _answer(outcomes[0])


def _ask_again_and_again(client: CData, name: LockName, data: bytes, wait_ms: int) -> bool:
    end = None if wait_ms == FOREVER else time.monotonic() + wait_ms / 1000
    pause = _GREEN_PAUSE_FIRST
    while not _answer(_wait(client, name, data, 0, ffi.NULL)):
        left = pause if end is None else end - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(pause, left))
        pause = min(pause * 2, _GREEN_PAUSE_MAX)
    return True

"""Waits for what is no lock - a name that is free, permits, a latch - so that Ctrl-C ends them at once.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any, Callable

from redlatch._ffi import CData, ffi, lib
from redlatch.errors import LockName, failure
from redlatch.owners import max_block_ms, pause

_AGAIN: int = lib.REDLATCH_AGAIN
_continue = lib.redlatch_python_continue


def new_status() -> CData:
    """Where a wait leaves its last status, whatever exception comes after it."""
    return ffi.new("int32_t *", _AGAIN)


def wait_for(
    name: LockName,
    status: CData,
    begin: Callable[..., int],
    *arguments: Any,
    serial: CData = ffi.NULL,
    cancel: CData = ffi.NULL,
) -> bool:
    """Makes a wait and goes on with it to its end, in short calls where Python has to see its signals in between.
    Whatever exception comes, Ctrl-C above all, the wait is over; a grant is the caller's to give back if `status` is 0.

    Returns:
        False after a time-out.
    """
    wait_out = ffi.new("redlatch_wait **")
    begun = begin(*arguments, cancel, wait_out)
    if begun:
        raise failure(begun, name)
    max_block = max_block_ms()
    with ffi.gc(wait_out[0], lib.redlatch_wait_drop) as wait:  # the end of which ends the wait
        while _continue(status, wait, max_block, serial) == _AGAIN:
            pause()
    if status[0] and status[0] != lib.REDLATCH_TIMEOUT:
        raise failure(status[0], name)
    return not status[0]


def wait_free(client: CData, name: LockName, data: bytes, wait_ms: int) -> bool:
    """Whether the name became free in time."""
    return wait_for(name, new_status(), lib.redlatch_client_begin_wait_free, client, data, len(data), wait_ms)

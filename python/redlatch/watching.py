"""Waiting until a name is free, without taking it, so that Ctrl-C ends it at once.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from redlatch._ffi import FOREVER, CData, ffi, lib
from redlatch.errors import LockName, failure
from redlatch.owners import pause, max_block_ms


def wait_free(client: CData, name: LockName, data: bytes, wait_ms: int) -> bool:
    """Whether the name became free in time."""
    max_block = max_block_ms()
    if max_block == FOREVER:
        return _answer(lib.redlatch_client_wait_free(client, data, len(data), wait_ms, ffi.NULL, FOREVER), name)
    cancel_out = ffi.new("redlatch_cancel **")
    status: int = lib.redlatch_cancel_new(cancel_out)
    if status:
        raise failure(status, name)
    with ffi.gc(cancel_out[0], lib.redlatch_cancel_free) as cancel:  # the end of which ends the wait
        status = lib.REDLATCH_AGAIN
        while status == lib.REDLATCH_AGAIN:
            status = lib.redlatch_client_wait_free(client, data, len(data), wait_ms, cancel, max_block)
            if status == lib.REDLATCH_AGAIN:
                pause()
        return _answer(status, name)


def _answer(status: int, name: LockName) -> bool:
    if status and status != lib.REDLATCH_TIMEOUT:
        raise failure(status, name)
    return status == 0

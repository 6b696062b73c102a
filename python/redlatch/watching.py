"""Waits for a free name, for permits, for a latch, and for the mutex of an election. Ctrl-C ends them at once.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional

from redlatch._ffi import CData, ffi, lib
from redlatch.errors import LockName, LockTimeoutError, failure
from redlatch.owners import max_block_ms

if TYPE_CHECKING:
    from redlatch.aio.dispatch import Call
    from redlatch.client import Client
    from redlatch.hub import HubDispatcher

_AGAIN: int = lib.REDLATCH_AGAIN
_continue = lib.redlatch_python_continue


class WaitCall(NamedTuple):
    """A call of the core that waits."""

    begin: Callable[..., int]  # makes a resumable wait
    start: Callable[..., int]  # starts the same call; takes a tag in place of the last two arguments


# Starts to give back a grant that nobody takes.
Undo = Callable[["HubDispatcher", "Call"], object]


class Cancel:
    """Ends a wait, from any thread. It belongs to one wait at a time."""

    def __init__(self) -> None:
        cancel_out = ffi.new("redlatch_cancel **")
        status: int = lib.redlatch_cancel_new(cancel_out)
        if status:
            raise failure(status)
        self.handle: CData = ffi.gc(cancel_out[0], lib.redlatch_cancel_free)
        self._fired = False
        self._end: Optional[Callable[[], object]] = None  # ends a wait in the hub

    def fire(self) -> None:
        """Ends the wait in progress, or else the next one."""
        self._fired = True
        lib.redlatch_cancel_fire(self.handle)
        if self._end is not None:
            self._end()

    def expect(self, end: Callable[[], object]) -> None:
        """Called when a wait in the hub has begun. `end` ends it."""
        self._end = end
        if self._fired:
            end()


def new_status() -> CData:
    """Returns a C variable for the last status of a wait. It keeps the status even if an exception follows the call at
    once."""
    return ffi.new("int32_t *", _AGAIN)


def wait_for(
    client: Client,
    name: LockName,
    status: CData,
    waits: WaitCall,
    *arguments: Any,
    kept: Any,
    serial: CData = ffi.NULL,
    cancel: Optional[Cancel] = None,
    undo: Optional[Undo] = None,
) -> None:
    """Makes a wait, and goes on with it until it ends: in the hub if threads are greenlets, else in calls of the core,
    which in the main thread are short, so that Python can run signal handlers in between. `kept` is the object with the
    handle. If an exception comes, such as that of Ctrl-C, the wait has ended; if `status` is 0 then, the caller has to
    give back the grant.

    Raises:
        LockTimeoutError: The wait reached its deadline.
    """
    dispatcher = client._losses.dispatcher()
    if dispatcher is not None:
        call = dispatcher.make(waits.start, *arguments, name=name, kept=kept, cancel=cancel, undo=undo)
        if serial != ffi.NULL:
            serial[0] = call.serial
        status[0] = call.status
        if call.status:
            raise call.failure(name)
        return
    wait_out = ffi.new("redlatch_wait **")
    begun = waits.begin(*arguments, ffi.NULL if cancel is None else cancel.handle, wait_out)
    if begun:
        raise failure(begun, name)
    max_block = max_block_ms()
    with ffi.gc(wait_out[0], lib.redlatch_wait_drop) as wait:  # the end of this block ends the wait
        while _continue(status, wait, max_block, serial) == _AGAIN:
            pass
    if status[0]:
        raise failure(status[0], name)


_WAIT_FREE = WaitCall(lib.redlatch_client_begin_wait_free, lib.redlatch_client_start_wait_free)


def wait_free(client: Client, name: LockName, data: bytes, wait_ms: int) -> bool:
    """Returns whether the name became free in time."""
    arguments = (client._handle, data, len(data), wait_ms)
    try:
        wait_for(client, name, new_status(), _WAIT_FREE, *arguments, kept=client)
    except LockTimeoutError:
        return False
    return True

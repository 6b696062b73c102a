"""HubDispatcher: the dispatcher of a client whose threads are greenlets. It is like that of redlatch.aio, but in
gevent's hub.

Its coroutines never suspend here, because they wait in the hub. So one step runs each coroutine to its end.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Callable, Coroutine, Optional, Tuple, TypeVar

import gevent  # type: ignore[import-untyped]
from gevent.hub import Waiter  # type: ignore[import-untyped]

from redlatch._ffi import CData, lib
from redlatch.aio.dispatch import AnyDispatcher, Call
from redlatch.aio.loops import AnyWaiting, Cancellation
from redlatch.errors import LockName, RedlatchError
from redlatch.green import hub_here

if TYPE_CHECKING:
    from redlatch.credentials import Renewal
    from redlatch.locks import LockHandle
    from redlatch.losses import Losses
    from redlatch.watching import Cancel, Undo

Result = TypeVar("Result")

READABLE = 1  # the number of this event in gevent's loops


class GeventLoop:
    """The Loop of gevent: the hub of the thread that makes this object."""

    def __init__(self) -> None:
        self._hub: Any = gevent.get_hub()
        self._watcher: Any = None
        self._taker: Any = None  # the greenlet that makes the calls
        self._waiting = 0  # how many greenlets wait

    def runs_here(self) -> bool:
        """See Loop, also for the other methods."""
        return hub_here() is self._hub

    def watch(self, descriptor: int, call: Callable[[], None]) -> None:
        """A greenlet of its own makes the calls, because logging may wait for a lock, and the hub cannot wait. If a
        signal handler raises in this greenlet, the exception is raised in the main greenlet, and the calls go on."""
        self._watcher = self._hub.loop.io(descriptor, READABLE, ref=False)  # alone it does not keep the hub running
        self._taker = gevent.spawn(self._take, self._watcher, call)

    def _take(self, watcher: Any, call: Callable[[], None]) -> None:
        try:
            while self._watcher is watcher:
                try:
                    self._hub.wait(watcher)
                    self._guarded(call)
                except (KeyboardInterrupt, SystemExit):
                    self._hub.handle_system_error(*sys.exc_info())
        finally:
            watcher.close()

    def _guarded(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception:
            self._hub.handle_error(call, *sys.exc_info())

    def unwatch(self) -> None:
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.stop()
            self._taker.kill(block=False)  # the stack of a waiting greenlet is never garbage-collected

    def wake(self, waiter: Waiter) -> None:
        self._hub.loop.run_callback(waiter.switch, None)

    def post(self, call: Callable[[], object]) -> bool:
        if self._hub.loop is None:  # the hub was destroyed
            return False
        self._hub.loop.run_callback_threadsafe(call)
        return True

    checks = False

    async def check(self) -> None:
        """Does nothing: a Timeout or kill() is raised in a greenlet only when it waits."""

    async def wait(
        self,
        waiting: AnyWaiting,
        cancel: Optional[Callable[[AnyWaiting], object]],
        desert: Callable[[AnyWaiting], object],
    ) -> Optional[Cancellation]:
        """A Timeout or kill() ends the wait at once. It is not held back, because a second exception may come, and one
        of them would be lost."""
        self._count(1)
        try:
            while not waiting.done:
                waiting.waiter = Waiter(self._hub)
                waiting.waiter.get()
        except BaseException:
            desert(waiting)
            raise
        finally:
            self._count(-1)
        return None

    def _count(self, more: int) -> None:
        """Keeps the hub running while a greenlet waits. Otherwise gevent would take the wait for one that never ends,
        and raise."""
        self._waiting += more
        if self._watcher is not None:
            self._watcher.ref = self._waiting > 0


class HubDispatcher(AnyDispatcher[GeventLoop]):
    """The dispatcher of a client whose threads are greenlets. Only greenlets of its hub use it, except for close()."""

    losses: Losses

    def __init__(self, handle: CData, losses: Losses, renewal: Optional[Renewal]) -> None:
        super().__init__(handle, renewal)
        self.losses = losses

    def _running(self) -> GeventLoop:
        return GeventLoop()

    def is_here(self) -> bool:
        """Returns whether the caller is a greenlet of the dispatcher's hub, which is the hub of the first caller."""
        loop = self.loop
        if loop is None:
            loop = self._begin()
            self.check_process()
        return loop.runs_here()

    def make(
        self,
        start: Callable[..., int],
        *arguments: Any,
        name: Optional[LockName],
        kept: Any,
        cancel: Optional[Cancel] = None,
        undo: Optional[Undo] = None,
    ) -> Call:
        """Makes a call that waits. Its status is OK or TIMEOUT when this returns. If an exception comes meanwhile,
        nothing stays held or queued: `undo` starts to give back a grant."""
        self.bind()
        call = self.start(
            start, *arguments, name=name, kept=kept, undo=None if undo is None else lambda call: undo(self, call)
        )
        if cancel is not None:
            cancel.expect(lambda: self._cancel_from_anywhere(call))
        _run(self.finish(call, self.cancel))
        if call.status and call.status != lib.REDLATCH_TIMEOUT:
            raise self._failure(call, name, kept)
        return call

    def _cancel_from_anywhere(self, call: Call) -> None:
        """Cancels a call from any thread: in the hub, because the dispatcher may only be used there."""
        loop = self.loop
        if loop is None or loop.runs_here():
            self.cancel(call)
        else:
            loop.post(lambda: self.cancel(call))

    def release(
        self, lock: LockHandle, number: int, confirmed: int = lib.REDLATCH_CONFIRM_OF_LOCK
    ) -> Tuple[int, Optional[RedlatchError]]:
        """Releases an owner's hold of a lock. If an exception comes meanwhile, the release goes on.

        Returns:
            The serial of the hold, and the error or None.
        """
        self.bind()
        start = lib.redlatch_lock_start_release_with
        try:
            call = self.start(start, lock._handle, number, confirmed, name=lock.name, kept=lock)
        except RedlatchError as error:  # the client is closed, or the hold belongs to the parent process
            return 0, error
        if lock._ends_at_once(confirmed):
            self.collect()
        _run(self.finish(call))
        return call.serial, call.failure(lock.name) if call.status else None

    def begin_child(self) -> None:
        """Called in a forked child. It has copies of the waiting greenlets. Their calls end with FORKED, because they
        belong to the parent."""
        if self.loop is not None:
            self.end(lib.REDLATCH_FORKED)

    def close(self) -> int:
        """Closes the client. Its waits raise a ClosedError. Returns the status of the core."""
        loop = self.loop
        here = loop is not None and loop.runs_here()
        if here:
            self.unwatch()  # before the descriptor is closed, and its number reused
        status: int = lib.redlatch_client_close(self.handle)
        if here:
            self.end(lib.REDLATCH_CLOSED)
        elif loop is not None:
            loop.post(lambda: self.end(lib.REDLATCH_CLOSED))
        return status


def _run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: Result = end.value
        return result
    raise AssertionError("a coroutine of the dispatcher was suspended")

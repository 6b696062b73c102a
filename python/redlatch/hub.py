"""The dispatcher of a client whose threads are greenlets: that of redlatch.aio, in gevent's hub.

Its coroutines never suspend here. What they wait for they wait for in the hub, so one step runs each to its end.
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

READABLE = 1  # as gevent's loops have it


class GeventLoop:
    """The hub of the thread that makes this."""

    def __init__(self) -> None:
        self._hub: Any = gevent.get_hub()
        self._watcher: Any = None
        self._taker: Any = None  # the greenlet that makes the calls
        self._waiting = 0  # how many greenlets wait

    def runs_here(self) -> bool:
        """As of Loop, like the others."""
        return hub_here() is self._hub

    def watch(self, descriptor: int, call: Callable[[], None]) -> None:
        """A greenlet of its own makes the calls: what logs may wait for a lock, which a hub cannot. What a signal
        raises in it is raised in the main greenlet, and the calls go on."""
        self._watcher = self._hub.loop.io(descriptor, READABLE, ref=False)  # alone it keeps no hub running
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
            self._taker.kill(block=False)  # what is in the stack of a greenlet that waits is never collected

    def wake(self, waiter: Waiter) -> None:
        self._hub.loop.run_callback(waiter.switch, None)

    def post(self, call: Callable[[], object]) -> bool:
        if self._hub.loop is None:  # it was destroyed
            return False
        self._hub.loop.run_callback_threadsafe(call)
        return True

    checks = False

    async def check(self) -> None:
        """A greenlet learns of a Timeout, or of its end, when it waits."""

    async def wait(
        self,
        waiting: AnyWaiting,
        cancel: Optional[Callable[[AnyWaiting], object]],
        desert: Callable[[AnyWaiting], object],
    ) -> Optional[Cancellation]:
        """A Timeout or kill() ends the wait at once, as another one may follow."""
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
        """Has the hub run on while somebody waits: else gevent takes that for a wait without an end."""
        self._waiting += more
        if self._watcher is not None:
            self._watcher.ref = self._waiting > 0


class HubDispatcher(AnyDispatcher[GeventLoop]):
    """That of a client whose threads are greenlets. Only greenlets of its hub use it, close() excepted."""

    losses: Losses

    def __init__(self, handle: CData, losses: Losses, renewal: Optional[Renewal]) -> None:
        super().__init__(handle, renewal)
        self.losses = losses

    def _running(self) -> GeventLoop:
        return GeventLoop()

    def is_here(self) -> bool:
        """Whether the caller is a greenlet of its hub, which is that of the first caller."""
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
        """Makes a call that waits, and ends with OK or TIMEOUT. An exception that comes meanwhile leaves nothing held
        or queued; `undo` starts to give back what the call was granted."""
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
        """The dispatcher is used in its hub alone."""
        loop = self.loop
        if loop is None or loop.runs_here():
            self.cancel(call)
        else:
            loop.post(lambda: self.cancel(call))

    def release(
        self, lock: LockHandle, number: int, confirmed: int = lib.REDLATCH_CONFIRM_OF_LOCK
    ) -> Tuple[int, Optional[RedlatchError]]:
        """Releases an owner's hold of a lock, to its end although an exception comes meanwhile.

        Returns:
            The serial of the hold, and what failed.
        """
        self.bind()
        start = lib.redlatch_lock_start_release_with
        try:
            call = self.start(start, lock._handle, number, confirmed, name=lock.name, kept=lock)
        except RedlatchError as error:  # of a client that is closed, or a hold of the parent process
            return 0, error
        if lock._ends_at_once(confirmed):
            self.collect()
        _run(self.finish(call))
        return call.serial, call.failure(lock.name) if call.status else None

    def begin_child(self) -> None:
        """In a forked child, which has copies of the greenlets that wait: their waits are the parent's."""
        if self.loop is not None:
            self.end(lib.REDLATCH_FORKED)

    def close(self) -> int:
        """Closes the client, whose waits get a ClosedError; the status of the core."""
        loop = self.loop
        here = loop is not None and loop.runs_here()
        if loop is not None and here:
            loop.unwatch()  # before its descriptor is that of something else
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

"""lose(): makes a hold lost on the server, so that a test can check what a program does then.

The lock is deleted on the server. The client would notice that at the next renewal, after a third of the watchdog
lease. An extension makes it notice the loss at once.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import threading
from typing import Coroutine, Optional, Union, overload

import redlatch.aio
from redlatch.aio.permits import Permit as PermitOfTask
from redlatch.errors import LockLostError
from redlatch.holds import Hold
from redlatch.permits import Permit

Holding = Union[Hold, Permit]
HoldingOfTask = Union[redlatch.aio.Hold, PermitOfTask]

NOTICE_TIMEOUT = 10.0
# The lease of the extension, which fails.
LEASE = 30


@overload
def lose(held: Holding) -> None: ...


@overload
def lose(held: HoldingOfTask) -> Coroutine[None, None, None]: ...


def lose(held: Union[Holding, HoldingOfTask]) -> Optional[Coroutine[None, None, None]]:
    """Makes a hold or a permit lost on the server, as by a forced release, and returns when its client has noticed:
    `held.lost` is True then, `held.lost_event` is set, and `on_lost` of the lock has been called and has returned.

    A waiter for the lock is granted it. All readers of a read lock lose their holds, and a permit semaphore loses all
    permits that are taken.

    Args:
        held: A Hold or a Permit, of any thread. If it is one of redlatch.aio, await the call, in the loop of its
            client; if `on_lost` is a coroutine function, it has then begun. If `held` is lost already, the call does
            nothing.

    Raises:
        NotOwnedError: `held` was released.

    Example:
        >>> with client.lock("orders:42", on_lost="log") as held:
        ...     lose(held)
        ...     held.lost, held.lost_reason
        (True, 'missing')
    """
    if isinstance(held, redlatch.aio.Hold):
        return _lose_hold_of_task(held)
    if isinstance(held, PermitOfTask):
        return _lose_permit_of_task(held)
    if not isinstance(held, (Hold, Permit)):
        raise TypeError(f"held is of type {type(held).__name__}; expected a Hold or a Permit")
    if not held.lost:
        held.check()
        noticed = _lost_hold(held) if isinstance(held, Hold) else _lost_permit(held)
        try:
            held.extend(LEASE)
        except LockLostError:
            pass
        if not noticed.wait(NOTICE_TIMEOUT):
            raise TimeoutError(f"the client has not noticed within {NOTICE_TIMEOUT:.0f} s that {held!r} is lost")
    return None


def _lost_hold(held: Hold) -> threading.Event:
    """Deletes the lock. Returns an event that is set when `on_lost` has returned."""
    noticed = threading.Event()
    # Called after the lock's own on_lost, which the client's thread may still be running when the extension has failed.
    held._lock._client._losses.expect(held._serial, lambda _: noticed.set(), held)
    held._lock.force_release()
    return noticed


def _lost_permit(held: Permit) -> threading.Event:
    """Deletes the semaphore and makes it again. Returns an event that is set when the client knows that the permit is
    lost."""
    noticed = held.lost_event
    total = held._semaphore.permits()
    held._semaphore.delete()
    held._semaphore.try_set_permits(total)
    return noticed


async def _lose_hold_of_task(held: redlatch.aio.Hold) -> None:
    if held.lost:
        return
    held.check()
    await held._lock.force_release()
    try:
        await held.extend(LEASE)
    except LockLostError:
        pass
    await held.lost_event.wait()


async def _lose_permit_of_task(held: PermitOfTask) -> None:
    if held.lost:
        return
    held.check()
    total = await held._semaphore.permits()
    await held._semaphore.delete()
    await held._semaphore.try_set_permits(total)
    try:
        await held.extend(LEASE)
    except LockLostError:
        pass
    await held.lost_event.wait()


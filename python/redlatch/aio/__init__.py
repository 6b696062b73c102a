"""redlatch for asyncio, uvloop and trio.

    import redlatch.aio

    async with redlatch.aio.connect() as client:
        async with client.lock("orders:42", timeout=5) as held:
            ...

The kinds, names, options and errors are those of `redlatch`. Calls that send something are awaited.

A client belongs to the first event loop that it is used in. That loop watches the client's one descriptor. Calls of the
core are started, and their events wake the tasks. The only thread is the core's background thread of the client, which
renews leases also while the loop is blocked; opening and closing run in a short-lived thread.

A task is the owner of what it acquires. A task that it starts is another owner. `owner="handle"` makes the lock object
the owner, for holds that are passed between tasks. When the cancellation of an acquire is raised, nothing of it is held
or queued. A cancelled release is completed before the cancellation is raised.

asyncio and trio are imported by the program that uses them, and not by this package.
SPDX-License-Identifier: Apache-2.0
"""

from typing import List

from redlatch.aio.client import Client, connect
from redlatch.aio.elections import Election
from redlatch.aio.holds import Hold
from redlatch.aio.latches import Latch
from redlatch.aio.like import connect_like
from redlatch.aio.locks import Lock, OnLost, ReadWriteLock
from redlatch.aio.multi import MultiLock, RedLock, multi_lock, redlock
from redlatch.aio.once import Once
from redlatch.aio.permits import NoPermit, Permit, PermitSemaphore
from redlatch.aio.semaphores import Semaphore
from redlatch.aio.sigterm import release_on_sigterm

__all__ = [
    "Client",
    "Election",
    "Hold",
    "Latch",
    "Lock",
    "MultiLock",
    "NoPermit",
    "OnLost",
    "Once",
    "Permit",
    "PermitSemaphore",
    "ReadWriteLock",
    "RedLock",
    "Semaphore",
    "connect",
    "connect_like",
    "multi_lock",
    "redlock",
    "release_on_sigterm",
]


def __dir__() -> List[str]:
    return list(__all__)

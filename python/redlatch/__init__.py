"""Distributed locks on Redis, wire-compatible with Redisson.

    import redlatch

    client = redlatch.connect()
    with client.lock("orders:42"):
        ...

A lock on Redis is a lease: a process that was paused may go on for a moment after its lease is over. `hold.lost`,
`hold.lost_event` and LockLostError tell; only a fencing token checked by what is guarded can prevent.
SPDX-License-Identifier: Apache-2.0
"""

from redlatch._ffi import lib as _lib
from redlatch._ffi import text as _text
from redlatch.client import Client, connect
from redlatch.errors import (
    AlreadyHeldError,
    ClosedError,
    ConnectionError,
    ForkedError,
    InvalidArgumentError,
    LockLostError,
    LockTimeoutError,
    NotOwnedError,
    RedlatchError,
    ResourceError,
    ServerError,
    UnsupportedError,
    WaitCancelledError,
    WouldDeadlockError,
)
from redlatch.holds import Hold
from redlatch.latches import Latch
from redlatch.locks import Lock
from redlatch.multi import MultiLock, RedLock, redlock
from redlatch.permits import Permit, PermitSemaphore
from redlatch.read_write import ReadWriteLock
from redlatch.reports import Party, Report
from redlatch.semaphores import Semaphore

__all__ = [
    "AlreadyHeldError",
    "Client",
    "ClosedError",
    "ConnectionError",
    "ForkedError",
    "Hold",
    "InvalidArgumentError",
    "Latch",
    "Lock",
    "LockLostError",
    "LockTimeoutError",
    "MultiLock",
    "NotOwnedError",
    "Party",
    "Permit",
    "PermitSemaphore",
    "ReadWriteLock",
    "RedLock",
    "RedlatchError",
    "Report",
    "ResourceError",
    "Semaphore",
    "ServerError",
    "UnsupportedError",
    "WaitCancelledError",
    "WouldDeadlockError",
    "connect",
    "redlock",
]

__version__: str = _text(_lib.redlatch_version())

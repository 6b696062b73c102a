"""Distributed locks on Redis, wire-compatible with Redisson.

    import redlatch

    client = redlatch.connect()
    with client.lock("orders:42"):
        ...

A lock on Redis is a lease: a process that was paused may go on for a moment after its lease has ended. `hold.lost`,
`hold.lost_event` and LockLostError report that. Only a fencing token that the guarded resource checks can prevent a
write in that moment.
SPDX-License-Identifier: Apache-2.0
"""

from typing import List

from redlatch._ffi import lib as _lib
from redlatch._ffi import text as _text
from redlatch.client import Client
from redlatch.counts import CountedKind
from redlatch.credentials import CredentialProvider
from redlatch.durations import LockTimeout, Seconds
from redlatch.elections import Election
from redlatch.errors import (
    AlreadyHeldError,
    AuthenticationError,
    ClosedError,
    ForkedError,
    InvalidArgumentError,
    LockLostError,
    LockName,
    LockTimeoutError,
    LossReason,
    NotFoundError,
    NotOwnedError,
    NotReplicatedError,
    PermissionDeniedError,
    RedlatchError,
    ResourceError,
    ServerError,
    UnreachableError,
    UnsupportedError,
    WaitCancelledError,
    WouldDeadlockError,
    WrongTypeError,
)
from redlatch.holds import Hold
from redlatch.latches import Latch
from redlatch.like import connect_like
from redlatch.locks import Lock, LockKind, LockState
from redlatch.losses import OnLost
from redlatch.multi import MultiLock, RedLock, multi_lock, redlock
from redlatch.once import Once
from redlatch.opening import connect
from redlatch.options import FilePath
from redlatch.permits import NoPermit, Permit, PermitSemaphore
from redlatch.read_write import ReadWriteLock
from redlatch.reports import DetectedKind, Party, Report, Role
from redlatch.semaphores import Semaphore
from redlatch.sigterm import release_on_sigterm
from redlatch.statuses import Status
from redlatch.tuning import Tuning

__all__ = [
    "AlreadyHeldError",
    "AuthenticationError",
    "Client",
    "ClosedError",
    "CountedKind",
    "CredentialProvider",
    "DetectedKind",
    "Election",
    "FilePath",
    "ForkedError",
    "Hold",
    "InvalidArgumentError",
    "Latch",
    "Lock",
    "LockKind",
    "LockLostError",
    "LockName",
    "LockState",
    "LockTimeout",
    "LockTimeoutError",
    "LossReason",
    "MultiLock",
    "NoPermit",
    "NotFoundError",
    "NotOwnedError",
    "NotReplicatedError",
    "OnLost",
    "Once",
    "Party",
    "PermissionDeniedError",
    "Permit",
    "PermitSemaphore",
    "ReadWriteLock",
    "RedLock",
    "RedlatchError",
    "Report",
    "ResourceError",
    "Role",
    "Seconds",
    "Semaphore",
    "ServerError",
    "Status",
    "Tuning",
    "UnreachableError",
    "UnsupportedError",
    "WaitCancelledError",
    "WouldDeadlockError",
    "WrongTypeError",
    "connect",
    "connect_like",
    "multi_lock",
    "redlock",
    "release_on_sigterm",
]

__version__: str = _text(_lib.redlatch_version())


def __dir__() -> List[str]:
    return [*__all__, "__version__"]

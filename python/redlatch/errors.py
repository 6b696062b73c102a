"""The exceptions, and the conversion of the core's statuses to them.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import builtins
import logging
import threading
from typing import Any, Dict, Literal, Optional, Tuple, Type, Union, cast

from redlatch._ffi import lib, text
from redlatch.statuses import Status

logger = logging.getLogger("redlatch")

LockName = Union[str, bytes]

# Why a hold was lost: its lease ended; the server no longer has it, as after a forced release; its max_hold was
# reached; its owner ended.
LossReason = Literal["expired", "missing", "max_hold", "abandoned"]


class RedlatchError(Exception):
    """The base class of all exceptions of redlatch."""

    # The status of an instance that is made without one.
    _usual_status: int = lib.REDLATCH_INTERNAL

    def __init__(
        self, message: str = "", *, lock_name: Optional[LockName] = None, status: Optional[int] = None
    ) -> None:
        self.status = Status(self._usual_status if status is None else status)
        self.lock_name: Optional[LockName] = lock_name
        super().__init__(message or text(lib.redlatch_strerror(self.status)))

    @property
    def status_name(self) -> str:
        """The status in words, such as "not_owned"."""
        return self.status.name.lower()

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed later without manual repair."""
        return bool(lib.redlatch_status_is_retryable(self.status))

    @property
    def ambiguous(self) -> bool:
        """Whether the server may have executed the command although the call failed."""
        return bool(lib.redlatch_status_is_ambiguous(self.status))

    def __reduce__(self) -> Tuple[Any, ...]:
        kept = {key: self.__dict__[key] for key in _KEPT if key in self.__dict__}
        return _rebuild, (type(self), str(self), self.lock_name, self.status, kept)


# The attributes that are pickled besides the arguments of __init__().
_KEPT = ("__notes__", "reason")


def _rebuild(
    kind: Type[RedlatchError], message: str, lock_name: Optional[LockName], status: int, kept: Dict[str, Any]
) -> RedlatchError:
    error = kind(message, lock_name=lock_name, status=status)
    error.__dict__.update(kept)
    return error


class LockTimeoutError(RedlatchError, TimeoutError):
    """Another owner held the lock until the timeout."""

    _usual_status = lib.REDLATCH_TIMEOUT


class NotOwnedError(RedlatchError, RuntimeError):
    """The caller does not hold this lock. It is also a RuntimeError, the exception of threading.Lock."""

    _usual_status = lib.REDLATCH_NOT_OWNED


class LockLostError(RedlatchError):
    """The caller held the lock and lost it; `reason` says why. It stays lost until it is released."""

    _usual_status = lib.REDLATCH_LOST

    # Why the hold was lost; None if that is not known.
    reason: Optional[LossReason] = None


class AlreadyHeldError(RedlatchError, RuntimeError):
    """The caller holds this lock, which is not reentrant."""

    _usual_status = lib.REDLATCH_ALREADY_HELD


class WouldDeadlockError(RedlatchError, RuntimeError):
    """The caller holds the read lock and tried to acquire the write lock: it would wait for itself."""

    _usual_status = lib.REDLATCH_WOULD_DEADLOCK


class NotFoundError(RedlatchError):
    """The semaphore of a `with` block does not exist, and has neither `limit` nor `wait_for_creation`."""

    _usual_status = lib.REDLATCH_NOT_FOUND


class WaitCancelledError(RedlatchError):
    """The wait was cancelled; nothing is held or queued."""

    _usual_status = lib.REDLATCH_CANCELLED


class InvalidArgumentError(RedlatchError, ValueError):
    """An argument has a value that is not allowed."""

    _usual_status = lib.REDLATCH_INVALID


class ClosedError(RedlatchError):
    """The client is closed. A daemon thread that waits when the program ends gets a SystemExit instead."""

    _usual_status = lib.REDLATCH_CLOSED


class ForkedError(RedlatchError):
    """The hold belongs to the parent process of this fork, or the client does, with after_fork="refuse"."""

    _usual_status = lib.REDLATCH_FORKED


class UnsupportedError(RedlatchError):
    """The option is known, but this version or the server does not support it."""

    _usual_status = lib.REDLATCH_UNSUPPORTED


class UnreachableError(RedlatchError, builtins.ConnectionError):
    """The server could not be reached, or did not answer."""

    _usual_status = lib.REDLATCH_UNREACHABLE


class ServerError(RedlatchError):
    """The server refused the command. `status` has the cause."""

    _usual_status = lib.REDLATCH_SERVER


class AuthenticationError(ServerError):
    """The server requires a user or a password, or refused the given ones."""

    _usual_status = lib.REDLATCH_AUTHENTICATION


class PermissionDeniedError(ServerError):
    """The access rules of the server forbid this user a command, a key or a channel."""

    _usual_status = lib.REDLATCH_NO_PERMISSION


class WrongTypeError(ServerError):
    """The key does not hold a lock of this kind. The message names its content, which was not changed."""

    _usual_status = lib.REDLATCH_WRONG_TYPE


class NotReplicatedError(ServerError):
    """Fewer than `min_replicas` replicas acknowledged the command within the `replica_timeout`, or with `durable` it
    was not on disk by then. What was granted was given back."""

    _usual_status = lib.REDLATCH_NOT_REPLICATED


class ResourceError(RedlatchError):
    """This machine ran out of memory, descriptors or threads."""

    _usual_status = lib.REDLATCH_SYSTEM


# The statuses that have a class of their own. The other statuses of a group, such as -3xx, share a class.
_BY_STATUS: Dict[int, Type[RedlatchError]] = {
    lib.REDLATCH_TIMEOUT: LockTimeoutError,
    lib.REDLATCH_NOT_OWNED: NotOwnedError,
    lib.REDLATCH_LOST: LockLostError,
    lib.REDLATCH_ALREADY_HELD: AlreadyHeldError,
    lib.REDLATCH_WOULD_DEADLOCK: WouldDeadlockError,
    lib.REDLATCH_NOT_FOUND: NotFoundError,
    lib.REDLATCH_CANCELLED: WaitCancelledError,
    lib.REDLATCH_INVALID: InvalidArgumentError,
    lib.REDLATCH_CLOSED: ClosedError,
    lib.REDLATCH_FORKED: ForkedError,
    lib.REDLATCH_UNSUPPORTED: UnsupportedError,
    lib.REDLATCH_AUTHENTICATION: AuthenticationError,
    lib.REDLATCH_NO_PERMISSION: PermissionDeniedError,
    lib.REDLATCH_WRONG_TYPE: WrongTypeError,
    lib.REDLATCH_NOT_REPLICATED: NotReplicatedError,
    lib.REDLATCH_NO_MEMORY: ResourceError,
    lib.REDLATCH_SYSTEM: ResourceError,
}
_BY_GROUP: Dict[int, Type[RedlatchError]] = {3: UnreachableError, 4: ServerError}


# The statuses of a release that was refused before anything was sent, and may be made again. If a multi lock over
# several clients lacked memory, some members may have been released; the next release releases the others.
REFUSED = (lib.REDLATCH_UNSUPPORTED, lib.REDLATCH_NO_MEMORY)

# Only Python's garbage collector frees handles of the core. It may free a handle together with other garbage whose
# finaliser then uses the handle.
_COLLECTED = "this object is closed: Python is ending, or has collected it as garbage together with what uses it"


def main_thread_ended() -> bool:
    """Returns whether the program is ending: from now on Python waits for no daemon thread."""
    main = threading.main_thread()
    return main is not None and not main.is_alive()


def runs_at_exit() -> bool:
    """Returns whether Python is ending and calls this function from its main thread, as it calls finalisers. Afterwards
    no daemon thread may run."""
    return main_thread_ended() and threading.current_thread() is threading.main_thread()


def program_ends() -> bool:
    """Returns whether the program is ending, and the calling thread is a daemon, for which Python does not wait."""
    return main_thread_ended() and threading.current_thread().daemon


def end_if_program_ends() -> None:
    """Ends a daemon thread whose client was closed by the end of the program. It raises SystemExit itself, because this
    is the only exception that Python does not print in a thread; Python prints subclasses. Other threads get the
    exception of the failure, because the program waits for them after the main thread has ended."""
    if program_ends():
        raise SystemExit


def class_of(status: int) -> Type[RedlatchError]:
    """Returns the exception class for a status."""
    return _BY_STATUS.get(status) or _BY_GROUP.get(-status // 100, RedlatchError)


def failure(status: int, lock_name: Optional[LockName] = None) -> RedlatchError:
    """Returns the exception for a call that just failed. The thread that made the call must call this before its next
    call of the core, which keeps one error text for each thread."""
    if status == lib.REDLATCH_BAD_HANDLE:
        return ClosedError(_COLLECTED, lock_name=lock_name)
    if status == lib.REDLATCH_CLOSED:
        end_if_program_ends()
    return error_of(status, text(lib.redlatch_last_error()), lib.redlatch_last_reason(), lock_name)


def error_of(status: int, message: str, reason: int, lock_name: Optional[LockName] = None) -> RedlatchError:
    """Returns the exception for a status and its error text, such as those of an event. `reason` is the reason of a
    loss."""
    error = class_of(status)(message, lock_name=lock_name, status=status)
    if isinstance(error, LockLostError):
        error.reason = reason_name(reason)
    return error


def left_badly(what: str, failed: RedlatchError, error: Optional[BaseException]) -> None:
    """Reports a failed release at the end of a `with` block. Without an exception of the block, the failure is raised.
    Otherwise the failure must not hide that exception: it is logged, and added to the exception as a note. A loss is
    not logged here, because it is logged in any case."""
    if error is None:
        raise failed
    message = f"while the block ran, or when it was left, {what} failed: {failed}"
    if not isinstance(failed, LockLostError):
        logger.warning("%s (the block raised %s)", message, type(error).__name__)
    add_note = getattr(error, "add_note", None)  # from Python 3.11 on
    if add_note is not None:
        add_note(f"redlatch: {message}")


def reason_name(reason: int) -> Optional[LossReason]:
    """Returns the name of a reason, as in LockLostError.reason. Returns None if the reason is not known."""
    return cast(LossReason, text(lib.redlatch_reason_name(reason))) if reason else None

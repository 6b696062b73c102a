"""Lock: a lock of any kind, used like threading.Lock and threading.RLock.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, List, Literal, NoReturn, Optional, Tuple, Type, TypeVar, Union, cast

from redlatch._ffi import LEASE_OF_LOCK, CData, ffi, lib, new_record, text
from redlatch.decorators import check_function
from redlatch.durations import (
    LOCK_TIMEOUT,
    LockTimeout,
    Seconds,
    blocking_wait_ms,
    lease_ms,
    limit_ms,
    span_ms,
    wait_ms,
)
from redlatch.errors import LockLostError, LockName, NotOwnedError, RedlatchError, failure, left_badly
from redlatch.holds import BaseHold, Hold
from redlatch.losses import OnLost, Opened
from redlatch.options import confirmation, lock_options, name_bytes, on_lost_option, value_list
from redlatch.other_names import explain_other_names, refuse_other_names
from redlatch.owners import Caller, Wait, current

if TYPE_CHECKING:
    from redlatch.aio.dispatch import Call
    from redlatch.client import Client
    from redlatch.hub import HubDispatcher

Function = TypeVar("Function", bound=Callable[..., Any])

# The kinds of a Lock.
LockKind = Literal["mutex", "fenced", "fair", "spin", "read", "write", "plain", "group", "multi", "redlock"]
# The kinds with several names. The owner id of such a hold is that of its first member's hold.
SEVERAL = ("multi", "redlock")


@dataclass(frozen=True)
class LockState:
    """The state of a lock on the server, as Lock.state() found it.

    Attributes:
        locked: Whether anybody holds the lock.
        ttl: Seconds left of the holder's lease; 0.0 if nobody holds the lock, infinity if the hold has no lease.
        owner: The owner id of the holder, "uuid:number"; of several holders the id of one. None if nobody holds the
            lock.
        count: The hold count of that owner; 0 if nobody holds the lock.
        holders: The number of holders; only a read lock may have several.
        waiters: The number of waiters in the server queue of a fair lock, from all processes; 0 for other kinds.
    """

    locked: bool
    ttl: float
    owner: Optional[str]
    count: int
    holders: int
    waiters: int


def state_of(record: CData) -> LockState:
    """Converts a record of the core."""
    return LockState(
        locked=bool(record.locked),
        ttl=math.inf if record.ttl_ms == -1 else record.ttl_ms / 1000,
        owner=text(record.owner) or None,
        count=record.count,
        holders=record.holders,
        waiters=record.waiters,
    )


# Looked up once, because every acquire and every release uses them.
_acquire = lib.redlatch_python_acquire
_abandon = lib.redlatch_python_abandon
_release_as = lib.redlatch_lock_release_as
_AGAIN: int = lib.REDLATCH_AGAIN
_TIMEOUT: int = lib.REDLATCH_TIMEOUT
_IDLE: int = lib.REDLATCH_PYTHON_IDLE


class LockHandle:
    """The base class of Lock for threads and for tasks: the handle, and the methods that send nothing."""

    __slots__ = (
        "_client", "_handle", "_name", "_kind", "_wait_ms", "_by_handle", "_confirms", "_on_lost", "_noted",
        "__weakref__",
    )  # fmt: skip

    _on_lost: object  # an OnLost of threads or of tasks

    PACKAGE = "redlatch"
    ACTOR = "thread"  # the owner, unless this object is the owner

    def __init__(
        self,
        client: Opened,
        kind: int,
        name: LockName,
        timeout: Optional[Seconds],
        lease: Optional[Seconds],
        max_hold: Optional[Seconds],
        owner: str,
        *,
        values: Optional[List[bytes]] = None,
        **settings: Any,
    ) -> None:
        data = name_bytes(name)
        times = lease_ms(lease, "lease"), limit_ms(max_hold, "max_hold")
        options, _alive = lock_options(owner, *times, settings, self.ACTOR)
        wait = wait_ms(timeout, "timeout")
        lock_out = ffi.new("redlatch_lock **")
        status: int
        if values is None:
            status = lib.redlatch_lock_new(client._handle, kind, data, len(data), options, lock_out)
        else:
            listed, _held = value_list(values)
            status = lib.redlatch_group_lock_new(
                client._handle, data, len(data), listed, len(values), options, lock_out
            )
        if status:
            raise failure(status, name)
        self._set_up(client, cast(LockKind, text(lib.redlatch_kind_name(kind))), name, lock_out[0], wait, owner)
        self._confirms = bool(options.confirm_release)

    def _set_up(
        self, client: Opened, kind: LockKind, name: LockName, handle: CData, wait_ms: int, owner: str
    ) -> None:
        self._handle: CData = ffi.gc(handle, lib.redlatch_lock_free)
        self._client = client
        self._name = name
        self._kind: LockKind = kind
        self._wait_ms = wait_ms
        self._by_handle = owner == "handle"
        self._confirms = True  # whether a release waits for the server's reply
        self._noted = callable(self._on_lost) or kind in SEVERAL  # whether to note each grant; see _note_granted()

    def _ends_at_once(self, confirmed: int) -> bool:
        """Returns whether a started release completes as soon as its command is written."""
        return confirmed == 0 or (confirmed == lib.REDLATCH_CONFIRM_OF_LOCK and not self._confirms)

    @property
    def name(self) -> LockName:
        """The name as it was given, without the client's prefix."""
        return self._name

    @property
    def kind(self) -> LockKind:
        """The kind of the lock, such as "mutex" or "fenced"."""
        return self._kind

    def owned(self) -> bool:
        """Returns whether the caller holds the lock, as far as this process knows. Nothing is sent.

        Example:
            >>> with client.lock("orders:42") as hold:
            ...     client.lock("orders:42").owned()
            True
        """
        return self.hold_count() > 0

    def hold_count(self) -> int:
        """Returns how many acquires the caller has to release. It is 0 when the hold is lost. Nothing is sent.

        Example:
            >>> lock = client.lock("orders:42")
            >>> with lock, lock:
            ...     lock.hold_count()
            2
        """
        now = self._standing(self._number())
        return now.count if now.state in (lib.REDLATCH_HELD, lib.REDLATCH_SUSPECT) else 0

    def __repr__(self) -> str:
        owned = "this object" if self._by_handle else f"{self.ACTOR}s"
        return f"<{self.PACKAGE}.{type(self).__name__} {self._name!r} ({self._kind}), owned by {owned}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {self.PACKAGE}.Lock cannot be pickled or copied: open a client, and make its locks, in each process"
        )

    def _left_badly(
        self, failed: RedlatchError, hold: Optional[BaseHold], error: Optional[BaseException]
    ) -> None:
        """Handles a failed release at the end of a `with` block."""
        if isinstance(failed, LockLostError):
            if hold is not None:
                hold._found_lost(failed.reason)
            if self._on_lost == "log":
                return
        left_badly(f"the lock {self._name!r}", failed, error)

    def _uuids(self) -> Tuple[str, ...]:
        """Returns the uuids of the clients that hold this lock: the owner id of a hold begins with one of them."""
        return (self._client.uuid,)

    def _number(self) -> int:
        """Returns the owner number to act for; 0 stands for this object."""
        raise NotImplementedError

    def _standing(self, number: int) -> CData:
        """Returns the state of an owner's hold, as far as this process knows."""
        record = new_record("redlatch_hold")
        status: int = lib.redlatch_lock_hold_status(self._handle, number, record)
        if status:
            raise failure(status, self._name)
        return record


class Lock(LockHandle):
    """A lock, made by Client.lock() and similar methods. No command is sent until it is used.

    The owner is the calling thread. It may acquire again, unless the lock is not reentrant, and has to release as
    often. It may use any Lock of that client, name and kind for this. With owner="handle" the owner is this object, and
    any thread may release it.

    Example:
        >>> lock = client.lock("orders:42", timeout=5)
        >>> with lock as hold:
        ...     hold.count, hold.lost
        (1, False)
        >>> @client.lock("nightly")
        ... def nightly() -> str:
        ...     return "done"
        >>> nightly()
        'done'
    """

    __slots__ = ("_entered",)
    _client: Client
    _on_lost: OnLost

    def __init__(
        self,
        client: Client,
        kind: int,
        name: LockName,
        timeout: Optional[Seconds],
        lease: Optional[Seconds],
        max_hold: Optional[Seconds],
        owner: str,
        on_lost: OnLost = "raise",
        **settings: Any,
    ) -> None:
        self._on_lost = on_lost_option(on_lost)
        super().__init__(client, kind, name, timeout, lease, max_hold, owner, **settings)

    def _set_up(
        self, client: Opened, kind: LockKind, name: LockName, handle: CData, wait_ms: int, owner: str
    ) -> None:
        super()._set_up(client, kind, name, handle, wait_ms, owner)
        self._entered: List[Hold] = []  # the holds of the open `with` blocks, the innermost last
        self._client._losses.watch()

    def acquire(
        self,
        blocking: bool = True,
        timeout: Union[Seconds, LockTimeout, None] = LOCK_TIMEOUT,
        *,
        lease: Optional[Seconds] = None,
        **others: NoReturn,
    ) -> bool:
        """Acquires the lock, like threading.Lock.acquire().

        Args:
            blocking: False tries once.
            timeout: How long to wait. The default is the lock's own timeout. None or -1 waits for ever.
            lease: The seconds of a fixed lease, or -1 for a lease that is renewed. None: the lock's own lease.

        Returns:
            True if the lock was obtained, else False.

        Example:
            >>> lock = client.lock("orders:42")
            >>> lock.acquire(timeout=5)
            True
            >>> lock.release()
        """
        if others:
            refuse_other_names("acquire", others)
        wait = blocking_wait_ms(blocking, timeout, self._wait_ms)
        return self._obtain(wait, LEASE_OF_LOCK if lease is None else lease_ms(lease, "lease"), False) is not None

    def release(self, confirm: Optional[bool] = None) -> None:
        """Releases one acquire.

        Args:
            confirm: False: does not wait for the server's reply. The call returns when the command is queued on its
                connection, where it is normally written at once. If the reply is an error, the logger `redlatch` logs
                it. This thread may acquire again at once. Others who learn of this call before the server ran the
                command may find the lock held. Client.close() and the end of the process wait for the reply, within the
                `close_timeout`. None: as the lock's `confirm_release`.

        Raises:
            NotOwnedError: The caller does not hold the lock.
            LockLostError: The caller held the lock and lost it.

        Example:
            >>> lock = client.lock("orders:42")
            >>> lock.release()
            Traceback (most recent call last):
            redlatch.errors.NotOwnedError: release "orders:42": this owner does not hold the lock (the ...
        """
        number = self._number()
        confirmed = confirmation(confirm)
        dispatcher = self._client._losses.dispatcher()
        if dispatcher is not None:
            serial, error = dispatcher.release(self, number, confirmed)
        else:
            serial_out = ffi.new("uint64_t *")
            status: int = lib.redlatch_release_named(self._handle, number, confirmed, serial_out)
            serial, error = serial_out[0], failure(status, self._name) if status else None
        if isinstance(error, LockLostError):
            self._client._losses.found(serial, "lock", self._name, error.reason)
        elif callable(self._on_lost):
            self._client._losses.released(serial, self, number)
        if error is not None:
            raise self._explained(error)

    def state(self) -> LockState:
        """Asks the server about the lock, whoever holds it.

        Returns:
            The state, found by one round trip; of a lock over several servers by one to each, at the same time.

        Example:
            >>> lock = client.lock("orders:42")
            >>> lock.state()
            LockState(locked=False, ttl=0.0, owner=None, count=0, holders=0, waiters=0)
            >>> with lock:
            ...     lock.state().holders
            1
        """
        record = new_record("redlatch_lock_state")
        status: int = lib.redlatch_lock_query(self._handle, record)
        if status:
            raise failure(status, self._name)
        return state_of(record)

    def held(self) -> Optional[Hold]:
        """Returns the caller's Hold, or None if the caller does not hold the lock, as far as this process knows. A lost
        hold is returned until it is released. Nothing is sent.

        Example:
            >>> lock = client.fenced_lock("ledger")
            >>> print(lock.held())
            None
            >>> lock.acquire() and lock.held().token > 0
            True
            >>> lock.release()
        """
        number = self._number()
        now = self._standing(number)
        return None if now.state == lib.REDLATCH_NOT_HELD else Hold(self, number, ffi.buffer(now)[:])

    @explain_other_names
    def extend(self, seconds: Seconds) -> None:
        """Sets the lease of the caller's hold to end this many seconds from now. It may end earlier than before. A
        renewed hold continues to be renewed.

        Args:
            seconds: The new time to the end of the lease; more than 0.

        Example:
            >>> lock = client.lock("orders:42", lease=5)
            >>> with lock as hold:
            ...     lock.extend(60)
            ...     50 < hold.remaining() < 60
            True
        """
        status: int = lib.redlatch_lock_extend(self._handle, self._number(), span_ms(seconds, "seconds"))
        if status:
            raise failure(status, self._name)

    def force_release(self) -> bool:
        """Deletes the lock, whoever holds it, and wakes its waiters. The holder learns of it from its next call on the
        lock, or from the next renewal, which comes after a third of the watchdog lease (10 s of 30 s).

        Returns:
            Whether there was a lock.

        Example:
            >>> client.lock("orders:42").force_release()
            False
        """
        released = ffi.new("int32_t *")
        status: int = lib.redlatch_lock_force_release(self._handle, released)
        if status:
            raise failure(status, self._name)
        return bool(released[0])

    def __enter__(self) -> Hold:
        return self._obtain(self._wait_ms, LEASE_OF_LOCK, True)  # type: ignore[return-value] # never None

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        entered = self._entered
        hold: Optional[Hold] = None
        interrupted: Optional[BaseException] = None
        dispatcher: Optional[HubDispatcher] = None
        try:
            dispatcher = self._client._losses.dispatcher()
            number = 0 if self._by_handle else current().number
            while entered:
                hold = self._innermost(number)
                try:
                    entered.remove(hold)  # type: ignore[arg-type]
                    break
                except ValueError:
                    hold = None  # another thread is leaving that block
        except BaseException as interrupt:
            if isinstance(interrupt, RedlatchError):
                raise  # there is no dispatcher: the client is closed, or belongs to the parent process
            # Ctrl-C interrupted the end of the block before the release.
            if hold is None or hold in entered:
                self.__exit__(type(interrupt), interrupt, None)
                raise
            error = interrupted = interrupt
        # From here to the release nothing is called, so Python, from 3.10 on, raises no KeyboardInterrupt in between.
        number = number if hold is None else hold._number
        failed: Optional[RedlatchError] = None
        if hold is None or not hold._released:
            if dispatcher is None:
                status: int = _release_as(self._handle, number)
                failed = failure(status, self._name) if status else None
            else:
                _, failed = dispatcher.release(self, number)
        if hold is not None:
            hold._caller = None
        if callable(self._on_lost) and hold is not None and not isinstance(failed, LockLostError):
            self._client._losses.released(hold._serial, self, number)
        if failed is not None:
            self._left_badly(self._explained(failed), hold, error)
        if interrupted is not None:
            raise interrupted

    def _innermost(self, number: int) -> Optional[Hold]:
        """Returns the hold of the block that an owner leaves: the innermost block that the owner entered. If it entered
        none, the innermost block of another owner: one thread may enter a block and another one leave it, as in a
        fixture. Returns None if no block is open."""
        entered = self._entered[:]
        for hold in reversed(entered):
            if hold._number == number:
                return hold
        return entered[-1] if entered else None

    def _explained(self, error: RedlatchError) -> RedlatchError:
        """Returns the error of a release, with a hint about the owner added."""
        if isinstance(error, NotOwnedError) and not self._by_handle:
            error.args = (f'{error} (the calling thread is the owner; with owner="handle" any thread may release)',)
        return error

    def __call__(self, function: Function) -> Function:
        """As a decorator: every call of the function holds the lock."""
        check_function(function, "@lock", "with lock:")

        @functools.wraps(function)
        def locked(*arguments: Any, **keywords: Any) -> Any:
            with self:
                return function(*arguments, **keywords)

        return cast(Function, locked)

    def _obtain(self, wait_ms: int, lease_ms: int, entering: bool, owner: Optional[int] = None) -> Optional[Hold]:
        """Acquires for `owner`, or for the lock's own owner if it is None. After a timeout it returns None, or raises
        if `entering` a `with` block. If an exception comes in between, such as that of Ctrl-C, nothing stays held or
        queued. Therefore no line of the `try` follows the one that returns the hold."""
        caller = current()
        losses = self._client._losses
        number = (0 if self._by_handle else caller.number) if owner is None else owner
        dispatcher = losses.dispatcher()
        if dispatcher is not None:
            return self._obtain_in_hub(dispatcher, number, (lease_ms, wait_ms), caller if entering else None)
        if losses._thread is None:  # a forked child has no watching thread yet
            losses.watch()
        wait = caller.idle_wait
        if wait is None:
            wait = Wait(caller.max_block_ms)
        else:
            caller.idle_wait = None
        record = wait.record
        record.status = _IDLE  # outside of the `try`, which undoes the acquire of the record
        hold = None
        try:
            status: int = _acquire(record, self._handle, number, lease_ms, wait_ms)
            while status == _AGAIN:
                status = _acquire(record, self._handle, number, lease_ms, wait_ms)
            if not status:
                hold = Hold(self, number, wait.hold[:])
                self._granted(hold, caller if entering else None)
            elif entering or status != _TIMEOUT:
                raise failure(status, self._name)
            caller.idle_wait = wait
            return hold
        except BaseException:
            caller.idle_wait = None
            _abandon(record, self._handle, number)
            self._forget_entered(hold)
            raise

    def _obtain_in_hub(
        self, dispatcher: HubDispatcher, number: int, times: Tuple[int, int], entering: Optional[Caller]
    ) -> Optional[Hold]:
        """Does the same where threads are greenlets. `times` are the lease and the wait, in milliseconds."""

        def undo(dispatcher: HubDispatcher, _call: Call) -> None:
            dispatcher.give_back(lib.redlatch_lock_start_release, self._handle, number, kept=self)

        start = lib.redlatch_lock_start_acquire
        call = dispatcher.make(start, self._handle, number, *times, name=self._name, kept=self, undo=undo)
        if call.status:
            if entering is not None:
                raise call.failure(self._name)
            return None
        hold = None
        try:
            hold = Hold(self, number, ffi.buffer(self._standing(number))[:])
            self._granted(hold, entering)
            return hold
        except BaseException:
            undo(dispatcher, call)
            self._forget_entered(hold)
            raise

    def _granted(self, hold: Hold, entering: Optional[Caller]) -> None:
        """Notes a new hold, and the Caller that enters a `with` block with it, if one does."""
        if entering is not None:
            hold._caller = entering
            self._entered.append(hold)
        if self._noted:
            self._note_granted(hold)

    def _give_back(self, hold: Hold) -> None:
        """Releases what _obtain() has returned to a caller that was interrupted before it kept the hold. If the release
        fails, it is done in the background, or the lease ends."""
        try:
            hold.release()
        except RedlatchError:
            pass

    def _forget_entered(self, hold: Optional[Hold]) -> None:
        if hold is not None and hold in self._entered:
            self._entered.remove(hold)

    def _note_granted(self, hold: Hold) -> None:
        """Notes what has to be logged and called when the hold is lost."""
        if self._kind in SEVERAL:
            self._client._losses.note_owner(hold._serial, hold.owner)
        if callable(self._on_lost):
            self._client._losses.expect(hold._serial, self._on_lost, hold)

    def _number(self) -> int:
        """Returns the owner number to act for; 0 stands for this object."""
        return 0 if self._by_handle else current().number

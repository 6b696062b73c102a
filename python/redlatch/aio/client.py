"""Client: a client of one Redis server or cluster for one event loop. It makes locks, semaphores and latches.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import functools
import inspect as python_inspect
import weakref
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Callable,
    Dict,
    Generator,
    Iterable,
    Literal,
    NoReturn,
    Optional,
    Type,
    TypeVar,
)

from redlatch import opening
from redlatch._ffi import CData, ffi, lib, text
from redlatch.aio.aside import finish_aside, run_aside
from redlatch.aio.dispatch import Dispatcher, TaskLosses
from redlatch.aio.holds import Hold
from redlatch.aio.jobs import Jobs
from redlatch.aio.latches import Latch
from redlatch.aio.locks import Lock, OnLost, ReadWriteLock
from redlatch.aio.loops import running
from redlatch.aio.permits import PermitSemaphore
from redlatch.aio.reports import Scan
from redlatch.aio.semaphores import Semaphore
from redlatch.client import stats_of
from redlatch.credentials import Renewal, set_credentials
from redlatch.durations import Seconds, wait_ms
from redlatch.errors import ClosedError, LockName, failure
from redlatch.expected import Expected
from redlatch.options import name_bytes, pattern_bytes, values_of_group
from redlatch.other_names import explain_other_names
from redlatch.reports import Report, read_report, sought

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    Options = ParamSpec("Options")

Returned = TypeVar("Returned")


def _with_options_of(model: Callable[Options, Any]) -> Callable[[Callable[..., Returned]], Callable[Options, Returned]]:
    """Decorates a function, which gets the parameters of `model`. The function itself is called with a dict of the
    arguments."""
    signature = python_inspect.signature(model)

    def decorate(function: Callable[..., Returned]) -> Callable[Options, Returned]:
        @functools.wraps(function)
        def call(*arguments: Options.args, **options: Options.kwargs) -> Returned:
            given = signature.bind(*arguments, **options)
            given.apply_defaults()
            return function(given.arguments)

        call.__signature__ = signature.replace(return_annotation="Client")  # type: ignore[attr-defined]
        return call

    return decorate


@explain_other_names
@_with_options_of(opening.connect)
def connect(given: Dict[str, Any]) -> Client:
    """Returns a client for asyncio or trio. The options are those of redlatch.connect().

    Enter the client by `async with`, or await it; this connects. A `lazy` client may be used without that, and may be
    made outside of any event loop: it connects at its first use. A client belongs to the first loop in which it is
    used.

    Example:
        >>> async with redlatch.aio.connect(client.url, command_timeout=2) as other:
        ...     other.closed
        False
        >>> other = await redlatch.aio.connect(client.url)
        >>> await other.close()
    """
    return Client(given)


class Client(Jobs):
    """A client, made by connect(), for the tasks of one event loop. Another loop needs a client of its own. In a forked
    child its calls raise ForkedError, unless it was made with lazy=True and no loop had used it before the fork.

    Example:
        >>> async with client.lock("orders:42"):
        ...     [report.name async for report in client.scan("orders:*")]
        ['orders:42']
    """

    def __init__(self, given: Dict[str, Any]) -> None:
        self._given: Optional[Dict[str, Any]] = given  # until it is open
        self._open: Optional[Dispatcher] = None
        self._end: Optional[weakref.finalize[..., Client]] = None
        self._renewal: Optional[Renewal] = None
        self._expected: Expected[Hold] = Expected()
        if given["lazy"]:
            self._begin(*opening.open_handle(given))

    def _begin(self, handle: CData, renewal: Optional[Renewal]) -> None:
        # Freed with its last reference. It is closed before that, by close() or _end().
        self._open = Dispatcher(ffi.gc(handle, lib.redlatch_client_free), renewal, self._expected)
        self._given = None  # which has the password
        self._url = text(lib.redlatch_client_url(handle))
        self._renewal = renewal
        # Runs at the latest when the interpreter ends, so that all holds are released then.
        self._end = weakref.finalize(self, _end, self._open, renewal)
        if renewal is not None:
            renewal.start(self._open.handle)

    async def _connected(self) -> Client:
        if self._given is not None:
            given, free = self._given, lib.redlatch_client_free
            handle, renewal = await run_aside(running(), lambda: opening.open_handle(given), lambda made: free(made[0]))
            if self._given is None:  # another task was faster
                free(handle)
            else:
                self._begin(handle, renewal)
        self._dispatcher.bind()
        return self

    @property
    def _dispatcher(self) -> Dispatcher:
        if self._open is None:
            if self._given is None:
                raise ClosedError("the client was closed before it was connected")
            raise RuntimeError(
                "the client is not connected; expected `async with client:` or `await client` first, or a client of "
                "connect(lazy=True)"
            )
        self._open.check_process()
        return self._open

    @property
    def _handle(self) -> CData:
        return self._dispatcher.handle

    @property
    def _losses(self) -> TaskLosses:
        return self._dispatcher.losses

    @explain_other_names
    def lock(
        self,
        name: LockName,
        *,
        timeout: Optional[Seconds] = None,
        lease: Optional[Seconds] = None,
        max_hold: Optional[Seconds] = None,
        owner: Literal["task", "handle"] = "task",
        on_lost: OnLost = "raise",
        reentrant: bool = True,
        confirm_release: bool = True,
    ) -> Lock:
        """Returns a mutex.

        Args:
            name: 1 to 65 535 bytes; a str is encoded as UTF-8. Use a name as one kind of lock only.
            timeout: How long `async with` waits, and an acquire without a timeout. None or -1: for ever. 0: tries once.
            lease: None: the lease is renewed for as long as the lock is held. Seconds: a fixed lease.
            max_hold: A hold is not renewed beyond this time. None: no limit.
            owner: The owner of a hold, which may acquire again: "task", the calling one, or "handle", the returned
                object, which any task may release.
            on_lost: What follows when a hold is lost. "raise": the end of the `async with` block raises a
                LockLostError. "log": it does not. "cancel": the rest of the block is cancelled, and its end raises the
                LockLostError; before Python 3.11, if somebody else cancels the task at the same time, that cancellation
                is taken for the one of the loss. A function: it is called once with the Hold, in the loop, which it
                must not block; the call of a coroutine function becomes a task of its own. The end of the block raises.
                In any case the loss is logged.
            reentrant: False: a second acquire by the owner raises an AlreadyHeldError.
            confirm_release: False: a release does not wait for the server's reply, nor does the end of the block. See
                Lock.release().

        Example:
            >>> async with client.lock("orders:42", timeout=5) as hold:
            ...     hold.count
            1
        """
        kind = lib.REDLATCH_MUTEX
        more = {"reentrant": reentrant, "confirm_release": confirm_release}
        return Lock(self, kind, name, timeout, lease, max_hold, owner, on_lost=on_lost, **more)

    @explain_other_names
    def fenced_lock(
        self,
        name: LockName,
        *,
        timeout: Optional[Seconds] = None,
        lease: Optional[Seconds] = None,
        max_hold: Optional[Seconds] = None,
        owner: Literal["task", "handle"] = "task",
        on_lost: OnLost = "raise",
        reentrant: bool = True,
        confirm_release: bool = True,
        token_from_time: bool = False,
    ) -> Lock:
        """Returns a mutex whose holds have a fencing token; see redlatch.Client.fenced_lock().

        Example:
            >>> async with client.fenced_lock("ledger") as hold:
            ...     hold.token
            1
        """
        kind = lib.REDLATCH_FENCED
        more = {"reentrant": reentrant, "confirm_release": confirm_release, "token_from_time": token_from_time}
        return Lock(self, kind, name, timeout, lease, max_hold, owner, on_lost=on_lost, **more)

    @explain_other_names
    def fair_lock(
        self,
        name: LockName,
        *,
        timeout: Optional[Seconds] = None,
        lease: Optional[Seconds] = None,
        max_hold: Optional[Seconds] = None,
        owner: Literal["task", "handle"] = "task",
        on_lost: OnLost = "raise",
        reentrant: bool = True,
        confirm_release: bool = True,
    ) -> Lock:
        """Returns a mutex that is granted in the order of arrival at the server, across all processes and tasks; see
        redlatch.Client.fair_lock().

        Example:
            >>> async with client.fair_lock("printer", timeout=60) as hold:
            ...     hold.count
            1
        """
        kind = lib.REDLATCH_FAIR
        more = {"reentrant": reentrant, "confirm_release": confirm_release}
        return Lock(self, kind, name, timeout, lease, max_hold, owner, on_lost=on_lost, **more)

    @explain_other_names
    def spin_lock(
        self,
        name: LockName,
        *,
        timeout: Optional[Seconds] = None,
        lease: Optional[Seconds] = None,
        max_hold: Optional[Seconds] = None,
        owner: Literal["task", "handle"] = "task",
        on_lost: OnLost = "raise",
        reentrant: bool = True,
        confirm_release: bool = True,
        back_off_initial: Seconds = 0.001,
        back_off_max: Seconds = 0.128,
        back_off_multiplier: int = 2,
    ) -> Lock:
        """Returns a mutex whose waiters poll instead of subscribing; see redlatch.Client.spin_lock().

        Example:
            >>> async with client.spin_lock("moment", back_off_max=0.01):
            ...     "for a moment"
            'for a moment'
        """
        return Lock(
            self,
            lib.REDLATCH_SPIN,
            name,
            timeout,
            lease,
            max_hold,
            owner,
            on_lost=on_lost,
            reentrant=reentrant,
            confirm_release=confirm_release,
            back_off_initial=back_off_initial,
            back_off_max=back_off_max,
            back_off_multiplier=back_off_multiplier,
        )

    @explain_other_names
    def plain_lock(
        self,
        name: LockName,
        key_template: LockName = "{name}",
        *,
        timeout: Optional[Seconds] = None,
        lease: Optional[Seconds] = None,
        max_hold: Optional[Seconds] = None,
        owner: Literal["task", "handle"] = "task",
        on_lost: OnLost = "raise",
        confirm_release: bool = True,
    ) -> Lock:
        """Returns a lock in the format of redis-py, redsync, bsm/redislock and node-redlock; see
        redlatch.Client.plain_lock().

        Example:
            >>> async with client.plain_lock("shared", key_template="lock:{name}", lease=10):
            ...     (await client.inspect("lock:shared")).detected_kind
            'plain'
        """
        kind = lib.REDLATCH_PLAIN
        more = {"key_template": key_template, "confirm_release": confirm_release}
        return Lock(self, kind, name, timeout, lease, max_hold, owner, on_lost=on_lost, **more)

    @explain_other_names
    def read_write_lock(
        self,
        name: LockName,
        *,
        timeout: Optional[Seconds] = None,
        lease: Optional[Seconds] = None,
        max_hold: Optional[Seconds] = None,
        owner: Literal["task", "handle"] = "task",
        on_lost: OnLost = "raise",
        reentrant: bool = True,
        confirm_release: bool = True,
    ) -> ReadWriteLock:
        """Returns a read-write lock: `.read` is for many owners at the same time, `.write` for one alone; see
        redlatch.Client.read_write_lock().

        Example:
            >>> async with client.read_write_lock("catalogue").read as hold:
            ...     hold.count
            1
        """
        more = {"reentrant": reentrant, "confirm_release": confirm_release}
        return ReadWriteLock(self, name, timeout, lease, max_hold, owner, on_lost, more)

    @explain_other_names
    def group_lock(
        self,
        group: LockName,
        values: Iterable[LockName],
        *,
        timeout: Optional[Seconds] = None,
        lease: Optional[Seconds] = None,
        max_hold: Optional[Seconds] = None,
        owner: Literal["task", "handle"] = "task",
        on_lost: OnLost = "raise",
        reentrant: bool = True,
        confirm_release: bool = True,
    ) -> Lock:
        """Returns a lock on values of a group: it holds all of them, or none; see redlatch.Client.group_lock().

        Example:
            >>> async with client.group_lock("seats", ["12A", "12B"]):
            ...     await client.group_lock("seats", ["12B", "12C"], owner="handle").acquire(blocking=False)
            False
        """
        return Lock(
            self,
            lib.REDLATCH_GROUP,
            group,
            timeout,
            lease,
            max_hold,
            owner,
            on_lost=on_lost,
            values=values_of_group(values),
            reentrant=reentrant,
            confirm_release=confirm_release,
        )

    @explain_other_names
    def semaphore(
        self,
        name: LockName,
        *,
        timeout: Optional[Seconds] = None,
        limit: Optional[int] = None,
        wait_for_creation: bool = False,
    ) -> Semaphore:
        """Returns a semaphore: a number of permits without owners; see redlatch.Client.semaphore().

        Example:
            >>> async with client.semaphore("gate", limit=2) as gate:
            ...     await gate.available()
            1
        """
        return Semaphore(self, name, timeout, limit, wait_for_creation)

    @explain_other_names
    def permit_semaphore(
        self,
        name: LockName,
        *,
        timeout: Optional[Seconds] = None,
        lease: Optional[Seconds] = None,
        limit: Optional[int] = None,
        wait_for_creation: bool = False,
    ) -> PermitSemaphore:
        """Returns a permit semaphore: each permit has an id and a lease; see redlatch.Client.permit_semaphore().

        Example:
            >>> async with client.permit_semaphore("slots", limit=3) as permit:
            ...     len(permit.id)
            32
        """
        return PermitSemaphore(self, name, timeout, lease, limit, wait_for_creation)

    @explain_other_names
    def latch(self, name: LockName, *, timeout: Optional[Seconds] = None) -> Latch:
        """Returns a count-down latch.

        Args:
            name: See lock().
            timeout: How long a wait() without a timeout waits. None or -1: for ever. 0: checks once.

        Example:
            >>> await client.latch("ready", timeout=5).wait()
            True
        """
        return Latch(self, name, timeout)

    async def inspect(self, name: LockName, owner: Optional[str] = None) -> Report:
        """Asks the server about a name, whichever library wrote its key: its holders, their leases, and the server
        queue.

        Args:
            name: See lock().
            owner: An owner id, as in Party.owner. If this owner holds the name, it is the first of the parties.

        Example:
            >>> async with client.lock("orders:42"):
            ...     (await client.inspect("orders:42")).detected_kind
            'mutex'
        """
        data, wanted = name_bytes(name), sought(owner)
        start = lib.redlatch_client_start_inspect
        call = await self._dispatcher.ask(start, self._handle, data, len(data), wanted, name=name, kept=None)
        return read_report(call.value)

    def scan(self, pattern: LockName = "*") -> AsyncIterator[Report]:
        """Finds the locks on the server whose names match, for `async for`; see redlatch.Client.scan().

        Args:
            pattern: A glob of Redis, for the names without the client's prefix.

        Example:
            >>> async with client.lock("orders:42"), client.fenced_lock("orders:43"):
            ...     sorted([report.name async for report in client.scan("orders:*")])
            ['orders:42', 'orders:43']
        """
        return Scan(self._dispatcher, pattern_bytes(pattern))

    async def wait_free(self, name: LockName, timeout: Optional[Seconds] = None) -> bool:
        """Waits until nobody holds a name, a semaphore has a permit or a latch is open. It acquires nothing: another
        owner may hold the name again when this returns.

        Args:
            name: See lock().
            timeout: None or -1 waits for ever, 0 checks once.

        Returns:
            True when the name was free; False if it was not until the timeout.

        Example:
            >>> await client.wait_free("orders:42", timeout=5)
            True
        """
        data, wait = name_bytes(name), wait_ms(timeout, "timeout")
        start = lib.redlatch_client_start_wait_free
        call = await self._dispatcher.wait(start, self._handle, data, len(data), wait, name=name, kept=None)
        return call.status == 0

    def stats(self) -> Dict[str, int]:
        """Returns the client's counters since it was opened. redlatch_client.h describes each name. Nothing is sent.

        Example:
            >>> async with client.lock("orders:42"):
            ...     client.stats()["held"]
            1
        """
        return stats_of(self._handle)

    def set_credentials(self, username: Optional[LockName], password: LockName) -> None:
        """Replaces the user and the password, also on the open connections. Returns at once. Holds and waits go on. If
        the server refuses the new ones, a warning is logged, and the open connections keep the old ones.

        Args:
            username: None means the default user.
            password: A password or a token. It is never shown.

        Example:
            >>> client.set_credentials("default", "any password: this server asks for none")
        """
        self._dispatcher.bind()
        status = set_credentials(self._handle, username, password)
        if status:
            raise failure(status)

    @property
    def uuid(self) -> str:
        """The client's uuid, the first part of its owner ids."""
        return text(lib.redlatch_client_uuid(self._dispatcher.handle))

    @property
    def url(self) -> str:
        """The complete URL in use, with defaults, without user and password."""
        self._dispatcher  # noqa: B018
        return self._url

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._given is None and (self._end is None or not self._end.alive)

    async def close(self) -> None:
        """Releases all holds, unless `release_on_close` is False, and ends the client. Waits in progress raise a
        ClosedError. Takes at most the `close_timeout` of Tuning, and is completed even if the task is cancelled.
        Closing twice is harmless.

        Example:
            >>> other = await redlatch.aio.connect(client.url)
            >>> await other.close()
            >>> other.closed
            True
        """
        self._given = None
        if self._open is None or self._end is None or not self._end.alive:
            return
        dispatcher = self._open
        loop = dispatcher.bind()
        self._end.detach()
        renewal = self._renewal
        if renewal is not None:
            renewal.stop()

        def close() -> None:
            lib.redlatch_client_close(dispatcher.handle)
            if renewal is not None:
                renewal.join()

        dispatcher.collect()
        dispatcher.unwatch()
        cancellation = await finish_aside(loop, close)
        dispatcher.collect()  # the events of closing, such as a failed release
        dispatcher.end(lib.REDLATCH_CLOSED)
        if cancellation is not None:
            cancellation()

    def __await__(self) -> Generator[Any, None, Client]:
        return self._connected().__await__()

    async def __aenter__(self) -> Client:
        return await self._connected()

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        if self._open is None:
            return f"<redlatch.aio.Client, {'closed' if self.closed else 'not connected'}>"
        uuid = text(lib.redlatch_client_uuid(self._open.handle))
        return f"<redlatch.aio.Client of {self._url}, {'closed' if self.closed else 'open'}, uuid {uuid}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a redlatch.aio.Client cannot be pickled or copied: open one in each process")


def _end(dispatcher: Dispatcher, renewal: Optional[Renewal]) -> None:
    """Closes a client on which close() was not called, unless its loop belongs to the parent process."""
    if dispatcher.is_of_parent():
        return
    if renewal is not None:
        renewal.stop()

    def close() -> None:
        lib.redlatch_client_close(dispatcher.handle)

    if dispatcher.loop is None:
        close()
    else:
        dispatcher.loop.end_watch(close)

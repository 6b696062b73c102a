"""Client: a client of one Redis server or cluster. It makes locks, semaphores and latches.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import weakref
from types import TracebackType
from typing import Dict, Iterable, Iterator, Literal, NoReturn, Optional, Type

from redlatch._ffi import CData, ffi, lib, new_record, text
from redlatch.credentials import Renewal, set_credentials
from redlatch.durations import Seconds, wait_ms
from redlatch.errors import LockName, failure
from redlatch.expected import Expected
from redlatch.holds import Hold
from redlatch.jobs import Jobs
from redlatch.latches import Latch
from redlatch.locks import Lock
from redlatch.losses import Losses, OnLost
from redlatch.options import name_bytes, pattern_bytes, values_of_group
from redlatch.other_names import explain_other_names
from redlatch.permits import PermitSemaphore
from redlatch.read_write import ReadWriteLock
from redlatch.reports import Report, inspect, scan
from redlatch.semaphores import Semaphore
from redlatch.watching import wait_free


class Client(Jobs):
    """A client of one server or cluster, made by connect(). Any number of threads may use it at the same time. A forked
    child may use it, too: there the client gets connections, a uuid and threads of its own at the first use, and has
    none of the parent's holds. See `after_fork` of connect().

    Example:
        >>> with client.lock("orders:42"):
        ...     [report.name for report in client.scan("orders:*")]
        ['orders:42']
    """

    def __init__(self, handle: CData, renewal: Optional[Renewal] = None) -> None:
        # Freed with its last reference, which the watching thread may have. It is closed before that, by close() or
        # _end().
        self._handle: CData = ffi.gc(handle, lib.redlatch_client_free)
        self._url = text(lib.redlatch_client_url(self._handle))
        self._expected: Expected[Hold] = Expected()
        self._losses = Losses(self._handle, self._expected, renewal)
        # Runs at the latest when the interpreter ends, so that all holds are released then.
        self._renewal = renewal
        self._end = weakref.finalize(self, _end, self._losses, renewal)
        searched = "+" in self._url.partition("://")[0]  # the client searches for its server, which may change
        if renewal is not None or searched:
            self._losses.watch()
        if renewal is not None:
            renewal.start(self._handle)

    @explain_other_names
    def lock(
        self,
        name: LockName,
        *,
        timeout: Optional[Seconds] = None,
        lease: Optional[Seconds] = None,
        max_hold: Optional[Seconds] = None,
        owner: Literal["thread", "handle"] = "thread",
        on_lost: OnLost = "raise",
        reentrant: bool = True,
        confirm_release: bool = True,
    ) -> Lock:
        """Returns a mutex.

        Args:
            name: 1 to 65 535 bytes; a str is encoded as UTF-8. Use a name as one kind of lock only.
            timeout: How long `with` waits, and an acquire without a timeout. None or -1: for ever. 0: tries once.
            lease: None: the lease is renewed for as long as the lock is held. Seconds: a fixed lease.
            max_hold: A hold is not renewed beyond this time. None: no limit.
            owner: The owner of a hold, which may acquire again: "thread", the calling one, or "handle", the returned
                object.
            on_lost: What follows when a hold is lost. "raise": the end of the `with` raises a LockLostError. "log": it
                does not. A callable: it is called once with the Hold, by the thread that finds the loss, usually one of
                redlatch; the end of the `with` raises. In any case the loss is logged.
            reentrant: False: a second acquire by the owner raises an AlreadyHeldError.
            confirm_release: False: a release does not wait for the server's reply, nor does the end of the `with`. See
                Lock.release().

        Example:
            >>> with client.lock("orders:42", timeout=5) as hold:
            ...     hold.count
            1
        """
        more = {"reentrant": reentrant, "confirm_release": confirm_release}
        return Lock(self, lib.REDLATCH_MUTEX, name, timeout, lease, max_hold, owner, on_lost, **more)

    @explain_other_names
    def fenced_lock(
        self,
        name: LockName,
        *,
        timeout: Optional[Seconds] = None,
        lease: Optional[Seconds] = None,
        max_hold: Optional[Seconds] = None,
        owner: Literal["thread", "handle"] = "thread",
        on_lost: OnLost = "raise",
        reentrant: bool = True,
        confirm_release: bool = True,
        token_from_time: bool = False,
    ) -> Lock:
        """Returns a mutex whose holds have a fencing token, `hold.token`. Each token is greater than those of all
        earlier holds. A resource that refuses smaller tokens than it has seen is protected from a holder whose lease is
        over.

        Args:
            name: See lock(), also for the details of the other arguments.
            timeout: How long to wait.
            lease: Renewed or fixed.
            max_hold: The longest hold.
            owner: "thread" or "handle".
            on_lost: "raise", "log" or a callable.
            reentrant: Whether the owner may acquire again.
            confirm_release: Whether a release waits for the server's reply.
            token_from_time: True: no token is smaller than the server's time in microseconds, so that tokens grow even
                if the server loses their counter. All clients must use the same value for a name.

        Example:
            >>> lock = client.fenced_lock("ledger")
            >>> with lock as first:
            ...     pass
            >>> with lock as second:
            ...     second.token > first.token
            True
        """
        return Lock(
            self,
            lib.REDLATCH_FENCED,
            name,
            timeout,
            lease,
            max_hold,
            owner,
            on_lost,
            reentrant=reentrant,
            confirm_release=confirm_release,
            token_from_time=token_from_time,
        )

    @explain_other_names
    def fair_lock(
        self,
        name: LockName,
        *,
        timeout: Optional[Seconds] = None,
        lease: Optional[Seconds] = None,
        max_hold: Optional[Seconds] = None,
        owner: Literal["thread", "handle"] = "thread",
        on_lost: OnLost = "raise",
        reentrant: bool = True,
        confirm_release: bool = True,
    ) -> Lock:
        """Returns a mutex that is granted in the order of arrival at the server, across all processes and threads. A
        waiter keeps its position in the queue until it gives up, unless its client sends no heartbeat for
        `fair_timeout` (see connect()). The options are those of lock().

        Example:
            >>> printer = client.fair_lock("printer", timeout=60)
            >>> with printer:
            ...     printer.state().waiters
            0
        """
        more = {"reentrant": reentrant, "confirm_release": confirm_release}
        return Lock(self, lib.REDLATCH_FAIR, name, timeout, lease, max_hold, owner, on_lost, **more)

    @explain_other_names
    def spin_lock(
        self,
        name: LockName,
        *,
        timeout: Optional[Seconds] = None,
        lease: Optional[Seconds] = None,
        max_hold: Optional[Seconds] = None,
        owner: Literal["thread", "handle"] = "thread",
        on_lost: OnLost = "raise",
        reentrant: bool = True,
        confirm_release: bool = True,
        back_off_initial: Seconds = 0.001,
        back_off_max: Seconds = 0.128,
        back_off_multiplier: int = 2,
    ) -> Lock:
        """Returns a mutex whose waiters poll instead of subscribing. Use it for a lock that is held for very short
        times, and by so many clients that a message to all of them costs more than polling. In one process only the
        first waiter polls.

        Args:
            name: See lock(), also for the details of the other arguments.
            timeout: How long to wait.
            lease: Renewed or fixed.
            max_hold: The longest hold.
            owner: "thread" or "handle".
            on_lost: "raise", "log" or a callable.
            reentrant: Whether the owner may acquire again.
            confirm_release: Whether a release waits for the server's reply.
            back_off_initial: The first pause between two attempts.
            back_off_max: The longest pause. If it equals back_off_initial, all pauses have the same length.
            back_off_multiplier: The factor by which each pause is longer than the pause before.

        Example:
            >>> with client.spin_lock("moment", back_off_max=0.01):
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
            on_lost,
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
        owner: Literal["thread", "handle"] = "thread",
        on_lost: OnLost = "raise",
        confirm_release: bool = True,
    ) -> Lock:
        """Returns a lock in the format of redis-py, redsync, bsm/redislock, node-redlock and many others: a string with
        the owner as its value. It is not reentrant: a second acquire by the owner raises an AlreadyHeldError.

        Those libraries publish no message at a release. While one of them holds the lock, a waiter polls every 0.1 s.

        Args:
            name: See lock(), also for the details of the other arguments.
            key_template: The key, with {name} in it once. python-redis-lock uses "lock:{name}".
            timeout: How long to wait.
            lease: Renewed or fixed.
            max_hold: The longest hold.
            owner: "thread" or "handle".
            on_lost: "raise", "log" or a callable.
            confirm_release: Whether a release waits for the server's reply.

        Example:
            >>> with client.plain_lock("shared", key_template="lock:{name}", lease=10):
            ...     client.inspect("lock:shared").detected_kind
            'plain'
        """
        more = {"key_template": key_template, "confirm_release": confirm_release}
        return Lock(self, lib.REDLATCH_PLAIN, name, timeout, lease, max_hold, owner, on_lost, **more)

    @explain_other_names
    def semaphore(
        self,
        name: LockName,
        *,
        timeout: Optional[Seconds] = None,
        limit: Optional[int] = None,
        wait_for_creation: bool = False,
    ) -> Semaphore:
        """Returns a semaphore: a number of permits without owners.

        Args:
            name: See lock().
            timeout: How long `with` waits, and an acquire without a timeout. None or -1: for ever. 0: tries once.
            limit: The first acquire makes the semaphore with this number of permits, if it does not exist.
            wait_for_creation: True: `with` waits until somebody makes the semaphore. False: it raises a NotFoundError.

        Example:
            >>> with client.semaphore("gate", limit=2) as gate:
            ...     gate.available()
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
        """Returns a permit semaphore. Each permit has an id and a lease, and is available again when its lease ends.

        Args:
            name: See semaphore(), also for the details of the other arguments.
            timeout: How long to wait.
            lease: The lease of each permit. None: it is renewed until the permit is released. Seconds: a fixed lease.
            limit: The number of permits, if the first acquire makes the semaphore.
            wait_for_creation: Whether `with` waits until somebody makes the semaphore.

        Example:
            >>> with client.permit_semaphore("slots", limit=3) as permit:
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
            >>> client.latch("ready", timeout=5).wait()
            True
        """
        return Latch(self, name, timeout)

    @explain_other_names
    def read_write_lock(
        self,
        name: LockName,
        *,
        timeout: Optional[Seconds] = None,
        lease: Optional[Seconds] = None,
        max_hold: Optional[Seconds] = None,
        owner: Literal["thread", "handle"] = "thread",
        on_lost: OnLost = "raise",
        reentrant: bool = True,
        confirm_release: bool = True,
    ) -> ReadWriteLock:
        """Returns a read-write lock: `.read` is for many owners at the same time, `.write` for one alone.

        In this process waiters are granted in the order of arrival. Readers of other processes may overtake a writer
        that waits in this one. The writer waits for as long as their holds overlap. The arguments are those of lock(),
        for both modes.

        Example:
            >>> catalogue = client.read_write_lock("catalogue")
            >>> with catalogue.read:
            ...     catalogue.read.state().holders
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
        owner: Literal["thread", "handle"] = "thread",
        on_lost: OnLost = "raise",
        reentrant: bool = True,
        confirm_release: bool = True,
    ) -> Lock:
        """Returns a lock on values of a group: it holds all of them, or none. Two sets with a common value exclude each
        other, even for one owner. Other sets do not. It is Redisson's getMultiLock(group, values) with its StringCodec.

        Args:
            group: The name of the group, as for lock(). Use the name for group locks only.
            values: 1 to 10 000 values in any order; a str is encoded as UTF-8. Duplicates count once.
            timeout: See lock(), also for the details of the other arguments.
            lease: Renewed or fixed.
            max_hold: The longest hold.
            owner: "thread" or "handle".
            on_lost: "raise", "log" or a callable.
            reentrant: Whether the owner may acquire again.
            confirm_release: Whether a release waits for the server's reply.

        Example:
            >>> with client.group_lock("seats", ["12A", "12B"]):
            ...     client.group_lock("seats", ["12B", "12C"], owner="handle").acquire(blocking=False)
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
            on_lost,
            values=values_of_group(values),
            reentrant=reentrant,
            confirm_release=confirm_release,
        )

    def inspect(self, name: LockName, owner: Optional[str] = None) -> Report:
        """Asks the server about a name, whichever library wrote its key: its holders, their leases, and the server
        queue.

        Args:
            name: See lock().
            owner: An owner id, as in Party.owner. If this owner holds the name, it is the first of the parties.

        Example:
            >>> with client.lock("orders:42"):
            ...     report = client.inspect("orders:42")
            >>> report.detected_kind, report.locked, [party.role for party in report.parties]
            ('mutex', True, ['holder'])
        """
        return inspect(self._handle, name, name_bytes(name), owner)

    def scan(self, pattern: LockName = "*") -> Iterator[Report]:
        """Finds the locks on the server whose names match. It uses Redis's SCAN, which does not block the server for
        long. A lock that exists during the whole scan is found, perhaps more than once.

        Args:
            pattern: A glob of Redis, for the names without the client's prefix.

        Example:
            >>> with client.lock("orders:42"), client.fenced_lock("orders:43"):
            ...     sorted(report.name for report in client.scan("orders:*"))
            ['orders:42', 'orders:43']
        """
        return scan(self._handle, pattern_bytes(pattern))

    def wait_free(self, name: LockName, timeout: Optional[Seconds] = None) -> bool:
        """Waits until nobody holds a name, a semaphore has a permit or a latch is open. It acquires nothing: another
        owner may hold the name again when this returns.

        Args:
            name: See lock().
            timeout: None or -1 waits for ever, 0 checks once.

        Returns:
            True when the name was free; False if it was not until the timeout.

        Example:
            >>> client.wait_free("orders:42", timeout=5)
            True
        """
        return wait_free(self, name, name_bytes(name), wait_ms(timeout, "timeout"))

    def stats(self) -> Dict[str, int]:
        """Returns the client's counters since it was opened. redlatch_client.h describes each name.

        Example:
            >>> with client.lock("orders:42"):
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
        self._losses.watch()
        status = set_credentials(self._handle, username, password)
        if status:
            raise failure(status)

    @property
    def uuid(self) -> str:
        """The client's uuid, the first part of its owner ids."""
        return text(lib.redlatch_client_uuid(self._handle))

    @property
    def url(self) -> str:
        """The complete URL in use, with defaults, without user and password."""
        return self._url

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return not self._end.alive

    def close(self) -> None:
        """Releases all holds, unless `release_on_close` is False, and ends the client. Waits in progress raise a
        ClosedError. Takes at most the `close_timeout` of Tuning. Closing twice is harmless.

        Example:
            >>> other = redlatch.connect(client.url)
            >>> other.close()
            >>> other.closed
            True
        """
        status = self._losses.close()
        self._end.detach()
        if self._renewal is not None:
            self._renewal.stop()
            self._renewal.join()
        self._losses.join()
        if status:
            raise failure(status)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<redlatch.Client of {self._url}, {'closed' if self.closed else 'open'}, uuid {self.uuid}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a redlatch.Client cannot be pickled or copied: open one in each process")


def stats_of(handle: CData) -> Dict[str, int]:
    """Returns the counters of a client."""
    record = new_record("redlatch_stats")
    status: int = lib.redlatch_client_stats(handle, record)
    if status:
        raise failure(status)
    names = (name for name, _ in ffi.typeof("redlatch_stats").fields)
    return {name: getattr(record, name) for name in names if name not in ("struct_size", "reserved")}


def _end(losses: Losses, renewal: Optional[Renewal]) -> None:
    """Closes a client on which close() was not called. In a forked child it closes what the child itself has opened."""
    losses.close()
    if renewal is not None:
        renewal.stop()
        renewal.join()
    losses.join()

"""MultiLock and RedLock: several locks that are acquired and released as one.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Literal, Optional, Sequence, Tuple, Type

from redlatch._ffi import ffi, lib
from redlatch.durations import Seconds, lease_ms, limit_ms, wait_ms
from redlatch.errors import InvalidArgumentError, failure
from redlatch.locks import Lock, LockHandle, LockKind
from redlatch.losses import OnLost
from redlatch.options import flag, lock_options, on_lost_option
from redlatch.other_names import explain_other_names


class MultiLock(Lock):
    """Several locks that are acquired together or not at all, made by redlatch.multi_lock(). No member is held during a
    wait.

    It has all methods of a Lock. An owner that already holds a member re-enters it. If a member is lost, the multi lock
    is lost: release() raises a LockLostError, and releases the other members.

    Example:
        >>> both = redlatch.multi_lock(client.lock("stock:7"), client.lock("invoice:7"))
        >>> with both:
        ...     [member.hold_count() for member in both.members]
        [1, 1]
    """

    __slots__ = ("_members",)

    def __init__(
        self,
        members: Tuple[Lock, ...],
        timeout: Optional[Seconds],
        lease: Optional[Seconds],
        max_hold: Optional[Seconds],
        owner: str,
        on_lost: OnLost,
    ) -> None:
        self._on_lost = on_lost_option(on_lost)
        compose(self, Lock, members, None, timeout, lease, max_hold, owner)
        self._members = members  # keeps the members' clients alive

    @property
    def members(self) -> Tuple[Lock, ...]:
        """The members, in the order in which they were given."""
        return self._members

    def _uuids(self) -> Tuple[str, ...]:
        return tuple(member._client.uuid for member in self._members)


class RedLock(MultiLock):
    """A lock on a majority of independent servers, made by redlatch.redlock(). It stays held, and is renewed, while a
    majority of its members is held.

    Example:
        >>> lock = redlatch.redlock(client.lock("payroll"), allow_few=True)
        >>> with lock:
        ...     lock.kind
        'redlock'
    """

    __slots__ = ()

    def __init__(
        self,
        members: Tuple[Lock, ...],
        allow_few: bool,
        timeout: Optional[Seconds],
        lease: Optional[Seconds],
        max_hold: Optional[Seconds],
        owner: str,
        on_lost: OnLost,
    ) -> None:
        self._on_lost = on_lost_option(on_lost)
        flag(allow_few, "allow_few")
        compose(self, Lock, members, allow_few, timeout, lease, max_hold, owner)
        self._members = members


@explain_other_names
def multi_lock(
    *members: Lock,
    timeout: Optional[Seconds] = None,
    lease: Optional[Seconds] = None,
    max_hold: Optional[Seconds] = None,
    owner: Literal["thread", "handle"] = "thread",
    on_lost: OnLost = "raise",
) -> MultiLock:
    """Returns a lock that holds all its members or none.

    Args:
        members: Up to 100 locks of one name each, of any clients and of any kinds except fair. Members of one client
            are acquired by one script, which is fastest. The client of the first member reports losses. Each member
            keeps its own options for re-entry and tokens.
        timeout: See Client.lock(), also for the details of the other arguments.
        lease: The lease of all members.
        max_hold: The longest hold of all members.
        owner: The owner of the hold: "thread" or "handle".
        on_lost: "raise", "log" or a callable.

    Example:
        >>> with redlatch.multi_lock(client.lock("stock:7"), client.fenced_lock("invoice:7"), timeout=10):
        ...     "both, or neither"
        'both, or neither'
    """
    return MultiLock(members, timeout, lease, max_hold, owner, on_lost)


@explain_other_names
def redlock(
    *members: Lock,
    allow_few: bool = False,
    timeout: Optional[Seconds] = None,
    lease: Optional[Seconds] = None,
    max_hold: Optional[Seconds] = None,
    owner: Literal["thread", "handle"] = "thread",
    on_lost: OnLost = "raise",
) -> RedLock:
    """Returns a lock on a majority of independent servers. It stays held when a minority of them is lost.

    Args:
        members: Locks of any kinds except fair, one for each server, each of a client of its own. Open the clients with
            lazy=True: without it connect() fails for a server that is down, and a minority may be down.
        allow_few: Allows fewer than three members. Then none of them may fail.
        timeout: See Client.lock(), also for the details of the other arguments.
        lease: The lease of all members.
        max_hold: The longest hold of all members.
        owner: The owner of the hold: "thread" or "handle".
        on_lost: "raise", "log" or a callable.

    Example:
        >>> clients = [redlatch.connect(client.url, lazy=True)]  # better of three servers
        >>> with redlatch.redlock(*(each.lock("payroll") for each in clients), allow_few=True):
        ...     "a majority"
        'a majority'
        >>> clients[0].close()
    """
    return RedLock(members, allow_few, timeout, lease, max_hold, owner, on_lost)


def compose(
    lock: LockHandle,
    member_type: Type[LockHandle],
    members: Sequence[LockHandle],
    allow_few: Optional[bool],
    timeout: Optional[Seconds],
    lease: Optional[Seconds],
    max_hold: Optional[Seconds],
    owner: str,
) -> None:
    """Sets up `lock` with its members: as a multi lock if `allow_few` is None, else as a RedLock."""
    for member in members:
        if not isinstance(member, member_type):
            expected = f"{member_type.PACKAGE}.Lock"
            raise TypeError(f"a member is {member!r}, of type {type(member).__name__}; expected {expected}")
    if not members:
        raise InvalidArgumentError("there are no members; expected at least one lock")
    options, _alive = lock_options(owner, lease_ms(lease, "lease"), limit_ms(max_hold, "max_hold"), {}, lock.ACTOR)
    wait = wait_ms(timeout, "timeout")
    lock_out = ffi.new("redlatch_lock **")
    handles = ffi.new("redlatch_lock *[]", [member._handle for member in members])
    name = ", ".join(_shown(member) for member in members)
    status: int
    if allow_few is None:
        status = lib.redlatch_multi_lock_new(handles, len(members), options, lock_out)
    else:
        status = lib.redlatch_redlock_new(handles, len(members), int(allow_few), options, lock_out)
    if status:
        raise failure(status, name)
    kind: LockKind = "multi" if allow_few is None else "redlock"
    lock._set_up(members[0]._client, kind, name, lock_out[0], wait, owner)


def _shown(lock: LockHandle) -> str:
    name = lock.name
    return name if isinstance(name, str) else name.decode("utf-8", "backslashreplace")

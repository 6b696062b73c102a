"""MultiLock and RedLock: several locks that tasks acquire and release as one.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Literal, Optional, Tuple

from redlatch.aio.locks import Lock, OnLost, on_lost_option
from redlatch.durations import Seconds
from redlatch.multi import compose
from redlatch.options import flag
from redlatch.other_names import explain_other_names


class MultiLock(Lock):
    """Several locks that are acquired together or not at all, made by redlatch.aio.multi_lock(); see
    redlatch.MultiLock.

    Example:
        >>> both = redlatch.aio.multi_lock(client.lock("stock:7"), client.lock("invoice:7"))
        >>> async with both:
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
    """A lock on a majority of independent servers, made by redlatch.aio.redlock(); see redlatch.RedLock.

    Example:
        >>> lock = redlatch.aio.redlock(client.lock("payroll"), allow_few=True)
        >>> async with lock:
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
    owner: Literal["task", "handle"] = "task",
    on_lost: OnLost = "raise",
) -> MultiLock:
    """Returns a lock that holds all its members or none; see redlatch.multi_lock(). The client of the first member
    reports losses.

    Example:
        >>> async with redlatch.aio.multi_lock(client.lock("stock:7"), client.fenced_lock("invoice:7"), timeout=10):
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
    owner: Literal["task", "handle"] = "task",
    on_lost: OnLost = "raise",
) -> RedLock:
    """Returns a lock on a majority of independent servers; see redlatch.redlock(). Make the clients with lazy=True.

    Example:
        >>> async with redlatch.aio.connect(client.url, lazy=True) as one:  # better three, of three servers
        ...     async with redlatch.aio.redlock(one.lock("payroll"), allow_few=True):
        ...         "a majority"
        'a majority'
    """
    return RedLock(members, allow_few, timeout, lease, max_hold, owner, on_lost)

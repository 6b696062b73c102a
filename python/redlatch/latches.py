"""Latch: opens for all waiters when it is counted down to zero.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Union

from redlatch._ffi import lib
from redlatch.counts import Counted, whole
from redlatch.durations import LOCK_TIMEOUT, LockTimeout, Seconds, blocking_wait_ms, wait_ms
from redlatch.errors import LockName, LockTimeoutError
from redlatch.watching import WaitCall, new_status, wait_for

if TYPE_CHECKING:
    from redlatch.client import Client

_WAIT = WaitCall(lib.redlatch_latch_begin_wait, lib.redlatch_latch_start_wait)


class Latch(Counted):
    """A count-down latch, made by Client.latch(); Redisson's RCountDownLatch. It is open before its count is set, after
    the last count-down, and when it is deleted.

    Example:
        >>> ready = client.latch("ready")
        >>> ready.try_set_count(1)
        True
        >>> ready.count_down()
        >>> ready.wait(timeout=5)
        True
    """

    __slots__ = ("_wait_ms",)
    _client: Client

    def __init__(self, client: Client, name: LockName, timeout: Optional[Seconds]) -> None:
        self._wait_ms = wait_ms(timeout, "timeout")
        super().__init__(client, name, "latch")

    def try_set_count(self, count: int) -> bool:
        """Closes the latch until it is counted down this many times.

        Args:
            count: 1 or more.

        Returns:
            True if the latch was open; False if it was closed already, and nothing changed.

        Example:
            >>> ready = client.latch("ready")
            >>> ready.try_set_count(2), ready.try_set_count(3), ready.count()
            (True, False, 2)
        """
        return self._flag(lib.redlatch_latch_try_set_count, whole(count, "count", 1))

    def count_down(self) -> None:
        """Counts down by one. At zero the latch opens. An open latch does not change.

        Example:
            >>> client.latch("ready").count_down()
        """
        self._call(lib.redlatch_latch_count_down)

    def count(self) -> int:
        """Asks the server for the rest of the count: 0 when the latch is open.

        Example:
            >>> client.latch("ready").count()
            0
        """
        return self._number(lib.redlatch_latch_count)

    def wait(self, timeout: Union[Seconds, LockTimeout, None] = LOCK_TIMEOUT) -> bool:
        """Waits until the latch is open.

        Args:
            timeout: The default is the latch's timeout. None or -1: for ever. 0: checks once.

        Returns:
            True when the latch is open; False if it was closed until the timeout.

        Example:
            >>> client.latch("ready").wait(timeout=0)
            True
        """
        wait = blocking_wait_ms(True, timeout, self._wait_ms)
        try:
            wait_for(self._client, self._name, new_status(), _WAIT, self._handle, wait, kept=self)
        except LockTimeoutError:
            return False
        return True

    def delete(self) -> bool:
        """Deletes the latch. This opens it for waiters of redlatch; those of Redisson continue to wait.

        Returns:
            False if it was open.

        Example:
            >>> client.latch("ready").delete()
            False
        """
        return self._flag(lib.redlatch_latch_delete)

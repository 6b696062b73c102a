"""Latch: opens for all waiters when it is counted down to zero, for tasks.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Union

from redlatch._ffi import lib
from redlatch.aio.counts import Awaited
from redlatch.counts import whole
from redlatch.durations import LOCK_TIMEOUT, LockTimeout, Seconds, blocking_wait_ms, wait_ms
from redlatch.errors import LockName

if TYPE_CHECKING:
    from redlatch.aio.client import Client


class Latch(Awaited):
    """A count-down latch, made by Client.latch(); see redlatch.Latch.

    Example:
        >>> ready = client.latch("ready")
        >>> await ready.try_set_count(1)
        True
        >>> await ready.count_down()
        >>> await ready.wait(timeout=5)
        True
    """

    __slots__ = ("_wait_ms",)

    def __init__(self, client: Client, name: LockName, timeout: Optional[Seconds]) -> None:
        self._wait_ms = wait_ms(timeout, "timeout")
        super().__init__(client, name, "latch")

    async def try_set_count(self, count: int) -> bool:
        """Closes the latch until it is counted down this many times.

        Args:
            count: 1 or more.

        Returns:
            True if the latch was open; False if it was closed already, and nothing changed.

        Example:
            >>> ready = client.latch("ready")
            >>> await ready.try_set_count(2), await ready.try_set_count(3), await ready.count()
            (True, False, 2)
        """
        return bool(await self._ask(lib.redlatch_latch_start_try_set_count, whole(count, "count", 1)))

    async def count_down(self) -> None:
        """Counts down by one, even if the task is cancelled. At zero the latch opens. An open latch does not change.

        Example:
            >>> await client.latch("ready").count_down()
        """
        await self._change(lib.redlatch_latch_start_count_down)

    async def count(self) -> int:
        """Asks the server for the rest of the count: 0 when the latch is open.

        Example:
            >>> await client.latch("ready").count()
            0
        """
        return await self._ask(lib.redlatch_latch_start_count)

    async def wait(self, timeout: Union[Seconds, LockTimeout, None] = LOCK_TIMEOUT) -> bool:
        """Waits until the latch is open.

        Args:
            timeout: The default is the latch's timeout. None or -1: for ever. 0: checks once.

        Returns:
            True when the latch is open; False if it was closed until the timeout.

        Example:
            >>> await client.latch("ready").wait(timeout=0)
            True
        """
        wait = blocking_wait_ms(True, timeout, self._wait_ms)
        return (await self._wait(lib.redlatch_latch_start_wait, self._handle, wait)).status == 0

    async def delete(self) -> bool:
        """Deletes the latch. This opens it for waiters of redlatch; those of Redisson continue to wait.

        Returns:
            False if it was open.

        Example:
            >>> await client.latch("ready").delete()
            False
        """
        return bool(await self._ask(lib.redlatch_latch_start_delete))

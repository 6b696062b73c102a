"""What semaphores and latches of tasks share: calls that return a number.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional

from redlatch.aio.dispatch import Call, Dispatcher
from redlatch.counts import Counted

if TYPE_CHECKING:
    from redlatch.aio.client import Client


class Awaited(Counted):
    """The base class of semaphores and latches for tasks."""

    __slots__ = ()
    _client: Client

    PACKAGE = "redlatch.aio"

    @property
    def _dispatcher(self) -> Dispatcher:
        return self._client._dispatcher

    async def _ask(self, function: Callable[..., int], *arguments: Any) -> int:
        """Makes a call, and returns the number that it hands out."""
        call = await self._dispatcher.ask(function, self._handle, *arguments, name=self._name, kept=self)
        return call.number

    async def _change(self, function: Callable[..., int], *arguments: Any) -> int:
        """Makes a call that is completed even if the task is cancelled, and returns the number that it hands out."""
        call = await self._dispatcher.change(function, self._handle, *arguments, name=self._name, kept=self)
        return call.number

    async def _wait(
        self,
        function: Callable[..., int],
        *arguments: Any,
        undo: Optional[Callable[[Call], Optional[Call]]] = None,
    ) -> Call:
        """Makes a call that waits. The status of the returned call is OK or TIMEOUT. The first of `arguments` is a
        handle."""
        return await self._dispatcher.wait(function, *arguments, name=self._name, kept=self, undo=undo)

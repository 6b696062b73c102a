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
    """A name on a client, whose calls are started."""

    __slots__ = ()
    _client: Client

    PACKAGE = "redlatch.aio"

    @property
    def _dispatcher(self) -> Dispatcher:
        return self._client._dispatcher

    async def _ask(self, function: Callable[..., int], *arguments: Any) -> int:
        """Makes a call that hands out a number."""
        call = await self._dispatcher.ask(function, self._handle, *arguments, name=self._name, kept=self)
        return call.number

    async def _change(self, function: Callable[..., int], *arguments: Any) -> int:
        """The same of a call that is done to its end although the task is cancelled."""
        call = await self._dispatcher.change(function, self._handle, *arguments, name=self._name, kept=self)
        return call.number

    async def _wait(
        self,
        function: Callable[..., int],
        *arguments: Any,
        undo: Optional[Callable[[Call], Optional[Call]]] = None,
    ) -> Call:
        """Makes a call that waits; its status is OK or TIMEOUT. Its first argument is a handle."""
        return await self._dispatcher.wait(function, *arguments, name=self._name, kept=self, undo=undo)

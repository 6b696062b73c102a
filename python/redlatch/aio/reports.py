"""Scan: the reports of a scan, for tasks.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Optional

from redlatch._ffi import CData, lib
from redlatch.aio.dispatch import Dispatcher
from redlatch.reports import Report, new_scan, read_report


class Scan:
    """The reports of all locks whose names match, for `async for`."""

    def __init__(self, dispatcher: Dispatcher, pattern: bytes) -> None:
        self._dispatcher = dispatcher
        self._pattern = pattern
        self._scan: Optional[CData] = None
        self._over = False

    def __aiter__(self) -> Scan:
        return self

    async def __anext__(self) -> Report:
        if self._over:
            raise StopAsyncIteration
        if self._scan is None:
            self._scan = new_scan(self._dispatcher.handle, self._pattern)
        while True:
            call = await self._dispatcher.step(lib.redlatch_scan_start_next, self._scan, kept=self)
            if call.value is not None:
                return read_report(call.value)
            if not call.status:
                self._over = True
                self._scan = None
                raise StopAsyncIteration

# SPDX-License-Identifier: Apache-2.0
"""A host that collects the events of a client through the C interface."""

from __future__ import annotations

import select
import time
from typing import Any, List

import redlatch
from redlatch._ffi import ffi, lib, new_record


class Host:
    """Collects the events of one client."""

    def __init__(self, client: redlatch.Client) -> None:
        self._handle = client._handle
        out = ffi.new("int *")
        assert lib.redlatch_client_event_fd(self._handle, out) == 0
        self._descriptor = out[0]

    def event(self) -> Any:
        """Returns the next event. Waits at the descriptor until there is one."""
        until = time.monotonic() + 5.0
        record = new_record("redlatch_event")
        while (status := lib.redlatch_client_next_event(self._handle, record)) == lib.REDLATCH_AGAIN:
            ready, _, _ = select.select([self._descriptor], [], [], max(0.0, until - time.monotonic()))
            assert ready, "no event came, expected one more"
        assert status == 0
        return record

    def events(self, count: int) -> List[Any]:
        """Returns the next `count` events."""
        return [self.event() for _ in range(count)]

    def quiet(self) -> bool:
        """Returns whether no event comes for 0.1 s. The descriptor may be readable for other work."""
        until = time.monotonic() + 0.1
        while (left := until - time.monotonic()) > 0:
            ready, _, _ = select.select([self._descriptor], [], [], left)
            if ready and lib.redlatch_client_next_event(self._handle, new_record("redlatch_event")) == 0:
                return False
        return True

    def is_readable(self) -> bool:
        """Returns whether the descriptor is readable."""
        return bool(select.select([self._descriptor], [], [], 0)[0])

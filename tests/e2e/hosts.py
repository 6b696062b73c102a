# SPDX-License-Identifier: Apache-2.0
"""A host that collects the events of a client, by the core's own interface."""

from __future__ import annotations

import select
import time
from typing import Any, List

import redlatch
from redlatch._ffi import ffi, lib, new_record


class Host:
    """What collects the events of a client."""

    def __init__(self, client: redlatch.Client) -> None:
        self._handle = client._handle
        out = ffi.new("int *")
        assert lib.redlatch_client_event_fd(self._handle, out) == 0
        self._descriptor = out[0]

    def event(self) -> Any:
        """The next event; the descriptor tells when there is one."""
        until = time.monotonic() + 5.0
        record = new_record("redlatch_event")
        while (status := lib.redlatch_client_next_event(self._handle, record)) == lib.REDLATCH_AGAIN:
            ready, _, _ = select.select([self._descriptor], [], [], max(0.0, until - time.monotonic()))
            assert ready, "no event came, expected one more"
        assert status == 0
        return record

    def events(self, count: int) -> List[Any]:
        """So many events."""
        return [self.event() for _ in range(count)]

    def quiet(self) -> bool:
        """Whether there is no event; work there may be."""
        until = time.monotonic() + 0.1
        while (left := until - time.monotonic()) > 0:
            ready, _, _ = select.select([self._descriptor], [], [], left)
            if ready and lib.redlatch_client_next_event(self._handle, new_record("redlatch_event")) == 0:
                return False
        return True

    def is_readable(self) -> bool:
        """Whether the descriptor says that there is something to do."""
        return bool(select.select([self._descriptor], [], [], 0)[0])

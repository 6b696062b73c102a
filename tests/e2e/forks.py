# SPDX-License-Identifier: Apache-2.0
"""Forked children of a test."""

from __future__ import annotations

import os
import signal
import traceback
from typing import Callable, Dict, Optional

import pytest
import redlatch


class Child:
    """A child made by os.fork() that runs one function and exits."""

    def __init__(self, live: Callable[[], Optional[str]], seconds: int = 20) -> None:
        self._read_end, write_end = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            status = 1
            try:
                os.close(self._read_end)
                signal.alarm(seconds)
                os.write(write_end, (live() or "").encode())
                status = 0
            except BaseException:
                os.write(write_end, traceback.format_exc().encode()[-4000:])
            finally:
                os._exit(status)
        os.close(write_end)

    def end(self) -> str:
        """Waits for the end of the child, and returns what its function returned. Fails the test with the traceback if
        the function raised."""
        words = b""
        while part := os.read(self._read_end, 65_536):
            words += part
        os.close(self._read_end)
        assert os.waitpid(self._pid, 0)[1] == 0, words.decode()
        return words.decode()


def in_child(live: Callable[[], Optional[str]]) -> None:
    """Runs a function in a forked child, and waits for its end."""
    Child(live).end()


def refused(calls: Dict[str, Callable[[], object]]) -> None:
    """Checks that each call raises ForkedError with a message about the parent."""
    for name, call in calls.items():
        with pytest.raises(redlatch.ForkedError, match="belongs to the parent") as caught:
            call()
        assert caught.value.status_name == "forked", name

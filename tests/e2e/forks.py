# SPDX-License-Identifier: Apache-2.0
"""Forked children of a test."""

from __future__ import annotations

import os
import signal
import traceback
from typing import Callable, Dict

import pytest
import redlatch


def in_child(live: Callable[[], None]) -> None:
    """Run a function in a forked child, as bare as os.fork() is; what it raises is shown, and fails the test."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(read_end)
            signal.alarm(20)
            live()
            status = 0
        except BaseException:
            os.write(write_end, traceback.format_exc().encode()[-4000:])
        finally:
            os._exit(status)
    os.close(write_end)
    words = b""
    while part := os.read(read_end, 65_536):
        words += part
    os.close(read_end)
    assert os.waitpid(child, 0)[1] == 0, words.decode()


def refused(calls: Dict[str, Callable[[], object]]) -> None:
    """All of them speak of the parent."""
    for name, call in calls.items():
        with pytest.raises(redlatch.ForkedError, match="belongs to the parent") as caught:
            call()
        assert caught.value.status_name == "forked", name

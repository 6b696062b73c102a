"""Records which functions of the package `redlatch` a Python process runs: coverage_map.py puts this folder in front of
the path of the tests and of all that they start.

The interpreter imports a module of this name by itself. Each name is appended to the file that REDLATCH_FUNCTIONS names
as soon as it runs, since many of these processes are killed. Before Python 3.11 code does not know its whole name, and
nothing is recorded.
SPDX-License-Identifier: Apache-2.0
"""

import os
import sys
import threading
from contextlib import suppress
from types import CodeType, FrameType
from typing import Any, Set

PACKAGE = f"{os.sep}redlatch{os.sep}"


class Recorder:
    """A function for sys.setprofile."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.known: Set[CodeType] = set()

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event != "call" or code in self.known:
            return
        self.known.add(code)
        name = getattr(code, "co_qualname", None)
        if name and PACKAGE in code.co_filename:
            # Opened each time: a test may close, or use up, all descriptors. Of a function that could not be written,
            # more tests are asked than need be.
            with suppress(OSError), open(self.path, "a", encoding="utf-8") as out:
                out.write(name.replace(".<locals>", "") + "\n")


if "REDLATCH_FUNCTIONS" in os.environ:
    RECORDER = Recorder(os.environ["REDLATCH_FUNCTIONS"])
    threading.setprofile(RECORDER)
    sys.setprofile(RECORDER)

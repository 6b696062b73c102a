"""Records which functions of the package `redlatch` a Python process runs. coverage_map.py puts this folder first in
the module path of the tests and of their subprocesses.

The interpreter imports a module of this name by itself. Each name is appended, as soon as the function runs, to the
file that REDLATCH_FUNCTIONS names, since many of these processes are killed. Before Python 3.11 code objects have no
qualified name, and nothing is recorded.
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
            # Opened each time: a test may close all descriptors or use them up. If a name could not be written, more
            # test files run than necessary.
            with suppress(OSError), open(self.path, "a", encoding="utf-8") as out:
                out.write(name.replace(".<locals>", "") + "\n")


if "REDLATCH_FUNCTIONS" in os.environ:
    RECORDER = Recorder(os.environ["REDLATCH_FUNCTIONS"])
    threading.setprofile(RECORDER)
    sys.setprofile(RECORDER)

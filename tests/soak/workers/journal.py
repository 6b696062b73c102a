# SPDX-License-Identifier: Apache-2.0
"""A process's history file. Each line is written by one call, so that no line is lost when the process is killed."""

from __future__ import annotations

import json
import os
import time
from typing import Any, Optional


class Journal:
    """Writes lines as tests/soak/history.py reads them."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    @staticmethod
    def now() -> int:
        """Returns the current time."""
        return time.monotonic_ns()

    def say(self, what: str, operation: str, *, at: Optional[int] = None, **facts: Any) -> int:
        """Writes a line. Returns the time in it."""
        moment = self.now() if at is None else at
        line = json.dumps({"t": moment, "do": what, "id": operation, **facts}, separators=(",", ":"))
        os.write(self._file, line.encode() + b"\n")
        return moment

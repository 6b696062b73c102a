# SPDX-License-Identifier: Apache-2.0
"""What drivers in Python share: calls as JSON lines in, an outcome for each out."""

from __future__ import annotations

import json
import sys
from typing import Any, Callable, Dict, Protocol


class Driver(Protocol):
    """What answers calls."""

    def answer(self, call: Dict[str, Any]) -> Dict[str, Any]:
        """The outcome of one call."""

    def close(self) -> None:
        """The trace is over."""


def serve(make: Callable[[], Driver]) -> None:
    """Answers until the input ends, each trace by a driver of its own."""
    driver = make()
    for line in sys.stdin:
        try:
            call = json.loads(line)
            if call["call"] == "reset":
                driver.close()
                driver, answer = make(), {"reset": True}
            else:
                answer = driver.answer(call)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
    driver.close()

# SPDX-License-Identifier: Apache-2.0
"""The loop of the drivers in Python: reads calls as lines of JSON and prints an outcome for each."""

from __future__ import annotations

import json
import sys
from typing import Any, Callable, Dict, Protocol


class Driver(Protocol):
    """Answers calls."""

    def answer(self, call: Dict[str, Any]) -> Dict[str, Any]:
        """Returns the outcome of one call."""

    def close(self) -> None:
        """Called at the end of a trace."""


def serve(make: Callable[[], Driver]) -> None:
    """Answers calls until the input ends. Each trace has a driver of its own."""
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

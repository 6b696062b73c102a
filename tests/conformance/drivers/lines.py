# SPDX-License-Identifier: Apache-2.0
"""What drivers in Python share: calls as JSON lines in, an outcome for each out."""

from __future__ import annotations

import json
import sys
from typing import Any, Dict, Protocol


class Driver(Protocol):
    """What answers calls."""

    def answer(self, call: Dict[str, Any]) -> Dict[str, Any]:
        """The outcome of one call."""

    def close(self) -> None:
        """The input has ended."""


def serve(driver: Driver) -> None:
    """Answers until the input ends."""
    for line in sys.stdin:
        try:
            answer = driver.answer(json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
    driver.close()

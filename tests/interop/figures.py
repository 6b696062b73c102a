# SPDX-License-Identifier: Apache-2.0
"""How long wake-ups took, for the end of the run: figures are shown, not judged."""

from __future__ import annotations

from typing import Dict, List

_seconds: Dict[str, List[float]] = {}


def note(what: str, seconds: float) -> None:
    """Enter a figure."""
    _seconds.setdefault(what, []).append(seconds)


def lines() -> List[str]:
    """All figures, a line each."""
    width = max(map(len, _seconds), default=0)
    return [
        f"{what:<{width}}  {min(found) * 1000:6.1f} to {max(found) * 1000:6.1f} ms, {len(found)} times"
        for what, found in _seconds.items()
    ]

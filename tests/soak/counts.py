# SPDX-License-Identifier: Apache-2.0
"""How much a run must have done to be meaningful: grants of each kind in each language, strokes of each nemesis."""

from __future__ import annotations

import math
from collections import Counter
from typing import List, Sequence, Tuple

from history import History
from kinds import KINDS, LANGUAGES

# For a long run. A shorter one has to do a proportional part.
LONG = 1200.0
GRANTS = 500
STROKES = 20
# Seconds in which no grant is expected, which leaves one grant for a minute: Java processes start slowly on a busy
# machine.
_START = 59.0


def grants(history: History) -> Counter[Tuple[str, str]]:
    """Returns the number of grants by kind and language."""
    return Counter((each.kind, each.language) for each in history.operations if each.got is not None)


def strokes(history: History) -> Counter[str]:
    """Returns the number of strokes by what was done."""
    return Counter(stroke.what for stroke in history.strokes)


def missing(
    history: History, seconds: float, kind_names: Sequence[str], languages: Sequence[str], nemeses: Sequence[str]
) -> List[str]:
    """Returns what a run of so many seconds did too little of."""
    grants_due = GRANTS * min(1.0, max(0.0, seconds - _START) / (LONG - _START))
    strokes_due = int(STROKES * min(1.0, seconds / LONG))
    found: List[str] = []
    granted, struck = grants(history), strokes(history)
    for kind in kind_names:
        for language in languages:
            count = granted[kind, language]
            if language in KINDS[kind].languages and count < grants_due:
                least = math.ceil(grants_due)
                found.append(f"counts: {count} grants of {kind} in {language}; expected {least} or more")
    for what in nemeses:
        if struck[what] < strokes_due:
            found.append(f"counts: '{what}' struck {struck[what]} times; expected {strokes_due} or more")
    return found


def missing_failovers(history: History, expected: int, ways: Sequence[str]) -> List[str]:
    """Returns the ways of failover that occurred too rarely, if there should have been so many failovers in equal
    parts."""
    struck = strokes(history)
    due = expected // max(1, len(ways))
    return [f"counts: {struck[way]} failovers by '{way}'; expected {due} or more" for way in ways if struck[way] < due]


def _shown(granted: Counter[Tuple[str, str]], kind: str, language: str) -> str:
    """Returns the number of grants, or a dash if the language has no such kind."""
    known = language in KINDS[kind].languages or language not in LANGUAGES
    return str(granted[kind, language]) if known else "-"


def table(history: History, kind_names: Sequence[str], nemeses: Sequence[str]) -> List[str]:
    """Returns the figures as lines to print."""
    granted = grants(history)
    languages = sorted({language for _, language in granted})
    lines = [f"{'grants':<22}" + "".join(f"{language:>9}" for language in languages)]
    for kind in kind_names:
        lines.append(f"{kind:<22}" + "".join(f"{_shown(granted, kind, language):>9}" for language in languages))
    struck = strokes(history)
    lines.append("nemesis: " + ", ".join(f"{what} {struck[what]}" for what in sorted(nemeses)))
    return lines

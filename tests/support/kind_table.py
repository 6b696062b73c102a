# SPDX-License-Identifier: Apache-2.0
"""The kinds of core/src/protocol/kinds.def, with their numbers in the public header."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Dict

_CORE = Path(__file__).resolve().parents[2] / "core"
_TABLE = (_CORE / "src" / "protocol" / "kinds.def").read_text(encoding="utf-8")
_HEADER = (_CORE / "include" / "redlatch.h").read_text(encoding="utf-8")

# By their names, such as "permit_semaphore".
NUMBERS: Dict[str, int] = {
    name: int(re.findall(rf"\bREDLATCH_{constant} = (\d+)", _HEADER)[0])
    for constant, name in re.findall(r'^KIND\((\w+), "(\w+)"', _TABLE, re.MULTILINE)
}

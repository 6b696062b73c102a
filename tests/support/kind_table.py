# SPDX-License-Identifier: Apache-2.0
"""The kinds of core/src/protocol/kinds.def, with their numbers in the public header."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Dict, NamedTuple

_CORE = Path(__file__).resolve().parents[2] / "core"
_TABLE = (_CORE / "src" / "protocol" / "kinds.def").read_text(encoding="utf-8")
_HEADER = (_CORE / "include" / "redlatch.h").read_text(encoding="utf-8")


class Row(NamedTuple):
    """A row of the table."""

    number: int
    # The fields of struct kind that the row sets: from their names, such as "member_type", to the text of their values.
    properties: Dict[str, str]


# The rows by the names of their kinds, such as "permit_semaphore".
ROWS: Dict[str, Row] = {
    name: Row(int(re.findall(rf"\bREDLATCH_{constant} = (\d+)", _HEADER)[0]),
              dict(re.findall(r"\.(\w+) = ([^,\s]+)", properties)))
    for constant, name, properties in re.findall(
        r'^KIND\((\w+), "(\w+)"(.*?)\)$', _TABLE, re.DOTALL | re.MULTILINE
    )
}
NUMBERS: Dict[str, int] = {name: row.number for name, row in ROWS.items()}

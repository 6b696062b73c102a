"""Which floor of the core may include what.

Each floor may use its own headers and those of the floors below it; only the link floor may use hiredis; the protocol
floor is pure, so that the simulation runs the very same code.
SPDX-License-Identifier: Apache-2.0
"""

import re
from pathlib import Path
from typing import Dict, List

from tree import complaint, files, lines

FLOORS = ["base", "protocol", "link", "client"]
GENERATED = "scripts_embedded.h"  # of the protocol floor
PURE = {"stdint.h", "stddef.h", "stdbool.h", "string.h", "limits.h", "assert.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def headers_by_floor(source: Path) -> Dict[str, List[str]]:
    """The names of the headers on each floor."""
    found = {floor: [path.name for path in files(source / floor, [".h"])] for floor in FLOORS}
    found["protocol"].append(GENERATED)
    return found


def check(root: Path) -> List[str]:
    """All complaints about includes in core/src."""
    source = root / "core" / "src"
    headers = headers_by_floor(source)
    public = {path.name for path in files(root / "core" / "include", [".h"])}
    complaints = []
    names = [name for floor in FLOORS for name in headers[floor]]
    for name in sorted({name for name in names if names.count(name) > 1 or name in public}):
        complaints.append(f"core/src: the header {name} stands on more than one floor; expected names that are unique")
    for index, floor in enumerate(FLOORS):
        allowed = {name for lower in FLOORS[:index + 1] for name in headers[lower]} | public
        for path in files(source / floor, [".c", ".h"]):
            for number, line in lines(path):
                match = INCLUDE.match(line)
                problem = match and refusal(floor, match[1], match[2], allowed)
                if problem:
                    complaints.append(complaint(root, path, number, problem))
    return complaints


def refusal(floor: str, quote: str, name: str, allowed: "set[str]") -> str:
    """Why this floor may not include that name; empty if it may."""
    if "hiredis" in name:
        return "" if floor == "link" and name == "hiredis.h" else f"{name}: only core/src/link may use <hiredis.h>"
    if quote == '"':
        if "/" in name:
            return f"{name}: expected a header's name without a folder"
        return "" if name in allowed else f"{name}: not a header of the {floor} floor or of one below it"
    if floor == "protocol" and name not in PURE:
        return f"<{name}>: the protocol floor is pure; expected one of {', '.join(sorted(PURE))}"
    return ""

"""Checks which layer of the core includes which headers.

Each layer may use its own headers and those of lower layers. Only the link layer may use hiredis. The protocol layer is
pure, so that the simulation runs the same code.
SPDX-License-Identifier: Apache-2.0
"""

import re
from pathlib import Path
from typing import Dict, List

from tree import complaint, files, lines

LAYERS = ["base", "protocol", "link", "client"]
GENERATED = "scripts_embedded.h"  # of the protocol layer
PURE = {"stdint.h", "stddef.h", "stdbool.h", "string.h", "limits.h", "assert.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def headers_by_layer(source: Path) -> Dict[str, List[str]]:
    """Returns the names of the headers in each layer."""
    found = {layer: [path.name for path in files(source / layer, [".h", ".def"])] for layer in LAYERS}
    found["protocol"].append(GENERATED)
    return found


def check(root: Path) -> List[str]:
    """Returns all complaints about includes in core/src."""
    source = root / "core" / "src"
    headers = headers_by_layer(source)
    public = {path.name for path in files(root / "core" / "include", [".h"])}
    complaints = []
    names = [name for layer in LAYERS for name in headers[layer]]
    for name in sorted({name for name in names if names.count(name) > 1 or name in public}):
        complaints.append(f"core/src: the header {name} stands on more than one floor; expected names that are unique")
    for index, layer in enumerate(LAYERS):
        allowed = {name for lower in LAYERS[:index + 1] for name in headers[lower]} | public
        for path in files(source / layer, [".c", ".h", ".def"]):
            for number, line in lines(path):
                match = INCLUDE.match(line)
                problem = match and error_reply(layer, match[1], match[2], allowed)
                if problem:
                    complaints.append(complaint(root, path, number, problem))
    return complaints


def error_reply(layer: str, quote: str, name: str, allowed: "set[str]") -> str:
    """Returns why this layer may not include that name, or "" if it may."""
    if "hiredis" in name:
        return "" if layer == "link" and name == "hiredis.h" else f"{name}: only core/src/link may use <hiredis.h>"
    if quote == '"':
        if "/" in name:
            return f"{name}: expected a header's name without a folder"
        return "" if name in allowed else f"{name}: not a header of the {layer} floor or of one below it"
    if layer == "protocol" and name not in PURE:
        return f"<{name}>: the protocol floor is pure; expected one of {', '.join(sorted(PURE))}"
    return ""

"""The parts of Zig's toolchain in its output: its compiler's run-time functions, and musl in static files.

SPDX-License-Identifier: Apache-2.0
"""

import re
from importlib.metadata import version
from pathlib import Path
from typing import Any, Dict, List

from targets import zig


def musl_licence() -> Path:
    """Returns the licence of the musl that static files contain."""
    return zig().with_name("lib") / "libc" / "musl" / "COPYRIGHT"


def runtime_licence() -> Path:
    """Returns the licence of Zig, which is also that of its compiler's run-time functions (compiler-rt)."""
    return zig().with_name("LICENSE")


def musl_version() -> str:
    """Returns the version in musl's sources."""
    header = zig().with_name("lib") / "libc" / "musl" / "src" / "internal" / "version.h"
    found = re.search(r'^#define VERSION "(.+)"$', header.read_text(encoding="ascii"), re.MULTILINE)
    if found is None:
        raise SystemExit(f"{header}: expected a line like: #define VERSION \"1.2.5\"")
    return found[1]


def components() -> List[Dict[str, Any]]:
    """Returns the entries of the bill of materials."""
    musl, ziglang = musl_version(), version("ziglang")
    return [
        {"type": "library", "bom-ref": f"musl@{musl}", "name": "musl", "version": musl,
         "description": "in the static commands", "licenses": [{"license": {"id": "MIT"}}],
         "cpe": f"cpe:2.3:a:musl-libc:musl:{musl}:*:*:*:*:*:*:*", "purl": f"pkg:generic/musl@{musl}",
         "externalReferences": [{"type": "website", "url": "https://musl.libc.org"}]},
        {"type": "library", "bom-ref": f"compiler-rt@{ziglang}", "name": "compiler-rt", "version": ziglang,
         "description": "Zig's, in what its compiler links", "licenses": [{"license": {"id": "MIT"}}],
         "purl": f"pkg:pypi/ziglang@{ziglang}",
         "externalReferences": [{"type": "website", "url": "https://ziglang.org"}]},
    ]

"""The areas from which mutants are drawn, and the files of each.

SPDX-License-Identifier: Apache-2.0
"""

import fnmatch
from pathlib import Path
from typing import Dict, List, Tuple

from lexer import C, LUA, PYTHON

# Headers are left out: what they have beyond declarations is used everywhere.
AREAS: Dict[str, Tuple[str, ...]] = {
    "protocol": ("core/src/protocol/*.c",),
    "link": ("core/src/link/*.c", "core/src/base/*.c"),
    "scripts": ("core/src/scripts/*.lua", "core/src/scripts/shared/*.lua"),
    "client": ("core/src/client/*/*.c",),
    "python": ("python/redlatch/**/*.py", "bindings/python_*.c", "bindings/release.c"),
    "lua": ("lua-rock/redlatch/*.lua", "bindings/lua_*.c"),
    "command": ("core/cli/*.c",),
}
# Files of other builds only. They cannot be compiled into this build, and no test can notice a mutant of them.
OF_OTHER_BUILDS = {"core/src/link/system_portable.c", "core/src/link/tls_none.c"}
LANGUAGES = {".c": C, ".lua": LUA, ".py": PYTHON}


def files(root: Path, area: str, globs: List[str]) -> List[Path]:
    """Returns the files of an area, relative to the root. With globs, only the files that one of them matches."""
    found = sorted({path.relative_to(root) for pattern in AREAS[area] for path in root.glob(pattern)})
    return [path for path in found if str(path) not in OF_OTHER_BUILDS
            and (not globs or any(fnmatch.fnmatch(str(path), glob) for glob in globs))]


def language(path: Path) -> str:
    """Returns the language of a file."""
    return LANGUAGES[path.suffix]

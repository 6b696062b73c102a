"""Checks that the packages and the change log have the version of the header.

SPDX-License-Identifier: Apache-2.0
"""

import re
from pathlib import Path
from typing import List, Optional

HEADER = "core/include/redlatch.h"


def first(path: Path, pattern: str) -> Optional[str]:
    """Returns the first group of the first match in a file, or None."""
    match = re.search(pattern, path.read_text(encoding="utf-8"), flags=re.MULTILINE) if path.exists() else None
    return match[1] if match else None


def check(root: Path) -> List[str]:
    """Returns a complaint about each place that has another version than the header."""
    version = first(root / HEADER, r'^#define REDLATCH_VERSION "([^"]+)"$')
    if version is None:
        return [f"{HEADER}: expected a line like: #define REDLATCH_VERSION \"1.2.3\""]
    complaints = []
    project = root / "pyproject.toml"
    # The project's version is either written out or read from the header by the build backend.
    if first(project, r'^input = "(core/include/redlatch\.h)"$') is None:
        written = first(project, r'^version = "([^"]+)"$')
        if written != version:
            complaints.append(f"pyproject.toml: says version {written}, the header {version}")
    packaged = first(root / "debian" / "changelog", r"^redlatch \(([^)]+)\)")
    if packaged != version:
        complaints.append(f"debian/changelog: the top entry is {packaged}, the header says {version}")
    newest = first(root / "CHANGELOG.md", r"^## \[?([^\]\s]+)")
    if newest != version:
        complaints.append(f"CHANGELOG.md: the top entry is {newest}, the header says {version}")
    for rock in sorted((root / "lua-rock").glob("*.rockspec")):
        written = first(rock, r'^version = "([^"]+)"$')
        if written is None or (written.rpartition("-")[0] not in (version, "scm")):
            complaints.append(f"{rock.name}: says version {written}, expected {version}-<revision>")
        complaints += sources(rock, version)
    return complaints


def sources(rock: Path, version: str) -> List[str]:
    """Returns complaints about the sources of a rockspec: they must be the archive of this version, under its tag."""
    name = f"redlatch-lua-{version}"
    url, folder = first(rock, r'^    url = "([^"]+)"'), first(rock, r'^    dir = "([^"]+)"')
    complaints = []
    if url is None or not url.endswith(f"/v{version}/{name}.tar.gz"):
        complaints.append(f"{rock.name}: source.url is {url}, expected .../v{version}/{name}.tar.gz")
    if folder != name:
        complaints.append(f"{rock.name}: source.dir is {folder}, expected {name}")
    return complaints

# SPDX-License-Identifier: Apache-2.0
"""What the figures of a run depend on: the machine, the commit of redlatch, and the versions of what was measured."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any, Dict, List

from .bench import Bench
from .programs import redisson_folder

UNKNOWN = "unknown"
PACKAGES = ("redis", "python-redis-lock")


def found_in(command: List[str], pattern: str, folder: Path) -> str:
    """The first group of a pattern in what a command prints on either output; "unknown" without one."""
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    except OSError:
        return UNKNOWN
    match = re.search(pattern, done.stdout, re.MULTILINE) if done.returncode == 0 else None
    return match[1] if match else UNKNOWN


def package_version(name: str) -> str:
    """The version of an installed Python package."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def redlatch_version(root: Path) -> str:
    """The version that the public header says."""
    header = (root / "core" / "include" / "redlatch.h").read_text(encoding="utf-8")
    match = re.search(r'^#define REDLATCH_VERSION "(.*)"$', header, re.MULTILINE)
    return match[1] if match else UNKNOWN


def describe_machine(bench: Bench) -> Dict[str, Any]:
    """By name what the figures depend on; page.MACHINE says what the page calls each."""
    described = {
        "redlatch": redlatch_version(bench.root),
        "commit": found_in(["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"], r"^(\S+)$",
                           bench.root),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": found_in(["lscpu"], r"^Model name:\s*(.+)$", bench.root),
        "cpus": os.cpu_count(),
        "server": ".".join(str(part) for part in bench.server.version),
        "hiredis": found_in(["pkg-config", "--modversion", "hiredis"], r"^(\S+)$", bench.root),
        "openssl": found_in(["pkg-config", "--modversion", "openssl"], r"^(\S+)$", bench.root),
        "python": platform.python_version(),
        **{name: package_version(name) for name in PACKAGES},
        "jdk": found_in(["java", "-version"], r'version "([^"]+)"', bench.root),
    }
    for jar in redisson_folder(bench.build_directory).glob("lib/redisson-*.jar"):
        described["Redisson"] = jar.stem.partition("-")[2]
    return described

# SPDX-License-Identifier: Apache-2.0
"""Runs pyright over what pyproject.toml names, with the packages of the project's own Python.

The program is a package of Node in build/pyright. Its lock file has the hash; no package runs code of its own when it
is installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDER = ROOT / "build" / "pyright"
LOCK = "package-lock.json"


def prepare() -> None:
    """Installs the package unless it is there."""
    stamp = FOLDER / "installed.json"
    if stamp.exists() and stamp.read_bytes() == (HERE / LOCK).read_bytes():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", LOCK):
        shutil.copy(HERE / name, FOLDER)
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline",
                    "--loglevel=error"], cwd=FOLDER, check=True)  # fmt: skip
    shutil.copy(HERE / LOCK, stamp)


def main() -> int:
    """The exit status."""
    prepare()
    program = FOLDER / "node_modules" / "pyright" / "index.js"
    return subprocess.run(["node", str(program), "--pythonpath", sys.executable], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

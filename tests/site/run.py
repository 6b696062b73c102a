# SPDX-License-Identifier: Apache-2.0
"""Examines the built site in Chromium.

    run.py [PAGE...]    all pages, or those named, such as learn/choose-a-lock.html

check_site.mjs says what is examined. It and its packages are in build/site-check; Chromium is Debian's.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"
FOLDER = BUILD / "site-check"
LOCK = "package-lock.json"


def prepare() -> None:
    """Copies the program, and installs its packages unless they are there; no package runs code of its own then."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    stamp = FOLDER / "installed.json"
    for path in HERE.glob("*.*js*"):
        shutil.copy(path, FOLDER)
    if stamp.exists() and stamp.read_bytes() == (HERE / LOCK).read_bytes():
        return
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline",
                    "--loglevel=error"], cwd=FOLDER, check=True)  # fmt: skip
    shutil.copy(HERE / LOCK, stamp)


def main() -> int:
    """The exit status."""
    site = BUILD / "site"
    if not (site / "index.html").is_file():
        raise SystemExit(f"{site} is not there; ./dev docs builds it")
    prepare()
    command = ["node", str(FOLDER / "check_site.mjs"), str(site), str(BUILD / "site-shots"), *sys.argv[1:]]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Builds the site in build/site: docs/, the files of the tree that its pages link to, and the reference of each
language's interface from the sources.

    build_site.py

The build tools are in a virtual environment of their own, build/site-venv. When it exists, nothing is downloaded. The
site loads nothing from other machines. A link or an anchor that leads nowhere is an error.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
REQUIREMENTS = HERE / "requirements.txt"
FOLDER = ROOT / "build" / "site-venv"
OLDEST = (3, 11)  # that has all versions of requirements.txt


def prepare() -> None:
    """Makes the environment with the required versions, unless it exists."""
    stamp = FOLDER / "requirements.txt"
    if stamp.exists() and stamp.read_bytes() == REQUIREMENTS.read_bytes():
        return
    if sys.version_info < OLDEST:
        raise SystemExit(f"the site needs CPython 3.11 or newer; {sys.executable} is {sys.version.split()[0]}")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(FOLDER)], check=True)
    subprocess.run(
        [str(FOLDER / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         "--require-hashes", "-r", str(REQUIREMENTS)],
        check=True,
    )  # fmt: skip
    stamp.write_bytes(REQUIREMENTS.read_bytes())


def main() -> int:
    """Builds the site and returns the exit status."""
    prepare()
    # Without --strict a warning is no error; with --quiet warnings are not counted.
    command = [str(FOLDER / "bin" / "python"), "-m", "mkdocs", "build", "--strict", "--clean",
               "--config-file", str(HERE / "mkdocs.yml")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, check=False, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode == 0:
        print(ROOT / "build" / "site" / "index.html")
    else:
        sys.stderr.write(done.stdout)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())

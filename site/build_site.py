# SPDX-License-Identifier: Apache-2.0
"""Builds the site: build/site, of docs/, of what its pages link to in the tree, and of what the sources say of each
language's interface.

    build_site.py

What builds it is in a virtual environment of its own, build/site-venv. With that there, nothing is fetched, and the
site has no address of another machine that a browser would load. A link or an anchor that leads nowhere is an error.
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
OLDEST = (3, 11)  # of what requirements.txt names


def prepare() -> None:
    """Makes the environment unless it is there, with the versions that are wanted."""
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
    """The exit status."""
    prepare()
    # Without --strict a warning is no error, and with --quiet none is counted.
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

# SPDX-License-Identifier: Apache-2.0
"""Runs the recipes with the real frameworks, in processes that exclude each other.

    run.py [PYTEST ARGUMENT...]

The frameworks are in a virtual environment of their own, build/frameworks-venv: some of them need other versions of
packages than the tests do. The tests themselves run in the project's environment.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
FOLDER = ROOT / "build" / "frameworks-venv"
OLDEST = (3, 11)  # for FastAPI's present version


def prepare() -> None:
    """Makes the environment, unless it is there with the required versions."""
    stamp = FOLDER / "requirements.txt"
    if stamp.exists() and stamp.read_bytes() == REQUIREMENTS.read_bytes():
        return
    if sys.version_info < OLDEST:
        raise SystemExit(f"the frameworks need CPython 3.11 or newer; {sys.executable} is {sys.version.split()[0]}")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(FOLDER)], check=True)
    subprocess.run(
        [str(FOLDER / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         "--require-hashes", "-r", str(REQUIREMENTS)],
        check=True,
    )  # fmt: skip
    stamp.write_bytes(REQUIREMENTS.read_bytes())


def main() -> int:
    """Returns the exit status."""
    prepare()
    command = [sys.executable, "-m", "pytest", "--timeout=120", "--color=no", "-q", *sys.argv[1:]]
    return subprocess.run([*command, str(Path(__file__).parent)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

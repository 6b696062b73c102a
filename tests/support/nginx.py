# SPDX-License-Identifier: Apache-2.0
"""Debian's nginx with its Lua module, unpacked into build/nginx: `python -m support.nginx` prints the folder.

It is not installed: its LuaJIT would take the place of the LuaJIT that other tests use, and a web server would start.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import List

FOLDER = Path(__file__).resolve().parents[2] / "build" / "nginx"
PACKAGES = ["nginx", "libnginx-mod-http-lua"]


def output(command: List[str], folder: str = ".") -> str:
    """Runs a command that must succeed, and returns what it prints."""
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout[-2000:]}")
    return done.stdout


def fetch() -> None:
    """Downloads and unpacks the packages, and those of their dependencies that this machine lacks."""
    planned = output(["apt-get", "install", "--simulate", "--no-install-recommends", *PACKAGES])
    names = sorted({*PACKAGES, *re.findall(r"^Inst (\S+)", planned, re.MULTILINE)})
    partial = FOLDER.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        output(["apt-get", "download", "--quiet", *names], folder)
        for package in sorted(Path(folder).glob("*.deb")):
            output(["dpkg", "--extract", str(package), str(partial)])
    partial.rename(FOLDER)


if __name__ == "__main__":
    if not FOLDER.is_dir():
        fetch()
    print(FOLDER)

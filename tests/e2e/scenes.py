# SPDX-License-Identifier: Apache-2.0
"""Runs the scenes of the C programs in programs/, from the build that is tested."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import List

import redlatch

SOURCES = Path(__file__).resolve().parent / "programs"
_ROOT = SOURCES.parents[2]


def scenes_of(program: str) -> List[str]:
    """Returns the names of a program's scenes, read from its source."""
    text = (SOURCES / f"{program}.c").read_text(encoding="utf-8")
    table = text[text.index("static const struct scene scenes[]") :]
    found = re.findall(r'\{"(\w+)", *\w+\}', table)
    assert found, f"{program}.c lists no scenes"
    return found


def folder() -> Path:
    """Returns the folder with the built programs."""
    # With PYTHONPATH=<build>/python it is in the same build. A wheel has no programs; those in build/ are used then.
    for build in (Path(redlatch.__file__).resolve().parents[2], _ROOT / "build"):
        found = build / "tests" / "e2e" / "programs"
        if found.is_dir():
            return found
    raise FileNotFoundError("the C programs of the end-to-end tests are not built; try ./dev build")


def play(program: str, scene: str, url: str, name: str, timeout: float = 100.0) -> None:
    """Play one scene against a server. The assertion has the output of a scene that fails."""
    command = [str(folder() / program), url, scene, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, f"{program} {scene}: status {done.returncode}\n{done.stdout}{done.stderr}"

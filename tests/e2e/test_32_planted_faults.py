# SPDX-License-Identifier: Apache-2.0
"""The tests of lost replies fail on a core without compensation. A build with planted faults shows it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import List, Optional, Set

from support.wire import build_directory

ROOT = Path(__file__).resolve().parents[2]
JUDGES = "test_30_lost_replies.py"
OUTAGES = 6


def build_with_faults() -> Path:
    """Builds the Python module with planted faults, in a separate directory. Returns the directory."""
    folder = build_directory() / "planted"
    definitions = ["-DREDLATCH_FAULT=ON", "-DREDLATCH_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}"]
    targets = ["redlatch_python", "redlatch_python_package"]
    for command in (
        ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *definitions],
        ["cmake", "--build", str(folder), "--parallel", "2", "--target", *targets],
    ):
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stdout}"
    return folder


def fault_number(name: str) -> int:
    """Returns a fault's number in the core's enumeration."""
    text = (ROOT / "core" / "src" / "protocol" / "planted.h").read_text(encoding="utf-8")
    names = re.findall(r"^    (FAULT_[A-Z_]+),", text, re.MULTILINE)
    return names.index(name)


class Judgement:
    """A run of the tests of given-up calls in a separate process, with one planted fault or none."""

    def __init__(self, folder: Path, steps: List[str], fault: Optional[str]) -> None:
        environment = {**os.environ, "PYTHONPATH": str(folder / "python")}
        if fault is not None:
            environment["REDLATCH_PLANTED_FAULT"] = str(fault_number(fault))
        wanted = " or ".join(f"(what_was_given_up and -{step}])" for step in steps)
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--color=no"]
        self._process = subprocess.Popen(
            [*pytest, str(Path(__file__).with_name(JUDGES)), "-k", wanted],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
        self._count = OUTAGES * len(steps)
        self.output = ""

    def red(self) -> Set[str]:
        """Returns the outages whose tests failed."""
        self.output, _ = self._process.communicate(timeout=90.0)
        found = set(re.findall(r"^FAILED .*\[(\w+)-\w+\]", self.output, re.MULTILINE))
        judged = sum(int(number) for number in re.findall(r"(\d+) (?:passed|failed)", self.output.splitlines()[-1]))
        assert judged == self._count, self.output
        assert (self._process.returncode == 0) == (not found), self.output
        return found


def test_without_compensation_the_tests_of_lost_replies_fail() -> None:
    folder = build_with_faults()
    bad = [
        Judgement(folder, ["acquire"], "FAULT_NO_COMPENSATION"),
        Judgement(folder, ["hand_over"], "FAULT_NO_HAND_OVER_COMPENSATION"),
    ]
    for judgement in bad:
        # In the two other outages the command may not have reached the server, and then there is nothing to undo.
        assert judgement.red() - {"late_copy"} == {"command_held", "reply_held", "reply_swallowed", "cut_after"}
    good = Judgement(folder, ["acquire", "hand_over"], None)  # not beside the others, as it has bounds on times
    assert good.red() == set(), f"the same build is good without a fault:\n{good.output}"
